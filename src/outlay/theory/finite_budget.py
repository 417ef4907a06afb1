"""Regret at a given budget that no policy avoids on a given problem, unless it loses more where an arm is better.

A policy that hardly pulls arm k cannot know that it is not the best. Make arm k better than all others, by ε: if the
policy loses no more than R on that problem, it pulls arm k there most of the time, here it does not, and to tell the
two problems apart takes pulls of arm k. docs/lower-bounds.md has the proof.
"""

import math
from typing import NamedTuple

import numpy as np

from outlay.arms import Problem
from outlay.arms.problem import checked_problem
from outlay.checks import Vector, real
from outlay.errors import BadParameter, NotCovered
from outlay.extras import needed
from outlay.theory.arm_rates import rates, suboptimal
from outlay.theory.divergences import divergence
from outlay.theory.lower_bounds import has_model

_GAINS = (0.03, 0.06, 0.12, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0)  # ε to try, in gaps of the arm
_PARTS = (0.1, 0.3, 0.5, 0.7, 0.85, 0.93, 0.97, 0.99, 0.997)  # of B, for b
_HALVINGS = 24  # of an interval for x; its lower end is taken
_FINE = 1e-6  # relative precision of R


class FiniteBound(NamedTuple):
    """Regret at a budget, from below."""

    value: float  # Σ_k μ_kΔ_k·pulls
    regret: float  # R, what is lost at most where an arm is made better
    pulls: dict[str, float]  # by arm with a gap: its mean number of pulls is at least this


class _Cases(NamedTuple):
    """A row per arm with a gap, and what is tried for it: D, εb, b and the chance p."""

    arms: list[int]
    mean: Vector  # μ, a column
    loss: Vector  # μΔ
    distance: Vector
    gain: Vector  # ε·b
    part: Vector  # b
    late: Vector  # p


@needed("theory.finite_bound")
def finite_bound(
    problem: Problem, budget: float, regret: float | None = None, *, model: str | None = None
) -> FiniteBound:
    """What a policy loses on `problem` at budget B if it loses at most `regret` = R wherever an arm is made better.

    For each arm with a gap, any ε > 0 and b < B: let D be the divergence of its law from the rate r* + ε, in its model
    (`divergence`), v the largest Var(X_j)/μ_j and p = vb/(vb + (B − b)²). Then its mean number of pulls x satisfies

        x·D ≥ kl(1 − p − μ_k·x/b, R/(εb)),   kl the divergence of two coins,

    and so is at least the root of this, the largest over a grid of ε and b. There is no limit in this, and no O(1), and
    `regret` is all that is asked of the policy; where none can meet it, as R = 0, the bound says nothing. Regret is
    Σ_k E[T_k]μ_kΔ_k, as in `Result`.

    Without `regret`, R is the bound itself: **every** policy loses at least so much at this budget, on `problem` or on
    one that differs from it by one better arm.

    >>> from outlay.arms import Gaussian, Problem
    >>> problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)], names=["good", "bad"])
    >>> round(finite_bound(problem, 1e5).value, 2)
    10.61
    >>> found = finite_bound(problem, 1e5, regret=20.0)  # if no more is lost where "bad" is made better
    >>> round(found.value, 2), {name: round(pulls, 1) for name, pulls in found.pulls.items()}
    (9.54, {'bad': 19.1})
    """
    budget = real("finite_bound", "budget", budget, above=0)
    if regret is not None:
        regret = real("finite_bound", "regret", regret, at_least=0)
    checked_problem("finite_bound", problem)
    if model is not None and not any(has_model(law, model) for law in problem.arms):
        raise BadParameter("finite_bound", "model", "one that an arm has", model)
    cases = cases_of(problem, budget, model)

    def at(most: float) -> FiniteBound:
        pulls = pulls_at(cases, most)
        named = {problem.names[arm]: float(x) for arm, x in zip(cases.arms, pulls, strict=True)}
        return FiniteBound(float(cases.loss @ pulls), most, named)

    if regret is not None:
        return at(regret)
    low, high = 0.0, at(0.0).value  # the bound falls as R rises, and is R at one place
    while high - low > _FINE * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if at(middle).value >= middle else (low, middle)
    return at(low)._replace(value=low)


def cases_of(problem: Problem, budget: float, model: str | None = None) -> _Cases:
    """What is to be solved for each arm with a gap."""
    found, variances = rates(problem), problem.second_moments()["var_cost"]
    if not np.isfinite(variances).all():
        name = problem.names[int(np.argmin(np.isfinite(variances)))]
        raise NotCovered(f"the bound at a budget is for costs of finite variance; those of arm {name!r} have none")
    arms, gains = suboptimal(problem), np.tile(_GAINS, len(_PARTS))
    part = np.repeat(budget * np.array(_PARTS), len(_GAINS))
    distance = np.array([np.tile(_distances(problem, k, model), len(_PARTS)) for k in arms]).reshape(-1, len(part))
    spread = float((variances / found.mean_cost).max()) * part
    with np.errstate(over="ignore", invalid="ignore"):  # 0/0 at budgets next to 0, of which nothing follows
        late = spread / (spread + (budget - part) ** 2)
    mean, gap = (values[np.array(arms, dtype=int)] for values in (found.mean_cost, found.gap))
    return _Cases(arms, mean[:, None], mean * gap, distance, gap[:, None] * gains * part, part, late)


def _distances(problem: Problem, arm: int, model: str | None) -> list[float]:
    """D at each ε."""
    law, gap = problem.arms[arm], float(problem.gaps[arm])
    named = model if model is not None and has_model(law, model) else None
    try:
        return [divergence(law, problem.rate + gain * gap, named) for gain in _GAINS]
    except NotCovered as reason:
        raise NotCovered(f"no bound at a budget for arm {problem.names[arm]!r}: {reason}") from None


def pulls_at(cases: _Cases, regret: float) -> Vector:
    """For each arm the largest x that some ε and b prove: where x·D is kl(1 − p − μx/b, R/(εb)), by halving."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        there = np.minimum(regret / cases.gain, 1.0)
        here = np.maximum(there, 1.0 - cases.late)
        most = np.nan_to_num(_coins(here, there) / cases.distance, nan=0.0, posinf=math.inf)
        high = np.minimum(most, (here - there) * cases.part / cases.mean)  # at the latter both shares are equal
        low = np.zeros_like(high)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            less = middle * cases.distance < _coins(np.maximum(there, here - cases.mean * middle / cases.part), there)
            low, high = np.where(less, middle, low), np.where(less, high, middle)
    pulls: Vector = low.max(axis=1)
    return pulls


def _coins(p: Vector, q: Vector) -> Vector:
    """The divergence of a coin of chance p from one of chance q ≤ p: 0 where they are equal, ∞ at q = 0 < p."""
    tails = np.where(p < 1, (1.0 - p) * np.log((1.0 - p) / (1.0 - q)), 0.0)
    distance: Vector = np.where(p > q, p * np.log(p / q) + tails, 0.0)
    return distance
