"""Play what is missing of an experiment, or say how long it will take; compare policies on a problem."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from outlay.arms import catalogue
from outlay.checks import check_writable, checked_path, made, writing
from outlay.engine.limits import Mode
from outlay.engine.simulate import simulate
from outlay.engine.task import room_for
from outlay.errors import BadParameter, OutlayError, require
from outlay.experiments import plan
from outlay.experiments.file import Experiment
from outlay.problem_policies import named_policies, usual_policies
from outlay.results import Result

if TYPE_CHECKING:
    from outlay.experiments.report import PointRanking, Row

Say = Callable[[str], None]
_LONG_ENOUGH = 0.3  # seconds that make a measurement
_FIRST = 1e-3  # of the budget
_GROWTH = 4.0


class Outcome(NamedTuple):
    """What came of an experiment."""

    rows: "list[Row]"  # the regret at the largest budget, one per point and policy
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
    from outlay.experiments.report import check_outputs, point_ranking, rows_of, write_point, write_sweep

    out, points = checked_path("run", folder), plan.points_of(experiment)
    check_memory(experiment, points)
    check_outputs(experiment, points, out)
    rows, files, rankings = list["Row"](), list[Path](), list["PointRanking"]()
    result = None
    with made(out), plan.progress_bar() if bar else nullcontext() as show:
        progress = plan.Progress(missing(points, out), len(points), None if bar else say, show)
        for point, result in _results(experiment, out, points, progress):
            rows += rows_of(point.values, result)
            rankings.append(point_ranking(point, result))
            with progress.drawing(point.title):
                files += write_point(experiment, point, result, out)
        if experiment.sweeps:
            result = None
            files += write_sweep(experiment, rows, rankings, out)
    return Outcome(rows, files, progress.played, len(jobs(points)) - progress.played, result)


def results(experiment: Experiment, folder: str | Path) -> Iterator[tuple[plan.SweepPoint, Result]]:
    """Each point with its result, played where `folder` does not hold it yet; no reports are written."""
    out, points = checked_path("results", folder), plan.points_of(experiment)
    yield from _results(experiment, out, points, plan.Progress(missing(points, out)))


def jobs(points: Sequence[plan.SweepPoint]) -> list[plan.Job]:
    """Every cell with its label, once: points share the cells that the sweep does not change."""
    found: dict[str, plan.Job] = {}
    for point in points:
        for label, cell in point.cells.items():
            found.setdefault(cell.key, (label, cell))
    return list(found.values())


def missing(points: Sequence[plan.SweepPoint], folder: Path) -> list[plan.Job]:
    """The cells that `folder` does not hold, which are to be played."""
    return [(label, cell) for label, cell in jobs(points) if not plan.path_of(folder, cell).exists()]


def _results(
    experiment: Experiment, folder: Path, points: Sequence[plan.SweepPoint], progress: plan.Progress
) -> Iterator[tuple[plan.SweepPoint, Result]]:
    check_memory(experiment, points)
    with made(folder / plan.FOLDER):
        for point in points:
            found = {}
            for label, cell in point.cells.items():
                result = plan.kept(folder, cell)
                if result is None:
                    progress.expect(label, cell)
                    start = time.perf_counter()
                    result = _played(experiment, cell, label, point, progress.reporter(label, point.title, cell))
                    result.save(plan.path_of(folder, cell))
                    progress.done(label, point.title, cell, time.perf_counter() - start)
                found[label] = result
            yield point, plan.combined(point, found)


def check_memory(experiment: Experiment, points: Sequence[plan.SweepPoint]) -> None:
    """Refuse, before the work, results that do not fit into memory: all pulls of the largest point."""
    arms, policies = max(len(point.problem) for point in points), len(experiment.players) + 1  # and the oracle
    room_for(f"[experiment] in {experiment.source}", policies, experiment.runs, len(experiment.budgets), arms)


def _played(
    experiment: Experiment, cell: plan.Cell, label: str, point: plan.SweepPoint, report: Callable[[float], None]
) -> Result:
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


class PlayEstimate(NamedTuple):
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


def estimate(experiment: Experiment, folder: str | Path) -> list[PlayEstimate]:
    """Per label, what `folder` does not hold yet, and about how long it takes to play.

    Of cells that are alike (policy, laws, number of arms) the largest is measured. Compilation is not counted: the
    measurement has done it.
    """
    from outlay.experiments.report import check_outputs

    out, points = checked_path("estimate", folder), plan.points_of(experiment)
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
        paces = [(pace[_kind(cell)], cell.pulls) for cell in to_do]
        seconds = sum(each.start + each.pull * pulls for each, pulls in paces)
        shares.append(PlayEstimate(label, count, len(to_do), sum(pulls for _, pulls in paces), seconds))
    return shares


def measure(cell: plan.Cell, workers: int | None) -> Pace:
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


def _timed(part: plan.Cell, workers: int | None) -> float:
    start = time.perf_counter()
    result = simulate(
        part.problem, part.policy, part.budgets, requests=part.requests, mode=part.mode, runs=part.runs,
        seed=part.seed, workers=workers, backend=part.backend, progress=False,
    )  # fmt: skip
    result.oracle_reward.mean()
    return time.perf_counter() - start


def _part(cell: plan.Cell, scale: float, runs: int) -> plan.Cell:
    """The cell with less budget and fewer requests, at least one; pairs that have become the same count once."""
    budgets = [scale * budget for budget in cell.budgets]
    if cell.requests is None:
        return replace(cell, budgets=tuple(budgets), runs=runs)
    counts = [max(1, round(scale * count)) for count in cell.requests]
    pairs = dict.fromkeys(zip(budgets, counts, strict=True))
    money, requests = zip(*pairs, strict=True)
    return replace(cell, budgets=money, requests=requests, runs=runs)


def _kind(cell: plan.Cell) -> object:
    return cell.mode, type(cell.policy), frozenset(map(type, cell.problem.arms)), len(cell.problem)


def compare(
    problem: str,
    names: Sequence[str] = (),
    *,
    budget: float,
    requests: int | None = None,
    mode: Mode = "until_exceeded",
    runs: int,
    seed: int = 0,
    workers: int | None = None,
    out: Path,
    save: Path | None = None,
) -> tuple[Result, list[Path]]:
    """Play the policies called `names` (or the usual ones) on a problem and write the report: the result, the files.

    `save` ends in .parquet, for the result itself, or in .csv, for a row per policy, run and budget. A file that cannot
    be written is found before the work begins, and what fails leaves no folder behind.
    """
    require("compare", "matplotlib", "jinja2", "pandas", "scipy")
    from outlay.report.page import report_files, write_report

    if save is not None and save.suffix not in (".parquet", ".csv"):
        raise BadParameter("compare", "save", "a file that ends in .parquet or .csv", str(save))
    arms = catalogue.find(problem)
    chosen = named_policies(arms, names) if names else usual_policies(arms, requests is not None)
    with made(out):
        for path in (*report_files(out), *([save] if save else [])):
            check_writable(path)
        result = simulate(
            arms, chosen, budget=budget, requests=requests, mode=mode, runs=runs, seed=seed, workers=workers
        )
        written = write_report(result, out)
    if save:
        if save.suffix == ".csv":
            with writing(save):
                result.frame().to_csv(save, index=False)
        else:
            result.save(save)
        written.append(save)
    return result, written
