"""Numbers and lists as they stand in sentences and tables."""

import math
import re
from collections.abc import Sequence

MOST_LISTED = 4
ANY = "any rate"


def number(value: float | None, digits: int = 4) -> str:
    """A number to `digits` digits; – for none.

    >>> number(1234.567), number(0.0154321), number(2.5e-7), number(math.inf), number(None)
    ('1,235', '0.01543', '2.5e−7', '∞', '–')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if min(10**digits, 1000) <= round(abs(value)) < 1e9:
        return f"{value:,.0f}".replace("-", "−")
    return re.sub(r"e([+-])0*", lambda e: "e" + e[1].strip("+"), f"{value:.{digits}g}").replace("-", "−")


def measured(value: float, error: float) -> str:
    """A mean with its standard error, both to the second digit of the error.

    >>> measured(263.94, 2.814), measured(213598.2, 81.6), measured(3.0, math.nan)
    ('263.9 ± 2.8', '213,598 ± 82', '3')
    """
    if not 0.0 < error < math.inf:
        return number(value)
    if not 1e-6 < error < 1e9:
        return f"{number(value)} ± {number(error, 2)}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:,.{digits}f} ± {error:,.{digits}f}".replace("-", "−")


def span(low: float, high: float) -> str:
    """An interval of rates, in a cell.

    >>> span(0.25, 1 / 3), span(-math.inf, math.inf), span(-math.inf, 2.0)
    ('0.25 – 0.333', 'any rate', 'below 2')
    """
    if low > -math.inf and high < math.inf:
        return f"{number(low, 3)} – {number(high, 3)}"
    if low > -math.inf:
        return f"above {number(low, 3)}"
    return f"below {number(high, 3)}" if high < math.inf else ANY


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Names as a list, cut where it is long.

    >>> listed(["a", "b"]), listed(list("abcdef"))
    ('a and b', 'a, b, c, d and 2 more')
    """
    shown, more = list(names[:most]), len(names) - most
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def counted(count: int, noun: str) -> str:
    """`3 arms`, `1 arm`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def capital(text: str) -> str:
    """The beginning of a sentence."""
    return text[:1].upper() + text[1:]
