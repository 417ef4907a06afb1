"""How large the regret of KL-rate with exact evidence can be, at every budget: Theorem 2 of docs/kl-rate-regret.md.

An arm k that is not best is pulled until its own samples speak against the rate r* − ε (`_judged`), and while those of
the best arm do by mistake (`_lost`). Arms that have cost nothing for 30 pulls are compared at a substitute price, which
adds `_freely`. Every ε between 0 and the gap gives a bound; the least is taken. Expectations are sums over the outcomes
of a law: exact for a table, up to rounding, and a quadrature for Beta and Uniform, whose bounds are therefore
approximate and not certified.

How much a worse arm can cost while the best arm looks bad by mistake is in Lemmas 3a and 3b there. A mistake after t
pulls of the best arm is worth H_t = S_t·max_u L_t(u) of another arm's costs, L_t(u) being the product of 1 − uZ_i/M.
Lemma 3 has (t + 1) times the mean of L_t over u in [0, 1] for the largest. Near the peak of L_t less is
enough: the price of the mean over [0, U] is 1 + U√(2Qt/π) only, if the second derivative of ln L_t is ≥ −Qt there
(Lemma 3a). And a worse arm is pulled once at each number s of its pulls, whatever t is: not the sum of the H_t counts,
but their maximum over stretches of t, which is capped by the budget (Lemma 3b).
"""

import math
from typing import NamedTuple

import numpy as np

from outlay.arms import AnyLaw, LawMoments, Problem, support_of
from outlay.checks import Vector
from outlay.errors import NotCovered
from outlay.formulas.argmax import MOST_FREE_PULLS
from outlay.policies import KLRate
from outlay.policies.kl_rate import KEPT_EXACTLY
from outlay.theory.arm_rates import rates, suboptimal
from outlay.theory.divergence_bounded import Points, outcomes

THEOREM = "KL-rate, Theorem 2"
_ROUNDING = 2e-5  # what `exact_evidence` may miss of the samples that are kept
_SHARES = np.concatenate([np.geomspace(0.02, 0.4, 9), np.linspace(0.5, 0.95, 9)])  # of the gap, for ε
_POWERS = np.geomspace(1e-3, 1.0, 60)  # for θ, where the arm itself is judged
_TILTS = np.concatenate([[0.0], np.geomspace(1e-2, 20.0, 40)])  # for θ of the best arm, in units of E[Z]/E[Z²]
_CELLS = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 120)])  # the ends of intervals of u
_WIDTHS = np.diff(_CELLS)
_FREE = np.arange(MOST_FREE_PULLS, KEPT_EXACTLY + 2.0)  # pulls of an arm that have all cost nothing

_WITHIN = (0, 20, 40, 55, 65, 75, 85, 92, 99, 106)  # places of U among the cells
_STRETCH = 2  # from the beginning of a stretch of t to that of the next
_DEPTH = 60.0  # e⁻⁶⁰ is nothing
_LARGEST_EXPONENT = 700.0  # of exp


class ArmLaw(NamedTuple):
    """What the theorem reads of an arm."""

    points: Points
    mean: float  # μ
    square: float  # E[X²]/μ²
    free: float  # P(X = 0)

    def most(self, budget: float) -> float:
        """How often the arm can be pulled on average before it has cost more than this (Lorden)."""
        return budget / self.mean + self.square


class Lost(NamedTuple):
    """What other arms may cost by mistakes about the best arm, and how many there are: by t, or by stretches of t."""

    spend: float
    times: float


class Tilted(NamedTuple):
    """γ and ξ of Lemma 3, the larger of both ends: a row for each θ, a column for each cell of u."""

    gamma: Vector
    xi: Vector
    firsts: Vector  # γ at u = 0, for each θ
    low: float  # the least Z/M there is
    high: float  # and the largest

    def curvature(self, within: float) -> float:
        """Q: the largest (Z/M)²/(1 − uZ/M)² for u up to U = `within`; ∞ where 1 − uZ/M can be 0."""
        room = 1.0 - within * self.high
        return max(min(self.low, 0.0) ** 2, (self.high / room) ** 2 if room > 0 else math.inf)

    @property
    def first(self) -> float:
        """The least γ at u = 0."""
        return float(np.nanmin(self.firsts))

    @property
    def cubes(self) -> Vector:
        """2ξ/(1−γ)³, ∞ where γ ≥ 1."""
        return np.where(self.gamma < 1.0, 2.0 * self.xi / np.maximum(1.0 - self.gamma, 1e-99) ** 3, math.inf)


