"""From scores to an arm: the largest score, ties to the arm with the fewest pulls, then to the lowest index.

A policy that compares every arm with the leader has `excess` in place of a score: by how much the evidence against the
arm exceeds what would be enough. The leader is pulled unless some other arm's excess is ≤ 0; then the arm with the
least is pulled. Where it has `excess_of_new_arm` too, arms are opened one by one, and that is the excess of the next.

Ties matter most at +∞, where every policy of the paper starts: if the lowest index won them, arm 0 would be pulled
until its confidence interval is stable, whatever it costs, and the result would depend on the order of the arms.

The rule is `precedes`, and for rates and excesses `leads`; whatever compares arms elsewhere calls one of the two.
These functions run in the interpreter and compiled.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import Lead, price_of

Counts = NDArray[np.int64]
OPENED_FIRST = 2  # arms that a policy with `excess_of_new_arm` opens before it compares any
MOST_FREE_PULLS = 30  # pulls after which an arm is compared with the others though it has cost nothing


class Now(NamedTuple):
    """Where a run stands: pulls made so far, ln of that (0.0 before the first), and cost spent."""

    pulls: int
    log_n: float
    spent: float


def best_by_score(policy: Any, memory: Any, pulls: Counts, log_n: float) -> int:
    """Find the arm with the largest `policy.score`; `pulls` counts the pulls of each arm."""
    best, top = 0, -math.inf
    for arm in range(len(pulls)):
        score = number(policy.score(memory.belief(arm), log_n))
        if precedes(score, pulls[arm], arm, top, pulls[best], best):
            best, top = arm, score
    return best


def best_by_sample(policy: Any, memory: Any, pulls: Counts, log_n: float, rng: np.random.Generator) -> int:
    """Find the arm with the largest `policy.sample`, drawn in the order of the arms; ties as above."""
    best, top = 0, -math.inf
    for arm in range(len(pulls)):
        score = number(policy.sample(memory.belief(arm), log_n, rng))
        if precedes(score, pulls[arm], arm, top, pulls[best], best):
            best, top = arm, score
    return best


def best_by_excess(policy: Any, memory: Any, pulls: Counts) -> int:
    """Find the arm to pull for a policy with `excess`: the leader, or the arm with the least excess, if that is ≤ 0."""
    free = without_price(memory, pulls, 0)
    if free < len(pulls):
        return free
    leader, _ = leader_of(memory, pulls)
    lead = memory.lead(leader)
    arm, excess = least_excess(policy, memory, pulls, leader, lead, lead)
    return arm if excess <= 0.0 else leader


def best_of_opened(policy: Any, memory: Any, pulls: Counts) -> int:
    """`best_by_excess` for a policy that opens arms: over the open ones, and the next to be opened as a challenger."""
    fresh, opened = int(memory.unopened()), int(memory.opened())
    if fresh < len(pulls) and opened < OPENED_FIRST:
        return fresh
    free = without_price(memory, pulls, 1)
    if free < len(pulls):
        return free
    leader, _ = leader_of(memory, pulls)
    lead = memory.lead(leader)
    wanted = math.inf
    if fresh < len(pulls):
        wanted = -number(-policy.excess_of_new_arm(lead, lead))
        if wanted == -math.inf:
            return fresh
    arm, excess = least_excess(policy, memory, pulls, leader, lead, lead)
    if wanted <= 0.0 and wanted <= excess:
        return fresh
    return arm if excess <= 0.0 else leader


def without_price(memory: Any, pulls: Counts, least: int) -> int:
    """The arm with the fewest pulls, at least `least`, of those that have cost nothing in all; K if there is none.

    An arm never pulled is one of them. A free arm, or one that refunds, would be pulled for ever: MOST_FREE_PULLS of
    them are enough.
    """
    found, fewest = len(pulls), MOST_FREE_PULLS
    for arm in range(len(pulls)):
        if least <= pulls[arm] < fewest and memory.belief(arm).mean_cost <= 0.0:
            found, fewest = arm, pulls[arm]
    return found


def leader_of(memory: Any, pulls: Counts) -> tuple[int, float]:
    """The arm of those pulled with the largest rate so far, ties to the least spend, and the largest of the others."""
    seen = memory.lead(0)
    best, top, spend, runner_up = 0, -math.inf, math.inf, -math.inf
    for arm in range(len(pulls)):
        if pulls[arm] > 0:
            belief = memory.belief(arm)
            price = price_of(belief, seen.cost_min, seen.cost_max)
            rate, mine = belief.mean_reward / price, belief.pulls * price
            if leads(rate, mine, pulls[arm], arm, top, spend, pulls[best], best):
                best, top, spend, runner_up = arm, rate, mine, top
            else:
                runner_up = max(runner_up, rate)
    return best, runner_up


def least_excess(policy: Any, memory: Any, pulls: Counts, leader: int, low: Lead, high: Lead) -> tuple[int, float]:
    """The arm with the least excess, leader aside, ties to the least spend; the least of bounds if low ≠ high."""
    best, least, spend = leader, math.inf, math.inf
    for arm in range(len(pulls)):
        if arm != leader and pulls[arm] > 0:
            belief = memory.belief(arm)
            excess = -number(-policy.excess(belief, low, high))
            mine = belief.pulls * price_of(belief, low.cost_min, low.cost_max)
            if leads(-excess, mine, pulls[arm], arm, -least, spend, pulls[best], best):
                best, least, spend = arm, excess, mine
    return best, least


def leads(
    value: float, spend: float, pulls: int, arm: int,
    other_value: float, other_spend: float, other_pulls: int, other: int,
) -> bool:  # fmt: skip
    """`precedes` for arms that are compared by rate or excess: of equal ones, the one with the least spend is first."""
    if value != other_value or spend == other_spend:
        return precedes(value, pulls, arm, other_value, other_pulls, other)
    return spend < other_spend


def precedes(score: float, pulls: int, arm: int, other_score: float, other_pulls: int, other: int) -> bool:
    """Whether an arm comes before another: by the larger score, then by the fewest pulls, then by the lowest index."""
    if score != other_score:
        return score > other_score
    return pulls < other_pulls or (pulls == other_pulls and arm < other)


def number(score: float) -> float:
    """The score as a float that can be compared: NaN counts as −∞."""
    return -math.inf if math.isnan(score) else float(score)


def log_of(pulls: int) -> float:
    """The logarithm of a number of pulls; 0.0 before the first."""
    return math.log(pulls) if pulls > 0 else 0.0


def log_after(log_n: float, more: float) -> float:
    """ln(n + more) from ln n; it rises with log_n."""
    return log_n + math.log1p(more * math.exp(-log_n))
