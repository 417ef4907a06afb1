"""How fast the engine is, against the floor that sampling alone sets on the same machine in the same minute.

`make bench`, or `python -m benchmarks.engine --quick`; docs/benchmarks.md says what the columns mean.
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import outlay.engine.jit.numba_types  # noqa: F401 (teaches numba the loop and all that it calls)
from outlay import Problem, simulate
from outlay.arms import Gaussian
from outlay.beliefs import Moments
from outlay.engine import threads
from outlay.engine.jit.numba_types import OPTIONS, register
from outlay.engine.loop import Crossings
from outlay.engine.task import Task
from outlay.formulas.argmax import best_by_excess
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1, Fieller, Fixed, Frugal, KLRate, RoundRobin, Thrifty
from outlay.policies.protocol import policy_kind
from outlay.usercode import Reach

BUDGET = 1_000_000.0
SHORT, LONG = 1e3, 1e5
FLOOR_PULLS = 1_000_000

FIRST_CALL = """
import time, outlay
problem = outlay.Problem([outlay.arms.Gaussian(1.0, 1.0, 0.1, 0.1)])
policy = outlay.policies.{name}(**problem.second_moments())
start = time.perf_counter()
outlay.simulate(problem, policy, budgets=[100], runs=1)
print(time.perf_counter() - start)
"""


PEAK = """
import tracemalloc, numpy as np, outlay
problem = outlay.Problem([outlay.arms.Gaussian(1.0, 0.2 + 0.08 * k, 0.1, 0.1) for k in range(10)])
policy = outlay.policies.{name}(**problem.second_moments())
outlay.simulate(problem, policy, budgets=[10.0], runs=1)
tracemalloc.start()
budgets = np.geomspace({budget}, {budget} / 10, {budgets})[::-1]
result = outlay.simulate(problem, policy, budgets, runs={runs}, workers=1)
arrays = (result.pulls, result.cost, result.reward)
print(tracemalloc.get_traced_memory()[1] / 1e6, sum(array.nbytes for array in arrays) / 1e6)
"""


class Effort(NamedTuple):
    """How long to measure."""

    seconds: float  # the least that one repetition lasts
    repetitions: int


class Speed(NamedTuple):
    """Pulls per second of a policy, and of bare sampling at the same time."""

    policy: float
    floor: float


def problem_of(arms: int) -> Problem:
    """Gaussian arms of mean cost 1, so that a budget is also a number of pulls; rates from 0.2 to 1."""
    return Problem([Gaussian(1.0, rate, 0.1, 0.1) for rate in np.linspace(0.2, 1.0, arms).tolist()])


def policies_for(problem: Problem) -> dict[str, Any]:
    moments = problem.second_moments()
    return {
        "UCBB1": UCBB1(**moments),
        "UCBM1": UCBM1(**moments),
        "UCBB2": UCBB2(cost_bound=1.5, reward_bound=1.5),
        "UCBB2C": UCBB2C(cost_bound=1.5, reward_bound=1.5, slope_bound=1.0),
        "Fieller": Fieller(),
        "KLRate": KLRate(),
        "Frugal": Frugal(),
        "Thrifty": Thrifty(budget=BUDGET),
        "Fixed": Fixed(problem.best),
        "RoundRobin": RoundRobin(),
    }


def full_scan(policy: Any) -> Any:
    """The same policy without its licence to be lazy: every arm is scored or compared before every pull."""
    cls = type(policy)
    if policy_kind(cls).method == "excess":
        return Compared(policy)
    return tuple.__new__(type(cls.__name__, (cls,), {"__slots__": (), "phase": None}), policy)


class Compared(NamedTuple):
    """A policy that compares with the leader, and does so with every arm before every pull."""

    policy: Any

    def memory(self, arms: int) -> Any:
        """That of the policy."""
        return self.policy.memory(arms)

    def choose(self, memory: Any, now: Any, rng: Any) -> int:  # noqa: ARG002 (it looks at the memory alone)
        """Return the arm, found by comparing them all."""
        return best_by_excess(self.policy, memory, memory.stats[:-1, 0])


def sample(rng: Any, law: Any, memory: Any, pulls: int) -> None:
    """Draw and observe: what no policy can do without."""
    for _ in range(pulls):
        cost, reward = law.draw(rng)
        memory.observe(0, cost, reward)


def compiled_floor() -> Callable[[int, Callable[[], float]], float]:
    """A function of a number of threads and a timer: pulls per second; compiled as the engine's loop is."""
    for function in Reach(Gaussian, Moments).functions:
        register(function)
    numba.extending.register_jitable(forceinline=True, _nrt=False, **OPTIONS)(sample)
    loop = numba.njit(nogil=True, **OPTIONS)(lambda rng, law, memory, pulls: sample(rng, law, memory, pulls))
    law = Gaussian(1.0, 1.0, 0.1, 0.1)

    def thread(seed: int, pulls: int = FLOOR_PULLS) -> None:
        loop(np.random.default_rng(seed), law, Moments.empty(1), pulls)

    def floor(threads: int, now: Callable[[], float]) -> float:
        start = now()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(thread, range(threads)))
        return threads * FLOOR_PULLS / (now() - start)

    thread(0, pulls=1)
    return floor


