"""simulate(): policies on a problem, over runs and budgets."""

import math
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from outlay import __version__
from outlay.arms.contextual import ContextualProblem
from outlay.arms.law import support_of
from outlay.arms.problem import Problem
from outlay.arms.problem_file import absent_laws
from outlay.checks import Vector, whole, word
from outlay.engine.limits import MODES, UNLIMITED, Limits, Mode, checked_limits, checked_world
from outlay.engine.oracle import Oracle
from outlay.engine.pieces import ChangingTask
from outlay.engine.task import BACKENDS, Backend, Task, backend_of, room_for
from outlay.errors import BadParameter, NotCovered, require
from outlay.parameters import is_record
from outlay.policies.protocol import Policy, check_policy, parameters_of, wants_budget, wants_requests, with_limits
from outlay.policies.ucb import UCBB1, UCBB2, UCBB2C, UCBM1
from outlay.progress import Report
from outlay.progress import progress as progress_bar
from outlay.results import Result
from outlay.text import listed

Policies = Policy | Sequence[Policy] | Mapping[str, Policy]


def simulate(
    problem: Problem,
    policies: Policies,
    budgets: ArrayLike | None = None,
    *,
    budget: float | None = None,
    requests: ArrayLike | None = None,
    mode: Mode = "until_exceeded",
    runs: int = 100,
    seed: int = 0,
    workers: int | None = None,
    backend: Backend = "threads",
    max_pulls: int = 10**9,
    progress: bool | Report | None = None,
    partial: bool = False,
) -> Result:
    """Play every policy on the problem until each budget is spent, `runs` times over.

    With requests, a run ends when the budget is spent or when as many pulls are made, whichever is first; what that
    could have brought is in docs/requests.md. Then the budget may be infinite, and arms may cost nothing on average.

    The best arm alone is not played here: `Result.oracle_reward` does it, in as many runs, when it is first asked for.

    Args:
        problem: the arms. They may change (`Problem.changing`), where budgets alone end a run, on threads.
        policies: one policy, a list of them, or a dict from label to policy.
        budgets: rising positive numbers.
        budget: instead of budgets, one number b: 25 budgets evenly spaced in the logarithm from b/1000 to b.
        requests: how many pulls can be made, N: one number for all budgets, or one for each; one budget serves several
            numbers, too. None: as many as the budget buys.
        mode: "until_exceeded": a run ends with the pull that passes the budget, as in the paper; "hard": the budget is
            never passed. Then only arms are pulled whose dearest pull fits what is left, as a campaign in hard mode
            does it, and a run ends when none fits; costs must be bounded.
        runs: how often each policy plays. Run i draws from the same random stream for every policy.
        seed: a whole number; the same seed gives the same numbers, bit for bit, whatever `workers` is.
        workers: threads, or worker processes of a cluster; None means every core, or all that the cluster has.
        backend: "threads"; "dask" or "ray", a cluster (docs/cluster.md): the same numbers, bit for bit; "cuda", a GPU
            (docs/gpu.md): other random numbers, the same laws.
        max_pulls: a run that has made this many pulls and has budget left raises `RunTooLong`.
        progress: a bar: True, False, or None for a terminal or a notebook only; or a function, called now and then
            with the part that is done, from 0 to 1.
        partial: whether Ctrl-C (in a notebook: interrupt) returns what is done. The result then covers as many runs,
            counted from the first, as every policy has finished; if there are none, or at a second Ctrl-C, it raises.

    >>> from outlay import arms, policies, Problem
    >>> problem = Problem([arms.Gaussian(1.0, 1.5, 0.5, 0.5), arms.Gaussian(1.0, 1.0, 0.5, 0.5)])
    >>> result = simulate(problem, policies.UCBB1(**problem.second_moments()), budgets=[100, 1000], runs=20)
    >>> result.pulls.shape
    (1, 20, 2, 2)
    """
    for unknown in absent_laws(*checked_world("simulate", problem, requests).laws):
        raise NotCovered(unknown.absent())
    labelled = _labelled(policies, len(problem))
    cheapest = min(float(piece.mean_costs.min()) for piece in problem.pieces)
    for policy in labelled.values():
        # The paper's b: a mean cost below it would be taken to be as large.
        if isinstance(policy, (UCBB1, UCBB2, UCBB2C, UCBM1)) and 0.0 < cheapest < policy.min_cost:
            allowed = f"at most {cheapest:g}, the smallest mean cost of the problem"
            raise BadParameter(type(policy).__name__, "min_cost", allowed, policy.min_cost)
    check_features(problem, labelled, backend)
    money, counts = checked_limits("simulate", budgets, budget, requests)
    limits = Limits.of(money, counts)
    hard = word("simulate", "mode", mode, MODES) == "hard"
    for name, law in zip(problem.names, problem.arms, strict=True):
        if hard and support_of(law).cost_high == math.inf:
            allowed = f"one whose costs are bounded where mode is 'hard', and those of {name!r} are not"
            raise BadParameter("simulate", "problem", allowed, law)
    runs = whole("simulate", "runs", runs, at_least=1)
    seed = whole("simulate", "seed", seed, at_least=0)
    workers = None if workers is None else whole("simulate", "workers", workers, at_least=1)
    max_pulls = whole("simulate", "max_pulls", max_pulls, at_least=1, at_most=2**62)
    if str(backend) not in BACKENDS:
        raise BadParameter("simulate", "backend", '"threads", "dask", "ray" or "cuda"', backend)
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise BadParameter("simulate", "progress", "True, False, None or a function", progress)
    if not isinstance(partial, bool):
        raise BadParameter("simulate", "partial", "True or False", partial)

    if problem.later and (counts is not None or hard or backend != "threads"):
        raise NotCovered("arms that change are played with budgets alone, until they are exceeded, on threads")

    require("simulate", "numba")
    crossings = room_for("simulate", len(labelled), runs, len(money), len(problem))
    pieces = len(problem.pieces) if problem.later else 0
    piece_pulls = np.zeros((*crossings.cost.shape, pieces, len(problem)), np.int64)
    tasks: list[Task] = []
    changing: list[ChangingTask] = []
    for i, (label, policy) in enumerate(labelled.items()):
        for part, player in _by_limits(policy, limits, hard):
            task = Task(
                problem, label, player, money[part], seed, max_pulls, crossings.part(i).part((slice(None), part)),
                requests=None if counts is None else counts[part], hard=hard,
            )  # fmt: skip
            if problem.later:
                changing.append(ChangingTask.of(task, piece_pulls[i, :, part]))
                task = changing[-1].played
            tasks.append(task)
    play = backend_of(backend)
    try:
        if backend == "threads":
            _compile(tasks, workers, progress)
        with progress_bar(runs * len(tasks), progress) as report:
            play(tasks, workers, report)
    except KeyboardInterrupt as asked:
        again = isinstance(asked.__context__, KeyboardInterrupt)  # while threads were still ending: they may be writing
        written = np.array([np.isfinite(task.crossings.reward).all(axis=1) for task in tasks])  # rewards come last
        open_runs = np.flatnonzero(~written.all(axis=0))
        done = int(open_runs[0]) if open_runs.size else runs
        if not partial or again or done == 0:
            raise
        runs, crossings, piece_pulls = done, crossings.part((slice(None), slice(done))), piece_pulls[:, :done]
    for each in changing:
        each.fill()
    shown = None if progress is None else progress is True  # a function has been told of all it was promised
    numbers = None if counts is None else tuple(counts.tolist())
    oracle = Oracle(problem, tuple(money.tolist()), seed, runs, max_pulls, backend, workers, shown, numbers, hard)
    return Result(
        problem=problem,
        policies=labelled,
        budgets=money,
        seed=seed,
        pulls=crossings.pulls,
        cost=crossings.cost,
        reward=crossings.reward,
        oracle_reward=cast("Vector", oracle),  # or what plays it, when it is first read
        version=__version__,
        requests=counts,
        mode=mode,
        piece_pulls=piece_pulls if problem.later else None,
    )


