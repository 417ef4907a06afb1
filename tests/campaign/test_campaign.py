"""What users of `Campaign` meet beside the rules: settings, odd arguments and policies, coming back."""

import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import pytest
from msgspec.structs import replace

from outlay.campaign import Campaign, verify
from outlay.campaign import campaign as asking
from outlay.campaign.ledger.events import DEFAULT, Settings
from outlay.campaign.stores import transaction
from outlay.errors import BadParameter, CampaignConflict, NothingTold, PullOver, StoreError
from outlay.policies import RoundRobin
from tests.campaign.busy import asked


def test_campaign_takes_them_with_their_defaults() -> None:
    taken = inspect.signature(Campaign).parameters
    assert list(taken) == ["arms", "budget", "policy", "store", "name", "requests", "costs", *Settings._fields]
    assert {name: taken[name].default for name in Settings._fields} == DEFAULT._asdict()
    hints, declared = get_type_hints(Campaign.__init__), get_type_hints(Settings)
    assert {name: hints[name] for name in declared} == declared


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
            asked(campaign).tell(cost=1, reward=1)

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


def test_a_set_has_no_order_and_is_refused() -> None:
    """Its order changes from one process to the next, and with it which arm is which."""
    with pytest.raises(BadParameter, match=r"arms of Campaign must be .*; got \{"):
        Campaign({"a", "b"}, 9)  # type: ignore[arg-type]
    assert Campaign({"a": 1, "b": 2}.keys(), 9).arms == ("a", "b")  # type: ignore[arg-type]


