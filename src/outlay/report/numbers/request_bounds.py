"""What the theory says of a problem where a budget is to serve so many requests: prices, the mix, a row per arm."""

import math
from typing import NamedTuple

from outlay.arms import Problem
from outlay.checks import real
from outlay.errors import NotCovered
from outlay.theory import fluid, fluid_loss, model_of
from outlay.theory.fluid_optimum import Fluid, Price, right_prices
from outlay.theory.lower_bounds import distances_of, gaps_of


class RequestArm(NamedTuple):
    """One arm, or several summed, where N requests are to be served; None where there is no number."""

    arm: str
    cost: float | None  # E[X]
    reward: float | None  # E[R]
    share: float | None  # of the requests, in the fluid optimum
    gap: float | None  # Δ = ν + λE[X] − E[R]
    divergence: float | None  # D, to the nearest law of its model that would be worth a pull
    pulls: float | None  # ln N/D: how often a policy that learns pulls it, as N grows
    lower: float | None  # Δ·ln N/D: what that loses


class RequestBounds(NamedTuple):
    """What a budget and requests can bring, and what no policy that learns can avoid to lose."""

    budget: float
    requests: float
    fluid: Fluid
    prices: list[Price]  # those that are right: two at a vertex, of which all between are, too
    loss: float | None  # what the best policy loses that knows the means, but for O(1)
    arms: list[RequestArm]
    models: dict[str, list[str]]  # by model: the arms that D judges in it
    reason: str  # why a number is missing, or ""

    @property
    def total(self) -> RequestArm:
        """The bound on regret: the sum over the arms."""
        return summed_arms("all arms", self.arms)


def request_bounds(problem: Problem, budget: float, requests: float) -> RequestBounds:
    """The fluid optimum of `problem` at `budget` and `requests`, and the lower bound on regret, arm by arm.

    At a vertex the gaps are those at the price that gives the larger bound.

    >>> from outlay.arms import Bernoulli, Problem
    >>> problem = Problem([Bernoulli(0.1, 0.3), Bernoulli(0.4, 0.6), Bernoulli(0.9, 0.85)])
    >>> found = request_bounds(problem, budget=250.0, requests=1000)
    >>> round(found.fluid.value, 3), [round(row.share, 3) for row in found.arms], round(found.total.lower, 2)
    (0.45, [0.5, 0.5, 0.0], 14.33)
    """
    requests = real("request_bounds", "requests", requests, above=1)
    best, prices, reason = fluid(problem, budget, requests), right_prices(problem, budget, requests), ""
    loss, distances = None, {}
    try:
        loss, distances = fluid_loss(problem, budget, requests), distances_of(problem, prices)
    except NotCovered as why:
        reason = str(why)
    shares = {best.low: 1.0 - best.share, best.high: best.share}
    models: dict[str, list[str]] = {}
    for k in distances:
        models.setdefault(model_of(problem.arms[k]), []).append(problem.names[k])
    tables = []
    for gaps in gaps_of(problem, prices):
        rows = []
        for k, name in enumerate(problem.names):
            gap, distance = float(gaps[k]), distances.get(k)
            pulls = None if distance is None else math.log(requests) / distance if distance > 0 else math.inf
            lower = None if pulls is None else gap * pulls if gap > 0 else 0.0
            means = float(problem.mean_costs[k]), float(problem.mean_rewards[k])
            rows.append(RequestArm(name, *means, shares.get(k, 0.0), gap, distance, pulls, lower))
        tables.append(rows)
    worst = max(tables, key=lambda rows: summed_arms("", rows).lower or 0.0)
    return RequestBounds(float(budget), requests, best, prices, loss, worst, models, reason)


def summed_arms(name: str, rows: list[RequestArm]) -> RequestArm:
    """Shares, pulls and bounds of several arms, added up; one that has a gap and no bound leaves no sum."""
    judged = [row for row in rows if row.gap]
    lower = None if any(row.lower is None for row in judged) else math.fsum(row.lower or 0.0 for row in judged)
    pulls = None if lower is None else math.fsum(row.pulls or 0.0 for row in judged)
    return RequestArm(name, None, None, math.fsum(row.share or 0.0 for row in rows), None, None, pulls, lower)
