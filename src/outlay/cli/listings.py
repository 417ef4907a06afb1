"""`outlay policies` and `outlay problems`: what can be named on the command line and in experiment files."""

import inspect
import json
import sys
from collections.abc import Sequence
from typing import Any

import click

from outlay.cli.shared import listing

Row = dict[str, Any]

# What a policy may be told, by the parameters for it.
_TOLD = {
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


@click.command(epilog=listing("Examples:", "outlay policies", "outlay policies --json | jq '.[].name'"))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def policies(as_json: bool) -> None:
    """List the policies: what each does, what it may be told, and where it is from.

    `outlay compare --policy NAME` tells a policy what the problem has of that.
    """
    from outlay.parameters import signature_of
    from outlay.policies import BUILT_IN, BY_NAME

    rows: list[Row] = []
    for name, kind in BY_NAME.items():
        told = {_TOLD[parameter]: None for parameter in signature_of(kind) if parameter in _TOLD}
        origin = "outlay" if name in BUILT_IN else "baseline"
        rows.append({"name": name, "kind": origin, "told": list(told), "summary": _first_line(kind)})
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False))
    else:
        _show(
            ("policy", "may be told", "what it does"), [(r["name"], ", ".join(r["told"]), r["summary"]) for r in rows]
        )


@click.command(epilog=listing("Examples:", "outlay problems", "outlay problems --json | jq '.[].arms'"))
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def problems(as_json: bool) -> None:
    """List the problems of the catalogue, for `outlay compare` and `outlay bounds`."""
    from outlay.arms import catalogue

    rows: list[Row] = []
    for name in catalogue.names():
        arms = catalogue.load(name).arms
        laws = list(dict.fromkeys(type(law).__name__ for law in arms))
        rows.append({"name": name, "arms": len(arms), "laws": laws, "summary": catalogue.describe(name)})
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False))
    else:
        cells = [(r["name"], f"{r['arms']:,}", ", ".join(r["laws"]), r["summary"]) for r in rows]
        _show(("problem", "arms", "laws", "what it is"), cells)


def _first_line(kind: type) -> str:
    return (inspect.getdoc(kind) or "").split("\n", 1)[0]


def _show(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console

    from outlay.tables import Table

    texts = [heading for heading in headings if heading != "arms"]
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
    console.print(Table(headings, rows, drop_first=headings[1:-1], texts=texts))
