"""What an engineer stumbles over: messages that name the right thing, results that can be used twice."""

import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from outlay import Campaign
from outlay.campaign import backup, campaigns, export_ledger, import_ledger, verify
from outlay.campaign import campaign as asking
from outlay.errors import BadParameter, CampaignConflict, NothingTold, StoreError


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    return None if request.param == "memory" else f"sqlite:///{tmp_path}/a.db"


@pytest.fixture
def campaign(store: str | None) -> Iterator[Campaign]:
    with Campaign({"a": 2, "b": None}, 100, store=store, first_pulls=None) as campaign:
        yield campaign


def test_history_and_pulls_can_be_read_again(campaign: Campaign) -> None:
    campaign.ask_many(5, tags=["nightly"])
    for rows, count in ((campaign.history(), 6), (campaign.pulls(), 5), (campaign.pulls(tag="none"), 0)):
        assert len(rows) == len(list(rows)) == len(list(rows)) == len(rows.frame()) == count
        assert bool(rows) == (count > 0)
    shown = repr(campaign.pulls())
    assert shown.startswith("<rows of PullStatus:\n  PullStatus(id=2, ")
    assert shown.endswith("\n  …>")
    assert repr(campaign.pulls(tag="none")) == "<rows of PullStatus: none>"
    rows = campaign.pulls()
    campaign.ask()
    assert len(list(rows)) == 6  # as it stands when it is read
    assert [next(rows).id, next(rows).id] == [2, 3]


def test_the_key_of_many_finds_all_of_them(campaign: Campaign) -> None:
    many = campaign.ask_many(3, key="job")
    alone = campaign.ask(key="job")
    other = campaign.ask_many(2, key="job/1")
    assert alone is not None
    found = [pull.id for pull in campaign.pulls(key="job")]
    assert found == [*(pull.id for pull in many), alone.id]
    assert [(pull.id, pull.key) for pull in campaign.pulls(key="job/1")] == [
        (many[1].id, "job/1"),
        *((pull.id, f"job/1/{i}") for i, pull in enumerate(other)),
    ]
    assert not campaign.pulls(key="jo")
    assert "\u2063" not in str(list(campaign.history()))


def test_what_pulls_lists_can_be_settled(campaign: Campaign) -> None:
    campaign.ask_many(4)
    told, void, charged, extended = campaign.pulls()
    assert campaign.tell(told, 1, 1).pull == told.id
    campaign.cancel(void)
    campaign.charge(charged)
    campaign.extend(extended, 60)
    assert campaign.amend(told, cost=0.5).cost == 0.5
    assert [pull.status for pull in campaign.pulls()] == ["told", "cancelled", "expired", "open"]
    with pytest.raises(CampaignConflict, match=r"is one of '[ab]', not of '[ab]'"):
        campaign.tell(replace(extended, arm="b" if extended.arm == "a" else "a"), 1, 1)


def test_a_cost_or_a_reward_is_amended_alone(campaign: Campaign) -> None:
    pull = campaign.ask()
    assert pull is not None
    pull.tell(1, 0.5)
    receipt = campaign.amend(pull, cost=2)
    assert (receipt.cost, receipt.reward) == (2, 0.5)
    receipt = campaign.amend(pull, reward=0.25)
    assert (receipt.cost, receipt.reward) == (2, 0.25)
    assert campaign.amend(pull, reward=0.25).duplicate
    with pytest.raises(BadParameter, match="cost of amend must be given, or the reward, or both; got None"):
        campaign.amend(pull)


def test_a_slip_that_was_amended_is_no_overrun(campaign: Campaign) -> None:
    pull = next(pull for pull in campaign.ask_many(4) if pull.arm == "a")
    assert pull.tell(20, 1).overrun
    assert campaign.amend(pull, cost=3).overrun  # still above its maximum
    assert not campaign.amend(pull, cost=2).overrun
    assert not next(iter(campaign.pulls(after=pull.id - 1))).overrun
    assert campaign.amend(pull, cost=4).overrun


