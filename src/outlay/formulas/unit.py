"""Costs and rewards on [0, M]: the bounds that many policies are told, and the means as shares of them."""

from outlay.checks import real
from outlay.parameters import Draft, Parameters, number, parameter


class Bounds(Parameters):
    """The parameters of a policy for costs in [0, `cost_bound`] and rewards in [0, `reward_bound`]."""

    cost_bound: float = number(above=0)
    reward_bound: float = number(above=0)


class UnitBounds(Bounds):
    """The same, both bounds being 1 where they are not given."""

    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)


class LeastCost(Parameters):
    """The parameters of a policy that is told, besides the bounds, a lower bound of the mean costs."""

    min_cost: float = parameter(lambda _owner, _name, value: value)  # checked in `complete`, by the bound of costs
    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Refuse a lower bound that is above the upper one."""
        given.min_cost = real(cls.__name__, "min_cost", given.min_cost, above=0, at_most=given.cost_bound)


def share(mean: float, bound: float) -> float:
    """The mean as a share of its bound; outside [0, 1] it counts as the nearer end.

    >>> share(1.0, 4.0), share(-1.0, 4.0), share(5.0, 4.0)
    (0.25, 0.0, 1.0)
    """
    return min(1.0, max(0.0, mean / bound))
