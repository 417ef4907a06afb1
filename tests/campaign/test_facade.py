"""What users of `Campaign` meet beside the rules: odd policies, odd arguments, Ctrl-C, and coming back."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from outlay import policies
from outlay.campaign import Campaign
from outlay.errors import BadParameter, CampaignConflict, NotNow, PullOver
from outlay.policies import RoundRobin


class Stopped(NamedTuple):
    """A policy during whose third choice somebody presses Ctrl-C."""

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        if now.pulls == 2:
            raise KeyboardInterrupt
        return 0


def test_what_is_cut_short_did_not_happen() -> None:
    campaign = Campaign({"a": 1}, 9, Stopped())
    with pytest.raises(KeyboardInterrupt):
        campaign.ask_many(5)
    assert (campaign.status().in_flight, campaign.status().events) == (0, 1)
    assert campaign.ask() is not None
    assert [entry.seq for entry in campaign.history()] == [1, 2]


def test_a_status_is_of_one_moment() -> None:
    campaign, done = Campaign({"a": 1}, 10**6), threading.Event()

    def spend() -> None:
        while not done.is_set():
            pull = campaign.ask()
            assert pull is not None
            campaign.tell(pull, cost=1, reward=1)

    thread, interval = threading.Thread(target=spend), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(5000):
            status = campaign.status()
            assert (status.spent, status.reserved) == (status.pulls, status.in_flight)
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(interval)


def test_a_campaign_is_opened_again_as_it_was_or_as_it_is(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    with Campaign({"a": 1}, 9, store=store) as campaign:
        campaign.add_arm("b", max_cost=2)
        campaign.set_budget(11)
    for arms, budget in [({"a": 1}, 9), ({"a": 1, "b": 2}, 11), ({"a": 1}, 11), ({"a": 1, "b": 2}, 9)]:
        Campaign(arms, budget, store=store).disconnect()
    for other, said in (
        ({"a": 1, "b": 3}, "max_cost 2 of arm 'b', not 3"),
        ({"b": 2}, "other arms: 'a' is not among those given"),
        ({"a": 1, "b": 2, "c": None}, "other arms: 'c' is not one of them"),
        ({"b": 2, "a": 1}, "its arms in another order: a, b"),
        ({"a": None}, "other arms: 'b' is not among those given"),
    ):
        with pytest.raises(CampaignConflict, match=f"^campaign 'default' is there already, with {said}$"):
            Campaign(other, 9, store=store)


def test_what_differs_is_said_in_money_and_seconds(tmp_path: Path) -> None:
    """Not in units and microseconds: 10000000000 is no budget that anybody gave."""
    store = f"sqlite:///{tmp_path}/a.db"
    given: dict[str, Any] = {"policy": policies.UCBB2(1, 1), "ttl": 60, "reservation": 0.5, "unit": "0.01"}
    Campaign(["a"], 10, store=store, **given).disconnect()
    for other, said in (
        ({"ttl": 5}, "ttl 60 s, not 5 s"),
        ({"ttl": None}, "ttl 60 s, not none"),
        ({"reservation": 0.25}, "reservation 0.5, not 0.25"),
        ({"unit": "0.001"}, "unit 0.01, not 0.001"),
        ({"mode": "hard"}, "mode until_exceeded, not hard"),
        ({"first_pulls": 3}, "first_pulls 1, not 3"),
        ({"policy": policies.UCBB2(1, 2)}, r"policy UCBB2\(.*reward_bound=1.*\), not UCBB2\(.*reward_bound=2.*\)"),
    ):
        with pytest.raises(CampaignConflict, match=f"^campaign 'default' is there already, with {said}$"):
            Campaign(["a"], 10, store=store, **(given | other))
    with pytest.raises(CampaignConflict, match=r"with budget 10, not 20$"):
        Campaign(["a"], 20, store=store, **given)


@pytest.mark.parametrize("kind", [set, frozenset])
def test_a_set_has_no_order_and_is_refused(kind: Any) -> None:
    """Its order changes from one process to the next, and with it which arm is which."""
    with pytest.raises(BadParameter, match=r"arms of Campaign must be .*, in an order, which a set has not; got "):
        Campaign(kind({"a", "b"}), 9)
    assert Campaign({"a": 1, "b": 2}.keys(), 9).arms == ("a", "b")  # type: ignore[arg-type]


@pytest.mark.parametrize("store", [None, "sqlite"])
def test_one_of_many_asks_has_a_key_of_its_own(tmp_path: Path, store: str | None) -> None:
    """`ask(key="job/0")` got the first pull of `ask_many(key="job")`, and both did its work."""
    with Campaign({"a": 1}, 9, store=store and f"sqlite:///{tmp_path}/a.db") as campaign:
        many = campaign.ask_many(2, key="job")
        alone = campaign.ask(key="job/0")
        assert alone is not None
        assert alone.id not in [pull.id for pull in many]
        assert campaign.ask_many(2, key="job") == many
        campaign.tell(many[0], 1, 1)
        assert campaign.ask_many(2, key="job") == many[1:]
        campaign.cancel(many[1])
        with pytest.raises(PullOver, match="pull 2, of key 'job/0', is over"):
            campaign.ask_many(2, key="job")


def test_without_a_policy_a_campaign_goes_on_with_its_own(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    Campaign(["a", "b"], 5, "RoundRobin", store, first_pulls=2).disconnect()
    with Campaign(["a", "b"], 5, store=store, first_pulls=2) as campaign:
        assert campaign.status().policy == "RoundRobin"
        assert [pull.arm for pull in campaign.ask_many(4)] == ["a", "b", "a", "b"]
    with pytest.raises(CampaignConflict, match=r"with policy RoundRobin\(\), not "):
        Campaign(["a", "b"], 5, "Frugal", store, first_pulls=2)


def test_hard_mode_waits_while_a_disabled_arm_would_fit() -> None:
    campaign = Campaign({"cheap": 1, "dear": 9}, 5, mode="hard")
    campaign.disable_arm("cheap")
    with pytest.raises(NotNow, match="only disabled arms fit"):
        campaign.ask()
    campaign.enable_arm("cheap")
    assert campaign.ask() is not None


@pytest.mark.parametrize("pull", ["a", "2", None, True, [], object()])
def test_what_is_not_a_pull(pull: Any) -> None:
    """Most often an arm's name: the sentence says what is wanted, and what came."""
    campaign = Campaign(["a"], 5)
    campaign.ask()
    calls: list[tuple[str, Callable[[], object]]] = [
        ("tell", lambda: campaign.tell(pull, 1, 1)),
        ("tell", lambda: campaign.tell_many([(pull, 1, 1)])),
        ("cancel", lambda: campaign.cancel(pull)),
        ("extend", lambda: campaign.extend(pull, 5)),
        ("amend", lambda: campaign.amend(pull, 1, 1)),
    ]
    for owner, call in calls:
        wanted = f"pull of {owner} must be a Pull, as ask returns it, or its number; got "
        with pytest.raises(BadParameter, match=wanted) as caught:
            call()
        assert caught.value.got is pull
    assert campaign.status().events == 2


@pytest.mark.parametrize("kept", [False, True])
def test_what_a_campaign_says_of_itself(tmp_path: Path, kept: bool) -> None:
    store = f"sqlite:///{tmp_path}/a.db" if kept else None
    with Campaign({"a": 1, "b": None}, 9, RoundRobin(), store, name="spring") as campaign:
        said = campaign.name, campaign.arms, campaign.budget, campaign.policy
        assert said == ("spring", ("a", "b"), 9.0, RoundRobin())
        campaign.add_arm("c")
        campaign.disable_arm("a")
        campaign.set_budget(11.5)
        assert (campaign.arms, campaign.budget) == (("a", "b", "c"), 11.5)
        for name in ("name", "arms", "budget", "policy"):
            with pytest.raises(AttributeError):
                setattr(campaign, name, None)
    if store is not None:
        with Campaign.open(store, "spring") as again:
            assert (again.arms, again.budget, again.policy) == (("a", "b", "c"), 11.5, RoundRobin())
