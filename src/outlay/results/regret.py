"""Regret from what the runs did: per run, then summed up over runs.

Two estimates of the same quantity, the reward of π* (always the best arm) minus the reward of the policy:

* pseudo: Σ_k T_k μ_k Δ_k, from the pull counts alone. By Wald's identity it has the mean of the realised regret (up to
  the overshoot of the last pull) and far less variance.
* realised: the mean reward of π*, simulated on the same streams, minus the reward the run earned.

Where requests are limited beside the budget, N·f(B/N) stands for the reward of π* (docs/requests.md): no policy earns
more, but for what it overspends. The identity of `theory.fluid_regret` then gives the pseudo-regret.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from outlay.arms import Problem
from outlay.errors import BadParameter

Floats = NDArray[np.float64]

RegretKind = Literal["pseudo", "realised"]
REGRET_KINDS: tuple[RegretKind, ...] = get_args(RegretKind)
COVERAGE = 0.95


class Summary(NamedTuple):
    """A per-run quantity summed up over runs; every field is an array over [policy, budget]."""

    mean: Floats
    stderr: Floats
    low: Floats
    high: Floats
    q10: Floats
    q50: Floats
    q90: Floats


def check_kind(kind: object) -> RegretKind:
    """The kind, if it names an estimate of regret; else BadParameter."""
    if not isinstance(kind, str) or kind not in REGRET_KINDS:
        raise BadParameter("regret", "kind", '"pseudo" or "realised"', kind)
    return kind


def pseudo(pulls: NDArray[np.int64], mean_costs: Floats, gaps: Floats) -> Floats:
    """Σ_k T_k μ_k Δ_k over the last axis of `pulls`.

    >>> pseudo(np.array([[10, 4]]), np.array([1.0, 2.0]), np.array([0.0, 0.5]))
    array([4.])
    """
    return np.asarray(pulls @ (mean_costs * gaps), dtype=np.float64)


def fluid(
    problem: Problem, budgets: Floats, requests: NDArray[np.int64], pulls: NDArray[np.int64], cost: Floats
) -> Floats:
    """ν·(N − τ) + λ·(B − S) + Σ_k Δ_k T_k for every policy, run and pair of a budget and requests."""
    from outlay.theory import fluid_regret  # here, since all of theory comes with it

    pairs = enumerate(zip(budgets.tolist(), requests.tolist(), strict=True))
    each = [fluid_regret(problem, b, n, pulls[..., j, :], cost[..., j]).total for j, (b, n) in pairs]
    return np.stack(each, axis=-1)


def fluid_rewards(problem: Problem, budgets: Floats, requests: NDArray[np.int64]) -> Floats:
    """N·f(B/N), the most that each pair of a budget and requests can bring."""
    from outlay.theory import fluid as optimum

    pairs = zip(budgets.tolist(), requests.tolist(), strict=True)
    return np.array([n * optimum(problem, b, n).value for b, n in pairs])


def realised(reward: Floats, oracle_reward: Floats) -> Floats:
    """The mean reward of π* over runs minus each run's reward: [policy, run, budget]."""
    return np.asarray(oracle_reward.mean(axis=0) - reward, dtype=np.float64)


def fluid_gaps(problem: Problem, budget: float, requests: int) -> Floats:
    """ν + λE[X] − E[R] of each arm."""
    from outlay.theory import request_gaps

    return request_gaps(problem, budget, requests)


def summary(per_run: Floats, paired: Floats | None = None) -> Summary:
    """Mean, standard error, 95 % Student interval and quantiles over runs (axis 1 of [policy, run, budget]).

    `paired` holds per-run values of the same mean whose scatter gives the standard error. For the realised regret these
    are the differences oracle_reward − reward within each run: runs are independent of each other, so the scatter of
    the differences is an honest error of their mean whatever the correlation within a run, and since both sides draw
    from the same stream that correlation is mostly positive, which makes the error smaller than that of two separate
    sets of runs. One run says nothing about its scatter: stderr, low and high are then nan.
    """
    runs = per_run.shape[1]
    mean = per_run.mean(axis=1)
    if runs == 1:
        stderr = np.full_like(mean, np.nan)
    else:
        stderr = (per_run if paired is None else paired).std(axis=1, ddof=1) / np.sqrt(runs)
    half = _student(runs - 1) * stderr
    q10, q50, q90 = np.quantile(per_run, [0.1, 0.5, 0.9], axis=1)
    return Summary(mean, stderr, mean - half, mean + half, q10, q50, q90)


def _student(degrees: int) -> float:
    """The half-width, in standard errors, of the two-sided Student interval."""
    if degrees == 0:
        return float("nan")
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.5 + COVERAGE / 2))
