"""Numbers as they stand in sentences and tables."""

import math
import re

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
