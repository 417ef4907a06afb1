"""Scores by test inversion: how often they lie below the true rate."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from scipy import stats
from tests.beliefs.compiled import compiled

from outlay.beliefs import Belief, Blocks, Samples
from outlay.policies import BernsteinRate, CatoniRate, Fieller, FiellerKnown, MedianRate

Array = NDArray[np.float64]


class Law:
    """Pairs of a known rate, drawn as arrays of runs × pulls."""

    rate = 0.8

    def __init__(self, seed: int, runs: int, pulls: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.shape = (runs, pulls)

    def gaussian(self, correlation: float = 0.0) -> tuple[Array, Array]:
        z, w = self.rng.normal(size=(2, *self.shape))
        return 1.0 + 0.3 * z, 0.8 + 0.5 * (correlation * z + math.sqrt(1 - correlation**2) * w)

    def coins(self) -> tuple[Array, Array]:
        """Cost 0 or 1, reward 0 or 1, correlated."""
        u, v = self.rng.random((2, *self.shape))
        return (u < 0.5) * 1.0, (v < np.where(u < 0.5, 0.6, 0.2)) * 1.0

    def symmetric(self, tail: float) -> tuple[Array, Array]:
        """Heavy-tailed costs, and rewards whose distance from 0.8·cost is ± a Pareto number: no variance below 2."""
        costs = 1.5 * self.rng.pareto(2.5, self.shape)
        return costs, 0.8 * costs + self.rng.choice([-1.0, 1.0], self.shape) * self.rng.pareto(tail, self.shape)

    def jackpots(self, tail: float) -> tuple[Array, Array]:
        """Light costs and Pareto rewards: sums mostly lie below their means."""
        return 1.0 + 0.2 * self.rng.random(self.shape) - 0.1, 0.8 * (tail - 1) * self.rng.pareto(tail, self.shape)

    def lognormal(self) -> tuple[Array, Array]:
        z, w = self.rng.normal(size=(2, *self.shape))
        return np.exp(z - 0.5), 0.8 * np.exp(0.5 * z + 0.5 * w - 0.25)


def from_moments(policy: Any, costs: Array, rewards: Array, log_n: float) -> Array:
    """The score of each run, from its sample moments."""
    pulls, x, r = costs.shape[1], costs.mean(1), rewards.mean(1)
    cov = (costs * rewards).mean(1) - x * r
    columns = zip(*(v.tolist() for v in (x, r, costs.var(1), rewards.var(1), cov)), strict=True)
    return np.array([policy.score(Belief(0, pulls, *row), log_n) for row in columns])


@cache
def filler() -> Any:
    """A compiled loop that puts pairs into blocks."""
    observe: Any = compiled(Blocks.observe)

    def fill(memory: Any, pairs: Array) -> None:
        for i in range(len(pairs)):
            observe(memory, 0, pairs[i, 0], pairs[i, 1])

    return njit(fill)


def from_blocks(policy: MedianRate, costs: Array, rewards: Array, log_n: float) -> Array:
    fill, score = filler(), compiled(MedianRate.score)
    start, scores = policy.memory(1), []
    while len(start.pages) * 64 < costs.shape[1] + 64:
        start = start.enlarged()
    for pairs in np.stack([costs, rewards], axis=2):
        memory = start.enlarged()
        fill(memory, pairs)
        scores.append(score(policy, memory.belief(0), log_n))
    return np.array(scores)


def from_samples(policy: CatoniRate, costs: Array, rewards: Array, log_n: float) -> Array:
    score: Any = compiled(CatoniRate.score)
    runs, pulls = costs.shape
    index = np.zeros((runs, 5), np.int64)
    index[:, 0], index[:, 1], index[:, 2] = pulls, pulls * np.arange(runs), pulls + 1
    pool = np.stack([costs, rewards], axis=2).reshape(-1, 2)
    memory = Samples(pool, index, np.zeros(runs), np.zeros(2, np.int64))
    return np.array([score(policy, memory.belief(run), log_n) for run in range(runs)])


def allowed(chance: float, runs: int) -> float:
    """How many of the runs may fail: more do with probability below 1e-6 if each does with this chance."""
    return float(stats.binom.isf(1e-6, runs, chance))


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.9])
@pytest.mark.parametrize("pulls", [3, 8, 60])
def test_fieller_covers_exactly(correlation: float, pulls: int) -> None:
    """Gaussian pairs: the score is too low as often as a normal or a t variable exceeds its limit, at most ½·exp(−ℓ).

    False alarms: 1e-6 for each of the 36 counts, on either side.
    """
    runs = 20_000
    law = Law(pulls, runs, pulls)
    costs, rewards = law.gaussian(correlation)
    known = FiellerKnown(0.09, 0.25, 0.15 * correlation)
    for level in (1.0, 3.0):
        chances = {
            known: float(stats.norm.sf(math.sqrt(2 * level))),
            Fieller(): float(stats.t.sf(math.sqrt((pulls - 1) * math.expm1(2 * level / (pulls - 2))), pulls - 1)),
        }
        for policy, chance in chances.items():
            low = int((from_moments(policy, costs, rewards, level) < law.rate).sum())
            assert chance <= 0.5 * math.exp(-level)
            assert low <= allowed(chance, runs)
            if pulls > 8:  # with few pulls the score is ∞ at times
                assert runs - low <= allowed(1 - chance, runs)


def test_plug_in_covers_in_the_limit() -> None:
    """False alarms: 1e-6 for each of the 4 laws, if the limit were reached; few pulls fail far more often."""
    runs, level = 4_000, 2.0
    for seed, name in enumerate(("gaussian", "coins", "lognormal")):
        law = Law(seed, runs, 1000)
        costs, rewards = getattr(law, name)()
        low = (from_moments(Fieller(form="plugin"), costs, rewards, level) < law.rate).sum()
        assert low <= allowed(0.5 * math.exp(-level), runs), name
    law = Law(9, runs, 5)
    low = (from_moments(Fieller(form="plugin"), *law.gaussian(), 4.0) < law.rate).sum()
    assert low > allowed(0.5 * math.exp(-4.0), runs)


@pytest.mark.parametrize("pulls", [40, 400])
def test_bernstein_covers_bounded_pairs(pulls: int) -> None:
    """False alarms: 1e-6 for each of the 8 counts. The bound is loose: as printed, 3·exp(−ℓ)."""
    runs = 4_000
    law = Law(pulls, runs, pulls)
    costs, rewards = law.coins()
    for level in (1.5, 4.0):
        low = (from_moments(BernsteinRate(1.0, 1.0), costs, rewards, level) < law.rate).sum()
        assert low <= allowed(3.0 * math.exp(-level), runs)
        # A negative rate: rewards in [−1, 0], of which only the length of the interval counts.
        low = (from_moments(BernsteinRate(1.0, 1.0), costs, rewards - 1.0, level) < -1.2).sum()
        assert low <= allowed(3.0 * math.exp(-level), runs)
    assert (
        from_moments(BernsteinRate(0.5, 0.5), costs, rewards, 4.0)
        <= from_moments(BernsteinRate(1.0, 1.0), costs, rewards, 4.0)
    ).all()


def test_bernstein_needs_its_bounds_where_rewards_are_rare() -> None:
    """False alarms: 1e-6. A reward of 1 in one pull of 200: the samples' own variance is no guide."""
    runs, pulls, level = 4_000, 400, 4.0
    rng = np.random.default_rng(17)
    costs: Array = 0.8 + 0.2 * (rng.random((runs, pulls)) < 0.5).astype(float)
    rewards: Array = (rng.random((runs, pulls)) < 0.005).astype(float)
    most = allowed(3.0 * math.exp(-level), runs)
    for share, covers in ((1.0, True), (0.1, False), (0.0, False)):
        low = (from_moments(BernsteinRate(0.2 * share, share), costs, rewards, level) < 0.005 / 0.9).sum()
        assert (low <= most) == covers, (share, low, most)


