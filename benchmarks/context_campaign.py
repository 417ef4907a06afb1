"""`python -m benchmarks.context_campaign`: what it costs a campaign to be told of each request.

`pace`: asks and tells one after another, by where the ledger is and how many features there are; `verify`: a ledger of
so many events is decided again, choice by choice, and followed by a second LinearRation.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np

from outlay import Campaign
from outlay.campaign import verify
from outlay.tables import Table

T = TypeVar("T")

ARMS = 4
COSTS = np.array([0.1, 0.25, 0.5, 1.0])


def played(store: str | None, features: int, requests: int, workers: int = 1) -> tuple[Campaign, float]:
    """A campaign after so many requests, and the seconds that they took; without features, `Ration` runs it."""
    rng = np.random.default_rng(features)
    x = rng.standard_normal((requests, max(1, features)))
    chances = 1.0 / (1.0 + np.exp(-(np.log(COSTS) + 2.0 + x @ rng.standard_normal((x.shape[1], ARMS)))))
    outcomes = (rng.random(chances.shape) < chances).astype(float)
    campaign = Campaign(
        {f"arm {arm}": cost for arm, cost in enumerate(COSTS)},
        0.3 * requests,
        store=store,
        requests=requests,
        mode="hard",
        context=features or None,
    )

    def serve(request: int) -> None:
        pull = campaign.ask(context=x[request] if features else None, wait=True)
        if pull is not None:
            arm = int(pull.arm[-1])
            campaign.tell(pull, float(COSTS[arm]), outcomes[request, arm])

    start = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(serve, range(requests)))
    return campaign, time.perf_counter() - start


def pace(requests: int) -> None:
    """Requests a second, each an ask and a tell."""
    rows = []
    for features in (0, 5, 10, 25, 64):
        row: list[object] = [features or "none (Ration)"]
        for on_disk in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                store = f"sqlite:///{folder}/spend.db" if on_disk else None
                campaign, seconds = played(store, features, requests)
                row.append(f"{campaign.status().pulls / seconds:,.0f}")
                campaign.disconnect()
        rows.append(row)
    title = f"requests a second, of {requests:,}, {ARMS} arms"
    print(Table(("features", "in memory", "SQLite"), rows, title).markdown())


def verified(requests: int) -> None:
    """How long a ledger takes to verify, and to open."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/spend.db"
        campaign, _ = played(store, 25, requests, workers=16)
        campaign.disconnect()
        verdict, seconds = timed(lambda: verify(store))
        again, opening = timed(lambda: Campaign.open(store))
        _, following = timed(again.shadow)
        again.disconnect()
        size = Path(folder, "spend.db").stat().st_size / verdict.events
    found = "no problem" if verdict.ok else "; ".join(verdict.problems[:3])
    print(f"{verdict.events:,} events of {verdict.pulls:,} pulls with 25 features: {found}, {size:,.0f} bytes an event")
    each = 1e6 * seconds / verdict.events
    print(f"verified in {seconds:,.1f} s ({each:,.0f} µs an event), opened in {opening:.2f} s")
    print(f"followed by another policy in {following:,.1f} s")


def timed(act: Callable[[], T]) -> tuple[T, float]:
    """What it returns, and the seconds that it took."""
    start = time.perf_counter()
    return act(), time.perf_counter() - start


def main() -> None:
    """Print one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("pace", "verify"))
    parser.add_argument("--requests", type=int, default=2000)
    given = parser.parse_args()
    (pace if given.what == "pace" else verified)(given.requests)


if __name__ == "__main__":
    main()
