"""Rewards that come after the cost, ceilings of single calls, and waits that end, as users see them."""

import math
import threading
import time
from collections import Counter
from typing import Any

import pytest

from outlay import Campaign
from outlay.campaign import verify
from outlay.campaign.ledger import snapshot
from outlay.campaign.monitor import CampaignMonitor
from outlay.campaign.stores import transaction
from outlay.errors import BadParameter, CampaignConflict, NothingTold, NotNow, OverBudget, UnknownPull


def test_the_cost_settles_the_money_and_the_reward_comes_from_another_process(tmp_path: Any) -> None:
    store = f"sqlite:///{tmp_path}/spend.db"
    with Campaign({"a": 2.0}, 10, store=store, mode="hard", currency="USD") as campaign:
        pull = campaign.ask(key="request 17")
        assert pull is not None
        receipt = pull.tell(cost=0.5)
        assert (receipt.cost, receipt.reward) == (0.5, None)
        status = campaign.status()
        assert (status.spent, status.reserved, status.awaited, status.currency) == (0.5, 0.0, 1, "USD")
        assert status.arms[0].rate is None
        assert [each.status for each in campaign.pulls(key="request 17")] == ["paid"]
        with pytest.raises(CampaignConflict, match="is paid and cannot be cancelled"):
            campaign.cancel(pull)
    with Campaign.open(store) as other:
        assert other.reward("request 17", 1).reward == 1.0
        assert other.reward(pull.id, True).duplicate
        with pytest.raises(CampaignConflict, match="amend corrects it"):
            other.reward("request 17", 0.5)
        assert other.amend("request 17", reward=0.5).reward == 0.5
        status = other.status()
        assert (status.reward, status.awaited, status.arms[0].rate) == (0.5, 0, 1.0)
        assert [entry.kind for entry in other.history()] == ["opened", "asked", "told", "rewarded", "amended"]
    assert verify(store).problems == ()


@pytest.mark.parametrize(("missing", "reward"), [("unknown", None), (0.25, 0.25)])
def test_a_reward_that_does_not_come_in_time(memory_or_file: str | None, missing: Any, reward: float | None) -> None:
    """It counts as was agreed; one that comes later takes its place."""
    with Campaign(["a"], 10, store=memory_or_file, reward_within=0.01, missing_reward=missing) as campaign:
        pull = campaign.ask()
        assert pull is not None
        pull.tell(cost=0.5)
        time.sleep(0.02)
        campaign.pause()  # every command sweeps
        (status,) = campaign.pulls()
        assert (status.status, status.reward, status.overdue) == ("told", reward, True)
        arm = campaign.status().arms[0]
        assert (arm.awaited, arm.overdue, arm.reward) == (0, 1, reward or 0.0)
        with pytest.raises(CampaignConflict, match="reward gives it one"):
            campaign.amend(pull, reward=1)
        assert pull.reward(0.75).reward == 0.75
        arm = campaign.status().arms[0]
        assert (arm.awaited, arm.overdue, arm.reward, arm.rate) == (0, 0, 0.75, 1.5)


def test_a_cost_is_amended_while_something_else_counts_as_the_reward(tmp_path: Any) -> None:
    store = f"sqlite:///{tmp_path}/spend.db"
    with Campaign({"a": 2.0}, 10, "Frugal", store=store, reward_within=0.001, missing_reward=0.25) as campaign:
        overdue, charged = campaign.ask_many(2)
        campaign.tell(overdue, cost=0.5)
        time.sleep(0.01)
        assert campaign.amend(overdue, cost=0.75).reward == 0.25
        campaign.charge(charged)
        campaign.tell(charged, cost=0.5)
        assert campaign.amend(charged, cost=0.75).reward in (0.0, 0.25)
    assert verify(store).problems == ()


def test_a_reward_before_its_cost_is_refused() -> None:
    campaign = Campaign({"a": 1.0}, 10)
    pull, other = campaign.ask_many(2)
    with pytest.raises(CampaignConflict, match="was not paid: tell its cost first"):
        campaign.reward(pull, 1)
    campaign.tell(pull, 0.5)
    assert campaign.tell(pull, 0.5).duplicate
    with pytest.raises(CampaignConflict, match=r"was told with cost 0\.5, which stands"):
        campaign.tell(pull, 0.6, 1)
    assert campaign.tell(pull, 0.5, 1).reward == 1.0  # the whole outcome again, by one who does not know of the first
    assert other.tell(cost=0.5).reward is None
    assert campaign.amend(other, cost=0.25).cost == 0.25
    for reward in (math.nan, "much", None):
        with pytest.raises(BadParameter, match="reward of reward must be"):
            campaign.reward(pull, reward)  # type: ignore[arg-type]
    with pytest.raises(UnknownPull, match="has no pull that was asked for with the key 'a'"):
        campaign.reward("a", 1)


