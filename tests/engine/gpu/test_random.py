"""The random numbers of the GPU, on the CPU: each verb has its law, each run its own stream."""

import math

import numpy as np
import pytest
from scipy import stats

from outlay.engine.gpu.philox import Philox, philox


class TestStream:
    def test_the_published_examples_of_the_cipher(self):
        def words(*numbers: int) -> list[int]:
            return [int(word) for word in philox(*map(np.uint64, numbers))]

        full = 2**64 - 1
        assert words(0, 0, 0) == [0xE169C58D6627E8D5, 0x9B00DBD8BC57AC4C]
        assert words(full, full, full) == [0x41C83B0E408F276D, 0x6D5451FDA20BC7C6]
        pi = 0x85A308D3243F6A88, 0x0370734413198A2E, 0x299F31D0A4093822
        assert words(*pi) == [0x94FDCCEBD16CFE09, 0x24126EA15001E420]

    @pytest.mark.parametrize(
        ("verb", "arguments", "law"),
        [
            ("random", (), stats.uniform()),
            ("standard_normal", (), stats.norm()),
            ("standard_exponential", (), stats.expon()),
            ("standard_gamma", (2.5,), stats.gamma(2.5)),
            ("standard_gamma", (0.3,), stats.gamma(0.3)),
            ("normal", (1.0, 2.0), stats.norm(1.0, 2.0)),
            ("uniform", (1.0, 3.0), stats.uniform(1.0, 2.0)),
            ("exponential", (2.0,), stats.expon(scale=2.0)),
            ("gamma", (1.5, 2.0), stats.gamma(1.5, scale=2.0)),
            ("beta", (2.0, 0.5), stats.beta(2.0, 0.5)),
            ("beta", (0.5, 0.7), stats.beta(0.5, 0.7)),
        ],
    )
    def test_each_verb_has_its_law(self, verb, arguments, law):
        # Fixed seed: either always passes or never; a wrong law would pass once in ten thousand.
        stream = Philox.of(seed=1, run=2)
        assert stats.kstest([getattr(stream, verb)(*arguments) for _ in range(4000)], law.cdf).pvalue > 1e-4

    def test_whole_numbers(self):
        stream = Philox.of(seed=1, run=2)
        assert {stream.integers(3, 6) for _ in range(200)} == {3, 4, 5}

    def test_runs_are_independent_and_depend_on_seed_and_number_alone(self):
        draws = {(seed, run): Philox.of(seed, run) for seed in (0, 1) for run in (0, 1, 2**40)}
        rows = np.array([[stream.standard_normal() for _ in range(3000)] for stream in draws.values()])
        again = Philox.of(1, 1)
        assert rows[list(draws).index((1, 1))].tolist() == [again.standard_normal() for _ in range(3000)]
        correlations = np.corrcoef(rows)[np.triu_indices(len(rows), 1)]
        assert np.abs(correlations).max() < 4.5 / math.sqrt(3000)  # 15 pairs: a false alarm once in ten thousand

    def test_shapes_that_are_not_positive_numbers(self):
        stream = Philox.of(seed=1, run=2)
        shapes = (-1.0, 0.0, math.inf, math.nan)
        assert [stream.standard_gamma(shape) for shape in shapes[:3]] == [0.0, 0.0, math.inf]
        assert math.isnan(stream.standard_gamma(math.nan))
        assert all(math.isnan(stream.beta(a, b)) for a in shapes for b in (*shapes, 0.5, 2.0))
        assert math.isnan(stream.beta(5e-324, 5e-324))
