"""What a law is: the joint distribution of one arm's cost and reward.

A law is a NamedTuple with two methods, `draw(rng)`, one pair (cost, reward), and `moments()`, its exact first and
second moments. `draw` is plain Python; the simulator compiles the same method. `support()` and `tails()` may follow:
without them nothing is promised beyond the moments.
"""

import math
from typing import Any, NamedTuple, Protocol

from numpy.random import Generator

from outlay.errors import BadParameter
from outlay.parameters import Record


class Moments(NamedTuple):
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


class AnyLaw(Protocol):
    """What a problem asks of an arm's law; a user's own NamedTuple with these methods is one."""

    def draw(self, rng: Generator, /) -> tuple[float, float]:
        """Return one pair (cost, reward)."""

    def moments(self) -> tuple[float, float, float, float, float]:
        """Return mean cost, mean reward, their variances and their covariance."""


class Law(Record):
    """The base of the laws of this package; unbounded and with all moments unless a law says otherwise."""

    __slots__ = ()

    def support(self) -> Support:
        """The smallest box that holds every pair."""
        return Support()

    def tails(self) -> Tails:
        """Absolute moments of every order below these exist."""
        return Tails()


def checked(owner: str, name: str, value: Any) -> AnyLaw:
    """The value itself if it is a law, ours or a user's; else `BadParameter`."""
    is_record = isinstance(value, tuple) and hasattr(value, "_fields")
    if not (is_record and callable(getattr(value, "draw", None)) and callable(getattr(value, "moments", None))):
        raise BadParameter(owner, name, "a law: a NamedTuple with methods draw(rng) and moments()", value)
    return value  # type: ignore[no-any-return]


def support_of(law: AnyLaw) -> Support:
    """The law's support; unbounded if it does not say."""
    return Support(*law.support()) if hasattr(law, "support") else Support()


def tails_of(law: AnyLaw) -> Tails:
    """The law's tails; if it does not say, what its support and its variances prove.

    >>> from outlay.arms import Pareto
    >>> tails_of(Pareto(cost=1.0, reward=2.0, cost_tail=2.5))
    Tails(cost=2.5, reward=3.0)
    """
    if hasattr(law, "tails"):
        return Tails(*law.tails())
    moments, support = Moments(*law.moments()), support_of(law)
    return Tails(
        _proved(moments.var_cost, support.cost_low, support.cost_high),
        _proved(moments.var_reward, support.reward_low, support.reward_high),
    )


def _proved(variance: float, low: float, high: float) -> float:
    if math.isfinite(low) and math.isfinite(high):
        return math.inf
    return 2.0 if math.isfinite(variance) else 1.0
