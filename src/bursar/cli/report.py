"""`bursar report`: figures, tables and a page from a saved result."""

import sys
from pathlib import Path

import click

from bursar.cli.campaign.shared import listing

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
def report(result: Path, out: Path) -> None:
    """Write figures, tables and a page about RESULT, a Parquet file.

    It is what `bursar compare --save`, an experiment, or `Result.save` in Python has made.
    """
    from rich.console import Console

    from bursar.engine import load
    from bursar.report import curves, tables, write_report

    loaded = load(result)
    written = write_report(loaded, out)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    console.print(tables.regret_table(loaded))
    click.echo(tables.bound_sentence(curves.floor_of(loaded.problem)))
    for path in written:
        click.echo(f"wrote {path}")
