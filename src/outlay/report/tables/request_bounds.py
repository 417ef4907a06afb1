"""What a budget and requests can bring, for a terminal: prices in words, the mix and the bounds as a table, notes."""

from typing import TYPE_CHECKING

from outlay.report.numbers.request_bounds import RequestArm, RequestBounds, summed_arms
from outlay.report.tables.bounds import cell, grid
from outlay.tables import Table
from outlay.text import cut, listed, number

if TYPE_CHECKING:
    from rich.console import Group

_HEADINGS = ("arm", "cost", "reward", "share", "gap", "D", "pulls ≥", "regret ≥")
_MOST_ROWS, _LONGEST_NAME = 12, 24


def request_bounds_table(bounds: RequestBounds) -> "Group":
    """The table for a terminal: `rich.print(request_bounds_table(request_bounds(problem, 250, 1000)))`."""
    from rich.console import Group

    rows = [_cells(row) for row in (*shown_arms(bounds), bounds.total)]
    title = f"{bounds.requests:,.12g} requests for {number(bounds.budget, 12)}"
    return Group(
        grid(answers(bounds), title),
        Table(_HEADINGS, rows, drop_first=("pulls ≥", "D", "gap"), total=True),
        grid(request_notes(bounds)),
    )


def answers(bounds: RequestBounds) -> list[tuple[str, str]]:
    """What a request brings, what more money and more requests would: each with its sentence."""
    best, first, last = bounds.fluid, bounds.prices[0], bounds.prices[-1]
    total = best.value * bounds.requests
    price, worth = number(best.price), number(best.worth)
    if first != last:
        price = f"{number(last.price)} for more, {number(first.price)} for less"
        worth = f"{number(first.worth)} for more, {number(last.worth)} for less"
    return [
        ("a request brings", f"{number(best.value)} at most, all of them {number(total)}"),
        ("price of money", price),
        ("worth of a request", worth),
        ("the mix", mix(bounds)),
    ]


def mix(bounds: RequestBounds) -> str:
    """Which requests go where.

    >>> from outlay.arms import Constant, Problem
    >>> from outlay.report.numbers.request_bounds import request_bounds
    >>> problem = Problem([Constant(1, 3), Constant(4, 6)], names=["small", "large"])
    >>> mix(request_bounds(problem, 250.0, 100)), mix(request_bounds(problem, 50.0, 100))
    ('50 % to small, 50 % to large', '50 % to small, 50 % not served')
    """
    parts = [(row.share, f"to {cut(row.arm, _LONGEST_NAME)}") for row in bounds.arms if row.share]
    parts.append((1.0 - (bounds.total.share or 0.0), "not served"))
    return ", ".join(f"{number(100 * share, 3)} % {where}" for share, where in parts if share > 1e-12)


def shown_arms(bounds: RequestBounds) -> list[RequestArm]:
    """Every arm or, of too many, the mix and those that cost most, with the others summed up in a last row."""
    if len(bounds.arms) <= _MOST_ROWS:
        return bounds.arms
    ranked = sorted(bounds.arms, key=lambda row: (row.share or 0.0, row.lower or 0.0), reverse=True)
    others = ranked[_MOST_ROWS:]
    return [*ranked[:_MOST_ROWS], summed_arms(f"{len(others):,} more", others)]


def request_notes(bounds: RequestBounds) -> list[tuple[str, str]]:
    """Where the numbers are from and what is not covered."""
    found = [("gap", "what a pull loses: a request and its cost at their prices, less the reward")]
    if bounds.reason:
        found.append(("≥", bounds.reason))
    else:
        found.append(("≥", "for every policy that learns on the whole model, as both grow in proportion"))
        most = bounds.fluid.value * bounds.requests
        if (bounds.total.lower or 0.0) > most:
            found.append(("", f"(so few requests are too few for it: about {cell(most)} is the most that can be lost)"))
    found += [("D", f"{listed(arms)}: {model}") for model, arms in bounds.models.items()]
    if bounds.loss is not None and bounds.loss >= 0.005 * max(1.0, bounds.total.lower or 0.0):
        lost = f"{cell(bounds.loss)} more is lost to chance by whoever knows the means: the budget is near a vertex"
        found.append(("", lost))
    return found


def _cells(row: RequestArm) -> list[str]:
    numbers = (row.gap, row.divergence, row.pulls, row.lower)
    share = "–" if not row.share else f"{number(100 * row.share, 3)} %"
    return [row.arm, number(row.cost), number(row.reward), share, *map(cell, numbers)]
