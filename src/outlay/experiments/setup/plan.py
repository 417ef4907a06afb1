"""What an experiment comes to: one point per combination of swept values, and at each point one cell per policy.

A cell is one policy on one problem. Its key is a hash of everything that its result depends on: a result is reused
exactly where it would come out the same.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from outlay import __version__
from outlay.arms import Problem
from outlay.engine.limits import MODES, Mode, checked_limits, checked_world
from outlay.engine.task import Backend
from outlay.errors import BadFile, BadParameter, OutlayError
from outlay.experiments.setup.file import Experiment
from outlay.experiments.setup.sweep import Setup, Values, moved
from outlay.own.code import digests
from outlay.policies.protocol import Policy, as_data, wants_budget, wants_requests
from outlay.policies.trial import checked_policy

_LONGEST_NAME = 255  # bytes: what file systems take
_LARGEST = 1e100  # mean of an arm, as in logs


@dataclass(frozen=True, eq=False)
class Cell:
    """One policy on one problem."""

    problem: Problem
    policy: Policy
    budgets: tuple[float, ...]
    runs: int
    seed: int
    backend: Backend
    requests: tuple[int, ...] | None = None
    mode: Mode = MODES[0]

    @cached_property
    def key(self) -> str:
        """The SHA-256 of the content: problem, policy, budgets, runs, seed, random source, version of outlay.

        Requests and the mode are in it where they are not as they have always been, and the code of laws and policies
        of the user's.
        """
        content = {
            "problem": self.problem.to_toml(),
            "policy": as_data(self.policy),
            "budgets": self.budgets,
            "runs": self.runs,
            "seed": self.seed,
            "random": "cuda" if self.backend == "cuda" else "numpy",
            "version": __version__,
        }
        if self.requests is not None:
            content["requests"] = self.requests
        if self.mode != MODES[0]:
            content["mode"] = self.mode
        if code := digests(self.policy, *{type(law): law for law in self.problem.arms}.values()):
            content["code"] = code
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=repr).encode()).hexdigest()

    @property
    def name(self) -> str:
        """A short name for a file: the policy and the head of the key."""
        return f"{type(self.policy).__name__}-{self.key[:20]}"

    @property
    def pulls(self) -> float:
        """About how many pulls the policy makes in all runs: as many as the best arm would, or requests.

        One run serves all budgets, except of a policy that looks at them: then it is a run for each.
        """
        costs = self.problem.mean_costs
        if self.requests is None:
            each = [budget / float(costs[self.problem.best]) for budget in self.budgets]
        else:
            cheapest = float(costs[costs > 0].min())
            each = [min(b / cheapest, float(n)) for b, n in zip(self.budgets, self.requests, strict=True)]
        alone = wants_budget(self.policy) or wants_requests(self.policy) or self.mode == "hard"
        return self.runs * (sum(each) if alone else max(each))


class Point(NamedTuple):
    """A combination of swept values: the problem there, and one cell per label."""

    values: Values
    problem: Problem
    cells: dict[str, Cell]

    @property
    def title(self) -> str:
        """The values in words; empty without a sweep."""
        return title_of(self.values)

    @property
    def folder(self) -> str:
        """The values as the name of a folder."""
        return folder_of(self.values)


def title_of(values: Values) -> str:
    """Swept values in words.

    >>> title_of({"correlation": 0.5, "K": 10})
    'correlation = 0.5, K = 10'
    """
    return ", ".join(f"{name} = {shown(value)}" for name, value in values.items())


def folder_of(values: Values) -> str:
    """Swept values as the name of a folder.

    >>> folder_of({"tail index": 2.5, "form": "a/b"})
    'tail_index=2.5,form=a_b'
    """
    words = ",".join(f"{name}={shown(value)}" for name, value in values.items())
    return re.sub(r"[^\w.,=+-]", "_", words.replace("−", "-"))


def points_of(experiment: Experiment) -> list[Point]:
    """All points of an experiment, the last sweep varying fastest; BadFile where one cannot be set up."""
    points = [
        _point(experiment, dict(zip((sweep.name for sweep in experiment.sweeps), values, strict=True)))
        for values in product(*(sweep.values for sweep in experiment.sweeps))
    ]
    folders = [point.folder for point in points]
    for i, folder in enumerate(folders):
        if (length := len(os.fsencode(folder))) > _LONGEST_NAME:
            name = f"the name of the folder for {folder[:40]}… would have {length} bytes; {_LONGEST_NAME} are allowed"
            raise BadFile(f"{experiment.source}: {name}: give the sweep a shorter `name`, or shorter values")
        if folder in folders[:i]:
            other = points[folders.index(folder)]
            both = f"{other.title} and {points[i].title}"
            raise BadFile(f"{experiment.source}: {both} would share the folder {folder}")
    return points


def _point(experiment: Experiment, values: Values) -> Point:
    point = Point(values, experiment.problem, {})
    setup = Setup(experiment.problem, experiment.players, experiment.budgets, experiment.requests)
    try:
        for sweep in experiment.sweeps:
            for target in sweep.over:
                setup = moved(setup, target, values[sweep.name])
        checked_limits("simulate", setup.budgets, None, setup.requests)
        _check_size(checked_world("simulate", setup.problem, setup.requests))
        cells = {}
        for player in setup.players:
            policy = checked_policy("simulate", "policies", player.on(setup.problem), len(setup.problem))
            cells[player.label] = Cell(
                setup.problem, policy, setup.budgets, experiment.runs, experiment.seed, experiment.backend,
                setup.requests, experiment.mode,
            )  # fmt: skip
    except OutlayError as error:
        raise BadFile(f"{experiment.source}: {error}" + (f" (at {point.title})" if values else "")) from None
    return point._replace(problem=setup.problem, cells=cells)


def _check_size(problem: Problem) -> None:
    """Refuse means whose sums over many pulls would leave the range of floating point."""
    for name, means in (("mean cost", problem.mean_costs), ("mean reward", problem.mean_rewards)):
        if (largest := float(np.abs(means).max())) > _LARGEST:
            raise BadParameter("an arm", name, f"within ±{_LARGEST:g}", largest)


def shown(value: object) -> str:
    """A swept value as text."""
    return value if isinstance(value, str) else f"{value:.12g}".replace("-", "−")
