"""How many asks and tells per second a campaign serves, in memory, on SQLite and on PostgreSQL, next to Optuna's.

`python -m benchmarks.campaign` needs a few minutes. Optuna is installed into build/peers the first time; PostgreSQL
comes with the development environment, or is skipped. Every commit is flushed to the disk.
"""

import argparse
import itertools
import multiprocessing
import statistics
import subprocess
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

from benchmarks.peers import Player, Unavailable, interpreter
from outlay import Campaign
from outlay.campaign.ledger import quick
from outlay.campaign.ledger.learner import Learner
from outlay.campaign.ledger.stream import ORDER, Stream
from outlay.errors import NotNow
from outlay.formulas.choose import best_by_excess, best_of_opened
from outlay.policies import Frugal, Thrifty

ARMS = ["a", "b", "c"]
BUDGET = 1e6
SECONDS = 2.0
TURNS = 3
BATCH = 200
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


def worker(store: str, barrier: Any, seconds: float, made: Any, i: int) -> None:
    """One process of several on a campaign."""
    with Campaign(ARMS, BUDGET, store=store, name="shared") as campaign:
        barrier.wait()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            try:
                pair(campaign)
            except NotNow as error:
                time.sleep(error.retry_after)
            made[i] += 1


def by_workers(store: str, workers: int) -> tuple[float, float]:
    """Pairs per second by so many processes, and the share that the least lucky got of an equal one."""
    context = multiprocessing.get_context("spawn")
    made, barrier = context.Array("q", workers), context.Barrier(workers)
    crowd = [context.Process(target=worker, args=(store, barrier, SECONDS, made, i)) for i in range(workers)]
    for process in crowd:
        process.start()
    for process in crowd:
        process.join()
    counts = made[:]
    return sum(counts) / SECONDS, min(counts) * workers / sum(counts)


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


def speeds(folder: Path, console: Console) -> None:
    """Pairs per second everywhere; those that are compared are measured by turns."""
    table = Table("ledger", "callers", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("ask + tell / s", justify="right")

    def measured(where: str, callers: str, once: Callable[[], float]) -> None:
        table.add_row(where, callers, f"{statistics.median(once() for _ in range(TURNS)):,.0f}")

    with opened(None) as campaign, opened(None, policy="Fieller") as simpler:
        measured("memory", "1 thread", lambda: rate(campaign))
        measured("memory", "1 thread, Fieller", lambda: rate(simpler))
        measured("memory", f"batches of {BATCH}", lambda: batched(campaign))
    with opened(f"sqlite:///{folder / 'speed.db'}") as campaign:
        for callers in (1, 8, 64):
            measured("SQLite", threads(callers), partial(rate, campaign, callers))
        measured("SQLite", f"batches of {BATCH}", lambda: batched(campaign))
    if reason := unavailable():
        console.print(f"PostgreSQL was left out: {reason}", markup=False)
    else:
        with Server(durable=True) as server:
            store = server.create_database("speed")
            with opened(store) as campaign:
                for callers in (1, 8, 64):
                    measured("PostgreSQL", threads(callers), partial(rate, campaign, callers))
                measured("PostgreSQL", f"batches of {BATCH}", lambda: batched(campaign))
            made, fair = by_workers(store, 8)
            table.add_row("PostgreSQL", f"8 processes (least: {fair:.0%} of an equal share)", f"{made:,.0f}")
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
    """What a choice costs in CPU time: compiled, interpreted by certificate, and by comparing all arms."""
    table = Table("policy", box=SIMPLE_HEAD, pad_edge=False)
    for name in ("arms", "under way", "µs compiled", "interpreted", "÷", "comparing all", "÷"):
        table.add_column(name, justify="right")
    for policy, arms, under_way in itertools.product((Frugal(), Thrifty()), counts, (0, 64)):
        compiled, _ = map(np.mean, choice_times(policy, arms, under_way, compiled=True))
        lazy, slow = map(np.mean, choice_times(policy, arms, under_way))
        gains = f"{lazy / compiled:.1f}", f"{slow:,.0f}", f"{slow / compiled:.1f}"
        table.add_row(
            type(policy).__name__, f"{arms:,}", str(under_way), f"{compiled:,.1f}", f"{lazy:,.1f}", *gains
        )  # fmt: skip
    console.print(table)


def choice_times(
    policy: Any, arms: int, under_way: int, compiled: bool = False
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Microseconds of each choice of a run, Frugal with three samples of each arm, and of some full comparisons."""
    quick.AFTER = 1 if compiled else 10**9
    rng, opening = np.random.default_rng(0), hasattr(policy, "fresh")
    means = rng.uniform(0.5, 1.5, (arms, 2))
    learner, waiting = Learner(policy, arms, 20.0 * arms + 3000.0), deque[int]()
    times: tuple[list[float], list[float]] = [], []
    learner.shuffle(Stream(0, ORDER))

    def learn(arm: int) -> None:
        cost, reward = (means[arm] + 0.2 * rng.standard_normal(2)).tolist()
        learner.observe(arm, max(cost, 0.01), reward, Stream(0, 1))

    for arm in range(0 if opening else 3 * arms):
        learn(arm % arms)
    if compiled:
        learner.choose(range(arms), {}, 0.0, Stream(0, 1))
        learner._quick.wait()
    for n in range(CHOICES):
        counts = dict(Counter(waiting))
        start = time.process_time()
        waiting.append(learner.choose(range(arms), counts, 0.0, Stream(0, 1)))
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
    options.add_argument("--only", choices=("speeds", "optuna", "growth", "choices"))
    given = options.parse_args()
    console = Console(width=120, highlight=False)
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as name:
        folder = Path(name)
        if given.only in (None, "speeds"):
            speeds(folder, console)
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
