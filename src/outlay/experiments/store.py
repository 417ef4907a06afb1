"""Results on disk, one Parquet file for each cell, named by its content: a cell that is there is never played again."""

from pathlib import Path

import numpy as np

from outlay import __version__
from outlay.checks import writing
from outlay.errors import BadFile
from outlay.experiments.setup.plan import Cell, Point
from outlay.own.code import own_classes
from outlay.results import Result, load

FOLDER = "cells"


def path_of(folder: Path, cell: Cell) -> Path:
    """Where the result of a cell is kept."""
    return folder / FOLDER / f"{cell.name}.parquet"


def kept(folder: Path, cell: Cell) -> Result | None:
    """The result of a cell, or None where there is none that can be used: a damaged one is played again."""
    path = path_of(folder, cell)
    if not path.is_file():
        return None
    try:
        laws, players = own_classes(*cell.problem.arms), own_classes(cell.policy)
        result = load(path, laws=laws, policies=players)
    except BadFile:
        return None
    return result if _is_of(result, cell) else None


def keep(folder: Path, cell: Cell, result: Result) -> None:
    """Write the result of a cell, all or nothing."""
    path = path_of(folder, cell)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    result.save(path)


def combined(point: Point, results: dict[str, Result]) -> Result:
    """The results of a point's cells as one, exactly as if all policies had been played together.

    Run i draws from the same random stream whatever is played next to it, so nothing is lost by playing them apart.
    """
    parts = list(results.values())
    first = parts[0]
    if any(not np.array_equal(part.oracle_reward, first.oracle_reward) for part in parts):
        raise BadFile("results of one problem and seed differ in what the best arm earned: delete the cells")
    return Result(
        problem=point.problem,
        policies={label: point.cells[label].policy for label in results},
        budgets=first.budgets,
        seed=first.seed,
        pulls=np.concatenate([part.pulls for part in parts]),
        cost=np.concatenate([part.cost for part in parts]),
        reward=np.concatenate([part.reward for part in parts]),
        oracle_reward=first.oracle_reward,
        version=first.version,
        requests=first.requests,
        mode=first.mode,
    )


def _is_of(result: Result, cell: Cell) -> bool:
    """Whether a file holds what its name says."""
    return (
        result.problem == cell.problem
        and list(result.policies.values()) == [cell.policy]
        and result.budgets.tolist() == list(cell.budgets)
        and (None if result.requests is None else tuple(result.requests.tolist())) == cell.requests
        and result.mode == cell.mode
        and (result.runs, result.seed, result.version) == (cell.runs, cell.seed, __version__)
    )
