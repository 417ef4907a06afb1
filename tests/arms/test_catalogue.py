"""The catalogue: every problem loads, survives its file, and is hard in the way it says."""

from typing import Any

import numpy as np
import pytest

from outlay.arms import Problem, catalogue, tails_of
from outlay.errors import BadParameter


@pytest.mark.parametrize("name", catalogue.names())
def test_every_problem_loads_the_same_twice_and_round_trips(name):
    problem = catalogue.load(name)
    assert problem == catalogue.load(name)
    assert Problem.from_toml(problem.to_toml()) == problem
    assert catalogue.describe(name).strip()
    assert "\n" not in catalogue.describe(name)
    assert problem.rate > 0


NO_NAMES: list[Any] = [[], None, np.array(["G", "H"])]


def test_unknown_names_are_refused_with_the_known_ones():
    for function in (catalogue.load, catalogue.describe):
        with pytest.raises(BadParameter, match=r"must be one of G, H, gaussian5, .*; got 'g'"):
            function("g")
        for name in NO_NAMES:
            with pytest.raises(BadParameter, match=r"must be one of G, H, "):
                function(name)


def test_heavy_tails_have_a_little_more_than_two_moments():
    tails = np.array([tails_of(law) for law in catalogue.load("heavy-tails").arms])
    assert tails.min() > 2
    assert np.isfinite(tails).sum() >= 6
    assert tails[np.isfinite(tails)].max() <= 3


def test_negative_costs_are_common(draw_many):
    for law in catalogue.load("negative-costs").arms:
        cost = draw_many(law, np.random.default_rng(0), 20_000)[:, 0]
        assert (cost < 0).mean() > 0.2
