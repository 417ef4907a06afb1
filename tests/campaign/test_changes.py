"""An arm that changes: the ledger says when, status and reasons show it, and whoever replays it finds the same."""

import random
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from outlay import Campaign, policies
from outlay.campaign import import_ledger, verify
from outlay.campaign.stores import transaction
from outlay.errors import BadFile
from tests.campaign.busy import Lines, asked, exported, forged, sql

BEFORE, AFTER = {"good": 0.9, "fair": 0.6}, {"good": 0.1, "fair": 0.6}


def played(campaign: Campaign, pulls: int, means: dict[str, float], rng: random.Random) -> None:
    for _ in range(pulls):
        pull = asked(campaign)
        pull.tell(cost=1.0, reward=float(rng.random() < means[pull.arm]))


def changing(store: str, **options: Any) -> Campaign:
    """200 pulls, in which `good` is good, and 120 in which it is not."""
    campaign, rng = Campaign([*BEFORE], budget=1000.0, store=store, **options), random.Random(1)
    played(campaign, 200, BEFORE, rng)
    assert [arm.changed for arm in campaign.status().arms] == [None, None]
    played(campaign, 120, AFTER, rng)
    return campaign


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/spend.db"


def test_a_change_is_an_event_and_shows_everywhere(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "SNAPSHOT_INTERVAL", 50)
    start = datetime.now(UTC)
    with changing(store) as campaign:
        (event,) = [entry for entry in campaign.history() if entry.kind == "changed"]
        told = next(entry for entry in campaign.history() if entry.seq == event.seq - 1)
        assert (event.arm, told.kind, told.arm, told.at) == ("good", "told", "good", event.at)
        good, fair = campaign.status().arms
        assert (good.changed, good.forgotten) == (event.at, event.more["forgotten"])
        assert start <= event.at <= datetime.now(UTC)
        assert 120 < good.forgotten < good.pulls
        assert (fair.changed, fair.forgotten) == (None, 0)
        reasons = {arm.name: arm.words for arm in campaign.reasons().arms}
        assert reasons["good"].endswith(f" It has changed: its first {good.forgotten} results are forgotten.")
        assert "changed" not in reasons["fair"]
        late = [pull.arm for pull in campaign.pulls()][-40:]
        assert late.count("fair") > 30
        status, next_arm = campaign.status(), campaign.reasons().arm
    assert verify(store, "default").ok
    with Campaign([*BEFORE], budget=1000.0, store=store) as again:  # from a snapshot and the events after it
        assert again.status() == status
        assert again.reasons().arm == next_arm
        played(again, 40, AFTER, random.Random(2))
    assert verify(store, "default").ok


def noted(lines: Lines) -> dict[str, Any]:
    """The event that says so."""
    return next(line["event"] for line in lines[1:] if line["event"]["kind"] == "changed")


def reworded(lines: Lines, fields: dict[str, int]) -> None:
    noted(lines).update(fields)


def elsewhere(lines: Lines) -> None:
    noted(lines)["arm"] = 1


def without_it(lines: Lines) -> None:
    """The end of the ledger, too, as later events name pulls by their numbers."""
    del lines[next(i for i, line in enumerate(lines[1:], 1) if line["event"]["kind"] == "changed") :]
    lines.append({"seq": len(lines), "at": lines[-1]["at"], "event": {"kind": "paused"}})


def by_another_version(lines: Lines) -> None:
    for line in lines:
        if line.get("event", {}).get("kind") == "asked":
            line["event"]["policy"] = "Thrifty@0.0.1"
        if line.get("event", {}).get("kind") == "opened":
            line["event"]["terms"]["version"] = "0.0.1"
    elsewhere(lines)


def content(store: str, **options: Any) -> bytes:
    changing(store, **options).disconnect()
    return exported(store)


