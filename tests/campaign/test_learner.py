"""What a campaign's policy learns and chooses: corrections, added arms, pulls under way, arms opened one by one."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from outlay import Campaign, policies
from outlay.beliefs import Blocks, HullMoments, Moments, PooledMoments, Samples, block_medians, block_rate
from outlay.beliefs.samples import START
from outlay.campaign.ledger.learner import EventRandom, Learner
from outlay.formulas.argmax import Now, best_by_excess, leader_of, log_of, number
from outlay.policies import Ration
from outlay.policies import baselines as b
from outlay.policies.protocol import memory_of, method_of, with_limits
from tests.campaign.busy import asked
from tests.campaign.test_shortcut import opened

MAKERS: dict[str, Any] = {
    "moments": Moments.empty,
    "pooled": lambda arms: PooledMoments.empty(arms, keep=20),
    "blocks": lambda arms: Blocks.empty(arms, groups=64),
    "samples": Samples.empty,
    "coins": b.BTS().memory,
    "truncated": b.RobustUCBTruncated(4.0, 4.0).memory,
}
POLICIES = [
    policies.UCBB1(0.01, 0.01, 0.0), policies.UCBB2(0.1, 0.1), policies.UCBM1(1e-4, 1e-4, 0.0), policies.RoundRobin(),
    policies.Fieller(), policies.BernsteinRate(2.0, 2.0, 0.25), policies.MedianRate(0.5), policies.CatoniRate(0.5),
    policies.KLRate(), policies.KLRate("one", "sample"), policies.Frugal(), b.OmegaUCB(), b.UCBBV2(),
    b.RobustUCBTruncated(1.0, 1.0), b.RobustUCBMedian(1e-3, 1e-3), b.PDBwK(), b.EpsilonFirst(0.5),
]  # fmt: skip
BY_CHANCE = [b.BTS(2.0, 2.0), b.GaussianThompson(), b.BGreedy(), b.KUBE(2.0, budget=50.0)]
ARMS = 5

Pairs = list[list[tuple[float, float]]]


def observed(memory: Any, arm: int, pair: Any) -> Any:
    memory.observe(arm, *pair)
    return memory.enlarged() if memory.full() else memory


def known(memory: Any, arm: int) -> Any:
    """What a policy can read of an arm, as numbers."""
    belief = memory.belief(arm)
    if isinstance(memory, Samples):
        start = memory.arms[arm, START]
        return memory.pool[start : start + belief.pulls].tolist()
    if isinstance(memory, Blocks):
        groups = [groups for groups in (1, 2, 3, 7, 50, 64) if groups <= belief.pulls]
        return [belief.pulls, *((block_medians(belief, m, 1e-12), block_rate(belief, m, 1)) for m in groups)]
    if isinstance(memory, PooledMoments):
        kept = memory.pairs[arm, : min(belief.pulls, memory.pairs.shape[1])].tolist()
        lead = memory.lead(arm) if memory.stats[-1, 0] else ()
        return [*belief[:-1], kept, *lead]
    return list(belief)


def flat(value: Any) -> list[float]:
    return [x for part in value for x in flat(part)] if isinstance(value, (list, tuple)) else [float(value)]


def numbers_of(memory: Any, arms: int) -> NDArray[np.float64]:
    return np.array(flat([known(memory, arm) for arm in range(arms)]))


@pytest.mark.parametrize("name", ["moments", "pooled", "blocks", "samples"])
@pytest.mark.parametrize("seed", range(4))
def test_revising_is_learning_the_right_samples_from_the_start(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scale = float(rng.choice([1e-6, 1.0, 1e6]))
    arms, memory = 3, MAKERS[name](3)
    pairs: Pairs = [[] for _ in range(arms)]
    for step in range(400):
        arm = int(rng.choice(arms, p=[0.6, 0.3, 0.1]))
        pair = tuple((scale * (1.0 + 0.3 * rng.standard_normal(2))).tolist())
        if step % 3 and pairs[arm]:
            place = int(rng.integers(len(pairs[arm])))
            memory.revise(arm, place, pairs[arm][place], pair)
            pairs[arm][place] = pair
        else:
            memory = observed(memory, arm, pair)
            pairs[arm].append(pair)
        if isinstance(memory, Blocks) and step % 20 == 0:
            known(memory, arm)  # so that there is something remembered to forget
    fresh = MAKERS[name](arms)
    for arm in range(arms):
        for pair in pairs[arm]:
            fresh = observed(fresh, arm, pair)
    if isinstance(memory, PooledMoments):
        low, high = memory.extremes[1:3]
        assert low <= fresh.extremes[1] <= fresh.extremes[2] <= high  # they remember what was corrected
        fresh.extremes[:] = memory.extremes
    np.testing.assert_allclose(numbers_of(memory, arms), numbers_of(fresh, arms), rtol=1e-9, atol=1e-12 * scale**2)


@pytest.mark.parametrize("name", MAKERS)
def test_an_arm_that_is_added_was_there_all_along(name: str) -> None:
    rng = np.random.default_rng(3)
    memory, samples = MAKERS[name](1), list[Any]()
    for arms in (1, 2, 3):
        for _ in range(700):
            samples.append((int(rng.integers(arms)), rng.uniform(0.5, 1.5, 2).tolist()))
            memory = observed(memory, *samples[-1])
        fresh = MAKERS[name](arms)
        for sample in samples:
            fresh = observed(fresh, *sample)
        assert numbers_of(memory, arms).tolist() == numbers_of(fresh, arms).tolist()
        wider = memory.with_new_arm()
        assert wider.belief(arms).pulls == 0
        observed(wider, arms, (0.0, 9.0))
        assert numbers_of(memory, arms).tolist() == numbers_of(fresh, arms).tolist()  # the old one is left alone
        memory = memory.with_new_arm()


def taught(policy: Any, samples: int, arms: int = ARMS) -> tuple[Learner, Any, NDArray[np.float64]]:
    """A learner, a memory of the same samples, and each arm's mean cost and reward."""
    rng = np.random.default_rng(samples)
    learner, memory = Learner(policy, arms, 50.0), memory_of(policy, arms)
    totals = np.zeros((arms, 3))
    means = np.array([[1.0, 0.9], [0.8, 0.9], [1.2, 1.3], [0.6, 0.55], [1.0, 1.02]])
    for n in range(samples):
        arm = n % arms
        cost, reward = (means[arm] + 0.05 * rng.standard_normal(2)).tolist()
        learner.observe(arm, cost, reward, EventRandom(0, n))
        memory = observed(memory, arm, (cost, reward))
        totals[arm] += 1.0, cost, reward
    return learner, memory, totals[:, 1:] / np.maximum(totals[:, :1], 1.0)


