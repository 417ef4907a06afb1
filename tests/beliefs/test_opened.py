"""The memories of open arms and of points: whatever happened, they are what the samples and the order say."""

import math
from typing import Any

import numpy as np
import pytest

from outlay.beliefs import HullMoments, Sample, SequentialMoments
from outlay.beliefs.sequential import points_among

Samples = list[list[Sample]]  # of each arm


def assert_recomputed(memory: SequentialMoments, samples: Samples) -> None:
    """Against the samples themselves; and the order has every arm, the open ones first."""
    arms, opened = len(samples), [arm for arm in range(len(samples)) if samples[arm]]
    assert memory.opened() == len(opened)
    assert sorted(memory.order.tolist()) == list(range(arms))
    assert memory.place[memory.order].tolist() == list(range(arms))
    assert set(memory.order[: len(opened)].tolist()) == set(opened)
    assert memory.unopened() == (memory.order[len(opened)] if len(opened) < arms else arms)
    for arm in range(arms):
        assert memory.belief(arm).pulls == len(samples[arm])
    if not opened:
        return
    means = np.array([np.mean(samples[arm], axis=0) for arm in opened])
    assert memory.usual.tolist() == pytest.approx(means.sum(0).tolist(), rel=1e-9, abs=1e-9)
    everything = np.array([pair for pairs in samples for pair in pairs])
    for arm in opened:
        belief, mine = memory.belief(arm), np.array(samples[arm])
        found = belief.mean_cost, belief.mean_reward, belief.var_cost, belief.var_reward, belief.cov
        moments = *mine.mean(0), *mine.var(0), np.mean(np.prod(mine - mine.mean(0), axis=1))
        assert found == pytest.approx(moments, rel=1e-9, abs=1e-9)
        lead = memory.lead(arm)
        assert (lead.arms, lead.opened) == (arms, len(opened))
        price = means[:, 0].mean()
        assert lead.spent == pytest.approx(everything[:, 0].sum(), rel=1e-9)
        assert lead.usual_price == pytest.approx(price, rel=1e-9)
        assert lead.usual_rate == pytest.approx(means[:, 1].mean() / price, rel=1e-9, abs=1e-9)
        assert lead.size == pytest.approx(np.mean(everything[:, 1] ** 2), rel=1e-9)
        spread = np.var(everything[:, 1] - lead.rate * everything[:, 0])
        assert lead.spread == pytest.approx(spread, rel=1e-9, abs=1e-9)


def drawn(rng: np.random.Generator) -> Sample:
    return rng.uniform(0.5, 3.0), rng.normal()


@pytest.mark.parametrize("seed", range(6))
def test_everything_that_can_happen_against_the_samples(seed: int) -> None:
    """Samples one by one, many alike, corrections, and new arms, in any order."""
    rng = np.random.default_rng(seed)
    memory, samples = SequentialMoments.empty(1 + 4 * seed), [[] for _ in range(1 + 4 * seed)]  # type: tuple[SequentialMoments, Samples]
    if seed % 2:
        memory.shuffle(rng)
    for n in range(300):
        kind, arm, new = rng.random(), int(rng.integers(len(samples))), drawn(rng)
        if kind < 0.6:
            memory.observe(arm, *new)
            samples[arm].append(new)
        elif kind < 0.75:
            count = int(rng.integers(1, 9))
            memory.add_expected(arm, count, *new)
            samples[arm] += [new] * count
        elif kind < 0.9 and samples[arm]:
            place = int(rng.integers(len(samples[arm])))
            memory.revise(arm, place, samples[arm][place], new)
            samples[arm][place] = new
        elif kind > 0.97:
            memory = widened(memory, rng)
            samples.append([])
        if n % 10 == 0:
            assert_recomputed(memory, samples)
    assert_recomputed(memory, samples)
    assert memory.full() is False


def widened(memory: SequentialMoments, rng: np.random.Generator) -> SequentialMoments:
    """The new arm is last, and then anywhere among those that are not open; the others keep their order."""
    before = memory.order.tolist()
    wider = memory.with_new_arm()
    assert wider.order.tolist() == [*before, len(before)]
    wider.insert_at_random(rng)
    after = wider.order.tolist()
    assert after.index(len(before)) >= memory.opened()
    assert [arm for arm in after if arm < len(before)] == before == memory.order.tolist()
    return wider


def test_extremes_are_those_of_samples_and_corrections_and_of_the_first_that_is_imagined() -> None:
    memory = SequentialMoments.empty(3)
    memory.add_expected(2, 4, 2.0, 5.0)
    assert memory.extremes.tolist() == [5.0, 2.0, 2.0]
    memory.add_expected(0, 2, 9.0, 9.0)
    assert memory.extremes.tolist() == [5.0, 2.0, 2.0]
    memory.observe(1, -1.0, 3.0)
    assert memory.extremes.tolist() == [5.0, -1.0, 2.0]
    memory.revise(1, 0, (-1.0, 3.0), (4.0, 6.0))
    assert memory.extremes.tolist() == [6.0, -1.0, 4.0]


