"""A pull in a `with` block: however the block is left, the pull has an end, and money that may be spent is counted."""

import asyncio
import logging
import pickle
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import astuple

from outlay import Campaign
from outlay.campaign import OpenPull, Pull, verify
from outlay.campaign.pull import OnError
from outlay.errors import BadParameter, CampaignConflict


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


def asked(campaign: Campaign) -> OpenPull:
    pull = campaign.ask()
    assert pull is not None
    return pull


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


@pytest.mark.parametrize("way", ["pull", "campaign", "number", "copy", "void", "many", "asyncio"])
def test_what_is_settled_inside_is_left_alone(way: str) -> None:
    campaign = Campaign({"a": 2}, 9)
    pull = asked(campaign)
    with pull:
        if way == "pull":
            pull.tell(1, 1)
        elif way == "campaign":
            campaign.tell(pull, 1, 1)
        elif way == "number":
            campaign.tell(pull.id, 1, 1)
        elif way == "copy":
            campaign.tell(Pull(*astuple(pull)), 1, 1)
        elif way == "many":
            campaign.tell_many([(pull, 1, 1)])
        elif way == "asyncio":
            asyncio.run(pull.atell(1, 1))
        else:
            pull.cancel("not needed")
    assert [entry.kind for entry in campaign.history()] == ["opened", "asked", "cancelled" if way == "void" else "told"]


def test_an_error_after_the_tell_changes_nothing() -> None:
    campaign = Campaign({"a": 2}, 9)
    pull = asked(campaign)
    pull.tell(1, 1)
    with pytest.raises(Failed):
        leave(pull, None, Failed())
    assert campaign.status().spent == 1.0


def test_what_was_charged_can_be_told_after_all(caplog: pytest.LogCaptureFixture) -> None:
    campaign = Campaign({"a": 2}, 9)
    with caplog.at_level(logging.WARNING, "outlay.campaign"), asked(campaign) as pull:
        pass
    assert "pull 2 was left without a tell: what was set aside is charged" in caplog.text
    assert campaign.status().spent == 2.0
    assert pull.tell(0.5, 1).late
    assert campaign.status().spent == 0.5


def test_charging_again_changes_nothing_and_what_is_told_stands(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    with Campaign({"a": 2}, 3, store=store, expiry="release") as campaign:
        one, two = campaign.ask_many(2)
        one.charge()
        one.charge()
        two.tell(0.5, 1)
        with pytest.raises(CampaignConflict, match="pull 3 is told and cannot be charged"):
            two.charge()
        with pytest.raises(CampaignConflict, match="pull 2 is expired and cannot be cancelled"):
            one.cancel()
        three = asked(campaign)
        three.charge()  # crosses the budget
        assert (campaign.status().phase, campaign.status().spent) == ("closed", 4.5)
    assert [entry.kind for entry in campaign_history(store)][-2:] == ["expired", "exhausted"]
    assert verify(store).problems == ()


def campaign_history(store: str) -> list[Any]:
    with Campaign.open(store) as campaign:
        return list(campaign.history())


def test_a_cancelled_task_leaves_its_pull_charged() -> None:
    async def main() -> None:
        campaign = Campaign({"a": 2}, 9)

        async def work() -> None:
            async for pull in campaign:
                async with pull:
                    await asyncio.sleep(60)

        task = asyncio.create_task(work())
        while not campaign.status().in_flight:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (campaign.status().in_flight, campaign.status().spent) == (0, 2.0)

    asyncio.run(main())


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


def test_a_pull_of_another_campaign_is_refused() -> None:
    """Decisions are numbered in each campaign alike: taken by its number, it would settle somebody else's."""
    ours, theirs = (Campaign(["a", "b"], 10, name=name, seed=1) for name in ("staging", "prod"))
    pull = theirs.ask()
    assert pull is not None
    with pytest.raises(
        BadParameter, match="pull of tell must be one of campaign 'staging'; got \"one of campaign 'prod'\""
    ):
        ours.tell(pull, 5, 1)
    assert ours.status().spent == 0
    assert theirs.tell(pull, 5, 1).cost == 5


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
        pull = one.ask()
        assert pull is not None
        assert other.tell(pull, 5, 1).cost == 5
