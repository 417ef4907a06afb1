"""The figures of docs/contexts.md: LinearRation, its rivals and Ration where requests carry features; and its speed.

    python -m benchmarks.contexts                              # made problems and speed: hours on two cores
    python -m benchmarks.contexts made --requests 1000 --runs 25
    python -m benchmarks.contexts log --file swebench.csv.gz   # a log in which every arm has every instance

`log` reads columns arm, instance, cost and reward; an instance is named after where it is from (`owner__name-123`), and
that, with the number, makes its features. Tables are printed in Markdown; all is played in hard mode.
"""

import argparse
import csv
import gzip
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from outlay import simulate
from outlay.arms import ContextualProblem
from outlay.formulas.argmax import Now
from outlay.policies import LinearRation, Ration
from outlay.policies.baselines import LinTS, LinUCB

Floats = np.ndarray[Any, np.dtype[np.float64]]

ARMS, SEED, SEED_OF_LOG = 5, 2131, 2031  # settings were chosen on made problems 2031 to 2035
FEATURES, REQUESTS = (2, 10, 50), (1_000, 10_000, 100_000)
PER_REQUEST = (0.15, 0.4)
PROBLEMS = 4  # of each kind
FEWEST = 3  # instances from one place, to have a feature of its own


def main() -> None:
    """Print the tables that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="*", default=["made", "speed"], help="made, speed, log")
    parser.add_argument("--requests", type=int, nargs="*", default=REQUESTS, help="of made problems")
    parser.add_argument("--features", type=int, nargs="*", default=FEATURES, help="of made problems")
    parser.add_argument("--kinds", nargs="*", default=["linear", "nonlinear", "useless"], help="of made problems")
    parser.add_argument("--runs", type=int, default=25, help="of each policy on each problem")
    parser.add_argument("--file", type=Path, help="of log")
    chosen = parser.parse_args()
    for name in chosen.table:
        if name == "made":
            made(chosen.kinds, chosen.features, chosen.requests, chosen.runs)
        elif name == "speed":
            speed()
        elif name == "log" and chosen.file:
            log(chosen.file, chosen.runs)
        else:
            parser.error("tables are made, speed and log, which needs --file")


def players(features: int, **told: Any) -> dict[str, Any]:
    """Who plays."""
    return {
        "LinearRation": LinearRation(features=features, **told),
        "LinUCB": LinUCB(features=features),
        "LinTS": LinTS(features=features),
        "Ration": Ration(**told),
    }


def problem_of(kind: str, features: int, seed: int) -> ContextualProblem:
    """Five arms, from cheap to dear, whose probability to please depends on the features, on average by .25.

    Of `linear` problems it is linear but for its ends, 0 and 1; of `nonlinear` ones a wave and a product; of `useless`
    ones it does not depend on them. All but these have a difficulty that all arms share, and a size that costs follow.
    """
    seeds = np.random.default_rng([seed, features])
    base, usual = np.sort(seeds.uniform(0.35, 0.75, ARMS)), np.geomspace(0.05, 1.0, ARMS)
    own, hard, size = (unit(seeds.standard_normal((rows, features))) for rows in (ARMS, 1, 1))

    def rewards(x: Floats) -> Floats:
        if kind == "useless":
            return np.tile(base, (len(x), 1))
        along = x @ own.T
        if kind == "nonlinear":
            along = np.sin(1.5 * along) + np.sign(x[:, :1] * x[:, 1:2]) * np.sign(own[:, 0])
        return np.clip(base + 0.25 * along + 0.15 * x @ hard.T, 0.0, 1.0)

    def costs(x: Floats) -> Floats:
        sizes = 0.0 * x[:, :1] if kind == "useless" else np.clip(0.3 * x @ size.T, -1.0, 1.0)
        return np.asarray(usual * np.exp(sizes))

    return ContextualProblem.drawn(
        lambda rng, requests: rng.standard_normal((requests, features)),
        costs, rewards, requests=4_000, seed=seed, cost_noise=0.3, coin=True,
    )  # fmt: skip


def unit(rows: Floats) -> Floats:
    """The same directions, of length 1."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def made(kinds: Sequence[str], dimensions: Sequence[int], requests: Sequence[int], runs: int) -> None:
    """Reward in per cent of what the best rule earns that knows all means, ± standard error; most spent of B."""
    print("| problem | d | N |", " | ".join(players(1)), "| most spent |\n|---|---|---|", "---|" * 5, sep="")
    for kind in kinds:
        for features in dimensions:
            for n in requests:
                shares: dict[str, list[Floats]] = {name: [] for name in players(features)}
                spent = 0.0
                for seed in range(PROBLEMS):
                    problem = problem_of(kind, features, SEED + seed)
                    for c in PER_REQUEST:
                        result = simulate(
                            problem, players(features), budgets=[c * n], requests=n, runs=runs, seed=seed, mode="hard"
                        )
                        spent = max(spent, float(result.cost.max()) / (c * n))
                        for name, reward in zip(result.labels, result.reward[..., 0], strict=True):
                            shares[name].append(100.0 * reward / problem.attainable(c * n, n))
                cells = [f"{np.mean(all_):.1f} ± {error_of(all_):.1f}" for all_ in shares.values()]
                print(f"| {kind} | {features} | {n:,} | {' | '.join(cells)} | {spent:.4f} |", flush=True)


