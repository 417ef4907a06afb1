"""A policy over all cells: how far it is from the best of each, and how often its runs go wrong."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.leaderboard.cells import Row

Cells = dict[tuple[str, float], Row]  # of one policy, by problem and budget

ERRORS = 2.0  # a ratio is beyond a limit if it is by more than this many of its standard errors


class Summary(NamedTuple):
    """One policy over the cells that it played."""

    policy: str
    told: str
    cells: int
    ratio: float  # the geometric mean of regret ÷ best of the cell
    within_tenth: float  # the share of cells with a ratio of at most 1.1
    within_half: float  # and 1.5
    largest: float
    hardest: str  # the cell of the largest ratio
    long: float  # the mean share of long runs
    most_long: float
    won: int  # cells of which it is the best
    frontier: bool  # told no true moments, and no such policy has both a smaller ratio and fewer long runs there


def summaries(rows: Sequence[Row]) -> list[Summary]:
    """Every policy, smallest ratio first."""
    played: dict[str, Cells] = {}
    for row in rows:
        if np.isfinite(row.ratio) and row.ratio > 0.0:
            played.setdefault(row.policy, {})[row.problem, row.budget] = row
    rivals = [cells for cells in played.values() if unaided(cells)]
    found = []
    for cells in played.values():
        frontier = unaided(cells) and not any(beats(rival, cells) for rival in rivals)
        found.append(summary(list(cells.values()), frontier))
    return sorted(found, key=lambda each: each.ratio)


def summary(rows: Sequence[Row], frontier: bool) -> Summary:
    """One policy over its rows."""
    hardest = max(rows, key=lambda row: row.ratio)
    return Summary(
        policy=hardest.policy,
        told=hardest.told,
        cells=len(rows),
        ratio=geometric_mean(rows),
        within_tenth=share_within(rows, 1.1),
        within_half=share_within(rows, 1.5),
        largest=hardest.ratio,
        hardest=f"{hardest.problem} at {hardest.budget:,g}",
        long=mean_long(rows),
        most_long=max(row.long for row in rows),
        won=sum(row.best for row in rows),
        frontier=frontier,
    )


def ratios_by(rows: Sequence[Row], part_of: Callable[[Row], str]) -> dict[str, dict[str, float]]:
    """Part → policy → geometric mean of the ratios in that part; the parts in the order of the rows."""
    found: dict[str, dict[str, float]] = {}
    for part in dict.fromkeys(map(part_of, rows)):
        found[part] = {each.policy: each.ratio for each in summaries([row for row in rows if part_of(row) == part])}
    return found


def geometric_mean(rows: Sequence[Row]) -> float:
    """Of the ratios."""
    return float(np.exp(np.mean(np.log([row.ratio for row in rows]))))


def mean_long(rows: Sequence[Row]) -> float:
    """The mean share of long runs."""
    return float(np.mean([row.long for row in rows]))


def share_within(rows: Sequence[Row], limit: float) -> float:
    """The share of cells whose ratio is not beyond the limit by more than two standard errors."""
    errors = np.nan_to_num([row.ratio_stderr for row in rows])
    return float(np.mean(np.array([row.ratio for row in rows]) - ERRORS * errors <= limit))


def unaided(cells: Cells) -> bool:
    """Whether the policy of these cells is told no true moments."""
    return next(iter(cells.values())).unaided


def beats(one: Cells, other: Cells) -> bool:
    """Whether one policy played all cells of another and is nowhere worse on average, and somewhere better."""
    if not one.keys() >= other.keys():
        return False
    mine, theirs = [one[cell] for cell in other], list(other.values())
    here, there = ((geometric_mean(rows), mean_long(rows)) for rows in (mine, theirs))
    return here != there and here[0] <= there[0] and here[1] <= there[1]
