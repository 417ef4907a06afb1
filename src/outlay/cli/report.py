"""`outlay report`: figures, tables and a page from a saved result."""

from pathlib import Path

import click

from outlay.cli.shared import listing, say_written

FILES = listing(
    "Files:",
    "report.html                          one page, to be opened in a browser",
    "table.txt .md .csv .tex              the regret table",
    "regret, distribution, pulls, reward  figures: .png and .svg for a page,",
    "                                     .pdf for a column of a paper",
)
EXAMPLES = listing("Examples:", "outlay compare G --save g.parquet", "outlay report g.parquet --out figures")


@click.command(epilog=f"{FILES}\n\n{EXAMPLES}")
@click.argument("result", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), default="outlay-report", show_default=True, help="Folder for the report."
)
@click.option("--title", help="Title of the page and the tables.")
def report(result: Path, out: Path, title: str | None) -> None:
    """Write figures, tables and a page about RESULT, a Parquet file.

    RESULT is written by `outlay compare --save`, by an experiment, or by `Result.save` in Python.
    """
    from outlay.cli.experiment import show_result
    from outlay.report import write_report
    from outlay.results import load

    loaded = load(result)
    written = write_report(loaded, out, title)
    show_result(loaded, title)
    say_written(written[0], written)
