"""Problems from logs: a CSV file with the columns arm, instance, cost, reward; one row for each use of an arm.

An arm is the empirical law of its rows, so that cost and reward are drawn as the pair that they were. A log can be cut
by instance into two halves, so that what is tuned on one can be judged on the other.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from outlay import Problem
from outlay.arms import Empirical
from outlay.checks import reading
from outlay.errors import BadFile

COLUMNS = ("arm", "instance", "cost", "reward")
LOGS = {"swebench": "swebench.csv.gz", "tsp": "aslib_tsp-lion2015.csv.gz", "ads": "kag_facebook_ads.csv.gz"}
HALVES = ("train", "test")
SUBSETS = 2  # of the many arms of swebench, for each half


def read_log(path: Path) -> pd.DataFrame:
    """The log at `path`; `BadFile` says in a sentence what is wrong with it."""
    try:
        with reading(path):
            log = pd.read_csv(path, dtype={"arm": str, "instance": str})
    except (ValueError, EOFError) as error:
        raise BadFile(f"{path} is not a CSV file: {' '.join(str(error).split())}") from None
    if missing := [name for name in COLUMNS if name not in log]:
        raise BadFile(f"{path} has no column {', '.join(missing)}; a log has {', '.join(COLUMNS)}")
    if log.empty:
        raise BadFile(f"{path} has no rows")
    numbers = log[["cost", "reward"]].apply(pd.to_numeric, errors="coerce").astype(float)
    bad = log[["arm", "instance"]].isna().any(axis=1) | ~np.isfinite(numbers).all(axis=1)
    if bad.any():
        raise BadFile(f"row {int(np.argmax(bad)) + 1} of {path} has a gap, or a cost or reward that is no number")
    return log.assign(cost=numbers["cost"], reward=numbers["reward"])


def from_log(log: pd.DataFrame) -> Problem:
    """A problem of the log's arms, in the order of their names."""
    arms = {str(name): Empirical(rows["cost"].to_numpy(), rows["reward"].to_numpy()) for name, rows in by_arm(log)}
    return Problem(list(arms.values()), names=list(arms))


def by_arm(log: pd.DataFrame) -> Iterator[tuple[object, pd.DataFrame]]:
    """The rows of each arm."""
    yield from log.groupby("arm", sort=True)


def half(log: pd.DataFrame, which: str) -> pd.DataFrame:
    """The rows of half of the instances; repetitions, which are named `instance#number`, stay together."""
    stems = log["instance"].str.partition("#")[0]
    return log[stems.map(lambda stem: zlib.crc32(stem.encode()) % 2) == HALVES.index(which)]


def subset(log: pd.DataFrame, number: int) -> pd.DataFrame:
    """Five to eight arms of the log, chosen by a number."""
    rng = np.random.default_rng(number)
    names = sorted(log["arm"].unique())
    return log[log["arm"].isin(rng.choice(names, size=int(rng.integers(5, 9)), replace=False))]


def real_problems(folder: Path) -> dict[str, Problem]:
    """The whole sets, and subsets of the arms of swebench on half of its instances."""
    logs = {name: read_log(folder / file) for name, file in LOGS.items()}
    found = {name: from_log(log) for name, log in logs.items()}
    for which in HALVES:
        part, first = half(logs["swebench"], which), 1 + SUBSETS * HALVES.index(which)
        found |= {f"swebench-{which}:{i}": from_log(subset(part, i)) for i in range(first, first + SUBSETS)}
    return found