def test_a_ledger_that_says_otherwise_is_found_out(store: str, tmp_path: Path) -> None:
    ledger = content(store)
    verdict = import_ledger(f"sqlite:///{tmp_path}/one.db", forged(ledger, elsewhere))
    assert "has arm 1, and the rules say 0" in verdict.problems[0]
    verdict = import_ledger(f"sqlite:///{tmp_path}/two.db", forged(ledger, without_it))
    assert "comes where the rules say changed" in verdict.problems[0]
    for wrong in ({"arm": -1}, {"arm": 7}, {"forgotten": 0}):
        with pytest.raises(BadFile, match=r"\(changed\) "):
            import_ledger(f"sqlite:///{tmp_path}/three.db", forged(ledger, partial(reworded, fields=wrong)))


def test_another_version_may_have_noticed_otherwise(store: str, tmp_path: Path) -> None:
    ledger, other = content(store), f"sqlite:///{tmp_path}/other.db"
    verdict = import_ledger(other, forged(ledger, by_another_version))
    assert verdict.ok
    with Campaign([*BEFORE], budget=1000.0, store=other) as campaign:
        good, fair = campaign.status().arms
        assert good.changed is None
        assert fair.changed is not None


def test_a_ledger_from_before_notices_nothing_and_goes_on_with_the_default(store: str, tmp_path: Path) -> None:
    ledger = content(store, policy=policies.Thrifty(changes="ignored"))
    assert b'"changed"' not in ledger
    other = f"sqlite:///{tmp_path}/other.db"

    def older(lines: Lines) -> None:
        del lines[1]["event"]["terms"]["policy"]["parameters"]["changes"]

    assert import_ledger(other, forged(ledger, older)).ok
    with Campaign([*BEFORE], budget=1000.0, store=other, policy=policies.Thrifty()) as campaign:
        played(campaign, 60, AFTER, random.Random(3))
        assert not [entry for entry in campaign.history() if entry.kind == "changed"]
    assert verify(other, "default").ok


def test_tables_of_an_older_version_get_the_columns(store: str) -> None:
    with Campaign([*BEFORE], budget=1000.0, store=store) as campaign:
        played(campaign, 20, BEFORE, random.Random(1))
    path = Path(store.removeprefix("sqlite:///"))
    for statement in (
        "ALTER TABLE arm DROP COLUMN changed",
        "ALTER TABLE arm DROP COLUMN forgotten",
        "UPDATE alembic_version SET version_num = '0002'",
    ):
        sql(path, statement)
    with Campaign([*BEFORE], budget=1000.0, store=store) as campaign:
        assert [arm.forgotten for arm in campaign.status().arms] == [0, 0]
    assert verify(store, "default").ok


def test_pulls_that_nobody_told_are_no_change(store: str) -> None:
    """A worker that is killed leaves many pulls of an arm at once, charged and without a reward."""
    with Campaign(["good"], budget=1000.0, store=store, ttl=3600.0) as campaign:
        rng = random.Random(1)
        played(campaign, 200, BEFORE, rng)
        for pull in [asked(campaign) for _ in range(60)]:
            pull.charge()
        assert campaign.status().arms[0].changed is None
        played(campaign, 60, AFTER, rng)
        assert campaign.status().arms[0].forgotten > 250
    assert verify(store, "default").ok


@pytest.mark.parametrize("how", ["amend", "charge", "late"])
def test_what_fades_is_corrected_as_well(how: str) -> None:
    """The better arm always seems to have paid nothing at first; its evidence is shown like that of `Thrifty`."""
    late: dict[str, Any] = {"reward_within": 60.0, "missing_reward": 0.0} if how == "late" else {}
    campaign = Campaign(["good", "fair"], 100.0, policies.Forgetful(changes_every=200.0), seed=3, **late)
    for _ in range(80):
        pull = campaign.ask()
        assert pull is not None
        if pull.arm == "fair":
            campaign.tell(pull, cost=1.0, reward=0.5)
        elif how == "amend":
            campaign.tell(pull, cost=1.0, reward=0.0)
            campaign.amend(pull, reward=1.0)
        elif how == "charge":
            campaign.charge(pull)
            campaign.tell(pull, cost=1.0, reward=1.0)
        else:
            campaign.tell(pull, cost=1.0)
            campaign.reward(pull, 1.0)
    good, fair = campaign.status().arms
    assert good.pulls > 10 * fair.pulls
    reasons = {arm.name: arm for arm in campaign.reasons().arms}
    assert reasons["good"].leads
    assert reasons["fair"].evidence is not None