@pytest.mark.parametrize("policy", ["Frugal", "Thrifty", "GaussianThompson"])
def test_awaited_rewards_count_as_made(policy: str) -> None:
    """A hundred calls whose rewards are awaited are spread over arms of equal worth as a hundred calls would be."""
    campaign, named = Campaign(list("abcde"), 200, policy), Counter[str]()
    for first in campaign.ask_many(5):
        first.tell(1.0, 0.5)
    for _ in range(100):
        pull = campaign.ask()
        assert pull is not None
        named[pull.arm] += 1
        pull.tell(1.0)
    assert min(named.values()) >= 10


@pytest.mark.parametrize("within", [None, 0.001])
@pytest.mark.parametrize("policy", ["Frugal", "Thrifty", "GaussianThompson"])
def test_an_arm_whose_rewards_never_come_is_not_tried_for_ever(policy: str, within: float | None) -> None:
    campaign, named = Campaign(["silent", "good"], 200, policy, reward_within=within), Counter[str]()
    for _ in range(100):
        pull = campaign.ask()
        assert pull is not None
        named[pull.arm] += 1
        pull.tell(1.0, None if pull.arm == "silent" else 1.0)
        time.sleep(0.002 if within else 0.0)
    assert 0 < named["silent"] < 20


def test_samples_with_rewards_alone_are_learned_elsewhere() -> None:
    campaign = Campaign({"a": 2.0}, 10)
    one, other = campaign.ask_many(2)
    one.tell(1.0)
    other.tell(2.0)
    other.reward(0.5)
    assert Campaign(["a"], 10).warm_start(campaign) == 1
    view = CampaignMonitor(campaign).look()
    assert view.burn[-1].left == 7.0


def test_a_call_sets_its_own_ceiling_aside(memory_or_file: str | None) -> None:
    with Campaign(["large", "small"], 1.0, store=memory_or_file, mode="hard") as campaign:
        pulls = [campaign.ask(most={"large": 0.8, "small": 0.1}) for _ in range(3)]
        assert sorted((pull.arm, pull.reserved) for pull in pulls if pull) == [
            ("large", 0.8),
            ("small", 0.1),
            ("small", 0.1),
        ]
        with pytest.raises(NotNow):  # it may fit when something comes back
            campaign.ask(most=0.5)
        with pytest.raises(OverBudget, match=r"this call can cost 1\.5, and 1 is left"):
            campaign.ask(most=1.5)
        assert campaign.status().phase == "open"
        for pull in pulls:
            assert pull is not None
            pull.tell(cost=0.05, reward=1)
        assert len(campaign.ask_many(9, most=0.4)) == 2
        for bad in (-1, "much", {"large": -1}, math.inf):
            with pytest.raises(BadParameter, match="most of ask must be"):
                campaign.ask(most=bad)  # type: ignore[arg-type]
        with pytest.raises(BadParameter, match="must be one of large, small; got 'tiny'"):
            campaign.ask(most={"tiny": 1})


def test_a_call_is_served_by_the_arms_that_can(memory_or_file: str | None) -> None:
    with Campaign(["a", "b", "c"], 3.0, store=memory_or_file, mode="hard", fallback="c") as campaign:
        pulls = [campaign.ask(arms=arms, most=0.5) for arms in (["b"], ["c", "b"], ("c",), ["c"])]
        assert [pull.arm for pull in pulls if pull] == ["b", "c", "c", "c"]
        assert [pull.arm for pull in campaign.ask_many(2, arms={"a"}, most=0.25)] == ["a", "a"]
        with pytest.raises(OverBudget):  # the fallback cannot serve it
            campaign.ask(arms=["a", "b"], most=4)
        pull = campaign.ask(arms=["c"], most=4)
        assert pull is not None
        assert pull.fallback
        campaign.disable_arm("b")
        with pytest.raises(NotNow, match="every arm that can serve this call is disabled"):
            campaign.ask(arms=["b"])
        with pytest.raises(BadParameter, match="must be one of a, b, c; got 'd'"):
            campaign.ask(arms=["a", "d"])
        for bad in ([], "a", 3, [1]):
            with pytest.raises(BadParameter, match="arms of ask must be"):
                campaign.ask(arms=bad)  # type: ignore[arg-type]
        asked = [entry.more.get("arms") for entry in campaign.history() if entry.kind == "asked"]
        assert (asked[:2], asked[-1]) == ([["b"], ["c", "b"]], ["c"])
        if memory_or_file:
            assert verify(memory_or_file).ok


def test_the_same_key_gives_the_same_pull_whatever_the_ceiling() -> None:
    campaign = Campaign(["a"], 10, mode="hard")
    assert campaign.ask(key="k", most=2) == campaign.ask(key="k", most=3) == campaign.ask(key="k")
    assert campaign.status().reserved == 2.0