def error_of(cells: Sequence[Floats]) -> float:
    """The standard error of the mean of some means."""
    return math.sqrt(sum(each.var(ddof=1) / len(each) for each in cells)) / len(cells)


def speed() -> None:
    """What an arrival, a choice and a sample take in the interpreter, and a request in a simulation."""
    print("| arms | d | arrival µs | choice µs | sample µs | simulated request µs |\n|---|---|---|---|---|---|")
    for arms, features in ((4, 10), (10, 25), (10, 64)):
        policy = LinearRation(features=features, budget=300.0, requests=2_000)
        memory, rng, spent, took = policy.memory(arms), np.random.default_rng(SEED), 0.0, np.zeros((2_000, 3))
        own, usual = 0.05 * rng.standard_normal((arms, features)), np.geomspace(0.05, 1.0, arms)
        for n in range(len(took)):
            request, chance = rng.standard_normal(features), rng.random(2)
            times = [time.perf_counter()]
            memory.arrive(request)
            times.append(time.perf_counter())
            arm = policy.choose(memory, Now(n, math.log(max(1, n)), spent), rng)
            times.append(time.perf_counter())
            cost = float(usual[arm] * (0.5 + chance[0]))
            memory.observe(arm, cost, float(chance[1] < 0.5 + own[arm] @ request))
            times.append(time.perf_counter())
            took[n], spent = np.diff(times), spent + cost
        each = np.median(took, axis=0) * 1e6
        problem = ContextualProblem(
            rng.standard_normal((1_000, features)), np.tile(usual, (1_000, 1)), np.full((1_000, arms), 0.5), coin=True
        )
        once = {"budgets": [300.0], "requests": 2_000, "workers": 1}
        simulate(problem, policy, runs=1, **once)  # type: ignore[arg-type]
        start = time.perf_counter()
        pulls = simulate(problem, policy, runs=10, **once).pulls.sum()  # type: ignore[arg-type]
        simulated = (time.perf_counter() - start) / pulls * 1e6
        print(f"| {arms} | {features} | {each[0]:.0f} | {each[1]:.0f} | {each[2]:.0f} | {simulated:.1f} |", flush=True)


def log(path: Path, runs: int) -> None:
    """Reward for each request, with features and without, and the gain with its 95 % interval."""
    problem = from_log(path)
    requests, features = problem.table.features.shape
    names = ["LinearRation", "LinUCB", "LinTS", "Ration"]
    print(f"{len(problem)} arms, {requests} instances, {features} features; means are told as prices\n")
    print("| N | c | best rule | ", " | ".join(names), " | gain over Ration |\n|---|---|---|", "---|" * 5, sep="")
    for n in (500, 2_000):
        for c in (0.06, 0.2, 0.5):
            told = {"costs": problem.mean_costs, "reward_bound": 1.0}
            chosen = {name: policy for name, policy in players(features, **told).items() if name in names}
            result = simulate(problem, chosen, budgets=[c * n], requests=n, runs=runs, seed=SEED_OF_LOG, mode="hard")
            each = result.reward[..., 0] / n
            gain = each[0].mean() - each[-1].mean()
            half = 1.96 * math.sqrt(sum(mine.var(ddof=1) / runs for mine in (each[0], each[-1])))
            means = " | ".join(f"{mean:.4f}" for mean in each.mean(axis=1))
            best = problem.attainable(c * n, n) / n
            print(f"| {n:,} | {c:g} | {best:.4f} | {means} | {gain:+.4f} ± {half:.4f} |", flush=True)


def from_log(path: Path) -> ContextualProblem:
    """Where an instance is from, one feature for each place with enough of them, and its number within that place."""
    with gzip.open(path, "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    arms, instances = (sorted({row[key] for row in rows}) for key in ("arm", "instance"))
    table = np.full((2, len(instances), len(arms)), np.nan)
    at = {name: i for i, name in enumerate(instances)}, {name: k for k, name in enumerate(arms)}
    for row in rows:
        table[:, at[0][row["instance"]], at[1][row["arm"]]] = float(row["cost"]), float(row["reward"])
    complete = np.isfinite(table).all(axis=(0, 2))
    places = np.array([name.rpartition("-")[0] for name in instances])
    numbers = np.array([float(name.rpartition("-")[2]) for name in instances])
    kinds = [place for place in sorted(set(places)) if (places == place).sum() >= FEWEST]
    within = np.zeros(len(instances))
    for place in kinds:
        mine = places == place
        within[mine] = (numbers[mine].argsort().argsort() + 0.5) / mine.sum() * 3.46 - 1.73
    features = np.column_stack([*(places == place for place in kinds), within])[complete]
    return ContextualProblem(features, table[0, complete], table[1, complete], names=arms)


if __name__ == "__main__":
    main()
