"""`outlay advise`: from a log of past pulls and a budget to what to run."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from outlay.advice import Advice

EXAMPLES = """\b
Examples:
  outlay advise log.csv --budget 10000
  outlay advise calls.parquet --budget 500 --arm model --cost usd --reward solved --out advice
  outlay advise calls.jsonl --budget 500 --requests 10000 --time created_at
  outlay advise log.csv.gz --budget 1e4 --json | jq .answer
"""


@click.command(epilog=EXAMPLES)
@click.argument("log", type=click.Path())
@click.option("--budget", type=float, required=True, help="How much to spend, in the unit of the costs.")
@click.option("--requests", type=int, help="How many requests it has to serve; else as many as it buys.")
@click.option("--arm", default="arm", show_default=True, metavar="COLUMN", help="Column with the arm's name.")
@click.option("--cost", default="cost", show_default=True, metavar="COLUMN", help="Column with the cost.")
@click.option("--reward", default="reward", show_default=True, metavar="COLUMN", help="Column with the reward.")
@click.option("--time", metavar="COLUMN", help="Column that says when (numbers, ISO dates); else found, or the order.")
@click.option("--instance", metavar="COLUMN", help="Column that says on what, where all arms were tried on the same.")
@click.option("--cost-bound", type=float, help="The largest possible |cost|, if known.")
@click.option("--reward-bound", type=float, help="The largest possible |reward|, if known.")
@click.option("--guarantee", is_flag=True, help="Recommend a policy with a proof, not the one that earns most.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Of intervals, and in ruling out.")
@click.option("--runs", type=int, help="Runs per policy; by default 20 to 200, fewer for large budgets.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same advice.")
@click.option("--workers", type=int, help="Number of threads; all cores by default.")
@click.option("--no-rehearsal", is_flag=True, help="Only read the log; play no policies.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Also write a page, advice.html, to DIR.")
def advise(log: str, no_rehearsal: bool, as_json: bool, out: Path | None, **options: Any) -> None:
    """Advise on spending a budget, from LOG: a CSV, JSON lines or Parquet file of past pulls (arm, cost, reward).

    The advice says which arm has the best rate, which arms can be ruled out, what each policy would earn on the log's
    own rows, which policy to run with which parameters, and what such a log cannot tell. Arms that were used at
    different times are compared at equal times, and arms that were tried on the same instances on these. Files may be
    of any size.
    """
    options["rehearse"] = not no_rehearsal
    if out is None:
        _show(_advice(log, options), as_json)
        return
    from outlay.advice.advice_page import page_in, write_advice

    with page_in(out):  # a folder that cannot be written is found before the work begins
        advice = _advice(log, options)
        written = write_advice(advice, out)
    _show(advice, as_json)
    if not as_json:
        click.echo(f"\nwrote {written}")


def _advice(log: str, options: dict[str, Any]) -> "Advice":
    """The library's advice; where columns are missing, the error names the options for them."""
    from outlay.advice import advise as library_call
    from outlay.errors import BadFile
    from outlay.logs import NoColumn

    try:
        return library_call(log, **options)
    except NoColumn as error:
        raise BadFile(f"{error} ({' '.join(f'--{role} COLUMN' for role in error.roles)})") from None


def _show(advice: "Advice", as_json: bool) -> None:
    """Tables, sentences and code; or JSON."""
    from outlay.advice.answer import advice_tables, answer, data_of

    if as_json:
        click.echo(json.dumps(data_of(advice), ensure_ascii=False, allow_nan=False))
        return
    from rich.console import Console

    console = Console(highlight=False, emoji=False, width=None if sys.stdout.isatty() else 160)
    console.print(advice_tables(advice, console.width))
    click.echo()
    for sentence in answer(advice):
        console.print(sentence, markup=False)
    click.echo(f"\n{advice.code}")
