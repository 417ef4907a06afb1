"""`bursar compare`: play policies on a problem, print their regret, write a figure and a page."""

import sys
from pathlib import Path

import click


@click.command()
@click.argument("problem", default="G")
@click.option("--budget", type=float, default=1e5, show_default="100000", help="The largest budget; 25 are reported.")
@click.option("--runs", type=int, default=50, show_default=True, help="Independent runs of each policy.")
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same result.")
@click.option("--policy", "names", multiple=True, metavar="NAME", help="A policy to play, such as UCBB1; repeatable.")
@click.option("--workers", type=int, help="Threads; all cores if not given.")
@click.option(
    "--out", type=click.Path(path_type=Path), default="bursar-report", show_default=True, help="Folder of the report."
)
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE.parquet", help="Also save the result itself.")
@click.option("--list", "listing", is_flag=True, help="List the problems of the catalogue and stop.")
def compare(
    problem: str,
    budget: float,
    runs: int,
    seed: int,
    names: tuple[str, ...],
    workers: int | None,
    out: Path,
    save: Path | None,
    listing: bool,
) -> None:
    """Compare policies on PROBLEM: a name from the catalogue or a TOML file.

    Without --policy: those of the paper that the problem admits, the default policy, and Uniform.
    """
    if listing:
        _list()
        return
    from rich.console import Console

    from bursar.report import comparison, curves, tables

    result, written = comparison.compare(
        problem, names, budget=budget, runs=runs, seed=seed, workers=workers, out=out, save=save
    )
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    console.print(tables.regret_table(result))
    click.echo(tables.bound_sentence(curves.floor_of(result.problem)))
    for note in comparison.notes(result.problem, result.labels):
        click.echo(note)
    for path in written:
        click.echo(f"wrote {path}")


def _list() -> None:
    from bursar.arms import catalogue

    names = catalogue.names()
    width = max(map(len, names))
    for name in names:
        click.echo(f"{name:<{width}}  {catalogue.describe(name)}")
