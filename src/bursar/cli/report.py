"""`bursar report`: figures, tables and a page from a saved result."""

from pathlib import Path

import click

from bursar.cli.shared import listing, say_written

FILES = listing(
    "Files:",
    "report.html                          one page, to be opened in a browser",
    "table.txt .md .csv .tex              the regret table",
    "regret, distribution, pulls, reward  figures: .png and .svg for a page,",
    "                                     .pdf for a column of a paper",
)
EXAMPLES = listing("Examples:", "bursar compare G --save g.parquet", "bursar report g.parquet --out figures")


@click.command(epilog=f"{FILES}\n\n{EXAMPLES}")
@click.argument("result", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), default="bursar-report", show_default=True, help="Folder of the report."
)
@click.option("--title", help="What heads the page and the tables.")
def report(result: Path, out: Path, title: str | None) -> None:
    """Write figures, tables and a page about RESULT, a Parquet file.

    It is what `bursar compare --save`, an experiment, or `Result.save` in Python has made.
    """
    from bursar.cli.experiment import show_result
    from bursar.engine import load
    from bursar.report import write_report

    loaded = load(result)
    written = write_report(loaded, out, title)
    show_result(loaded, title)
    say_written(written[0], written)
