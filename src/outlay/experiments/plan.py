"""What an experiment plays: points and cells; results kept by what they depend on; how far the work is."""

import hashlib
import json
import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from outlay import __version__
from outlay.arms import Problem
from outlay.engine.limits import MODES, Mode, checked_limits, checked_world
from outlay.engine.task import Backend
from outlay.errors import BadFile, BadParameter, OutlayError
from outlay.experiments.file import Experiment, Values, moved
from outlay.policies.protocol import Policy, as_data, check_policy, wants_budget, wants_requests
from outlay.results import Result, load
from outlay.text import duration, rounded
from outlay.usercode import digests, own_classes

FOLDER = "cells"
_LONGEST_NAME = 255  # bytes: what file systems take
_LARGEST = 1e100  # mean of an arm, as in logs: sums over many pulls stay finite


@dataclass(frozen=True, eq=False)
class Cell:
    """One policy on one problem."""

    problem: Problem
    policy: Policy
    budgets: tuple[float, ...]
    runs: int
    seed: int
    backend: Backend
    requests: tuple[int, ...] | None = None
    mode: Mode = MODES[0]

    @cached_property
    def key(self) -> str:
        """The SHA-256 of what the result depends on; requests and the mode only where they are not as usual."""
        content = {
            "problem": self.problem.to_toml(),
            "policy": as_data(self.policy),
            "budgets": self.budgets,
            "runs": self.runs,
            "seed": self.seed,
            "random": "cuda" if self.backend == "cuda" else "numpy",
            "version": __version__,
        }
        if self.requests is not None:
            content["requests"] = self.requests
        if self.mode != MODES[0]:
            content["mode"] = self.mode
        if code := digests(self.policy, *{type(law): law for law in self.problem.laws}.values()):
            content["code"] = code
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=repr).encode()).hexdigest()

    @property
    def pulls(self) -> float:
        """About how many pulls the policy makes in all runs: as many as the best arm would, or requests.

        One run serves all budgets, except of a policy that looks at them: then it is a run for each.
        """
        costs = self.problem.mean_costs
        if self.requests is None:
            each = [budget / float(costs[self.problem.best]) for budget in self.budgets]
        else:
            cheapest = float(costs[costs > 0].min())
            each = [min(b / cheapest, float(n)) for b, n in zip(self.budgets, self.requests, strict=True)]
        alone = wants_budget(self.policy) or wants_requests(self.policy) or self.mode == "hard"
        return self.runs * (sum(each) if alone else max(each))


class SweepPoint(NamedTuple):
    """A combination of swept values: the problem there, and one cell per label."""

    values: Values
    problem: Problem
    cells: dict[str, Cell]

    @property
    def title(self) -> str:
        """The values in words; empty without a sweep."""
        return title_of(self.values)


def title_of(values: Values) -> str:
    """Swept values in words."""
    return ", ".join(f"{name} = {shown(value)}" for name, value in values.items())


def folder_of(values: Values) -> str:
    """Swept values as the name of a folder."""
    words = ",".join(f"{name}={shown(value)}" for name, value in values.items())
    return re.sub(r"[^\w.,=+-]", "_", words.replace("−", "-"))


def shown(value: object) -> str:
    """A swept value as text."""
    return value if isinstance(value, str) else f"{value:.12g}".replace("-", "−")


def points_of(experiment: Experiment) -> list[SweepPoint]:
    """All points of an experiment, the last sweep varying fastest; BadFile where one cannot be set up."""
    points = [
        _point(experiment, dict(zip((sweep.name for sweep in experiment.sweeps), values, strict=True)))
        for values in product(*(sweep.values for sweep in experiment.sweeps))
    ]
    folders = [folder_of(point.values) for point in points]
    for i, folder in enumerate(folders):
        if (length := len(os.fsencode(folder))) > _LONGEST_NAME:
            name = f"the name of the folder for {folder[:40]}… would have {length} bytes; {_LONGEST_NAME} are allowed"
            raise BadFile(f"{experiment.source}: {name}: give the sweep a shorter `name`, or shorter values")
        if folder in folders[:i]:
            other = points[folders.index(folder)]
            raise BadFile(f"{experiment.source}: {other.title} and {points[i].title} would share the folder {folder}")
    return points


