"""What the rivals share that are told a budget and a number of requests: what is left, and the mix of two arms."""

import numpy as np

from outlay.beliefs import HullMoments
from outlay.beliefs.points import points_among
from outlay.checks import Vector
from outlay.formulas.choices.choose import Counts, Now
from outlay.formulas.pricing import NOTHING, per_request, prices
from outlay.parameters import Parameters, derived, number
from outlay.policies.baselines.told_budget import budget_or_infinity, requests_or_infinity


class TwoBudgets(Parameters):
    """The parameters of a policy that may spend `budget` in at most `requests` pulls; None for no limit."""

    budget: float | None = number(default=None, above=0)
    requests: float | None = number(default=None, above=0)

    known_budget: float = derived(budget_or_infinity)
    known_requests: float = derived(requests_or_infinity)

    def memory(self, arms: int) -> HullMoments:
        """The arms as points (mean cost, mean reward)."""
        return HullMoments.empty(arms)

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:
        """The arm to pull."""
        raise NotImplementedError

    def choose_among(self, memory: HullMoments, arms: Counts, now: Now, rng: np.random.Generator) -> int:
        """The arm to pull where only these may be."""
        return int(arms[self.choose(points_among(memory, arms), now, rng)])


def left_per_request(budget: float, requests: float, now: Now) -> float:
    """The money that is left for each request that is left.

    >>> left_per_request(10.0, 8.0, Now(pulls=2, log_n=0.693, spent=7.0))
    0.5
    """
    return per_request(max(0.0, budget - now.spent), max(1.0, requests - now.pulls))


def unpulled(memory: HullMoments) -> int:
    """The first arm without a sample, or the number of arms."""
    for arm in range(len(memory.pulls)):
        if memory.pulls[arm] == 0:
            return arm
    return len(memory.pulls)


def drawn_end(costs: Vector, rewards: Vector, per_request: float, now: Now, rng: np.random.Generator) -> int:
    """An end of the edge of these points, drawn with the shares that use up money and requests together.

    Where a share of the requests is not to be served, the arm is pulled none the less: what is left decides when to
    end. While nothing pays, the arms are pulled in turn.
    """
    edge = prices(costs, rewards, per_request)
    if edge.low == NOTHING or edge.high == NOTHING:
        end = edge.high if edge.low == NOTHING else edge.low
        return now.pulls % len(costs) if end == NOTHING else end
    across = costs[edge.high] - costs[edge.low]
    return edge.high if rng.random() * across < per_request - costs[edge.low] else edge.low
