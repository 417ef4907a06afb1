"""What an experiment leaves in its folder: a report for each point, and a sweep's table and figure."""

from pathlib import Path

from bursar.engine.result import Result, load
from bursar.errors import BadFile
from bursar.experiments.file import Experiment
from bursar.experiments.plan import Point
from bursar.experiments.summary import Row, as_csv, cells_of, headings_of
from bursar.experiments.tables import latex, markdown, text
from bursar.files import writing
from bursar.report.write import report_files, write_report


def write_point(point: Point, result: Result, folder: Path) -> list[Path]:
    """The report and then the result: in the folder itself, or in one named after the swept values; the paths.

    A report takes seconds to draw, so one that is there and is about the same result stays.
    """
    place = folder / point.folder if point.values else folder
    saved = place / "result.parquet"
    files = [saved, *report_files(place)]
    if all(path.exists() for path in files) and _holds(saved, result):
        return files
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)
        saved.unlink(missing_ok=True)
    write_report(result, place)
    result.save(saved)
    return files


def _holds(path: Path, result: Result) -> bool:
    try:
        return load(path) == result
    except BadFile:
        return False


def sweep_title(experiment: Experiment, rows: list[Row]) -> str:
    """What the table of a sweep shows, in a line."""
    runs = f"{experiment.runs} run{'s' * (experiment.runs > 1)}"
    return f"{experiment.title}: regret at budget {rows[0].budget:,g}, {runs}, seed {experiment.seed}"


def write_sweep(experiment: Experiment, rows: list[Row], folder: Path) -> list[Path]:
    """The regret at the largest budget over all points, as a table in four forms and as a figure in three; the paths.

    The PDF is for a column of a two-column paper; the other figures are for a page.
    """
    from bursar.experiments.chart import sweep_chart
    from bursar.experiments.figure import sweep_figure
    from bursar.report.figures import save_figure

    table = sweep_title(experiment, rows), headings_of(rows), cells_of(rows)
    texts = {"txt": text(*table), "md": markdown(*table), "csv": as_csv(rows), "tex": latex(*table)}
    for ending, content in texts.items():
        path = folder / f"sweep.{ending}"
        with writing(path):
            path.write_text(content, encoding="utf-8", newline="\n")
    chart = sweep_chart(experiment.sweeps, rows, experiment.runs)
    page, column = sweep_figure(chart), sweep_figure(chart, "column")
    for ending, figure in {"png": page, "svg": page, "pdf": column}.items():
        save_figure(figure, folder / f"sweep.{ending}")
    return [folder / f"sweep.{ending}" for ending in (*texts, "png", "svg", "pdf")]