def _compile(tasks: Sequence[Task], workers: int | None, progress: bool | Report | None) -> None:
    """Compile first what is missing, on all cores, and say so: the first time takes seconds."""
    from outlay.engine.jit.compile import compile_all, cores_for, missing_of

    if missing := missing_of(tasks):
        shown = None if callable(progress) else progress
        words = f"compiling {listed([each.label for each in missing])}, once"
        with progress_bar(len(missing), shown, words, delay=0.0) as report:
            compile_all(missing, cores_for(workers), report)


def check_features(problem: Problem, labelled: Mapping[str, Policy], backend: Backend) -> None:
    """Refuse policies that ask for other features than the problem has, and a GPU."""
    if not isinstance(problem, ContextualProblem):
        return
    if backend == "cuda":
        raise NotCovered("a ContextualProblem is played on threads or a cluster, not on a GPU")
    features = problem.table.features.shape[1]
    for policy in labelled.values():
        given = parameters_of(policy).get("features", features)
        if given != features:
            raise BadParameter(type(policy).__name__, "features", f"{features}, as many as the problem has", given)


def _by_limits(policy: Policy, limits: Limits, hard: bool) -> list[tuple[slice, Policy]]:
    """Which limits one run can serve: all that rise together, or one at a time for a policy that looks at them."""
    told = wants_budget(policy) or (wants_requests(policy) and bool((limits.requests < UNLIMITED).any()))
    if not told:
        return [(part, policy) for part in limits.parts(alone=hard)]
    return [
        (slice(j, j + 1), with_limits(policy, budget, None if requests == UNLIMITED else int(requests)))
        for j, (budget, requests) in enumerate(zip(limits.budgets, limits.requests, strict=True))
    ]


def _labelled(policies: Policies, arms: int) -> dict[str, Policy]:
    """Label → policy, each checked."""
    if isinstance(policies, Mapping):
        labelled = dict(policies)
    else:
        several = isinstance(policies, (list, tuple)) and not is_record(policies)
        many = [*cast("Sequence[Policy]", policies)] if several else [cast("Policy", policies)]  # checked below
        labelled = {_label(policy): policy for policy in many}
        if len(labelled) < len(many):
            names = [_label(policy) for policy in many]
            twice = next(name for name in names if names.count(name) > 1)
            raise BadParameter("simulate", "policies", "a dict from label to policy where two have one name", twice)
    if not labelled:
        raise BadParameter("simulate", "policies", "at least one policy", policies)
    for label, policy in cast("dict[object, object]", labelled).items():
        if not isinstance(label, str) or not label.strip():
            raise BadParameter("simulate", "a label in policies", "a string that is not empty", label)
        check_policy("simulate", f"policy {label!r}", policy, arms)
    return labelled


def _label(policy: object) -> str:
    """A policy is labelled by its class; so is a class, of which `check_policy` says that it is none."""
    return policy.__name__ if isinstance(policy, type) else type(policy).__name__
