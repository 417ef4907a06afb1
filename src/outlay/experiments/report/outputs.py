"""What an experiment leaves in its folder: a report for each point, and a sweep's page, table and figure."""

from collections.abc import Sequence
from pathlib import Path

from outlay.errors import BadFile
from outlay.experiments.report.summary import Row, as_csv, cells_of, headings_of
from outlay.experiments.report.tables import latex, markdown, text
from outlay.experiments.report.verdict import Standing
from outlay.experiments.setup.file import Experiment
from outlay.experiments.setup.plan import Point
from outlay.files import check_writable, writing
from outlay.report.folders import check_folder
from outlay.report.tables.formats import table
from outlay.report.tables.regret import headed
from outlay.report.write import report_files, write_report
from outlay.results.result import Result, load

_SWEEP = ("html", "txt", "md", "csv", "tex", "png", "svg", "pdf")


def check_places(experiment: Experiment, points: Sequence[Point], folder: Path) -> None:
    """BadFile where something cannot be written, as far as can be told before the work."""
    places = [path for point in points for path in _files(point, folder)]
    places += [folder / f"sweep.{ending}" for ending in _SWEEP] if experiment.sweeps else []
    for parent in dict.fromkeys([folder, *(path.parent for path in places)]):
        check_folder(parent)
    for path in places:
        if path.parent.exists():
            check_writable(path)


def write_point(experiment: Experiment, point: Point, result: Result, folder: Path) -> list[Path]:
    """The report and then the result: in the folder itself, or in one named after the swept values; the paths.

    A report takes seconds to draw, so one stays whose files are all there, that is about the same result and says the
    same in its table, title and all.
    """
    saved, *reports = files = _files(point, folder)
    title = f"{experiment.title}, {point.title}" if point.title else experiment.title
    if all(path.exists() for path in files) and _stands(saved, result, title):
        return files
    with writing(saved):
        saved.unlink(missing_ok=True)  # what is interrupted from here on is drawn again
    write_report(result, saved.parent, title)
    result.save(saved)
    return [saved, *reports]


def _files(point: Point, folder: Path) -> list[Path]:
    place = folder / point.folder if point.values else folder
    return [place / "result.parquet", *report_files(place)]


def _stands(saved: Path, result: Result, title: str) -> bool:
    try:
        said = saved.with_name("table.md").read_text(encoding="utf-8")
        return load(saved) == result and said == table(result, "markdown", title=title)
    except (BadFile, OSError, UnicodeDecodeError):
        return False


def sweep_title(experiment: Experiment, rows: list[Row]) -> str:
    """What the table of a sweep shows, in a line."""
    return headed(experiment.title, rows[0].budget, experiment.runs, experiment.seed)


def write_sweep(experiment: Experiment, rows: list[Row], standings: list[Standing], folder: Path) -> list[Path]:
    """The regret at the largest budget over all points: a page, a table in four forms, a figure in three; the paths.

    The PDF is for a column of a two-column paper; the other figures are for a page.
    """
    from outlay.experiments.report.chart import sweep_chart
    from outlay.experiments.report.figure import sweep_figure
    from outlay.experiments.report.page import page_text
    from outlay.report.figures import save_figure, svg_text

    table = sweep_title(experiment, rows), headings_of(rows), cells_of(rows)
    chart = sweep_chart(experiment.sweeps, rows, experiment.runs)
    page, column = sweep_figure(chart), sweep_figure(chart, "column")
    texts = {
        "html": page_text(experiment, standings, table, chart, (svg_text(page), svg_text(column))),
        "txt": text(*table),
        "md": markdown(*table),
        "csv": as_csv(rows),
        "tex": latex(*table, key=len(experiment.sweeps)),
    }
    for ending, content in texts.items():
        path = folder / f"sweep.{ending}"
        with writing(path):
            path.write_text(content, encoding="utf-8", newline="\n")
    for ending, figure in {"png": page, "svg": page, "pdf": column}.items():
        save_figure(figure, folder / f"sweep.{ending}")
    return [folder / f"sweep.{ending}" for ending in _SWEEP]
