"""Where results are kept: one file each, named after everything that the result depends on.

That is the problem with its exact moments (the first, and how they are drawn, where each run has its own), the policy,
the budgets, the runs, the seed, the versions of outlay, numpy and numba, and the code that the loop, the policy, its
memory and the laws reach. So interrupted work goes on where it stopped, and a new policy alone is played.
"""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks.leaderboard.many import FAMILIES, Draw, Drawn, streams
from outlay import Problem, __version__
from outlay import results as regret
from outlay.checks import writing
from outlay.engine import loop
from outlay.engine.jit.numba_types import compose
from outlay.errors import BadFile, OutlayError
from outlay.policies.protocol import memory_of
from outlay.usercode import Reach

Floats = NDArray[np.float64]


class Setting(NamedTuple):
    """How every cell is played."""

    budgets: tuple[float, ...]  # rising; in mean costs (`Entry`), per arm (`Drawn`), per request, money (`Changing`)
    runs: int
    seed: int


class Kept(NamedTuple):
    """A result: the regret of every run at every budget (drawn, or with requests, in per cent), and the seconds."""

    regret: Floats  # [run, budget]
    seconds: float


def key_of(problem: Problem, policy: Any, setting: Setting, *more: Any) -> str:
    """A name for all that a result depends on: values, and the code of the loop, the policy and the laws."""
    memory = memory_of(policy, len(problem))
    code = (loop.play, compose(problem.arms), regret.pseudo_regret, getattr(type(memory), "enlarged", None))
    said = repr(policy)  # what it was given need not be among its numbers: whether it is told the budget, for one
    values = (problem.mean_costs, problem.gaps, tuple(setting), said, __version__, np.__version__, numba.__version__)
    reach = Reach(*code, policy, memory, problem.arms, *values, *more)
    if not reach.portable:
        raise OutlayError(f"results of {type(policy).__name__} cannot be kept: its code is not that of a module")
    return reach.digest


def key_of_drawn(entry: Drawn, first: Problem, policy: Any, setting: Setting) -> str:
    """The same where each run's problem is drawn; `first` is that of run 0."""
    return key_of(first, policy, setting, entry.name, FAMILIES[entry.family], streams, Draw.budgets)


def keep(folder: Path, key: str, kept: Kept, **about: Any) -> None:
    """Write a result, all or nothing; `about` is for whoever opens the file."""
    path = folder / f"{key}.json"
    part = path.with_suffix(f".{os.getpid()}")
    with writing(path):
        folder.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(about | {"seconds": kept.seconds, "regret": kept.regret.tolist()}), encoding="utf-8")
        part.replace(path)


def kept_at(folder: Path, key: str, setting: Setting) -> Kept | None:
    """The result of this name, None where there is none; `BadFile` for a file that is broken."""
    path = folder / f"{key}.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kept = Kept(np.array(content["regret"], dtype=np.float64), float(content["seconds"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        raise BadFile(f"{path} is not a kept result") from None
    if kept.regret.shape != (setting.runs, len(setting.budgets)) or not np.isfinite(kept.regret).all():
        raise BadFile(f"{path} does not hold {setting.runs} runs for {len(setting.budgets)} budgets")
    return kept
