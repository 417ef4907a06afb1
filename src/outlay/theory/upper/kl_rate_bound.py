"""How large the regret of KL-rate with exact evidence can be, at every budget: Theorem 2 of docs/kl-rate-regret.md.

An arm k that is not best is pulled until its own samples speak against the rate r* − ε (`_judged`), and while those of
the best arm do by mistake (`_lost`). Arms that have cost nothing for 30 pulls are compared at a substitute price, which
adds `_freely`. Every ε between 0 and the gap gives a bound; the least is taken. Expectations are sums over the outcomes
of a law: exact for a table, up to rounding, and a quadrature for Beta and Uniform, whose bounds are therefore
approximate and not certified.
"""

import math
from typing import NamedTuple

import numpy as np

from outlay.arms import AnyLaw, LawMoments, Problem, support_of
from outlay.checks import Vector
from outlay.errors import NotCovered
from outlay.formulas.choices.choose import PATIENCE
from outlay.policies import KLRate
from outlay.policies.kl_rate import KEPT_EXACTLY
from outlay.theory.arm_rates import rates, suboptimal
from outlay.theory.divergences.bounded import outcomes
from outlay.theory.divergences.known_support import Points
from outlay.theory.upper.mistakes import Lost, Tilted, at_most_once, summed

THEOREM = "KL-rate, Theorem 2"
_ROUNDING = 2e-5  # what `exact_evidence` may miss of the samples that are kept
_SHARES = np.concatenate([np.geomspace(0.02, 0.4, 9), np.linspace(0.5, 0.95, 9)])  # of the gap, for ε
_POWERS = np.geomspace(1e-3, 1.0, 60)  # for θ, where the arm itself is judged
_TILTS = np.concatenate([[0.0], np.geomspace(1e-2, 20.0, 40)])  # for θ of the best arm, in units of E[Z]/E[Z²]
_CELLS = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 120)])  # the ends of intervals of u
_FREE = np.arange(PATIENCE, KEPT_EXACTLY + 2.0)  # pulls of an arm that have all cost nothing


class _Arm(NamedTuple):
    """What the theorem reads of an arm."""

    points: Points
    mean: float  # μ
    square: float  # E[X²]/μ²
    free: float  # P(X = 0)

    def most(self, budget: float) -> float:
        """How often the arm can be pulled on average before it has cost more than this (Lorden)."""
        return budget / self.mean + self.square


def kl_rate_pulls(problem: Problem, policy: KLRate, budget: float) -> dict[int, float]:
    """Bounds on E[T_k(N(B))] for the arms with a gap: the least over ε and θ, and never more than the budget buys.

    >>> from outlay.arms import Bernoulli, Problem
    >>> problem = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.05)])
    >>> {arm: round(most) for arm, most in kl_rate_pulls(problem, KLRate("one", "exact", 1.0), 1e6).items()}
    {1: 638}
    """
    covered(problem, policy)
    found, arms = rates(problem), [_arm(law) for law in problem.arms]
    bound, (less, more) = policy.known_bound, _slack(policy, len(arms))
    largest = max(support_of(law).cost_high for law in problem.arms)
    pulls = {}
    for k in suboptimal(problem):
        arm = arms[k]
        least = arm.most(budget)
        price = math.exp(more) * largest * np.sqrt(_FREE) / arm.mean + arm.square
        freely = sum(_summed(other.free, price) for j, other in enumerate(arms) if j != k)
        for share in _SHARES:
            rate = found.best_rate - float(share) * min(float(found.gap[k]), found.best_rate)
            lost = _lost(arms[found.best], rate, bound, largest, math.exp(less + more), budget)
            missed = min((spend / arm.mean + times * (arm.square - 1.0) for spend, times in lost), default=math.inf)
            least = min(least, freely + missed + _judged(arm, rate, bound, budget, more))
        pulls[k] = least
    return pulls


def covered(problem: Problem, policy: KLRate) -> None:
    """`NotCovered`, with the first assumption that fails."""
    if policy.evidence != "exact" or policy.reward_bound is None:
        raise NotCovered("the theorem on KLRate is about evidence='exact' with a reward_bound")
    if not problem.rate > 0:
        raise NotCovered(f"the theorem on KLRate needs a best rate > 0; it is {problem.rate:g}")
    for name, law in zip(problem.names, problem.arms, strict=True):
        box = support_of(law)
        if box.cost_low < 0:
            raise NotCovered(f"the theorem on KLRate needs costs ≥ 0; those of {name!r} can be {box.cost_low:g}")
        if box.reward_high > policy.reward_bound:
            words = f"rewards ≤ {policy.reward_bound:g}, its reward_bound; those of {name!r} can be {box.reward_high:g}"
            raise NotCovered(f"the theorem on KLRate needs {words}")


def _arm(law: AnyLaw) -> _Arm:
    points, moments = outcomes(law), LawMoments(*law.moments())
    square = 1.0 + moments.var_cost / moments.mean_cost**2
    free = float(points.probabilities[points.costs == 0].sum())
    return _Arm(points, moments.mean_cost, square, free)


def _slack(policy: KLRate, arms: int) -> tuple[float, float]:
    """The d and d' with l − d ≤ g(l) ≤ l + d' for every l > 0."""
    return {"one": (0.0, 0.0), "half": (5.0, 0.0), "plus": (math.log(arms), math.log1p(1.0 / arms))}[policy.schedule]


