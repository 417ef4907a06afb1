"""The terms of Theorem 2 of docs/kl-rate-regret.md, one by one, against the same formulas written out in loops."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from outlay.arms import AnyLaw, Bernoulli, Constant, Discrete, Problem
from outlay.policies import KLRate
from outlay.theory import upper_bound
from outlay.theory.upper import kl_rate_bound, mistakes
from outlay.theory.upper.kl_rate_bound import kl_rate_pulls

BEST = Discrete([0.0, 0.0, 1.0, 2.0], [0.5, 0.0, 1.5, 0.7], [0.2, 0.1, 0.4, 0.3])  # mean cost 1, mean reward 0.91
WORSE = Discrete([0.0, 1.0, 3.0], [0.1, 0.9, 0.4], [0.3, 0.5, 0.2])
OFTEN_FREE = Discrete([0.0, 1.0, 3.0], [0.02, 0.5, 0.4], [0.86, 0.1, 0.04])
ROWS = [(0.0, 0.5, 0.2), (0.0, 0.0, 0.1), (1.0, 1.5, 0.4), (2.0, 0.7, 0.3)]
RATE, BOUND, LARGEST = 0.6, 2.0, 3.0


@pytest.fixture
def few_kept(monkeypatch: pytest.MonkeyPatch) -> int:
    """So few samples kept that what is past them counts."""
    monkeypatch.setattr(kl_rate_bound, "KEPT_EXACTLY", 60)
    return 60


def test_what_is_read_of_an_arm() -> None:
    arm = kl_rate_bound._arm(BEST)
    assert arm[1:] == pytest.approx((1.0, 1.6, 0.3))  # E[X²] = 0.4 + 4·0.3
    assert arm.most(50.0) == pytest.approx(51.6)


def test_sums_from_30_on() -> None:
    """A base of 0.9995 leaves a rest after ten thousand terms, bounded by a geometric series; one above 1 no bound."""
    free = kl_rate_bound._FREE
    assert kl_rate_bound._summed(0.5, free) == pytest.approx(31 * 0.5**29, rel=1e-12)
    last = int(free[-1])
    terms, ratio = [0.9995**t for t in range(30, last + 1)], 0.9995 * (1 + 1 / last) ** 2
    rest = terms[-1] * ratio / (1 - ratio)
    assert rest > 1e-4 * math.fsum(terms)
    assert kl_rate_bound._summed(0.9995, np.ones(len(free))) == pytest.approx(math.fsum(terms) + rest, rel=1e-9)
    falling = 0.9995 + 1e-5 * (1 - np.arange(len(free)) / (len(free) - 1))
    terms = [float(base) ** t for base, t in zip(falling, range(30, last + 1), strict=True)]
    wanted = math.fsum(terms) + terms[-1] * ratio / (1 - ratio)
    assert kl_rate_bound._summed(falling, np.ones(len(free))) == pytest.approx(wanted, rel=1e-10)
    for base in (0.9999, 1.5):
        assert kl_rate_bound._summed(base, np.ones(len(free))) == math.inf


@pytest.mark.parametrize("largest", [3.0, 9.0])
@pytest.mark.parametrize(("law", "free", "paid"), [(BEST, 0.3, 0.2 * 0.5), (OFTEN_FREE, 0.86, 0.86 * 0.02)])
def test_the_best_arm_where_it_has_cost_nothing(
    few_kept: int, law: Discrete, free: float, paid: float, largest: float
) -> None:
    """Twice past the samples that are kept."""
    spend = times = 0.0
    for t in range(30, 4000):
        base = max(free, free * (1 + RATE * largest / (BOUND * math.sqrt(t))) - paid / BOUND)
        spend += largest * math.sqrt(t) * (t + 1) * base**t * (2 if t > few_kept else 1)
        times += free**t
    found = kl_rate_bound._freely(kl_rate_bound._arm(law), RATE, BOUND, largest)
    assert found == pytest.approx((spend, times), rel=1e-9, abs=0.0)


def tilted(theta: float, u: float, *, by_cost: bool) -> float:
    """γ(u), or ξ(u), at θ."""
    total = 0.0
    for x, r, p in ROWS:
        z = r - RATE * x
        total += p * (x if by_cost else 1.0) * (1 - u * z / BOUND) * math.exp(-theta * z)
    return total


def tilts() -> list[float]:
    z = [(r - RATE * x, p) for x, r, p in ROWS]
    return [t * sum(p * v for v, p in z) / sum(p * v * v for v, p in z) for t in kl_rate_bound._TILTS.tolist()]


def late(n: int) -> float:
    """The least over θ of what is added past n samples."""
    found = []
    for theta in tilts():
        first, last = (tilted(theta, u, by_cost=False) for u in (0.0, 1.0))
        xi = max(tilted(theta, u, by_cost=True) for u in (0.0, 1.0))
        if max(first, last) < 1:
            times = (n + 1) / (1 - first) + first / (1 - first) ** 2
            found.append((n + 1) * xi * max(first, last) ** (n - 1) * times)
    return min(found)


def test_what_mistakes_about_the_best_arm_cost(few_kept: int) -> None:
    """Lemma 3a by the worse end of each cell at its best θ, for each U; Lemma 3 is its U = 0, and the least γ(0)."""
    cells, found = kl_rate_bound._CELLS.tolist(), []
    z = [(r - RATE * x) / BOUND for x, r, _ in ROWS]
    pairs = [
        [tuple(max(tilted(theta, u, by_cost=cost) for u in ends) for cost in (False, True)) for theta in tilts()]
        for ends in itertools.pairwise(cells)
    ]
    for place in mistakes._WITHIN:
        within, total = cells[place], 0.0
        curvature = max(min(z) ** 2, (max(z) / (1 - within * max(z))) ** 2)
        for at, ((low, high), each) in enumerate(zip(itertools.pairwise(cells), pairs, strict=True)):
            if at < place:
                terms = [
                    xi / (within * (1 - g) ** 2) + xi * math.sqrt(2 * curvature * (1 + g) / math.pi) / (1 - g) ** 2.5
                    for g, xi in each
                    if g < 1
                ]
                total += min(terms) * (high - low)
            else:
                total += min(2 * xi / (1 - g) ** 3 for g, xi in each if g < 1) * (high - low) / (1 - within)
        found.append(total)
    least = min(tilted(theta, 0.0, by_cost=False) for theta in tilts())
    free = kl_rate_bound._freely(kl_rate_bound._arm(BEST), RATE, BOUND, LARGEST)
    sums, once = kl_rate_bound._lost(kl_rate_bound._arm(BEST), RATE, BOUND, LARGEST, 1.5, 1e9)
    assert sums.times == pytest.approx(least / (1 - least) + free.times, rel=1e-12)
    assert late(few_kept) > 0.01 * min(found)
    assert sums.spend == pytest.approx(1.5 * (min(found) + late(few_kept) + free.spend), rel=1e-9)
    assert min(found) < 0.96 * found[0]
    assert once.times < sums.times


@pytest.mark.parametrize(
    ("ends", "spend", "fine"),
    [((0.5, 0.3), (2.0, 1.0), True), ((0.3, 0.5), (1.0, 2.0), True), ((0.5, 1.05), (2.0, 1.0), False),
     ((0.5, 1.0), (2.0, 1.0), False)],
)  # fmt: skip
def test_what_is_added_past_the_samples_kept(
    few_kept: int, ends: tuple[float, float], spend: tuple[float, float], fine: bool
) -> None:
    """(n + 1)·ξ̄·γ̄^(n−1)·((n + 1)/(1 − γ(0)) + γ(0)/(1 − γ(0))²) at n = 60; nothing is said where γ̄ is 1 or more."""
    row = np.array([[ends[0], 0.4, 0.45, ends[1]]])
    found = kl_rate_bound._late(row, np.array([[spend[0], 1.5, 1.6, spend[1]]]))
    first, last = ends
    wanted = 61 * 2.0 * 0.5**59 * (61 / (1 - first) + first / (1 - first) ** 2)
    assert last < 1 or not fine
    assert found == (pytest.approx(wanted, rel=1e-12, abs=0.0) if fine else math.inf)


@pytest.mark.parametrize("budget", [1e-9, 300.0])
def test_what_it_takes_to_judge_an_arm(few_kept: int, budget: float) -> None:
    """Lemma 2: θ·level/−ln φ(θ) + 1/(1 − φ(θ)) and what is past the kept samples, at the best θ; a tiny level is 0."""
    more = 0.25
    rows = [(0.0, 0.1, 0.3), (1.0, 0.9, 0.5), (3.0, 0.4, 0.2)]  # WORSE: mean cost 1.1, E[X²] = 2.3
    w = [(min((r - RATE * x) / BOUND, 1.0), p) for x, r, p in rows]
    least = optimize.minimize_scalar(
        lambda u: -sum(p * math.log(1 - u * v) for v, p in w), bounds=(0, 1 - 1e-9), method="bounded"
    )
    square = 2.3 / 1.1**2
    level, cheap = math.log(2 * budget / 1.1) + more + 2e-5, 1 / (8 * square)
    found = []
    for theta in kl_rate_bound._POWERS.tolist():
        phi = sum(p * math.exp(-theta * math.log(1 - least.x * v)) for v, p in w)
        past = min(1.0, math.exp(theta * (level - math.log(few_kept))) * phi**few_kept) + math.exp(-few_kept * cheap)
        if phi < 1:
            once = theta * max(level, 0.0) / -math.log(phi) + 1 / (1 - phi)
            found.append(once + (budget / 1.1 + square) * past)
    wanted = min(found) + 1 / math.expm1(cheap) + 1 / 0.7
    arm = kl_rate_bound._arm(WORSE)
    assert kl_rate_bound._judged(arm, RATE, BOUND, budget, more) == pytest.approx(wanted, rel=1e-9)


SLACK: dict[Any, tuple[float, float]] = {"one": (0.0, 0.0), "half": (5.0, 0.0), "plus": (math.log(3), math.log(4 / 3))}


@pytest.mark.parametrize("schedule", SLACK)
def test_the_sum_of_the_terms(schedule: Any) -> None:
    """Theorem 2 for three arms, of which two have a gap; by hand from the terms above."""
    laws: list[AnyLaw] = [Bernoulli(0.1, 0.09, 0.1), OFTEN_FREE, Discrete([1.0, 2.0], [0.0, 0.3], [0.5, 0.5])]
    problem, policy, budget = Problem(laws), KLRate(schedule, "exact", BOUND), 1e9
    less, more = SLACK[schedule]
    arms, best = [kl_rate_bound._arm(law) for law in laws], 0.9
    found = kl_rate_pulls(problem, policy, budget)
    assert set(found) == {1, 2}
    for k in found:
        arm, own = arms[k], (0.0832 / 0.22, 0.1)[k - 1]
        freely = 0.0
        for other in (j for j in range(3) if j != k):
            for t in range(30, 4000):
                paid = math.exp(more) * LARGEST * math.sqrt(t) / arm.mean + arm.square
                freely += arms[other].free ** t * paid
        bounds = [arm.most(budget)]
        for share in kl_rate_bound._SHARES.tolist():
            rate = best - share * (best - own)
            lost = kl_rate_bound._lost(arms[0], rate, BOUND, LARGEST, math.exp(less + more), budget)
            missed = min(each.spend / arm.mean + each.times * (arm.square - 1) for each in lost)
            bounds.append(freely + missed + kl_rate_bound._judged(arm, rate, BOUND, budget, more))
        assert found[k] == pytest.approx(min(bounds), rel=1e-9)
        assert found[k] < bounds[0]
        assert freely > 1e-7 * found[k]


def test_rates_to_judge_by_are_above_0() -> None:
    """An arm that loses has a gap above r*; rates below 0 need not be tried."""
    problem, budget = Problem([Bernoulli(0.5, 0.45), Discrete([1.0, 2.0], [-1.0, 0.3], [0.5, 0.5])]), 1e9
    best, arm = (kl_rate_bound._arm(law) for law in problem.arms)
    bounds = []
    for share in kl_rate_bound._SHARES.tolist():
        rate = 0.9 - share * 0.9
        lost = kl_rate_bound._lost(best, rate, BOUND, 2.0, 1.0, budget)
        missed = min(each.spend / arm.mean + each.times * (arm.square - 1) for each in lost)
        bounds.append(missed + kl_rate_bound._judged(arm, rate, BOUND, budget, 0.0))
    found = kl_rate_pulls(problem, KLRate("one", "exact", BOUND), budget)
    assert found == {1: pytest.approx(min(bounds), rel=1e-4)}  # but for what 30 free pulls of a coin add


@pytest.mark.parametrize(("dear", "chance"), [(400.0, 1e-4), (100.0, 1e-6)])
def test_rare_and_dear(dear: float, chance: float) -> None:
    """Some θ are too large for a cost as rare as that, and are passed over."""
    rare = Discrete([0.1, dear], [0.1, 0.1], [1 - chance, chance])
    found = kl_rate_pulls(Problem([rare, WORSE]), KLRate("one", "exact", BOUND), 1e12)
    assert 0 < found[1] < 1e12


def test_no_more_than_the_budget_buys() -> None:
    problem = Problem([BEST, WORSE])
    assert kl_rate_pulls(problem, KLRate("one", "exact", BOUND), 2.0) == {1: pytest.approx(2.0 / 1.1 + 2.3 / 1.1**2)}


def test_pulls_become_regret() -> None:
    """Gap times mean cost times pulls; where the budget binds, the largest gap first, of B and one largest cost."""
    problem, policy = Problem([BEST, WORSE, Discrete([1.0, 2.0], [0.0, 0.3], [0.5, 0.5])]), KLRate("one", "exact", 2.0)
    far, pulls = upper_bound(problem, policy, 1e12), kl_rate_pulls(problem, policy, 1e12)
    one, two = (0.91 - 0.56 / 1.1) * 1.1 * pulls[1], (0.91 - 0.1) * 1.5 * pulls[2]
    assert far.terms == {"arm 1": pytest.approx(one), "arm 2": pytest.approx(two)}
    assert far.value == pytest.approx(one + two)
    near = upper_bound(problem, policy, 2.0)  # arm 2 first: 2 + E[X²]/μ of 2 + 3, and 3 − 2.5/1.5 is left
    assert near.terms == {
        "arm 1": pytest.approx((0.91 - 0.56 / 1.1) * (3 - 2.5 / 1.5)),
        "arm 2": pytest.approx(0.81 * (2 + 2.5 / 1.5)),
    }


def test_outcomes_too_rare_for_every_tilt() -> None:
    """Where no θ has a γ(0) below 1 there is no bound on mistakes, and what the budget buys is left."""
    rare = Discrete([0.1, 30.0], [0.1, 0.1], [1 - 1e-8, 1e-8])
    points = kl_rate_bound._arm(rare)
    assert kl_rate_bound._lost(points, 0.988, 1.0, 30.0, 1.0, 1e6) == []
    found = kl_rate_pulls(Problem([rare, Bernoulli(0.5, 0.2)]), KLRate("one", "exact", 1.0), 1e6)
    assert 0 < found[1] < 2e6
    assert kl_rate_bound._lost(points, 0.43, 1.0, 30.0, 1.0, 1e6)
    huge = Problem([Discrete([0.1, 1e150], [0.1, 0.1], [1.0, 1e-152]), Constant(2.0, 0.1)])
    assert kl_rate_pulls(huge, KLRate("one", "exact", 1.0), 1e6) == {1: pytest.approx(1e6 / 2 + 1)}


def test_sums_too_large_for_a_number() -> None:
    """Terms that are numbers, and a sum that is none."""
    assert kl_rate_bound._summed(1.0 - 1e-9, np.full(len(kl_rate_bound._FREE), 1e307)) == math.inf
