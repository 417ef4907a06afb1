"""The fluid optimum: what N requests can bring for a budget B, if each could be shared out among the arms.

    f(c) = max Σ_k p_k·E[R_k]  over  Σ_k p_k·E[X_k] ≤ c,  Σ_k p_k ≤ 1,  p ≥ 0,      c = B/N

is the upper concave hull of the arms' points (E[X], E[R]) and the origin, flat to the right: `prices.py` finds
the edge over c. No policy earns more than N·f(c), apart from what it overspends (docs/requests.md). With N = ∞ this is
the paper's problem: f(0) = 0, the price of money is r*, and a request is worth nothing.
"""

import math
from typing import NamedTuple

import numpy as np

from outlay.arms import Problem
from outlay.arms.problem import checked_problem
from outlay.checks import Vector, real
from outlay.errors import BadParameter
from outlay.formulas.pricing import NOTHING, TIE, prices


class Fluid(NamedTuple):
    """The fluid optimum, and the edge of the hull that it is on."""

    value: float  # f(c), what a request brings
    price: float  # λ, what another unit of money would bring
    worth: float  # ν, what another request would bring
    low: int | None  # the cheaper arm of the mix; None for no arm: that share of the requests is not served
    high: int | None  # the dearer arm; None where one arm is enough, or none pays
    share: float  # of the requests that go to `high`; the others go to `low`


class Price(NamedTuple):
    """A line over the hull that touches it at c."""

    price: float  # λ, its slope
    worth: float  # ν, its height at 0


class Bend(NamedTuple):
    """The slopes of the hull at an arm: every price of money between them is right when c is its mean cost."""

    before: float  # λ₋, to the left; ∞ where no point is on the left
    after: float  # λ₊, to the right


def fluid(problem: Problem, budget: float, requests: float) -> Fluid:
    """What N = `requests` can bring for B = `budget` if each were shared out: value, prices, and the mix of arms.

    At a vertex of the hull, where several prices are right, the price is that of more money (the edge to the right);
    a mean cost that only rounding tells from c is at the vertex.
    One of the two may be `math.inf`: without a limit to the requests it is the paper's problem, without one to the
    money the classical bandit. Arms may cost nothing on average, or refund.

    >>> from outlay.arms import Constant, Problem
    >>> problem = Problem([Constant(1, 3), Constant(4, 6), Constant(10, 9)])
    >>> fluid(problem, budget=250.0, requests=100)
    Fluid(value=4.5, price=1.0, worth=2.0, low=0, high=1, share=0.5)
    >>> fluid(problem, budget=50.0, requests=100)  # half of the requests get nothing
    Fluid(value=1.5, price=3.0, worth=0.0, low=None, high=0, share=0.5)
    >>> fluid(problem, 50.0, math.inf).price == problem.rate
    True
    """
    checked_problem("fluid", problem, free=True)
    c = per_request("fluid", budget, requests)
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        found = prices(problem.mean_costs, problem.mean_rewards, c * (1 + TIE))  # an arm that costs c: no more than c
    if requests == math.inf and found.worth > 0:
        does = "refunds" if problem.mean_costs[found.low] < 0 else "pays and costs nothing"
        raise BadParameter("fluid", "requests", f"finite where {problem.names[found.low]!r} {does}", requests)
    low, high = (None if arm == NOTHING else arm for arm in (found.low, found.high))
    share = 0.0
    if high is not None:
        left = 0.0 if low is None else float(problem.mean_costs[low])
        share = max(0.0, (c - left) / (float(problem.mean_costs[high]) - left))
    value = found.worth + found.price * c if found.price > 0 else found.worth
    if not math.isfinite(value):
        raise BadParameter("fluid", "problem", "one whose value per request is a finite number", value)
    return Fluid(value, found.price, found.worth, low, high, share)


