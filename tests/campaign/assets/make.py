"""Makes `ledger-NNNN.db`, a store as this version writes it, and what it holds: `python -m tests.campaign.assets.make`.

A file is made once for each revision of the tables, and kept: later versions must open it.
"""

import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import msgspec

from outlay import policies
from outlay.campaign import Campaign
from outlay.campaign.stores.db import making
from outlay.campaign.stores.writing import book

FOLDER = Path(__file__).parent


def eventful(store: str) -> None:
    """One campaign with an event of every kind, by a policy that draws random numbers."""
    policy = policies.BY_NAME["GaussianThompson"]()
    arms = {"small": 0.5, "large": None, "odd": None}
    with Campaign(arms, 20, policy, store, name="eventful", seed=11, ttl=None, propensity_draws=5) as campaign:
        campaign.warm_start([("small", 0.25, 0.5), ("large", 0.75, 1.0)], key="old log")
        for i in range(20):
            pull = campaign.ask(key=f"ask {i}")
            assert pull is not None
            campaign.tell(pull, 0.1 * (i % 4), i % 3 / 2)
        first, second, third, fourth, _ = campaign.ask_many(5)
        campaign.extend(first, 1e9)
        campaign.cancel(second, "never made")
        campaign.tell(third, 0.3, 1.0)
        campaign.amend(third, 0.2, 0.5, "a slip")
        campaign.tell(fourth, 3, -0.5)
        late = campaign.ask(ttl=0.01)
        assert late is not None
        time.sleep(0.02)
        campaign.tell(late, -0.125, 0.25)
        campaign.add_arm("new", 0.75)
        campaign.disable_arm("odd")
        campaign.enable_arm("odd")
        campaign.pause()
        campaign.resume()
        pull = campaign.ask()
        assert pull is not None
        campaign.tell(pull, 20, 1.0)
        campaign.set_budget(40)
        campaign.set_requests(1000)
        campaign.ask(key="under way", ttl=1e9)


def plain(store: str) -> None:
    """Others: one in hard mode that is exhausted, one that was closed."""
    with Campaign({"a": 3, "b": 2}, 40, None, store, name="hard", mode="hard", unit="1") as campaign:
        while pull := campaign.ask():
            campaign.tell(pull, 2, 1.0 if pull.arm == "a" else 0.25)
    costs = {"small": 0.1, "large": 1.0}
    with Campaign(list(costs), 9, None, store, name="served", requests=30, costs=costs) as campaign:
        campaign.expect_requests(25)
        while pull := campaign.ask():
            campaign.tell(pull, costs[pull.arm], 0.4 if pull.arm == "small" else 0.9)
    with Campaign(["only"], 5, "Uniform", store, name="closed", unit="0.01", ttl=None) as campaign:
        campaign.ask()
        campaign.close()


def windowed(store: str) -> None:
    """One whose budget is for a day, with a fallback; how it stands depends on the day on which it is looked at."""
    terms: Any = {"window": "day", "timezone": "Europe/Berlin", "fallback": "small"}
    with Campaign({"small": 1, "large": 2}, 5, "Frugal", store, name="windowed", **terms) as campaign:
        for _ in range(7):
            pull = campaign.ask()
            assert pull is not None
            campaign.tell(pull, 1, 0.5)
        campaign.ask(key="under way", ttl=1e9)
        campaign.archive()
        campaign.restore()


def main() -> None:
    """Make the file of this revision, if there is none."""
    path = FOLDER / f"ledger-{making.REVISION}.db"
    if path.exists():
        raise SystemExit(f"{path} is there already, and is kept")
    book.EVERY = 20  # so that it has a snapshot
    store = f"sqlite:///{path}"
    eventful(store)
    plain(store)
    windowed(store)
    connection = sqlite3.connect(path)
    connection.execute("VACUUM")
    connection.close()
    standing = {}
    for name in ["eventful", "hard", "closed"]:
        with Campaign.open(store, name) as campaign:
            standing[name] = msgspec.to_builtins(campaign.status())
    text = json.dumps(standing, indent=1)
    path.with_suffix(".json").write_text(f"{text}\n")


if __name__ == "__main__":
    main()
