"""The best arm alone, in the runs of a simulation: played when somebody asks what it earned, and not before.

Few do: the pseudo-regret, frames and most figures need pulls only, and a simulation of one policy would take twice as
long with it.
"""

from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import numpy as np

from outlay.arms.problem import Problem
from outlay.engine.backends import Backend, backend_of
from outlay.engine.progress import progress as progress_bar
from outlay.engine.room import room_for
from outlay.engine.task import Task
from outlay.extras import require
from outlay.policies import Fixed
from outlay.results.result import Floats

# What somebody still holds: the cells of an experiment on one problem share it.
_played: "WeakValueDictionary[Oracle, Floats]" = WeakValueDictionary()


@dataclass(frozen=True)
class Oracle:
    """π* in the first `runs` runs of a simulation. Called, it plays them and gives its rewards, [run, budget]."""

    problem: Problem
    budgets: tuple[float, ...]
    seed: int
    runs: int
    max_pulls: int
    backend: Backend
    workers: int | None = field(default=None, compare=False)
    progress: bool | None = field(default=None, compare=False)

    def __call__(self) -> Floats:
        """Play them, unless that has been done; nobody may write what several results share."""
        earned = _played.get(self)
        if earned is None:
            _played[self] = earned = self._play()
            earned.setflags(write=False)
        return earned

    def _play(self) -> Floats:
        """Play the best arm as a problem of its own, with no room for the others' pulls: it draws the same numbers."""
        require("oracle_reward", "numba")
        best = self.problem.best
        alone = Problem([self.problem.arms[best]])
        passages = room_for("oracle_reward", 1, self.runs, len(self.budgets), 1).part(0)
        label = f"the oracle, Fixed({best})"
        task = Task(
            alone, label, Fixed(0), np.array(self.budgets), self.seed, self.max_pulls, passages, warn=False
        )  # fmt: skip
        with progress_bar(self.runs, self.progress, "playing the best arm") as report:
            backend_of(self._where())([task], self.workers, report)
        return passages.reward

    def _where(self) -> Backend:
        """The backend that has the same random numbers: a cluster's are those of threads, once it is gone."""
        if self.backend in ("dask", "ray"):
            from outlay.engine.backends.cluster import connected

            return self.backend if connected(self.backend) else "threads"
        return self.backend
