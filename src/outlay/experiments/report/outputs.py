"""What an experiment leaves in its folder: a report for each point, and a sweep's page, table and figure."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from outlay.checks import check_folder, check_writable, writing
from outlay.errors import BadFile
from outlay.experiments.report.standings import Standing
from outlay.experiments.report.summary import Row, as_csv, cells_of, headings_of, where, winners_of
from outlay.experiments.setup.file import Experiment, printable
from outlay.experiments.setup.plan import Point
from outlay.own.code import own_classes
from outlay.report.contents import report_files
from outlay.report.regret import headed, table
from outlay.report.write import write_report
from outlay.results import Result, beside, load
from outlay.tables import Table

_SWEEP = ("html", "txt", "md", "csv", "tex", "png", "svg", "pdf")


def check_outputs(experiment: Experiment, points: Sequence[Point], folder: Path) -> None:
    """Raise BadFile where something cannot be written, as far as can be told before the work."""
    paths = [path for point in points for path in _files(point, folder)]
    paths += [folder / f"sweep.{ending}" for ending in _SWEEP] if experiment.sweeps else []
    for parent in dict.fromkeys([folder, *(path.parent for path in paths)]):
        check_folder(parent)
    for path in paths:
        if path.parent.exists():
            check_writable(path)


def write_point(experiment: Experiment, point: Point, result: Result, folder: Path) -> list[Path]:
    """Write the report and then the result, into the folder itself or one named after the swept values; the paths.

    A report takes seconds to draw, so it is kept where all its files are there, it is about the same result, and its
    table is the same, title included.
    """
    saved, *reports = files = _files(point, folder)
    title = f"{experiment.title}, {point.title}" if point.title else experiment.title
    if all(path.exists() for path in files) and _stands(saved, result, title):
        return files
    with writing(saved):
        saved.unlink(missing_ok=True)  # what is interrupted from here on is drawn again
    command = f"outlay compare {shlex.quote(printable(experiment.source.name))} --out FOLDER"
    write_report(result, saved.parent, title, command=command)
    result.save(saved)
    return [saved, *reports]


def _files(point: Point, folder: Path) -> list[Path]:
    """The files of a point: its result, then its report."""
    home = folder / point.folder if point.values else folder
    return [home / "result.parquet", *report_files(home)]


def _stands(saved: Path, result: Result, title: str) -> bool:
    """Whether the report beside `saved` is about this result and has this title."""
    try:
        said = saved.with_name("table.md").read_text(encoding="utf-8")
        laws, players = own_classes(*result.problem.arms), own_classes(*result.policies.values())
        kept = load(saved, laws=laws, policies=players)
        return kept == result and said == table(result, "markdown", title=title)
    except (BadFile, OSError, UnicodeDecodeError):
        return False


def sweep_table(experiment: Experiment, rows: list[Row]) -> Table:
    """The table of a sweep: a line for each point."""
    title = headed(experiment.title, where(rows) + beside(experiment.mode), experiment.runs, experiment.seed)
    return Table(headings_of(rows), cells_of(rows), title, texts=())


def write_sweep(experiment: Experiment, rows: list[Row], standings: list[Standing], folder: Path) -> list[Path]:
    """Write the regret at the largest budget over all points and return the paths: page, table, figure.

    The table comes in four formats and the figure in three; the PDF is for a column of a two-column paper.
    """
    from outlay.experiments.report.chart import sweep_chart
    from outlay.experiments.report.figure import sweep_figure
    from outlay.experiments.report.page import page_text
    from outlay.report.figures import save_figure, svg_text

    table = sweep_table(experiment, rows)
    chart = sweep_chart(experiment.sweeps, rows, experiment.runs)
    page, column = sweep_figure(chart), sweep_figure(chart, "column", title=False)
    texts = {
        "html": page_text(experiment, standings, table, chart, (svg_text(page), svg_text(column))),
        "txt": table.terminal(10_000),
        "md": table.markdown(),
        "csv": as_csv(rows),
        "tex": table.latex(f"sweep-{experiment.title}", winners_of(rows)),
    }
    for ending, content in texts.items():
        path = folder / f"sweep.{ending}"
        with writing(path):
            path.write_text(content, encoding="utf-8", newline="\n")
    for ending, figure in {"png": page, "svg": page, "pdf": column}.items():
        save_figure(figure, folder / f"sweep.{ending}")
    return [folder / f"sweep.{ending}" for ending in _SWEEP]
