"""The figures of docs/requests.md: Ration and its rivals, with money and a number of requests; and its speed.

    python -m benchmarks.requests                     # all tables: about half an hour on two cores
    python -m benchmarks.requests worst --runs 50     # one of them, with other runs than its own number

`swebench` needs the log that docs/leaderboard.md describes, in the folder that OUTLAY_DATA names. Tables are printed in
Markdown, regret in per cent of N·f unless they say otherwise; what is being played is on stderr.
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engine import compiled_floor
from benchmarks.leaderboard.fixed import BestFixed
from benchmarks.leaderboard.real import LOGS, from_log, read_log
from benchmarks.leaderboard.requests import FAMILIES, PER_REQUEST, Rationed, of_family
from outlay import Problem, policies, simulate, theory
from outlay.arms import Bernoulli, Discrete, Gaussian
from outlay.beliefs import Belief, Moments
from outlay.parameters import Parameters
from outlay.policies import Ration, baselines

Floats = np.ndarray[Any, np.dtype[np.float64]]
Lines = Iterable[Sequence[object]]

RIVALS: dict[str, Any] = {
    "LPUCB": baselines.LPUCB(),
    "LPThompson": baselines.LPThompson(),
    "LPThompson:0.5": baselines.LPThompson(scale=0.5),
    "LPGreedy": baselines.LPGreedy(),
    "LPEpsilonFirst": baselines.LPEpsilonFirst(),
}
CLASSICAL = {".9 .8": (0.9, 0.8), ".1 .05×3 .02×3 .01×3": (0.1, *[0.05] * 3, *[0.02] * 3, *[0.01] * 3),
             ".9 .8×9": (0.9, *[0.8] * 9)}  # fmt: skip
SEED = 2027
MANY = 100_000  # requests, for bad runs


class Thompson(Parameters):
    """Thompson sampling for rewards of 0 or 1, with a uniform prior."""

    def memory(self, arms: int) -> Moments:
        """Moments of each arm."""
        return Moments.empty(arms)

    def sample(self, belief: Belief, log_n: float, rng: np.random.Generator) -> float:  # noqa: ARG002 (as all policies)
        """A draw from the posterior of the arm's mean."""
        paid = belief.pulls * belief.mean_reward
        return float(rng.beta(1.0 + paid, 1.0 + max(0.0, belief.pulls - paid)))


def main() -> None:
    """Print the tables that are named, or all."""
    tables: dict[str, Callable[[int | None], None]] = {
        "swebench": swebench, "growth": growth, "worst": worst, "classical": classical, "speed": speed,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="*", default=[*tables], help=f"{', '.join(tables)}; all")
    parser.add_argument("--runs", type=int, help="of each policy in each cell; each table has its own number")
    chosen = parser.parse_args()
    if unknown := set(chosen.table) - tables.keys():
        parser.error(f"there is no table {unknown.pop()}: {', '.join(tables)}")
    for name in chosen.table:
        tables[name](chosen.runs)


def swebench(runs: int | None) -> None:
    """Language models as coding agents: N requests, c dollars for each."""
    if not (folder := os.environ.get("OUTLAY_DATA")):
        print("swebench is left out: OUTLAY_DATA names no folder of logs", file=sys.stderr)
        return
    problem = from_log(read_log(Path(folder) / LOGS["swebench"]))
    players = {
        "Ration": Ration(),
        "Ration:costs": Ration(costs=problem.mean_costs, reward_bound=1.0),
        **RIVALS,
        "PDBwKRequests": baselines.PDBwKRequests(**problem.bounds()),
        "Thrifty": policies.Thrifty(),
        "BestFixed": BestFixed(problem.mean_costs, problem.mean_rewards),
    }
    lines, cells = [], []
    for requests, usual in ((500, 300), (2_000, 150), (10_000, 60)):
        for c in (0.03, 0.06, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0):
            means = [regret.mean() for regret in lost(problem, players, c, requests, runs or usual).values()]
            cells.append(means)
            lines.append([f"{requests:,}", f"{c:g}", *(f"{mean:.1f}" for mean in means)])
    lines.append(["all", "", *(f"{mean:.2f}" for mean in np.mean(cells, axis=0))])
    show("swebench: regret by requests N and dollars for each, c", ["N", "c", *players], lines)
    found = np.array(cells)
    ratios = found[:, 0] / found[:, 2 : 2 + len(RIVALS) + 1].min(axis=1)
    print(f"Ration ÷ the best rival of the cell: {np.exp(np.log(ratios).mean()):.2f}, at most {ratios.max():.2f}\n")


