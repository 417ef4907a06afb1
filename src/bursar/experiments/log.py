"""A log of pulls as a problem: one arm for each name in it, whose law is the pairs that were logged."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bursar.arms import Empirical, Problem
from bursar.errors import BadFile
from bursar.logs import Columns, Stretch, stretches

__all__ = ["Columns", "problem_of"]


def problem_of(path: Path, columns: Columns) -> Problem:
    """The empirical problem of a CSV or Parquet file, its arms in the order of their first row.

    An experiment is exact: a row with an empty cell is an error, and not left out.
    """
    parts: dict[str, list[NDArray[np.float64]]] = {}
    for rows in stretches(path, columns, "[log]"):
        if len(rows.left_out):
            raise BadFile(f"{path} has an empty cell in row {rows.left_out[0]:,}; every row must have all three")
        pairs = np.stack([rows.costs, rows.rewards])
        for place in _in_order(rows):
            parts.setdefault(rows.names[place], []).append(pairs[:, rows.codes == place])
    return Problem([Empirical(*np.hstack(pairs)) for pairs in parts.values()], list(parts))


def _in_order(rows: Stretch) -> list[int]:
    """The places of the names that have rows here, in the order of their first."""
    places, firsts = np.unique(rows.codes, return_index=True)
    return [int(place) for place in places[np.argsort(firsts)]]
