"""`outlay advise | bounds | report | policies | problems`: what to run, what theory says, what can be named."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from outlay.cli.compare import complete_problems, show_result
from outlay.cli.options import console, in_threads, into_folder, listing, say_written, show

if TYPE_CHECKING:
    from outlay.report.bounds import Constants

ADVISE = listing(
    "Examples:",
    "outlay advise log.csv --budget 10000",
    "outlay advise calls.parquet --budget 500 --arm model --cost usd --reward solved --out advice",
    "outlay advise calls.jsonl --budget 500 --requests 10000 --time created_at",
    "outlay advise calls.csv --budget 500 --context topic,length --chance p",
    "outlay advise log.csv.gz --budget 1e4 --json | jq .answer",
)
BOUNDS = listing(
    "Examples:",
    "outlay bounds                          the built-in problem G at 100,000",
    "outlay bounds H --budget 1e4",
    "outlay bounds my-problem.toml --out build/bounds",
    "outlay bounds H --budget 250 --requests 1000",
)
REPORT = listing(
    "Files:",
    "report.html                          one page, to be opened in a browser",
    "table.txt .md .csv .tex              the regret table",
    "regret, distribution, pulls, reward  figures: .png and .svg for a page,",
    "                                     .pdf for a column of a paper",
)
REPORTED = listing("Examples:", "outlay compare G --save g.parquet", "outlay report g.parquet --out figures")
# What a policy may be told, by the parameters for it.
TOLD = {
    "budget": "budget",
    "requests": "requests",
    "var_cost": "variances",
    "costs": "mean costs",
    "cost_bound": "bounds",
    "reward_bound": "bounds",
    "min_cost": "least mean cost",
    "cost_moment": "moments",
    "bound": "bounds",
    "arm": "which arm",
}


@click.command(epilog=ADVISE)
@click.argument("log", type=click.Path())
@click.option("--budget", type=float, required=True, help="How much to spend, in the unit of the costs.")
@click.option("--requests", type=int, help="How many requests it has to serve; else as many as it buys.")
@click.option("--arm", default="arm", show_default=True, metavar="COLUMN", help="Column with the arm's name.")
@click.option("--cost", default="cost", show_default=True, metavar="COLUMN", help="Column with the cost.")
@click.option("--reward", default="reward", show_default=True, metavar="COLUMN", help="Column with the reward.")
@click.option("--time", metavar="COLUMN", help="Column that says when (numbers, ISO dates); else found, or the order.")
@click.option("--instance", metavar="COLUMN", help="Column that says on what, where all arms were tried on the same.")
@click.option("--context", metavar="COLUMNS", help="Would rules by these pay? What is known of a request: a,b,c.")
@click.option("--chance", metavar="COLUMN", help="Column with the chance that the row's arm had; else estimated.")
@click.option("--cost-bound", type=float, help="The largest possible |cost|, if known.")
@click.option("--reward-bound", type=float, help="The largest possible |reward|, if known.")
@click.option("--guarantee", is_flag=True, help="Recommend a policy with a proof, not the one that earns most.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of intervals, and in ruling out.")
@click.option("--runs", type=int, help="Runs per policy; by default 20 to 200, fewer for large budgets.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same advice.")
@in_threads
@click.option("--no-rehearsal", is_flag=True, help="Only read the log; play no policies.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Also write a page, advice.html, to DIR.")
def advise(log: str, context: str | None, no_rehearsal: bool, as_json: bool, out: Path | None, **options: Any) -> None:
    """Advise on spending a budget, from LOG: a CSV, JSON lines or Parquet file of past pulls (arm, cost, reward).

    The advice says which arm has the best rate, which arms can be ruled out, what each policy would earn on the log's
    own rows, which policy to run with which parameters, and what such a log cannot tell. Arms that were used at
    different times are compared at equal times, and arms that were tried on the same instances on these. Files may be
    of any size.
    """
    from outlay.advice import advise as library_call
    from outlay.advice.answer import advice_tables, answer, data_of
    from outlay.errors import BadFile
    from outlay.logs import NoColumn

    options["rehearse"] = not no_rehearsal
    options["context"] = None if context is None else [name.strip() for name in context.split(",")]
    written = None
    try:
        if out is None:
            advice = library_call(log, **options)
        else:
            from outlay.advice.advice_page import page_in, save_page

            with page_in(out) as page:  # a folder that cannot be written is found before the work begins
                advice = library_call(log, **options)
                written = save_page(advice, page)
    except NoColumn as error:
        raise BadFile(f"{error} ({' '.join(f'--{role} COLUMN' for role in error.roles)})") from None
    if as_json:
        show(data_of(advice))
        return
    terminal = console()
    terminal.print(advice_tables(advice, terminal.width))
    click.echo()
    for sentence in answer(advice):
        terminal.print(sentence, markup=False)
    click.echo(f"\n{advice.code}")
    if written:
        click.echo(f"\nwrote {written}")


@click.command(epilog=BOUNDS)
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
    from outlay import report
    from outlay.arms.catalogue import find

    arms = find(problem, "bounds")
    if requests is not None:
        if out:
            raise click.UsageError("--out draws curves over budgets of any number of requests: leave out --requests")
        console().print(report.request_bounds_table(report.request_bounds(arms, budget, requests)))
        return
    terminal = console()
    terminal.print(report.bounds_table(report.problem_bounds(arms, budget, constants), terminal.width))
    if out:
        from outlay.checks import writing
        from outlay.report.style import save_figures

        page = report.bounds_figure(arms, budget, constants)
        column = report.bounds_figure(arms, budget, constants, width="column")
        with writing(out):
            out.mkdir(parents=True, exist_ok=True)
        for path in save_figures(page, column, out / "bounds"):
            click.echo(f"wrote {path}")


@click.command(epilog=f"{REPORT}\n\n{REPORTED}")
@click.argument("result", type=click.Path(path_type=Path))
@into_folder
@click.option("--title", help="Title of the page and the tables.")
def report(result: Path, out: Path, title: str | None) -> None:
    """Write figures, tables and a page about RESULT, a Parquet file.

    RESULT is written by `outlay compare --save`, by an experiment, or by `Result.save` in Python.
    """
    from outlay.report import write_report
    from outlay.results import load

    loaded = load(result)
    written = write_report(loaded, out, title)
    show_result(loaded, title)
    say_written(written[0], written)


@click.command(epilog=listing("Examples:", "outlay policies", "outlay policies --json | jq '.[].name'"))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def policies(as_json: bool) -> None:
    """List the policies: what each does, what it may be told, and where it is from.

    `outlay compare --policy NAME` tells a policy what the problem has of that.
    """
    from outlay.parameters import signature_of
    from outlay.policies import BUILT_IN, BY_NAME
    from outlay.tables import Table

    rows: list[dict[str, Any]] = []
    for name, kind in BY_NAME.items():
        told = list(dict.fromkeys(TOLD[parameter] for parameter in signature_of(kind) if parameter in TOLD))
        summary = (inspect.getdoc(kind) or "").split("\n", 1)[0]
        rows.append(
            {"name": name, "kind": "outlay" if name in BUILT_IN else "baseline", "told": told, "summary": summary}
        )
    if as_json:
        show(rows)
        return
    headings = ("policy", "may be told", "what it does")
    cells = [(row["name"], ", ".join(row["told"]), row["summary"]) for row in rows]
    console().print(Table(headings, cells, drop_first=["may be told"], texts=headings))


@click.command(epilog=listing("Examples:", "outlay problems", "outlay problems --json | jq '.[].arms'"))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def problems(as_json: bool) -> None:
    """List the problems of the catalogue, for `outlay compare` and `outlay bounds`."""
    from outlay.arms import catalogue
    from outlay.tables import Table

    rows: list[dict[str, Any]] = []
    for name in catalogue.names():
        arms = catalogue.load(name).arms
        laws = list(dict.fromkeys(type(law).__name__ for law in arms))
        rows.append({"name": name, "arms": len(arms), "laws": laws, "summary": catalogue.describe(name)})
    if as_json:
        show(rows)
        return
    headings = ("problem", "arms", "laws", "what it is")
    cells = [(row["name"], f"{row['arms']:,}", ", ".join(row["laws"]), row["summary"]) for row in rows]
    console().print(Table(headings, cells, drop_first=["arms", "laws"], texts=("problem", "laws", "what it is")))
