"""One run of one policy, from its first budget to its last."""

from typing import NamedTuple

import numpy as np

from outlay.checks import whole, word
from outlay.errors import BadParameter
from outlay.report.numbers.curves import Floats
from outlay.report.numbers.shares import Grouping, grouping
from outlay.results import Result


class Path(NamedTuple):
    """Where a run stood each time it passed a budget."""

    policy: str
    run: int
    across: str  # what the run is drawn over: "budget spent" or "requests served"
    spent: Floats  # [budget]: how much of that
    arms: Grouping
    pulls: Floats  # [budget, what is shown]
    reward: Floats  # [budget]
    rate: Floats  # [budget]: reward by cost so far, or by requests
    best_rate: float  # r*; with requests, f(B/N) at the last budget, the most that a request can bring


def path(result: Result, policy: str | None = None, run: int = 0) -> Path:
    """The run number `run` of the policy with this label; of the first policy if none is named."""
    labels = result.labels
    index = 0 if policy is None else labels.index(word("path_figure", "policy", policy, labels))
    run = whole("path_figure", "run", run, at_least=0)
    if run >= result.runs:
        raise BadParameter("path_figure", "run", f"a whole number below {result.runs}, the number of runs", run)
    arms = grouping(result)
    reward = result.reward[index, run]
    if result.requests is None:
        across, spent, best = "budget spent", result.cost[index, run], result.problem.rate
    else:
        across, spent = "requests served", result.pulls[index, run].sum(axis=-1).astype(np.float64)
        best = float(result.attainable[-1] / result.requests[-1])
    return Path(
        labels[index],
        run,
        across,
        spent,
        arms,
        arms.gathered(result.pulls[index, run].astype(np.float64)),
        reward,
        np.divide(reward, spent, out=np.zeros_like(reward), where=spent != 0),
        best,
    )
