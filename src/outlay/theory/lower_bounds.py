"""How small regret can be: in the limit (Theorem 3, Corollary 1), at a given budget, and in the worst case.

No consistent policy stays below a coefficient times ln B:

    liminf Reg(B) / ln B  ≥  Σ_{Δ_k > 0} μ_k Δ_k / D_k*,     D_k* = min KL(P_k ‖ Q) over Q with rate ≥ r*.

The paper prints half of this: its proof looks only at the first √B pulls. N(B) grows in proportion to B, and the
classical argument over all of them gives the bound without the ½, here called sharp.

With N requests beside the budget, in a fixed proportion, the price of money λ and the worth of a request ν take the
place of r* and 0: Δ_k = ν + λE[X_k] − E[R_k] in place of μ_k Δ_k, D_k over Q with E[R − λX] ≥ ν, and ln N in place of
ln B. docs/requests.md has the proof.

At a given budget an arm k that is made better than all others, by ε, tells two problems apart: a policy that loses at
most R on the one must pull arm k on the other. In the worst case K arms have one law, and one of them is better by ε:
at small ε a policy does not find out which before the budget is spent. docs/lower-bounds.md has both proofs.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from outlay.arms import AnyLaw, Problem
from outlay.arms.problem import checked_problem
from outlay.checks import Vector, real
from outlay.errors import BadParameter, NotCovered, needed
from outlay.theory import divergence, models
from outlay.theory.arm_rates import rates, suboptimal
from outlay.theory.fluid_optimum import Price, gaps_at, per_request, right_prices

_PRECISION = 1e-9  # of the price at which an arm is farthest from a better one, relative to the range
_HARDLY = 1e-300  # a worth that adds nothing to what is due, yet asks nothing of the mean cost of a better law

_GAINS = (0.03, 0.06, 0.12, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0)  # ε to try, in gaps of the arm
_PARTS = (0.1, 0.3, 0.5, 0.7, 0.85, 0.93, 0.97, 0.99, 0.997)  # of B, for b
_HALVINGS = 24  # of an interval for x; its lower end is taken
_FINE = 1e-6  # relative precision of R

_PULL_PARTS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999, 0.99999, 1.0)  # of B/μ, for n
_FIRST = 1e-9  # the first ε to try is at least this part of the rate: nearer to it, D would be rounding
_FINE_GAP = 1e-3  # precision of ε, relative: the peak is flat
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_FAR = 1e100  # a divergence that is as good as infinite


class FiniteBound(NamedTuple):
    """Regret at a budget, from below."""

    value: float  # Σ_k μ_kΔ_k·pulls
    regret: float  # R, what is lost at most where an arm is made better
    pulls: dict[str, float]  # by arm with a gap: its mean number of pulls is at least this


@needed("theory.lower_bound")
def lower_bound(
    problem: Problem,
    sharp: bool = True,
    *,
    model: str | None = None,
    budget: float | None = None,
    requests: float | None = None,
) -> float:
    """The coefficient of ln B below which no consistent policy's regret can stay; with `requests`, of ln N.

    `sharp=False` gives the bound as printed in the paper, half the sharp one. An arm that could not be better within
    its model (D_k* = ∞) needs no exploring and adds nothing. `model` judges the arms that have a model of this name in
    it, the others in their default.

    With `budget` and `requests` it is for B and N that grow in this proportion. Arms on the edge that is played add
    nothing. At a vertex of the hull, where several prices are right, a better law must be better at each of them, and
    the bound is the largest that one of the prices gives: what comes on top of the √N of `fluid_loss` there.
    An arm whose model fixes its mean cost at B/N is counted in full, which supposes more of a policy: docs/requests.md.

    Raises NotCovered for laws without a formula, or without a variance. The paper asks for a moment of the costs above
    the second. Pulls times μ_k Δ_k are regret up to r* times the mean overshoot of the budget, which costs of finite
    variance bound (`gap_constant`): the argument needs no more of the costs, and means alone of the rewards, but only
    arms with both variances are judged here.

    >>> from outlay.arms import Bernoulli, Gaussian, Problem
    >>> problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)])
    >>> lower_bound(problem), lower_bound(problem, sharp=False)
    (2.0, 1.0)
    >>> lower_bound(problem, model="unknown covariance")
    2.466303462376...
    >>> round(lower_bound(Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Bernoulli(cost=0.5, reward=0.25)])), 6)
    3.822278
    >>> round(lower_bound(problem, budget=2000.0, requests=1000), 6)  # money for all: 2·Var(R)/Δ, as without costs
    1.0
    """
    free = requests is not None and requests != math.inf
    checked_problem("lower_bound", problem, free=free)
    if not isinstance(sharp, (bool, np.bool_)):
        raise BadParameter("lower_bound", "sharp", "True or False", sharp)
    if free and not sharp:
        raise BadParameter("lower_bound", "sharp", "True with requests: the paper prints no bound for them", sharp)
    _check_model("lower_bound", problem, model)
    if budget is None and requests is not None:
        raise BadParameter("lower_bound", "budget", "a number where there are requests", budget)
    if budget is not None:
        per_request("lower_bound", budget, math.inf if requests is None else requests)
    if budget is None or requests is None or requests == math.inf:
        at = [Price(problem.rate, 0.0)]
    else:
        at = right_prices(problem, budget, requests)
    distances = distances_of(problem, at, model)
    lost = [gaps_at(problem, *price) for price in at]
    total = max(sum((_lost(row[k], distance) for k, distance in distances.items()), 0.0) for row in lost)
    return total if sharp else total / 2


def distances_of(problem: Problem, at: list[Price], model: str | None = None) -> dict[int, float]:
    """D_k of every arm with a gap at one of the prices; `NotCovered` names the first that has none."""
    moments = problem.second_moments()
    steady = np.isfinite(moments["var_cost"]) & np.isfinite(moments["var_reward"])
    if not steady.all():
        name = problem.names[int(np.argmin(steady))]
        raise NotCovered(f"no lower bound: it is for arms of finite variances, and arm {name!r} has none")
    distances = {}
    for k in np.flatnonzero(np.any([gaps_at(problem, *price) for price in at], axis=0)).tolist():
        law = problem.arms[k]
        try:
            distances[k] = _distance(law, at, _own(law, model))
        except NotCovered as reason:
            raise NotCovered(f"no lower bound for arm {problem.names[k]!r}: {reason}") from None
    return distances


def _distance(law: AnyLaw, at: list[Price], model: str | None) -> float:
    """D_k at the one price that is right; at a vertex the largest over all that are: it has one peak between the ends.

    The better laws then are those above all lines through the vertex. Their means are a convex set (for laws known up
    to scale, in logarithms), in which divergences grow from the arm on, so the distance to it is that to the farthest
    half-plane which holds it, and these are the half-planes of single prices. At the first vertex the steepest of them
    has the worth 0, and is a half-plane like the others: no mean cost above 0 is asked for, as inside the first edge.
    Nothing of the kind is known of a law that brings its own divergence.
    """
    if len(at) == 1:
        return divergence(law, at[0].price, model, worth=at[0].worth)
    from scipy.optimize import minimize_scalar

    if models(law) and models(law)[0].name == "its own":
        raise NotCovered(f"its law is {type(law).__name__}, whose own divergence is not for a vertex of the hull")
    first, last = at

    def far(share: float) -> float:
        price, worth = (a + share * (b - a) for a, b in zip(first, last, strict=True))
        return divergence(law, price, model, worth=max(_HARDLY, worth))

    def near(share: float) -> float:
        distance = far(share)
        return -distance / (1.0 + distance) if distance < math.inf else -1.0

    peak = minimize_scalar(near, bounds=(0.0, 1.0), method="bounded", options={"xatol": _PRECISION})
    return max(far(0.0), far(float(peak.x)), far(1.0))


def _lost(gap: float, distance: float) -> float:
    """Δ/D, what an arm adds; nothing without a gap."""
    if gap == 0:
        return 0.0
    return float(gap) / distance if distance > 0 else math.inf


def _own(law: AnyLaw, model: str | None) -> str | None:
    """The model, if the law can be judged in one of this name; else None, for its default."""
    return model if any(offered.name == model for offered in models(law)) else None


def _check_model(owner: str, problem: Problem, model: str | None) -> None:
    if model is not None and not any(_own(law, model) for law in problem.arms):
        raise BadParameter(owner, "model", "one that an arm has", model)


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
    _check_model("finite_bound", problem, model)
    found, variances = rates(problem), problem.second_moments()["var_cost"]
    if not np.isfinite(variances).all():
        name = problem.names[int(np.argmin(np.isfinite(variances)))]
        raise NotCovered(f"the bound at a budget is for costs of finite variance; those of arm {name!r} have none")
    # A row per arm with a gap, a column for each ε and b that is tried.
    arms, gains = suboptimal(problem), np.tile(_GAINS, len(_PARTS))
    part = np.repeat(budget * np.array(_PARTS), len(_GAINS))
    mean, gap = (values[np.array(arms, dtype=int)][:, None] for values in (found.mean_cost, found.gap))
    loss, gain = (mean * gap)[:, 0], gap * gains * part
    distance = np.empty(gain.shape)
    for row, k in enumerate(arms):
        law, off = problem.arms[k], float(problem.gaps[k])
        try:
            each = [divergence(law, problem.rate + more * off, _own(law, model)) for more in _GAINS]
        except NotCovered as reason:
            raise NotCovered(f"no bound at a budget for arm {problem.names[k]!r}: {reason}") from None
        distance[row] = np.tile(each, len(_PARTS))
    spread = float((variances / found.mean_cost).max()) * part
    with np.errstate(over="ignore", invalid="ignore"):  # 0/0 at budgets next to 0, of which nothing follows
        late = spread / (spread + (budget - part) ** 2)

    def at(most: float) -> FiniteBound:
        """The largest x that some ε and b prove: where x·D is kl(1 − p − μx/b, R/(εb)), by halving."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            there = np.minimum(most / gain, 1.0)
            here = np.maximum(there, 1.0 - late)
            highest = np.nan_to_num(_coins(here, there) / distance, nan=0.0, posinf=math.inf)
            high = np.minimum(highest, (here - there) * part / mean)  # at the latter both shares are equal
            low = np.zeros_like(high)
            for _ in range(_HALVINGS):
                middle = (low + high) / 2.0
                less = middle * distance < _coins(np.maximum(there, here - mean * middle / part), there)
                low, high = np.where(less, middle, low), np.where(less, high, middle)
        pulls = low.max(axis=1)
        named = {problem.names[arm]: float(x) for arm, x in zip(arms, pulls, strict=True)}
        return FiniteBound(float(loss @ pulls), most, named)

    if regret is not None:
        return at(regret)
    least, most = 0.0, at(0.0).value  # the bound falls as R rises, and is R at one place
    while most - least > _FINE * most:
        middle = (least + most) / 2.0
        least, most = (middle, most) if at(middle).value >= middle else (least, middle)
    return at(least)._replace(value=least)


