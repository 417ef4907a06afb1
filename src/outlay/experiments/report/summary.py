"""A sweep in numbers: the regret at the largest budget for each point and policy, as rows and as a table's cells."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from outlay.experiments.setup.plan import shown
from outlay.experiments.setup.sweep import Value, Values
from outlay.report.numbers.curves import floor_for
from outlay.results import Result, ended
from outlay.tables import Table
from outlay.text import amount


class Row(NamedTuple):
    """One policy at one point, at the largest budget; the columns of `Result.regret`, and the sharp lower bound."""

    values: Values  # of the swept parameters, by name
    policy: str
    budget: float
    mean: float
    stderr: float
    low: float
    high: float
    q10: float
    q50: float
    q90: float
    lower_bound: float  # nan where there is none
    requests: int | None = None

    def as_object(self) -> dict[str, object]:
        """The row by the names of its fields; without requests where there are none."""
        fields = self._asdict()
        return fields if self.requests is not None else {key: fields[key] for key in fields if key != "requests"}


def rows_of(values: Values, result: Result) -> list[Row]:
    """The rows of a point with these swept values, one per policy."""
    frame = result.regret()
    last = frame.iloc[len(result.budgets) - 1 :: len(result.budgets)]
    bound = floor_for(result)
    floor = bound.at(float(result.budgets[-1]))
    found = last[list(Row._fields[1:-2])].itertuples(index=False, name=None)
    return [Row._make((values, *numbers, math.nan if floor is None else floor, bound.requests)) for numbers in found]


def where(rows: Sequence[Row]) -> str:
    """The budget and the requests that all rows share, in words."""
    budgets, requests = ({getattr(row, name) for row in rows} for name in ("budget", "requests"))
    if len(budgets) == 1:
        return ended(rows[0].budget, rows[0].requests if len(requests) == 1 else None)
    return ended(math.inf, rows[0].requests) if len(requests) == 1 else "the budget of each point"


def winners_of(rows: Sequence[Row]) -> set[tuple[int, int]]:
    """Where the table has the least mean of each point: its line and its column."""
    points: dict[tuple[tuple[str, object], ...], list[Row]] = {}
    for row in rows:
        points.setdefault(tuple(row.values.items()), []).append(row)
    first = len(rows[0].values)
    means = [[row.mean for row in some] for some in points.values()]
    return {
        (line, first + column)
        for line, some in enumerate(means)
        for column, mean in enumerate(some)
        if mean == min(some)
    }


def headings_of(rows: list[Row]) -> list[str]:
    """The headings of the table: swept parameters, policies, and the lower bound where some point has one."""
    policies = [" ".join(label.split()) for label in dict.fromkeys(row.policy for row in rows)]
    return [*rows[0].values, *policies, *(["lower bound"] if _bounded(rows) else [])]


def cells_of(rows: list[Row]) -> list[list[str]]:
    """One line per point: its values, then `regret ± stderr` of each policy, then the lower bound."""
    lines: dict[tuple[Value, ...], list[str]] = {}
    for row in rows:
        line = lines.setdefault(tuple(row.values.values()), [shown(value) for value in row.values.values()])
        line.append(loss(row.mean) + ("" if math.isnan(row.stderr) else f" ± {loss(row.stderr)}"))
    if _bounded(rows):
        for key, floor in {tuple(row.values.values()): row.lower_bound for row in rows}.items():
            lines[key].append("–" if math.isnan(floor) else loss(floor))
    return list(lines.values())


def as_csv(rows: list[Row]) -> str:
    """Every number of every row, in full precision; the swept values come first."""
    served = rows[0].requests is not None and "requests" not in rows[0].values
    last = len(Row._fields) if served else -1
    headings = [*rows[0].values, *Row._fields[1:last]]
    return Table(headings, [[*row.values.values(), *row[1:last]] for row in rows]).csv()


def loss(value: float) -> str:
    """A regret, with two decimals below ten: along a sweep small differences matter."""
    return amount(value, below_ten=2, most=1e9)


def _bounded(rows: list[Row]) -> bool:
    return not all(math.isnan(row.lower_bound) for row in rows)
