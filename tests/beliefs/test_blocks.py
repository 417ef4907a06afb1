"""Block medians against a literal partition of the samples; the memory's pages, growth and cache."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlay.beliefs import Blocks, block_medians

Samples = list[tuple[float, float]]


def literal_medians(samples: Samples, groups: int, min_cost: float) -> tuple[float, float]:
    """Straight from the definition: cut, average exactly, take medians."""
    size = len(samples) // groups
    rates, costs = [], []
    for j in range(groups):
        block = samples[j * size : (j + 1) * size]
        cost = float(sum(Fraction(x) for x, _ in block) / size)
        reward = float(sum(Fraction(r) for _, r in block) / size)
        costs.append(cost)
        rates.append(max(0.0, reward) / max(min_cost, cost))
    return float(np.median(rates)), float(np.median(costs))


def stored(samples: Samples, blocks: Blocks, arm: int = 0) -> Blocks:
    for cost, reward in samples:
        if blocks.full():
            blocks = blocks.enlarged()
        blocks.observe(arm, cost, reward)
    return blocks


def copied(blocks: Blocks) -> Blocks:
    arrays: list[Any] = [np.array(array) for array in blocks]
    return Blocks(*arrays)


def same(one: Blocks, other: Blocks) -> bool:
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in zip(one, other, strict=True))


@given(st.integers(1, 700), st.integers(1, 40), st.integers(0, 2**32))
@settings(max_examples=150)
def test_medians_are_those_of_a_literal_partition(pulls: int, groups: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples = list(zip(*rng.normal((1.0, 0.5), 1.0, size=(pulls, 2)).T.tolist(), strict=True))
    belief = stored(samples, Blocks.empty(1)).belief(0)
    got = block_medians(belief, groups, 0.1)
    assert got == pytest.approx(literal_medians(samples, groups, 0.1) if groups <= pulls else (0.0, 0.0), rel=1e-11)


def test_arms_in_turn_growth_and_moving_stretches() -> None:
    """Arms of very different pulls share the pool; the busiest moves its stretch of the table several times."""
    rng = np.random.default_rng(2)
    blocks = Blocks.empty(4)
    samples: list[Samples] = [[], [], [], []]
    grown = 0
    for _ in range(6000):
        arm = int(rng.choice(4, p=[0.9, 0.08, 0.02, 0.0]))
        cost, reward = 1e3 + rng.normal(), rng.standard_t(2.5)
        samples[arm].append((cost, reward))
        if blocks.full():
            blocks, grown = blocks.enlarged(), grown + 1
        blocks.observe(arm, cost, reward)
    assert grown >= 2
    assert blocks.belief(3).pulls == 0
    assert block_medians(blocks.belief(3), 1, 0.1) == (0.0, 0.0)
    for arm in range(3):
        belief = blocks.belief(arm)
        assert belief.pulls == len(samples[arm])
        for groups in (1, 2, 7, 64, 65):
            expected = literal_medians(samples[arm], groups, 0.1)
            assert block_medians(belief, groups, 0.1) == pytest.approx(expected, rel=1e-11)


def test_full_means_the_next_page_is_missing() -> None:
    blocks = Blocks.empty(3)
    pages = len(blocks.pages)
    stored([(1.0, 1.0)] * (64 * (pages - 1)), blocks, arm=2)
    assert not blocks.full()
    blocks.observe(2, 1.0, 1.0)
    assert blocks.full()
    before = copied(blocks)
    larger = blocks.enlarged()
    assert not larger.full()
    assert larger.belief(2).pulls == blocks.belief(2).pulls
    with pytest.raises(IndexError, match=r"full: go on with memory\.enlarged\(\)"):
        blocks.observe(0, 1.0, 1.0)
    larger.observe(0, 5.0, 5.0)
    assert same(blocks, before)


def test_more_groups_than_the_memory_was_made_for_write_nothing() -> None:
    blocks = stored([(1.0, 1.0)] * 100, Blocks.empty(1, groups=10))
    assert blocks.scratch.shape == (2, 10)
    assert block_medians(blocks.belief(0), 11, 0.1) == (0.0, 0.0)
    assert block_medians(blocks.belief(0), 10, 0.1) == (1.0, 1.0)