def request_gaps(problem: Problem, budget: float, requests: float) -> Vector:
    """Δ_k = ν + λE[X_k] − E[R_k] ≥ 0, what a pull of each arm loses; exactly 0 for the arms on the edge.

    With no limit to the requests it is E[X_k]·(r* − r_k), what a pull loses in the paper.

    >>> from outlay.arms import Constant, Problem
    >>> request_gaps(Problem([Constant(1, 3), Constant(4, 6), Constant(10, 9)]), budget=250.0, requests=100)
    array([0., 0., 3.])
    """
    found = fluid(problem, budget, requests)
    return gaps_at(problem, found.price, found.worth)


def gaps_at(problem: Problem, price: float, worth: float) -> Vector:
    """Δ_k at these prices; what only rounding tells from 0 is 0."""
    gaps: Vector = worth + price * problem.mean_costs - problem.mean_rewards
    return np.where(gaps > TIE * (worth + price * np.abs(problem.mean_costs)), gaps, 0.0)


def bend(problem: Problem, arm: int) -> Bend:
    """The slopes of the hull at an arm on it, from all other points and the origin.

    >>> from outlay.arms import Constant, Problem
    >>> bend(Problem([Constant(1, 3), Constant(4, 6), Constant(10, 9)]), 2)
    Bend(before=0.5, after=0.0)
    """
    costs, rewards = np.append(problem.mean_costs, 0.0), np.append(problem.mean_rewards, 0.0)
    across, up = costs - costs[arm], rewards - rewards[arm]
    slopes = np.divide(up, across, out=np.zeros_like(up), where=across != 0)
    far = TIE * abs(costs[arm])
    before, after = slopes[across < -far], slopes[across > far]
    return Bend(float(before.min(initial=math.inf)), float(after.max(initial=0.0)))


def vertex(problem: Problem, budget: float, requests: float) -> int | None:
    """The arm of the edge at whose mean cost the hull bends and c is, but for rounding; None inside an edge.

    >>> from outlay.arms import Constant, Problem
    >>> problem = Problem([Constant(1, 3), Constant(4, 6), Constant(10, 9)])
    >>> vertex(problem, 400.0, 100), vertex(problem, 410.0, 100)
    (1, None)
    """
    found, c = fluid(problem, budget, requests), per_request("vertex", budget, requests)
    for arm in (found.low, found.high):
        if arm is not None and 0 < c < math.inf and abs(problem.mean_costs[arm] - c) <= TIE * c:
            before, after = bend(problem, arm)
            return arm if before - after > TIE * before else None
    return None


def right_prices(problem: Problem, budget: float, requests: float) -> list[Price]:
    """The prices that are right: one pair inside an edge; at a vertex the two between which all are, less money first.

    >>> from outlay.arms import Constant, Problem
    >>> right_prices(Problem([Constant(1, 3), Constant(4, 6), Constant(10, 9)]), 400.0, 100)
    [Price(price=1.0, worth=2.0), Price(price=0.5, worth=4.0)]
    """
    found, arm = fluid(problem, budget, requests), vertex(problem, budget, requests)
    if arm is None:
        return [Price(found.price, found.worth)]
    cost, reward = float(problem.mean_costs[arm]), float(problem.mean_rewards[arm])
    worths = ((slope, reward - slope * cost) for slope in bend(problem, arm))
    return [Price(slope, worth if worth > TIE * reward else 0.0) for slope, worth in worths]


def per_request(owner: str, budget: float, requests: float) -> float:
    """C = B/N, once both are checked: numbers above 0, of which one may be infinite.

    >>> per_request("fluid", 10.0, math.inf), per_request("fluid", math.inf, 10)
    (0.0, inf)
    """
    for name, value in (("budget", budget), ("requests", requests)):
        if value != math.inf:
            real(owner, name, value, above=0)
    if budget == requests == math.inf:
        raise BadParameter(owner, "requests", "finite where the budget is not", requests)
    c = float(budget) / float(requests)
    if c == math.inf != budget:
        raise BadParameter(owner, "budget", "small enough that budget/requests is finite, or math.inf", budget)
    return c