def _coins(p: Vector, q: Vector) -> Vector:
    """The divergence of a coin of chance p from one of chance q ≤ p: 0 where they are equal, ∞ at q = 0 < p."""
    tails = np.where(p < 1, (1.0 - p) * np.log((1.0 - p) / (1.0 - q)), 0.0)
    distance: Vector = np.where(p > q, p * np.log(p / q) + tails, 0.0)
    return distance


@needed("theory.worst_case_bound")
def worst_case_bound(problem: Problem, budget: float, *, model: str | None = None) -> float:
    """Regret that every policy has on some problem of K arms, all with the law of the best arm, one made better.

    With μ, Var(X) and r the mean cost, its variance and the rate of the best arm, D(ε) its divergence from rate r + ε
    in its model (`divergence`), n a whole number below B/μ (those of a grid are tried) and p = n·Var(X)/(B − nμ)²,

        max over n and ε ≤ max(|r|, √Var(R − rX)/μ) of  ε·μ·n·((1 − 1/K)·(1 − p) − √(n·D(ε)/(2K))),

    which is about ½(1 − 1/K)²·√(K·B·Var(R − rX)/μ) for large budgets. Regret is Σ_k E[T_k]μ_kΔ_k, as in `Result`.
    0 for a single arm, for a best arm that cannot be better within its model, for budgets of a pull or two, and for
    those so large (10²⁴ pulls) that rounding hides an ε as small as that.

    >>> from outlay.arms import Bernoulli, Gaussian, Problem
    >>> problem = Problem([Gaussian(1.0, 1.0, 0.0, 1.0), Gaussian(1.0, 0.9, 0.0, 1.0)])
    >>> round(worst_case_bound(problem, 1e4), 2), math.sqrt(2 * 1e4) / 8
    (17.68, 17.67766952966369)
    """
    budget = real("worst_case_bound", "budget", budget, above=0)
    found = rates(checked_problem("worst_case_bound", problem))
    law, arms = problem.arms[found.best], len(problem)
    mean, variance = float(found.mean_cost[found.best]), float(problem.second_moments()["var_cost"][found.best])
    sd = math.sqrt(float(found.sigma2[found.best]))
    if not math.isfinite(variance + sd):
        raise NotCovered(f"the worst case is for arms of finite variances; arm {problem.names[found.best]!r} has none")
    tried = []  # n, with its (1 − 1/K)(1 − p): what counts is n·((1 − 1/K)(1 − p))²/√n
    for part in _PULL_PARTS:
        n = max(0, math.ceil(part * budget / mean) - 1)
        left = budget - n * mean
        late = n * variance / (left * left) if left * left > 0 else math.inf  # rounding may leave nothing
        kept = (1.0 - 1.0 / arms) * max(0.0, 1.0 - late)
        tried.append((math.sqrt(n) * kept * kept, n, kept))
    _, pulls, share = max(tried)
    if not pulls or arms == 1:
        return 0.0

    def gain(gap: float) -> float:
        distance = min(_FAR, divergence(law, found.best_rate + gap, model))
        return gap * (share - math.sqrt(pulls / (2.0 * arms) * distance))

    # Where D(ε) is (με)²/(2σ²), nothing is left at this ε, and half of it is best.
    rate, end = abs(found.best_rate), share * 2.0 * sd * math.sqrt(arms / pulls) / mean
    end, most = max(end, _FIRST * rate), max(rate, sd / mean)
    while end < most and gain(end) > 0:
        end *= 2.0
    end = min(end, most)
    return mean * pulls * _peak(gain, end)


def _peak(gain: Callable[[float], float], end: float) -> float:
    """The largest gain from 0 to `end`, where it rises to one peak: golden sections; 0 if nothing is above it."""
    low, high = 0.0, end
    one, other = end * (1.0 - _GOLDEN), end * _GOLDEN
    at_one, at_other = gain(one), gain(other)
    while high - low > _FINE_GAP * end:
        if at_one > at_other:
            high, other, at_other = other, one, at_one
            one = high - _GOLDEN * (high - low)
            at_one = gain(one)
        else:
            low, one, at_one = one, other, at_other
            other = low + _GOLDEN * (high - low)
            at_other = gain(other)
    return max(0.0, at_one, at_other)
