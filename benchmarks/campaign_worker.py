"""One measurement of a campaign's pace in a process of its own, which may run another version of outlay.

`python -m benchmarks.campaign_worker STORE CALLERS POLICY warm` prints, as JSON, pairs of ask and tell per second and
the processor time of each in microseconds, servers aside, of a campaign that has run for a while; with "cold", of one
that has just been opened. CALLERS: "64 threads", "64 tasks", "batches of 200", "16 campaigns × 4 threads", "8
processes", "1 caller, plain commits", which is no campaign but what one caller could reach; STORE: an address, or
"memory".
"""

import asyncio
import json
import multiprocessing
import re
import resource
import sqlite3
import sys
import threading
import time
from contextlib import closing
from typing import Any

from outlay import Campaign
from outlay.errors import NotNow

ARMS = ["a", "b", "c"]
BUDGET = 1e6
SECONDS = 2.0
CHOICES, BATCH = 1200, 100  # made before the clock starts
LINE = 300  # bytes of a plain row: about those of an event


def outcome(arm: str) -> tuple[float, float]:
    return (0.2 if arm == "a" else 0.1), 0.1


def pair(campaign: Campaign) -> None:
    """One ask and its tell."""
    try:
        pull = campaign.ask()
        assert pull is not None
        campaign.tell(pull, *outcome(pull.arm))
    except NotNow as error:
        time.sleep(error.retry_after)


def warm_up(campaign: Campaign) -> None:
    """So many pairs that a campaign is past its first choices."""
    made = 0
    while made < CHOICES:
        pulls = campaign.ask_many(BATCH)
        campaign.tell_many([(pull, *outcome(pull.arm)) for pull in pulls])
        made += len(pulls)


def by_threads(campaigns: list[Campaign], callers: int) -> list[int]:
    """The pairs that each of so many threads on each campaign made."""
    made = [0] * callers * len(campaigns)
    end = time.perf_counter() + SECONDS

    def work(i: int) -> None:
        while time.perf_counter() < end:
            pair(campaigns[i % len(campaigns)])
            made[i] += 1

    crowd = [threading.Thread(target=work, args=(i,)) for i in range(len(made))]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    return made


def by_tasks(campaign: Campaign, callers: int) -> list[int]:
    """The same for tasks of one event loop."""
    made = [0] * callers
    end = time.perf_counter() + SECONDS

    async def work(i: int) -> None:
        while time.perf_counter() < end:
            pull = await campaign.aask()
            assert pull is not None
            await campaign.atell(pull, *outcome(pull.arm))
            made[i] += 1

    async def work_all() -> None:
        await asyncio.gather(*map(work, range(callers)))

    asyncio.run(work_all())
    return made


def by_batches(campaign: Campaign, size: int) -> list[int]:
    """The same for one caller who asks and tells so many at a time."""
    made, end = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        pulls = campaign.ask_many(size)
        campaign.tell_many([(pull, *outcome(pull.arm)) for pull in pulls])
        made += len(pulls)
    return [made]


def by_commits(store: str) -> list[int]:
    """What the disk allows one caller: two transactions for each pair, of one row each, through the driver alone."""
    made, end = 0, time.perf_counter() + SECONDS
    with closing(connected(store)) as driver:
        driver.execute("CREATE TABLE line (body TEXT)")
        write = f"INSERT INTO line VALUES ('{'x' * LINE}')"
        while time.perf_counter() < end:
            driver.execute(write)
            driver.execute(write)
            made += 1
    return [made]


def connected(store: str) -> Any:
    """The driver's own connection, where every statement is a transaction that waits for the disk."""
    if not store.startswith("sqlite"):
        import psycopg

        return psycopg.connect(store.replace("+psycopg", ""), autocommit=True)
    driver = sqlite3.connect(store.removeprefix("sqlite:///"), isolation_level=None)
    driver.execute("PRAGMA journal_mode = WAL")
    driver.execute("PRAGMA synchronous = FULL")
    return driver


def process(store: str, policy: str, barrier: Any, made: Any, i: int) -> None:
    """One of several processes, with one caller."""
    with Campaign(ARMS, BUDGET, policy, store=store, name="processes") as campaign:
        pair(campaign)
        barrier.wait()
        (made[i],) = by_threads([campaign], 1)


def by_processes(store: str, policy: str, callers: int) -> list[int]:
    """The pairs that each of so many processes made."""
    context = multiprocessing.get_context("spawn")
    made, barrier = context.Array("q", callers), context.Barrier(callers)
    crowd = [context.Process(target=process, args=(store, policy, barrier, made, i)) for i in range(callers)]
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    return list(made[:])


def measured(store: str | None, callers: str, policy: str, cold: bool) -> dict[str, float]:
    """Pairs per second, their processor time, and the share that the least lucky got of an equal one."""
    numbers = [int(number) for number in re.findall(r"\d+", callers)]
    if "commits" in callers:
        return {"rate": sum(by_commits(str(store))) / SECONDS}
    if "processes" in callers:
        made = by_processes(str(store), policy, numbers[0])
        return {"rate": sum(made) / SECONDS, "least": min(made) * len(made) / sum(made)}
    count, many = numbers if "campaigns" in callers else (1, numbers[0])
    campaigns = [Campaign(ARMS, BUDGET, policy, store=store, name=f"{callers} {i}") for i in range(count)]
    for campaign in campaigns if not cold else ():
        warm_up(campaign)
    used, start = time.process_time(), time.perf_counter()
    if "tasks" in callers:
        made = by_tasks(campaigns[0], many)
    elif "batches" in callers:
        made = by_batches(campaigns[0], many)
    else:
        made = by_threads(campaigns, many)
    spent, pairs = time.perf_counter() - start, sum(made)
    return {
        "rate": pairs / spent,
        "cpu": 1e6 * (time.process_time() - used) / pairs,
        "least": min(made) / pairs * len(made),
    }


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    address, who, by, start = sys.argv[1:]
    print(json.dumps(measured(None if address == "memory" else address, who, by, start == "cold")))
