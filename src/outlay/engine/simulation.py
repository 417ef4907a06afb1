"""simulate(): policies on a problem, over runs and budgets."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from outlay._version import __version__
from outlay.arms.problem import Problem, checked_problem
from outlay.checks import Vector, real, vector, whole
from outlay.engine.loop import Outcome
from outlay.engine.progress import Report
from outlay.engine.progress import progress as progress_bar
from outlay.engine.task import Task
from outlay.errors import BadParameter
from outlay.extras import require
from outlay.parameters import is_record
from outlay.policies import Fixed
from outlay.policies.protocol import checked_policy, told
from outlay.results.result import Result

_BACKENDS = {  # and where each is, imported when it is used
    "threads": ("threads", "run"),
    "dask": ("cluster", "run_on_dask"),
    "ray": ("cluster", "run_on_ray"),
    "cuda": ("cuda", "run"),
}


def simulate(
    problem: Problem,
    policies: Any,
    budgets: ArrayLike | None = None,
    *,
    budget: float | None = None,
    runs: int = 100,
    seed: int = 0,
    workers: int | None = None,
    backend: str = "threads",
    max_pulls: int = 10**9,
    progress: bool | Report | None = None,
    partial: bool = False,
) -> Result:
    """Play every policy on the problem until each budget is spent, `runs` times over.

    Args:
        problem: the arms.
        policies: one policy, a list of them, or a dict from label to policy.
        budgets: rising positive numbers.
        budget: instead of budgets, one number b: 25 budgets evenly spaced in the logarithm from b/1000 to b.
        runs: how often each policy plays. Run i draws from the same random stream for every policy.
        seed: a whole number; the same seed gives the same numbers, bit for bit, whatever `workers` is.
        workers: threads, or worker processes of a cluster; None means every core, or all that the cluster has.
        backend: "threads"; "dask" or "ray", a cluster (docs/cluster.md): the same numbers, bit for bit; "cuda", a GPU
            (docs/gpu.md): other random numbers, the same laws.
        max_pulls: a run that has made this many pulls and has budget left raises `RunTooLong`.
        progress: a bar: True, False, or None for a terminal or a notebook only; or a function, called now and then
            with the part that is done, from 0 to 1.
        partial: whether Ctrl-C (in a notebook: interrupt) returns what is done. The result is then that of as many
            runs, from the first on, as every policy has finished; with none, or at a second Ctrl-C, it raises.

    >>> from outlay import arms, policies, Problem
    >>> problem = Problem([arms.Gaussian(1.0, 1.5, 0.5, 0.5), arms.Gaussian(1.0, 1.0, 0.5, 0.5)])
    >>> result = simulate(problem, policies.UCBB1(**problem.second_moments()), budgets=[100, 1000], runs=20)
    >>> result.pulls.shape
    (1, 20, 2, 2)
    """
    checked_problem("simulate", problem)
    labelled = _labelled(policies, len(problem))
    limits = _budgets(budgets, budget)
    runs = whole("simulate", "runs", runs, at_least=1)
    seed = whole("simulate", "seed", seed, at_least=0)
    workers = None if workers is None else whole("simulate", "workers", workers, at_least=1)
    max_pulls = whole("simulate", "max_pulls", max_pulls, at_least=1, at_most=2**62)
    if str(backend) not in _BACKENDS:
        raise BadParameter("simulate", "backend", '"threads", "dask", "ray" or "cuda"', backend)
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise BadParameter("simulate", "progress", "True, False, None or a function", progress)
    if not isinstance(partial, bool):
        raise BadParameter("simulate", "partial", "True or False", partial)

    require("simulate", "numba")
    oracle = (f"the oracle, Fixed({problem.best})", Fixed(problem.best))
    outcome = _room(len(labelled) + 1, runs, len(limits), len(problem))
    tasks = [
        Task(problem, label, player, limits[part], seed, max_pulls, outcome.part(i).part((slice(None), part)))
        for i, (label, policy) in enumerate([*labelled.items(), oracle])
        for part, player in _by_budget(policy, limits)
    ]
    module, function = _BACKENDS[str(backend)]
    play = getattr(import_module(f"outlay.engine.backends.{module}"), function)
    try:
        with progress_bar(runs * len(tasks), progress) as report:
            play(tasks, workers, report)
    except KeyboardInterrupt as asked:
        again = isinstance(asked.__context__, KeyboardInterrupt)  # while threads were still ending: they may be writing
        done = _finished(outcome)
        if not partial or again or done == 0:
            raise
        outcome = outcome.part((slice(None), slice(done)))
    mine = outcome.part(slice(len(labelled)))
    return Result(
        problem=problem,
        policies=labelled,
        budgets=limits,
        seed=seed,
        pulls=mine.pulls,
        cost=mine.cost,
        reward=mine.reward,
        oracle_reward=outcome.reward[-1],
        version=__version__,
    )


def _by_budget(policy: Any, budgets: Vector) -> list[tuple[slice, Any]]:
    """Which budgets one run can serve: all of them, or one at a time for a policy that looks at the budget."""
    if "budget" not in policy._fields:
        return [(slice(None), policy)]
    return [(slice(j, j + 1), told(policy, budget)) for j, budget in enumerate(budgets)]


def _room(policies: int, runs: int, budgets: int, arms: int) -> Outcome:
    """Where all runs' outcomes go; rewards are nan until then."""
    shape = (policies, runs, budgets)
    try:
        return Outcome(np.zeros((*shape, arms), np.int64), np.zeros(shape), np.full(shape, np.nan))
    except (MemoryError, ValueError):  # numpy: too large for this machine, too large for any
        size = 8.0 * policies * runs * budgets * (arms + 2)
        raise BadParameter("simulate", "runs", f"small enough: these need {size:.1e} bytes of memory", runs) from None


