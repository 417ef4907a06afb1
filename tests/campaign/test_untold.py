"""Arms of unknown cost whose pulls end untold: nothing can be charged for them, so they are held back."""

import asyncio
from collections.abc import Iterator

import pytest

from outlay import Campaign
from outlay.campaign import verify
from outlay.errors import NothingTold, NotNow
from tests.campaign.busy import asked
from tests.campaign.checker import checked

WHY = "nobody told what a pull of 'a' or 'b' cost"


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
def test_pulls_that_nobody_tells_are_few(memory_or_file: str | None, first_pulls: int | None, pulls: int) -> None:
    with Campaign(["a", "b"], 10, store=memory_or_file, first_pulls=first_pulls) as campaign:
        assert given_up(campaign) == pulls
        assert campaign.status().spent == 0
    if memory_or_file is not None:
        checked(memory_or_file)
        assert verify(memory_or_file).ok


def test_samples_from_elsewhere_say_what_an_arm_costs() -> None:
    with Campaign(["a"], 10) as campaign:
        assert given_up(campaign) == 1
        campaign.warm_start([("a", 2, 1)])
        pull = asked(campaign)
        assert pull.reserved == 4


def test_who_waits_hears_of_it_instead_of_waiting_for_ever(memory_or_file: str | None) -> None:
    def work(campaign: Campaign) -> Iterator[int]:
        for pull in campaign:
            yield pull.id
            pull.charge()

    with Campaign(["a", "b"], 10, store=memory_or_file) as campaign:
        worked = work(campaign)
        assert [next(worked), next(worked)] == [2, 4]
        with pytest.raises(NothingTold, match=WHY):
            next(worked)
        with pytest.raises(NothingTold, match="max_cost, or a reservation"):
            asyncio.run(campaign.aask(wait=True))


def test_who_waits_for_a_pull_under_way_hears_of_it_when_that_has_expired() -> None:
    with Campaign(["a"], 10) as campaign:
        pull = asked(campaign)
        with pytest.raises(NotNow):
            campaign.ask()
        pull.extend(0.01)
        with pytest.raises(NothingTold, match="nobody told what a pull of 'a' cost"):
            campaign.ask(wait=True, timeout=60)