def growth(runs: int | None) -> None:
    """Regret itself, not in per cent, as N grows; beside it the lower bound, or what chance takes at a vertex."""
    routing = Problem([Bernoulli(0.02, 0.45), Bernoulli(0.15, 0.7), Bernoulli(0.6, 0.85), Bernoulli(0.3, 0.6)])
    costs = [0.25 * (k + 1) for k in range(10)]
    gaussian = Problem([Gaussian(x, math.log1p(x) - 0.05 * (k % 3), 0.3 * x, 0.5) for k, x in enumerate(costs)])
    coins = of_family("coins", 1)
    dear = float(coins.mean_costs[np.argmax(coins.mean_rewards)])
    places = {
        "four coins, inside an edge": (routing, 0.3),
        "ten Gaussian arms, inside an edge": (gaussian, 1.1),
        "coins:1 of the leaderboard, inside an edge": (coins, 0.5 * dear),
        "four coins, at a vertex": (routing, 0.15),
        "ten Gaussian arms, at a vertex": (gaussian, 1.0),
    }
    lines: list[list[str]] = []
    for name, (problem, c) in places.items():
        line, floors = [name], [""]
        for requests, usual in ((10**3, 400), (10**4, 200), (10**5, 60), (10**6, 16)):
            budget = c * requests
            regret = lost(problem, {"Ration": Ration()}, c, requests, runs or usual)["Ration"]
            regret *= requests * theory.fluid(problem, budget, requests).value / 100.0
            line.append(f"{regret.mean():.1f} ± {regret.std() / math.sqrt(len(regret)):.1f}")
            chance = theory.fluid_loss(problem, budget, requests)
            bound = theory.lower_bound(problem, budget=budget, requests=requests) * math.log(requests)
            floors.append(f"chance {chance:.1f}" if "vertex" in name else f"bound {bound:.1f}")
        lines += [line, floors]
    show("Regret (not in per cent) as N grows", ["problem", "N = 10³", "10⁴", "10⁵", "10⁶"], lines)


def worst(runs: int | None) -> None:
    """How far the worst run is from the median one, at 10⁵ requests and half the cost of the best-paid arm for each."""
    players = {
        "Ration": Ration(),
        "Ration:0.7": Ration(slope=0.7),
        "Ration:1": Ration(slope=1.0),
        "LPThompson": baselines.LPThompson(),
    }
    cells: dict[str, tuple[Problem, float]] = {}
    for name in (f"{family}:{number}" for family in FAMILIES for number in (1, 2)):
        entry = Rationed(name, of_family(name.split(":")[0], int(name[-1])), MANY)
        cells[name] = entry.problem, float(entry.budgets((0.5,))[0]) / MANY
    if folder := os.environ.get("OUTLAY_DATA"):
        log = from_log(read_log(Path(folder) / LOGS["swebench"]))
        cells |= {f"swebench, {c:g}": (log, c) for c in (0.06, 0.2, 0.5)}
    found = {name: lost(problem, players, c, MANY, runs or 200) for name, (problem, c) in cells.items()}
    lines = []
    for name, of in found.items():
        for player, regret in of.items():
            middle = float(np.median(regret))
            figures = f"{regret.mean():.3f}", f"{middle:.3f}", f"{regret.max() / middle:.1f}"
            lines.append([name, player, *figures, f"{(regret > 3.0 * middle).mean():.1%}"])
    headings = ["problem", "policy", "mean", "median", "worst ÷ median", "> 3 medians"]
    show("10⁵ requests: the worst run beside the median one", headings, lines)
    lines = []
    for player in players:
        regrets = [of[player] for of in found.values()]
        means = np.array([of[player].mean() / of["Ration"].mean() for of in found.values()])
        beyond = np.array([regret.max() / np.median(regret) for regret in regrets])
        bad = np.mean([(regret > 3.0 * np.median(regret)).mean() for regret in regrets])
        kept = f"{(beyond <= 3.0).sum()} of {len(regrets)}"
        lines.append([player, f"{np.exp(np.log(means).mean()):.2f}", f"{bad:.1%}", kept, f"{beyond.max():.1f}"])
    headings = ["policy", "mean ÷ Ration's", "> 3 medians", "worst ≤ 3 medians", "at most"]
    show("The same, over all these problems (mean: geometric)", headings, lines)


