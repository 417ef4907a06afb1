"""Scores by test inversion: against slow twins that try rates, and how often they lie below the true rate."""

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
from tests.policies import slow_inversion as slow
from tests.policies.test_scores import drawn, moments_of, second_moments

from outlay.beliefs import Belief, Blocks, Samples
from outlay.policies import BernsteinRate, CatoniRate, Fieller, FiellerKnown, MedianRate

Array = NDArray[np.float64]


def remembered(policy: Any, samples: slow.Samples) -> Any:
    """The belief of a policy with a memory of its own."""
    memory = policy.memory(1)
    for cost, reward in samples:
        memory.observe(0, cost, reward)
        memory = memory.grown() if memory.full() else memory
    return memory.belief(0)


@pytest.mark.parametrize("seed", range(3))
def test_closed_forms_equal_the_slow_twins(seed: int) -> None:
    rng = np.random.default_rng(seed)
    finite = dict.fromkeys(("known", "student", "plugin", "bernstein"), 0)
    for _ in range(60):
        samples, log_n = drawn(rng)
        belief, alpha = moments_of(samples, 1), rng.uniform(0.2, 1.5)
        moments, (m_x, m_r) = second_moments(rng), rng.choice([0.0, 1e-3, 0.02], size=2).tolist()
        level = alpha * log_n
        pairs: dict[str, tuple[Any, float]] = {
            "known": (FiellerKnown(*moments, alpha), slow.fieller_known(samples, level, *(m[1] for m in moments))),
            "student": (Fieller(alpha), slow.student(samples, level)),
            "plugin": (Fieller(alpha, form="plugin"), slow.plugin(samples, level)),
            "bernstein": (BernsteinRate(m_x, m_r, alpha), slow.bernstein(samples, level, m_x, m_r)),
        }
        for name, (policy, expected) in pairs.items():
            assert policy.score(belief, log_n) == pytest.approx(expected, rel=1e-6, abs=1e-9), name
            finite[name] += math.isfinite(expected)
    assert min(finite.values()) > 15  # the comparison is not only of infinities


@pytest.mark.parametrize("seed", range(3))
def test_estimates_from_samples_equal_the_slow_twins(seed: int) -> None:
    rng = np.random.default_rng(10 + seed)
    finite = dict.fromkeys(("median", "sampled", "known"), 0)
    for _ in range(60):
        samples, log_n = drawn(rng)
        alpha, tail = rng.uniform(0.2, 1.5), float(rng.choice([1.2, 1.7, 2.0]))
        var_cost, var_reward, cov = (float(values[1]) for values in second_moments(rng))
        level = alpha * log_n
        pairs: dict[str, tuple[Any, float]] = {
            "median": (MedianRate(alpha, tail), slow.median_rate(samples, level, 1 - 1 / tail)),
            "sampled": (CatoniRate(alpha), slow.catoni(samples, level)),
            "known": (
                CatoniRate(alpha, var_cost, var_reward, cov),
                slow.catoni(samples, level, np.poly1d([var_cost, -2 * cov, var_reward])),
            ),
        }
        for name, (policy, expected) in pairs.items():
            score = policy.score(remembered(policy, samples), log_n)
            within = 1e-9 if name == "median" else 2e-4 * (1 + abs(expected))
            assert score == pytest.approx(expected, rel=1e-9, abs=within), (name, samples, level)
            finite[name] += math.isfinite(expected)
    assert min(finite.values()) > 15


def test_catonis_sum_crosses_once() -> None:
    """No rate above the score is accepted again: the score is the last crossing, as the guarantee has it."""
    rng, seen = np.random.default_rng(15), 0
    for _ in range(300):
        samples, log_n = drawn(rng)
        if rng.random() < 0.5:
            heavy = rng.standard_t(rng.uniform(1.1, 3.0), (len(samples), 2)) * rng.uniform(0, 2, 2)
            samples = [(x + abs(a) * 0.3, r + b) for (x, r), (a, b) in zip(samples, heavy.tolist(), strict=True)]
        score = CatoniRate().score(remembered(CatoniRate(), samples), log_n)
        if math.isfinite(score):
            bound = slow.catoni_bound(slow.waiting_left_out(samples), log_n, None)
            steps = (abs(score) + 0.1) * np.geomspace(1e-4, 1e6, 100)
            assert all(bound(rate) < 0 for rate in (score + steps).tolist())
            seen += 1
    assert seen > 100


SCALE_FREE: list[Any] = [Fieller(), Fieller(0.25, form="plugin"), MedianRate(), MedianRate(0.5, tail=1.5), CatoniRate()]


def belief_for(policy: Any, samples: slow.Samples) -> Any:
    return remembered(policy, samples) if hasattr(policy, "memory") else moments_of(samples, 0)


def scaled(samples: slow.Samples, cost: float, reward: float) -> slow.Samples:
    return [(x * cost, r * reward) for x, r in samples]


