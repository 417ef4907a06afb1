"""The evidence of KL-rate against brute force, and in thousands of runs as rare as proved."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray
from scipy import optimize
from tests.beliefs.compiled import compiled
from tests.policies.test_coverage import allowed

from outlay.formulas.evidence import best_weight, closed_evidence, exact_evidence, gaussian_evidence, sample_evidence

Array = NDArray[np.float64]


def kl_inf(z: Array, bound: float) -> tuple[float, float]:
    """The largest mean of ln(1 − λz) over λ in [0, 1/M), by search, and the λ."""
    found = optimize.minimize_scalar(
        lambda x: -np.mean(np.log(1 - x * z)),
        bounds=(0, (1 - 1e-12) / bound),
        method="bounded",
        options={"xatol": 1e-13 / bound},
    )
    return max((float(np.mean(np.log(1 - x * z))), x) for x in (0.0, float(found.x), (1 - 1e-12) / bound))


def drawn(rng: np.random.Generator) -> tuple[Array, float]:
    """Numbers with a negative mean, at most the bound: coins, a long lower tail, all alike, few, or many."""
    bound, count = float(rng.choice([0.1, 1.0, 30.0])), int(rng.choice([1, 2, 5, 30, 300]))
    kinds: list[Callable[[], Array]] = [
        lambda: rng.choice([bound, -0.5], count, p=[0.2, 0.8]),
        lambda: bound - rng.pareto(1.3, count),
        lambda: np.full(count, -0.3),
        lambda: np.minimum(bound, rng.normal(-0.3, 1.0, count)),
        lambda: rng.uniform(-1.0, bound, count),
    ]
    z = kinds[rng.integers(5)]()
    return (z, bound) if z.mean() < 0 else (z - z.mean() - 0.01 * bound, bound)


def test_closed_is_at_most_sample_is_at_most_the_distance_to_a_better_law() -> None:
    """The last by its dual, and by the law that is that near: P/(1 − λz), what is missing on M, with a mean ≥ 0."""
    rng, worst = np.random.default_rng(3), 0.0
    for _ in range(400):
        z, bound = drawn(rng)
        m, v = -float(z.mean()), float(z.var())
        pairs = np.column_stack([rng.uniform(0, 2, len(z)), np.zeros(len(z))])
        rate = 0.7
        pairs[:, 1] = z + rate * pairs[:, 0]
        closed, start = closed_evidence(m, v, bound), best_weight(m, v, bound)
        sample = sample_evidence(pairs, len(z), rate, bound, start, math.inf)
        best, weight = kl_inf(z, bound)
        assert closed <= sample + 1e-8
        assert sample <= best + 1e-8
        worst = max(worst, best - sample)
        nearer = 1 / (len(z) * (1 - weight * z))
        rest = 1 - nearer.sum()
        assert rest > -1e-5
        assert (nearer * z).sum() + rest * bound > -1e-5 * (1 + m)
        assert (np.log(1 / (len(z) * nearer)) / len(z)).sum() == pytest.approx(best, abs=1e-9)
    assert worst < 0.01  # four steps of Newton's are enough


def least_on(grid: Array, mean: float, variance: float, weight: float) -> float:
    """The least mean of ln(1 − λz) of all laws on these points with this mean and variance."""
    moments = [np.ones_like(grid), grid, grid**2]
    found = optimize.linprog(np.log(1 - weight * grid), A_eq=moments, b_eq=[1, mean, variance + mean**2])
    assert found.status == 0
    return float(found.fun)  # type: ignore[arg-type]


def test_no_law_has_less_than_the_closed_form() -> None:
    """By linear programming over all laws on a grid with the mean and the variance; the law on two points has it."""
    rng = np.random.default_rng(4)
    for _ in range(25):
        m, v, bound = rng.uniform(0.02, 1), rng.uniform(0.05, 2), float(rng.choice([0.5, 1.0, 3.0]))
        closed, best = closed_evidence(m, v, bound), best_weight(m, v, bound)
        low = m + v / (bound + m)
        grid = np.concatenate([np.linspace(-3 * low - 3, bound, 200), [-low]])
        assert least_on(grid, -m, v, best) == pytest.approx(closed, abs=1e-7)
        for weight in (0.3 * best, 0.5 * (best + 1 / bound)):
            assert least_on(grid, -m, v, weight) <= closed + 1e-7
        top = (low - m) / (bound + low)
        two = np.concatenate([np.full(round(1e4 * top), bound), np.full(10_000 - round(1e4 * top), -low)])
        assert kl_inf(two, bound)[0] == pytest.approx(
            closed_evidence(-two.mean(), two.var(), bound), rel=1e-6, abs=1e-9
        )


SIZES = st.floats(1e-9, 1e9)


@given(m=SIZES, v=st.one_of(st.just(0.0), SIZES), bound=SIZES, more=st.floats(1.0, 1e3) | st.floats(1.0, 1.0 + 1e-6))
@settings(max_examples=400)
def test_evidence_rises_with_the_shortfall_and_falls_with_variance_and_bound(
    m: float, v: float, bound: float, more: float
) -> None:
    """To the rounding of its largest term: the engine bounds the evidence over a box by its value at a corner."""
    here = closed_evidence(m, v, bound)
    rounding = 2e-15 * more * math.log1p(m / bound)
    assert here <= closed_evidence(more * m, v, bound) + 2e-15 * math.log1p(more * m / bound)
    assert here >= closed_evidence(m, more * v, bound) - rounding
    assert here >= closed_evidence(m, v, more * bound) - rounding
    assert here >= m * m / (2 * (v + m * (bound + m))) - rounding
    assert here <= math.log1p(m / bound) * (1 + 1e-15)
    assert gaussian_evidence(m, v) <= gaussian_evidence(more * m, v)
    assert gaussian_evidence(m, v) >= gaussian_evidence(m, more * v)


TAIL = 1.3  # of the costs: no variance
MEAN_COST = TAIL / (TAIL - 1)


def independent_coins(rng: np.random.Generator, x: Array) -> tuple[Any, float]:
    return (rng.random(x.shape) < 0.3) * 1.0, 0.3


def coins_of_dear_pulls(rng: np.random.Generator, x: Array) -> tuple[Any, float]:
    """1 with probability 1 − X^(−0.65): E X^(−b) = a/(a + b)."""
    return (rng.random(x.shape) < 1 - x**-0.65) * 1.0, 0.65 / (TAIL + 0.65)


def coins_of_cheap_pulls(rng: np.random.Generator, x: Array) -> tuple[Any, float]:
    return (rng.random(x.shape) < x**-2.0) * 1.0, TAIL / (TAIL + 2.0)


def heavy_losses(rng: np.random.Generator, x: Array) -> tuple[Any, float]:
    """Bounded from above alone: 1 less a Pareto number without a variance."""
    return 1.0 - 0.25 * (1.0 + rng.pareto(1.5, x.shape)), 0.25


def jackpots(rng: np.random.Generator, x: Array) -> tuple[Any, float]:
    return (rng.random(x.shape) < 0.01) * 1.0, 0.01


@cache
def watch() -> Any:
    """The most of each run: T·D − ln(T + 1), closed at every T and of samples at some; Σ ln(1 − λZ) at λ = ½/M."""
    closed: Any = compiled(closed_evidence)
    start: Any = compiled(best_weight)
    sample: Any = compiled(sample_evidence)

    def watched(pairs: Array, rate: float, bound: float) -> Array:
        most = np.full((len(pairs), 3), -np.inf)
        for run in range(len(pairs)):
            mean, squares, wealth, look = 0.0, 0.0, 0.0, 1
            for i in range(pairs.shape[1]):
                pulls, z = i + 1, pairs[run, i, 1] - rate * pairs[run, i, 0]
                step = z - mean
                mean += step / pulls
                squares += step * (z - mean)
                wealth += math.log(1.0 - 0.5 * z / bound)
                most[run, 2] = max(most[run, 2], wealth)
                if mean < 0.0:
                    evidence = pulls * closed(-mean, squares / pulls, bound)
                    most[run, 0] = max(most[run, 0], evidence - math.log(pulls + 1.0))
                    if pulls >= look:
                        look = max(pulls + 1, int(1.25 * pulls))
                        weight = start(-mean, squares / pulls, bound)
                        evidence = pulls * sample(pairs[run], pulls, rate, bound, weight, np.inf)
                        most[run, 1] = max(most[run, 1], evidence - math.log(pulls + 1.0))
        return most

    return njit(error_model="numpy")(watched)


def reached(law: Any, dearer: float = 1.0, bound: float = 1.0) -> Array:
    """What 2000 runs of 2000 pulls reach against the rate, times `dearer`, of an arm with rewards ≤ 1."""
    rng = np.random.default_rng(REWARDS.index(law))
    costs = 1.0 + rng.pareto(TAIL, (2000, 2000))
    rewards, mean = law(rng, costs)
    most: Array = watch()(np.stack([costs, rewards], axis=2), dearer * mean / MEAN_COST, bound)
    return most


REWARDS = [independent_coins, coins_of_dear_pulls, coins_of_cheap_pulls, heavy_losses, jackpots]
LEVELS = (0.2, 1.0, 2.0, 3.0, 5.0)


@pytest.mark.parametrize("law", REWARDS, ids=lambda law: law.__name__)
def test_evidence_against_the_true_rate_is_as_rare_as_proved(law: Any) -> None:
    """P(T·D ≥ u + ln(T + 1) at some T) ≤ e^(−u), with costs of infinite variance; false alarms: 1e-6 for each of 75."""
    most = reached(law)
    for u in LEVELS:
        assert (most >= u).sum(0).max() <= allowed(math.exp(-u), len(most)), u
    assert (most[:, 2] >= 1.0).mean() > 0.3 * math.exp(-1.0)  # with one λ, the bound is not far


def test_evidence_is_common_against_a_larger_rate_or_with_too_small_a_bound() -> None:
    """The count above would notice: what it rests on is used."""
    u = 3.0
    assert (reached(independent_coins, dearer=3.0) >= u).mean(0).min() > 0.9
    assert (reached(coins_of_cheap_pulls, bound=0.5)[:, 1] >= u).mean() > 4 * math.exp(-u)


def test_exact_is_the_distance_to_a_better_law() -> None:
    """By search, from any start, within a billionth; the sample form is not above it."""
    rng, steps = np.random.default_rng(8), 0
    for _ in range(100):
        z, bound = drawn(rng)
        pairs = np.column_stack([np.zeros(len(z)), z])
        best, _ = kl_inf(z, bound)
        for start in (
            0.0,
            best_weight(-float(z.mean()), float(z.var()), bound),
            1.0 / bound,
            rng.uniform(0, 1 / bound),
        ):
            exact = exact_evidence(pairs, len(z), 0.3, bound, start, math.inf)
            assert exact == pytest.approx(best, abs=3e-9 + 1e-9 / len(z), rel=1e-9)
            sample = sample_evidence(pairs, len(z), 0.3, bound, start, math.inf)
            assert sample <= exact + 2e-9
            steps += sample < exact - 1e-6
        enough = rng.uniform(0, 2) * best
        first = exact_evidence(pairs, len(z), 0.3, bound, 0.5 / bound, enough)
        assert first > enough if enough < best - 1e-8 else first <= enough + 2e-8
    assert steps > 5  # four of Newton's steps do not always do
