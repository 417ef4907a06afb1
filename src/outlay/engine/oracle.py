"""The best arm alone, in the runs of a simulation: played when somebody asks what it earned, and not before.

With requests beside the budget no single arm is optimal, as a rule; what is played then is the best single arm.

Few do: the pseudo-regret, frames and most figures need pulls only, and a simulation of one policy would take twice as
long with it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from outlay.arms.contextual import ContextualProblem
from outlay.arms.law import support_of
from outlay.arms.problem import Problem
from outlay.engine.choose_arm import NONE_FITS, Affordable, ChoiceCache, decide_within, forget
from outlay.engine.limits import UNLIMITED, Limits, Mode
from outlay.engine.loop import next_request
from outlay.engine.pieces import ChangingTask
from outlay.engine.task import Backend, Task, backend_of, room_for
from outlay.errors import BadParameter, NotCovered, require
from outlay.policies import Fixed
from outlay.policies.protocol import Policy, check_memory, with_limits
from outlay.progress import progress as progress_bar
from outlay.results import Floats

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
    requests: tuple[int, ...] | None = None
    hard: bool = False

    def __call__(self) -> Floats:
        """Play the best arm as a problem of its own, with no room for the others' pulls: it draws the same numbers.

        Once only; nobody may write what several results share.
        """
        if (known := _played.get(self)) is not None:
            return known
        require("oracle_reward", "numba")
        backend: Backend = self.backend
        if backend in ("dask", "ray"):  # a cluster's random numbers are those of threads, which play once it is gone
            from outlay.engine.cluster import connected

            backend = backend if connected(backend) else "threads"
        if self.problem.later:
            return self._shared(self._changing())
        tasks = list(self._tasks())
        with progress_bar(self.runs * len(tasks), self.progress, "playing the best arm") as report:
            backend_of(backend)([task for _, task in tasks], self.workers, report)
        earned: Floats = np.empty((self.runs, len(self.budgets)))
        for places, task in tasks:
            earned[:, places] = task.crossings.reward
        return self._shared(earned)

    def _shared(self, earned: Floats) -> Floats:
        earned.setflags(write=False)
        _played[self] = earned
        return earned

    def _changing(self) -> Floats:
        """The arm that is best at the moment, whenever it changes."""
        best = [Problem([piece.arms[piece.best]]) for piece in self.problem.pieces]
        problem = Problem.changing(zip(self.problem.starts.tolist(), best, strict=True))
        room = room_for("oracle_reward", 1, self.runs, len(self.budgets), 1).part(0)
        task = Task(
            problem, "the oracle", Fixed(0), np.array(self.budgets), self.seed, self.max_pulls, room, warn=False
        )
        changing = ChangingTask.of(task, np.zeros((self.runs, len(self.budgets), len(best), 1), np.int64))
        with progress_bar(self.runs, self.progress, "playing the best arm") as report:
            backend_of(self.backend)([changing.played], self.workers, report)
        changing.fill()
        return room.reward

    def _tasks(self) -> Iterator[tuple[NDArray[np.intp], Task]]:
        """What to play, and the places of the limits that it serves: with requests, they may have different arms."""
        counts = None if self.requests is None else np.array(self.requests)
        limits = Limits.of(np.array(self.budgets), counts)
        best = best_alone(self.problem, limits)
        for arm in np.unique(best):
            mine = np.flatnonzero(best == arm)
            for part in Limits.of(limits.budgets[mine], limits.requests[mine]).parts(alone=self.hard):
                places = mine[part]
                crossings = room_for("oracle_reward", 1, self.runs, len(places), 1).part(0)
                yield places, Task(
                    Problem([self.problem.arms[arm]]), f"the oracle, Fixed({arm})", Fixed(0), limits.budgets[places],
                    self.seed, self.max_pulls, crossings, warn=False,
                    requests=None if counts is None else counts[places], hard=self.hard,
                )  # fmt: skip


def best_alone(problem: Problem, limits: Limits) -> NDArray[np.intp]:
    """The arm that brings most alone, for each pair of limits: R_k·min(N, B/X_k) on average.

    Where requests are not limited it is the arm with the largest rate.

    >>> from outlay.arms import Constant
    >>> problem = Problem([Constant(1, 3), Constant(4, 6), Constant(10, 9)])
    >>> best_alone(problem, Limits.of(np.array([100.0, 400.0, 1000.0]), np.array([100, 100, 100])))
    array([0, 1, 2])
    """
    if (limits.requests == UNLIMITED).all():
        return np.full(len(limits.budgets), problem.best)
    costs = problem.mean_costs
    with np.errstate(divide="ignore", over="ignore"):
        bought = np.where(costs > 0, limits.budgets[:, None] / np.where(costs > 0, costs, 1.0), np.inf)
    best: NDArray[np.intp] = (problem.mean_rewards * np.minimum(bought, limits.requests[:, None])).argmax(axis=1)
    return best


class Step(NamedTuple):
    """One pull and what it brought; `spent` counts it."""

    arm: int
    cost: float
    reward: float
    spent: float


def trace(
    problem: Problem,
    policy: Policy,
    budget: float,
    seed: int = 0,
    run: int = 0,
    *,
    requests: int | None = None,
    mode: Mode = "until_exceeded",
) -> Iterator[Step]:
    """The pulls of a run of `simulate(problem, policy, [budget], seed=seed, …)`, draw for draw.

    They end when the budget is spent, or as many requests are served; in hard mode, when no arm's dearest pull fits.

    >>> from outlay import Problem, arms, policies
    >>> problem = Problem([arms.Constant(1.0, 0.5), arms.Constant(2.0, 0.5)])
    >>> [step.arm for step in trace(problem, policies.RoundRobin(), budget=5.0)]
    [0, 1, 0, 1]
    >>> [step.arm for step in trace(problem, policies.RoundRobin(), budget=5.0, requests=3)]
    [0, 1, 0]
    """
    if problem.later and (requests is not None or mode == "hard"):
        raise NotCovered("arms that change are played with a budget alone, until it is exceeded")
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run,)))
    policy, memory = with_limits(policy, budget, requests), check_memory("trace", policy, len(problem))
    pulls, cache = np.zeros(len(problem), np.int64), ChoiceCache.start(len(problem))
    forget(cache)
    dearest = [support_of(law).cost_high if mode == "hard" else -math.inf for law in problem.arms]
    affordable = Affordable.start(np.array(dearest))
    laws, changes = problem.laws, problem.starts[1:]
    spent, n, request, piece = 0.0, 0, 0, 0
    table = problem.table if isinstance(problem, ContextualProblem) else None
    while spent <= budget and (requests is None or n < requests):
        if memory.full():
            memory = memory.enlarged()
        if table is not None:
            request = next_request(table, memory, rng)
        arm = decide_within(policy, memory, pulls, spent, 0.0, n, cache, affordable, budget, rng)
        if arm == NONE_FITS:
            return
        if not 0 <= arm < len(pulls):
            raise BadParameter(type(policy).__name__, "the arm that choose returns", f"0 to {len(pulls) - 1}", arm)
        if table is None:
            cost, reward = laws[len(pulls) * piece + arm].draw(rng)
        else:
            cost, reward = table.pull_for(request, arm, rng)
        memory.observe(arm, cost, reward)
        pulls[arm] += 1
        affordable.totals[arm] += cost, reward
        n += 1
        spent += cost
        while piece < len(changes) and spent > changes[piece]:  # where costs are negative, none comes back
            piece += 1
        yield Step(arm, cost, reward, spent)