def classical(runs: int | None) -> None:
    """No budget: the classical bandit, with rewards of 0 or 1. Regret itself, not in per cent."""
    players = {"KL-UCB": baselines.BKLUCB(costs=1.0, loglog=0.0), "Thompson": Thompson(), "Ration": Ration()}
    lines = []
    for name, means in CLASSICAL.items():
        problem = Problem([Discrete([1.0, 1.0], [0.0, 1.0], [1.0 - mean, mean]) for mean in means])
        requests, usual = (100_000, 60) if name.endswith("×9") else (10_000, 400)
        found = lost(problem, players, math.inf, requests, runs or usual)
        scale = requests * max(means) / 100.0
        lines.append([name, f"{requests:,}", *(f"{scale * regret.mean():.1f}" for regret in found.values())])
    show("B = ∞: regret on classical instances", ["means", "N", *players], lines)


def speed(runs: int | None) -> None:
    """CPU nanoseconds per pull at 10⁵ requests, the mean over what there is for each, beside sampling alone."""
    floor, lines = compiled_floor(), []
    for family in ("coins", "gaussian", "lognormal"):
        for arms in (10, 30, 100):
            entry = Rationed(family, of_family(family, 1, arms), 100_000)
            taken: dict[str, list[float]] = {"Ration": [], "floor": []}
            for budget in entry.budgets(PER_REQUEST).tolist():
                taken["Ration"].append(ns_per_pull(entry, Ration(), budget, runs or 4))
                taken["floor"].append(1e9 / floor(1, time.process_time))
            ns = {name: float(np.mean(each)) for name, each in taken.items()}
            lines.append([family, arms, *(f"{ns[name]:.0f}" for name in taken), f"{ns['floor'] / ns['Ration']:.3f}"])
    headings = ["problem", "K", "ns per pull", "sampling alone", "share of the floor"]
    show("10⁵ requests: what a pull of Ration takes", headings, lines)


def ns_per_pull(entry: Rationed, policy: Any, budget: float, runs: int) -> float:
    """Of a policy on one thread."""
    simulate(entry.problem, policy, [1.0], requests=10, runs=1, progress=False, workers=1)  # compiles
    start = time.process_time()
    result = simulate(
        entry.problem, policy, [budget], requests=entry.requests, runs=runs, seed=SEED, progress=False, workers=1
    )
    return 1e9 * (time.process_time() - start) / float(result.pulls.sum())


def lost(problem: Problem, players: Mapping[str, Any], c: float, requests: int, runs: int) -> dict[str, Floats]:
    """The regret of every run in per cent of N·f, with c of money for each request."""
    most = requests * theory.fluid(problem, c * requests, requests).value
    found = {}
    for name, policy in players.items():
        print(f"{name}, {len(problem)} arms, N = {requests:,}, c = {c:g}", file=sys.stderr, flush=True)
        result = simulate(
            problem, {name: policy}, [c * requests], requests=requests, runs=runs, seed=SEED, progress=False
        )
        found[name] = 100.0 * result.frame()["regret"].to_numpy(dtype=np.float64) / most
    return found


def show(title: str, headings: Sequence[str], lines: Lines) -> None:
    """Print a table in Markdown."""
    print(f"### {title}\n")
    for line in (headings, ["---"] * len(headings), *lines):
        print(f"| {' | '.join(map(str, line))} |")
    print(flush=True)


if __name__ == "__main__":
    main()
