"""How many asks and tells per second a campaign serves, in memory, on SQLite and on PostgreSQL, next to Optuna's.

`python -m benchmarks.campaign` needs a few minutes. Optuna is installed into build/peers the first time; PostgreSQL
comes with the development environment, or is skipped. Every commit is flushed to the disk.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from tests.campaign.postgres import Server, unavailable

import outlay
from benchmarks.peers import Player, Unavailable, interpreter
from outlay import Campaign
from outlay.campaign.ledger.learner import ORDER, EventRandom, InFlight, Learner
from outlay.formulas.argmax import best_by_excess, best_of_opened
from outlay.policies import Frugal, Thrifty

ARMS = ["a", "b", "c"]
BUDGET = 1e6
SECONDS = 2.0
TURNS = 3
BATCH = 200
PLAIN = "1 caller, plain commits"  # what the disk allows
CALLERS = ("1 thread", "8 threads", "64 threads", "64 tasks", f"batches of {BATCH}", "16 campaigns × 4 threads")
CHOICES = 400  # that are timed, one after the other
WORKER = Path(__file__).with_name("optuna_worker.py")


def threads(callers: int) -> str:
    return f"{callers} thread{'s' * (callers > 1)}"


def pair(campaign: Campaign) -> None:
    """One ask and its tell."""
    pull = campaign.ask()
    assert pull is not None
    campaign.tell(pull, 0.2 if pull.arm == "a" else 0.1, 0.1)


def rate(campaign: Campaign, callers: int = 1, seconds: float = SECONDS) -> float:
    """Pairs of ask and tell per second, by so many threads."""
    made = [0] * callers
    end = time.perf_counter() + seconds

    def work(i: int) -> None:
        while time.perf_counter() < end:
            pair(campaign)
            made[i] += 1

    crowd = [threading.Thread(target=work, args=(i,)) for i in range(callers)]
    start = time.perf_counter()
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    return sum(made) / (time.perf_counter() - start)


def batched(campaign: Campaign, seconds: float = SECONDS) -> float:
    """Pairs per second, asked for and told 200 at a time."""
    made, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        pulls = campaign.ask_many(BATCH)
        campaign.tell_many([(pull, 0.1, 0.1) for pull in pulls])
        made += len(pulls)
    return made / spent


def optuna(store: str, callers: int) -> float:
    """Pairs per second of Optuna, with its cheapest sampler."""
    python = interpreter(Player("Optuna", "random", "optuna"))
    command = [str(python), str(WORKER), store, str(callers), str(SECONDS)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"Optuna failed: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout)


@contextmanager
def opened(store: str | None, name: str = "default", policy: Any = None) -> Iterator[Campaign]:
    with Campaign(ARMS, BUDGET, policy, store=store, name=name) as campaign:
        pair(campaign)
        yield campaign


def pace(store: str, callers: str, source: Path, policy: str, start: str) -> dict[str, float]:
    """What one measurement in a process of its own gives, with the outlay whose `src` folder this is."""
    command = [sys.executable, "-m", "benchmarks.campaign_worker", store, callers, policy, start]
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{Path.cwd()}"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def speeds(folder: Path, console: Console, before: Path | None, policy: str, turns: int, start: str) -> None:
    """Pairs per second everywhere and the processor time of each; with `before`, next to another version, by turns."""
    sources = [Path(outlay.__file__).parents[1], *([before] if before else [])]
    table = Table("ledger", "callers", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("ask + tell / s", "µs CPU each", *(("before", "µs CPU", "÷", "÷ CPU") if before else ())):
        table.add_column(name, justify="right")
    stores = itertools.count()

    def row(where: str, callers: str, new: Callable[[str], str]) -> None:
        got = [
            [pace(new(f"{where.lower()}{next(stores)}"), callers, src, policy, start) for src in sources]
            for _ in range(turns)
        ]
        cells: list[str] = []
        for column in zip(*got, strict=True):
            rate, cpu = statistics.median(one["rate"] for one in column), min(one.get("cpu", 0.0) for one in column)
            cells += [f"{rate:,.0f}", f"{cpu:,.0f}" if cpu else ""]
        if before:
            rates = statistics.median(ours["rate"] / theirs["rate"] for ours, theirs in got)
            cpus = cells[1] and f"{float(cells[3].replace(',', '')) / float(cells[1].replace(',', '')):.1f}"
            cells += [f"{rates:.1f}", cpus]
        if "processes" in callers:
            callers += f" (least: {statistics.median(turn[0]['least'] for turn in got):.0%} of an equal share)"
        table.add_row(where, callers, *cells)

    for callers in ("1 thread", f"batches of {BATCH}"):
        row("memory", callers, lambda _: "memory")
    for callers in (PLAIN, *CALLERS, "4 processes"):
        row("SQLite", callers, lambda name: f"sqlite:///{folder}/{name}.db")
    if reason := unavailable():
        console.print(f"PostgreSQL was left out: {reason}", markup=False)
    else:
        with Server(durable=True) as server:
            for callers in (PLAIN, *CALLERS):
                row("PostgreSQL", callers, server.create_database)
    console.print(table)


def processes(console: Console, policy: str, turns: int, counts: tuple[int, ...] = (1, 2, 3, 4, 8, 16)) -> None:
    """Pairs per second of so many processes on one campaign of a server, each with one caller, by turns."""
    if reason := unavailable():
        console.print(f"PostgreSQL was left out: {reason}", markup=False)
        return
    source, made = Path(outlay.__file__).parents[1], itertools.count()
    with Server(durable=True) as server:
        got = [
            [
                pace(server.create_database(f"processes{next(made)}"), f"{n} processes", source, policy, "warm")
                for n in counts
            ]
            for _ in range(turns)
        ]
    table = Table("processes", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("ask + tell / s", "÷ one", "least, of an equal share"):
        table.add_column(name, justify="right")
    for i, n in enumerate(counts):
        rate, least = (statistics.median(turn[i][what] for turn in got) for what in ("rate", "least"))
        ratio = statistics.median(turn[i]["rate"] / turn[0]["rate"] for turn in got)
        table.add_row(str(n), f"{rate:,.0f}", f"{ratio:.2f}", f"{least:.0%}")
    console.print(table)


def next_to_optuna(folder: Path, console: Console) -> None:
    """As many callers each, by turns, on the same disk; a new study every time, arms at random or in turn."""
    table = Table("ledger", "callers", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("Optuna, random", "outlay, RoundRobin", "÷ Optuna", "outlay, Frugal", "÷ Optuna"):
        table.add_column(name, justify="right")
    ours, theirs = f"sqlite:///{folder}/outlay.db", f"sqlite:///{folder}/optuna-{{}}-{{}}.db"
    for where, there, here, callers, many in (
        ("memory", "memory", None, 1, False),
        *(("SQLite", theirs, ours, callers, False) for callers in (1, 8, 64)),
        ("SQLite", theirs, ours, 1, True),
    ):
        measure = batched if many else partial(rate, callers=callers)
        with opened(here, "simple", "RoundRobin") as simple, opened(here, "default") as usual:
            turns = [
                (optuna(there.format(f"{callers}-{many}", turn), callers), measure(simple), measure(usual))
                for turn in range(TURNS)
            ]
        speeds = [f"{statistics.median(column):,.0f}" for column in zip(*turns, strict=True)]
        ratios = [f"{float(f'{statistics.median(turn[i] / turn[0] for turn in turns):.2g}'):g}" for i in (1, 2)]
        who = f"{threads(callers)}, batches of {BATCH}" if many else threads(callers)
        table.add_row(where, who, speeds[0], speeds[1], ratios[0], speeds[2], ratios[1])
    console.print("ask + tell per second")
    console.print(table)


def growth(folder: Path, events: int, console: Console) -> None:
    """The same pair on a ledger of a thousand events and on a long one, by turns; and how long opening takes."""
    short, long = f"sqlite:///{folder}/short.db", f"sqlite:///{folder}/long.db"
    for store, size in ((short, 1000), (long, events)):
        with opened(store) as campaign:
            while campaign.status().events < size:
                batched(campaign, min(1.0, size / 1e5))
    turns = []
    for _ in range(TURNS):
        with opened(short) as one, opened(long) as other:
            turns.append((rate(one), rate(other)))
    openings = []
    for _ in range(TURNS):
        start = time.perf_counter()
        with Campaign.open(long) as campaign:
            openings.append(time.perf_counter() - start)
            count = campaign.status().events
    ratio = statistics.median(before / after for before, after in turns)
    console.print(f"A pair on a ledger of {count:,} events takes {ratio:.2f} times as long as on one of about 1,000.")
    console.print(f"Opening it takes {1000 * statistics.median(openings):.0f} ms.")


def choices(console: Console, counts: tuple[int, ...] = (3, 100, 1000)) -> None:
    """What a choice costs in CPU time: by certificate, and by comparing all arms."""
    table = Table("policy", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("arms", "under way", "µs by certificate", "comparing all", "÷"):
        table.add_column(name, justify="right")
    for policy, arms, under_way in itertools.product((Frugal(), Thrifty()), counts, (0, 64)):
        lazy, slow = map(np.mean, choice_times(policy, arms, under_way))
        figures = f"{lazy:,.1f}", f"{slow:,.0f}", f"{slow / lazy:.1f}"
        table.add_row(type(policy).__name__, f"{arms:,}", str(under_way), *figures)
    console.print(table)


def choice_times(policy: Any, arms: int, under_way: int) -> tuple[list[float], list[float]]:
    """Microseconds of each choice of a run, Frugal with three samples of each arm, and of some full comparisons."""
    rng, opening = np.random.default_rng(0), hasattr(policy, "excess_of_new_arm")
    means = rng.uniform(0.5, 1.5, (arms, 2))
    learner, waiting = Learner(policy, arms, 20.0 * arms + 3000.0), deque[int]()
    times: tuple[list[float], list[float]] = [], []
    learner.shuffle(EventRandom(0, ORDER))

    def learn(arm: int) -> None:
        cost, reward = (means[arm] + 0.2 * rng.standard_normal(2)).tolist()
        learner.observe(arm, max(cost, 0.01), reward, EventRandom(0, 1))

    for arm in range(0 if opening else 3 * arms):
        learn(arm % arms)
    for n in range(CHOICES):
        counts = {arm: InFlight(count) for arm, count in Counter(waiting).items()}
        start = time.process_time()
        waiting.append(learner.choose(range(arms), counts, 0.0, EventRandom(0, 1)))
        times[0].append(1e6 * (time.process_time() - start))
        if n % (CHOICES // 20) == 0:
            start = time.process_time()
            arm = (best_of_opened if opening else best_by_excess)(learner.policy, *learner._with(counts))
            times[1].append(1e6 * (time.process_time() - start))
            assert arm == waiting[-1]
        if len(waiting) > under_way:
            learn(waiting.popleft())
    return times


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--events", type=int, default=1_000_000, help="of the long ledger")
    options.add_argument("--only", choices=("speeds", "processes", "optuna", "growth", "choices"))
    options.add_argument("--before", type=Path, help="the src folder of another version, to compare the speeds with")
    options.add_argument("--policy", default="Frugal", help="of the campaigns whose speed is measured")
    options.add_argument("--cold", action="store_true", help="measure campaigns that have just been opened")
    options.add_argument("--turns", type=int, default=TURNS, help="of each speed")
    given = options.parse_args()
    console = Console(width=130, highlight=False)
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as name:
        folder = Path(name)
        if given.only in (None, "speeds"):
            speeds(folder, console, given.before, given.policy, given.turns, "cold" if given.cold else "warm")
        if given.only in (None, "processes"):
            processes(console, given.policy, given.turns)
        if given.only in (None, "optuna"):
            try:
                next_to_optuna(folder, console)
            except Unavailable as error:
                console.print(str(error), markup=False)
        if given.only in (None, "growth"):
            growth(folder, given.events, console)
        if given.only in (None, "choices"):
            choices(console)


if __name__ == "__main__":
    main()
