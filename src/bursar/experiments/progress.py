"""How far an experiment is: a line for each cell that was played, with its rate and the time left for all of them."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from bursar.experiments.plan import Cell

Job = tuple[str, Cell]  # a label and what is played under it


class Progress:
    """Counts the cells that are done; policies differ a thousandfold in speed, so each label has a pace of its own.

    Args:
        jobs: what is to be played.
        say: is told a line for each of them, if given.
    """

    def __init__(self, jobs: Sequence[Job], say: Callable[[str], None] | None = None) -> None:
        self.total, self.played, self.say = len(jobs), 0, say
        self._to_do = {cell.key: (label, cell) for label, cell in jobs}
        self._seconds: dict[str, float] = defaultdict(float)
        self._pulls: dict[str, float] = defaultdict(float)

    def done(self, label: str, title: str, cell: Cell, seconds: float) -> None:
        """Count a cell, and say so."""
        self.played += 1
        self._to_do.pop(cell.key, None)
        self._seconds[label] += seconds
        self._pulls[label] += cell.pulls
        if not self.say:
            return
        count = f"{self.total - len(self._to_do)}/{self.total}"
        rate = f"{compact(cell.pulls / max(seconds, 1e-9))} pulls/s"
        left = f", {duration(self.left)} left" if self._to_do else ""
        where = f", {title}" if title else ""
        self.say(f"{count:>{2 * len(str(self.total)) + 1}}  {label}{where}: {seconds:.1f} s, {rate}{left}")

    @property
    def left(self) -> float:
        """The seconds that the rest will take, by the pace of each label, or of all for one not yet seen."""
        overall = sum(self._seconds.values()) / max(sum(self._pulls.values()), 1.0)
        return sum(
            cell.pulls * (self._seconds[label] / self._pulls[label] if label in self._pulls else overall)
            for label, cell in self._to_do.values()
        )


def duration(seconds: float) -> str:
    """A time in words.

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


def compact(number: float) -> str:
    """A number in three digits.

    >>> compact(12_345_678.0), compact(950.0)
    ('12.3M', '950')
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"