def test_of_many_tells_which_count(campaign: Campaign) -> None:
    """One that cannot be a tell: none. One that the ledger refuses: all others."""
    one, two, three = campaign.ask_many(3)
    with pytest.raises(BadParameter, match="cost of tell must be a finite number"):
        campaign.tell_many([(one, 1, 1), (two, float("nan"), 1), (three, 1, 1)])
    assert campaign.status().pulls == 0
    campaign.tell(two, 2, 0)
    with pytest.raises(CampaignConflict, match=f"pull {two.id} was told with cost 2"):
        campaign.tell_many([(one, 1, 1), (two, 1, 1), (three, 1, 1)])
    assert [pull.cost for pull in campaign.pulls()] == [1, 2, 1]
    assert all(receipt.duplicate for receipt in campaign.tell_many([(one, 1, 1), (two, 2, 0), (three, 1, 1)]))


def test_an_address_is_that_of_who_was_given_it(tmp_path: Path) -> None:
    nothing: Any = None
    calls: dict[str, Callable[[], object]] = {
        "verify": lambda: verify(nothing),
        "campaigns": lambda: campaigns(nothing),
        "export_ledger": lambda: export_ledger(nothing, tmp_path / "x"),
        "backup": lambda: backup(nothing, tmp_path / "x"),
        "Campaign.open": lambda: Campaign.open(nothing),
    }
    for owner, call in calls.items():
        with pytest.raises(BadParameter, match=f"^store of {owner} must be sqlite:///FILE or postgresql://"):
            call()
    with Campaign(["a"], 1, store=f"sqlite:///{tmp_path}/a.db"):
        export_ledger(f"sqlite:///{tmp_path}/a.db", tmp_path / "ledger")
    with pytest.raises(BadParameter, match=r"^store of import_ledger must be sqlite:///FILE or postgresql://"):
        import_ledger(nothing, tmp_path / "ledger")


def test_a_closed_campaign_does_not_resume(campaign: Campaign) -> None:
    campaign.pause()
    campaign.close()
    for _ in range(2):
        with pytest.raises(CampaignConflict, match="'default' is closed, for good"):
            campaign.resume()


def test_a_hard_cap_that_no_arm_fits(store: str | None) -> None:
    with pytest.raises(BadParameter, match=r"budget of Campaign must be ≥ 50 in hard mode.* cheapest arm; got 5"):
        Campaign({"a": 50, "b": 60}, 5, mode="hard", store=store)
    with pytest.raises(BadParameter, match="budget of Campaign must be ≥ 7 in hard mode"):
        Campaign(["a"], 5, mode="hard", reservation=7, store=store)
    with Campaign({"a": 50, "b": None}, 5, mode="hard", store=store) as campaign:
        assert campaign.ask().arm == "b"  # type: ignore[union-attr]


def test_after_disconnect_nothing_is_taken(campaign: Campaign) -> None:
    first, *_ = campaign.ask_many(2)
    campaign.disconnect()
    for call in (lambda: campaign.tell(first, 1, 1), campaign.ask, campaign.pause):
        with pytest.raises(StoreError, match="the campaign was disconnected"):
            call()
    assert campaign.status().in_flight == 2
    campaign.disconnect()


def test_who_waits_hears_of_the_end(store: str | None) -> None:
    heard: list[Exception] = []
    campaign = Campaign(["a"], 5, store=store)

    def wait() -> None:
        try:
            campaign.ask(wait=True)
        except StoreError as error:
            heard.append(error)

    campaign.ask()
    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    while len(campaign._queue) < 3:
        threading.Event().wait(0.001)
    campaign.disconnect()
    for thread in threads:
        thread.join(60)
    assert len(heard) == 3


def test_a_forgotten_tell_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "FORGOTTEN", 0.01)
    with Campaign(["a"], 5, ttl=1) as other, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(NothingTold):
            list(other)
    which = "pull 2 (a) of this loop was not told, cancelled or charged"
    assert [str(each.message) for each in caught] == [
        f"campaign 'default' waits for a pull, and {which}: was that forgotten?"
    ]
