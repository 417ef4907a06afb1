"""Tags, metadata and `pulls`: kept in the ledger, bounded, found again in every store; and tables for pandas."""

import itertools
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from outlay import Campaign
from outlay.campaign import PullStatus, export_ledger, import_ledger, verify
from outlay.errors import BadParameter


def varied(campaign: Campaign) -> None:
    """Ten pulls, of every standing."""
    told, void, expired, late, *_ = campaign.ask_many(6, key="job", tags=["batch", "eu"], metadata={"user": 17})
    campaign.tell(told, 1, True)
    campaign.cancel(void)
    campaign.charge(expired)
    campaign.charge(late)
    campaign.tell(late, 0.5, False)
    campaign.ask(tags=["eu"])
    campaign.ask(metadata={"cost": 5, "tags": ["batch"], "deep": {"ttl": [1, 2.5, None, True]}})
    campaign.ask_many(2)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def campaign(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    addresses = {"memory": None, "sqlite": f"sqlite:///{tmp_path}/a.db"}
    store = request.getfixturevalue("postgres_url") if request.param == "postgres" else addresses[request.param]
    with Campaign({"a": 1, "b": 1}, 99, "RoundRobin", store) as campaign:
        varied(campaign)
        yield campaign
    assert store is None or verify(store).problems == ()


def numbers(campaign: Campaign, **wanted: Any) -> list[int]:
    return [pull.id for pull in campaign.pulls(**wanted)]


def test_pulls_are_found(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = list(campaign.pulls())
    assert [pull.status for pull in everything] == ["told", "cancelled", "expired", "told", *["open"] * 6]
    wanted = itertools.product(
        (None, "open", "told", "cancelled", "expired"), (None, "batch", "eu", "none"), (0, 3), (None, 0, 1, 2)
    )
    for n, (standing, tag, after, limit) in enumerate(wanted):
        # Three pages in turn, and four limits: each meets each.
        monkeypatch.setattr("outlay.campaign.stores.transaction.CHUNK", (1, 3, 1000)[n % 3])
        fit = [
            pull.id
            for pull in everything
            if standing in (None, pull.status) and (tag is None or tag in pull.tags)
            if pull.id > after
        ]
        assert numbers(campaign, status=standing, tag=tag, after=after, limit=limit) == fit[:limit]
    assert [pull.metadata for pull in campaign.pulls(key="job/1")] == [{"user": 17}]
    assert numbers(campaign, key="job/9") == numbers(campaign, after=10**6) == []


def test_a_row_says_what_became_of_a_pull(campaign: Campaign) -> None:
    told, void, expired, late, *_ = campaign.pulls()
    assert (told.arm, told.cost, told.reward, told.key, told.tags) == ("a", 1.0, 1.0, "job/0", ("batch", "eu"))
    assert (void.arm, void.cost, void.reward) == ("b", None, None)
    assert (expired.cost, expired.reward, expired.late, expired.reserved) == (1.0, 0.0, False, 1.0)
    assert (late.cost, late.reward, late.late) == (0.5, 0.0, True)
    assert told.expires is not None
    assert (told.expires - told.asked).total_seconds() == 3600.0
    noted = [entry.more["metadata"] for entry in campaign.history() if "metadata" in entry.more]
    assert noted[-1] == {
        "cost": 5,
        "tags": ["batch"],
        "deep": {"ttl": [1, 2.5, None, True]},
    }  # what was given, as it was


def test_notes_travel_with_the_ledger(tmp_path: Path) -> None:
    with Campaign({"a": 1}, 99, store=f"sqlite:///{tmp_path}/a.db") as campaign:
        varied(campaign)
        before = list(campaign.pulls())
    export_ledger(f"sqlite:///{tmp_path}/a.db", tmp_path / "ledger.ndjson")
    assert import_ledger(f"sqlite:///{tmp_path}/b.db", tmp_path / "ledger.ndjson").problems == ()
    with Campaign.open(f"sqlite:///{tmp_path}/b.db") as campaign:
        assert list(campaign.pulls()) == before


def test_the_first_ask_with_a_key_decides_the_notes() -> None:
    campaign = Campaign(["a"], 9)
    campaign.ask(key="k", tags=["one"], metadata={"n": 1})
    campaign.ask(key="k", tags=["two"])
    assert [(pull.tags, pull.metadata) for pull in campaign.pulls()] == [(("one",), {"n": 1})]


def test_notes_are_made_plain() -> None:
    campaign = Campaign(["a"], 9)
    given = {
        np.str_("n"): np.int64(3),
        "x": np.float64(0.5),
        "s": np.str_("t"),
        "l": (1, [True, None]),
        "big": 2**63 - 1,
    }
    campaign.ask(tags=(np.str_("t"), "t", "ü"), metadata=given)
    (pull,) = campaign.pulls()
    assert (pull.tags, pull.metadata) == (
        ("t", "ü"),
        {"n": 3, "x": 0.5, "s": "t", "l": [1, [True, None]], "big": 2**63 - 1},
    )
    assert type(pull.tags[0]) is str
    assert {type(value) for value in pull.metadata.values()} == {int, float, str, list}


DEEP: Any = 0
for _ in range(4):
    DEEP = {"a": DEEP}
LOOP: dict[str, Any] = {}
LOOP["self"] = LOOP


def test_what_fits_is_taken() -> None:
    campaign = Campaign({"a": 1}, 9)
    for metadata in (DEEP, {str(n): n for n in range(32)}, {"x": "y" * 2040}, {}, None):
        campaign.ask(metadata=metadata, tags=["x" * 64] if metadata else [])
    deep, *_, empty, none = (pull.metadata for pull in campaign.pulls())
    assert (deep, empty, none) == (DEEP, {}, {})


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"status": "pending"}, "status of pulls must be one of open, told, expired, cancelled; got 'pending'"),
        ({"tag": ""}, "tag of pulls must be a string of 1 to 64 printable characters; got ''"),
        ({"key": 5}, "key of pulls must be 1 to 200 printable characters; got 5"),
        ({"after": -1}, "after of pulls must be a whole number ≥ 0"),
        ({"limit": 1.5}, "limit of pulls must be a whole number ≥ 0 and ≤ 9.22337e.18; got 1.5"),
    ],
)
def test_what_pulls_cannot_be_asked(arguments: Any, said: str) -> None:
    with pytest.raises(BadParameter, match=said):
        Campaign(["a"], 9).pulls(**arguments)


