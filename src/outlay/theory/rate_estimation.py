"""How far a ratio of two estimates can be from the ratio of what they estimate (Proposition 2).

If |θ̂1 − θ1| ≤ η and |θ̂2 − θ2| ≤ ε with η < θ1(λ−1)/λ, the rate r = θ2/θ1 is estimated by θ̂2/θ̂1 within
λ(ε + |r|η)/θ1. Proof: θ̂2/θ̂1 − r = ((θ̂2 − θ2) − r(θ̂1 − θ1))/θ̂1 and θ̂1 ≥ θ1 − η > θ1/λ.
"""

from typing import NamedTuple

from outlay.checks import real
from outlay.errors import NotCovered

STRETCH = 1.28  # the paper's λ: the estimate is stable while η < 0.21875·θ1


class RateBox(NamedTuple):
    """The box A(η, ε) of estimates around (θ1, θ2) and the rates in it: the paper's Figure 1 as numbers."""

    cost: float  # θ1
    reward: float  # θ2
    cost_radius: float  # η
    reward_radius: float  # ε
    rate: float  # r = θ2/θ1
    low: tuple[float, float]  # the corner of the smallest rate
    high: tuple[float, float]  # the corner of the largest rate
    worst: tuple[float, float]  # the corner farthest from r: (θ1 − η, θ2 ± ε) with the sign of r
    deviation: float  # how far it is: (ε + |r|η)/(θ1 − η)
    bound: float  # what Proposition 2 allows: λ(ε + |r|η)/θ1

    @property
    def corner(self) -> tuple[float, float]:
        """The lower left corner of the box."""
        return self.cost - self.cost_radius, self.reward - self.reward_radius

    @property
    def sides(self) -> tuple[float, float]:
        """Width and height of the box."""
        return 2.0 * self.cost_radius, 2.0 * self.reward_radius

    @property
    def view(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Limits of a picture that shows the origin and the box with room around it."""
        top, bottom = self.reward + self.reward_radius, self.reward - self.reward_radius
        margin = 0.25 * max(top, abs(bottom))
        return (0.0, 1.15 * (self.cost + self.cost_radius)), (min(0.0, bottom - margin), max(0.0, top + margin))


def stable(cost: float, cost_radius: float, stretch: float = STRETCH) -> bool:
    """Whether the cost is known well enough for a rate: η < θ1(λ−1)/λ (Proposition 2; η = 0 always is).

    >>> stable(cost=1.0, cost_radius=0.21), stable(cost=1.0, cost_radius=0.22)
    (True, False)
    """
    cost, cost_radius, stretch = _checked("stable", cost, cost_radius, stretch)
    return cost_radius < cost * (stretch - 1.0) / stretch


def rate_deviation(
    cost: float, reward: float, cost_radius: float, reward_radius: float, stretch: float = STRETCH
) -> float:
    """The most that θ̂2/θ̂1 can be off: λ(ε + |r|η)/θ1 with r = θ2/θ1 (Proposition 2).

    Args:
        cost: θ1 > 0.
        reward: θ2; the paper has θ2 ≥ 0, with |r| for r any sign will do.
        cost_radius: η ≥ 0, how far the estimated cost may be off; `NotCovered` unless η < θ1(λ−1)/λ.
        reward_radius: ε ≥ 0, how far the estimated reward may be off.
        stretch: λ > 1.

    >>> rate_deviation(cost=2.0, reward=1.0, cost_radius=0.2, reward_radius=0.15)
    0.16
    >>> rate_deviation(cost=2.0, reward=1.0, cost_radius=0.5, reward_radius=0.15)
    Traceback (most recent call last):
    outlay.errors.NotCovered: Proposition 2 needs cost_radius < cost·(λ−1)/λ = 0.4375 with λ = 1.28; got 0.5
    """
    cost, cost_radius, stretch = _checked("rate_deviation", cost, cost_radius, stretch)
    reward = real("rate_deviation", "reward", reward)
    reward_radius = real("rate_deviation", "reward_radius", reward_radius, at_least=0)
    if not stable(cost, cost_radius, stretch):
        limit = cost * (stretch - 1.0) / stretch
        words = f"cost_radius < cost·(λ−1)/λ = {limit:g} with λ = {stretch:g}; got {cost_radius:g}"
        raise NotCovered(f"Proposition 2 needs {words}")
    return stretch * (reward_radius + abs(reward / cost) * cost_radius) / cost


def rate_box(cost: float, reward: float, cost_radius: float, reward_radius: float, stretch: float = STRETCH) -> RateBox:
    """The box of Proposition 2, its extreme rates, its farthest corner; parameters as of `rate_deviation`.

    The paper's caption calls λ(ε + |r|η)/θ1 the largest deviation; it is attained only in the limit η = θ1(λ−1)/λ.

    >>> box = rate_box(cost=2.0, reward=1.0, cost_radius=0.25, reward_radius=0.1)
    >>> box.worst, round(box.deviation, 4), round(box.bound, 4)
    ((1.75, 1.1), 0.1286, 0.144)
    """
    bound = rate_deviation(cost, reward, cost_radius, reward_radius, stretch)
    rate = reward / cost
    corners = [(cost + i * cost_radius, reward + j * reward_radius) for i in (-1, 1) for j in (-1, 1)]
    return RateBox(
        cost,
        reward,
        cost_radius,
        reward_radius,
        rate,
        low=min(corners, key=_rate),
        high=max(corners, key=_rate),
        worst=max(corners, key=lambda corner: abs(_rate(corner) - rate)),
        deviation=(reward_radius + abs(rate) * cost_radius) / (cost - cost_radius),
        bound=bound,
    )


def _rate(corner: tuple[float, float]) -> float:
    return corner[1] / corner[0]


def _checked(owner: str, cost: float, cost_radius: float, stretch: float) -> tuple[float, float, float]:
    return (
        real(owner, "cost", cost, above=0),
        real(owner, "cost_radius", cost_radius, at_least=0),
        real(owner, "stretch", stretch, above=1),
    )
