"""KL-rate and Frugal: the whole choice against a slow twin, evidence against brute force, the bound in simulation."""

import copy
import itertools
import math
import pickle
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray
from scipy import optimize, stats
from tests.beliefs.compiled import compiled
from tests.policies import slow_kl_rate as slow

from outlay.beliefs import Lead, Pooled, PooledBelief
from outlay.errors import BadParameter
from outlay.formulas.choose import best_by_excess, best_by_score, leader_of, log_of, without_price
from outlay.formulas.evidence import best_weight, closed_evidence, gaussian_evidence, sample_evidence
from outlay.policies import Fieller, Frugal, KLRate
from outlay.policies.protocol import memory_of

Array = NDArray[np.float64]
Tape = Callable[[np.random.Generator, int], tuple[float, float]]

EVERY: list[tuple[Any, slow.Excess]] = [
    *(
        (KLRate(schedule, evidence, bound), slow.kl_rate(schedule, evidence, bound))
        for schedule in ("plus", "half", "one")
        for evidence in ("closed", "sample")
        for bound in (None, 1.5)
    ),
    *((Frugal(*given), slow.frugal(*given)) for given in ((0.3, 7.0, None), (0.3, 7.0, 1.5), (0.2, 0.5, None))),
]
ALL = [policy for policy, _ in EVERY]


