"""Gaussian arms: the distance from the mean to the cone of better means, with the covariance known or not."""

import math

from outlay.arms import Gaussian

_ROUNDING = 1e-12  # relative difference of two products that are equal


def known_covariance(law: Gaussian, rate: float, worth: float = 0.0) -> float:
    """D* = (rX + ν − R)²/(2 Var(R − rX)) at the means (Corollary 1, where ν = 0), or the distance to the origin.

    The squared Mahalanobis distance from the mean to the half-plane {reward ≥ r·cost + ν}, halved: that is all where a
    request has a worth ν. Where it has none, means are in the cone {cost ≥ 0, reward ≥ r·cost}. If the nearest point of
    the half-plane has a negative cost, no point on a single edge of the cone is nearest (the mean's own cost is
    positive), which leaves the corner: no law's mean, but laws come arbitrarily near it. Not so for a singular
    covariance, whose means lie on a line: ∞ unless it meets the cone beside the corner.

    >>> known_covariance(Gaussian(1.0, 0.5, 0.5, 0.5), 1.0), known_covariance(Gaussian(1.0, 0.5, 0.5, 0.5), 0.5, 0.5)
    (0.25, 0.4)
    """
    shortfall = rate * law.cost + worth - law.reward
    covariance = law.correlation * law.cost_sd * law.reward_sd
    uncorrelated = 1 - law.correlation**2
    variance = (law.reward_sd - rate * law.correlation * law.cost_sd) ** 2 + uncorrelated * (rate * law.cost_sd) ** 2
    if variance == 0:
        return math.inf
    halved = shortfall**2 / (2 * variance)
    if law.cost_sd == 0 or worth > 0 or law.cost <= 0:
        return halved
    if law.reward_sd == 0 or uncorrelated == 0:
        return halved if _line_reaches(law, rate) else math.inf
    # The projected cost times the variance, without the terms that cancel.
    projected = law.cost * (law.reward_sd**2 - rate * covariance) + law.reward * (rate * law.cost_sd**2 - covariance)
    if projected >= 0:
        return halved
    x, y = law.cost / law.cost_sd, law.reward / law.reward_sd
    return (x**2 - 2 * law.correlation * x * y + y**2) / (2 * uncorrelated)


def _line_reaches(law: Gaussian, rate: float) -> bool:
    """Whether (cost, reward) + t·(cost_sd, ±reward_sd) meets reward = rate·cost at a cost above 0.

    That cost is (±cost·reward_sd − reward·cost_sd)/(±reward_sd − rate·cost_sd); 0 if the line goes through the origin.
    """
    slope = law.correlation * law.reward_sd
    one, other = law.cost * slope, law.reward * law.cost_sd
    if abs(one - other) <= _ROUNDING * (abs(one) + abs(other)):
        return False
    return (one > other) == (slope > rate * law.cost_sd)


def unknown_covariance(law: Gaussian, rate: float, worth: float = 0.0) -> float:
    """D* = ½ ln(1 + 2D), D as with the covariance known: ½ ln(1 + (rX + ν − R)²/Var(R − rX)) away from the corner.

    For a mean at distance d the cheapest covariance is Σ + ddᵀ, and leaves KL = ½ ln(1 + dᵀΣ⁻¹d), which grows with the
    Mahalanobis distance: the nearest mean is the same. A singular covariance keeps its line, and D = ∞ stays ∞.

    >>> unknown_covariance(Gaussian(1.0, 0.5, 0.5, 0.5), 1.0)
    0.202732554054...
    """
    return 0.5 * math.log1p(2 * known_covariance(law, rate, worth))
