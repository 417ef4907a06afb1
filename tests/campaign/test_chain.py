"""The chain of events: what was changed behind a ledger's back is found, however well the rest was made to fit."""

import hashlib
import json
from pathlib import Path

import pytest

from outlay import Campaign
from outlay.campaign import export_ledger, import_ledger, verify
from outlay.campaign.ledger.events import NOTHING, link
from outlay.errors import BadParameter
from tests.campaign.busy import asked, busy, sql


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Campaign(["a", "b"], 10, "RoundRobin", f"sqlite:///{tmp_path}/spend.db") as campaign:
        for _ in range(4):
            asked(campaign).tell(1, 0.5)
    return tmp_path / "spend.db"


def richer(path: Path) -> tuple[str, str]:
    """The opening event with ten times the budget, as it was and as it is."""
    ((body,),) = sql(path, "SELECT body FROM event WHERE seq = 1")
    return body, body.replace('"budget":10000000000', '"budget":100000000000')


def test_a_budget_that_was_raised_by_two_updates(path: Path) -> None:
    body, new = richer(path)
    assert new != body
    assert verify(f"sqlite:///{path}").ok
    sql(path, "UPDATE event SET body = ? WHERE seq = 1", new)
    sql(path, "UPDATE campaign SET budget = 100000000000")
    verdict = verify(f"sqlite:///{path}")
    assert verdict.problems[0] == ("event 2 carries another hash than that of the one before it: an event was changed")
    assert len(verdict.problems) == 2  # said once, and that the head is another


def test_who_makes_every_hash_fit_is_found_by_a_head_that_was_kept(path: Path) -> None:
    store = f"sqlite:///{path}"
    kept = verify(store).head
    rewrite(path, {1: richer(path)[1]})
    sql(path, "UPDATE campaign SET budget = 100000000000")
    assert verify(store).ok
    verdict = verify(store, expected_head=kept)
    assert verdict.problems == (f"no event has the hash {kept}: the ledger was rewritten or cut, or is another",)


def rewrite(path: Path, changed: dict[int, str]) -> None:
    """Change the text of events, and all hashes after them."""
    head = NOTHING
    for seq, at, body in sql(path, "SELECT seq, at, body FROM event ORDER BY seq"):
        text = changed.get(seq, body)
        sql(path, "UPDATE event SET body = ?, before = ? WHERE seq = ?", text, head, seq)
        head = link(head, seq, at, text)
    sql(path, "UPDATE campaign SET head = ?", head)


def test_hashes_cannot_be_left_out(path: Path) -> None:
    sql(path, "UPDATE event SET before = '' WHERE seq > 4")
    assert verify(f"sqlite:///{path}").problems[0].startswith("event 5 carries another hash than")


def test_a_receipt_has_the_head_of_its_moment(tmp_path: Path) -> None:
    """It is found in the ledger as long as the ledger only grows, wherever it goes and whatever it is called."""
    store = f"sqlite:///{tmp_path}/spend.db"
    with Campaign(["a"], 10, store=store) as campaign:
        receipts = []
        for _ in range(3):
            pull = asked(campaign)
            receipts.append(campaign.tell(pull, 1, 0.5))
        again = campaign.tell(receipts[0].pull, 1, 0.5)
    assert len({receipt.head for receipt in receipts}) == 3
    assert again.head == receipts[-1].head
    for receipt in receipts:
        assert verify(store, expected_head=receipt.head).ok
    export_ledger(store, tmp_path / "ledger.ndjson")
    end = json.loads((tmp_path / "ledger.ndjson").read_text().splitlines()[-1])
    assert end["head"] == receipts[-1].head
    import_ledger(store, tmp_path / "ledger.ndjson", "copy")
    assert verify(store, "copy", expected_head=receipts[1].head).ok
    with pytest.raises(BadParameter, match="expected_head of verify must be 64 hexadecimal digits"):
        verify(store, expected_head="abc")


def test_the_hash_is_what_the_documentation_says(path: Path) -> None:
    rows = sql(path, "SELECT seq, at, body, before FROM event ORDER BY seq")
    ((head,),) = sql(path, "SELECT head FROM campaign")
    before = "0" * 64
    for seq, at, body, carried in rows:
        assert carried == before
        text = body.replace('"name":"default"', '"name":""') if seq == 1 else body
        before = hashlib.sha256(f"{before} {seq} {at} {text}".encode()).hexdigest()
    assert head == before


def test_a_text_that_says_more_than_the_event(tmp_path: Path) -> None:
    """Words that no version reads, or blanks, are not in the hash: they must not be there."""
    store = f"sqlite:///{tmp_path}/spend.db"
    busy(store)
    sql(tmp_path / "spend.db", """UPDATE event SET body = replace(body, '{"kind"', '{ "kind"') WHERE seq = 5""")
    assert verify(store).problems == ("event 5 is not written as outlay writes it",)