def test_block_rates_cover_symmetric_laws_of_any_tail() -> None:
    """P(Bin(m, ½) ≤ ⌊m/8⌋) is exact here: false alarms 1e-6 on either side, for each of the 4 laws and levels."""
    runs, pulls = 3_000, 100
    for seed, tail in enumerate((1.3, 2.5)):
        law = Law(seed, runs, pulls)
        costs, rewards = law.symmetric(tail)
        for level in (1.0, 2.5):
            blocks = int(level / MedianRate().information) + 1
            chance = float(stats.binom.cdf(blocks // 8, blocks, 0.5))
            low = int((from_blocks(MedianRate(), costs, rewards, level) < law.rate).sum())
            assert chance <= math.exp(-level)
            assert low <= allowed(chance, runs)
            assert runs - low <= allowed(1 - chance, runs)


def test_block_rates_cover_skewed_laws_of_a_known_tail() -> None:
    """Pareto rewards of index 1.3 have no variance: p = 1 − 1/1.3 is what large blocks need, and ½ is too much.

    False alarms: 1e-6 for each count, if the limit were reached.
    """
    runs, pulls, level = 2_000, 1800, 2.0
    law = Law(5, runs, pulls)
    costs, rewards = law.jackpots(1.3)
    assert (from_blocks(MedianRate(tail=1.3), costs, rewards, level) < law.rate).sum() <= allowed(
        math.exp(-level), runs
    )
    assert (from_blocks(MedianRate(), costs, rewards, level) < law.rate).sum() > allowed(math.exp(-level), runs)
    for name in ("lognormal", "coins"):
        costs, rewards = getattr(law, name)()
        low = (from_blocks(MedianRate(), costs, rewards, level) < law.rate).sum()
        assert low <= allowed(math.exp(-level), runs)


def test_catoni_covers_symmetric_laws_of_any_tail() -> None:
    """False alarms: 1e-6 for each of the 12 counts."""
    runs = 3_000
    draws: list[Callable[[Law], tuple[Array, Array]]] = [
        lambda law: law.symmetric(1.3),
        lambda law: law.symmetric(2.5),
        lambda law: law.gaussian(0.9),
    ]
    for seed, draw in enumerate(draws):
        for pulls in (14, 100):
            law = Law(seed, runs, pulls)
            costs, rewards = draw(law)
            for level in (0.9, 2.4):  # rounded up to 1 and 2.5
                low = (from_samples(CatoniRate(), costs, rewards, level) < law.rate).sum()
                assert low <= allowed(math.exp(-math.ceil(4 * level) / 4), runs)


def test_catoni_with_known_moments_covers_skewed_heavy_tails() -> None:
    """Where sample moments mislead: false alarms 1e-6 for each of the 4 counts."""
    runs, pulls, tail = 3_000, 100, 2.2
    law = Law(7, runs, pulls)
    costs, rewards = law.jackpots(tail)
    var_reward = (0.8 * (tail - 1)) ** 2 * tail / ((tail - 1) ** 2 * (tail - 2))
    policy = CatoniRate(1.0, 0.04 / 12, var_reward, 0.0)
    for level in (1.4, 2.9, 3.9):
        low = (from_samples(policy, costs, rewards, level) < law.rate).sum()
        assert low <= allowed(math.exp(-math.ceil(4 * level) / 4), runs)
    low = (from_samples(CatoniRate(), costs, rewards, 2.9) < law.rate).sum()
    assert low > allowed(math.exp(-3.0), runs)


def test_catoni_covers_in_the_limit() -> None:
    """False alarms: 1e-6 for each of the 3 counts, if the limit were reached."""
    runs, level = 2_000, 2.0
    for seed, name in enumerate(("gaussian", "coins", "lognormal")):
        law = Law(seed, runs, 896)
        costs, rewards = getattr(law, name)()
        low = (from_samples(CatoniRate(), costs, rewards, level - 0.1) < law.rate).sum()
        assert low <= allowed(0.5 * math.exp(-level), runs), name
