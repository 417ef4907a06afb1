"""Arms of unknown cost whose pulls end untold: nothing can be charged for them, so they are held back."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlay import Campaign
from outlay.campaign import verify
from outlay.campaign.stores import transaction
from outlay.errors import NothingTold, NotNow
from tests.campaign.checker import checked

WHY = "nobody told what a pull of 'a' or 'b' cost"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    return None if request.param == "memory" else f"sqlite:///{tmp_path}/a.db"


def given_up(campaign: Campaign, most: int = 100) -> int:
    """How many pulls can be made, one after another, of which nobody tells."""
    for n in range(most):
        try:
            pull = campaign.ask()
        except NothingTold:
            return n
        assert pull is not None
        campaign.charge(pull)
    return most


@pytest.mark.parametrize(("first_pulls", "pulls"), [(1, 2), (3, 6), (None, 100)])
def test_pulls_that_nobody_tells_are_few(store: str | None, first_pulls: int | None, pulls: int) -> None:
    with Campaign(["a", "b"], 10, store=store, first_pulls=first_pulls) as campaign:
        assert given_up(campaign) == pulls
        assert campaign.status().spent == 0
    if store is not None:
        checked(store)
        assert verify(store).ok


@pytest.mark.parametrize("expiry", ["charge", "release"])
def test_pulls_that_expire_are_such_pulls(expiry: str) -> None:
    with Campaign(["a", "b"], 10, ttl=1e-6, expiry=expiry) as campaign:  # type: ignore[arg-type]
        assert campaign.ask() is not None
        assert campaign.ask() is not None
        with pytest.raises(NothingTold, match=WHY):
            campaign.ask()


def test_a_late_tell_is_a_tell(store: str | None) -> None:
    with Campaign(["a", "b"], 10, store=store) as campaign:
        pulls = [campaign.ask() for _ in "ab"]
        for pull in pulls:
            assert pull is not None
            pull.charge()
        with pytest.raises(NothingTold, match=WHY):
            campaign.ask()
        first = pulls[0]
        assert first is not None
        first.tell(cost=0, reward=0)  # which does not say what the next will cost
        again = campaign.ask()
        assert again is not None
        assert again.arm == first.arm
        with pytest.raises(NotNow, match="first pulls of every arm whose cost is not known are under way or untold"):
            campaign.ask()
        again.tell(cost=1, reward=0)
        assert len(campaign.ask_many(5)) == 5


def test_once_a_cost_is_known_there_is_something_to_charge() -> None:
    """The first call of an arm may fail; the next sets aside what the dearest pull of another arm cost."""
    with Campaign(["a", "b"], 3, "RoundRobin") as campaign:
        first, second = campaign.ask(), campaign.ask()
        assert first is not None
        assert second is not None
        first.charge()
        second.tell(cost=1, reward=0)
        again = campaign.ask()
        assert again is not None
        assert (again.arm, again.reserved) == (first.arm, 1)
        again.charge()
        assert campaign.status().spent == 2


def test_where_nothing_is_ever_charged_an_arm_waits_for_its_own_tell() -> None:
    with Campaign(["a", "b"], 100, "RoundRobin", ttl=0.05, expiry="release") as campaign:
        first = campaign.ask(ttl=1e-6)
        second = campaign.ask(ttl=1000)
        assert first is not None
        assert second is not None
        second.tell(cost=1, reward=0)
        assert {pull.arm for pull in campaign.ask_many(4)} == {second.arm}
        first.tell(cost=1, reward=0)
        assert {pull.arm for pull in campaign.ask_many(4)} == {first.arm, second.arm}


def test_samples_from_elsewhere_say_what_an_arm_costs() -> None:
    with Campaign(["a"], 10) as campaign:
        assert given_up(campaign) == 1
        campaign.warm_start([("a", 2, 1)])
        pull = campaign.ask()
        assert pull is not None
        assert pull.reserved == 4


def test_who_waits_hears_of_it_instead_of_waiting_for_ever(store: str | None) -> None:
    def work(campaign: Campaign) -> Iterator[int]:
        for pull in campaign:
            yield pull.id
            pull.charge()

    with Campaign(["a", "b"], 10, store=store) as campaign:
        worked = work(campaign)
        assert [next(worked), next(worked)] == [2, 4]
        with pytest.raises(NothingTold, match=WHY):
            next(worked)
        with pytest.raises(NothingTold, match="max_cost, or a reservation"):
            asyncio.run(campaign.aask(wait=True))


def test_who_waits_for_a_pull_under_way_hears_of_it_when_that_has_expired() -> None:
    with Campaign(["a"], 10) as campaign:
        pull = campaign.ask()
        assert pull is not None
        with pytest.raises(NotNow):
            campaign.ask()
        pull.extend(0.01)
        with pytest.raises(NothingTold, match="nobody told what a pull of 'a' cost"):
            campaign.ask(wait=True, timeout=60)


def test_it_is_known_after_a_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "EVERY", 1)
    store = f"sqlite:///{tmp_path}/a.db"
    with Campaign(["a", "b"], 10, store=store) as campaign:
        assert given_up(campaign) == 2
        campaign.pause()
        campaign.resume()
    with Campaign.open(store) as campaign:
        assert given_up(campaign) == 0
    assert verify(store).ok