@pytest.mark.parametrize("reward", [True, np.True_, False, np.False_])
def test_truth_is_a_reward(tmp_path: Path, reward: Any) -> None:
    with Campaign(["a"], 9, store=f"sqlite:///{tmp_path}/a.db") as campaign:
        pull = campaign.ask()
        assert pull is not None
        assert pull.tell(1, reward).reward == float(reward)
        assert pull.tell(1, int(reward)).duplicate
        campaign.amend(pull, 1, reward)
        assert campaign.warm_start([("a", 1, reward)]) == 1
        assert campaign.status().reward == float(reward)
        with pytest.raises(BadParameter, match="cost of tell must be a finite number; got True"):
            campaign.tell(pull, True, 1)


def test_money_is_exact_where_floats_are_not() -> None:
    campaign = Campaign(["a"], 2**53 - 1, unit="1")
    for _ in range(3):
        pull = campaign.ask()
        if pull is not None:
            pull.tell(2**52 - 1, 1)
    status = campaign.status()
    assert status.exact.spent == 3 * (2**52 - 1)
    assert status.spent != status.exact.spent  # beyond 2**53 a float rounds
    assert status.exact.budget - status.exact.spent - status.exact.reserved == status.exact.left
    assert sum(arm.exact.spent for arm in status.arms) == status.exact.spent
    small = Campaign({"a": Decimal("0.1")}, 1)
    small.ask_many(3)
    assert small.status().exact.reserved == Decimal("0.3")
    assert small.status().arms[0].exact.reserved == Decimal("0.3")


def test_tables_for_pandas() -> None:
    campaign = Campaign({"a": 1, "b": 1}, 99, "RoundRobin")
    varied(campaign)
    arms, pulls, history = campaign.status().frame(), campaign.pulls(tag="batch").frame(), campaign.history(2).frame()
    assert arms[["name", "pulls", "in_flight"]].to_numpy().tolist() == [["a", 2, 3], ["b", 1, 3]]
    assert list(pulls.columns) == list(PullStatus.__struct_fields__)
    assert pulls["status"].tolist() == ["told", "cancelled", "expired", "told", "open", "open"]
    assert history["seq"].tolist() == list(range(3, campaign.status().events + 1))
    assert str(history["at"].dtype).startswith("datetime64")
    assert campaign.pulls(tag="nobody").frame().shape == (0, len(PullStatus.__struct_fields__))
