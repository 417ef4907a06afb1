"""The answer in a few sentences."""

import math

from bursar.advice.code import call
from bursar.advice.rates import DOUBTFUL, OUT
from bursar.advice.records import Advice
from bursar.advice.words import counted, listed, measured, number


def answer(advice: Advice) -> list[str]:
    """Which arm, who is out, what to run and what that would bring."""
    best, budget = advice.best, advice.budget
    worth = f"{best.name} has the best rate so far: {number(best.rate)} of reward per unit of cost"
    low, high = (end * budget for end in best.interval)
    span = f"between {number(low)} and {number(high)}"
    if high - low == math.inf:
        span = "an amount that the log leaves open"
    said = [f"{worth}; if the future is like the log, {number(budget)} spent on it alone brings {span}."]
    out = [arm.name for arm in advice.arms if arm.verdict == OUT]
    behind = [arm.name for arm in advice.arms if arm.verdict == DOUBTFUL]
    sure = f"with {advice.confidence:.0%} confidence for all arms together"
    if out:
        said.append(f"Ruled out {sure} (Bonferroni): {listed(out, 8)}.")
    elif len(advice.arms) > 1:
        said.append(f"No arm can be ruled out {sure} (Bonferroni).")
    if behind:
        said.append(f"Behind, if no cost larger than those seen ever comes: {listed(behind, 8)}.")
    said.append(f"Run {call(advice.policy, brief=True)} on {_arms(advice)}: {advice.reason}.")
    if advice.campaign is not None:
        played = advice.campaign.candidates[0]
        told = f"Rehearsed on the log with {number(advice.campaign.budget)}, that campaign"
        share = f", {played.share:.1%} of what {advice.campaign.best} alone would" * math.isfinite(played.share)
        said.append(f"{told} earned {measured(played.reward, played.stderr)}{share}.")
    return said


def _arms(advice: Advice) -> str:
    left = advice.remaining
    if len(left) == len(advice.arms):
        return counted(len(left), "arm")
    return f"the {counted(len(left), 'arm')} left" if len(left) > 1 else left[0]