def _point(experiment: Experiment, values: Values) -> SweepPoint:
    point = SweepPoint(values, experiment.problem, {})
    setup = experiment
    try:
        for sweep in experiment.sweeps:
            for target in sweep.over:
                setup = moved(setup, target, values[sweep.name])
        checked_limits("simulate", setup.budgets, None, setup.requests)
        problem = checked_world("simulate", setup.problem, setup.requests)
        for name, means in (("mean cost", problem.mean_costs), ("mean reward", problem.mean_rewards)):
            if (largest := float(np.abs(means).max())) > _LARGEST:
                raise BadParameter("an arm", name, f"within ±{_LARGEST:g}", largest)
        cells = {}
        for player in setup.players:
            policy = check_policy("simulate", "policies", player.on(setup.problem), len(setup.problem))
            cells[player.label] = Cell(
                setup.problem, policy, setup.budgets, experiment.runs, experiment.seed, experiment.backend,
                setup.requests, experiment.mode,
            )  # fmt: skip
    except OutlayError as error:
        raise BadFile(f"{experiment.source}: {error}" + (f" (at {point.title})" if values else "")) from None
    return point._replace(problem=setup.problem, cells=cells)


def path_of(folder: Path, cell: Cell) -> Path:
    """Where the result of a cell is kept."""
    return folder / FOLDER / f"{type(cell.policy).__name__}-{cell.key[:20]}.parquet"


def kept(folder: Path, cell: Cell) -> Result | None:
    """The result of a cell, or None where there is none that can be used: a damaged one is played again."""
    path = path_of(folder, cell)
    if not path.is_file():
        return None
    try:
        laws, players = own_classes(*cell.problem.laws), own_classes(cell.policy)
        result = load(path, laws=laws, policies=players)
    except BadFile:
        return None
    requests = None if result.requests is None else tuple(result.requests.tolist())
    told = (result.problem, [*result.policies.values()], result.budgets.tolist(), requests, result.mode, result.runs)
    asked = (cell.problem, [cell.policy], [*cell.budgets], cell.requests, cell.mode, cell.runs)
    return result if told == asked and (result.seed, result.version) == (cell.seed, __version__) else None


def combined(point: SweepPoint, results: dict[str, Result]) -> Result:
    """The results of a point's cells as one, exactly as if all policies had been played together.

    Run i draws from the same random stream whatever is played next to it, so nothing is lost by playing them apart.
    """
    parts = list(results.values())
    first = parts[0]
    if any(not np.array_equal(part.oracle_reward, first.oracle_reward) for part in parts):
        raise BadFile("results of one problem and seed differ in what the best arm earned: delete the cells")
    return Result(
        problem=point.problem,
        policies={label: point.cells[label].policy for label in results},
        budgets=first.budgets,
        seed=first.seed,
        pulls=np.concatenate([part.pulls for part in parts]),
        cost=np.concatenate([part.cost for part in parts]),
        reward=np.concatenate([part.reward for part in parts]),
        oracle_reward=first.oracle_reward,
        version=first.version,
        requests=first.requests,
        mode=first.mode,
        piece_pulls=np.concatenate([part.piece_pulls for part in parts]) if point.problem.later else None,
    )


Job = tuple[str, Cell]  # a label and what is played under it


class BarState(NamedTuple):
    """What a bar shows."""

    words: str  # what is being done
    part: float  # of all pulls that is done
    rate: float | None  # pulls per second of the cell being played
    left: float | None  # seconds


class Progress:
    """Counts the cells that are done. Policies differ a thousandfold in speed, so each label has its own pace."""

    def __init__(
        self,
        jobs: Sequence[Job],
        points: int = 0,  # for which reports are to be drawn
        say: Callable[[str], None] | None = None,  # called with one line per job that is done
        show: Callable[[BarState], None] | None = None,  # called from time to time
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
def progress_bar() -> Iterator[Callable[[BarState], None]]:
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
