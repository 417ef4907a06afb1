"""Words for people: counts with their nouns, lists, labels that fit, and the name that was probably meant."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

MOST_LISTED = 4
_LONGEST_LABEL = 28


def counted(count: int, noun: str, several: str | None = None) -> str:
    """A count with its noun.

    >>> counted(1, "arm"), counted(3000, "arm"), counted(2, "policy", "policies")
    ('1 arm', '3,000 arms', '2 policies')
    """
    return f"{count:,} {plural(count, noun, several)}"


def plural(count: int, noun: str, several: str | None = None) -> str:
    """The noun as it stands after a count.

    >>> plural(1, "run"), plural(0, "run"), plural(2, "policy", "policies")
    ('run', 'runs', 'policies')
    """
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
    """The text with a capital letter at its beginning.

    >>> capital("three arms are left")
    'Three arms are left'
    """
    return text[:1].upper() + text[1:]


def shortened(label: str) -> str:
    """A label on one line, short enough to leave room for the picture."""
    return cut(" ".join(label.split()), _LONGEST_LABEL)


def cut(label: str, most: int) -> str:
    """A name in at most `most` characters; what is cut is its middle, since names often differ at their ends.

    >>> cut("a rather long name, 12", 12)
    'a rathe…, 12'
    """
    tail = (most - 1) * 2 // 5
    return label if len(label) <= most else f"{label[: most - 1 - tail]}…{label[-tail:]}"


def one_of(names: Collection[str], asked: object) -> str:
    """The names that are allowed, and the one that was probably meant.

    >>> one_of(["Frugal", "Greedy", "UCBB1"], "fruggal")
    'one of Frugal, Greedy, UCBB1 (did you mean Frugal?)'
    """
    return f"one of {', '.join(names)}{meant(asked, names)}"


def meant(asked: object, names: Collection[str]) -> str:
    """The closest name as a question; empty where none is close."""
    keys = {key_of(name): name for name in names}
    close = get_close_matches(key_of(asked), keys, 1) if isinstance(asked, str) else []
    return f" (did you mean {keys[close[0]]}?)" if close else ""


def key_of(name: str) -> str:
    """A name without case, hyphens and underscores: UCBB1, ucb-b1 and ucb_b1 are one.

    >>> key_of("UCB-B1") == key_of("ucb_b1")
    True
    """
    return name.casefold().replace("-", "").replace("_", "")


def harmless(cell: object) -> object:
    """A cell of a CSV file that no spreadsheet takes for a formula.

    >>> harmless("=1+1"), harmless("small"), harmless(-1)
    ("'=1+1", 'small', -1)
    """
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
