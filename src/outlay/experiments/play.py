"""Play an experiment: kept results are read, missing ones are played and kept, and every point gets its report."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from outlay.checks import checked_path, made
from outlay.engine.simulate import simulate
from outlay.engine.task import check_room
from outlay.errors import BadParameter, OutlayError, require
from outlay.experiments import store
from outlay.experiments.progress import Job, Progress
from outlay.experiments.progress import bar as shown_bar
from outlay.experiments.report.outputs import check_outputs, write_point, write_sweep
from outlay.experiments.report.standings import Standing, standing
from outlay.experiments.report.summary import Row, rows_of
from outlay.experiments.setup.file import Experiment
from outlay.experiments.setup.plan import Cell, Point, points_of
from outlay.results import Result

Say = Callable[[str], None]


class Outcome(NamedTuple):
    """What came of an experiment."""

    rows: list[Row]  # the regret at the largest budget, one per point and policy
    files: list[Path]  # what was written: reports, tables, figures
    played: int  # cells
    reused: int  # cells that were there already
    result: Result | None  # of an experiment without a sweep

    @property
    def page(self) -> Path:
        """The page to open first: the sweep's, or the only report."""
        return next(path for path in reversed(self.files) if path.suffix == ".html")


def run(experiment: Experiment, folder: str | Path, say: Say | None = None, *, bar: bool = False) -> Outcome:
    """Play what is missing in `folder` and write the reports there.

    `say` is called with one line per cell played; `bar` shows one bar over all cells on stderr instead. Whatever ends
    it early, finished cells are kept, and the same call resumes from there; where none is finished, nothing is left
    behind.
    """
    require("experiments.run", "matplotlib", "jinja2", "pandas", "scipy")
    out, points = checked_path("run", folder), points_of(experiment)
    rows: list[Row] = []
    files: list[Path] = []
    standings: list[Standing] = []
    result = None
    with made(out), shown_bar() if bar else nullcontext() as show:
        progress = Progress(missing(points, out), len(points), None if bar else say, show)
        for point, result in _results(experiment, out, points, progress):
            rows += rows_of(point.values, result)
            standings.append(standing(point, result))
            with progress.drawing(point.title):
                files += write_point(experiment, point, result, out)
        if experiment.sweeps:
            result = None
            files += write_sweep(experiment, rows, standings, out)
    return Outcome(rows, files, progress.played, len(jobs(points)) - progress.played, result)


def results(experiment: Experiment, folder: str | Path) -> Iterator[tuple[Point, Result]]:
    """Each point with its result, played where `folder` does not hold it yet; no reports are written."""
    out, points = checked_path("results", folder), points_of(experiment)
    yield from _results(experiment, out, points, Progress(missing(points, out)))


def jobs(points: Sequence[Point]) -> list[Job]:
    """Every cell with its label, once: points share the cells that the sweep does not change."""
    found: dict[str, Job] = {}
    for point in points:
        for label, cell in point.cells.items():
            found.setdefault(cell.key, (label, cell))
    return list(found.values())


def missing(points: Sequence[Point], folder: Path) -> list[Job]:
    """The cells that `folder` does not hold, which are to be played."""
    return [(label, cell) for label, cell in jobs(points) if not store.path_of(folder, cell).exists()]


def _results(
    experiment: Experiment, folder: Path, points: Sequence[Point], progress: Progress
) -> Iterator[tuple[Point, Result]]:
    check_memory(experiment, points)
    check_outputs(experiment, points, folder)
    with made(folder / store.FOLDER):
        for point in points:
            yield point, store.combined(point, _cells(experiment, folder, point, progress))


def _cells(experiment: Experiment, folder: Path, point: Point, progress: Progress) -> dict[str, Result]:
    """The result of each cell of a point, kept or played now."""
    found = {}
    for label, cell in point.cells.items():
        result = store.kept(folder, cell)
        if result is None:
            progress.expect(label, cell)
            start = time.perf_counter()
            result = _played(experiment, cell, label, point, progress.reporter(label, point.title, cell))
            store.keep(folder, cell, result)
            progress.done(label, point.title, cell, time.perf_counter() - start)
        found[label] = result
    return found


def check_memory(experiment: Experiment, points: Sequence[Point]) -> None:
    """Refuse, before the work, results that do not fit into memory: all pulls of the largest point."""
    arms, policies = max(len(point.problem) for point in points), len(experiment.players) + 1  # and the oracle
    owner = f"[experiment] in {experiment.source}"
    check_room(owner, policies, experiment.runs, len(experiment.budgets), arms)


def _played(experiment: Experiment, cell: Cell, label: str, point: Point, report: Callable[[float], None]) -> Result:
    try:
        return simulate(
            cell.problem,
            {label: cell.policy},
            cell.budgets,
            requests=cell.requests,
            mode=cell.mode,
            runs=cell.runs,
            seed=cell.seed,
            workers=experiment.workers,
            backend=cell.backend,
            max_pulls=experiment.max_pulls,
            progress=report,
        )
    except BadParameter as error:  # simulate's arguments come from the file
        raise BadParameter(f"[experiment] in {experiment.source}", error.name, error.allowed, error.got) from error
    except OutlayError as error:
        where = f"{label} at {point.title}" if point.title else label
        raise OutlayError(f"{where}: {error}") from error
