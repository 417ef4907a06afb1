"""The figures of docs/kl-rate-regret.md: how near KL-rate comes to the constants that are proved, up to B = 10⁸.

    python -m benchmarks.kl_rate_regret                    # all tables: a quarter of an hour on two cores
    python -m benchmarks.kl_rate_regret failures           # one of them
    python -m benchmarks.kl_rate_regret closed --runs 4    # with fewer runs than its own number

Tables are printed in Markdown.
"""

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from outlay import Problem, simulate
from outlay.arms import Bernoulli, Beta, Constant, Discrete, LawMoments, Uniform
from outlay.formulas.evidence import closed_evidence
from outlay.policies import Frugal, KLRate, Thrifty
from outlay.policies.kl_rate import EVIDENCE
from outlay.theory import Edge, kl_inf
from outlay.theory.divergence_bounded import outcomes

COINS = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.25), Bernoulli(0.8, 0.2)])
TABLES = Problem(
    [
        Discrete(costs=[0.5, 1.0, 1.5], rewards=[0.2, 0.6, 1.0], probabilities=[0.3, 0.4, 0.3]),
        Uniform(cost_low=0.2, cost_high=1.0, reward_low=0.0, reward_high=0.5),
        Discrete(costs=[1.0, 1.0, 1.0], rewards=[0.0, 0.5, 1.0], probabilities=[0.6, 0.2, 0.2]),
    ]
)
BETAS = Problem(
    [
        Beta(cost=0.4, reward=0.36, cost_sd=0.2, reward_sd=0.2, correlation=0.6),
        Uniform(cost_low=0.2, cost_high=1.0, reward_low=0.0, reward_high=0.8, correlation=0.7),
        Beta(cost=0.6, reward=0.3, cost_sd=0.4, reward_sd=0.15, correlation=-0.3),
    ]
)
PROBLEMS = {"coins": COINS, "tables": TABLES, "betas": BETAS}
BOUND = 1.0  # of the rewards of all three
HIDDEN = Problem(  # the better arm pays 2 one time in ten and otherwise less than the other
    [Constant(1.0, 0.5), Discrete(costs=[1.0, 1.0], rewards=[0.4, 2.0], probabilities=[0.9, 0.1])],
    names=["steady", "hidden"],
)
SEED = 2029


def constants(problem: Problem, bound: float) -> tuple[float, float]:
    """Σ μ_kΔ_k/K_k and Σ μ_kΔ_k/D_k, for the sample form and for the closed one.

    >>> tuple(round(constant, 3) for constant in constants(COINS, 1.0))
    (5.702, 6.706)
    """
    sample = closed = 0.0
    rate, best_pull = problem.rate, Edge(np.array([0.0]), np.array([bound]))
    for law, loss in zip(problem.arms, problem.mean_costs * problem.gaps, strict=True):
        if loss > 0:
            moments = LawMoments(*law.moments())
            variance = moments.var_reward - 2 * rate * moments.cov + rate**2 * moments.var_cost
            sample += loss / kl_inf(outcomes(law), float(loss), rate, best_pull)
            closed += loss / closed_evidence(float(loss), variance, bound)
    return sample, closed


def growth(policy: KLRate, budgets: list[float], runs: int) -> None:
    """Regret in units of its constant: its size by ln B, and its slope since the budget before."""
    print(f"\n{policy!r}, {runs} runs\n")
    print("| problem | constant | B | regret | ÷ (constant · ln B) | slope ÷ constant |\n|---|---|---|---|---|---|")
    for name, problem in PROBLEMS.items():
        constant = constants(problem, BOUND)[policy.evidence == "closed"]
        pulls = simulate(problem, policy, budgets=budgets, runs=runs, seed=SEED).pulls[0]
        regret = pulls @ (problem.mean_costs * problem.gaps)
        for i, budget in enumerate(budgets):
            mean, slope = float(regret[:, i].mean()), "–"
            size = [f"{mean:.1f} ± {error(regret[:, i]):.1f}", f"{mean / constant / math.log(budget):.2f}"]
            if i > 0:
                slopes = (regret[:, i] - regret[:, i - 1]) / math.log(budget / budgets[i - 1]) / constant
                slope = f"{slopes.mean():.2f} ± {error(slopes):.2f}"
            power = "⁰¹²³⁴⁵⁶⁷⁸⁹"[round(math.log10(budget))]
            print("| " + " | ".join([name, f"{constant:.2f}", f"10{power}", *size, slope]) + " |", flush=True)


