"""How far an experiment is: a line for each cell that was played, or one bar over all cells on a terminal."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from outlay.experiments.setup.plan import Cell

Job = tuple[str, Cell]  # a label and what is played under it


class State(NamedTuple):
    """How far it is, for a bar."""

    words: str  # what is done now
    part: float  # of all pulls
    rate: float | None  # pulls a second, of the cell that is played
    left: float | None  # seconds


class Progress:
    """Counts the cells that are done; policies differ a thousandfold in speed, so each label has a pace of its own.

    Args:
        jobs: what is to be played.
        points: how many reports are to be drawn.
        say: is told a line for each job that is done, if given.
        show: is told the state, now and then, if given.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        points: int = 0,
        say: Callable[[str], None] | None = None,
        show: Callable[[State], None] | None = None,
    ) -> None:
        self.total, self.played, self.say, self.show = len(jobs), 0, say, show
        self._to_do = {cell.key: (label, cell) for label, cell in jobs}
        self._all_pulls = sum(cell.pulls for _, cell in jobs)
        self._seconds: dict[str, float] = defaultdict(float)
        self._pulls: dict[str, float] = defaultdict(float)
        self._now = 0.0, 0.0  # seconds and pulls of the cell that is played
        self._to_draw, self._drawing_seconds = points, list[float]()

    def expect(self, label: str, cell: Cell) -> None:
        """Count a cell that is to be played after all, where what was kept of it is damaged."""
        if cell.key not in self._to_do:
            self._to_do[cell.key] = label, cell
            self._all_pulls += cell.pulls
            self.total += 1

    def reporter(self, label: str, title: str, cell: Cell) -> Callable[[float], None]:
        """Whom to tell how much of a cell is done, from 0 to 1."""
        start, words = time.perf_counter(), _words(label, title)

        def told(part: float) -> None:
            if not self.show:
                return
            if part <= 0:
                self.show(State(words, self._part(0.0), None, self.left if self._pulls else None))
                return
            seconds, pulls = max(time.perf_counter() - start, 1e-9), part * cell.pulls
            self._now = seconds, pulls
            left = self.left - self._ahead(label, cell) + seconds * (1.0 / part - 1.0)
            self.show(State(words, self._part(pulls), pulls / seconds, left))

        told(0.0)
        return told

    def done(self, label: str, title: str, cell: Cell, seconds: float) -> None:
        """Count a cell, and say so."""
        self.played += 1
        self._now = 0.0, 0.0
        self._to_do.pop(cell.key, None)
        self._seconds[label] += seconds
        self._pulls[label] += cell.pulls
        if not self.say:
            return
        count = f"{self.total - len(self._to_do)}/{self.total}"
        rate = f"{compact(cell.pulls / max(seconds, 1e-9))} pulls/s"
        left = f", {duration(self.left)} left" if self._to_do else ""
        words = _words(label, title)
        self.say(f"{count:>{2 * len(str(self.total)) + 1}}  {words}: {seconds:.1f} s, {rate}{left}")

    @contextmanager
    def drawing(self, title: str) -> Iterator[None]:
        """While a report is drawn."""
        start = time.perf_counter()
        if self.show:
            self.show(State(_words("drawing", title), self._part(0.0), None, self.left))
        yield
        self._to_draw -= 1
        self._drawing_seconds.append(time.perf_counter() - start)

    @property
    def left(self) -> float:
        """The seconds that the rest will take: cells by the pace of their label, reports by those already drawn."""
        drawn = self._drawing_seconds
        drawing = self._to_draw * sum(drawn) / len(drawn) if drawn else 0.0
        return drawing + sum(self._ahead(label, cell) for label, cell in self._to_do.values())

    def _ahead(self, label: str, cell: Cell) -> float:
        """The seconds for a cell, by the pace of its label, or of all for one not yet seen."""
        if label in self._pulls:
            return cell.pulls * self._seconds[label] / self._pulls[label]
        seconds, pulls = self._now
        return cell.pulls * (seconds + sum(self._seconds.values())) / max(pulls + sum(self._pulls.values()), 1.0)

    def _part(self, pulls: float) -> float:
        """What is done of all, with so many pulls of the cell that is played."""
        to_do = sum(cell.pulls for _, cell in self._to_do.values())
        return min(1.0 - (to_do - pulls) / self._all_pulls, 1.0) if self._all_pulls else 1.0


@contextmanager
def bar() -> Iterator[Callable[[State], None]]:
    """One bar on stderr that is told the state; it is gone at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    console = Console(stderr=True)
    words = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1))
    facts = TextColumn("{task.fields[facts]}", markup=False, table_column=Column(no_wrap=True))
    shown = Bar(words, BarColumn(24), TaskProgressColumn(), facts, console=console, transient=True, expand=True)
    task = shown.add_task("", total=1.0, facts="")

    def show(state: State) -> None:
        rate = [] if state.rate is None else [f"{compact(state.rate)} pulls/s"]
        left = [] if state.left is None else [f"{duration(state.left)} left"]
        shown.update(task, completed=state.part, description=state.words, facts=", ".join(rate + left))

    with shown:
        yield show


def _words(label: str, title: str) -> str:
    return f"{label}, {title}" if title else label


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
