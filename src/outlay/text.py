"""Text for people, each format once: numbers, counts with their nouns, lists, the name that was probably meant."""

import math
import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from difflib import get_close_matches

ANY = "any rate"
MOST_LISTED = 4
_DUST = 1e-6  # of the largest number in a column: what is less has no say in its decimals


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


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


def percent(share: float) -> str:
    """A share of 1 as a percentage with two significant digits."""
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
    """A number to three digits with a letter for its size: 12.3M."""
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


def aligned(values: Sequence[float], digits: int) -> list[str]:
    """The numbers of a column, all with the decimals that show each of them to so many digits.

    >>> aligned([23.0, 17.625, 1204.0], 3)
    ['23.0', '17.6', '1,204.0']
    """
    finite = [abs(value) for value in values if math.isfinite(value)]
    least = _DUST * max(finite, default=0.0)
    shown = [Decimal(f"{value:.{digits}g}").normalize() for value in finite if value > least]
    decimals = max([0, *(-int(number.as_tuple().exponent) for number in shown)])
    if max(finite, default=0.0) >= 1e9:
        cells = [f"{value:.{digits}g}" for value in values]
    else:
        cells = [f"{round(value, decimals) + 0.0:,.{decimals}f}" for value in values]
    return ["–" if cell == "nan" else _signed(cell) for cell in cells]


def sparkline(values: Sequence[float], lowest: float, highest: float) -> Html:
    """A line through values that are evenly spaced, between two ends that other lines may share."""
    span = (highest - lowest) or 1.0
    step = 116.0 / max(len(values) - 1, 1)
    points = " ".join(f"{2 + i * step:.4g},{22 - 20 * (value - lowest) / span:.4g}" for i, value in enumerate(values))
    line = f'<polyline points="{points}" fill="none" stroke="currentColor" stroke-width="1.5"/>'
    return Html(f'<svg width="120" height="24" viewBox="0 0 120 24" role="img">{line}</svg>')


def counted(count: int, noun: str, several: str | None = None) -> str:
    """A count with its noun: 1 arm, 3,000 arms."""
    return f"{count:,} {plural(count, noun, several)}"


def plural(count: int, noun: str, several: str | None = None) -> str:
    """The noun as it stands after a count."""
    return noun if count == 1 else several or noun + "s"


def listed(names: Sequence[str], most: int | None = MOST_LISTED, between: str = ", ") -> str:
    """Names as a sentence lists them: the first `most` and how many more there are; None for all of them.

    >>> listed(["a", "b"]), listed(list("abcdef")), listed(["x, y", "z"], between="; ")
    ('a and b', 'a, b, c, d and 2 more', 'x, y; and z')
    """
    shown = list(names[:most])
    if more := len(names) - len(shown):
        shown.append(f"{more} more")
    last = between.strip(", ")  # no comma before "and"
    return f"{between.join(shown[:-1])}{last} and {shown[-1]}" if len(shown) > 1 else shown[0]


def capital(text: str) -> str:
    """The text with a capital letter at its beginning."""
    return text[:1].upper() + text[1:]


def shortened(label: str) -> str:
    """A label on one line, short enough to leave room for the picture."""
    return cut(" ".join(label.split()), 28)


def cut(label: str, most: int) -> str:
    """A name in at most `most` characters; what is cut is its middle, since names often differ at their ends."""
    tail = (most - 1) * 2 // 5
    return label if len(label) <= most else f"{label[: most - 1 - tail]}…{label[-tail:]}"


def one_of(names: Collection[str], asked: object) -> str:
    """The names that are allowed, and the one that was probably meant."""
    return f"one of {', '.join(names)}{meant(asked, names)}"


def meant(asked: object, names: Collection[str]) -> str:
    """The closest name as a question; empty where none is close."""
    keys = {key_of(name): name for name in names}
    close = get_close_matches(key_of(asked), keys, 1) if isinstance(asked, str) else []
    return f" (did you mean {keys[close[0]]}?)" if close else ""


def key_of(name: str) -> str:
    """A name without case, hyphens and underscores: UCBB1, ucb-b1 and ucb_b1 are one."""
    return name.casefold().replace("-", "").replace("_", "")


def harmless(cell: object) -> object:
    """A cell of a CSV file that no spreadsheet takes for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def _signed(text: str) -> str:
    return text.replace("-", "−")


def in_seconds(micros: int | None) -> str:
    """A time span for a message: 90 s, none."""
    return "none" if micros is None else f"{micros / 1e6:g} s"


def in_currency(amount: str, currency: str | None) -> str:
    """An amount with its currency, where that is known.

    >>> in_currency("12.5", "USD"), in_currency("12.5", None)
    ('12.5 USD', '12.5')
    """
    return amount if currency is None else f"{amount} {currency}"
