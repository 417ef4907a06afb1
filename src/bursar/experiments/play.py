"""Play an experiment: what is kept is read, what is missing is played and kept, and every point gets its report."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bursar.engine import simulate
from bursar.engine.result import Result
from bursar.errors import BursarError
from bursar.experiments import store
from bursar.experiments.file import Experiment
from bursar.experiments.outputs import write_point, write_sweep
from bursar.experiments.plan import Cell, Point, points_of
from bursar.experiments.progress import Job, Progress
from bursar.experiments.summary import Row, rows_of
from bursar.files import place, writing

Say = Callable[[str], None]


class Outcome(NamedTuple):
    """What came of an experiment."""

    rows: list[Row]  # the regret at the largest budget, one a point and policy
    files: list[Path]  # that were written: reports, tables, figures
    played: int  # cells
    reused: int  # cells that were there
    result: Result | None  # of an experiment without a sweep


def run(experiment: Experiment, folder: str | Path, say: Say | None = None) -> Outcome:
    """Play what is missing in `folder` and write the reports there; `say` is told a line for each cell played.

    Whatever ends it early, the cells that are done are kept, and the same call goes on from there.
    """
    out, points = place("run", folder), points_of(experiment)
    progress = Progress(missing(points, out), say)
    rows: list[Row] = []
    files: list[Path] = []
    result = None
    for point, result in _results(experiment, out, points, progress):
        rows += rows_of(point, result)
        files += write_point(point, result, out)
    if experiment.sweeps:
        result = None
        files += write_sweep(experiment, rows, out)
    return Outcome(rows, files, progress.played, len(jobs(points)) - progress.played, result)


def results(experiment: Experiment, folder: str | Path) -> Iterator[tuple[Point, Result]]:
    """Each point with its result, played where `folder` does not hold it yet; no reports."""
    out, points = place("results", folder), points_of(experiment)
    yield from _results(experiment, out, points, Progress(missing(points, out)))


def jobs(points: Sequence[Point]) -> list[Job]:
    """Every cell with its label, once: points share those that the sweep leaves alone."""
    found: dict[str, Job] = {}
    for point in points:
        for label, cell in point.cells.items():
            found.setdefault(cell.key, (label, cell))
    return list(found.values())


def missing(points: Sequence[Point], folder: Path) -> list[Job]:
    """What is to be played: the cells that `folder` does not hold."""
    return [(label, cell) for label, cell in jobs(points) if not store.path_of(folder, cell).exists()]


def _results(
    experiment: Experiment, folder: Path, points: Sequence[Point], progress: Progress
) -> Iterator[tuple[Point, Result]]:
    with writing(folder):
        (folder / store.FOLDER).mkdir(parents=True, exist_ok=True)
    for point in points:
        found = {}
        for label, cell in point.cells.items():
            result = store.kept(folder, cell)
            if result is None:
                start = time.perf_counter()
                result = _played(experiment, cell, label, point, None if progress.say else False)
                store.keep(folder, cell, result)
                progress.done(label, point.title, cell, time.perf_counter() - start)
            found[label] = result
        yield point, store.combined(point, found)


def _played(experiment: Experiment, cell: Cell, label: str, point: Point, bar: bool | None) -> Result:
    try:
        return simulate(
            cell.problem,
            {label: cell.policy},
            cell.budgets,
            runs=cell.runs,
            seed=cell.seed,
            workers=experiment.workers,
            backend=cell.backend,
            max_pulls=experiment.max_pulls,
            progress=bar,
        )
    except BursarError as error:
        where = f"{label} at {point.title}" if point.title else label
        raise BursarError(f"{where}: {error}") from error
