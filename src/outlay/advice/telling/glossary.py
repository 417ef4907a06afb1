"""The words of an advice, explained on its page."""

from outlay.advice.evidence.comparison import PAIRS, TIMES
from outlay.advice.records import Findings
from outlay.advice.telling.units import unit


def glossary(advice: Findings) -> dict[str, str]:
    """Each word and what it means here."""
    sure = f"{advice.confidence:.0%}"
    words = {
        "rate": f"Mean {advice.reward_name} divided by mean {advice.cost_name}: {unit(advice)}.",
        "interval": f"The rates that the rows do not contradict; all intervals hold together with {sure} confidence.",
        "best so far": "The arm that no other beats on equal terms, or that loses least clearly.",
        "open": "An arm that cannot be told apart from the best one by this log.",
        "ruled out": f"Below another arm beyond chance. In {1 - advice.confidence:.0%} of logs at most, the truly best"
        " arm is among those: the comparison allows for all arms being compared with it at once.",
        "behind": "Below others, but costs larger than any so far, or changes over time, put it in doubt.",
        "tail": "How fast large costs become rare: P(cost > x) ~ x^−tail. Below 2 the variance looks infinite, and"
        " a few rows carry most of the cost.",
        "held out": "The advice was asked of one half of the log and judged on the other.",
    }
    if advice.serving is not None:
        words["hull"] = (
            "The line over the arms' points (mean cost, mean reward), from nothing on: with so much to spend on a"
            " request, no way of sharing requests out among arms brings more than the line."
        )
    if advice.terms.basis == TIMES:
        words["at equal times"] = (
            "Two arms are compared within stretches of time, as short as they can be with enough rows of both, and a"
            " stretch counts by how many rows it has of both; what only one of them saw does not count."
        )
    if advice.terms.basis == PAIRS:
        words["the same instances"] = (
            f"Every arm was tried on each of {advice.terms.instances:,} values of the column {advice.terms.instance};"
            " what makes one hard for all arms alike cancels in the differences."
        )
    if advice.rehearsal is not None:
        words["rehearsed"] = (
            "A policy was played on rows of the log, drawn at random with replacement, from scratch until the budget"
            " was spent; many times."
        )
        words["lost"] = "What a policy's pulls of arms with lower rates cost it, compared with the best arm alone."
    return words
