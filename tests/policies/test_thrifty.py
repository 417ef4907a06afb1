"""Thrifty and Wary: the whole choice against a slow twin, compiled and in a box of leads."""

import math
from typing import Any

import numpy as np
import pytest
from tests.beliefs.compiled import compiled
from tests.policies import slow_thrifty as slow
from tests.policies.tapes import Tape, compared, constants, each_tape, gaussian, nothing
from tests.policies.test_kl_rate import between, box, edge, edge_belief, edge_lead, extremes_of, random_lead

from outlay.beliefs import Belief, Lead
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


def test_the_excess_of_a_box_is_a_lower_bound() -> None:
    """For all leads in it, of arms that are open and of those that are not, the budget told or not."""
    rng, tight = np.random.default_rng(11), np.zeros(2, np.int64)
    for n in range(1500):
        count = int(rng.choice([1, 2, 5, 40]))
        pairs = np.where(rng.random() < 0.3, 1.0, rng.normal(size=(count, 2))) * rng.uniform(0, 1, 2)
        pairs += rng.uniform((-0.2, -1), (2, 1))
        pairs[:, 1] *= rng.random() < 0.7  # else it has paid nothing
        pairs[:, 0] *= n % 7 != 0  # else it has cost nothing
        policy = Thrifty(rng.uniform(0.01, 1.0), budget=rng.exponential(300.0) if n % 2 else None)
        tight += bounded(rng, policy, pairs, *random_box(rng))
    assert tight.min() > 500  # a bound of −∞ would not do


def test_it_is_one_where_the_spread_is_least_for_a_rate_between() -> None:
    """Arms whose rewards are on a line in their costs, but for a little: at its slope next to nothing is left."""
    rng, tight = np.random.default_rng(12), 0
    for _ in range(2000):
        low, high = random_box(rng, noise=0.01)
        costs = rng.normal(1.0, 0.7, int(rng.choice([2, 5, 40])))
        rewards = rng.uniform(low.rate, high.rate) * (costs - costs.mean()) + 0.02 * rng.normal(size=len(costs))
        rewards += low.rate * costs.mean() - rng.exponential(0.05)
        tight += bounded(rng, Thrifty(0.3), np.stack([costs, rewards], axis=1), low, high)[0]
    assert tight > 500


def bounded(rng: np.random.Generator, policy: Any, pairs: Any, low: Lead, high: Lead) -> tuple[int, int]:
    """Check the bounds of a box against leads in it; count those that are close, of the arm and of a fresh one."""
    memory = policy.memory(1)
    for cost, reward in pairs.tolist():
        memory.observe(0, cost, reward)
    belief = memory.belief(0)
    bound, opening, tight, wanted = policy.excess(belief, low, high), policy.excess_of_new_arm(low, high), 0, 0
    for _ in range(6):
        lead = between(low, high, rng.choice([0.0, 1.0, rng.random()], len(low)))
        value, fresh = policy.excess(belief, lead, lead), policy.excess_of_new_arm(lead, lead)
        assert bound <= value + 1e-9, (policy, belief, low, high, lead)
        assert opening <= fresh + 1e-9, (policy, low, high, lead)
        tight += math.isfinite(value) and value - bound < 0.1
        wanted += math.isfinite(fresh) and fresh - opening < 0.1
    return tight, wanted


def random_box(rng: np.random.Generator, noise: float = 1.0) -> tuple[Lead, Lead]:
    """Two leads, far apart or close in each number, some with slopes that grow, some with a rate like the usual one.

    With little noise, they are close in every number but the rate.
    """
    extremes = extremes_of(rng.uniform(-1, 2), *rng.uniform(-1, 3, 2).tolist())
    one, other = (random_lead(rng, extremes) for _ in range(2))
    if noise < 1.0 or rng.random() < 0.5:
        one = one._replace(spent=one.spent * 1e3, usual_rate=one.rate - rng.choice([0.0, 0.1, 1.0]))
    weights = rng.choice([0.0, 0.01, 1.0] if noise == 1.0 else [0.01], len(one))
    if noise < 1.0:
        one, other = (lead._replace(spread=noise * lead.spread, size=1.0) for lead in (one, other))
        weights[0] = rng.choice([0.1, 1.0])
    return box(one, between(one, other, weights))
