"""Runs on a problem whose arms change: they note their pulls at every change, so that these are known piece by piece.

The loop knows nothing of pieces: a change is one more limit to pass, after which other laws are drawn from.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from outlay.checks import Vector
from outlay.engine.limits import Counts
from outlay.engine.loop import Crossings
from outlay.engine.task import Task, room_for


class ChangingTask(NamedTuple):
    """A task as it was asked for, and as it is played: with a limit at each change."""

    asked: Task
    played: Task
    pulls: Counts  # [run, budget, piece, arm]: to be filled in

    @staticmethod
    def of(asked: Task, pulls: Counts) -> "ChangingTask":
        """With room of its own for what the limits see."""
        problem, starts = asked.problem, asked.problem.starts
        limits = np.union1d(starts[(starts > 0.0) & (starts < asked.budgets[-1])], asked.budgets)
        room = room_for("simulate", 1, asked.runs, len(limits), len(problem)).part(0)
        laws = len(problem) * _pieces(starts, limits)
        return ChangingTask(asked, replace(asked, budgets=limits, crossings=room, laws=laws), pulls)

    def fill(self) -> None:
        """Write what was played where it was asked for."""
        limits, room = self.played.budgets, self.played.crossings
        places = np.searchsorted(limits, self.asked.budgets)
        self.asked.crossings.fill(Crossings(room.pulls[:, places], room.cost[:, places], room.reward[:, places]))
        made = np.diff(room.pulls, axis=1, prepend=0)
        in_piece = _pieces(self.asked.problem.starts, limits)[:, None] == np.arange(self.pulls.shape[2])
        self.pulls[...] = (made[:, :, None] * in_piece[:, :, None]).cumsum(axis=1)[:, places]


def _pieces(starts: Vector, limits: Vector) -> Counts:
    """The piece that holds before each limit is passed."""
    before = np.concatenate([[0.0], limits[:-1]])
    return np.searchsorted(starts, before, side="right") - 1