class Bench:
    """The measurements, each the median of a few short repetitions."""

    def __init__(self, effort: Effort) -> None:
        self.effort = effort
        self.floor = compiled_floor()

    def speeds(self, problem: Problem, policy: Any, budget: float, *workers: int) -> list[Speed]:
        """A policy alone, for each number of threads: below `simulate`, which also puts the result together.

        One thread is timed in CPU seconds, which other work on the machine does not stretch; a comparison of several
        numbers of threads needs seconds on the wall.
        """
        now = time.process_time if workers == (1,) else time.perf_counter
        budgets = np.array([budget])

        def clock(workers: int) -> tuple[float, int]:
            crossings = Crossings.blank(runs * workers, 1, len(problem))  # each thread has as much to do as one alone
            task = Task(problem, "the policy", policy, budgets, 0, 10**9, crossings)
            start = now()
            threads.run([task], workers, report=lambda _: None)
            return now() - start, int(crossings.pulls.sum())

        def once(workers: int) -> Speed:
            seconds, pulls = clock(workers)
            return Speed(pulls / seconds, self.floor(workers, now))

        runs = 1
        clock(1)  # compiles
        while clock(1)[0] < self.effort.seconds:
            runs *= 2
        repetitions = [[once(count) for count in workers] for _ in range(self.effort.repetitions)]
        return [Speed(*map(statistics.median, zip(*each, strict=True))) for each in zip(*repetitions, strict=True)]

    def policies(self) -> Table:
        """Every policy on one worker, for three numbers of arms."""
        sizes = (10, 100, 1000)
        table = columns("policy", *(f"K = {k}" for k in sizes), *(f"M pulls/s, {k}" for k in sizes))
        problems = [problem_of(k) for k in sizes]
        floors = []
        for name in policies_for(problems[0]):
            players = [(problem, policies_for(problem)[name]) for problem in problems]
            row = [self.speeds(*player, BUDGET, 1)[0] for player in players]
            floors += [speed.floor for speed in row]
            shares = [f"{speed.policy / speed.floor:.3f}" for speed in row]
            table.add_row(name, *shares, *(f"{speed.policy / 1e6:.2f}" for speed in row))
        floor = f"{statistics.median(floors) / 1e6:.1f}"
        table.add_row("floor", *["1"] * len(sizes), *[floor] * len(sizes))
        return table

    def laziness(self) -> Table:
        """What not scoring every arm gains, at the start of a run and later."""
        cases = [(10, 1e4), (10, 1e6), (100, 1e4), (100, 1e5), (100, 1e6), (1000, 1e5)]
        table = columns("policy", *(f"K = {k}, to {budget:,.0f}" for k, budget in cases))
        for name in ("UCBB1", "UCBM1", "UCBB2", "UCBB2C", "Fieller", "KLRate", "Frugal"):
            gains = []
            for k, budget in cases:
                problem = problem_of(k)
                policy = policies_for(problem)[name]
                lazy, full = (self.speeds(problem, each, budget, 1)[0] for each in (policy, full_scan(policy)))
                gains.append(f"{lazy.policy / full.policy:.1f}")
            table.add_row(name, *gains)
        return table

    def arms(self) -> Table:
        """UCBB1 for more and more arms."""
        table = columns("K", "share of the floor", "ns per pull", "full scan, ns")
        for count in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
            problem = problem_of(count)
            policy = policies_for(problem)["UCBB1"]
            speed = self.speeds(problem, policy, BUDGET, 1)[0]
            full = self.speeds(problem, full_scan(policy), BUDGET / 100, 1)[0]
            share = speed.policy / speed.floor
            table.add_row(f"{count}", f"{share:.2f}", f"{1e9 / speed.policy:.0f}", f"{1e9 / full.policy:.0f}")
        return table

    def runs(self) -> Table:
        """UCBB1 in more and more runs of one length, through `simulate` itself."""
        table = columns("runs", "M pulls/s", "µs per run")
        problem = problem_of(10)
        policy = policies_for(problem)["UCBB1"]
        for count in (1, 10, 100, 1000, 10_000):

            def once(count: int = count) -> float:
                start = time.process_time()
                simulate(problem, policy, budgets=[SHORT], runs=count, workers=1)
                return time.process_time() - start

            seconds = statistics.median(once() for _ in range(self.effort.repetitions))
            made = count * SHORT
            table.add_row(f"{count:,}", f"{made / seconds / 1e6:.2f}", f"{1e6 * seconds / count:.0f}")
        return table

    def memory(self) -> Table:
        """What a simulation takes beyond the interpreter and the compiler."""
        table = columns("", "MB at the peak", "of it the result")
        for what, name, budget, budgets, runs in (
            ("UCBB1, 100,000 runs, 25 budgets", "UCBB1", 1e2, 25, 100_000),
            ("UCBM1, 16 runs of 1,000,000 pulls on 1 worker", "UCBM1", 1e6, 1, 16),
        ):
            command = [sys.executable, "-c", PEAK.format(name=name, budget=budget, budgets=budgets, runs=runs)]
            peak, result = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            table.add_row(what, f"{float(peak):.0f}", f"{float(result):.0f}")
        return table

    def threads(self) -> Table:
        """Every policy on two threads and on one, in short runs and in long ones."""
        table = columns("policy", "gain, long", "floor's gain", "gain, short", "short/long", "M pulls/s, long", "short")
        problem = problem_of(10)
        for name, policy in policies_for(problem).items():
            one, two = self.speeds(problem, policy, LONG, 1, 2)
            one_short, two_short = self.speeds(problem, policy, SHORT, 1, 2)
            ratios = (
                two.policy / one.policy,
                two.floor / one.floor,
                two_short.policy / one_short.policy,
                one_short.policy / one.policy,
            )
            made = (one.policy / 1e6, one_short.policy / 1e6)
            table.add_row(name, *(f"{value:.2f}" for value in (*ratios, *made)))
        return table

    def scaling(self) -> Table:
        """UCBB1 on more and more threads, up to the machine's cores, in short runs and in long ones."""
        headings = ("M pulls/s, short", "M pulls/s, long", "floor", "gain, short", "gain, long", "floor's gain")
        table = columns("threads", *headings)
        problem, cores = problem_of(10), os.cpu_count() or 1
        counts = sorted({2**i for i in range(cores.bit_length()) if 2**i < cores} | {cores})
        policy = policies_for(problem)["UCBB1"]
        short, long = (self.speeds(problem, policy, budget, *counts) for budget in (SHORT, LONG))
        for count, *each in zip(counts, short, long, strict=True):
            made = [speed.policy for speed in each] + [statistics.mean(speed.floor for speed in each)]
            if count == 1:
                first = made
            gains = [f"{here / alone:.2f}" for here, alone in zip(made, first, strict=True)]
            table.add_row(f"{count}", *(f"{speed / 1e6:.2f}" for speed in made), *gains)
        return table

    def shares(self) -> Table:
        """UCBB1 through `simulate`, as a share of the floor, for longer and longer runs."""
        table = columns("budget", "share of the floor", "of the longest", "M pulls/s")
        problem = problem_of(10)
        policy = policies_for(problem)["UCBB1"]
        budgets = (1e3, 1e4, 1e5, 1e6)

        def once(budget: float) -> Speed:
            start = time.process_time()
            pulls = simulate(problem, policy, budgets=[budget], runs=int(4e6 / budget), workers=1).pulls.sum()
            return Speed(pulls / (time.process_time() - start), self.floor(1, time.process_time))

        turns = [[once(budget) for budget in budgets] for _ in range(self.effort.repetitions)]
        for i, budget in enumerate(budgets):
            share = statistics.median(turn[i].policy / turn[i].floor for turn in turns)
            longest = statistics.median(turn[i].policy / turn[-1].policy for turn in turns)
            speed = statistics.median(turn[i].policy for turn in turns)
            table.add_row(f"{budget:,.0f}", f"{share:.2f}", f"{longest:.2f}", f"{speed / 1e6:.2f}")
        return table

    def medians(self) -> Table:
        """UCBM1 for longer and longer runs."""
        table = columns("budget", "of the first", "ns per pull")
        problem = problem_of(10)
        budgets = (1e4, 1e5, 1e6)
        costs = [1e9 / self.speeds(problem, policies_for(problem)["UCBM1"], budget, 1)[0].policy for budget in budgets]
        for budget, cost in zip(budgets, costs, strict=True):
            table.add_row(f"{budget:,.0f}", f"{cost / costs[0]:.2f}", f"{cost:.0f}")
        return table

    def waits(self) -> Table:
        """What a user waits for."""
        table = columns("", "ms")

        def add(what: str, seconds: float) -> None:
            table.add_row(what, f"{1e3 * seconds:.0f}")

        repetitions = range(self.effort.repetitions)
        for name in ("UCBB1", "UCBM1"):
            with tempfile.TemporaryDirectory() as folder:
                add(f"first call of {name}, nothing compiled yet", first_call(name, folder))
                warm = statistics.median(first_call(name, folder) for _ in repetitions)
                add(f"first call of {name}, compiled code on disk", warm)
        for name, arms in (("UCBB1", 10), ("UCBM1", 10), ("UCBB1", 1000)):
            latency = max(interruption(problem_of(arms), name) for _ in repetitions)
            add(f"Ctrl-C in {name}, K = {arms} (worst of {len(repetitions)})", latency)
        with tempfile.TemporaryDirectory() as folder:
            compare = [str(Path(sys.executable).with_name("outlay")), "compare", "--out", folder]
            env = {**os.environ, "OUTLAY_CACHE_DIR": folder}
            add("outlay compare, the very first", process(compare, env))
            add("outlay compare, from then on", statistics.median(process(compare, env) for _ in repetitions))
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "python -c 'import outlay'": [sys.executable, "-c", "import outlay"],
            "outlay --help": [str(Path(sys.executable).with_name("outlay")), "--help"],
        }
        for name, command in commands.items():
            add(name, statistics.median(process(command) for _ in repetitions))
        return table