def test_without_a_policy_a_campaign_goes_on_with_its_own(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    Campaign(["a", "b"], 5, "RoundRobin", store, first_pulls=2).disconnect()
    with Campaign(["a", "b"], 5, store=store, first_pulls=2) as campaign:
        assert campaign.status().policy == "RoundRobin"
        assert [pull.arm for pull in campaign.ask_many(4)] == ["a", "b", "a", "b"]
    with pytest.raises(CampaignConflict, match=r"with policy RoundRobin\(\), not "):
        Campaign(["a", "b"], 5, "Frugal", store, first_pulls=2)


@pytest.mark.parametrize("pull", ["", None, True, [], object()])
def test_what_is_not_a_pull(pull: Any) -> None:
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
        with pytest.raises(BadParameter, match=f"pull of {owner} must be ") as caught:
            call()
        assert caught.value.got is pull
    assert campaign.status().events == 2


@pytest.fixture
def campaign(memory_or_file: str | None) -> Iterator[Campaign]:
    with Campaign({"a": 2, "b": None}, 100, store=memory_or_file, first_pulls=None) as campaign:
        yield campaign


def test_what_a_campaign_says_of_itself(memory_or_file: str | None) -> None:
    with Campaign({"a": 1, "b": None}, 9, RoundRobin(), memory_or_file, name="spring") as campaign:
        said = campaign.name, campaign.arms, campaign.budget, campaign.policy
        assert said == ("spring", ("a", "b"), 9.0, RoundRobin())
        campaign.add_arm("c")
        campaign.disable_arm("a")
        campaign.set_budget(11.5)
        assert (campaign.arms, campaign.budget) == (("a", "b", "c"), 11.5)
        for name in ("name", "arms", "budget", "policy"):
            with pytest.raises(AttributeError):
                setattr(campaign, name, None)
    if memory_or_file is not None:
        with Campaign.open(memory_or_file, "spring") as again:
            assert (again.arms, again.budget, again.policy) == (("a", "b", "c"), 11.5, RoundRobin())


def test_history_and_pulls_can_be_read_again(campaign: Campaign) -> None:
    campaign.ask_many(5, tags=["nightly"])
    for rows, count in ((campaign.history(), 6), (campaign.pulls(), 5), (campaign.pulls(tag="none"), 0)):
        assert len(rows) == len(list(rows)) == len(list(rows)) == len(rows.frame()) == count
        assert bool(rows) == (count > 0)
    rows = campaign.pulls()
    campaign.ask()
    assert len(list(rows)) == 6  # as it stands when it is read
    assert [next(rows).id, next(rows).id] == [2, 3]


def test_one_of_many_asks_has_a_key_of_its_own(campaign: Campaign) -> None:
    """`ask(key="job/0")` got the first pull of `ask_many(key="job")`, and both did its work."""
    many = campaign.ask_many(2, key="job")
    assert asked(campaign, key="job/0").id not in [pull.id for pull in many]
    assert campaign.ask_many(2, key="job") == many
    campaign.tell(many[0], 1, 1)
    assert campaign.ask_many(2, key="job") == many[1:]
    campaign.cancel(many[1])
    with pytest.raises(PullOver, match="pull 2, of key 'job/0', is over"):
        campaign.ask_many(2, key="job")


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
    told, cancelled, charged, extended = campaign.pulls()
    assert campaign.tell(told, 1, 1).pull == told.id
    campaign.cancel(cancelled)
    campaign.charge(charged)
    campaign.extend(extended, 60)
    assert campaign.amend(told, cost=0.5).cost == 0.5
    assert [pull.status for pull in campaign.pulls()] == ["told", "cancelled", "expired", "open"]
    with pytest.raises(CampaignConflict, match=r"is one of '[ab]', not of '[ab]'"):
        campaign.tell(replace(extended, arm="b" if extended.arm == "a" else "a"), 1, 1)


def test_a_cost_or_a_reward_is_amended_alone(campaign: Campaign) -> None:
    pull = asked(campaign)
    pull.tell(1, 0.5)
    receipt = campaign.amend(pull, cost=2)
    assert (receipt.cost, receipt.reward) == (2, 0.5)
    receipt = campaign.amend(pull, reward=0.25)
    assert (receipt.cost, receipt.reward) == (2, 0.25)
    assert campaign.amend(pull, reward=0.25).duplicate
    with pytest.raises(BadParameter, match="cost of amend must be given, or the reward, or both; got None"):
        campaign.amend(pull)


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


def test_a_hard_cap_that_no_arm_fits(memory_or_file: str | None) -> None:
    with pytest.raises(BadParameter, match=r"budget of Campaign must be ≥ 50 in hard mode.* cheapest arm; got 5"):
        Campaign({"a": 50, "b": 60}, 5, mode="hard", store=memory_or_file)
    with pytest.raises(BadParameter, match="budget of Campaign must be ≥ 7 in hard mode"):
        Campaign(["a"], 5, mode="hard", reservation=7, store=memory_or_file)
    with Campaign({"a": 50, "b": None}, 5, mode="hard", store=memory_or_file) as campaign:
        assert campaign.ask().arm == "b"  # type: ignore[union-attr]


def test_who_waits_hears_of_the_end(memory_or_file: str | None) -> None:
    heard: list[Exception] = []
    campaign = Campaign(["a"], 5, store=memory_or_file)

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
    (warning,) = caught
    assert "pull 2 (a) of this loop was not told" in str(warning.message)


class Held(NamedTuple):
    """A memory in one array of any kind, and a policy that takes turns."""

    array: Any

    def observe(self, arm: int, cost: float, reward: float) -> None:
        self.array[arm] = (cost, reward)

    def belief(self, arm: int) -> Any:
        return self.array[arm]

    def full(self) -> bool:
        return False


class Turns(NamedTuple):
    dtype: Any = "O"

    def memory(self, arms: int) -> Held:
        dtype = "O" if self.dtype == "O" else [(name, float) for name in self.dtype]
        return Held(np.empty(arms, dtype=dtype))

    def choose(self, memory: Held, now: Any, rng: Any) -> int:
        return int(now.pulls) % len(memory.array)


class With(NamedTuple):
    value: Any

    def score(self, belief: Any, log_n: float) -> float:
        return 0.0


@pytest.mark.parametrize("dtype", ["O", ["cost", "reward"]])
def test_memories_that_bytes_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    monkeypatch.setattr(transaction, "SNAPSHOT_INTERVAL", 4)
    store, policy = f"sqlite:///{tmp_path}/a.db", Turns(dtype)
    for _ in range(2):
        with Campaign(["a", "b"], 99, policy, store) as campaign:
            for n in range(5):
                asked(campaign).tell(cost=1, reward=n)
    assert verify(store, policy=policy).problems == ()


@pytest.mark.parametrize("value", [(1, 2), [(1.5,), "x"], With((1,)), {"a": 1}, None, True, 2**60])
def test_parameters_that_come_back(tmp_path: Path, value: Any) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    Campaign(["a"], 9, With(value), store).disconnect()
    Campaign(["a"], 9, With(value), store).disconnect()
    Campaign.open(store, policy=With(value)).disconnect()
    with pytest.raises(CampaignConflict, match="with policy With"):
        Campaign(["a"], 9, With("y"), store)
