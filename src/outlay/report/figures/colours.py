"""One colour per policy, in every figure: whoever has seen Thrifty in green looks for green in the next one."""

from collections.abc import Sequence

from outlay.report.figures.style import MARKS, PALETTE
from outlay.text import key_of

Look = tuple[str, str]  # a colour, and the mark that tells a line from others of that colour

# Those that are often compared have colours of their own; the palette has six.
_OWN = {
    name: index
    for index, names in enumerate(
        (
            ("UCBB1", "KLRate", "LPUCB"),
            ("UCBM1", "Fieller", "LPThompson", "OmegaUCB"),
            ("Thrifty", "Ration"),
            ("RoundRobin", "BTS"),
            ("UCBB2", "Frugal", "LPGreedy"),
            ("UCBB2C", "Wary", "FiellerKnown", "OmegaStarUCB"),
        )
    )
    for name in map(key_of, names)
}


def looks(labels: Sequence[str]) -> list[Look]:
    """The look of each policy: its own colour, or one that nobody in the figure has; a mark where two share one.

    >>> looks(["Thrifty", "RoundRobin"]) == looks(["RoundRobin", "Thrifty"])[::-1]
    True
    >>> looks(["mine", "UCB-B1", "KLRate"])
    [('#D55E00', ''), ('#0072B2', ''), ('#0072B2', 'o')]
    """
    chosen = [_OWN.get(key_of(label)) for label in labels]
    used = [index for index in chosen if index is not None]
    for position, index in enumerate(chosen):
        if index is None:
            chosen[position] = least = min(range(len(PALETTE)), key=lambda each: (used.count(each), each))
            used.append(least)
    met: list[int] = []
    found = []
    for index in chosen:
        colour = 0 if index is None else index
        found.append((PALETTE[colour], MARKS[met.count(colour) % len(MARKS)]))
        met.append(colour)
    return found
