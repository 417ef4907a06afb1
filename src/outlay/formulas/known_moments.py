"""Second moments that a policy is told: checked once, read in the formulas as a `Belief`."""

import numpy as np

from outlay.beliefs import Belief
from outlay.checks import Vector
from outlay.errors import BadParameter
from outlay.parameters import Array, Draft, Parameters, array

ROUNDING = 1.0 + 1e-9  # how far |cov| may exceed √(var_cost·var_reward), which only rounding can make it do


def known(var_cost: Vector, var_reward: Vector, cov: Vector, arm: int) -> Belief:
    """Return the known second moments of `arm`, its means left 0; arrays of length 1 apply to every arm."""
    row = arm if len(var_cost) > 1 else 0
    return Belief(arm, 0, 0.0, 0.0, float(var_cost[row]), float(var_reward[row]), float(cov[row]))


class KnownMoments(Parameters):
    """The parameters of a policy that is told the second moments: each a number for every arm, or one per arm."""

    var_cost: Array = array(at_least=0)
    var_reward: Array = array(at_least=0)
    cov: Array = array()

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Bring the three to one length; refuse a covariance that no correlation allows."""
        given.var_cost, given.var_reward, given.cov = together(
            cls.__name__, var_cost=given.var_cost, var_reward=given.var_reward, cov=given.cov
        )

    def check(self, arms: int) -> None:
        """Refuse a number of arms that the second moments were not given for."""
        check_length(type(self).__name__, "var_cost", self.var_cost, arms)


def together(owner: str, *, var_cost: Vector, var_reward: Vector, cov: Vector) -> tuple[Vector, Vector, Vector]:
    """Three read-only arrays of one length, if they can be second moments."""
    given = {"var_cost": var_cost, "var_reward": var_reward, "cov": cov}
    arms = max(map(len, given.values()))
    for name, values in given.items():
        check_length(owner, name, values, arms)
    costs, rewards, covs = (values if len(values) == arms else _repeated(values, arms) for values in given.values())
    most = np.sqrt(costs) * np.sqrt(rewards)
    good = np.abs(covs) <= most * ROUNDING
    if not good.all():
        first = int(np.argmin(good))
        where = f" at position {first}" if arms > 1 else ""
        allowed = f"within ±√(var_cost·var_reward) = ±{most[first]:.6g}"
        raise BadParameter(owner, "cov" + where, allowed, float(covs[first]))
    return costs, rewards, covs


def check_length(owner: str, name: str, values: Vector, arms: int) -> None:
    """Refuse an array that is neither one number nor one per arm."""
    if len(values) not in (1, arms):
        raise BadParameter(owner, name, f"one number or {_Numbers(arms)!r}, one per arm", _Numbers(len(values)))


class _Numbers(int):
    """How many numbers there are, printed with the word."""

    def __repr__(self) -> str:
        return f"{int(self)} number{'' if self == 1 else 's'}"


def _repeated(values: Vector, arms: int) -> Vector:
    array = np.full(arms, values[0])
    array.setflags(write=False)
    return array
