"""`outlay bounds`: what the theory says about a problem, arm by arm, and as curves over the budget."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from outlay.cli.compare import complete_problems
from outlay.cli.shared import listing

if TYPE_CHECKING:
    from outlay.report.bounds import Constants

EXAMPLES = listing(
    "Examples:",
    "outlay bounds                          the built-in problem G at 100,000",
    "outlay bounds H --budget 1e4",
    "outlay bounds my-problem.toml --out build/bounds",
    "outlay bounds H --budget 250 --requests 1000",
)


@click.command(epilog=EXAMPLES)
@click.argument("problem", default="G", shell_complete=complete_problems)
@click.option("--budget", type=float, default=1e5, show_default="100000", help="The budget of the table.")
@click.option(
    "--constants",
    type=click.Choice(["both", "proved", "printed"]),
    default="both",
    show_default=True,
    help="Of the upper bounds: with a complete proof, or as the paper prints them.",
)
@click.option("--requests", type=float, help="How many requests the budget is to serve; without it, any number.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the curves: bounds.png, .svg, .pdf.")
def bounds(problem: str, budget: float, constants: "Constants", requests: float | None, out: Path | None) -> None:
    """Bound the regret on PROBLEM from below and above: a name from the catalogue or a TOML file.

    The lower bounds hold, as the budget grows, for every policy that learns; the upper bounds for the paper's policies,
    with constants that are proved beside those that the paper prints.
    With --requests: what the budget can bring if so many requests are to be served, the price of money, the worth of a
    request, and the lower bound.
    """
    from rich.console import Console

    from outlay import report
    from outlay.arms.catalogue import find

    arms = find(problem, "bounds")
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    if requests is not None:
        if out:
            raise click.UsageError("--out draws curves over budgets of any number of requests: leave out --requests")
        console.print(report.request_bounds_table(report.request_bounds(arms, budget, requests)))
        return
    console.print(report.bounds_table(report.problem_bounds(arms, budget, constants), console.width))
    if out:
        from outlay.checks import writing
        from outlay.report.style import save_figures

        page = report.bounds_figure(arms, budget, constants)
        column = report.bounds_figure(arms, budget, constants, width="column")
        with writing(out):
            out.mkdir(parents=True, exist_ok=True)
        for path in save_figures(page, column, out / "bounds"):
            click.echo(f"wrote {path}")
