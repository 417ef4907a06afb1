"""What is played. A law class costs every policy a compilation, so few classes make many problems."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.leaderboard.contexts import Contextual, that_carry_features
from benchmarks.leaderboard.drift import Changing, that_change
from benchmarks.leaderboard.many import Drawn, many_arms
from benchmarks.leaderboard.real import LOGS, real_problems
from benchmarks.leaderboard.requests import Rationed, with_requests
from benchmarks.leaderboard.two_point import two_point
from outlay import Problem
from outlay.arms import Bernoulli, Beta, Discrete, Gaussian, Lognormal, Pareto, catalogue

DATA = "OUTLAY_DATA"  # the environment variable that names the folder of the logs
COSTS, RATES = (1.0, 1.2, 0.8, 1.0, 1.5), (1.0, 0.8, 0.7, 0.6, 0.4)  # as in the catalogue's gaussian5


class Entry(NamedTuple):
    """A problem with its name and the group that it is counted in."""

    name: str
    group: str
    problem: Problem

    @property
    def mean_cost(self) -> float:
        """The unit of its budgets: the mean over its arms of their mean costs."""
        return float(self.problem.mean_costs.mean())

    @property
    def runs(self) -> int:
        """How many to play where nobody asks for another number."""
        return 500

    @property
    def arms(self) -> int:
        """How many there are."""
        return len(self.problem)


# One problem for all runs, one for each, one with a number of requests, one whose arms change, or one with features.
AnyEntry = Entry | Drawn | Rationed | Changing | Contextual


def problems() -> list[AnyEntry]:
    """Every problem; the real ones where `OUTLAY_DATA` names the folder of their logs."""
    real = real_problems(Path(folder)) if (folder := os.environ.get(DATA)) else {}
    groups = {
        "gaussian": gaussian_problems(),
        "bounded": bounded_problems(),
        "heavy": heavy_problems(),
        "hard": hard_problems(),
        "real": real,
    }
    fixed = [Entry(name, group, problem) for group, named in groups.items() for name, problem in named.items()]
    rationed = with_requests({name: real[name] for name in LOGS if name in real})
    return [*fixed, *many_arms(), *rationed, *that_change(), *that_carry_features()]


def gaussian_problems() -> dict[str, Problem]:
    """One correlation for all arms, few arms and many; an instance of the paper's kind; a near tie."""
    found = {}
    for correlation in (-0.5, 0.0, 0.5, 0.9):
        five: Any = catalogue.load("gaussian5").arms
        found[f"gaussian5:{correlation:g}"] = Problem([law._replace(correlation=correlation) for law in five])
        found[f"gaussian20:{correlation:g}"] = many_gaussian(20, correlation)
    return found | {name: catalogue.load(name) for name in ("G", "near-tie")} | {"gaussian100": many_gaussian(100)}


def many_gaussian(arms: int, correlation: float = 0.0) -> Problem:
    """Like gaussian5 with more arms: the best has rate 1 and stands in the middle, the others 0.8 to 0.4."""
    rates = np.insert(np.linspace(0.8, 0.4, arms - 1), arms // 2, 1.0).tolist()
    costs = [0.8 + 0.7 * (k * 5**0.5 % 1.0) for k in range(arms)]  # spread evenly by an irrational rotation
    laws = [Gaussian(cost, cost * rate, cost / 2, 0.5, correlation) for cost, rate in zip(costs, rates, strict=True)]
    return Problem(laws)


def bounded_problems() -> dict[str, Problem]:
    """Bernoulli and Beta arms of random means, and a mix."""
    found = {"H": catalogue.load("H")}
    for i in range(1, 4):
        found[f"bernoulli10:{i}"] = random_bernoulli(10, i)
    for i in range(1, 3):
        found[f"beta10:{i}"] = random_beta(10, i)
    return found | {"bounded": catalogue.load("bounded")}


def random_bernoulli(arms: int, number: int) -> Problem:
    """Independent mean costs and rewards, uniform on [0.05, 0.95]."""
    costs, rewards = np.random.default_rng(number).uniform(0.05, 0.95, (2, arms)).tolist()
    return Problem(list(map(Bernoulli, costs, rewards)))


def random_beta(arms: int, number: int) -> Problem:
    """Means as above, standard deviations 0.2 to 0.5 of the largest there can be, a correlation for odd numbers."""
    rng = np.random.default_rng(number)
    means = rng.uniform(0.05, 0.95, (2, arms))
    spreads = rng.uniform(0.2, 0.5, (2, arms)) * np.sqrt(means * (1.0 - means))
    correlation = 0.3 if number % 2 else 0.0
    rows = zip(*means.tolist(), *spreads.tolist(), strict=True)
    return Problem([Beta(m, n, s, t, correlation) for m, n, s, t in rows])


def heavy_problems() -> dict[str, Problem]:
    """Pareto arms by the tail indices of cost and reward, lognormal ones by correlation, and a mix."""
    arms = list(zip(COSTS, RATES, strict=True))
    found = {}
    for cost_tail, reward_tail in ((1.3, 3.0), (1.6, 3.0), (3.0, 2.2), (2.2, 2.2)):
        laws = [Pareto(cost, cost * rate, cost_tail, reward_tail) for cost, rate in arms]
        found[f"pareto:{cost_tail:g}/{reward_tail:g}"] = Problem(laws)
    for correlation in (0.0, 0.8):
        coupled = [Lognormal(cost, cost * rate, 1.5 * cost, 1.5 * cost * rate, correlation) for cost, rate in arms]
        found[f"lognormal:{correlation:g}"] = Problem(coupled)
    return found | {"heavy-tails": catalogue.load("heavy-tails")}


def hard_problems() -> dict[str, Problem]:
    """What is known to fool policies."""
    return {
        "negative-costs": catalogue.load("negative-costs"),
        "dearest": Problem([Gaussian(cost, cost * rate, cost / 2, cost / 2) for cost, rate in dear()]),
        "dearest-bounded": Problem([two_point(cost, cost * rate, 0.5, 0.5) for cost, rate in dear()]),
        "sparse": Problem([two_point(1.0, rate / 20, 0.5, rate / 20) for rate in RATES]),
        "jackpot": Problem([two_point(1.0, 1.0, 0.5, 0.02), *(two_point(1.0, rate, 0.5, 0.5) for rate in RATES[1:])]),
        **{f"two-point:{chance:g}": Problem(rare_costs(chance)) for chance in (0.5, 0.05)},
    }


def dear() -> list[tuple[float, float]]:
    """The costs and rates of gaussian5, its best arm twenty times as expensive."""
    return list(zip((20.0 * COSTS[0], *COSTS[1:]), RATES, strict=True))


def rare_costs(chance: float) -> Sequence[Discrete]:
    """The arms of gaussian5, costing a tenth of their mean but for a rare large cost."""
    return [two_point(cost, cost * rate, chance, 0.5, low=0.1) for cost, rate in zip(COSTS, RATES, strict=True)]
