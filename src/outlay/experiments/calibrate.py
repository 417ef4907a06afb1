"""How long an experiment will take: a few runs at a small budget for each kind of cell, scaled up by pulls."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from outlay.checks import checked_path
from outlay.engine.simulate import simulate
from outlay.experiments.play import check_memory, jobs, missing
from outlay.experiments.report.outputs import check_outputs
from outlay.experiments.setup.file import Experiment
from outlay.experiments.setup.plan import Cell, points_of

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

    Of cells that are alike (policy, laws, number of arms) the largest is measured. Compilation is not counted: the
    measurement has done it.
    """
    out, points = checked_path("estimate", folder), points_of(experiment)
    check_memory(experiment, points)
    check_outputs(experiment, points, out)
    every, absent = jobs(points), missing(points, out)
    pace: dict[object, Pace] = {}
    for _, cell in sorted(absent, key=lambda job: -job[1].pulls):
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

    The budget grows until a few runs last long enough, and then, if all of it does not, the number of runs: a moment's
    noise must not be taken for pulls. The last two measurements are two points of a line.
    """
    runs, scale = min(cell.runs, 4 * (workers or os.cpu_count() or 1)), _FIRST
    part = _part(cell, scale, runs)
    _timed(part, workers)  # compiles
    before, after = (0.0, 0.0), (_timed(part, workers), part.pulls)
    while after[0] < _LONG_ENOUGH and (scale < 1.0 or runs < cell.runs):
        if scale < 1.0:
            scale = min(1.0, scale * _GROWTH)
        else:
            runs = min(cell.runs, round(runs * _GROWTH))
        part = _part(cell, scale, runs)
        if part.pulls > after[1]:  # few requests may have been rounded to as many as before
            before, after = after, (_timed(part, workers), part.pulls)
    slope = (after[0] - before[0]) / (after[1] - before[1])
    return Pace(max(after[0] - slope * after[1], 0.0), slope) if slope > 0 else Pace(after[0], 0.0)


def _timed(part: Cell, workers: int | None) -> float:
    start = time.perf_counter()
    result = simulate(
        part.problem, part.policy, part.budgets, requests=part.requests, mode=part.mode, runs=part.runs,
        seed=part.seed, workers=workers, backend=part.backend, progress=False,
    )  # fmt: skip
    result.oracle_reward.mean()
    return time.perf_counter() - start


def _part(cell: Cell, scale: float, runs: int) -> Cell:
    """The cell with less budget and fewer requests, at least one; pairs that have become the same count once."""
    budgets = [scale * budget for budget in cell.budgets]
    if cell.requests is None:
        return replace(cell, budgets=tuple(budgets), runs=runs)
    counts = [max(1, round(scale * count)) for count in cell.requests]
    pairs = dict.fromkeys(zip(budgets, counts, strict=True))
    money, requests = zip(*pairs, strict=True)
    return replace(cell, budgets=money, requests=requests, runs=runs)


def _kind(cell: Cell) -> object:
    return cell.mode, type(cell.policy), frozenset(map(type, cell.problem.arms)), len(cell.problem)
