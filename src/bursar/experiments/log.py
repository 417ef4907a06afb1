"""A log of pulls as a problem: one arm for each name in it, whose law is the pairs that were logged."""

import lzma
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bursar.arms import Empirical, Problem
from bursar.errors import BadFile, BadParameter, BursarError
from bursar.files import reading

# ValueError is also what pandas raises of its own, and for text that is not UTF-8.
_UNREADABLE = (ValueError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)


class Columns(NamedTuple):
    """Where arm, cost and reward stand in a log."""

    arm: str = "arm"
    cost: str = "cost"
    reward: str = "reward"


def problem_of(path: Path, columns: Columns) -> Problem:
    """The empirical problem of a CSV file (.gz and the like too), its arms in the order of their first row."""
    import pandas as pd

    try:
        with reading(path):
            header = list(pd.read_csv(path, nrows=0).columns)
            if missing := [name for name in columns if name not in header]:
                raise BadFile(f"{path} has no column {missing[0]!r}; it has {', '.join(map(str, header))}")
            if len(set(columns)) < len(columns):
                raise BadParameter("[log]", "arm, cost and reward", "three different columns", list(columns))
            log = pd.read_csv(
                path, usecols=list(columns), dtype={columns.arm: str}, keep_default_na=False, na_values=[""]
            )
    except BursarError:
        raise
    except _UNREADABLE as error:
        raise BadFile(f"{path} is not a CSV file: {' '.join(str(error).split())}") from None
    if not len(log):
        raise BadFile(f"{path} has no rows")
    for name in (columns.cost, columns.reward):
        _check_numbers(path, log[name])
    if log[columns.arm].isna().any():
        raise BadFile(f"{path} has no arm in row {_first(log[columns.arm].isna())}")
    arms = {name: Empirical(rows[columns.cost], rows[columns.reward]) for name, rows in _by_arm(log, columns.arm)}
    return Problem(arms.values(), list(arms))


def _by_arm(log: Any, column: str) -> list[tuple[str, Any]]:
    return [(str(name), rows) for name, rows in log.groupby(column, sort=False)]


def _check_numbers(path: Path, column: Any) -> None:
    if column.dtype.kind not in "iuf":
        import pandas as pd

        numbers = pd.to_numeric(column, errors="coerce")
        row = _first(numbers.isna())
        raise BadFile(f"{path}: {column.name} in row {row} must be a number; got {column.iloc[row - 1]!r}")
    bad = ~np.isfinite(column)
    if bad.any():
        row = _first(bad)
        raise BadFile(f"{path}: {column.name} in row {row} must be a finite number; got {column.iloc[row - 1]}")


def _first(rows: Any) -> int:
    """The number of the first marked row, counted from 1 after the header."""
    return int(np.argmax(np.asarray(rows))) + 1
