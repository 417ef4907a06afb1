"""Generators in bulk: numpy's states, bit for bit, and one generator that serves run after run."""

from typing import Any

import numpy as np
import pytest

from outlay.engine import bulk_random as streams
from outlay.engine.bulk_random import SharedGenerator, can_open, seeded

SEEDS = [0, 1, 7, 2**31, 2**32 - 1, 2**32, 2**40 + 5, 2**64 - 1, 2**64, 2**96 + 1, 2**127, 2**128 - 1, 2**128,
         2**128 + 17, 2**160 - 1, 2**200, 2**300 + 12345]  # fmt: skip
RUNS = [0, 1, 2, 1000, 2**31, 2**32 - 2, 2**32, 2**33 + 1, 2**40, 2**62]


def numpys(seed: int, run: int) -> np.random.Generator:
    """The slow, obvious twin."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run,)))


def state_of(words: Any) -> tuple[int, int]:
    low, high, step_low, step_high = map(int, words)
    return high << 64 | low, step_high << 64 | step_low


@pytest.mark.parametrize("seed", SEEDS)
def test_states_are_those_that_numpy_starts_from(seed: int) -> None:
    for first in RUNS:
        for run, words in enumerate(seeded(seed, first, 5), first):
            state = numpys(seed, run).bit_generator.state["state"]
            assert state_of(words) == (state["state"], state["inc"])


def draws(rng: np.random.Generator) -> list[Any]:
    """Of every kind; an odd number of those of 32 bits, so that half of a draw is left over."""
    return [
        rng.random(),
        rng.standard_normal(3).tolist(),
        rng.integers(0, 9, size=3, dtype=np.uint32).tolist(),
        rng.standard_exponential(),
        rng.binomial(20, 0.3),
        rng.standard_gamma(0.7),
        rng.integers(0, 5),
    ]


def test_one_generator_serves_run_after_run() -> None:
    assert can_open(), "else every run is played with a generator of its own"
    opened = SharedGenerator.make()
    for seed, first in ((0, 0), (2**128 + 3, 2**32 - 2), (9, 5)):
        for run, words in enumerate(seeded(seed, first, 4), first):
            opened.state[:], opened.spare[0] = words, 0
            expected = numpys(seed, run)
            assert draws(opened.rng) == draws(expected)
            assert opened.rng.bit_generator.state == expected.bit_generator.state


def test_a_state_that_is_not_where_it_was_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another numpy may keep it elsewhere, or in another order."""
    look = streams._memory
    for wrong in (
        lambda address, words: look(address, words).copy(),  # what is written there has no effect
        lambda address, words: look(address, words)[::-1],  # the words are swapped
    ):
        monkeypatch.setattr(streams, "_memory", wrong)
        can_open.cache_clear()
        assert not can_open()
    monkeypatch.undo()
    can_open.cache_clear()
    assert can_open()