@pytest.mark.parametrize("policy", SCALE_FREE, ids=repr)
def test_units_change_nothing(policy: Any) -> None:
    """To the last bit for powers of two, so that choices are the same; and no overflow in units of 1e±15."""
    rng, finite = np.random.default_rng(20), 0
    for _ in range(30):
        samples, log_n = drawn(rng)
        score = policy.score(belief_for(policy, samples), log_n)
        for cost, reward in ((2.0**10, 1.0), (1.0, 2.0**10), (2.0**-10, 2.0**-10)):
            assert policy.score(belief_for(policy, scaled(samples, cost, reward)), log_n) * cost == score * reward
        for cost, reward in ((1e15, 1.0), (1.0, 1e15), (1e-15, 1e-15), (1e-15, 1e15), (1e15, 1e-15)):
            other = policy.score(belief_for(policy, scaled(samples, cost, reward)), log_n)
            if len(samples) > 10:  # few samples on a line leave a rounding error as their variance
                assert other * cost / reward == pytest.approx(score, rel=1e-6)
        finite += math.isfinite(score)
    assert finite > 8


def test_known_moments_in_other_units() -> None:
    samples, log_n = drawn(np.random.default_rng(3))
    for cost, reward in ((2.0**10, 1.0), (1.0, 2.0**-10), (1e15, 1e-15)):
        given = (0.04 * cost * cost, 0.09 * reward * reward, 0.05 * cost * reward)
        pairs: list[tuple[Any, Any]] = [
            (FiellerKnown(0.04, 0.09, 0.05), FiellerKnown(*given)),
            (CatoniRate(1.0, 0.04, 0.09, 0.05), CatoniRate(1.0, *given)),
            (BernsteinRate(0.1, 0.2), BernsteinRate(0.1 * cost, 0.2 * reward)),
        ]
        for policy, other in pairs:
            score = policy.score(belief_for(policy, samples), log_n)
            assert math.isfinite(score)
            found = other.score(belief_for(other, scaled(samples, cost, reward)), log_n) * cost / reward
            assert found == pytest.approx(score, rel=1e-9)


EVERY: list[Any] = [
    FiellerKnown(0.04, 0.09, 0.05), FiellerKnown(0.0, 0.0, 0.0), BernsteinRate(0.5, 1.0), BernsteinRate(0.0, 0.0),
    CatoniRate(1.0, 0.04, 0.09, 0.05), CatoniRate(1.0, 0.0, 0.09, 0.0), CatoniRate(1.0, 0.0, 0.0, 0.0), *SCALE_FREE,
]  # fmt: skip


@pytest.mark.parametrize("policy", EVERY, ids=repr)
def test_edges(policy: Any) -> None:
    def score(samples: slow.Samples, log_n: float) -> float:
        value = float(policy.score(belief_for(policy, samples), log_n))
        assert not math.isnan(value)
        return value

    assert score([], 0.0) == math.inf
    for log_n in (0.0, 3.0, 36.0):
        score([(1.0, 0.5)], log_n)
        for cost in (0.0, -1.0):  # a mean cost that is not positive: nothing is known of the rate
            assert score([(cost, 0.5)] * 200, log_n) == math.inf
        assert score([(1.0, 0.0)] * 2000, log_n) >= 0.0
        for value in (5e-324, 1e-310, 1e154, 1e300):
            score([(1.0, value), (2.0, -value)] * 20, log_n)
            score([(value, 1.0), (value, -1.0)] * 20, log_n)
    assert score([(2.0, -1.0)] * 2000, 3.0) == pytest.approx(-0.5, abs=0.02)
    assert score([(1.0, 0.5), (1.5, -3.0)] * 1000, 3.0) == pytest.approx(-1.0, abs=0.4)


@pytest.mark.parametrize("policy", SCALE_FREE, ids=repr)
def test_samples_that_never_vary_are_believed(policy: Any) -> None:
    assert policy.score(belief_for(policy, [(2.0, 1.0)] * 50), 5.0) == 0.5


@pytest.mark.parametrize("policy", [MedianRate(0.5), CatoniRate(0.5), CatoniRate(0.5, 0.5, 0.5, 0.1)], ids=repr)
def test_compiled_equals_interpreted_and_remembers_rightly(policy: Any) -> None:
    """Bit for bit, with nothing remembered, with the right thing remembered and with something else remembered."""
    rng, score = np.random.default_rng(8), compiled(type(policy).score)
    memory, finite = policy.memory(2), 0
    for n in range(1, 900):
        memory.observe(int(rng.integers(2)), rng.standard_t(3) + 2.0, rng.standard_t(3) + 1.0)
        memory = memory.grown() if memory.full() else memory
        for arm in range(2) if n % 5 == 0 else ():
            for log_n in (math.log(n), math.log(n) / 4, math.log(n) / 4):
                one = policy.score(memory.belief(arm), log_n)
                if rng.random() < 0.5:
                    memory.arms[arm, 3:] = 0
                assert one == score(policy, memory.belief(arm), log_n)
                finite += math.isfinite(one)
    assert finite > 500
    assert policy.score(memory.belief(0), math.inf) == math.inf == score(policy, memory.belief(0), math.inf)


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
        start = start.grown()
    for pairs in np.stack([costs, rewards], axis=2):
        memory = start.grown()
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