def _finished(outcome: Outcome) -> int:
    """How many runs, from the first on, every policy has finished: a run's rewards are written last."""
    open_runs = np.flatnonzero(~np.isfinite(outcome.reward).all(axis=(0, 2)))
    return int(open_runs[0]) if open_runs.size else outcome.reward.shape[1]


def _budgets(budgets: ArrayLike | None, budget: float | None) -> Vector:
    if (budgets is None) == (budget is None):
        raise BadParameter("simulate", "budgets or budget", "given, and not both", (budgets, budget))
    if budgets is None:
        top = real("simulate", "budget", budget, above=0)
        if top < 1e-300:
            raise BadParameter("simulate", "budget", "≥ 1e-300, so that a thousandth of it is a number", budget)
        return usual_budgets(top)
    limits = vector("simulate", "budgets", budgets, above=0)
    if (np.diff(limits) <= 0).any():
        raise BadParameter("simulate", "budgets", "in rising order, each once", budgets)
    return np.array(limits)


def usual_budgets(top: float) -> Vector:
    """What `budget=top` stands for: 25 budgets evenly spaced in the logarithm, from a thousandth of it."""
    return np.geomspace(top / 1000, top, 25)


def _labelled(policies: Any, arms: int) -> dict[str, Any]:
    """Label → policy, each checked."""
    if isinstance(policies, Mapping):
        labelled = dict(policies)
    else:
        many = list(policies) if isinstance(policies, (list, tuple)) and not is_record(policies) else [policies]
        labelled = {type(policy).__name__: policy for policy in many}
        if len(labelled) < len(many):
            names = [type(policy).__name__ for policy in many]
            twice = next(name for name in names if names.count(name) > 1)
            raise BadParameter("simulate", "policies", "a dict from label to policy where two have one name", twice)
    if not labelled:
        raise BadParameter("simulate", "policies", "at least one policy", policies)
    for label, policy in labelled.items():
        if not isinstance(label, str) or not label.strip():
            raise BadParameter("simulate", "a label in policies", "a string that is not empty", label)
        checked_policy("simulate", f"policy {label!r}", policy, arms)
    return labelled
