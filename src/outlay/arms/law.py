"""What a law is: the joint distribution of one arm's cost and reward; and what laws with a correlation have in common.

A law is a tuple of parameters (`Parameters`, or any NamedTuple) with two methods: `draw(rng)` returns one pair (cost,
reward), and `moments()` its exact first and second moments. `draw` is plain Python; the simulator compiles the same
method. `support()` and `tails()` are optional: without them nothing is promised beyond the moments.
"""

import math
from typing import NamedTuple, Protocol, cast, runtime_checkable

from numpy.random import Generator

from outlay.errors import BadParameter
from outlay.parameters import Parameters, is_record, number
from outlay.usercode import instead_of_class

FARTHEST = 1e100  # between the mean and the sd of a positive law; beyond it their ratio's square overflows


class LawMoments(NamedTuple):
    """Exact moments of a pair (cost, reward); `math.inf` where a variance does not exist."""

    mean_cost: float
    mean_reward: float
    var_cost: float
    var_reward: float
    cov: float


class Support(NamedTuple):
    """The smallest known box that holds every pair; ±`math.inf` where a side is unbounded."""

    cost_low: float = -math.inf
    cost_high: float = math.inf
    reward_low: float = -math.inf
    reward_high: float = math.inf


class Tails(NamedTuple):
    """Absolute moments of every order below these exist (`math.inf`: all of them)."""

    cost: float = math.inf
    reward: float = math.inf


@runtime_checkable
class AnyLaw(Protocol):
    """What a problem asks of an arm's law; a user's own NamedTuple with these methods is one."""

    def draw(self, rng: Generator, /) -> tuple[float, float]:
        """Return one pair (cost, reward)."""

    def moments(self) -> tuple[float, float, float, float, float]:
        """Return mean cost, mean reward, their variances and their covariance."""


@runtime_checkable
class HasSupport(Protocol):
    """A law that says where its pairs can lie."""

    def support(self) -> tuple[float, float, float, float]:
        """Return the smallest and largest cost, then the smallest and largest reward."""


@runtime_checkable
class HasTails(Protocol):
    """A law that says which moments it has."""

    def tails(self) -> tuple[float, float]:
        """Return the orders below which absolute moments of cost and reward exist."""


class Law(Parameters):
    """The base of the laws of this package; unbounded and with all moments unless a law says otherwise."""

    def support(self) -> Support:
        """The smallest box that holds every pair."""
        return Support()

    def tails(self) -> Tails:
        """Absolute moments of every order below these exist."""
        return Tails()


def check_law(owner: str, name: str, value: object) -> AnyLaw:
    """The value itself if it is a law, ours or a user's; else `BadParameter`."""
    if isinstance(value, type):
        raise BadParameter(owner, name, instead_of_class(value), value)
    if is_record(value) and all(callable(getattr(value, method, None)) for method in ("draw", "moments")):
        return cast(AnyLaw, value)
    raise BadParameter(owner, name, "a law: a NamedTuple with methods draw(rng) and moments()", value)


def support_of(law: AnyLaw) -> Support:
    """The law's support; unbounded if it does not say.

    >>> from outlay.arms import Constant
    >>> support_of(Constant(cost=2.0, reward=1.0))
    Support(cost_low=2.0, cost_high=2.0, reward_low=1.0, reward_high=1.0)
    """
    # Law stands first because a test against a protocol takes thirty times as long, and problems have many arms.
    return Support(*law.support()) if isinstance(law, (Law, HasSupport)) else Support()


def tails_of(law: AnyLaw) -> Tails:
    """The law's tails; if it does not say, what its support and its variances prove.

    >>> from outlay.arms import Pareto
    >>> tails_of(Pareto(cost=1.0, reward=2.0, cost_tail=2.5))
    Tails(cost=2.5, reward=3.0)
    """
    if isinstance(law, (Law, HasTails)):
        return Tails(*law.tails())
    moments, support = LawMoments(*law.moments()), support_of(law)
    return Tails(
        _proved(moments.var_cost, support.cost_low, support.cost_high),
        _proved(moments.var_reward, support.reward_low, support.reward_high),
    )


def _proved(variance: float, low: float, high: float) -> float:
    if math.isfinite(low) and math.isfinite(high):
        return math.inf
    return 2.0 if math.isfinite(variance) else 1.0


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


class PositivePair(Pair):
    """A pair whose costs and rewards are never negative, so that its means are > 0."""

    cost: float = number(above=0)
    reward: float = number(above=0)
    cost_sd: float = number(at_least=0, at_most=lambda given: FARTHEST * given.cost)
    reward_sd: float = number(at_least=0, at_most=lambda given: FARTHEST * given.reward)

    def support(self) -> Support:
        """Nothing negative."""
        return Support(cost_low=0.0, reward_low=0.0)


def reachable(owner: str, correlation: float, low: float, high: float) -> float:
    """The correlation, if the law can have it; an excess of rounding size is cut off."""
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
