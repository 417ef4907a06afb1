"""What a budget and requests can bring: the numbers, the words and the table."""

import math

import numpy as np
import pytest

from outlay.arms import Bernoulli, Constant, Gamma, Pareto, Problem
from outlay.errors import BadParameter
from outlay.report import request_bounds
from outlay.report.bounds import mix, request_notes
from outlay.theory import divergence, fluid, fluid_loss, lower_bound, request_gaps

COINS = Problem(
    [Bernoulli(0.1, 0.3), Bernoulli(0.4, 0.6), Bernoulli(0.9, 0.85), Constant(0.0, 0.0)], ["a", "b", "c", "s"]
)


@pytest.mark.parametrize("budget", [50.0, 250.0, 400.0, 700.0, 2000.0, math.inf])
def test_the_numbers_are_the_theorys(budget):
    found = request_bounds(COINS, budget, 1000)
    assert found.fluid == fluid(COINS, budget, 1000)
    assert found.loss == fluid_loss(COINS, budget, 1000)
    assert found.total.lower == pytest.approx(lower_bound(COINS, budget=budget, requests=1000) * math.log(1000))
    if len(found.prices) == 1:
        assert [row.gap for row in found.arms] == request_gaps(COINS, budget, 1000).tolist()
        for law, row in zip(COINS.arms, found.arms, strict=True):
            if row.gap:
                far = divergence(law, found.fluid.price, worth=found.fluid.worth)
                assert row.divergence == far
                assert row.pulls == pytest.approx(math.log(1000) / far)
    else:
        assert budget == 400.0
    shares = np.array([row.share for row in found.arms])
    assert shares @ COINS.mean_rewards == pytest.approx(found.fluid.value)
    assert shares @ COINS.mean_costs <= budget / 1000 * (1 + 1e-12)


def test_without_a_bound_the_mix_is_still_there():
    tied = Problem([Bernoulli(0.1, 0.3), Gamma(0.5, 0.1, 0.001, 0.0002, 0.5)], ["a", "tied"])
    found = request_bounds(tied, 50.0, 1000)
    assert found.total.lower is None
    assert "'tied': its law is a correlated Gamma of shape" in found.reason
    assert found.reason in dict(request_notes(found))["≥"]
    assert mix(found) == "50 % to a, 50 % not served"
    wild = request_bounds(Problem([Pareto(1.0, 1.0, 1.5), Constant(2.0, 1.1)]), 1500.0, 1000)
    assert wild.loss is None
    assert "finite variance" in wild.reason


def test_bad_input():
    for requests in (1, -1, math.inf, math.nan):
        with pytest.raises(BadParameter, match=r"^requests of request_bounds must be "):
            request_bounds(COINS, 10.0, requests)
