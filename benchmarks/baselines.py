"""The rival policies on one problem: regret of ten Bernoulli arms at budget 5000, and how fast each is.

`python -m benchmarks.baselines`, or `--runs 200` for rough figures; docs/baselines.md shows what it prints.
"""

import argparse
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay import Problem, simulate
from outlay.arms import Bernoulli, catalogue
from outlay.engine import threads
from outlay.engine.loop import Crossings
from outlay.engine.task import Task
from outlay.policies import Thrifty
from outlay.policies import baselines as b
from outlay.results import pseudo_regret

BUDGET = 5000.0
SLOW = {"BTS": 400, "GaussianThompson": 400}  # runs of those that draw two numbers for each arm at each pull


class Row(NamedTuple):
    """Regret of each run, and pulls in a CPU second."""

    regret: NDArray[np.float64]
    speed: float


def rivals(problem: Problem) -> dict[str, Any]:
    """Each policy with what it must be told, the truth; both bounds are 1."""
    least = float(problem.mean_costs.min())
    variances = [float(problem.second_moments()[name].max()) for name in ("var_cost", "var_reward")]
    squares = [float(means.max()) for means in (problem.mean_costs, problem.mean_rewards)]  # E[X²] = E[X] of a coin
    return {
        "BKLUCB, loglog=0": b.BKLUCB(problem.mean_costs, loglog=0.0),
        "BKLUCB": b.BKLUCB(problem.mean_costs),
        "OmegaUCB, rho=1/4": b.OmegaUCB(),
        "OmegaStarUCB, rho=1/4": b.OmegaStarUCB(),
        "OmegaStarUCB, wait=0": b.OmegaStarUCB(wait=0),
        "BTS": b.BTS(),
        "UCBSCPlus": b.UCBSCPlus(),
        "KLUCBSC": b.KLUCBSC(),
        "KLUCBSC, loglog=0": b.KLUCBSC(loglog=0.0),
        "FractionalKUBE": b.FractionalKUBE(),
        "KUBE": b.KUBE(budget=BUDGET),
        "GaussianThompson": b.GaussianThompson(),
        "OmegaUCB, rho=1": b.OmegaUCB(rho=1.0),
        "EpsilonFirst, 0.1": b.EpsilonFirst(0.1, budget=BUDGET),
        "BGreedy": b.BGreedy(),
        "PDBwK": b.PDBwK(budget=BUDGET),
        "MUCB": b.MUCB(),
        "CUCB": b.CUCB(),
        "IUCB": b.IUCB(),
        "Greedy": b.Greedy(),
        "RootGreedy": b.RootGreedy(),
        "UCBAIR": b.UCBAIR(),
        "BudgetUCB": b.BudgetUCB(least),
        "RobustUCBTruncated": b.RobustUCBTruncated(*squares),
        "UCBBV1": b.UCBBV1(least),
        "UCBBV2": b.UCBBV2(),
        "RobustUCBMedian": b.RobustUCBMedian(*variances),
    }


def played(problem: Problem, policy: Any, runs: int) -> Row:
    """A policy alone, on one thread."""
    arms, budgets = len(problem), np.array([BUDGET])
    crossings = Crossings.blank(runs, 1, arms)
    task = Task(problem, type(policy).__name__, policy, budgets, 0, 10**9, crossings)
    start = time.process_time()
    threads.run([task], 1, report=lambda _: None)
    speed = float(crossings.pulls.sum()) / (time.process_time() - start)
    return Row(pseudo_regret(crossings.pulls[:, 0], problem.mean_costs, problem.gaps), speed)


def published(seed: int) -> tuple[Problem, float]:
    """Problem and budget `seed` of the suite that ω-UCB's authors published: ten coins, rewards drawn first."""
    rng = np.random.default_rng(seed)
    rewards, costs = rng.uniform(0.0, 1.0, 10), rng.uniform(0.01, 1.0, 10)
    laws = [Bernoulli(float(costs[k]), float(rewards[k])) for k in np.argsort(costs / rewards)]
    return Problem(laws), 150_000 * float(costs.min())


def suite(only: str) -> None:
    """The published suite: twenty problems, one run each, of the policies with `only` in their names."""
    print("| policy | regret ± s.e. | median | worst |\n|---|---|---|---|")
    players: dict[str, Any] = {
        "OmegaUCB, rho=1/4": b.OmegaUCB(), "BTS": b.BTS(), "KLUCBSC, loglog=0": b.KLUCBSC(loglog=0.0),
        "KLUCBSC": b.KLUCBSC(), "UCBSCPlus": b.UCBSCPlus(), "Thrifty": Thrifty(),
    }  # fmt: skip
    for name, policy in players.items():
        if only not in name:
            continue
        regret = np.zeros(20)
        for seed in range(20):
            problem, budget = published(seed)
            result = simulate(problem, policy, budgets=[budget], runs=1, seed=seed, workers=1)
            regret[seed] = result.regret()["mean"][0]
        numbers = f"{regret.mean():.0f} ± {regret.std(ddof=1) / np.sqrt(20):.0f} | {np.median(regret):.0f}"
        print(f"| {name} | {numbers} | {regret.max():.0f} |")
        sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--suite", action="store_true", help="the twenty problems of ω-UCB's authors instead")
    options = parser.parse_args()
    if options.suite:
        suite(options.only)
        return
    problem = catalogue.load("H")
    print("| policy | regret ± s.e. | median | q90 | worst | runs | M pulls/s |\n|---|---|---|---|---|---|---|")
    for name, policy in rivals(problem).items():
        if options.only in name:
            played(problem, policy, 8)  # compiles
            regret, speed = played(problem, policy, min(options.runs, SLOW.get(name, options.runs)))
            error = regret.std(ddof=1) / np.sqrt(len(regret))
            middle, high = np.quantile(regret, [0.5, 0.9])
            numbers = f"{middle:.0f} | {high:.0f} | {regret.max():.0f} | {len(regret)} | {speed / 1e6:.1f}"
            print(f"| {name} | {regret.mean():.1f} ± {error:.1f} | {numbers} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