def kl_rate_pulls(problem: Problem, policy: KLRate, budget: float) -> dict[int, float]:
    """Bounds on E[T_k(N(B))] for the arms with a gap: the least over ε and θ, and never more than the budget buys."""
    _require_kl_rate(problem, policy)
    found, arms = rates(problem), [_arm(law) for law in problem.arms]
    bound, k = policy.known_bound, len(arms)
    # l − less ≤ g(l) ≤ l + more for every l > 0
    less, more = {"one": (0.0, 0.0), "half": (5.0, 0.0), "plus": (math.log(k), math.log1p(1.0 / k))}[policy.schedule]
    largest = max(support_of(law).cost_high for law in problem.arms)
    pulls = {}
    for k in suboptimal(problem):
        arm = arms[k]
        least = arm.most(budget)
        price = math.exp(more) * largest * np.sqrt(_FREE) / arm.mean + arm.square
        freely = sum(_summed_free(other.free, price) for j, other in enumerate(arms) if j != k)
        for share in _SHARES:
            rate = found.best_rate - float(share) * min(float(found.gap[k]), found.best_rate)
            lost = _lost(arms[found.best], rate, bound, largest, math.exp(less + more), budget)
            missed = min((spend / arm.mean + times * (arm.square - 1.0) for spend, times in lost), default=math.inf)
            least = min(least, freely + missed + _judged(arm, rate, bound, budget, more))
        pulls[k] = least
    return pulls


def _require_kl_rate(problem: Problem, policy: KLRate) -> None:
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


def _arm(law: AnyLaw) -> ArmLaw:
    points, moments = outcomes(law), LawMoments(*law.moments())
    square = 1.0 + moments.var_cost / moments.mean_cost**2
    return ArmLaw(points, moments.mean_cost, square, float(points.probabilities[points.costs == 0].sum()))


def _judged(arm: ArmLaw, rate: float, bound: float, budget: float, more: float) -> float:
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


def _lost(best: ArmLaw, rate: float, bound: float, largest: float, weight: float, budget: float) -> list[Lost]:
    """Two bounds on what mistakes about the best arm cost (Lemmas 3a and 3b), each with what the code adds; or none."""
    decay, spend = _tilts(best.points, rate, bound)
    w = (best.points.rewards - rate * best.points.costs) / bound
    with np.errstate(over="ignore", invalid="ignore"):
        gamma, xi = np.maximum(decay[:, 1:], decay[:, :-1]), np.maximum(spend[:, 1:], spend[:, :-1])
        tilted = Tilted(gamma, xi, decay[:, 0], float(w.min()), float(w.max()))
        if not tilted.first < 1.0:
            return []  # a dear outcome is too rare for every θ of the grid
        sums = Lost(weight * (_summed_mistakes(tilted) + _late(decay, spend)), tilted.first / (1.0 - tilted.first))
        once = _at_most_once(tilted, largest, weight, budget)
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


def _freely(best: ArmLaw, rate: float, bound: float, largest: float) -> Lost:
    """The same where all pulls of the best arm, 30 or more, have cost nothing: its price is the largest cost over √t.

    Past the samples that are kept its evidence is the larger of two, each with the same bound: hence twice.
    """
    x, r, p = best.points
    paid = float((p * r)[x == 0].sum()) / bound
    price = rate * largest / (bound * np.sqrt(_FREE))
    base = np.maximum(best.free, best.free * (1.0 + price) - paid)
    factor = largest * np.sqrt(_FREE) * (_FREE + 1.0) * np.where(_FREE > KEPT_EXACTLY, 2.0, 1.0)
    return Lost(_summed_free(base, factor), _summed_free(best.free, np.ones(len(_FREE))))


def _summed_free(base: float | Vector, factor: Vector) -> float:
    """Σ factor·base^t over t ≥ 30, for a base that falls and a factor that grows at most like t².

    What follows the last term is at most geometric, its ratio being base·(1 + 1/t)².
    """
    with np.errstate(over="ignore", divide="ignore"):
        terms = np.exp(_FREE * np.log(base)) * factor
        total = float(terms.sum())
    ratio = float(np.broadcast_to(base, len(_FREE))[-1]) * (1.0 + 1.0 / float(_FREE[-1])) ** 2
    return total + (float(terms[-1]) * ratio / (1.0 - ratio) if ratio < 1.0 else math.inf)


