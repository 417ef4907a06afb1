"""Problems with a number of requests beside the budget: N requests, and so much money for each of them.

Dearer arms pay more, as models and solvers do, so that the best answer is a mix which moves with the money for a
request. That is in units of the mean cost of the arm that pays most: from 1 on it alone is best. Regret is in per cent
of what the best mix brings.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.leaderboard.two_point import two_point
from outlay import Problem, theory
from outlay.arms import Gaussian, Lognormal

REQUESTS = (500, 2_000, 10_000)
PER_REQUEST = (0.05, 0.2, 0.5, 0.8, 1.2)  # money, in mean costs of the arm that pays most
RUNS = 200
FAMILIES = ("coins", "gaussian", "lognormal", "rare")
RARE = 0.05  # the chance of a reward in the family of that name

Floats = NDArray[np.float64]


class Rationed(NamedTuple):
    """A problem with a number of requests: what stands on the board where others have a problem alone."""

    of: str
    problem: Problem
    requests: int

    @property
    def name(self) -> str:
        """Of the problem with so many requests."""
        return f"{self.of}×{self.requests}"

    @property
    def group(self) -> str:
        """All of them are counted together."""
        return "requests"

    @property
    def runs(self) -> int:
        """How many to play where nobody asks for another number."""
        return RUNS

    @property
    def arms(self) -> int:
        """How many there are."""
        return len(self.problem)

    def budgets(self, per_request: tuple[float, ...]) -> Floats:
        """In money, for all requests together."""
        dearest = float(self.problem.mean_costs[np.argmax(self.problem.mean_rewards)])
        return np.array(per_request) * dearest * self.requests

    def most(self, budget: float) -> float:
        """What the best mix brings."""
        return self.requests * theory.fluid(self.problem, budget, self.requests).value


def with_requests(real: Mapping[str, Problem]) -> list[Rationed]:
    """Two problems of each family, and the real ones that are given, with every number of requests."""
    named = {f"ration-{family}:{i}": of_family(family, i) for family in FAMILIES for i in (1, 2)}
    named |= {f"ration-{name}": problem for name, problem in real.items()}
    return [Rationed(name, problem, requests) for name, problem in named.items() for requests in REQUESTS]


def of_family(family: str, number: int, arms: int | None = None) -> Problem:
    """Three to eight arms, or as many as said; mean costs are lognormal, and rewards grow with their logarithm."""
    rng = np.random.default_rng([number, *family.encode()])
    few = int(rng.integers(3, 9))
    costs = np.exp(rng.normal(0.0, 1.0, few if arms is None else arms))
    rewards = np.clip(0.25 + 0.25 * np.log1p(costs) + rng.normal(0.0, 0.12, len(costs)), 0.05, 0.95)
    pairs = list(zip(costs.tolist(), rewards.tolist(), strict=True))
    if family == "gaussian":
        return Problem([Gaussian(cost, reward, 0.5 * cost, 0.5) for cost, reward in pairs])
    if family == "lognormal":
        return Problem([Lognormal(cost, reward, 0.6 * cost, 2.5 * reward) for cost, reward in pairs])
    return Problem([two_point(c, r, 0.5, RARE if family == "rare" else r) for c, r in pairs])
