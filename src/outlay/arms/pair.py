"""What laws given by means, standard deviations and a correlation have in common."""

import math

from outlay.arms.law import Moments
from outlay.checks import real
from outlay.errors import BadParameter

FARTHEST = 1e100  # between the mean and the sd of a positive law; beyond it their ratio's square overflows


def checked_pair(
    owner: str,
    cost: object,
    reward: object,
    cost_sd: object,
    reward_sd: object,
    correlation: object,
    *,
    positive: bool = False,
) -> tuple[float, float, float, float, float]:
    """The five parameters as numbers: finite, means > 0 if `positive`, sds ≥ 0, correlation in [-1, 1]."""
    mean_limits = {"above": 0.0} if positive else {}
    m, n = real(owner, "cost", cost, **mean_limits), real(owner, "reward", reward, **mean_limits)
    most_cost_sd, most_reward_sd = ({"at_most": FARTHEST * mean} if positive else {} for mean in (m, n))
    s = real(owner, "cost_sd", cost_sd, at_least=0, **most_cost_sd)
    t = real(owner, "reward_sd", reward_sd, at_least=0, **most_reward_sd)
    return m, n, s, t, checked_correlation(owner, correlation)


def checked_correlation(owner: str, correlation: object) -> float:
    """A number in [-1, 1]."""
    return real(owner, "correlation", correlation, at_least=-1, at_most=1)


def reachable(owner: str, correlation: float, low: float, high: float) -> float:
    """The correlation, if the law can have it; an excess of rounding size is cut off.

    >>> reachable("Bernoulli", 0.9, -0.5, 0.5)
    Traceback (most recent call last):
    outlay.errors.BadParameter: correlation of Bernoulli must be between -0.5 and 0.5 for these parameters; got 0.9
    """
    low, high = min(low, 0.0), max(high, 0.0)  # independence is always possible; rounding may say otherwise
    if not low - 1e-12 <= correlation <= high + 1e-12:
        raise BadParameter(owner, "correlation", f"between {low:.6g} and {high:.6g} for these parameters", correlation)
    return min(max(correlation, low), high)


def pair_moments(cost: float, reward: float, cost_sd: float, reward_sd: float, correlation: float) -> Moments:
    """The moments that the five parameters say."""
    return Moments(cost, reward, cost_sd * cost_sd, reward_sd * reward_sd, correlation * cost_sd * reward_sd)


def correlated(correlation: float, z: float, w: float) -> float:
    """A standard normal that has this correlation with z, made of z and an independent w."""
    if correlation == 0.0:  # the same number, without a root
        return w
    return correlation * z + math.sqrt((1.0 - correlation) * (1.0 + correlation)) * w
