"""How fast the GPU backend is, and whether it plays the same game as the CPU: `python -m benchmarks.gpu`.

Needs an NVIDIA GPU and `pip install 'outlay[cuda]'`; docs/gpu.md says what the columns mean.
"""

import argparse
import os
import time
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from scipy import stats
from tests.engine.gpu.examples import played_on_cpu

from outlay import Problem
from outlay.arms import Gaussian
from outlay.engine import threads
from outlay.engine.gpu import backend
from outlay.engine.loop import Crossings
from outlay.engine.task import Task
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1, Fixed, Frugal, KLRate, RoundRobin, Thrifty

ALARM = 1e-3  # how often the agreement tests, all together, raise a false alarm
# Policy, arms, budget, runs.
CASES = [
    ("UCBB1", 10, 1e5, 100_000),
    ("UCBB1", 10, 1e5, 1_000_000),
    ("UCBB2", 10, 1e5, 100_000),
    ("UCBB2C", 10, 1e5, 100_000),
    ("Fixed", 10, 1e5, 1_000_000),
    ("RoundRobin", 10, 1e5, 1_000_000),
    ("UCBM1", 10, 1e4, 5_000),
    ("UCBB1", 100, 1e4, 135_168),  # as many as the card plays at a time, twice
    ("UCBB1", 100, 1e4, 1_000_000),
    ("UCBB1", 1000, 1e4, 100_000),
    ("Frugal", 10, 1e5, 100_000),
    ("Frugal", 10, 1e5, 1_000_000),
    ("Frugal", 100, 1e5, 67_584),
    ("KLRate", 10, 1e5, 100_000),
    ("Thrifty", 10, 1e5, 100_000),
    ("Thrifty:ignored", 10, 1e5, 100_000),
    ("Thrifty", 100, 2e4, 67_584),
]
CHECKED = 20, 500.0  # runs and budget that the CPU's loop plays again, in the interpreter


def problem_of(arms: int) -> Problem:
    """Gaussian arms of mean cost 1, so that a budget is also a number of pulls; rates from 0.2 to 1."""
    return Problem([Gaussian(1.0, rate, 0.1, 0.1) for rate in np.linspace(0.2, 1.0, arms).tolist()])


def policy_of(name: str, problem: Problem) -> Any:
    if name in ("UCBB1", "UCBM1"):
        return {"UCBB1": UCBB1, "UCBM1": UCBM1}[name](**problem.second_moments())
    made = {
        "UCBB2": UCBB2(1.5, 1.5), "UCBB2C": UCBB2C(1.5, 1.5, 1.0), "Fixed": Fixed(problem.best), "Frugal": Frugal(),
        "KLRate": KLRate(), "Thrifty": Thrifty(), "Thrifty:ignored": Thrifty(changes="ignored"),
        "RoundRobin": RoundRobin(),
    }  # fmt: skip
    return made[name]


def task_of(name: str, arms: int, budget: float, runs: int) -> Task:
    problem = problem_of(arms)
    crossings = Crossings.blank(runs, 1, arms)
    return Task(problem, name, policy_of(name, problem), np.array([budget]), 0, 10**9, crossings)


def clock(backend_run: Any, task: Task) -> float:
    """Pulls per second of a task, after a short one that compiles."""
    warm = task_of(task.label, len(task.problem), 10.0, 128)
    backend_run([warm], os.cpu_count() or 1, lambda _: None)
    start = time.perf_counter()
    backend_run([task], os.cpu_count() or 1, lambda _: None)
    return float(task.crossings.pulls.sum()) / (time.perf_counter() - start)


def columns(first: str, *rest: str) -> Table:
    table = Table(first, box=SIMPLE_HEAD, pad_edge=False)
    for name in rest:
        table.add_column(name, justify="right")
    return table


def same_pulls(name: str, arms: int) -> float:
    """In what part of some runs the pulls are those of the CPU's loop, from the same random numbers."""
    runs, budget = CHECKED
    device, host = task_of(name, arms, budget, runs), task_of(name, arms, budget, runs)
    backend.run([device], 1, lambda _: None)
    same = (device.crossings.pulls == played_on_cpu(host).pulls).all(axis=(1, 2))
    return float(same.mean())


def speeds(cuda: Any, share: float, only: list[str], most_arms: int) -> Table:
    table = columns("policy", "arms", "budget", "runs", "pulls/s", "pulls as on the CPU", "GiB")
    for name, arms, budget, runs in CASES:
        if (only and name not in only) or arms > most_arms:
            continue
        runs = int(runs * share)
        task = task_of(name, arms, budget, runs)
        speed = clock(backend.run, task)
        size = backend.Plan(cuda, task).bytes_per_run * runs / 2**30
        row = (f"{arms}", f"{budget:,.0f}", f"{runs:,}", f"{speed:.2e}", f"{same_pulls(name, arms):.0%}", f"{size:.1f}")
        table.add_row(name, *row)
    return table


def agreement(runs: int, only: list[str]) -> Table:
    """Two-sample Kolmogorov-Smirnov tests of the final cost, reward and pulls of each arm, GPU against CPU."""
    table = columns("policy", "tests", "smallest p", "alarm below", "agrees", "CPU pulls/s")
    names = ("UCBB1", "UCBB2", "UCBB2C", "RoundRobin", "Frugal", "Thrifty")
    for name in [name for name in names if name in only or not only]:
        device, host = task_of(name, 10, 1e4, runs), task_of(name, 10, 1e4, runs)
        clock(backend.run, device)
        speed = clock(threads.run, host)
        pairs: list[Any] = [
            (mine[:, 0].reshape(runs, -1)[:, k], theirs[:, 0].reshape(runs, -1)[:, k])
            for mine, theirs in zip(device.crossings, host.crossings, strict=True)
            for k in range(mine[:, 0].reshape(runs, -1).shape[1])
        ]
        least = min(stats.ks_2samp(*pair).pvalue for pair in pairs)
        limit = ALARM / len(names) / len(pairs)
        row = (f"{len(pairs)}", f"{least:.3f}", f"{limit:.1e}", "yes" if least > limit else "NO", f"{speed:.2e}")
        table.add_row(name, *row)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs")
    parser.add_argument("--only", nargs="*", default=[], help="of these policies, such as Frugal", metavar="policy")
    parser.add_argument("--arms", type=int, default=10**6, help="only problems with at most so many")
    given = parser.parse_args()
    share = 0.1 if given.quick else 1.0
    cuda = backend.toolkit()
    console = Console(width=100, highlight=False)
    card = cuda.get_current_device().name
    console.print(f"{card.decode() if isinstance(card, bytes) else card}: pulls per second, played copied back")
    console.print(speeds(cuda, share, given.only, given.arms))
    console.print(f"Agreement with {os.cpu_count()} cores, K = 10, budget 10 000, {100_000 * share:,.0f} runs of each")
    console.print(agreement(int(100_000 * share), given.only))


if __name__ == "__main__":
    main()
