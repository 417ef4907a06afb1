"""Arms of different scale: where one is a thousand times as dear as another, or its costs say little about its price.

Four kinds of problems, each with known ones and new ones that a random law draws with a fixed seed:

- `scale`: prices that differ by powers of ten, rates by at most a factor of three, any noise;
- `noise`: costs that vary far more than their mean, which is near 0, against arms with steady costs;
- `free`: arms that cost and pay nothing in nearly all pulls, against a steady one;
- `skewed`: lognormal rewards, so that most pulls of a good arm look poor and steady.

The figures are pseudo-regret by budget, Σ pulls·(mean cost)·gap ÷ B: mean, standard error and median over the runs.

    python -m benchmarks.scales                         # all: ten minutes on two cores
    python -m benchmarks.scales --only scale --runs 50  # one kind
    python -m benchmarks.scales --drawn                 # the new ones alone
"""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from outlay import Problem, simulate
from outlay.arms import Discrete, Gaussian, Lognormal
from outlay.policies import Thrifty, Wary, baselines
from outlay.policies.protocol import Policy

POLICIES: dict[str, Policy] = {"Thrifty": Thrifty(), "Wary": Wary(), "Thompson": baselines.GaussianThompson()}
KINDS = ("scale", "noise", "free", "skewed")
DRAWN = {"scale": 8, "noise": 4, "free": 4, "skewed": 4}  # how many new problems of each kind
SEED = 2031  # of the new problems; runs have the seed that is given


class Case(NamedTuple):
    """A problem with a budget."""

    name: str
    kind: str
    problem: Problem
    budget: float


def known() -> list[Case]:
    """Two Gaussian arms of other scales; costs around a small mean; arms that seldom cost; skewed rewards."""
    cases = []
    for scale, spread, budget in ((10.0, 3.0, 1e4), (100.0, 30.0, 1e5), (1e3, 300.0, 3e5), (1e3, 2e3, 3e5)):
        dear = Gaussian(scale, 2.0 * scale, 0.3 * scale, spread)
        problem = Problem([Gaussian(1.0, 1.0, 0.3, 0.3), dear])
        cases.append(Case(f"1:{scale:g} sd {spread:g}", "scale", problem, budget))
    noisy = Problem([Gaussian(0.05, 0.1, 1.0, 0.1), Gaussian(1.0, 1.0, 0.1, 0.1)])
    cases += [Case(f"cost 0.05 ± 1, B {budget:g}", "noise", noisy, budget) for budget in (1e3, 1e4)]
    steady = Discrete([0.1], [0.1], [1.0])
    cases.append(Case("free but for 1 in 1000", "free", Problem([rare(100.0, 150.0, 0.001), steady]), 1e3))
    rewards = ((1.0, 1.0), (1.0, 0.8), (1.0, 0.6))
    cases.append(Case("lognormal", "skewed", Problem([Lognormal(c, r, 0.1 * c, 2.5 * r) for c, r in rewards]), 1e4))
    return cases


def drawn() -> list[Case]:
    """The new problems, always the same ones."""
    makers = {"scale": scale, "noise": noise, "free": free, "skewed": skewed}
    return [
        Case(f"{kind} {number}", kind, *makers[kind](np.random.default_rng([SEED, *kind.encode(), number])))
        for kind in KINDS
        for number in range(1, DRAWN[kind] + 1)
    ]


def scale(rng: np.random.Generator) -> tuple[Problem, float]:
    """Two to five arms, prices from 1 to 1000, rates from 0.5 to 1.5; the budget is 300 times the largest price.

    Deviations of costs are a tenth of their mean to all of it, of rewards a tenth to three times it.
    """
    arms = int(rng.integers(2, 6))
    prices = 10.0 ** rng.uniform(0.0, 3.0, arms)
    rates = rng.uniform(0.5, 1.5, arms)
    cost_sds, reward_sds = 10.0 ** rng.uniform(-1.0, 0.0, arms), 10.0 ** rng.uniform(-1.0, 0.5, arms)
    rows = zip(prices, rates, cost_sds, reward_sds, strict=True)
    laws = [Gaussian(float(x), float(r * x), float(s * x), float(t * r * x)) for x, r, s, t in rows]
    return Problem(laws), 300.0 * float(prices.max())


def noise(rng: np.random.Generator) -> tuple[Problem, float]:
    """An arm with costs m ± 1, m from 0.02 to 0.3, and a rate of 0.5 to 3, against one or two with costs 1 ± 0.1."""
    mean, rate = float(10.0 ** rng.uniform(-1.7, -0.5)), float(rng.uniform(0.5, 3.0))
    steady = [Gaussian(1.0, float(r), 0.1, 0.1) for r in rng.uniform(0.5, 1.5, int(rng.integers(1, 3)))]
    return Problem([Gaussian(mean, rate * mean, 1.0, 0.1), *steady]), float(10.0 ** rng.uniform(2.5, 4.0))


def free(rng: np.random.Generator) -> tuple[Problem, float]:
    """An arm that costs and pays in one pull of 30 to 3000, a rate of 0.5 to 1.5, against a steady one of rate 1."""
    chance, rate = float(10.0 ** rng.uniform(-3.5, -1.5)), float(rng.uniform(0.5, 1.5))
    price = float(10.0 ** rng.uniform(-1.5, 0.0))
    steady = Gaussian(price, price, 0.1 * price, 0.1 * price)
    return Problem([rare(price / chance, rate * price / chance, chance), steady]), 1e4 * price


def skewed(rng: np.random.Generator) -> tuple[Problem, float]:
    """Three to six lognormal arms, prices 0.3 to 3, rates 0.4 to 1; deviations of rewards 1 to 4 times the mean."""
    arms = int(rng.integers(3, 7))
    prices, rates = np.exp(rng.uniform(-1.2, 1.2, arms)), rng.uniform(0.4, 1.0, arms)
    reward_sds = rng.uniform(1.0, 4.0, arms)
    rows = zip(prices, rates, reward_sds, strict=True)
    laws = [Lognormal(float(x), float(r * x), 0.3 * float(x), float(t * r * x)) for x, r, t in rows]
    return Problem(laws), 1e4 * float(prices.mean())


def rare(cost: float, reward: float, chance: float) -> Discrete:
    """Cost and reward both come in few pulls, together."""
    return Discrete([0.0, cost], [0.0, reward], [1.0 - chance, chance])


def regrets(case: Case, policies: dict[str, Policy], runs: int, seed: int) -> dict[str, np.ndarray]:
    """The regret of every run by the budget."""
    result = simulate(case.problem, policies, [case.budget], runs=runs, seed=seed, progress=False)
    loss = case.problem.mean_costs * case.problem.gaps
    return {label: result.pulls[i, :, 0] @ loss / case.budget for i, label in enumerate(policies)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=KINDS, help="this kind of problem")
    parser.add_argument("--drawn", action="store_true", help="without the known problems")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    table = Table("problem", "B", *POLICIES, title=f"regret ÷ B: mean ± standard error (median), {chosen.runs} runs")
    cases = [case for case in ([] if chosen.drawn else known()) + drawn() if chosen.only in (None, case.kind)]
    for case in cases:
        found = regrets(case, POLICIES, chosen.runs, chosen.seed)
        table.add_row(case.name, f"{case.budget:.4g}", *map(figures, found.values()))
    Console(width=140).print(table)


def figures(regret: np.ndarray) -> str:
    """The mean with its standard error, and the median."""
    error = regret.std(ddof=1) / np.sqrt(len(regret))
    return f"{regret.mean():.4f} ± {error:.4f} ({np.median(regret):.4f})"


if __name__ == "__main__":
    main()