@pytest.mark.parametrize("wait", [0, 0.02])
def test_a_wait_ends_with_the_fallback_or_not_now(memory_or_file: str | None, wait: float) -> None:
    with Campaign({"a": 1.0, "free": None}, 1.0, store=memory_or_file, mode="hard", fallback="free") as campaign:
        assert campaign.ask(most={"a": 1.0, "free": 1.0}) is not None
        with pytest.raises(NotNow):
            campaign.ask()
        pull = campaign.ask(wait=wait)
        assert pull is not None
        assert (pull.arm, pull.fallback, pull.reserved) == ("free", True, 0.0)
        campaign.pause()
        with pytest.raises(NotNow, match="is paused"):
            campaign.ask(wait=wait)
        for bad in (-1, "long", None, math.nan):
            with pytest.raises(BadParameter, match="wait of ask must be"):
                campaign.ask(wait=bad)  # type: ignore[arg-type]
    campaign = Campaign({"a": 1.0}, 1.0, mode="hard")
    campaign.ask()
    with pytest.raises(NotNow) as refused:
        campaign.ask(wait=wait)
    assert refused.value.retry_after > 0


def test_a_call_that_never_fits_is_given_the_fallback_at_once() -> None:
    pull = Campaign(["large", "free"], 1.0, mode="hard", fallback="free").ask(most={"large": 5, "free": 2})
    assert pull is not None
    assert (pull.arm, pull.fallback) == ("free", True)


@pytest.mark.parametrize(
    "terms",
    [
        {"reward_within": 0},
        {"reward_within": "soon"},
        {"reward_within": "1 week"},
        {"missing_reward": 0.5},
        {"reward_within": 1, "missing_reward": "none"},
        {"reward_within": 1, "missing_reward": math.inf},
        {"currency": ""},
        {"currency": "a\x1b[31m"},
        {"currency": 5},
        {"ttl": "x"},
    ],
)
def test_terms_that_cannot_be(terms: dict[str, Any]) -> None:
    with pytest.raises(BadParameter, match=f"{[*terms][-1]} of Campaign must be"):
        Campaign(["a"], 10, **terms)


def test_times_are_said_with_their_unit(tmp_path: Any) -> None:
    store = f"sqlite:///{tmp_path}/spend.db"
    with Campaign(["a"], 10, store=store, ttl="15m", reward_within="1h"):
        pass
    with Campaign(["a"], 10, store=store, ttl=900, reward_within=3600.0) as campaign:
        (opened,) = campaign.history()
        assert (opened.more["terms"]["ttl"], opened.more["terms"]["reward_within"]) == (900.0, 3600.0)
    with pytest.raises(CampaignConflict, match="with reward_within 3600 s, not 1800 s"):
        Campaign(["a"], 10, store=store, ttl="15m", reward_within="30m")


def test_a_big_call_that_waits_holds_up_no_small_one() -> None:
    campaign = Campaign(["a"], 1, mode="hard")
    campaign.ask(most=0.5)
    big = threading.Thread(target=_refused, args=[campaign])
    big.start()
    while not len(campaign._queue):
        time.sleep(0.001)
    pull = campaign.ask(most=0.1, wait=10)
    assert pull is not None
    assert big.is_alive()
    big.join()


def _refused(campaign: Campaign) -> None:
    with pytest.raises(NotNow):
        campaign.ask(most=0.9, wait=0.5)


def test_an_exhausted_campaign_is_so_for_every_call(tmp_path: Any) -> None:
    """A call of any size ends it only where all would: its ledger does not say how large it was."""
    store = f"sqlite:///{tmp_path}/a.db"
    with Campaign(["a"], 1, mode="hard", store=store) as campaign:
        for most in (0, 1):
            pull = campaign.ask(most=most)
            assert pull is not None
            pull.charge()
            last = pull.id
        with pytest.raises(NothingTold):
            campaign.ask(most=0.5)
        campaign.tell(last, 1, 1)
        assert campaign.ask(most=0.5) is None
    assert verify(store).problems == ()


def test_the_exact_key_is_found_before_that_of_many(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "CACHED_PULLS", 3)
    with Campaign({"a": 1.0}, 100, store=f"sqlite:///{tmp_path}/a.db") as campaign:
        one, many = campaign.ask(key="job/0"), campaign.ask_many(2, key="job")
        assert one is not None
        for pull in (one, *many):
            pull.tell(1.0)
        for _ in range(8):
            other = campaign.ask()
            assert other is not None
            other.tell(1.0, 1.0)
        assert campaign.tell(many[0].id, 1.0).duplicate  # it is at hand, and has the key job/0 as well
        assert campaign.reward("job/0", 1).pull == one.id


def test_a_call_too_dear_for_this_window_may_fit_the_next() -> None:
    campaign = Campaign({"a": 3.0}, 3, mode="hard", window="month")
    pull = campaign.ask()
    assert pull is not None
    pull.tell(2.0, 1.0)
    with pytest.raises(OverBudget) as refused:
        campaign.ask(most=2)
    assert refused.value.retry_after is not None


def test_an_amended_cost_is_what_the_arm_is_taken_to_cost() -> None:
    """Before its first reward; a state that was read from a snapshot knows no other."""
    campaign = Campaign({"a": 2.0}, 10)
    pull = campaign.ask()
    assert pull is not None
    pull.tell(cost=2.0)
    campaign.amend(pull, cost=0.5)
    state = campaign._ledger.state()
    body = snapshot.dump(state)
    assert body is not None
    again = snapshot.load(body)
    assert again is not None
    assert state.under_way == again.under_way
    assert state.under_way[0].cost == 0.5
