"""How small regret can be: no consistent policy stays below a coefficient times ln B (Theorem 3, Corollary 1).

    liminf Reg(B) / ln B  ≥  Σ_{Δ_k > 0} μ_k Δ_k / D_k*,     D_k* = min KL(P_k ‖ Q) over Q with rate ≥ r*.

The paper prints half of this: its proof looks only at the first √B pulls. N(B) grows in proportion to B, and the
classical argument over all of them gives the bound without the ½, here called sharp.

With N requests beside the budget, in a fixed proportion, the price of money λ and the worth of a request ν take the
place of r* and 0: Δ_k = ν + λE[X_k] − E[R_k] in place of μ_k Δ_k, D_k over Q with E[R − λX] ≥ ν, and ln N in place of
ln B. docs/requests.md has the proof.
"""

import math

import numpy as np

from outlay.arms import AnyLaw, Problem
from outlay.arms.problem import checked_problem
from outlay.checks import Vector
from outlay.errors import BadParameter, NotCovered
from outlay.extras import needed
from outlay.theory.divergences import divergence, models
from outlay.theory.requests.hull import Price, gaps_at, per_request, right_prices

_PRECISION = 1e-9  # of the price at which an arm is farthest from a better one, relative to the range
_HARDLY = 1e-300  # a worth that adds nothing to what is due, yet asks nothing of the mean cost of a better law


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
    if model is not None and not any(has_model(law, model) for law in problem.arms):
        raise BadParameter("lower_bound", "model", "one that an arm has", model)
    at = prices_of(problem, budget, requests)
    gaps, distances = gaps_of(problem, at), distances_of(problem, at, model)
    total = max(sum((_pulls_lost(row[k], distance) for k, distance in distances.items()), 0.0) for row in gaps)
    return total if sharp else total / 2


def prices_of(problem: Problem, budget: float | None, requests: float | None) -> list[Price]:
    """The prices to judge arms at: r* and 0 where requests have no end, else those that are right at B and N."""
    if budget is None and requests is not None:
        raise BadParameter("lower_bound", "budget", "a number where there are requests", budget)
    if budget is not None:
        per_request("lower_bound", budget, math.inf if requests is None else requests)
    if budget is None or requests is None or requests == math.inf:
        return [Price(problem.rate, 0.0)]
    return right_prices(problem, budget, requests)


def gaps_of(problem: Problem, at: list[Price]) -> list[Vector]:
    """What a pull of each arm loses, at each of the prices."""
    return [gaps_at(problem, price, worth) for price, worth in at]


def distances_of(problem: Problem, at: list[Price], model: str | None = None) -> dict[int, float]:
    """D_k of every arm with a gap at one of the prices; `NotCovered` names the first that has none."""
    moments = problem.second_moments()
    steady = np.isfinite(moments["var_cost"]) & np.isfinite(moments["var_reward"])
    if not steady.all():
        name = problem.names[int(np.argmin(steady))]
        raise NotCovered(f"no lower bound: it is for arms of finite variances, and arm {name!r} has none")
    distances = {}
    for k in np.flatnonzero(np.any(gaps_of(problem, at), axis=0)).tolist():
        law = problem.arms[k]
        try:
            distances[k] = _distance(law, at, model if model and has_model(law, model) else None)
        except NotCovered as reason:
            raise NotCovered(f"no lower bound for arm {problem.names[k]!r}: {reason}") from None
    return distances


def _distance(law: AnyLaw, at: list[Price], model: str | None) -> float:
    """D_k at the one price that is right; at a vertex the largest over all that are: it has one peak between the ends.

    The better laws then are those above all lines through the vertex. Their means are a convex set (for laws known up
    to scale, in logarithms), in which divergences grow from the arm on, so the distance to it is that to the farthest
    half-plane which holds it, and these are the half-planes of single prices. At the first vertex the steepest of them
    has the worth 0, and is a half-plane like the others: no mean cost above 0 is asked for, as inside the first edge.
    Nothing of the kind is known of a law
    that brings its own divergence.
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


def _pulls_lost(gap: float, distance: float) -> float:
    """Δ/D, what an arm adds; nothing without a gap."""
    if gap == 0:
        return 0.0
    return float(gap) / distance if distance > 0 else math.inf


def has_model(law: AnyLaw, model: str) -> bool:
    """Whether the law can be judged in a model of this name."""
    return any(offered.name == model for offered in models(law))
