"""The progress of an experiment: one line per cell that was played, or one bar over all cells on a terminal."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from outlay.experiments.setup.plan import Cell
from outlay.text import duration, rounded

Job = tuple[str, Cell]  # a label and what is played under it


class BarState(NamedTuple):
    """What a bar shows."""

    words: str  # what is being done
    part: float  # of all pulls that is done
    rate: float | None  # pulls per second of the cell being played
    left: float | None  # seconds


class Progress:
    """Counts the cells that are done. Policies differ a thousandfold in speed, so each label has its own pace.

    Args:
        jobs: what is to be played.
        points: how many reports are to be drawn.
        say: called with one line per job that is done, if given.
        show: called with the state from time to time, if given.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        points: int = 0,
        say: Callable[[str], None] | None = None,
        show: Callable[[BarState], None] | None = None,
    ) -> None:
        self.total, self.played, self.say, self.show = len(jobs), 0, say, show
        self._to_do = {cell.key: (label, cell) for label, cell in jobs}
        self._all_pulls = sum(cell.pulls for _, cell in jobs)
        self._seconds: dict[str, float] = defaultdict(float)
        self._pulls: dict[str, float] = defaultdict(float)
        self._now = 0.0, 0.0  # seconds and pulls of the current cell
        self._to_draw, self._drawing_seconds = points, list[float]()

    def expect(self, label: str, cell: Cell) -> None:
        """Count a cell that has to be played after all, because its file is damaged."""
        if cell.key not in self._to_do:
            self._to_do[cell.key] = label, cell
            self._all_pulls += cell.pulls
            self.total += 1

    def reporter(self, label: str, title: str, cell: Cell) -> Callable[[float], None]:
        """A function to call with the part of a cell that is done, from 0 to 1."""
        start, words = time.perf_counter(), _words(label, title)

        def report(part: float) -> None:
            if not self.show:
                return
            if part <= 0:
                self.show(BarState(words, self._part(0.0), None, self.left if self._pulls else None))
                return
            seconds, pulls = max(time.perf_counter() - start, 1e-9), part * cell.pulls
            self._now = seconds, pulls
            left = self.left - self._ahead(label, cell) + seconds * (1.0 / part - 1.0)
            self.show(BarState(words, self._part(pulls), pulls / seconds, left))

        report(0.0)
        return report

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
        rate = f"{rounded(cell.pulls / max(seconds, 1e-9))} pulls/s"
        left = f", {duration(self.left)} left" if self._to_do else ""
        words = _words(label, title)
        self.say(f"{count:>{2 * len(str(self.total)) + 1}}  {words}: {seconds:.1f} s, {rate}{left}")

    @contextmanager
    def drawing(self, title: str) -> Iterator[None]:
        """While a report is drawn."""
        start = time.perf_counter()
        if self.show:
            self.show(BarState(_words("drawing", title), self._part(0.0), None, self.left))
        yield
        self._to_draw -= 1
        self._drawing_seconds.append(time.perf_counter() - start)

    @property
    def left(self) -> float:
        """The seconds that the rest will take: cells at the pace of their label, reports at the pace so far."""
        drawn = self._drawing_seconds
        drawing = self._to_draw * sum(drawn) / len(drawn) if drawn else 0.0
        return drawing + sum(self._ahead(label, cell) for label, cell in self._to_do.values())

    def _ahead(self, label: str, cell: Cell) -> float:
        """The seconds for a cell at the pace of its label, or at that of all labels where its own is not yet known."""
        if label in self._pulls:
            return cell.pulls * self._seconds[label] / self._pulls[label]
        seconds, pulls = self._now
        return cell.pulls * (seconds + sum(self._seconds.values())) / max(pulls + sum(self._pulls.values()), 1.0)

    def _part(self, pulls: float) -> float:
        """The part of the whole that is done, with so many pulls of the current cell."""
        to_do = sum(cell.pulls for _, cell in self._to_do.values())
        return min(1.0 - (to_do - pulls) / self._all_pulls, 1.0) if self._all_pulls else 1.0


@contextmanager
def bar() -> Iterator[Callable[[BarState], None]]:
    """One bar on stderr, as a function to call with its state; it disappears at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    console = Console(stderr=True)
    words = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1))
    facts = TextColumn("{task.fields[facts]}", markup=False, table_column=Column(no_wrap=True))
    shown = Bar(words, BarColumn(24), TaskProgressColumn(), facts, console=console, transient=True, expand=True)
    task = shown.add_task("", total=1.0, facts="")

    def show(state: BarState) -> None:
        rate = [] if state.rate is None else [f"{rounded(state.rate)} pulls/s"]
        left = [] if state.left is None else [f"{duration(state.left)} left"]
        shown.update(task, completed=state.part, description=state.words, facts=", ".join(rate + left))

    with shown:
        yield show


def _words(label: str, title: str) -> str:
    return f"{label}, {title}" if title else label