def _judged(arm: _Arm, rate: float, bound: float, budget: float, more: float) -> float:
    """The pulls until the arm's own samples speak against `rate`, and those past the samples that are kept."""
    from scipy.optimize import minimize_scalar

    x, r, p = arm.points
    w = np.minimum((r - rate * x) / bound, 1.0)
    best = minimize_scalar(lambda u: -float((p * np.log1p(-u * w)).sum()), bounds=(0.0, 1.0 - 1e-9), method="bounded")
    growth = np.log1p(-float(best.x) * w)  # any λ gives a valid bound, the best one the least
    shrink = np.log((p * np.exp(-_POWERS[:, None] * growth)).sum(axis=1))  # ln φ(θ)
    level = math.log(2.0 * budget / arm.mean) + more + _ROUNDING
    cheap = 1.0 / (8.0 * arm.square)  # ψ
    late = np.exp(np.minimum(0.0, _POWERS * (level - math.log(KEPT_EXACTLY)) + KEPT_EXACTLY * shrink))
    late += math.exp(-KEPT_EXACTLY * cheap)
    fine = shrink < 0
    pulls = np.where(fine, _POWERS * max(level, 0.0) / np.where(fine, -shrink, 1.0), math.inf)
    pulls += np.where(fine, 1.0 / -np.expm1(np.where(fine, shrink, -1.0)), 0.0) + arm.most(budget) * late
    return float(pulls.min()) + 1.0 / math.expm1(cheap) + 1.0 / (1.0 - arm.free)


def _lost(best: _Arm, rate: float, bound: float, largest: float, weight: float, budget: float) -> list[Lost]:
    """Two bounds on what mistakes about the best arm cost (Lemmas 3a and 3b), each with what the code adds; or none."""
    decay, spend = _tilts(best.points, rate, bound)
    x, r, _ = best.points
    w = (r - rate * x) / bound
    with np.errstate(over="ignore", invalid="ignore"):
        gamma, xi = np.maximum(decay[:, 1:], decay[:, :-1]), np.maximum(spend[:, 1:], spend[:, :-1])
        tilted = Tilted(gamma, xi, _CELLS, decay[:, 0], float(w.min()), float(w.max()))
        if not tilted.first < 1.0:
            return []  # a dear outcome is too rare for every θ of the grid
        sums = Lost(weight * (summed(tilted) + _late(decay, spend)), tilted.first / (1.0 - tilted.first))
        once = at_most_once(tilted, largest, weight, budget, KEPT_EXACTLY)
    free = _freely(best, rate, bound, largest)
    return [Lost(each.spend + weight * free.spend, each.times + free.times) for each in (sums, once)]


def _tilts(best: Points, rate: float, bound: float) -> tuple[Vector, Vector]:
    """γ = E[(1 − uZ/M)e^(−θZ)] and ξ = E[X(1 − uZ/M)e^(−θZ)], Z = R − rate·X: a row for each θ, a column for each u.

    Both are linear in u for a given θ, so that in a cell they are largest at one of its ends.
    """
    x, r, p = best
    z = r - rate * x
    tilts = _TILTS * float((p * z).sum()) / float((p * z * z).sum())
    with np.errstate(over="ignore", invalid="ignore"):
        weights = p * np.exp(-tilts[:, None] * z)
        return _linear(weights, z / bound), _linear(weights * x, z / bound)


def _late(decay: Vector, spend: Vector) -> float:
    """What is added where the best arm has more than the samples that are kept, by which it is judged then.

    (n + 1)·ξ̄·γ̄^(n−1)·((n + 1)/(1 − γ(0)) + γ(0)/(1 − γ(0))²), with the larger ξ̄ and γ̄ of u = 0 and u = 1, at any θ.
    """
    first, larger = decay[:, 0], np.maximum(decay[:, 0], decay[:, -1])
    fine, n = larger < 1.0, KEPT_EXACTLY
    first, larger = np.where(fine, first, 0.0), np.where(fine, larger, 1.0)
    times = (n + 1) / (1.0 - first) + first / (1.0 - first) ** 2
    sums = (n + 1) * np.maximum(spend[:, 0], spend[:, -1]) * np.exp((n - 1) * np.log(larger)) * times
    return float(np.where(fine, sums, math.inf).min())


def _linear(weights: Vector, w: Vector) -> Vector:
    """Σ weights·(1 − uw) at the ends u of the cells, for each row of weights."""
    values: Vector = weights.sum(axis=1)[:, None] - _CELLS * (weights * w).sum(axis=1)[:, None]
    return values


def _freely(best: _Arm, rate: float, bound: float, largest: float) -> Lost:
    """The same where all pulls of the best arm, 30 or more, have cost nothing: its price is the largest cost over √t.

    Past the samples that are kept its evidence is the larger of two, each with the same bound: hence twice.
    """
    x, r, p = best.points
    paid = float((p * r)[x == 0].sum()) / bound
    price = rate * largest / (bound * np.sqrt(_FREE))
    base = np.maximum(best.free, best.free * (1.0 + price) - paid)
    factor = largest * np.sqrt(_FREE) * (_FREE + 1.0) * np.where(_FREE > KEPT_EXACTLY, 2.0, 1.0)
    return Lost(_summed(base, factor), _summed(best.free, np.ones(len(_FREE))))


def _summed(base: float | Vector, factor: Vector) -> float:
    """Σ factor·base^t over t ≥ 30, for a base that falls and a factor that grows at most like t².

    What follows the last term is at most geometric, its ratio being base·(1 + 1/t)².
    """
    with np.errstate(over="ignore", divide="ignore"):
        terms = np.exp(_FREE * np.log(base)) * factor
        total = float(terms.sum())
    ratio = float(np.broadcast_to(base, len(_FREE))[-1]) * (1.0 + 1.0 / float(_FREE[-1])) ** 2
    return total + (float(terms[-1]) * ratio / (1.0 - ratio) if ratio < 1.0 else math.inf)
