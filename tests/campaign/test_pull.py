"""A pull in hand: however its block is left it has an end; its tags and metadata, and how it is found again."""

import asyncio
import itertools
import logging
import pickle
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import astuple

from outlay import Campaign
from outlay.campaign import OpenPull, Pull, PullStatus, verify
from outlay.campaign.pull import OnError
from outlay.errors import BadParameter
from tests.campaign.busy import asked


class Failed(Exception):
    """Whatever a provider raises."""


def leave(pull: OpenPull, choice: OnError | None, error: BaseException | None) -> None:
    with pull.on_error(choice) if choice else pull:
        if error:
            raise error


async def aleave(pull: OpenPull, choice: OnError | None, error: BaseException | None) -> None:
    async with pull.on_error(choice) if choice else pull:
        if error:
            raise error


@pytest.mark.parametrize("in_asyncio", [False, True])
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize(
    ("choice", "error", "standing", "spent"),
    [
        (None, Failed(), "expired", 2.0),
        ("charge", Failed(), "expired", 2.0),
        ("cancel", Failed(), "cancelled", 0.0),
        (None, KeyboardInterrupt(), "expired", 2.0),
        ("cancel", KeyboardInterrupt(), "cancelled", 0.0),
        (None, None, "expired", 2.0),
        ("cancel", None, "expired", 2.0),
    ],
)
def test_however_it_is_left(
    tmp_path: Path, in_asyncio: bool, kept: bool, choice: OnError | None, error: Any, standing: str, spent: float
) -> None:
    store = f"sqlite:///{tmp_path}/a.db" if kept else None
    with Campaign({"a": 2}, 9, store=store, default_reward=-0.5) as campaign:
        pull = asked(campaign)
        if isinstance(error, KeyboardInterrupt) and in_asyncio:
            error = asyncio.CancelledError()  # what Ctrl-C is in a task
        with pytest.raises(type(error)) if error else nullcontext():
            asyncio.run(aleave(pull, choice, error)) if in_asyncio else leave(pull, choice, error)
        (found,) = campaign.pulls()
        assert (found.status, campaign.status().spent, campaign.status().in_flight) == (standing, spent, 0)
        assert found.reward == (None if standing == "cancelled" else -0.5)
    assert store is None or verify(store).problems == ()


SETTLED: dict[str, Callable[[Campaign, OpenPull], object]] = {
    "pull": lambda campaign, pull: pull.tell(1, 1),
    "campaign": lambda campaign, pull: campaign.tell(pull, 1, 1),
    "number": lambda campaign, pull: campaign.tell(pull.id, 1, 1),
    "copy": lambda campaign, pull: campaign.tell(Pull(*astuple(pull)), 1, 1),
    "many": lambda campaign, pull: campaign.tell_many([(pull, 1, 1)]),
    "asyncio": lambda campaign, pull: asyncio.run(pull.atell(1, 1)),
    "cancel": lambda campaign, pull: pull.cancel("not needed"),
}


@pytest.mark.parametrize("way", SETTLED)
def test_what_is_settled_inside_is_left_alone(way: str) -> None:
    campaign = Campaign({"a": 2}, 9)
    with asked(campaign) as pull:
        SETTLED[way](campaign, pull)
    last = "cancelled" if way == "cancel" else "told"
    assert [entry.kind for entry in campaign.history()] == ["opened", "asked", last]


def test_what_was_charged_can_be_told_after_all(caplog: pytest.LogCaptureFixture) -> None:
    campaign = Campaign({"a": 2}, 9)
    with caplog.at_level(logging.WARNING, "outlay.campaign"), asked(campaign) as pull:
        pass
    assert "pull 2 was left without a tell: what was set aside is charged" in caplog.text
    assert campaign.status().spent == 2.0
    assert pull.tell(0.5, 1).late
    assert campaign.status().spent == 0.5


def test_a_pull_in_hand_is_a_pull(tmp_path: Path) -> None:
    with Campaign({"a": 2}, 9, store=f"sqlite:///{tmp_path}/a.db") as campaign:
        pull = asked(campaign)
        assert isinstance(pull, Pull)
        assert pull == Pull(*astuple(pull))
        assert hash(pull) == hash(Pull(*astuple(pull)))
        travelled = pickle.loads(pickle.dumps(pull))
        assert type(travelled) is Pull
        assert travelled == pull
        pull.extend(60)
        asyncio.run(pull.aextend(90))
        assert campaign.tell(travelled, 1, 1).cost == 1.0


def test_a_pull_of_a_campaign_of_the_same_name(tmp_path: Path) -> None:
    """Most are called "default": one in another store is another campaign, and its decisions have the same numbers."""
    stores = [f"sqlite:///{tmp_path}/{name}.db" for name in ("a", "b")]
    for here, there in [(None, None), (None, stores[0]), (stores[0], stores[1])]:
        with Campaign({"x": 5}, 10, store=here) as ours, Campaign({"x": 5}, 10, store=there) as theirs:
            mine, pull = ours.ask(), theirs.ask()
            assert mine is not None
            assert pull is not None
            for verb in (lambda p: ours.tell(p, 5, 1), ours.cancel, ours.charge, lambda p: ours.tell_many([(p, 5, 1)])):
                with pytest.raises(BadParameter, match="one of this campaign; got 'one of another campaign"):
                    verb(pull)
            assert ours.status().in_flight == 1
            mine.cancel()
            pull.cancel()


