"""Money as whole numbers of a unit: sums are exact, in any order, in Python and in any database."""

import math
from decimal import MAX_PREC, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from outlay.errors import BadParameter

MOST = 2**53  # units in one amount: beyond, a float cannot hold every whole number
MOST_DIGITS = 28  # of a unit
_EXACT = Context(prec=MAX_PREC)


class Unit(NamedTuple):
    """The smallest amount a campaign knows; a cost is rounded up to it once, and exact from then on.

    Up, so that no number of costs below a unit can be spent for nothing; a refund becomes smaller, not larger.

    >>> cent = Unit.named("0.01")
    >>> cent.units("tell", "cost", 0.121), cent.units("tell", "cost", -0.129), cent.amount(13)
    (13, -12, 0.13)
    """

    size: Decimal
    over: int  # the size is over/under in lowest terms
    under: int

    @staticmethod
    def named(text: object) -> "Unit":
        """The unit that a decimal number names, such as "1e-9"."""
        try:
            size = Decimal(str(text))
            good = size.is_finite() and size > 0 and -18 <= size.adjusted() <= 18
            size = _EXACT.normalize(size) if good else size  # not before: this fails where the exponent is huge
        except (InvalidOperation, ValueError):  # the latter from an integer of thousands of digits
            good = False
        if not good or len(size.as_tuple().digits) > MOST_DIGITS or isinstance(text, bool):
            allowed = f'a decimal number from 1e-18 to 1e18, of {MOST_DIGITS} digits at most, such as "1e-9"'
            raise BadParameter("Campaign", "unit", allowed, text)
        return Unit(size, *Fraction(size).as_integer_ratio())

    def units(self, owner: str, name: str, value: object, *, up: bool = True) -> int:
        """How many units an amount is; floats count as the decimal number they print as.

        What is not whole is rounded up, or down where it is not `up`: a budget, which must not become more.
        """
        return self.measured(owner, name, value, up=up)[0]

    def measured(self, owner: str, name: str, value: object, *, up: bool = True) -> tuple[int, bool]:
        """The same, and whether it had to be rounded.

        >>> Unit.named("0.01").measured("tell", "cost", 0.0049)
        (1, True)
        """
        exact = decimal_of(value)
        if exact is None:
            raise BadParameter(owner, name, "a finite number", value)
        if not exact:
            return 0, False
        magnitude = exact.adjusted() - self.size.adjusted()
        if magnitude > 20:  # far above what is allowed: no need to count
            return self._at_most(MOST + 1, owner, name, value), True
        rounding = ROUND_CEILING if up else ROUND_FLOOR
        if magnitude < -20:  # far below one unit
            return int((Decimal("0.1") * (1 if exact > 0 else -1)).to_integral_value(rounding)), True
        # In steps of the unit's last digit, of which a unit is a whole number: Fraction would be slow.
        exponent = int(self.size.as_tuple().exponent)
        steps = exact.scaleb(-exponent, _EXACT)
        whole = steps.to_integral_value(ROUND_FLOOR)
        units, rest = divmod(int(whole), int(self.size.scaleb(-exponent, _EXACT)))
        rounded = rest > 0 or steps != whole
        return self._at_most(units + (up and rounded), owner, name, value), rounded

    def amount(self, units: int) -> float:
        """The float nearest to this many units."""
        return units * self.over / self.under

    def shown(self, units: int | None) -> str:
        """An amount for a message.

        >>> Unit.named("0.01").shown(1250), Unit.named("0.01").shown(None)
        ('12.5', 'none')
        """
        return "none" if units is None else f"{self.amount(units):.15g}"

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


def decimal_of(value: object) -> Decimal | None:
    """A number as an exact decimal; None for what is not a finite number."""
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (float, np.floating)):
        return Decimal(repr(float(value))) if math.isfinite(value) else None
    if isinstance(value, (int, np.integer)):
        return Decimal(int(value))
    return value if isinstance(value, Decimal) and value.is_finite() else None
