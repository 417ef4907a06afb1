"""The memory of open arms: whatever happened, it is what the samples and the order say."""

from typing import Any

import numpy as np
import pytest

from outlay.beliefs import Sample, SequentialMoments

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
