"""What laws given by means, standard deviations and a correlation have in common."""

import math

from outlay.arms.law import Law, LawMoments, Support
from outlay.checks import real
from outlay.errors import BadParameter
from outlay.parameters import Draft, number, parameter

FARTHEST = 1e100  # between the mean and the sd of a positive law; beyond it their ratio's square overflows


class MeansAndSds(Law):
    """The first four parameters: means, and standard deviations ≥ 0."""

    cost: float = number()
    reward: float = number()
    cost_sd: float = number(at_least=0)
    reward_sd: float = number(at_least=0)


class Pair(MeansAndSds):
    """All five parameters: means, standard deviations, and the correlation in [-1, 1]."""

    correlation: float = number(default=0.0, at_least=-1, at_most=1)

    def moments(self) -> LawMoments:
        """The parameters themselves."""
        return pair_moments(self.cost, self.reward, self.cost_sd, self.reward_sd, self.correlation)


def check_sd(owner: str, name: str, value: object, given: Draft) -> float:
    """A standard deviation ≥ 0, not too far above its mean."""
    return real(owner, name, value, at_least=0, at_most=FARTHEST * _mean(name, given))


def check_positive_sd(owner: str, name: str, value: object, given: Draft) -> float:
    """A standard deviation > 0, not too far from its mean on either side."""
    check_sd(owner, name, value, given)
    return real(owner, name, value, above=_mean(name, given) / FARTHEST)


def _mean(name: str, given: Draft) -> float:
    return float(given.cost if name == "cost_sd" else given.reward)


class PositivePair(Pair):
    """A pair whose costs and rewards are never negative, so that its means are > 0."""

    cost: float = number(above=0)
    reward: float = number(above=0)
    cost_sd: float = parameter(check_sd, relative=True)
    reward_sd: float = parameter(check_sd, relative=True)

    def support(self) -> Support:
        """Nothing negative."""
        return Support(cost_low=0.0, reward_low=0.0)


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


def pair_moments(cost: float, reward: float, cost_sd: float, reward_sd: float, correlation: float) -> LawMoments:
    """The moments that the five parameters say."""
    return LawMoments(cost, reward, cost_sd * cost_sd, reward_sd * reward_sd, correlation * cost_sd * reward_sd)


def correlated(correlation: float, z: float, w: float) -> float:
    """A standard normal that has this correlation with z, made of z and an independent w."""
    if correlation == 0.0:  # the same number, without a root
        return w
    return correlation * z + math.sqrt((1.0 - correlation) * (1.0 + correlation)) * w
