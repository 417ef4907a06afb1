"""The answer in a few sentences."""

import math

from outlay.advice.cautions import FEW
from outlay.advice.doubts import doubts
from outlay.advice.evidence.rates import OUT
from outlay.advice.records import Advice
from outlay.advice.rehearsal import FEWEST_RUNS
from outlay.advice.telling.code import call
from outlay.numerals import measured, number
from outlay.words import counted, listed


def answer(advice: Advice) -> list[str]:
    """The best arm and what it would bring, which arms are out, what to run and what that would bring."""
    return [*_best(advice), *_others(advice), *_run(advice)]


def _best(advice: Advice) -> list[str]:
    """The best arm, its mean reward and how certain that is, and how single campaigns vary."""
    best, budget, played = advice.best, advice.budget, advice.rehearsal
    said = [f"{best.name} has the best rate so far: {number(best.rate)} of reward per unit of cost."]
    future = "If the future is like the log" + " as a whole, which changed on the way" * best.course.drifts
    mean = f"{future}, {number(budget)} spent on it alone brings about {number((best.rate or 0.0) * budget)} on average"
    low, high = (end * budget for end in best.interval)
    if high - low < math.inf:
        rows = f"as far as {counted(best.rows, 'row')} can tell"
        less = ", or less if costs larger than those seen come" * best.tail.unsettled
        said.append(f"{mean} (between {number(low)} and {number(high)} {rows}{less}).")
    else:
        said.append(f"{mean}; the log leaves open how far off that is.")
    if played is not None and played.best == best.name and played.runs >= FEWEST_RUNS:
        spent = f" with {number(played.budget)}" * (played.budget < budget)
        ends = number(played.best_low), number(played.best_high)
        if ends[0] != ends[1]:
            spread = f"rehearsed on it alone{spent}, 8 runs in 10 earned between {ends[0]} and {ends[1]}"
            said.append(f"Single campaigns vary around the mean: {spread}.")
    return said


def _others(advice: Advice) -> list[str]:
    """The arms that are ruled out or behind."""
    out = [arm.name for arm in advice.arms if arm.verdict == OUT]
    sure = f"with {advice.confidence:.0%} confidence for all arms together"
    said = []
    if out:
        said.append(f"Ruled out {sure} (Bonferroni): {listed(out, 8)}.")
    elif len(advice.arms) > 1:
        said.append(f"No arm can be ruled out {sure} (Bonferroni).")
    behind = doubts(advice.arms)
    for doubt in sorted(set(behind.values())):
        names = listed([name for name, own in behind.items() if own == doubt], 8)
        said.append(f"Behind, if {doubt.condition}, and kept in the campaign in case it is not so: {names}.")
    return said


def _run(advice: Advice) -> list[str]:
    """What to do with the arms that are left."""
    left = advice.remaining
    if len(left) == 1:
        why = "no other arm is left" if len(advice.arms) > 1 else "the log has no other arm"
        return [f"Spend it all on {left[0]}: {why}."]
    arms = counted(len(left), "arm")
    where = arms if len(left) == len(advice.arms) else f"the {arms} left"
    said = [f"Run {call(advice.policy, brief=True)} on {where}: {advice.reason}."]
    if advice.campaign is not None:
        played = advice.campaign.candidates[0]
        few = any(arm.rows < FEW for arm in advice.arms if arm.name in left)
        truth = ", as if its few rows were the whole truth" * few
        start = f"Rehearsed on the log with {number(advice.campaign.budget)}{truth}, that campaign"
        share = f", {played.share:.1%} of what {advice.campaign.best} alone would" * math.isfinite(played.share)
        said.append(f"{start} earned {measured(played.reward, played.stderr)}{share}.")
    return said