def first_call(name: str, folder: str) -> float:
    """Seconds that the first simulate() of a new process takes."""
    command = [sys.executable, "-c", FIRST_CALL.format(name=name)]
    env = {**os.environ, "OUTLAY_CACHE_DIR": folder}
    return float(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout)


def interruption(problem: Problem, name: str) -> float:
    """Seconds from SIGINT in the middle of a long simulation to its end."""
    sent = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
    policy = policies_for(problem)[name]
    simulate(problem, policy, budgets=[1.0], runs=1)  # compiles
    timer = threading.Timer(0.5, interrupt)
    timer.start()
    try:
        simulate(problem, policy, budgets=[1e9], runs=4, workers=2)
    except KeyboardInterrupt:
        return time.perf_counter() - sent[0]
    raise RuntimeError("the simulation ended before it was interrupted")


def process(command: list[str], env: dict[str, str] | None = None) -> float:
    """Seconds that a command takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=env)
    return time.perf_counter() - start


def columns(first: str, *rest: str) -> Table:
    table = Table(first, box=SIMPLE_HEAD, pad_edge=False)
    for name in rest:
        table.add_column(name, justify="right")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one short repetition of each: rough figures")
    parser.add_argument("--only", metavar="WORD", default="", help="only the tables with this word in their title")
    chosen = parser.parse_args()
    bench = Bench(Effort(0.05, 1) if chosen.quick else Effort(0.15, 5))
    console = Console(width=100, highlight=False)
    parts = {
        f"One worker, budget {BUDGET:,.0f}: share of the floor, then M pulls/s": bench.policies,
        "Gain over scoring every arm before every pull, one worker": bench.laziness,
        f"UCBB1 as arms are added, one worker, budget {BUDGET:,.0f}": bench.arms,
        f"UCBB1 as runs are added, K = 10, budget {SHORT:,.0f}, one worker, through simulate()": bench.runs,
        f"Two threads against one, K = 10: long runs (budget {LONG:,.0f}) and short ones ({SHORT:,.0f})": bench.threads,
        f"UCBB1 as threads are added, K = 10: runs of budget {SHORT:,.0f} and of {LONG:,.0f}": bench.scaling,
        "UCBB1 in longer and longer runs, K = 10, one worker, through simulate()": bench.shares,
        "UCBM1 as the pulls of an arm grow, K = 10": bench.medians,
        "Memory, K = 10": bench.memory,
        "Waiting": bench.waits,
    }
    for title, part in parts.items():
        if chosen.only.lower() in title.lower():
            console.print(title)
            console.print(part())


if __name__ == "__main__":
    main()
