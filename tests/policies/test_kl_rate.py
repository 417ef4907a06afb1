"""KL-rate and Frugal: the whole choice against a slow twin; in other units, at the edges, with arms that are free."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.beliefs.compiled import compiled
from tests.policies import slow_kl_rate as slow
from tests.policies.tapes import (
    ALL,
    EVERY,
    Run,
    Tape,
    coins,
    compared,
    constants,
    each_tape,
    free,
    gaussian,
    heavy,
    losses,
    nothing,
    refunds,
    scaled,
    taped,
)

from outlay.beliefs import Lead, PooledBelief, PooledMoments
from outlay.policies import Frugal, KLRate

Array = NDArray[np.float64]


@each_tape
def test_choices_and_excess_equal_the_slow_twin(tape: Tape) -> None:
    """Step by step along the run of each policy; rounding may decide only where the twin says that it could."""
    slack = 0.0 if tape in (constants, nothing) else 1e-9  # all ties are exact there
    steps = [n for n in range(160) if n < 40 or n % 8 == 0]
    counts = [
        compared(policy, tape, 4, seed, steps, lambda samples, _, twin=twin: slow.choose(samples, twin, slack))
        for seed, (policy, twin) in enumerate(EVERY)
    ]
    clear, of = np.sum(counts, axis=0)
    assert clear > 0.6 * of


Extremes = tuple[float, float, float]  # the largest reward, the smallest and the largest cost
EDGES = [0.0, -0.0, 1e-150, 1e-12, 0.3, 1.0, 1e8, 1e150]


def edge(rng: np.random.Generator, signed: bool = True) -> float:
    size = float(rng.choice(EDGES)) if rng.random() < 0.4 else float(rng.exponential())
    return -size if signed and rng.random() < 0.3 else size


def extremes_of(reward: float, one_cost: float, other_cost: float) -> Extremes:
    return reward, min(one_cost, other_cost), max(one_cost, other_cost)


def edge_lead(rng: np.random.Generator, extremes: Extremes) -> Lead:
    """A rate, a spend > 0 and a price > 0, five arms, the extremes, a spread ≥ 0 and a size > 0."""
    spend, price, size = (edge(rng, signed=False) or 1.0 for _ in range(3))
    return Lead(edge(rng), spend, price, 5.0, *extremes, edge(rng, signed=False), size, *edge_opening(rng))


def edge_opening(rng: np.random.Generator) -> tuple[float, float, float, float]:
    """How many arms are open, the usual price > 0 and rate, and what was spent."""
    return float(rng.choice([1, 2, 5, 10**5])), edge(rng, signed=False) or 1.0, edge(rng), edge(rng)


def edge_belief(rng: np.random.Generator) -> PooledBelief:
    pulls = int(rng.choice([1, 2, 7, 100, 10**4, 10**9]))
    pairs = np.array([[edge(rng), edge(rng)] for _ in range(7)])
    return PooledBelief(0, pulls, edge(rng), edge(rng), edge(rng, False), edge(rng, False), edge(rng), pairs)


@pytest.mark.parametrize("kind", [pytest.param(KLRate, marks=pytest.mark.soak), Frugal])
def test_compiled_equals_interpreted_and_never_nan(kind: Any) -> None:
    """For beliefs and leads of every size and sign, whether samples could give them or not; one lead, or a box."""
    rng, excess, finite = np.random.default_rng(7), compiled(kind.excess), 0
    for n in range(6000):
        policy = [policy for policy in ALL if type(policy) is kind][n % (13 if kind is KLRate else 3)]
        belief, extremes = edge_belief(rng), extremes_of(edge(rng), edge(rng), edge(rng))
        low = high = edge_lead(rng, extremes)
        if n % 3 == 0:
            low, high = box(low, edge_lead(rng, extremes))
        one, other = policy.excess(belief, low, high), excess(policy, belief, low, high)
        assert not math.isnan(one)
        assert np.float64(one).tobytes() == np.float64(other).tobytes(), (policy, belief, low, high)
        finite += math.isfinite(one)
    assert finite > 1500


def box(one: Lead, other: Lead) -> tuple[Lead, Lead]:
    return Lead(*map(min, one, other)), Lead(*map(max, one, other))


def test_samples_are_weighed_up_to_a_thousand_of_an_arm() -> None:
    policy, closed, rng = KLRate("one", "sample"), KLRate("one", "closed"), np.random.default_rng(6)
    memory = policy.memory(2)
    for _ in range(1000):
        memory.observe(0, 1.0, float(rng.random() < 0.4))
    memory.observe(1, 1e6, 0.41e6)
    lead = memory.lead(1)._replace(reward_max=1.0, spend=1e9)
    assert policy.excess(memory.belief(0), lead, lead) > closed.excess(memory.belief(0), lead, lead) + 1e-6
    memory.observe(0, 1.0, 0.0)
    assert policy.excess(memory.belief(0), lead, lead) == closed.excess(memory.belief(0), lead, lead)


def test_exact_evidence_is_never_less_than_what_the_first_samples_say() -> None:
    policy, memory = KLRate("one", "exact", 1.0), PooledMoments.empty(2, 20)
    memory.observe(1, 1e6, 0.41e6)
    lead = memory.lead(1)._replace(reward_max=1.0)
    for reward in [0.0] * 20 + [1.0] * 6:  # the closed form of all is small
        memory.observe(0, 1.0, reward)
    enough = math.log(lead.spend / 26)
    kept = 20 * math.log(1 + lead.rate * (1 - 1e-9))
    assert policy.excess(memory.belief(0), lead, lead) == pytest.approx(kept - enough, rel=1e-9)


def in_units(policy: Any, reward: float) -> Any:
    given = policy.arguments().get("reward_bound")
    return policy if given is None else policy._replace(reward_bound=given * reward)


@pytest.mark.parametrize(
    "tape",
    [gaussian, refunds, *(pytest.param(tape, marks=pytest.mark.soak) for tape in (coins, losses, heavy, free))],
    ids=lambda tape: tape.__name__,
)
def test_units_change_no_choice(tape: Tape) -> None:
    """By powers of two none at all, from 1e-15 to 1e15."""
    for seed, policy in enumerate(ALL):
        samples = taped(tape, seed)
        path = Run(policy, scaled(samples, 1.0, 1.0), 4, 100).chosen
        assert len(set(path)) > 1
        for cost, reward in ((2.0**10, 1.0), (1.0, 2.0**10), (2.0**50, 2.0**-50), (2.0**-50, 2.0**50)):
            other = Run(in_units(policy, reward), scaled(samples, cost, reward), 4, 100)
            assert other.chosen == path, (policy, cost, reward)


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_edges(policy: Any) -> None:
    assert Run(policy, lambda arm, k: (1.0, 0.5), 1, 20).pulls.tolist() == [20]
    assert Run(policy, scaled(taped(gaussian, 0), 1.0, 1.0), 4, 4).chosen == [0, 1, 2, 3]
    alike = Run(policy, lambda arm, k: (2.0, 0.7), 4, 40)
    assert alike.pulls.tolist() == [10] * 4  # ties to the least spend, then index
    assert Run(policy, lambda arm, k: (0.5 + k % 2, k % 3), 3, 90).pulls.tolist() == [30] * 3
    assert Run(policy, lambda arm, k: (-1.0, 0.1 * k), 2, 60).pulls.tolist() == [30] * 2
    apart = Run(policy, lambda arm, k: (1.0, 1.0 + arm), 3, 400).pulls  # never varies: 1, 2 and 3 for the same cost
    assert apart[2] > 370
    assert min(Run(policy, lambda arm, k: (0.0, 0.0), 3, 90).pulls) == 30
    dead = Run(policy, lambda arm, k: (1.0, float(arm)) if arm else (1.0, 0.0), 2, 300).pulls
    assert dead[0] < 20


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_while_nothing_pays_spend_is_equalised(policy: Any) -> None:
    """Frugal counts a dearer arm's spend for less, by the power ¾ of its cost."""
    prices = np.array([1.0, 4.0, 16.0])
    spend = np.array(Run(policy, lambda arm, k: (prices[arm], 0.0), 3, 300).pulls) * prices
    if isinstance(policy, Frugal):
        spend /= prices**0.75
    assert spend.max() - spend.min() <= prices.max()


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_a_free_arm_that_pays_nothing_is_not_pulled_for_ever(policy: Any) -> None:
    pulls = Run(policy, lambda arm, k: (0.0, 0.0) if arm else (1.0, float(k % 2)), 2, 1000).pulls
    assert pulls[1] < 300
