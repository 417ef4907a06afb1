"""Confidence intervals of the arms' rates along one run: how they close in where the policy pulls."""

from typing import NamedTuple

import numpy as np

from outlay import policies
from outlay.arms import Problem
from outlay.arms.problem import checked_problem
from outlay.beliefs import Moments
from outlay.checks import real, whole
from outlay.engine.oracle import trace
from outlay.errors import BadParameter
from outlay.formulas.fieller_limit import fieller_interval
from outlay.policies.protocol import Policy
from outlay.policies.trial import checked_policy
from outlay.report.numbers.curves import Floats
from outlay.text import shortened

MOST_ARMS = 6
_POINTS = 80  # of the budget, evenly spaced in the logarithm from a thousandth of it
_PULLS = 1000  # of the arm with the largest mean cost: a budget where none is given
_MOST_PULLS = 200_000  # the run is played in Python
_VIEW = 0.75  # of the range of the rates, above and below it: intervals go on beyond


class Intervals(NamedTuple):
    """Each shown arm's Fieller interval at each point of the run; ±∞ while the samples rule nothing out."""

    policy: str
    coverage: float
    spent: Floats  # [point]
    arms: list[str]  # the best first
    low: Floats  # [arm, point]
    high: Floats  # [arm, point]
    rate: Floats  # [arm]: the true ones
    view: tuple[float, float]
    pulls: list[int]  # of every arm of the problem, at the end


def intervals(
    problem: Problem, policy: Policy | None = None, budget: float | None = None, seed: int = 0, coverage: float = 0.95
) -> Intervals:
    """Play run 0 of `simulate(problem, policy, [budget], seed=seed)`, draw for draw, and note every arm's interval."""
    owner = "intervals_figure"
    checked_problem(owner, problem)
    policy = checked_policy(owner, "policy", policies.default() if policy is None else policy, len(problem))
    top = float(problem.mean_costs.max() * _PULLS) if budget is None else real(owner, "budget", budget, above=0)
    coverage = real(owner, "coverage", coverage, above=0, below=1)
    seed = whole(owner, "seed", seed, at_least=0)
    if top / problem.mean_costs.min() > _MOST_PULLS:
        raise BadParameter(
            owner, "budget", f"small enough for at most {_MOST_PULLS:,} pulls, which Python plays", budget
        )
    marks = np.geomspace(top / 1000.0, top, _POINTS)
    ends, spent, pulls = _watched(problem, policy, marks, seed, coverage)
    shown = sorted(range(len(problem)), key=lambda k: (problem.gaps[k], k))[:MOST_ARMS]
    rates = np.asarray(problem.rates)[shown]
    margin = _VIEW * (float(np.ptp(rates)) or abs(float(rates[0])) or 1.0)
    return Intervals(
        type(policy).__name__,
        coverage,
        spent,
        [shortened(problem.names[k]) for k in shown],
        ends[:, shown, 0].T,
        ends[:, shown, 1].T,
        rates,
        (float(rates.min()) - margin, float(rates.max()) + margin),
        pulls,
    )


def _watched(
    problem: Problem, policy: Policy, marks: Floats, seed: int, coverage: float
) -> tuple[Floats, Floats, list[int]]:
    """Intervals [point, arm, end] and the budget spent at each mark's first passage; the pulls in all."""
    seen, pulls = Moments.empty(len(problem)), [0] * len(problem)
    ends, at, passed = np.empty((len(marks), len(problem), 2)), np.empty(len(marks)), 0
    for made, step in enumerate(trace(problem, policy, float(marks[-1]), seed), 1):
        seen.observe(step.arm, step.cost, step.reward)
        pulls[step.arm] += 1
        if made > _MOST_PULLS:
            raise BadParameter("intervals_figure", "budget", f"spent within {_MOST_PULLS:,} pulls", marks[-1])
        while passed < len(marks) and step.spent > marks[passed]:
            ends[passed] = [fieller_interval(seen.belief(arm), coverage) for arm in range(len(problem))]
            at[passed] = step.spent
            passed += 1
    return ends, at, pulls