def gaussian(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    z, w = rng.normal(size=2)
    return 1 + 0.2 * arm + 0.3 * z, 1 - 0.2 * arm + 0.5 * (0.8 * z + 0.6 * w)


def coins(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    cost = rng.random() < 0.5
    return float(cost), float(rng.random() < 0.6 - 0.1 * arm + 0.2 * cost)


def lattice(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return float(rng.integers(1, 3)), float(rng.integers(0, 3)) / 2 - 0.25 * (arm == 1)


def refunds(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return 0.4 - 0.2 * arm + rng.normal(), 0.5 + 0.5 * rng.normal()


def losses(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return rng.exponential(), -0.5 - 0.1 * arm - rng.random()


def nothing(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return rng.exponential(1 + arm), 0.0


def rarely(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return 1.0 + arm, float(rng.random() < 0.03)


def constants(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return (1.0, 2.0, 3.0, 2.0)[arm], (1.0, 1.0, 3.0, 1.0)[arm]


def heavy(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return rng.pareto(1.3), 0.3 * rng.pareto(2.1 + 0.3 * arm)


def on_a_line(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    cost = rng.exponential()
    return cost, (1 - 0.1 * arm) * cost + 0.01 * arm


def free(rng: np.random.Generator, arm: int) -> tuple[float, float]:
    return (0.0, rng.exponential(), 0.0, -0.5)[arm], rng.random()


TAPES = [gaussian, coins, lattice, refunds, losses, nothing, rarely, constants, heavy, on_a_line, free]


@pytest.mark.parametrize("tape", TAPES, ids=lambda tape: tape.__name__)
def test_choices_and_excess_equal_the_slow_twin(tape: Tape) -> None:
    """Step by step along the run of each policy; rounding may decide only where the twin says that it could."""
    slack = 0.0 if tape in (constants, nothing) else 1e-9  # all ties are exact there
    compared, of = 0, 0
    for seed, (policy, twin) in enumerate(EVERY):
        rng, memory, pulls = np.random.default_rng(seed), policy.memory(4), np.zeros(4, np.int64)
        samples: list[slow.Pairs] = [[] for _ in range(4)]
        for n in range(160):
            arm = best_by_excess(policy, memory, pulls)
            if n < 40 or n % 8 == 0:
                expected = slow.choose(samples, twin, slack)
                of, compared = of + 1, compared + expected.clear
                if expected.clear:
                    assert arm == expected.arm, (policy, n)
                    assert_excess(policy, memory, expected, (policy, n))
            cost, reward = tape(rng, arm)
            memory.observe(arm, cost, reward)
            samples[arm].append((cost, reward))
            pulls[arm] += 1
    assert compared > 0.6 * of


def assert_excess(policy: Any, memory: Pooled, expected: slow.Choice, where: Any) -> None:
    lead = memory.lead(expected.leader)
    for arm, value in expected.excess.items():
        found = policy.excess(memory.belief(arm), lead, lead)
        if value > 0 and isinstance(policy, KLRate) and policy.evidence == "sample":
            assert found > 0, where  # the sample form stops at the first value that is enough
        else:
            assert found == pytest.approx(value, rel=1e-9, abs=1e-9), (*where, arm)


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
    return Lead(edge(rng), spend, price, 5.0, *extremes, edge(rng, signed=False), size)


def edge_belief(rng: np.random.Generator) -> PooledBelief:
    pulls = int(rng.choice([1, 2, 7, 100, 10**4, 10**9]))
    pairs = np.array([[edge(rng), edge(rng)] for _ in range(7)])
    return PooledBelief(0, pulls, edge(rng), edge(rng), edge(rng, False), edge(rng, False), edge(rng), pairs)


@pytest.mark.parametrize("kind", [KLRate, Frugal])
def test_compiled_equals_interpreted_and_never_nan(kind: Any) -> None:
    """For beliefs and leads of every size and sign, whether samples could give them or not; one lead, or a box."""
    rng, excess, finite = np.random.default_rng(7), compiled(kind.excess), 0
    for n in range(6000):
        policy = [policy for policy in ALL if type(policy) is kind][n % (12 if kind is KLRate else 3)]
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


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_the_excess_of_a_box_is_a_lower_bound(policy: Any) -> None:
    """For all leads in it, with rates of either sign, and whatever the samples of the arm are."""
    rng, tight = np.random.default_rng(11), 0
    for _ in range(250):
        count = int(rng.choice([1, 2, 5, 40]))
        pairs = np.where(rng.random() < 0.3, 1.0, rng.normal(size=(count, 2))) * rng.uniform(0, 1, 2)
        pairs += rng.uniform((-0.2, -1), (2, 1))
        memory = policy.memory(1)
        for cost, reward in pairs.tolist():
            memory.observe(0, cost, reward)
        belief = memory.belief(0)
        extremes = extremes_of(rng.uniform(-1, 2), *rng.uniform(-1, 3, 2).tolist())
        one = random_lead(rng, extremes)
        low, high = box(one, between(one, random_lead(rng, extremes), rng.choice([0.01, 1.0], len(one))))
        bound = policy.excess(belief, low, high)
        for _ in range(6):
            lead = between(low, high, rng.choice([0.0, 1.0, rng.random()], len(low)))
            value = policy.excess(belief, lead, lead)
            assert bound <= value + 1e-9, (belief, low, high, lead)
            tight += math.isfinite(value) and value - bound < 0.1
    assert tight > 100  # a bound of −∞ would not do


def random_lead(rng: np.random.Generator, extremes: Extremes) -> Lead:
    spend, price, spread, size = (rng.exponential(scale) for scale in (100.0, 1.0, 1.0, 1.0))
    return Lead(rng.normal(), spend, price, 5.0, *extremes, spread, size)


def between(one: Lead, other: Lead, weights: Array) -> Lead:
    return Lead(*(np.array(one) + weights * (np.array(other) - np.array(one))).tolist())


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


def test_a_value_that_is_enough_ends_the_search() -> None:
    pairs = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0], [3.0, 0.2]])
    every = sample_evidence(pairs, 4, 0.5, 1.0, 0.2, math.inf)
    first = sample_evidence(pairs, 4, 0.5, 1.0, 0.2, 0.01)
    assert 0.01 < first < every
    assert first == pytest.approx(np.mean(np.log(1 - 0.2 * (pairs[:, 1] - 0.5 * pairs[:, 0]))), rel=1e-12)
    assert sample_evidence(pairs, 4, 0.5, 1.0, 0.2, 2 * every) == every


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


def test_small_shortfalls() -> None:
    for variance, bound in itertools.product((0.1, 1.0, 10.0), (0.3, 1.0, 10.0)):
        for m in (1e-2, 1e-3, 1e-4):
            ratio = closed_evidence(m, variance, bound) / (m * m / (2 * variance))
            assert abs(ratio - 1.0) < m * (bound / variance + 1 / bound)
        assert gaussian_evidence(1e-4, variance) / (1e-8 / (2 * variance)) == pytest.approx(1.0, abs=1e-6)


SIZES = st.floats(1e-9, 1e9)


@given(m=SIZES, v=st.one_of(st.just(0.0), SIZES), bound=SIZES, more=st.floats(1.0, 1e3) | st.floats(1.0, 1.0 + 1e-6))
@settings(max_examples=400, deadline=None)
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


def test_evidence_at_its_edges() -> None:
    for shortfall in (0.0, -1.0):
        assert closed_evidence(shortfall, 1.0, 1.0) == gaussian_evidence(shortfall, 1.0) == 0.0
    assert closed_evidence(1.0, 1.0, 0.0) == closed_evidence(1.0, 1.0, -2.0) == gaussian_evidence(1.0, 0.0) == math.inf
    assert closed_evidence(1.0, 1e300, 1.0) == pytest.approx(0.0, abs=1e-12)
    assert closed_evidence(1.0, 1.0, math.inf) == 0.0


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


def allowed(chance: float, runs: int) -> float:
    """How many of the runs may fail: more do with probability below 1e-6 if each does with this chance."""
    return float(stats.binom.isf(1e-6, runs, chance))


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


SCALE_FREE: list[Any] = [*ALL, Fieller(), Fieller(0.25, form="plugin")]
Taped = list[slow.Pairs]  # of each arm


def taped(tape: Tape, seed: int) -> Taped:
    rng = np.random.default_rng(seed)
    return [[tape(rng, arm) for _ in range(100)] for arm in range(4)]


def scaled(samples: Taped, cost: float, reward: float) -> Taped:
    return [[(x * cost, r * reward) for x, r in pairs] for pairs in samples]


def in_units(policy: Any, reward: float) -> Any:
    given = policy.arguments().get("reward_bound")
    return policy if given is None else policy._replace(reward_bound=given * reward)


def decide(policy: Any, memory: Any, pulls: Any, n: int) -> int:
    if hasattr(policy, "score"):
        return best_by_score(policy, memory, pulls, log_of(n))
    return best_by_excess(policy, memory, pulls)


def choices(policy: Any, samples: Taped, path: list[int] | None = None, end: int = 100) -> list[int]:
    """What the policy chooses, along its own path or along another's."""
    memory, pulls, chosen = memory_of(policy, len(samples)), np.zeros(len(samples), np.int64), []
    for n in range(end):
        chosen.append(decide(policy, memory, pulls, n))
        arm = chosen[-1] if path is None else path[n]
        memory.observe(arm, *samples[arm][pulls[arm]])
        pulls[arm] += 1
    return chosen


@pytest.mark.parametrize("tape", [gaussian, coins, refunds, losses, heavy, free], ids=lambda tape: tape.__name__)
def test_units_change_no_choice(tape: Tape) -> None:
    """By powers of two none at all, from 1e-15 to 1e15; by others none that is not a tie to 1e-12."""
    for seed, policy in enumerate(SCALE_FREE):
        samples = taped(tape, seed)
        path = choices(policy, samples)
        assert len(set(path)) > 1
        for cost, reward in ((2.0**10, 1.0), (1.0, 2.0**10), (2.0**50, 2.0**-50), (2.0**-50, 2.0**50)):
            assert choices(in_units(policy, reward), scaled(samples, cost, reward)) == path, (policy, cost, reward)
        for cost, reward in ((1e3, 1.0), (1.0, 1e3), (1e15, 1e-15), (1e-15, 1e15)):
            other = choices(in_units(policy, reward), scaled(samples, cost, reward), path)
            for n in range(len(path)):
                assert other[n] == path[n] or tied(policy, samples, path[:n], other[n], path[n]), (policy, n)


def tied(policy: Any, samples: Taped, path: list[int], one: int, other: int) -> bool:
    """Whether after these pulls a difference of 1e-12 could change the choice between two arms."""
    seen = [samples[arm][: path.count(arm)] for arm in range(4)]
    if not hasattr(policy, "score"):
        return not slow.choose(seen, EVERY[ALL.index(policy)][1], slack=1e-12).clear
    memory = memory_of(policy, 4)
    for arm in range(4):
        for pair in seen[arm]:
            memory.observe(arm, *pair)
    scores = [policy.score(memory.belief(arm), log_of(len(path))) for arm in (one, other)]
    return math.isclose(*scores, rel_tol=1e-12)


def counts(policy: Any, law: Callable[[int, int], tuple[float, float]], arms: int, end: int) -> list[int]:
    """The pulls of each arm, where law(arm, k) is its k-th sample."""
    memory, pulls = policy.memory(arms), np.zeros(arms, np.int64)
    for _ in range(end):
        arm = best_by_excess(policy, memory, pulls)
        memory.observe(arm, *law(arm, int(pulls[arm])))
        pulls[arm] += 1
    return [int(count) for count in pulls]


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_edges(policy: Any) -> None:
    assert counts(policy, lambda arm, k: (1.0, 0.5), 1, 20) == [20]
    assert choices(policy, taped(gaussian, 0), end=4) == [0, 1, 2, 3]
    assert counts(policy, lambda arm, k: (2.0, 0.7), 4, 40) == [10] * 4  # alike: ties to the least spend, then index
    assert counts(policy, lambda arm, k: (0.5 + k % 2, k % 3), 3, 90) == [30] * 3
    assert counts(policy, lambda arm, k: (-1.0, 0.1 * k), 2, 60) == [30] * 2
    apart = counts(policy, lambda arm, k: (1.0, 1.0 + arm), 3, 400)  # never varies: 1, 2 and 3 for the same cost
    assert apart[2] > 370
    assert min(counts(policy, lambda arm, k: (0.0, 0.0), 3, 90)) == 30
    dead = counts(policy, lambda arm, k: (1.0, float(arm)) if arm else (1.0, 0.0), 2, 300)
    assert dead[0] < 20


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_while_nothing_pays_spend_is_equalised(policy: Any) -> None:
    """Frugal counts a dearer arm's spend for less, by the power ¾ of its cost."""
    prices = np.array([1.0, 4.0, 16.0])
    spend = np.array(counts(policy, lambda arm, k: (prices[arm], 0.0), 3, 300)) * prices
    if isinstance(policy, Frugal):
        spend /= prices**0.75
    assert spend.max() - spend.min() <= prices.max()


def test_the_first_thirty_pulls_of_a_free_arm() -> None:
    """Arms that have cost nothing in all come first, 30 times each, whatever they pay."""
    memory, pulls = Pooled.empty(3), np.zeros(3, np.int64)
    for arm in [0, 1, 2, *([0, 1] * 29)]:
        assert without_price(memory, pulls) == arm
        memory.observe(arm, *((0.0, 5.0), (-1.0, -5.0), (1.0, 0.5))[arm])
        pulls[arm] += 1
    assert pulls.tolist() == [30, 30, 1]
    assert without_price(memory, pulls) == 3
    memory.observe(1, 40.0, 0.0)  # it has a price now
    assert memory.belief(1).mean_cost > 0
    assert without_price(memory, pulls) == 3


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_a_free_arm_that_pays_nothing_is_not_pulled_for_ever(policy: Any) -> None:
    pulls = counts(policy, lambda arm, k: (0.0, 0.0) if arm else (1.0, float(k % 2)), 2, 1000)
    assert pulls[1] < 300


def test_the_leader_and_who_is_next() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        arms = int(rng.integers(1, 6))
        memory, pulls = Pooled.empty(arms), np.zeros(arms, np.int64)
        for arm in range(arms):
            for _ in range(int(rng.integers(1, 4))):
                memory.observe(arm, float(rng.choice([1.0, 2.0])) if pulls[arm] == 0 else 2.0, rng.choice([0.0, 1.0]))
                pulls[arm] += 1
        leads = [memory.lead(arm) for arm in range(arms)]
        order = sorted(range(arms), key=lambda k: (-leads[k].rate, leads[k].spend, pulls[k], k))
        rates = [leads[k].rate for k in order]
        assert leader_of(memory, pulls) == (order[0], rates[1] if arms > 1 else -math.inf)


def test_what_is_enough() -> None:
    """Nothing speaks against an arm of the leader's rate, so that its excess is what would be enough, less than 0."""
    memory = Pooled.empty(5)
    memory.observe(0, 1.0, 1.0)
    for ahead in (0.01, 3.0, 9.9, 10.1, 20.0):
        lead = memory.lead(0)._replace(spend=math.exp(ahead))
        dearer = lead._replace(price=math.exp(-2.0), spend=math.exp(ahead - 1.5))
        expected: dict[Any, float] = {
            KLRate("plus"): math.log(1 + math.exp(ahead) / 5),
            KLRate("half"): max(ahead / 2, ahead - 5),
            KLRate("one"): ahead,
            Frugal(): max(0.3 * ahead, ahead - 7),
            Frugal(0.2, 0.5): max(0.2 * ahead, ahead - 0.5),
        }
        for policy, enough in expected.items():
            assert policy.excess(memory.belief(0), lead, lead) == pytest.approx(-enough, rel=1e-12)
        assert Frugal().excess(memory.belief(0), dearer, dearer) == pytest.approx(-expected[Frugal()], rel=1e-12)


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


def test_a_reward_above_the_bound_takes_its_place() -> None:
    rng = np.random.default_rng(9)
    told, learnt = KLRate(reward_bound=0.5), KLRate(reward_bound=3.0)
    memory = told.memory(2)
    for arm, reward in ((0, 3.0), (0, 1.0), (1, 0.1), (0, 2.0), (1, 0.3)):
        memory.observe(arm, rng.uniform(0.5, 1.5), reward)
    lead = memory.lead(0)
    assert told.excess(memory.belief(1), lead, lead) == learnt.excess(memory.belief(1), lead, lead)
    assert learnt.excess(memory.belief(1), lead, lead) > KLRate(reward_bound=4.0).excess(memory.belief(1), lead, lead)


REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (KLRate, {"schedule": "two"}, "schedule of KLRate must be one of plus, half, one; got 'two'"),
    (KLRate, {"schedule": 0}, "schedule of KLRate must be one of plus, half, one; got 0"),
    (KLRate, {"evidence": "all"}, "evidence of KLRate must be one of closed, sample; got 'all'"),
    (KLRate, {"evidence": None}, "evidence of KLRate must be one of closed, sample; got None"),
    (KLRate, {"reward_bound": 0}, "reward_bound of KLRate must be > 0; got 0"),
    (KLRate, {"reward_bound": math.inf}, "reward_bound of KLRate must be a finite number > 0; got inf"),
    (Frugal, {"slope": 0.0}, "slope of Frugal must be > 0 and ≤ 1; got 0.0"),
    (Frugal, {"slope": 1.5}, "slope of Frugal must be > 0 and ≤ 1; got 1.5"),
    (Frugal, {"slope": "1"}, "slope of Frugal must be a finite number > 0 and ≤ 1; got '1'"),
    (Frugal, {"delay": -1}, "delay of Frugal must be ≥ 0; got -1"),
    (Frugal, {"delay": math.nan}, "delay of Frugal must be a finite number ≥ 0; got nan"),
    (Frugal, {"reward_bound": -2.0}, "reward_bound of Frugal must be > 0; got -2.0"),
]


@pytest.mark.parametrize(("kind", "given", "message"), REFUSED, ids=[message for *_, message in REFUSED])
def test_one_sentence_for_a_bad_parameter(kind: Callable[..., Any], given: dict[str, Any], message: str) -> None:
    with pytest.raises(BadParameter) as caught:
        kind(**given)
    assert str(caught.value) == message


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_policies_are_values(policy: Any) -> None:
    for twin in (eval(repr(policy)), pickle.loads(pickle.dumps(policy)), copy.deepcopy(policy), policy._replace()):
        assert twin == policy
        assert type(twin) is type(policy)
        assert hash(twin) == hash(policy)
        assert repr(twin) == repr(policy)
    assert type(policy)(**policy.arguments()) == policy
    assert [other for other in ALL if other == policy] == [policy]
    assert all(type(value) in (float, int, bool) for value in policy)


def test_fields_are_spoken_of_by_their_names() -> None:
    assert repr(KLRate("one", "sample", 2)) == "KLRate(schedule='one', evidence='sample', reward_bound=2.0)"
    assert KLRate()._replace(schedule="half", reward_bound=1.0) == KLRate("half", reward_bound=1.0)
    assert KLRate(reward_bound=1.0)._replace(reward_bound=None) == KLRate()
    assert repr(Frugal(reward_bound=2)) == "Frugal(slope=0.3, delay=7.0, reward_bound=2.0)"
    assert Frugal(reward_bound=2)._replace(slope=1, reward_bound=None) == Frugal(1.0) != Frugal()
