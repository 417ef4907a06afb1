"""Confidence intervals of the arms' rates along one run: how they close in where the policy pulls."""

import math
from typing import Any, NamedTuple

import numpy as np

from outlay import policies
from outlay.arms import Problem
from outlay.arms.problem import checked_problem
from outlay.beliefs import Belief, Moments
from outlay.campaign.learner import Learner
from outlay.errors import BadParameter
from outlay.parameters import real, whole
from outlay.policies.fieller_limit import fieller_limit
from outlay.policies.protocol import checked_policy
from outlay.report.curves import Floats, shortened

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
    problem: Problem, policy: Any = None, budget: float | None = None, seed: int = 0, coverage: float = 0.95
) -> Intervals:
    """Play run 0 of `simulate(problem, policy, [budget], seed=seed)`, draw for draw, and keep every arm's interval."""
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
    ends, spent, pulls = _play(problem, policy, marks, seed, coverage)
    shown = sorted(range(len(problem)), key=lambda k: (problem.gaps[k], k))[:MOST_ARMS]
    rates = np.asarray(problem.rates)[shown]
    reach = _VIEW * (float(np.ptp(rates)) or abs(float(rates[0])) or 1.0)
    return Intervals(
        type(policy).__name__,
        coverage,
        spent,
        [shortened(problem.names[k]) for k in shown],
        ends[:, shown, 0].T,
        ends[:, shown, 1].T,
        rates,
        (float(rates.min()) - reach, float(rates.max()) + reach),
        pulls,
    )


def fieller_interval(belief: Belief, coverage: float = 0.95) -> tuple[float, float]:
    """The rates that the samples of an arm do not rule out: Student's interval of R − rX, inverted (Fieller, 1954).

    >>> belief = Belief(arm=0, pulls=100, mean_cost=1.0, mean_reward=0.8, var_cost=0.04, var_reward=0.09, cov=0.03)
    >>> [round(end, 3) for end in fieller_interval(belief)]
    [0.748, 0.852]
    """
    if belief.pulls < 2:
        return -math.inf, math.inf
    from scipy.special import stdtrit

    quantile = float(stdtrit(belief.pulls - 1, 0.5 + coverage / 2.0))
    g = quantile * quantile / (belief.pulls - 1)
    mirrored = belief._replace(mean_reward=-belief.mean_reward, cov=-belief.cov)
    low, high = (fieller_limit(b.mean_cost, b.mean_reward, b, g) for b in (mirrored, belief))
    return -low, high


def _play(problem: Problem, policy: Any, marks: Floats, seed: int, coverage: float) -> tuple[Floats, Floats, list[int]]:
    """Intervals [point, arm, end] and the budget spent at each mark's first passage; the pulls in all."""
    rng: Any = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    learner, seen = Learner(policy, len(problem), float(marks[-1])), Moments.empty(len(problem))
    ends, at, spent = np.empty((len(marks), len(problem), 2)), np.empty(len(marks)), 0.0
    everyone = range(len(problem))
    for point, mark in enumerate(marks):
        while spent <= mark:
            arm = learner.choose(everyone, (), spent, rng)
            cost, reward = problem.arms[arm].draw(rng)
            learner.observe(arm, cost, reward, rng)
            seen.observe(arm, cost, reward)
            spent += cost
            if learner.pulls.sum() > _MOST_PULLS:
                raise BadParameter("intervals_figure", "budget", f"spent within {_MOST_PULLS:,} pulls", marks[-1])
        ends[point] = [fieller_interval(seen.belief(arm), coverage) for arm in everyone]
        at[point] = spent
    return ends, at, learner.pulls.tolist()
