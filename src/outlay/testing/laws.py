"""The contract of every law, as tests that any suite can run: outlay's own does, and yours can.

    from outlay.testing.laws import LawContract

    class TestMine(LawContract):
        law = Mine(price=2.0)

pytest finds the methods. Each fails with an AssertionError that says what was broken. Seeds are fixed: a law that
passes always passes. Of correct laws, one in 350,000 would fail by chance.
"""

import copy
import math
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError, UnsupportedBytecodeError

from outlay.arms import AnyLaw, HasTails, LawMoments, Tails, support_of
from outlay.arms.law import check_law
from outlay.checks import Vector
from outlay.engine.jit.compile import classes_of, reason_of
from outlay.engine.jit.numba_types import OPTIONS, coerced, register
from outlay.parameters import equal, hashable
from outlay.usercode import Reach

_FEW, _SOME, _MANY = 3_000, 100_000, 2_000_000  # draws: interpreted, and compiled
_ERRORS = 5.0  # standard errors, which chance exceeds once in 1.7 million numbers; a law has five
_ROUNDING = 1e-10  # of a sample mean


class LawContract:
    """Set `law` in a subclass.

    >>> from outlay.arms import Gaussian
    >>> class TestGaussian(LawContract):
    ...     law = Gaussian(1.0, 2.0, 0.5, 0.5, 0.3)
    >>> TestGaussian().test_a_draw_is_two_finite_floats()
    """

    law: Any = None

    def test_a_draw_is_two_finite_floats(self) -> None:
        """A single NaN would stay in an arm's mean for ever."""
        rng = np.random.default_rng(0)
        for _ in range(_FEW):
            pair = self._law().draw(rng)
            if [type(value) for value in pair] != [float, float] or not all(map(math.isfinite, pair)):
                raise AssertionError(f"a draw of {self.law!r} is {pair!r}, not two finite floats")

    def test_compiled_draws_are_the_interpreted_ones(self) -> None:
        """The simulator draws the same bits as Python, and takes the same random numbers for them."""
        one, other = np.random.default_rng(1), np.random.default_rng(1)
        compiled = draws(self._law(), one, _FEW)
        for count, pair in enumerate(compiled):
            expected = self.law.draw(other)
            if pair.tobytes() != np.array(expected).tobytes():
                found = f"{tuple(pair.tolist())!r} compiled, {expected!r} in Python"
                raise AssertionError(f"draw {count} of {self.law!r} is {found}")
        if one.bit_generator.state != other.bit_generator.state:
            raise AssertionError(f"{self.law!r} takes other random numbers when it is compiled")

    def test_moments_are_those_of_the_draws(self) -> None:
        """Within five standard errors over two million draws, as far as `tails` lets the errors be known.

        A mean has a standard error where a variance exists, a variance where moments of order 4 do. A law that does
        not say in `tails` which moments it has is taken to have all of them where its variances are finite.
        """
        moments, tails = LawMoments(*self._law().moments()), self._tails()
        if any(map(math.isnan, moments)) or min(moments.var_cost, moments.var_reward) < 0.0:
            raise AssertionError(f"no law can have the moments of {self.law!r}: {moments!r}")
        cost, reward = draws(self.law, np.random.default_rng(2), _MANY).T
        x, r = cost - moments.mean_cost, reward - moments.mean_reward
        self._agrees("mean cost", x, tails.cost > 2.0)
        self._agrees("mean reward", r, tails.reward > 2.0)
        self._agrees("variance of the cost", x * x - moments.var_cost, tails.cost > 4.0)
        self._agrees("variance of the reward", r * r - moments.var_reward, tails.reward > 4.0)
        self._agrees("covariance", x * r - moments.cov, min(tails) > 4.0)

    def test_every_draw_is_in_the_support(self) -> None:
        """Bounds that policies and theorems rely on."""
        box = support_of(self._law())
        pairs = draws(self.law, np.random.default_rng(3), _SOME)
        for side, column, low, high in (("cost", pairs[:, 0], *box[:2]), ("reward", pairs[:, 1], *box[2:])):
            least, most = float(column.min()), float(column.max())
            if not low <= least <= most <= high:
                found = f"from {least!r} to {most!r}, and its support says from {low!r} to {high!r}"
                raise AssertionError(f"the {side} of {self.law!r} goes {found}")

    def test_it_is_a_value(self) -> None:
        """Copies and pickles are equal and hash alike: runs on threads and on other machines share the law."""
        try:
            pickled = pickle.dumps(self._law())
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise AssertionError(f"{self.law!r} cannot be pickled: {error}") from None
        for twin in (copy.deepcopy(self.law), pickle.loads(pickled)):  # noqa: S301 (written a line above)
            if not equal(twin, self.law) or hash(hashable(twin)) != hash(hashable(self.law)):
                raise AssertionError(f"a copy of {self.law!r} is not equal to it, but {twin!r}")

    def test_drawing_does_not_change_it(self) -> None:
        """A draw must not depend on earlier draws."""
        before, rng = copy.deepcopy(self._law()), np.random.default_rng(4)
        for _ in range(_FEW):
            self.law.draw(rng)
        if not equal(before, self.law):
            raise AssertionError(f"drawing changes {before!r} to {self.law!r}")

    def _law(self) -> AnyLaw:
        try:
            return check_law(type(self).__name__, "law", self.law)
        except ValueError as error:
            raise AssertionError(str(error)) from None

    def _tails(self) -> Tails:
        if isinstance(self.law, HasTails):
            return Tails(*self.law.tails())
        _, _, *variances, _ = self.law.moments()
        return Tails(*(math.inf if math.isfinite(variance) else 2.0 for variance in variances))

    def _agrees(self, name: str, deviations: Vector, known: bool) -> None:
        """Whether the mean of the deviations is 0, but for chance; nothing is asked where it has no standard error."""
        if not known:
            return
        mean, error = float(deviations.mean()), float(deviations.std()) / math.sqrt(deviations.size)
        if not abs(mean) <= _ERRORS * error + _ROUNDING:
            off = f"{mean:.6g} above what moments() says, {abs(mean) / max(error, 1e-300):.3g} standard errors"
            raise AssertionError(f"the {name} of the draws of {self.law!r} is {off}")


def draws(law: AnyLaw, rng: np.random.Generator, count: int) -> Vector:
    """Pairs (cost, reward) as the compiled simulator draws them, one per row.

    >>> from outlay.arms import Constant
    >>> draws(Constant(2.0, 1.0), np.random.default_rng(0), 2)
    array([[2., 1.],
           [2., 1.]])
    """
    pairs = np.empty((count, 2))
    try:
        _filler(tuple(classes_of(law)))(coerced(law), rng, pairs)
    except (NumbaError, UnsupportedBytecodeError, TypeError) as error:
        raise AssertionError(f"{law!r} cannot be compiled: {reason_of(str(error))}") from None
    return pairs


@cache
def _filler(classes: tuple[type, ...]) -> Callable[[AnyLaw, np.random.Generator, Vector], None]:
    """A compiled loop for laws of these classes; numba would take two classes of one name for the same."""
    for function in Reach(*classes).functions:
        register(function)

    def fill(law: AnyLaw, rng: np.random.Generator, pairs: Vector) -> None:
        for row in range(len(pairs)):
            pairs[row, 0], pairs[row, 1] = law.draw(rng)

    return numba.njit(**OPTIONS)(fill)  # type: ignore[no-any-return]