def test_the_usual_price_where_costs_come_to_nothing() -> None:
    memory = SequentialMoments.empty(3)
    memory.observe(0, 0.0, 1.0)
    assert memory.lead(0).usual_price == 1e-300
    memory.observe(1, -4.0, 3.0)
    memory.observe(1, 2.0, 3.0)
    assert (memory.lead(0).usual_price, memory.lead(0).usual_rate) == (4.0, 0.5)


def test_all_orders_are_equally_likely() -> None:
    """The 24 orders of four arms, drawn 4800 times, with one arm that is open before; χ² at 1e-4 each."""
    orders: dict[Any, int] = {}
    late: dict[Any, int] = {}
    dealt = np.zeros(5, np.int64)
    rng = np.random.default_rng(2)
    for _ in range(4800):
        memory = SequentialMoments.empty(4)
        memory.shuffle(rng)
        orders[tuple(memory.order)] = orders.get(tuple(memory.order), 0) + 1
        memory = SequentialMoments.empty(4)
        memory.observe(2, 1.0, 1.0)
        memory.shuffle(rng)
        assert memory.order[0] == 2
        late[tuple(memory.order)] = late.get(tuple(memory.order), 0) + 1
        memory = memory.with_new_arm()
        memory.insert_at_random(rng)
        dealt[memory.place[4]] += 1
    assert dealt[0] == 0
    # The 99.99 % quantiles of χ² with 23, 5 and 3 degrees of freedom.
    for counts, kinds, limit in (([*orders.values()], 24, 57.1), ([*late.values()], 6, 25.7), (dealt[1:], 4, 21.1)):
        assert len(counts) == kinds
        expected = 4800 / kinds
        assert sum((count - expected) ** 2 / expected for count in counts) < limit


@pytest.mark.parametrize("told", [False, True])
def test_points_against_the_samples(told: bool) -> None:
    """Samples one by one, many alike, corrections, and a new arm."""
    rng = np.random.default_rng(3)
    costs = [2.0, 0.5, 1.0]
    memory = HullMoments.empty(3, costs if told else ())
    memory.shuffle(rng)
    assert not told or memory.arms.order.tolist() == [1, 2, 0]
    samples: list[list[Sample]] = [[], [], []]
    for n in range(200):
        arm, new = int(rng.integers(len(samples))), (rng.uniform(0.5, 3.0), rng.normal())
        if n == 100:
            memory, costs, samples = memory.with_new_arm(), [*costs, math.nan], [*samples, []]
        elif n % 3 == 0 and samples[arm]:
            memory.revise(arm, 0, samples[arm][0], new)
            samples[arm][0] = new
        elif n % 3 == 1:
            memory.add_expected(arm, 3, *new)
            samples[arm] += [new] * 3
        else:
            memory.observe(arm, *new)
            samples[arm].append(new)
        for k, mine in enumerate(samples):
            known = told and not math.isnan(costs[k])
            cost, reward = np.mean(mine, axis=0) if mine else (0.0, -math.inf)
            expected = len(mine), costs[k] if known else cost, reward
            assert (memory.pulls[k], memory.costs[k], memory.rewards[k]) == pytest.approx(expected, abs=1e-9)
            assert not mine or memory.belief(k).mean_cost == memory.costs[k]
    assert memory.opened() == 4
    assert not memory.full()


def test_some_points_are_those_of_a_memory_that_has_no_others() -> None:
    """But for all pulls together and the extremes, which are those of every arm; the order is kept."""
    rng, costs = np.random.default_rng(5), [math.nan, 0.7, math.nan, 1.5, math.nan]
    memory, some = HullMoments.empty(5, costs, 20), np.array([0, 1, 4])
    memory.arms.order[:], memory.arms.place[:] = [3, 4, 1, 0, 2], [3, 2, 4, 0, 1]
    alone = HullMoments.empty(3, [costs[k] for k in some], 20)
    for n in range(60):
        arm, cost, reward = int(rng.integers(4)), float(rng.integers(2)) if n else 1.0, rng.normal()
        memory.observe(arm, cost, reward)
        if arm in some:
            alone.observe(int(np.flatnonzero(some == arm)[0]), cost, reward)
        narrow = points_among(memory, some)
        for one, other in zip(narrow[1:5], alone[1:5], strict=True):
            assert np.array_equal(one, other, equal_nan=True)
        assert [narrow.belief(k) for k in range(3)] == [alone.belief(k) for k in range(3)]
        assert some[narrow.arms.order].tolist() == [k for k in memory.arms.order if k in some]
        assert np.array_equal(narrow.arms.place[narrow.arms.order], np.arange(3))
        waiting = [k for k in memory.arms.order if k in some and memory.pulls[k] == 0]
        assert (narrow.opened(), some[narrow.unopened()]) == (3 - len(waiting), waiting[0])
        assert narrow.arms.usual == pytest.approx(alone.arms.usual)
        assert np.array_equal(narrow.arms.stats[-1], memory.arms.stats[-1])
        assert np.array_equal(narrow.arms.extremes, memory.arms.extremes)
