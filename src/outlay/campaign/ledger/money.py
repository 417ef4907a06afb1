"""Money as whole numbers of a unit: sums are exact, in any order, in Python and in any database."""

import math
from decimal import MAX_PREC, ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from outlay.errors import BadParameter

MOST = 2**53  # units in one amount: beyond, a float cannot hold every whole number
_EXACT = Context(prec=MAX_PREC)


class Unit(NamedTuple):
    """The smallest amount a campaign knows; a cost is rounded to it once, half to even, and exact from then on.

    >>> cent = Unit.named("0.01")
    >>> cent.units("tell", "cost", 0.125), cent.amount(12)
    (12, 0.12)
    """

    size: Decimal
    over: int  # the size is over/under in lowest terms
    under: int

    @staticmethod
    def named(text: object) -> "Unit":
        """The unit that a decimal number names, such as "1e-9"."""
        try:
            size = Decimal(str(text)).normalize()
            good = size.is_finite() and -18 <= size.adjusted() <= 18 and size > 0
        except InvalidOperation:
            good = False
        if not good or isinstance(text, bool):
            raise BadParameter("Campaign", "unit", 'a decimal number from 1e-18 to 1e18, such as "1e-9"', text)
        return Unit(size, *Fraction(size).as_integer_ratio())

    def units(self, owner: str, name: str, value: object) -> int:
        """How many units an amount is; floats count as the decimal number they print as."""
        exact = _decimal(value)
        if exact is None:
            raise BadParameter(owner, name, "a finite number", value)
        magnitude = exact.adjusted() - self.size.adjusted() if exact else -math.inf
        if abs(magnitude) > 20:  # far below one unit, or far above what is allowed: no need to count
            return 0 if magnitude < 0 else self._at_most(MOST + 1, owner, name, value)
        if self.size.as_tuple().digits == (1,):  # a power of ten: Fraction would be slow
            units = int(exact.scaleb(-self.size.adjusted(), _EXACT).to_integral_value(ROUND_HALF_EVEN))
            return self._at_most(units, owner, name, value)
        return self._at_most(round(Fraction(exact) / Fraction(self.over, self.under)), owner, name, value)

    def amount(self, units: int) -> float:
        """The float nearest to this many units."""
        return units * self.over / self.under

    def exact(self, units: int) -> Decimal:
        """The amount of so many units, to the last digit.

        >>> Unit.named("0.01").exact(10**20 + 1)
        Decimal('1000000000000000000.01')
        """
        return _EXACT.multiply(Decimal(units), self.size)

    def _at_most(self, units: int, owner: str, name: str, value: object) -> int:
        if abs(units) > MOST:
            most = f"at most 2**53 units of {self.size} = {self.amount(MOST):.6g}; take a larger unit"
            raise BadParameter(owner, name, most, value)
        return units


def _decimal(value: object) -> Decimal | None:
    """A number as an exact decimal; None for what is not a finite number."""
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (float, np.floating)):
        return Decimal(repr(float(value))) if math.isfinite(value) else None
    if isinstance(value, (int, np.integer)):
        return Decimal(int(value))
    return value if isinstance(value, Decimal) and value.is_finite() else None