def test_a_pull_of_the_same_campaign_that_was_opened_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Campaign({"x": 5}, 10, store="sqlite:///a.db") as one, Campaign.open(f"sqlite:///{tmp_path}/a.db") as other:
        pull = asked(one)
        assert other.tell(pull, 5, 1).cost == 5


def varied(campaign: Campaign) -> None:
    """Ten pulls, of every standing."""
    told, cancelled, expired, late, *_ = campaign.ask_many(6, key="job", tags=["batch", "eu"], metadata={"user": 17})
    campaign.tell(told, 1, True)
    campaign.cancel(cancelled)
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
    told, cancelled, expired, late, *_ = campaign.pulls()
    assert (told.arm, told.cost, told.reward, told.key, told.tags) == ("a", 1.0, 1.0, "job/0", ("batch", "eu"))
    assert (cancelled.arm, cancelled.cost, cancelled.reward) == ("b", None, None)
    assert (expired.cost, expired.reward, expired.late, expired.reserved) == (1.0, 0.0, False, 1.0)
    assert (late.cost, late.reward, late.late) == (0.5, 0.0, True)
    assert told.expires is not None
    assert (told.expires - told.asked).total_seconds() == 3600.0
    noted = [entry.more["metadata"] for entry in campaign.history() if "metadata" in entry.more]
    assert noted[-1] == {"cost": 5, "tags": ["batch"], "deep": {"ttl": [1, 2.5, None, True]}}  # as it was given


def test_the_first_ask_with_a_key_decides_the_notes() -> None:
    campaign = Campaign(["a"], 9)
    campaign.ask(key="k", tags=["one"], metadata={"n": 1})
    campaign.ask(key="k", tags=["two"])
    assert [(pull.tags, pull.metadata) for pull in campaign.pulls()] == [(("one",), {"n": 1})]


def test_notes_are_made_plain() -> None:
    campaign = Campaign(["a"], 9)
    given = {np.str_("n"): np.int64(3), "x": np.float64(0.5), "s": np.str_("t"), "l": (1, [True, None])}
    campaign.ask(tags=(np.str_("t"), "t", "ü"), metadata=given)
    (pull,) = campaign.pulls()
    assert (pull.tags, pull.metadata) == (("t", "ü"), {"n": 3, "x": 0.5, "s": "t", "l": [1, [True, None]]})
    assert type(pull.tags[0]) is str
    assert {type(value) for value in pull.metadata.values()} == {int, float, str, list}


DEEP: Any = 0
for _ in range(5):
    DEEP = {"a": DEEP}
LOOP: dict[str, Any] = {}
LOOP["self"] = LOOP


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("metadata", x) for x in ([1], "text", {1: 2}, {"x": np.nan}, {"x": {1, 2}}, {"x": "y" * 2048}, DEEP, LOOP)),
        *(("metadata", x) for x in ({str(n): n for n in range(33)}, {"x": 2**63}, {"x": "\ud800"}, {"a": 10**5000})),
        *(("tags", x) for x in ("eu", [5], [""], ["a\nb"], ["x" * 65], [f"t{n}" for n in range(9)])),
    ],
)
def test_notes_have_bounds(name: str, value: Any) -> None:
    campaign = Campaign(["a"], 9)
    with pytest.raises(BadParameter, match=f"^{name} of ask must be "):
        campaign.ask(**{name: value})
    assert campaign.status().events == 1


@pytest.mark.parametrize("wanted", [{"status": "pending"}, {"tag": ""}, {"key": 5}, {"after": -1}, {"limit": 1.5}])
def test_what_pulls_cannot_be_asked(wanted: dict[str, Any]) -> None:
    (name,) = wanted
    with pytest.raises(BadParameter, match=f"^{name} of pulls must be "):
        Campaign(["a"], 9).pulls(**wanted)


@pytest.mark.parametrize("reward", [True, np.True_, False, np.False_])
def test_truth_is_a_reward(tmp_path: Path, reward: Any) -> None:
    with Campaign(["a"], 9, store=f"sqlite:///{tmp_path}/a.db") as campaign:
        pull = asked(campaign)
        assert pull.tell(1, reward).reward == float(reward)
        assert pull.tell(1, int(reward)).duplicate
        campaign.amend(pull, 1, reward)
        assert campaign.warm_start([("a", 1, reward)]) == 1
        assert campaign.status().reward == float(reward)
        with pytest.raises(BadParameter, match="cost of tell must be a finite number; got True"):
            campaign.tell(pull, True, 1)


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