def full_scan(policy: Any, memory: Any, pulls: NDArray[np.int64], spent: float) -> int:
    """The arm that a policy names, every arm looked at."""
    n = int(pulls.sum())
    if method_of(policy) == "excess":
        return best_by_excess(policy, memory, pulls)
    if method_of(policy) == "choose":
        return int(policy.choose(memory, Now(n, log_of(n), spent), None))
    scores = [number(policy.score(memory.belief(arm), log_of(n))) for arm in range(len(pulls))]
    return max(range(len(pulls)), key=lambda arm: (scores[arm], -pulls[arm], -arm))


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_asking_many_at_once_is_pulling_them_at_their_means(policy: Any) -> None:
    learner, memory, means = taught(policy, 60)
    in_flight, pulls = Counter[int](), np.full(ARMS, 12)
    for _ in range(200):
        arm = learner.choose(range(ARMS), opened(in_flight), 10.0, EventRandom(0, 1))
        assert arm == full_scan(with_limits(policy, 50.0), memory, pulls, 10.0)
        in_flight[arm] += 1
        pulls[arm] += 1
        memory = observed(memory, arm, means[arm])
    assert len(in_flight) > 1
    assert learner.pulls.tolist() == [12] * ARMS  # nothing of it was learned


@pytest.mark.parametrize("policy", [*POLICIES, *BY_CHANCE], ids=repr)
def test_a_hundred_asks_before_the_first_tell_spread_over_the_arms(policy: Any) -> None:
    learner, in_flight = Learner(policy, ARMS, 50.0), Counter[int]()
    for n in range(100):
        in_flight[learner.choose(range(ARMS), opened(in_flight), 0.0, EventRandom(0, n))] += 1
    assert min(in_flight[arm] for arm in range(ARMS)) >= (8 if policy in BY_CHANCE else 20)


@pytest.mark.parametrize("policy", [*POLICIES, *BY_CHANCE, policies.Fixed(4)], ids=repr)
@pytest.mark.parametrize("samples", [0, 3, 60, 400])
def test_only_open_arms_are_named(policy: Any, samples: int) -> None:
    learner, memory, _ = taught(policy, samples)
    pulls = learner.pulls.copy()
    for in_flight in ({}, {1: 1, 2: 2, 3: 3}):
        free = learner.choose(range(ARMS), opened(in_flight), 3.0, EventRandom(0, 7))
        for open_arms in ([0], [4], [1, 3], [0, 2, 4], [0, 1, 2, 3]):
            arm = learner.choose(open_arms, opened(in_flight), 3.0, EventRandom(0, 7))
            assert arm in open_arms
            if free in open_arms and method_of(policy) in ("score", "choose"):
                assert arm == free
            if method_of(policy) == "excess" and samples and not in_flight:
                leader, _ = leader_of(memory, pulls)
                assert arm == free or not {free, leader} <= set(open_arms)
    assert learner.pulls.tolist() == pulls.tolist()


def test_a_choice_that_is_not_open_gives_way_to_the_best_rate() -> None:
    learner = Learner(policies.Fixed(0), 4, 50.0)
    for arm, reward in ((0, 9.0), (1, 1.0), (2, 3.0), (3, 2.0)):
        learner.observe(arm, 1.0, reward, EventRandom(0, arm))
    assert [learner.choose(arms, {}, 0.0, EventRandom(0, 9)) for arms in ([0, 1], [1, 3], [1, 2, 3])] == [0, 3, 2]