def _summed_mistakes(tilted: Tilted) -> float:
    """Σ E[H_t; A_t] over t, with the price 1 + U√(2Qt/π) up to U and t + 1 beyond (Lemma 3a); at U = 0 it is Lemma 3.

    ∫₀ᵁ ξ(1/(U(1−γ)²) + √(2Q(1+γ)/π)/(1−γ)^(5/2)) du + ∫_U^1 2ξ/(1−γ)³ du/(1−U).
    """
    beyond, found = np.nanmin(tilted.cubes, axis=0) * _WIDTHS, []
    rest = np.where(tilted.gamma < 1.0, np.maximum(1.0 - tilted.gamma, 1e-99), 0.0)
    for place in _WITHIN:
        within = float(_CELLS[place])
        total = float(beyond[place:].sum()) / (1.0 - within)
        if place:
            price = np.sqrt(2.0 * tilted.curvature(within) * (1.0 + tilted.gamma[:, :place]) / math.pi)
            with np.errstate(divide="ignore", invalid="ignore"):
                near = rest[:, :place]
                terms = np.where(
                    near > 0, tilted.xi[:, :place] * (1 / (within * near**2) + price / near**2.5), math.inf
                )
            total += float((np.nanmin(terms, axis=0) * _WIDTHS[:place]).sum())
        found.append(total)
    return min(found)


def _at_most_once(tilted: Tilted, largest: float, weight: float, budget: float) -> Lost:
    """E[min(B, weight·max H_t)] over stretches of t, and the chance of a mistake in each, summed over them (Lemma 3b).

    With Y_t the mean of tilted L_t over a part of [0, 1], a supermartingale, and a the bound on weight·H_t with E[Y] of
    the stretch's beginning: P(max ≥ h) ≤ a/h, so that the mean is at most a(1 + ln(B/a)). With `_judged_by_kept`.
    """
    least = np.minimum(np.nanmin(tilted.gamma, axis=0), 1.0)
    last = _DEPTH / max(1e-9, 1.0 - float(least.max()))
    spend, times, begin = 0.0, 0.0, 1
    while begin < last:
        end = _next(begin)
        height = _height(tilted, least**begin * _WIDTHS, end - 1)
        spend += _capped(weight * largest * (end - 1) * height, budget)
        times += tilted.first**begin
        begin = end
    with np.errstate(invalid="ignore"):
        after = np.where(tilted.gamma < 1.0, tilted.cubes * tilted.gamma ** (begin - 1), math.inf)
    spend += weight * begin * (begin + 1) * float((np.nanmin(after, axis=0) * _WIDTHS).sum())
    spend += _judged_by_kept(tilted, largest, weight, budget)
    return Lost(spend, times + tilted.first**begin / (1.0 - tilted.first))


def _judged_by_kept(tilted: Tilted, largest: float, weight: float, budget: float) -> float:
    """What is added where the best arm has more pulls than the n samples that are kept, by which it is judged then.

    The same with L of the first n samples, γ(u)ⁿ·γ(0)^(t−n) in place of γ(u)^t, and 1 where these speak for the arm.
    """
    kept, fine = KEPT_EXACTLY, (tilted.firsts < 1.0)[:, None] & np.isfinite(tilted.gamma)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(fine, kept * np.log(tilted.gamma), math.inf)
        falls = np.where(fine, np.log(tilted.firsts)[:, None], 0.0)
    spend, begin, last = 0.0, kept + 1, kept + _DEPTH / (1.0 - tilted.first)
    while begin < last:
        end = _next(begin)
        means = np.exp(np.minimum((logs + (begin - kept) * falls).min(axis=0), _LARGEST_EXPONENT))
        height = _height(tilted, means * _WIDTHS, kept) + tilted.first**begin
        spend += _capped(weight * largest * (end - 1) * height, budget)
        begin = end
    rest = np.where(fine, -np.expm1(falls), 1.0)
    after = np.exp(np.minimum(logs + (begin - kept) * falls, _LARGEST_EXPONENT)) * (begin / rest + 1.0 / rest**2)
    return spend + weight * largest * (kept + 1) * float((after.min(axis=0) * _WIDTHS).sum())


def _height(tilted: Tilted, means: Vector, samples: int) -> float:
    """A bound on E[max_u L] of so many samples, from E[L] in each cell times its width: the best U is taken."""
    below, found = np.concatenate([[0.0], np.cumsum(means)]), []
    for place in _WITHIN:
        within = float(_CELLS[place])
        height = (samples + 1) * float(below[-1] - below[place]) / (1.0 - within)
        if place:
            price = 1.0 + within * math.sqrt(2.0 * tilted.curvature(within) * samples / math.pi)
            height += price * float(below[place]) / within
        found.append(height)
    return min(found)


def _next(begin: int) -> int:
    """Where the next stretch begins; one begins after the samples that are kept."""
    return min(_STRETCH * begin, KEPT_EXACTLY + 1) if begin <= KEPT_EXACTLY else _STRETCH * begin


def _capped(height: float, budget: float) -> float:
    """∫ min(1, a/h) dh up to B."""
    return height * (1.0 + math.log(budget / height)) if 0.0 < height < budget else min(height, budget)
