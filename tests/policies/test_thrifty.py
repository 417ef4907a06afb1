"""Thrifty and Wary: the whole choice against a slow twin, and compiled."""

import math
from typing import Any

import numpy as np
import pytest
from tests.beliefs.compiled import compiled
from tests.policies import slow_thrifty as slow
from tests.policies.tapes import Tape, compared, constants, each_tape, gaussian, nothing
from tests.policies.test_kl_rate import box, edge, edge_belief, edge_lead, extremes_of

from outlay.beliefs import Belief
from outlay.policies import Thrifty, Wary

ALL: list[Any] = [
    Thrifty(),
    Thrifty(0.05, horizon="unknown"),
    Thrifty(budget=60),
    Wary(budget=400.0),
    Wary(horizon="unknown"),
]


def twin(policy: Any, slack: float) -> Any:
    return lambda samples, order: slow.choose(samples, order, policy.slope, policy.budget, slack)


@each_tape
def test_choices_and_excess_equal_the_slow_twin(tape: Tape) -> None:
    """Step by step along the run of each policy; rounding may decide only where the twin says that it could."""
    slack = 0.0 if tape in (constants, nothing) else 1e-9  # all ties are exact there
    steps = [n for n in range(160) if n < 40 or n % 8 == 0]
    counts = [
        compared(policy, tape, 4 + 10 * (seed % 2), seed, steps, twin(policy, slack)) for seed, policy in enumerate(ALL)
    ]
    clear, of = np.sum(counts, axis=0)
    assert clear > 0.6 * of


def test_a_long_run_equals_the_slow_twin() -> None:
    """So much spend that the slope grows with it, and many arms, so that it grows less."""
    steps = [*range(200, 1200, 50)]
    for arms, budget in ((14, None), (40, 1100.0)):
        policy = Thrifty(budget=budget)
        clear, of = compared(policy, gaussian, arms, 3, steps, twin(policy, 1e-9))
        assert clear == of > 10


def edge_moments(rng: np.random.Generator) -> Belief:
    return Belief(*edge_belief(rng)[:7])


@pytest.mark.parametrize(
    "function", [Thrifty.excess, Thrifty.excess_of_new_arm], ids=lambda function: function.__name__
)
def test_compiled_equals_interpreted_and_never_nan(function: Any) -> None:
    """For beliefs and leads of every size and sign, whether samples could give them or not; one lead, or a box."""
    rng, fast, finite = np.random.default_rng(7), compiled(function), 0
    for n in range(6000):
        policy = Thrifty(rng.uniform(0.01, 1.0), budget=None if n % 2 else abs(edge(rng)) or 1.0)
        extremes = extremes_of(edge(rng), edge(rng), edge(rng))
        low = high = edge_lead(rng, extremes)
        if n % 3 == 0:
            low, high = box(low, edge_lead(rng, extremes))
        given = (edge_moments(rng), low, high) if function is Thrifty.excess else (low, high)
        one, other = function(policy, *given), fast(policy, *given)
        assert not math.isnan(one), (policy, *given)
        assert np.float64(one).tobytes() == np.float64(other).tobytes(), (policy, *given)
        finite += math.isfinite(one)
    assert finite > 500
