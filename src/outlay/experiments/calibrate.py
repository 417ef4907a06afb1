"""How long an experiment will take: a few runs at a small budget for each kind of cell, scaled up by pulls."""

import os
import time
from pathlib import Path
from typing import NamedTuple

from outlay.engine import simulate
from outlay.experiments.play import check_memory, jobs, missing
from outlay.experiments.report.outputs import check_outputs
from outlay.experiments.setup.file import Experiment
from outlay.experiments.setup.plan import Cell, points_of
from outlay.files import checked_path

_LONG_ENOUGH = 0.3  # seconds that make a measurement
_FIRST = 1e-3  # of the budget
_GROWTH = 4.0


class Share(NamedTuple):
    """The cells of one label: how many there are, how many are still to be played, with how many pulls and seconds."""

    label: str
    cells: int
    missing: int
    pulls: float
    seconds: float


class Pace(NamedTuple):
    """The seconds that a cell takes: a fixed part, and so much per pull."""

    start: float
    pull: float

    def seconds(self, cell: Cell) -> float:
        """How long all of the cell takes."""
        return self.start + self.pull * cell.pulls


def estimate(experiment: Experiment, folder: str | Path) -> list[Share]:
    """Per label, what `folder` does not hold yet, and about how long it takes to play.

    Cells that are alike (policy, laws, number of arms) are measured once. Compilation is not counted: the measurement
    has done it.
    """
    out, points = checked_path("estimate", folder), points_of(experiment)
    check_memory(experiment, points)
    check_outputs(experiment, points, out)
    every, absent = jobs(points), missing(points, out)
    pace: dict[object, Pace] = {}
    for _, cell in absent:
        if _kind(cell) not in pace:
            pace[_kind(cell)] = measure(cell, experiment.workers)
    shares = []
    for label in dict.fromkeys(label for label, _ in every):
        to_do = [cell for name, cell in absent if name == label]
        count = sum(name == label for name, _ in every)
        pulls, seconds = (cell.pulls for cell in to_do), (pace[_kind(cell)].seconds(cell) for cell in to_do)
        shares.append(Share(label, count, len(to_do), sum(pulls), sum(seconds)))
    return shares


def measure(cell: Cell, workers: int | None) -> Pace:
    """How long such a cell takes on this machine, by `Cell.pulls`; with the oracle, which keeping the result plays.

    The budget grows until a few runs last long enough; the last two measurements are two points of a line.
    """
    runs = min(cell.runs, 4 * (workers or os.cpu_count() or 1))
    pulls = cell.pulls * runs / cell.runs
    scale = _FIRST
    _timed(cell, scale, runs, workers)  # compiles
    before, after = (0.0, 0.0), (_timed(cell, scale, runs, workers), pulls * scale)
    while after[0] < _LONG_ENOUGH and scale < 1.0:
        scale = min(1.0, scale * _GROWTH)
        before, after = after, (_timed(cell, scale, runs, workers), pulls * scale)
    slope = (after[0] - before[0]) / (after[1] - before[1])
    return Pace(max(after[0] - slope * after[1], 0.0), slope) if slope > 0 else Pace(0.0, after[0] / after[1])


def _timed(cell: Cell, scale: float, runs: int, workers: int | None) -> float:
    budgets, requests = _scaled(cell, scale)
    start = time.perf_counter()
    result = simulate(
        cell.problem, cell.policy, budgets, requests=requests, mode=cell.mode, runs=runs, seed=cell.seed,
        workers=workers, backend=cell.backend, progress=False,
    )  # fmt: skip
    result.oracle_reward.mean()
    return time.perf_counter() - start


def _scaled(cell: Cell, scale: float) -> tuple[list[float], list[int] | None]:
    """Less budget and fewer requests, at least one; pairs that have become the same count once."""
    budgets = [scale * budget for budget in cell.budgets]
    if cell.requests is None:
        return budgets, None
    counts = [max(1, round(scale * count)) for count in cell.requests]
    pairs = list(dict.fromkeys(zip(budgets, counts, strict=True)))
    return [budget for budget, _ in pairs], [count for _, count in pairs]


def _kind(cell: Cell) -> object:
    return cell.mode, type(cell.policy), frozenset(map(type, cell.problem.arms)), len(cell.problem)
