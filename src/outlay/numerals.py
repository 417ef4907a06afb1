"""Numbers as people read them, in sentences, tables and on axes. Every format of the library stands here, once."""

import math
import re

ANY = "any rate"


def number(value: float | None, digits: int = 4, most: float = 1e9) -> str:
    """A number to `digits` digits, with an exponent from `most` on; – for none.

    >>> number(1234.567), number(0.0154321), number(2.5e-7), number(math.inf), number(None)
    ('1,235', '0.01543', '2.5e−7', '∞', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if min(10**digits, 1000) <= round(abs(value)) < most:
        return _signed(f"{value:,.0f}")
    return _signed(re.sub(r"e([+-])0*", lambda e: "e" + e[1].strip("+"), f"{value:.{digits}g}"))


def amount(value: float, below_ten: int = 1, most: float = math.inf) -> str:
    """An amount of regret: one decimal where it can matter, `below_ten` decimals below ten; an exponent from `most` on.

    >>> amount(1234.5), amount(23.456), amount(2.345), amount(2.345, below_ten=2)
    ('1,234', '23.5', '2.3', '2.35')
    """
    if abs(value) >= most:
        return _signed(f"{value:.4g}")
    decimals = 0 if abs(value) >= 1000 else 1 if abs(value) >= 10 else below_ten
    return _signed(f"{round(value, decimals) + 0.0:,.{decimals}f}")


def measured(value: float, error: float) -> str:
    """A mean with its standard error, both to the second digit of the error.

    >>> measured(263.94, 2.814), measured(213598.2, 81.6), measured(3.0, math.nan)
    ('263.9 ± 2.8', '213,598 ± 82', '3')
    """
    if not 0.0 < error < math.inf:
        return number(value)
    if not 1e-6 < error < 1e9:
        return f"{number(value)} ± {number(error, 2)}"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return _signed(f"{value:,.{decimals}f} ± {error:,.{decimals}f}")


def span(low: float, high: float) -> str:
    """An interval of rates, for a cell of a table.

    >>> span(0.25, 1 / 3), span(-math.inf, math.inf), span(-math.inf, 2.0)
    ('0.25 – 0.333', 'any rate', 'below 2')
    """
    if low > -math.inf and high < math.inf:
        return f"{number(low, 3)} – {number(high, 3)}"
    if low > -math.inf:
        return f"above {number(low, 3)}"
    return f"below {number(high, 3)}" if high < math.inf else ANY


def coefficient(value: float) -> str:
    """Four digits, or all digits before the point.

    >>> coefficient(10263.4), coefficient(4.18012)
    ('10,263', '4.18')
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


def percent(share: float) -> str:
    """A share of 1 as a percentage with two significant digits.

    >>> percent(0.000104), percent(0.178), percent(0.0)
    ('0.01%', '18%', '0%')
    """
    if abs(share) >= 0.1:
        return f"{100.0 * share:.0f}%"
    digits = f"{100.0 * share:.2g}"
    return f"{digits}%" if "e" not in digits else "< 0.001%"


def tick(value: float) -> str:
    """A number beside an axis: exact, and short for round numbers.

    >>> tick(20_000), tick(1.5e6), tick(-0.25), tick(3e9)
    ('20k', '1.5M', '−0.25', '3e9')
    """
    written = f"{value:.6g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if unit <= abs(value) < 1000.0 * unit:
            written = f"{value / unit:.6g}{letter}"
    return _signed(written)


def rounded(value: float) -> str:
    """A number to three digits with a letter for its size.

    >>> rounded(12_345_678.0), rounded(950.0)
    ('12.3M', '950')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


def duration(seconds: float) -> str:
    """A length of time in words.

    >>> duration(0.3), duration(75), duration(5_000), duration(200_000)
    ('under 1 s', '75 s', '1 h 23 min', '2 d 7 h')
    """
    if seconds < 1:
        return "under 1 s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"


def _signed(text: str) -> str:
    """With a minus sign in place of the hyphen."""
    return text.replace("-", "−")
