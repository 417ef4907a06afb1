"""`python -m benchmarks.waits`: how long an ask takes for 1, 64 and 500 callers, with plenty of money and nearly none.

Callers are threads in this process, or connections to a service beside it. With nearly no money there is room for
thirty pulls at once; each takes 0.3 seconds, and an ask waits for `WAIT` seconds at most.
"""

import argparse
import asyncio
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from outlay import Campaign
from outlay.errors import NotNow
from outlay.tables import Table

WAIT, PULL = 0.2, 0.3  # seconds
ROOM = 30


class Taken:
    """How long each ask took, and what came of it."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.came: Counter[str] = Counter()

    def row(self) -> tuple[str, ...]:
        """Milliseconds and shares, as text."""
        times = [f"{1000 * float(np.quantile(self.seconds, part)):,.1f}" for part in (0.5, 0.99)]
        shares = (f"{self.came[kind] / len(self.seconds):.0%}" for kind in ("arm", "fallback", "not now"))
        return (f"{len(self.seconds):,}", *times, *shares)


def terms(scarce: bool) -> dict[str, object]:
    """The budget, and how it is kept."""
    budget = float(ROOM) if scarce else 1e6
    return {"arms": {"a": 1.0, "b": 1.0}, "budget": budget, "mode": "hard", "fallback": "a", "ttl": None}


def in_process(store: str | None, callers: int, scarce: bool, seconds: float) -> Taken:
    """Threads on one campaign."""
    taken, end = Taken(), time.monotonic() + seconds
    with Campaign(store=store, **terms(scarce)) as campaign:  # type: ignore[arg-type]

        def call() -> None:
            while time.monotonic() < end:
                start, pull = time.perf_counter(), None
                try:
                    pull = campaign.ask(wait=WAIT)
                except NotNow:
                    taken.came["not now"] += 1
                taken.seconds.append(time.perf_counter() - start)
                if pull is not None:
                    taken.came["fallback" if pull.fallback else "arm"] += 1
                    time.sleep(PULL)
                    pull.tell(0.0001, 1.0)

        threads = [threading.Thread(target=call) for _ in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return taken


def over_http(_: str | None, callers: int, scarce: bool, seconds: float) -> Taken:
    """Connections to a service on this machine."""
    from benchmarks.service import Case, Connection, served

    taken, path = Taken(), "/v1/campaigns/waits"

    async def call(address: str, end: float) -> None:
        connection = await Connection.to(address)
        while time.monotonic() < end:
            start = time.perf_counter()
            status, said = await connection.post(f"{path}/ask", {"wait": WAIT, "or_fallback": True})
            taken.seconds.append(time.perf_counter() - start)
            if status != 200:
                taken.came["not now"] += 1
                continue
            (pull,) = said["pulls"]
            taken.came["fallback" if pull["fallback"] else "arm"] += 1
            await asyncio.sleep(PULL)
            await connection.post(f"{path}/tell", {"pull": pull["id"], "cost": 0.0001, "reward": 1.0})
        connection.close()

    async def all_of_them(address: str) -> None:
        first = await Connection.to(address)
        await first.post("/v1/campaigns", {"name": "waits", **terms(scarce)})
        first.close()
        await asyncio.gather(*(call(address, time.monotonic() + seconds) for _ in range(callers)))

    with served(Case()) as (addresses, _servers):
        asyncio.run(all_of_them(addresses[0]))
    return taken


KINDS: dict[str, Callable[[str | None, int, bool, float], Taken]] = {
    "memory": in_process,
    "SQLite": in_process,
    "HTTP": over_http,
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    given = parser.parse_args()
    rows = []
    for kind in given.kinds:
        for scarce in (False, True):
            for callers in (1, 64, 500):
                with tempfile.TemporaryDirectory() as folder:
                    store = None if kind == "memory" else f"sqlite:///{folder}/a.db"
                    taken = KINDS[kind](store, callers, scarce, given.seconds)
                rows.append((kind, "nearly none" if scarce else "plenty", str(callers), *taken.row()))
    headings = ("store", "money", "callers", "asks", "p50, ms", "p99, ms", "an arm", "the fallback", "not now")
    caption = f"ask(wait={WAIT}); room for {ROOM} pulls at once where there is nearly no money"
    print(Table(headings, rows, caption, texts=("store", "money")).markdown())


if __name__ == "__main__":
    main()