def error(values: Any) -> float:
    """The standard error of a mean."""
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


def closed(runs: int | None) -> None:
    """Closed evidence to 10⁸."""
    growth(KLRate("one", "closed", BOUND), [1e2, 1e4, 1e6, 1e8], runs or 20)


def exact(runs: int | None) -> None:
    """Exact evidence to 10⁶: where the closed form is not sure, every pull weighs the samples."""
    growth(KLRate("one", "exact", BOUND), [1e2, 1e4, 1e6], runs or 10)


def cost(runs: int | None) -> None:
    """The three forms at 10⁵: regret, time per pull, and the runs in which exact and sample pull all arms as often."""
    print("\n| problem | regret: closed | sample | exact | ns per pull: closed | sample | exact | runs alike |")
    print("|---|---|---|---|---|---|---|---|")
    for name, problem in PROBLEMS.items():
        pulls, times = {}, []
        for form in EVIDENCE:
            policy = KLRate("one", form, BOUND)
            simulate(problem, policy, budgets=[10.0], runs=1, seed=SEED)  # compiles
            start = time.process_time()
            pulls[form] = simulate(problem, policy, budgets=[1e5], runs=runs or 10, seed=SEED, workers=1).pulls[0, :, 0]
            times.append(f"{(time.process_time() - start) / pulls[form].sum() * 1e9:.0f}")
        regret = [f"{(of @ (problem.mean_costs * problem.gaps)).mean():.1f}" for of in pulls.values()]
        alike = (pulls["sample"] == pulls["exact"]).all(axis=1)
        print("| " + " | ".join([name, *regret, *times, f"{alike.sum()} of {len(alike)}"]) + " |", flush=True)


def failures(runs: int | None) -> None:
    """An arm that hides its best reward, with and without a bound: regret, its median, and runs that are late or lost.

    Means of so few runs are decided by those that go wrong, hence the median.
    """
    budgets = [1e4, 1e6]
    players: dict[str, Any] = {
        "Frugal()": Frugal(), "Thrifty()": Thrifty(), 'Thrifty(horizon="unknown")': Thrifty(horizon="unknown"),
        'KLRate("one")': KLRate("one"), "Frugal(reward_bound=2)": Frugal(reward_bound=2.0),
        'KLRate("one", reward_bound=2)': KLRate("one", reward_bound=2.0),
    }  # fmt: skip
    found = {name: simulate(HIDDEN, one, budgets=budgets, runs=runs or 200, seed=SEED) for name, one in players.items()}
    print("\n| policy | regret at 10⁴ | at 10⁶ | median | most pulls of the worse arm | runs with more than half |")
    print("|---|---|---|---|---|---|")
    for name, result in found.items():
        pulls = result.pulls[0, :, :, 0]
        regret = pulls * float(HIDDEN.gaps[0])
        errors = [error(regret[:, i]) for i in range(len(budgets))]
        means = [f"{regret[:, i].mean():,.0f} ± {off:,.{int(off < 10)}f}" for i, off in enumerate(errors)]
        late = [f"{np.median(regret[:, 1]):,.0f}", f"{pulls[:, 1].max():,}"]
        lost = f"{(pulls[:, 1] > budgets[1] / 2).mean():.1%}"
        print("| " + " | ".join([f"`{name}`", *means, *late, lost]) + " |", flush=True)


def main() -> None:
    """Print the tables that are named, or all."""
    tables: dict[str, Callable[[int | None], None]] = {
        "failures": failures, "closed": closed, "exact": exact, "cost": cost,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="*", default=[*tables], help=f"{', '.join(tables)}; all")
    parser.add_argument("--runs", type=int, help="of each policy on each problem; each table has its own number")
    chosen = parser.parse_args()
    if unknown := set(chosen.table) - tables.keys():
        parser.error(f"there is no table {unknown.pop()}: {', '.join(tables)}")
    for name in chosen.table:
        tables[name](chosen.runs)


if __name__ == "__main__":
    main()
