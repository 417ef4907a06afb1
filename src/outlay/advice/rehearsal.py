"""A rehearsal: policies play the log's own rows, drawn with replacement, until the budget is spent."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from outlay.arms import Empirical, Problem
from outlay.engine.simulate import simulate
from outlay.errors import RunTooLong
from outlay.policies.protocol import Policy
from outlay.results import Floats, Result, regret_summary

MOST_PULLS = 500_000  # of the best arm per run: a larger budget is rehearsed with a smaller one
MOST_RUNS, FEWEST_RUNS = 200, 20
WORK = 10**7  # pulls of a policy, over its runs


class Candidate(NamedTuple):
    """A policy, and how it did over the runs."""

    label: str
    policy: Policy
    reward: float  # mean
    stderr: float
    share: float  # of what the best arm earned
    regret: float  # Σ pulls·(mean cost)·gap: what was lost to other arms, mean
    regret_stderr: float
    bad_regret: float  # exceeded by one run in ten
    edge: float  # reward over that of the first candidate, in the same runs, mean
    edge_stderr: float
    in_turn: bool  # whether it had only tried every arm in turn when the budget was spent, as RoundRobin does


class Rehearsal(NamedTuple):
    """Candidates on the empirical problem of a log, from scratch."""

    budget: float
    runs: int
    seed: int
    best: str  # the arm with the best rate among the rows that were drawn from
    best_reward: float
    best_stderr: float
    best_low: float  # one run in ten of that arm alone earned less
    best_high: float  # one run in ten earned more
    candidates: list[Candidate]


def problem_of(samples: Mapping[str, Floats]) -> Problem:
    """The arms' rows, [cost or reward, row], as empirical laws."""
    return Problem([Empirical(*rows) for rows in samples.values()], names=list(samples))


def rehearse(
    problem: Problem,
    contenders: Mapping[str, Policy],
    budget: float,
    *,
    runs: int | None = None,
    seed: int = 0,
    workers: int | None = None,
) -> Rehearsal:
    """Play the contenders; a budget of more than half a million pulls is scaled down until they can be played."""
    price = float(problem.mean_costs[problem.best])
    pulls = budget / price
    if pulls > MOST_PULLS:
        budget, pulls = MOST_PULLS * price, MOST_PULLS
    count = runs or int(np.clip(WORK / max(pulls, 1.0), FEWEST_RUNS, MOST_RUNS))
    while True:
        try:
            result = simulate(
                problem, dict(contenders), [budget], runs=count, seed=seed, workers=workers, max_pulls=100 * MOST_PULLS
            )
            return summary(result)  # plays the best arm, whose runs can be too long as well
        except RunTooLong:
            budget /= 10.0


def summary(result: Result) -> Rehearsal:
    """The figures of a rehearsal at its largest budget."""
    rewards, oracle = result.reward[:, :, -1], result.oracle_reward[:, -1]
    lost = regret_summary(result)
    edges = rewards - rewards[0]
    candidates = [
        Candidate(
            label,
            policy,
            float(rewards[i].mean()),
            stderr(rewards[i]),
            float(rewards[i].mean() / oracle.mean()) if oracle.mean() > 0.0 else float("nan"),
            float(lost.mean[i, -1]),
            float(lost.stderr[i, -1]),
            float(lost.q90[i, -1]),
            float(edges[i].mean()),
            stderr(edges[i]),
            bool((np.ptp(result.pulls[i, :, -1], axis=-1) <= 1).all()),
        )
        for i, (label, policy) in enumerate(result.policies.items())
    ]
    best = result.problem.names[result.problem.best]
    low, high = np.quantile(oracle, [0.1, 0.9]).tolist()
    earned = float(oracle.mean()), stderr(oracle), low, high
    return Rehearsal(float(result.budgets[-1]), result.runs, result.seed, best, *earned, candidates)


def stderr(values: Floats) -> float:
    """The standard error of a mean; nan for one value."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
