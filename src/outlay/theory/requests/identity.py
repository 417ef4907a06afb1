"""Where regret comes from when a budget and requests are to be used up: an identity, by Wald (docs/requests.md).

    N·f(c) − E[reward]  =  ν·E[N − τ]  +  λ·E[B − S]  +  Σ_k Δ_k·E[T_k]

for every policy: τ ≤ N pulls are made, S is spent, arm k has T_k of the pulls. Requests that are not served lose their
worth, money that is not spent its price, and pulls of arms that are not on the edge their gaps.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from outlay.arms import Problem
from outlay.checks import Vector
from outlay.errors import BadParameter
from outlay.formulas.pricing import TIE
from outlay.theory.requests.hull import fluid, gaps_at


class FluidRegret(NamedTuple):
    """Regret against N·f(c) and its three parts, each of the shape of the pulls without their last axis."""

    total: Vector
    unserved: Vector  # ν·(N − τ)
    unspent: Vector  # λ·(B − S); below 0 where the last pull has passed the budget
    gaps: Vector  # Σ_k Δ_k·T_k


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
    unserved = _left(found.worth, requests, made)
    unspent = _left(found.price, budget, spent)
    gaps = counts @ gaps_at(problem, found.price, found.worth)
    return FluidRegret(np.asarray(unserved + unspent + gaps), unserved, unspent, np.asarray(gaps))


def _left(price: float, limit: float, used: Vector) -> Vector:
    """What is left, at its price; without a limit the price is 0."""
    return np.zeros_like(used) if limit == math.inf else np.asarray(price * (limit - used))
