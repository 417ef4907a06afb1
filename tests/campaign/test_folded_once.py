"""A long ledger whose snapshots another version took: its events are folded once, also where nobody writes any more."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from outlay import Campaign
from outlay.campaign import verify
from outlay.campaign.ledger import apply as fold
from outlay.campaign.ledger import snapshot
from outlay.campaign.stores import transaction


def test_a_ledger_that_is_only_read_is_folded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "EVERY", 25)
    store, folded, apply = f"sqlite:///{tmp_path}/old.db", [], fold.apply
    now = snapshot.WRITER
    monkeypatch.setattr(snapshot, "WRITER", "0.1.0")
    with Campaign({"a": 1, "b": 1}, 100, "Frugal", store) as campaign:
        for pull in campaign.ask_many(20):
            campaign.tell(pull, 1, 1)
        campaign.close()
        events = campaign.status().events
    with closing(sqlite3.connect(tmp_path / "old.db")) as connection, connection:
        last = "SELECT campaign, ?, body FROM snapshot ORDER BY seq DESC LIMIT 1"  # as far as the ledger goes
        assert connection.execute(f"INSERT INTO snapshot {last}", [events]).rowcount
    monkeypatch.setattr(snapshot, "WRITER", now)

    def noting(*args: object) -> object:
        folded.append(args)
        return apply(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(transaction, "apply", noting)
    for expected in (events, 0, 0):
        folded.clear()
        with Campaign.open(store) as campaign:
            assert (campaign.status().events, len(folded)) == (events, expected)
    assert verify(store).ok
