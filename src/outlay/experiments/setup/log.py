"""A log of pulls as a problem: one arm for each name in it, whose law is the pairs that were logged."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from outlay.arms import Empirical, Problem
from outlay.errors import BadFile
from outlay.logs import LogColumns, Stretch, stretches

MOST_ARMS = 10_000  # each is a law of its own
Pairs = NDArray[np.float64]


def problem_of(path: Path, columns: LogColumns) -> Problem:
    """The empirical problem of a CSV or Parquet file, its arms in the order of their first row.

    An experiment is exact: a row with an empty cell is an error, and not left out.
    """
    parts: dict[str, list[Pairs]] = {}
    for rows in stretches(path, columns, "[log]"):
        if len(rows.left_out):
            raise BadFile(f"{path} has an empty cell in row {rows.left_out[0]:,}; every row must have all three")
        for name, pairs in _by_arm(rows):
            parts.setdefault(name, []).append(pairs)
        if len(parts) > MOST_ARMS:
            raise BadFile(f"{path} has more than {MOST_ARMS:,} arms: does its column of arms hold something else?")
    return Problem([Empirical(*np.hstack(pairs)) for pairs in parts.values()], list(parts))


def _by_arm(rows: Stretch) -> Iterator[tuple[str, Pairs]]:
    """The pairs of each arm that has rows here, in the order of their first."""
    order = np.argsort(rows.codes, kind="stable")
    codes, starts = np.unique(rows.codes[order], return_index=True)
    parts = np.split(np.stack([rows.costs, rows.rewards])[:, order], starts[1:], axis=1)
    for index in np.argsort(order[starts]):
        yield rows.names[codes[index]], parts[index]
