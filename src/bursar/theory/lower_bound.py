"""How small regret can be: no consistent policy stays below a coefficient times ln B (Theorem 3, Corollary 1).

    liminf Reg(B) / ln B  ≥  Σ_{Δ_k > 0} μ_k Δ_k / D_k*,     D_k* = min KL(P_k ‖ Q) over Q with rate ≥ r*.

The paper prints half of this: its proof looks only at the first √B pulls. N(B) grows in proportion to B, and the
classical argument over all of them gives the bound without the ½, here called sharp.
"""

import math
from functools import singledispatch

from bursar.arms import Gaussian, Problem
from bursar.errors import NotCovered

# Relative size below which a difference is rounding: a gap then is a tie, a projected mean cost is zero.
_ROUNDING = 1e-12


def lower_bound(problem: Problem, sharp: bool = True) -> float:
    """The coefficient of ln B below which no consistent policy's regret can stay.

    `sharp=False` gives the bound as printed in the paper, half the sharp one. An arm that could not be better within
    its model (D_k* = ∞) needs no exploring and adds nothing. Raises NotCovered for laws without a formula.

    >>> from bursar.arms import Gaussian, Problem
    >>> problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)])
    >>> lower_bound(problem), lower_bound(problem, sharp=False)
    (2.0, 1.0)
    """
    rate = float(problem.rates[problem.best])
    total = 0.0
    for name, law, cost, gap in zip(problem.names, problem.arms, problem.mean_costs, problem.gaps, strict=True):
        if gap > _ROUNDING * abs(rate):
            try:
                total += float(cost * gap) / divergence(law, rate)
            except NotCovered as reason:
                raise NotCovered(f"no lower bound for arm {name!r}: {reason}") from None
    return total if sharp else total / 2


@singledispatch
def divergence(law: object, rate: float) -> float:  # noqa: ARG001 (the registered formulas read it)
    """D*: how far `law` is from the nearest law of its model whose rate reaches `rate` (0 when its own does).

    One registration per kind of law; a law without one is not covered.
    """
    raise NotCovered(f"its law is {type(law).__name__}, and only Gaussian laws are covered")


@divergence.register
def _gaussian(law: Gaussian, rate: float) -> float:
    """Gaussians with the covariance known: D* = (rX − R)²/(2 Var(R − rX)) at the means, or the distance to the origin.

    The squared Mahalanobis distance from the mean to the cone {cost ≥ 0, reward ≥ r·cost}, halved. The nearest point of
    the half-plane reward ≥ r·cost gives the first formula. If its cost is negative, no point on a single edge of the
    cone is nearest (the mean's own cost is positive), which leaves the corner.
    """
    shortfall = rate * law.cost - law.reward
    if shortfall <= 0:
        return 0.0
    covariance = law.correlation * law.cost_sd * law.reward_sd
    uncorrelated = 1 - law.correlation**2
    variance = (law.reward_sd - rate * law.correlation * law.cost_sd) ** 2 + uncorrelated * (rate * law.cost_sd) ** 2
    if variance == 0:
        return math.inf
    projected_cost = law.cost + (covariance - rate * law.cost_sd**2) * shortfall / variance
    if projected_cost >= -_ROUNDING * law.cost:
        return shortfall**2 / (2 * variance)
    if law.reward_sd == 0 or uncorrelated == 0:
        return math.inf
    x, y = law.cost / law.cost_sd, law.reward / law.reward_sd
    return (x**2 - 2 * law.correlation * x * y + y**2) / (2 * uncorrelated)
