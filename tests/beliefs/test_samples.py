"""The memory of all samples: what was put in lies there in order, whatever moved and grew in between."""

import numpy as np
import pytest
from tests.beliefs.compiled import compiled

from outlay.beliefs import Samples
from outlay.beliefs.samples import START


def stored(memory: Samples, arm: int) -> list[list[float]]:
    start = memory.arms[arm, START]
    pairs: list[list[float]] = memory.pool[start : start + memory.belief(arm).pulls].tolist()
    return pairs


@pytest.mark.parametrize("arms", [1, 2, 30])
def test_samples_survive_moving_and_growing(arms: int) -> None:
    rng = np.random.default_rng(arms)
    memory, observe, grew = Samples.empty(arms), compiled(Samples.observe), 0
    expected: list[list[list[float]]] = [[] for _ in range(arms)]
    often = rng.dirichlet(np.full(arms, 0.3))
    for n in range(5000):
        if memory.full():
            memory, grew = memory.enlarged(), grew + 1
        arm, pair = int(rng.choice(arms, p=often)), rng.normal(size=2).tolist()
        expected[arm].append(pair)
        (observe if n % 2 else Samples.observe)(memory, arm, *pair)
    assert 3 < grew < 40
    assert [stored(memory, arm) for arm in range(arms)] == expected
    assert [memory.belief(arm).pulls for arm in range(arms)] == [len(pairs) for pairs in expected]


def test_a_full_memory_refuses() -> None:
    memory = Samples.empty(1)
    while not memory.full():
        memory.observe(0, 1.0, 2.0)
    with pytest.raises(IndexError, match=r"go on with memory\.enlarged\(\)"):
        memory.observe(0, 1.0, 2.0)
    grown = memory.enlarged()
    assert not grown.full()
    assert stored(grown, 0) == stored(memory, 0)
