"""The fluid optimum: what N requests can bring for a budget B, if each could be shared out among the arms.

    f(c) = max Σ_k p_k·E[R_k]  over  Σ_k p_k·E[X_k] ≤ c,  Σ_k p_k ≤ 1,  p ≥ 0,      c = B/N

is the upper concave hull of the arms' points (E[X], E[R]) and the origin, flat to the right. No policy earns more than
N·f(c), apart from what it overspends (docs/requests.md). With N = ∞ this is the paper's problem: f(0) = 0, the price of
money is r*, and a request is worth nothing.

Where regret comes from when a budget and requests are to be used up is an identity, by Wald:

    N·f(c) − E[reward]  =  ν·E[N − τ]  +  λ·E[B − S]  +  Σ_k Δ_k·E[T_k]

for every policy: τ ≤ N pulls are made, S is spent, arm k has T_k of the pulls. Even the best policy stays below the
fluid optimum, since costs are random: by a bounded amount inside an edge of the hull, by the order of √N at a vertex.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from outlay.arms import Problem
from outlay.arms.problem import checked_problem
from outlay.checks import Vector, real
from outlay.errors import BadParameter, NotCovered
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


class FluidRegret(NamedTuple):
    """Regret against N·f(c) and its three parts, each of the shape of the pulls without their last axis."""

    total: Vector
    unserved: Vector  # ν·(N − τ)
    unspent: Vector  # λ·(B − S); below 0 where the last pull has passed the budget
    gaps: Vector  # Σ_k Δ_k·T_k


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
        found = fluid_at(problem.mean_costs, problem.mean_rewards, c)
    if requests == math.inf and found.worth > 0 and found.low is not None:
        does = "refunds" if problem.mean_costs[found.low] < 0 else "pays and costs nothing"
        raise BadParameter("fluid", "requests", f"finite where {problem.names[found.low]!r} {does}", requests)
    if not math.isfinite(found.value):
        raise BadParameter("fluid", "problem", "one whose value per request is a finite number", found.value)
    return found


def fluid_at(mean_costs: Vector, mean_rewards: Vector, c: float) -> Fluid:
    """The fluid optimum of arms with these means, and so much money for each request."""
    found = prices(mean_costs, mean_rewards, c * (1 + TIE))  # an arm that costs c: no more than c
    low, high = (None if arm == NOTHING else arm for arm in (found.low, found.high))
    share = 0.0
    if high is not None:
        left = 0.0 if low is None else float(mean_costs[low])
        share = max(0.0, (c - left) / (float(mean_costs[high]) - left))
    value = found.worth + found.price * c if found.price > 0 else found.worth
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


def bend(problem: Problem, arm: int) -> tuple[float, float]:
    """The slopes of the hull at an arm on it: λ₋ to the left, ∞ where no point is there, and λ₊ to the right.

    Every price of money between them is right when c is the arm's mean cost.
    """
    costs, rewards = np.append(problem.mean_costs, 0.0), np.append(problem.mean_rewards, 0.0)
    across, up = costs - costs[arm], rewards - rewards[arm]
    slopes = np.divide(up, across, out=np.zeros_like(up), where=across != 0)
    far = TIE * abs(costs[arm])
    return float(slopes[across < -far].min(initial=math.inf)), float(slopes[across > far].max(initial=0.0))


def vertex(problem: Problem, budget: float, requests: float) -> int | None:
    """The arm of the edge at whose mean cost the hull bends and c is, but for rounding; None inside an edge."""
    found, c = fluid(problem, budget, requests), per_request("vertex", budget, requests)
    for arm in (found.low, found.high):
        if arm is not None and 0 < c < math.inf and abs(problem.mean_costs[arm] - c) <= TIE * c:
            before, after = bend(problem, arm)
            return arm if before - after > TIE * before else None
    return None


def right_prices(problem: Problem, budget: float, requests: float) -> list[Price]:
    """The right prices: one pair inside an edge; at a vertex the two between which all are, less money first."""
    found, arm = fluid(problem, budget, requests), vertex(problem, budget, requests)
    if arm is None:
        return [Price(found.price, found.worth)]
    cost, reward = float(problem.mean_costs[arm]), float(problem.mean_rewards[arm])
    worths = ((slope, reward - slope * cost) for slope in bend(problem, arm))
    return [Price(slope, worth if worth > TIE * reward else 0.0) for slope, worth in worths]


def per_request(owner: str, budget: float, requests: float) -> float:
    """C = B/N, once both are checked: numbers above 0, of which one may be infinite."""
    for name, value in (("budget", budget), ("requests", requests)):
        if value != math.inf:
            real(owner, name, value, above=0)
    if budget == requests == math.inf:
        raise BadParameter(owner, "requests", "finite where the budget is not", requests)
    c = float(budget) / float(requests)
    if c == math.inf != budget:
        raise BadParameter(owner, "budget", "small enough that budget/requests is finite, or math.inf", budget)
    return c


def fluid_regret(
    problem: Problem, budget: float, requests: float, pulls: ArrayLike, cost: ArrayLike | None = None
) -> FluidRegret:
    """The regret of whoever made these pulls, against the fluid optimum.

    Of mean pulls and a mean cost it is the regret itself. Of a single run's it is an estimate of it with the right mean
    and, since rewards do not enter, little variance; least where `cost` is left out, and Σ_k T_k·E[X_k] stands for it.

    Args:
        problem: the problem that was played.
        budget: B, what could be spent, or `math.inf`.
        requests: N, the pulls that could be made, or `math.inf`.
        pulls: T_k, counted in one run or averaged; the arms are the last axis.
        cost: S, what the pulls have cost.

    >>> from outlay.arms import Constant, Problem
    >>> problem = Problem([Constant(1, 3), Constant(4, 6), Constant(10, 9)])
    >>> fluid_regret(problem, 250.0, 100, pulls=[60, 30, 5])  # brought 405 of 450
    FluidRegret(total=array(45.), unserved=array(10.), unspent=array(20.), gaps=array(15.))
    """
    found = fluid(problem, budget, requests)
    counts = np.asarray(pulls, dtype=np.float64)
    if counts.ndim == 0 or counts.shape[-1] != len(problem) or not (np.isfinite(counts) & (counts >= 0)).all():
        raise BadParameter("fluid_regret", "pulls", f"finite numbers ≥ 0, {len(problem)} along the last axis", pulls)
    made = np.asarray(counts.sum(axis=-1))
    if (made > requests * (1 + TIE)).any():  # means of counts may be rounded
        raise BadParameter("fluid_regret", "pulls", f"no more in all than the {requests:g} requests", pulls)
    spent = counts @ problem.mean_costs if cost is None else np.asarray(cost, dtype=np.float64)
    if spent.shape != counts.shape[:-1] or not np.isfinite(spent).all():
        raise BadParameter("fluid_regret", "cost", "finite numbers, one for each row of pulls", cost)
    # Without a limit its price is 0.
    unserved = np.zeros_like(made) if requests == math.inf else np.asarray(found.worth * (requests - made))
    unspent = np.zeros_like(spent) if budget == math.inf else np.asarray(found.price * (budget - spent))
    gaps = counts @ gaps_at(problem, found.price, found.worth)
    return FluidRegret(np.asarray(unserved + unspent + gaps), unserved, unspent, np.asarray(gaps))


def fluid_loss(problem: Problem, budget: float, requests: float) -> float:
    """N·f(c) less what the best policy earns that knows the means, up to o(√N): 0 inside an edge.

    At a vertex, c = E[X_k], it is (λ₋ − λ₊)·σ·√(N/2π), with λ₋ and λ₊ the slopes of the hull on both sides and σ the
    standard deviation of arm k's cost, the least of several arms at that point. Beside it, z = (c − E[X_k])·√N/σ
    standard deviations away, φ(z) − |z|·Φ(−|z|) takes the place of 1/√(2π): the √N term fades as c moves into an edge.
    Both ends of the edge are counted.

    >>> from outlay.arms import Constant, Gaussian, Problem
    >>> problem = Problem([Constant(0.1, 0.3), Gaussian(0.4, 0.6, 0.2, 0.1), Constant(1.0, 0.9)])
    >>> round(fluid_loss(problem, budget=400.0, requests=1000), 4)  # (1 − ½)·0.2·√(1000/2π)
    1.2616
    >>> round(fluid_loss(problem, budget=450.0, requests=1000), 4)
    0.0
    """
    found, c = fluid(problem, budget, requests), per_request("fluid_loss", budget, requests)
    if math.inf in (budget, requests):
        return 0.0
    total, root = 0.0, math.sqrt(requests)
    for arm in (found.low, found.high):
        if arm is None or (slopes := bend(problem, arm))[0] == math.inf:
            continue  # the origin, or an arm that c > 0 does not come near as N grows
        (before, after), cost = slopes, problem.mean_costs[arm]
        same = (problem.mean_costs == cost) & (problem.mean_rewards == problem.mean_rewards[arm])
        sigma = math.sqrt(float(problem.second_moments()["var_cost"][same].min()))
        if sigma == 0:
            continue
        if sigma == math.inf:
            name = problem.names[arm]
            raise NotCovered(f"no fluid loss: it is for costs of finite variance, and arm {name!r} has none")
        z = abs(c - float(cost)) * root / sigma
        density, beyond = math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi), 0.5 * math.erfc(z / math.sqrt(2))
        total += (before - after) * sigma * root * (density - z * beyond)
    return total