@pytest.mark.parametrize("policy", [b.BTS(), b.RobustUCBTruncated(1.0, 1.0)], ids=repr)
def test_a_memory_that_cannot_revise_keeps_the_first(policy: Any) -> None:
    learner = Learner(policy, 2, 50.0)
    learner.observe(0, 0.25, 0.5, EventRandom(0, 2))
    before = list(learner.memory.belief(0))
    learner.revise(0, 0, (0.25, 0.5), (0.75, 0.125))
    assert list(learner.memory.belief(0)) == before
    assert learner.totals[0].tolist() == [0.75, 0.125]


class Lists(NamedTuple):
    samples: list[tuple[int, float, float]]

    def observe(self, *sample: Any) -> None:
        self.samples.append(sample)

    def belief(self, arm: int) -> int:
        return sum(sample[0] == arm for sample in self.samples)

    def full(self) -> bool:
        return False


class Fewest(NamedTuple):
    def memory(self, arms: int) -> Lists:
        return Lists([])

    def score(self, belief: int, log_n: float) -> float:
        return -float(belief)


def test_what_is_imagined_is_forgotten_whatever_the_memory_is_made_of() -> None:
    learner = Learner(Fewest(), 2, 9.0)
    assert [learner.choose([0, 1], opened(flying), 0.0, EventRandom(0, 1)) for flying in ({0: 3}, {1: 3})] == [1, 0]
    assert learner.memory.samples == []


FALSE_ALARM = 1e-6  # of each chi-square test
NAMES = [f"a{i}" for i in range(7)]
THRIFTY = policies.Thrifty()


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


def test_how_arms_are_listed_does_not_matter() -> None:
    """Each arm is as likely as any other to be opened first; two tests, each with a false-alarm rate of 1e-6."""
    for names in (NAMES, NAMES[::-1]):
        first = [names[order_of(seed, 7)[0]] for seed in range(50)]
        campaigns = (Campaign(names, 10.0, THRIFTY, seed=seed) for seed in range(300))
        named = [pull.arm for campaign in campaigns if (pull := campaign.ask())]
        assert named[:50] == first
        assert uniform([named.count(name) for name in NAMES])


def test_samples_from_elsewhere_leave_the_budget_as_it_is() -> None:
    """They cost more than the budget, and yet arms are opened."""
    told_campaign = Campaign(NAMES, 30.0, THRIFTY)
    told_campaign.warm_start([("a0", 1.0, 0.5), ("a1", 1.0, 0.4)] * 250)
    assert {"a0", "a1"}.isdisjoint(turns(told_campaign, 3))
    refunded = Campaign(NAMES, 30.0, THRIFTY)
    refunded.warm_start([("a0", -40.0, 0.5)])
    assert len(set(turns(refunded, 5))) > 1


PRICES = [(0.1, 0.3), (0.4, 0.6), (1.0, 0.9)]


def test_pulls_under_way_count_as_made() -> None:
    """A hundred asks at once are mixed as a hundred pulls would be, and nothing of that is learned."""
    learner, stream, under_way = Learner(Ration(requests=400), 3, 100.0), EventRandom(1, 0), dict[int, int]()
    for arm, (cost, reward) in enumerate(PRICES):
        for _ in range(20):
            learner.observe(arm, cost, reward, stream)
    spent = 20 * sum(cost for cost, _ in PRICES)
    before = learner.memory.costs.copy(), learner.memory.pulls.copy()
    for n in range(60, 160):
        arm = learner.choose([0, 1, 2], opened(under_way), spent, stream, n)
        under_way[arm] = under_way.get(arm, 0) + 1
    assert isinstance(learner.memory, HullMoments)
    assert all(np.array_equal(one, other) for one, other in zip(before, learner.memory[2:0:-1], strict=True))
    assert under_way.get(0, 0) > 20
    assert under_way.get(1, 0) > 20


@pytest.mark.parametrize(("closed", "money", "expected"), [(2, 70.0, {1}), (1, 25.0, {0, 2}), (0, 25.0, {1})])
def test_what_is_left_is_shared_out_among_arms_that_are_open(closed: int, money: float, expected: set[int]) -> None:
    """Not what the best rate of them would do: with 0.7 for each request and the dearest arm closed, the middle one."""
    learner, stream = Learner(Ration(requests=400), 3, money + 60.0), EventRandom(1, 0)
    for arm, (cost, reward) in enumerate(PRICES):
        for _ in range(100):
            learner.observe(arm, cost, reward, stream)
    chosen, spent = set(), 60.0
    for n in range(300, 400):
        arm = learner.choose([arm for arm in range(3) if arm != closed], {}, spent, stream, n)
        learner.observe(arm, *PRICES[arm], stream)
        spent += PRICES[arm][0]
        chosen.add(arm)
    assert chosen == expected
