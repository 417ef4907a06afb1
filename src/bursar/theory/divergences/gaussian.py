"""Gaussian arms: the distance from the mean to the cone of better means, with the covariance known or not."""

import math

from bursar.arms import Gaussian

# A projected mean cost this far below 0, relative to the mean cost, is rounding.
_ROUNDING = 1e-12


def known_covariance(law: Gaussian, rate: float) -> float:
    """D* = (rX − R)²/(2 Var(R − rX)) at the means (Corollary 1), or the distance to the origin.

    The squared Mahalanobis distance from the mean to the cone {cost ≥ 0, reward ≥ r·cost}, halved. The nearest point of
    the half-plane reward ≥ r·cost gives the first formula. If its cost is negative, no point on a single edge of the
    cone is nearest (the mean's own cost is positive), which leaves the corner.

    >>> known_covariance(Gaussian(1.0, 0.5, 0.5, 0.5), 1.0)
    0.25
    """
    shortfall = rate * law.cost - law.reward
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


def unknown_covariance(law: Gaussian, rate: float) -> float:
    """D* = ½ ln(1 + 2D), D as with the covariance known: ½ ln(1 + (μΔ)²/Var(R − rX)) away from the corner.

    For a mean at distance d the cheapest covariance is Σ + ddᵀ, and leaves KL = ½ ln(1 + dᵀΣ⁻¹d), which grows with the
    Mahalanobis distance: the nearest mean is the same.

    >>> unknown_covariance(Gaussian(1.0, 0.5, 0.5, 0.5), 1.0)
    0.202732554054...
    """
    return 0.5 * math.log1p(2 * known_covariance(law, rate))
