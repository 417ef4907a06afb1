"""Campaigns whose policy opens arms one by one: the order of the arms, the budget, closed arms and pulls under way."""

import math
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from scipy.stats import chi2

from outlay import Campaign, policies
from outlay.beliefs import Belief, Lead, SequentialMoments
from outlay.campaign import export_ledger, import_ledger, verify
from outlay.campaign.ledger import snapshot
from outlay.campaign.ledger.learner import ORDER, EventRandom, Learner
from outlay.errors import BadParameter
from tests.campaign.busy import asked

FALSE_ALARM = 1e-6  # of each chi-square test
NAMES = [f"a{i}" for i in range(7)]
TOLD, UNTOLD = policies.Thrifty(), policies.Thrifty(horizon="unknown")


def state_of(campaign: Campaign) -> Any:
    return cast("Any", campaign)._ledger.state()


def order_of(seed: int, arms: int) -> list[int]:
    """Fisher and Yates's shuffle with the numbers that no event uses."""
    rng = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, 0]))
    order = list(range(arms))
    for i in range(arms - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        order[i], order[j] = order[j], order[i]
    return order


def outcome(decision: int, arm: str) -> tuple[float, float]:
    """What a pull costs and earns: by its number and its arm alone."""
    rng = np.random.default_rng([decision, len(arm), *arm.encode()])
    return float(np.round(rng.uniform(0.5, 1.5), 3)), float(rng.uniform(0.0, 1.0) * (1 + arm.encode()[-1] % 3))


def turns(campaign: Campaign, count: int) -> list[str]:
    """So many asks and tells in turn."""
    named = []
    for _ in range(count):
        pull = asked(campaign)
        named.append(pull.arm)
        campaign.tell(pull, *outcome(pull.id, pull.arm))
    return named


def uniform(counts: Any) -> bool:
    """Whether counts may be those of equally likely outcomes."""
    expected = np.sum(counts) / len(counts)
    return bool(np.sum((np.array(counts) - expected) ** 2) / expected < chi2.isf(FALSE_ALARM, len(counts) - 1))


@pytest.mark.parametrize("seed", [0, 1, 2**53])
def test_the_order_is_drawn_from_the_seed(seed: int) -> None:
    campaign = Campaign(NAMES, 1e3, TOLD, seed=seed)
    assert [pull.arm for pull in campaign.ask_many(7)] == [NAMES[arm] for arm in order_of(seed, 7)]


def test_how_arms_are_listed_does_not_matter() -> None:
    """Each arm is as likely as any other to be opened first; two tests, each with a false-alarm rate of 1e-6."""
    for names in (NAMES, NAMES[::-1]):
        first = [names[order_of(seed, 7)[0]] for seed in range(50)]
        campaigns = (Campaign(names, 10.0, TOLD, seed=seed) for seed in range(300))
        asked = [pull.arm for campaign in campaigns if (pull := campaign.ask())]
        assert asked[:50] == first
        assert uniform([asked.count(name) for name in NAMES])


def test_an_added_arm_takes_a_random_place_among_the_unopened() -> None:
    """Of five places, two arms being open: false-alarm rate 1e-6. The others keep their order."""
    places = []
    for seed in range(500):
        learner = Learner(TOLD, 6, 100.0)
        learner.shuffle(EventRandom(seed, ORDER))
        for arm in learner.memory.order[:2].tolist():
            learner.observe(arm, 1.0, 1.0, EventRandom(seed, 2))
        before = learner.memory.order.tolist()
        learner.widen(EventRandom(seed, 9))
        after = learner.memory.order.tolist()
        places.append(after.index(6))
        assert [arm for arm in after if arm != 6] == before
        assert learner.memory.place[learner.memory.order].tolist() == list(range(7))
    assert set(places) == {2, 3, 4, 5, 6}
    assert uniform(np.bincount(places)[2:])


@pytest.mark.parametrize("policy", ["Thrifty", {"name": "Thrifty", "parameters": {"slope": 0.7, "horizon": "unknown"}}])
def test_a_ledger_gives_the_order_and_the_choices_again(
    policy: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From all events and from a snapshot, after an arm was added, one closed and samples learned from elsewhere."""
    monkeypatch.setattr("outlay.campaign.stores.transaction.EVERY", 25)
    store, whole = f"sqlite:///{tmp_path}/one.db", Campaign(NAMES, 60.0, policy, seed=5)

    def steps(campaign: Campaign, part: int) -> list[str]:
        if part == 1:
            campaign.warm_start([("a3", 20.0, 1.0), ("a1", 30.0, 2.0)], key="k")
        if part == 2:
            campaign.add_arm("late")
            campaign.disable_arm("a2")
        if part == 3:
            campaign.set_budget(80.0)
            campaign.enable_arm("a2")
        return turns(campaign, 12)

    for part in range(4):
        with Campaign(NAMES, 60.0, policy, store, seed=5) if not part else Campaign.open(store) as campaign:
            assert steps(campaign, part) == steps(whole, part)
            assert cast("Any", campaign)._ledger._cached.state.learner.policy == state_of(whole).learner.policy
            assert (
                cast("Any", campaign)._ledger._cached.state.learner.memory.order.tolist()
                == state_of(whole).learner.memory.order.tolist()
            )
    assert verify(store) == verify(store)._replace(problems=(), notes=(), choices_checked=True)
    export_ledger(store, str(tmp_path / "l.ndjson"))
    copy = f"sqlite:///{tmp_path}/two.db"
    import_ledger(copy, str(tmp_path / "l.ndjson"))
    assert verify(copy).ok
    with Campaign.open(copy) as campaign, Campaign.open(store) as first:
        assert turns(campaign, 5) == turns(first, 5)


@pytest.mark.parametrize("policy", [TOLD, UNTOLD], ids=repr)
def test_an_arm_that_is_closed_from_the_start_might_as_well_not_be_there(policy: Any) -> None:
    campaign = Campaign(NAMES, 40.0, policy)
    for name in ("a1", "a4", "a6"):
        campaign.disable_arm(name)
    kept = [i for i in range(7) if i not in (1, 4, 6)]
    other = Campaign([NAMES[i] for i in kept], 40.0, policy)
    memory = state_of(other).learner.memory
    memory.order[:] = [kept.index(arm) for arm in order_of(0, 7) if arm in kept]
    memory.place[:] = np.argsort(memory.order)
    asked = 0
    while (pull := campaign.ask()) and (same := other.ask()):
        assert pull.arm == same.arm
        campaign.tell(pull, *outcome(same.id, pull.arm))
        other.tell(same, *outcome(same.id, same.arm))
        asked += 1
    assert asked > 20
    assert pull is None is other.ask()


def test_samples_from_elsewhere_leave_the_budget_as_it_is() -> None:
    """They cost more than the budget, and yet arms are opened; a policy that is not told knows nothing of it."""
    for policy, told in ((TOLD, 30.0 + 500.0), (UNTOLD, None)):
        campaign = Campaign(NAMES, 30.0, policy)
        campaign.warm_start([("a0", 1.0, 0.5), ("a1", 1.0, 0.4)] * 250)
        assert state_of(campaign).learner.policy.budget == told
        campaign.set_budget(40.0)
        assert state_of(campaign).learner.policy.budget == (told and told + 10.0)
        again = snapshot.load(cast("bytes", snapshot.dump(state_of(campaign))))
        assert again is not None
        assert again.learner is not None
        assert again.learner.policy == state_of(campaign).learner.policy
    told_campaign = Campaign(NAMES, 30.0, TOLD)
    told_campaign.warm_start([("a0", 1.0, 0.5), ("a1", 1.0, 0.4)] * 250)
    assert {"a0", "a1"}.isdisjoint(turns(told_campaign, 3))
    refunded = Campaign(NAMES, 30.0, TOLD)
    refunded.warm_start([("a0", -40.0, 0.5)])
    assert len(set(turns(refunded, 5))) > 1


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_asking_at_once_opens_as_many_arms_in_any_currency(scale: float) -> None:
    names = [f"a{i}" for i in range(400)]
    learner = Learner(TOLD, len(names), 50.0 * scale)
    learner.shuffle(EventRandom(0, ORDER))
    under_way: dict[int, int] = {}
    for _ in range(150):
        arm = learner.choose(range(len(names)), under_way, 0.0, EventRandom(0, 1))
        under_way = under_way | {arm: under_way.get(arm, 0) + 1}
    most = max(m for m in range(1, 150) if 2 * m * math.log(m) <= 1000 - (m - 1))  # a pull taken for a thousandth
    assert len(under_way) == most == 98


class Bare(NamedTuple):
    """A memory that cannot leave arms out."""

    inner: SequentialMoments

    def observe(self, arm: int, cost: float, reward: float) -> None: ...
    def belief(self, arm: int) -> Belief:
        return self.inner.belief(arm)

    def lead(self, arm: int) -> Lead:
        return self.inner.lead(arm)

    def full(self) -> bool:
        return False

    def opened(self) -> int:
        return 0

    def unopened(self) -> int:
        return 0

    def shuffle(self, rng: Any) -> None: ...


class BareThrifty(policies.Thrifty):
    __slots__ = ()

    def memory(self, arms: int) -> Any:
        return Bare(SequentialMoments.empty(arms))


def test_a_memory_that_cannot_leave_arms_out_is_refused_at_once() -> None:
    with pytest.raises(BadParameter, match="one whose memory has a method subset"):
        Campaign(NAMES, 10.0, BareThrifty())
