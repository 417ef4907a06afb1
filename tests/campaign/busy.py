"""A campaign in which everything happens, its exported ledger to be forged, and a file that somebody else holds."""

import hashlib
import io
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from outlay import Campaign
from outlay.campaign import OpenPull, export_ledger
from outlay.campaign.ledger.events import NOTHING, link
from outlay.policies import baselines

Lines = list[dict[str, Any]]  # of an exported ledger
POLICY = baselines.BTS(1.0, 1.0)


def busy(store: str, **terms: Any) -> None:
    """A campaign in which everything happens."""
    with Campaign({"a": None, "b": 0.5}, 30, POLICY, store, propensity_draws=2, seed=3, **terms) as campaign:
        campaign.warm_start([("a", 0.25, 0.5), ("b", 0.25, 1.0)], key="old")
        for i in range(12):
            asked(campaign, key=f"k{i}").tell(0.125 + 0.0625 * (i % 4), float(i % 3) / 4)
        first, second, third, fourth = campaign.ask_many(4)
        campaign.tell(second, 0.75, 0.5)
        campaign.amend(second, 0.5, 0.25, "a slip")
        campaign.amend(3, 0.375, 0.25)
        campaign.cancel(third, "not made")
        campaign.extend(first, 7200)
        late = asked(campaign, ttl=1e-6)
        campaign.set_budget(31)
        campaign.tell(late, 0.25, 1.0)
        campaign.add_arm("c", 0.25)
        campaign.disable_arm("a")
        campaign.enable_arm("a")
        campaign.pause()
        campaign.resume()
        campaign.tell(fourth, -0.125, 0.0)
        campaign.ask(ttl=1e-6)
        campaign.tell(first, 40, 1.0)
        campaign.set_budget(90)
        campaign.ask()
        campaign.close()


def exported(store: str, name: str = "default") -> bytes:
    file = io.BytesIO()
    export_ledger(store, file, name)
    return file.getvalue()


def head_of(lines: Lines) -> str:
    """The hash of the last of these events, as anybody can make it."""
    head = NOTHING
    for line in lines:
        body = json.dumps(line["event"], separators=(",", ":"), ensure_ascii=False)
        head = link(head, line["seq"], line["at"], body)
    return head


def forged(content: bytes, change: Callable[[Lines], object]) -> io.BytesIO:
    """The file with its lines changed, and its last line put right."""
    lines = [json.loads(line) for line in content.splitlines()[:-1]]
    change(lines)
    text = b"".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for line in lines)
    end: dict[str, Any] = {"events": len(lines) - 1, "sha256": hashlib.sha256(text).hexdigest()}
    if all(line.keys() >= {"seq", "at", "event"} for line in lines[1:]):
        end["head"] = head_of(lines[1:])
    return io.BytesIO(text + json.dumps(end, separators=(",", ":")).encode() + b"\n")


def asked(campaign: Campaign, *given: Any, **named: Any) -> OpenPull:
    """The next pull of a campaign that has not ended."""
    pull = campaign.ask(*given, **named)
    assert pull is not None
    return pull


def sql(path: Path, statement: str, *values: Any) -> list[Any]:
    """What a SQLite file answers to who goes past outlay; what that changes is kept."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(statement, values).fetchall()


@contextmanager
def blocked(store: str) -> Iterator[None]:
    """Another connection holds the file: what is handed in meanwhile is one batch."""
    blocker = sqlite3.connect(store.removeprefix("sqlite:///"), isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        blocker.execute("ROLLBACK")
        blocker.close()
