"""The theorems of docs/kl-rate-regret.md: steps against brute force, regret below its bound, equal pulls not."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from benchmarks.kl_rate_regret import COINS, constants
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.theory.test_theorems_hold import BUDGETS, PROBLEMS

import outlay
from outlay.arms import Bernoulli, Discrete, Exponential, Gaussian, Problem, Uniform
from outlay.errors import NotCovered
from outlay.formulas.argmax import best_by_excess
from outlay.formulas.evidence import exact_evidence
from outlay.policies import Frugal, KLRate
from outlay.theory import kl_rate_bound, pull_bound, upper_bound
from outlay.theory.divergence_bounded import outcomes
from outlay.theory.kl_rate_bound import kl_rate_pulls

EXACT = KLRate("one", "exact", reward_bound=1.0)
CLEAR = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.1)])
GRID = {"clear": CLEAR, **{name: PROBLEMS[name] for name in ("H", "coins", "tied coins")}}


def equal_pulls(problem: Problem, budget: float) -> float:
    """At least this is the regret of pulling the arms in turn: at least B/Σμ rounds are begun, by Wald."""
    losses = problem.gaps * problem.mean_costs
    return float(losses.sum()) * (budget / float(problem.mean_costs.sum()) - 1.0)


@pytest.mark.parametrize("name", GRID)
def test_equal_pulls_do_not_stay_below(name: str) -> None:
    assert equal_pulls(GRID[name], BUDGETS[-1]) > 1.5 * upper_bound(GRID[name], EXACT, BUDGETS[-1]).value


@pytest.mark.soak  # a quarter of a million pulls that weigh thousands of samples
@pytest.mark.parametrize("name", GRID)
def test_regret_stays_below(name: str) -> None:
    """As far below as such bounds are: a failure is a defect, not chance."""
    problem = GRID[name]
    result = outlay.simulate(problem, EXACT, budgets=BUDGETS, runs=4, seed=1, workers=1)
    for i, budget in enumerate(BUDGETS):
        mean = result.pulls[0, :, i].mean(axis=0)
        assert mean @ (problem.gaps * problem.mean_costs) <= upper_bound(problem, EXACT, budget).value
        for arm, most in kl_rate_pulls(problem, EXACT, budget).items():
            assert mean[arm] <= most


@pytest.mark.soak  # a million pulls, forty times
def test_regret_in_units_of_its_constant() -> None:
    """Closed evidence on coins: 0.79 ± 0.05 of Theorem 3's constant per unit of ln B in twenty runs of another seed.

    False alarms: below 1e-5, the limits being more than 5 standard errors of 40 runs away.
    """
    constant = constants(COINS, 1.0)[1]
    pulls = outlay.simulate(COINS, KLRate("one", reward_bound=1.0), budgets=[1e4, 1e6], runs=40, seed=7).pulls[0]
    regret = pulls @ (COINS.gaps * COINS.mean_costs) / constant
    slopes = (regret[:, 1] - regret[:, 0]) / math.log(100.0)
    assert 0.6 < slopes.mean() < 1.0
    assert regret[:, 1].mean() < math.log(1e6)


def test_a_worse_arm_is_judged_at_the_sharp_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma 2: with all samples kept and a small ε, 1/K of the arm per unit of ln B, within the grid's few per cent."""
    monkeypatch.setattr(kl_rate_bound, "KEPT_EXACTLY", 10**9)
    law = Bernoulli(0.5, 0.25)
    low, high = (kl_rate_bound._judged(kl_rate_bound._arm(law), 0.999, 1.0, budget, 0.0) for budget in (1e150, 1e300))
    slope = (high - low) / (150 * math.log(10)) * outlay.theory.divergence(law, 1.0)
    assert 1.0 < slope < 1.05


def blocked(law: Bernoulli, rate: float, pulls: int) -> float:
    """E[H_t; A_t] by enumeration: how often each of the four outcomes came."""
    points = outcomes(law)
    z = points.rewards - rate * points.costs
    grid = np.linspace(0, 1, 20001)
    logs = np.log(np.maximum(1 - grid[:, None] * z, 1e-300))
    total = 0.0
    for counts in itertools.product(range(pulls + 1), repeat=4):
        if sum(counts) == pulls and np.dot(counts, z) < 0:
            chance = stats.multinomial.pmf(counts, pulls, points.probabilities)
            total += chance * np.dot(counts, points.costs) * math.exp((logs @ counts).max())
    return total


def test_lemma_3_by_enumeration() -> None:
    """What the best arm's mistakes cost, exactly: the bound is above the first eight terms, and not by any factor."""
    law, rate = Bernoulli(0.5, 0.5, 0.3), 0.4
    terms = [blocked(law, rate, pulls) for pulls in range(1, 9)]
    lost, _ = kl_rate_bound._lost(kl_rate_bound._arm(law), rate, 1.0, 1.0, 1.0, 1e6)
    assert 0.1 < sum(terms) < lost.spend < 60 * sum(terms)
    assert terms[-1] < terms[3]


SLACK: dict[Any, float] = {  # d + d' for three arms, with costs within a factor of 4
    EXACT: 0.0,
    KLRate("half", "sample", 1.0): 5.0,
    KLRate("plus", "closed", 1.0): math.log(3.0 + 1.0),
    Frugal(reward_bound=1.0): 7.0 + 0.75 * math.log(4.0),
}


@pytest.mark.parametrize("policy", SLACK, ids=repr)
def test_no_arm_is_pulled_far_past_another(policy: Any) -> None:
    """(3): the arm that is pulled has cost at most e^(d + d')·S·e^(T·K̂) of each other one."""
    rng, memory, pulls = np.random.default_rng(3), policy.memory(3), np.zeros(3, np.int64)
    samples: list[list[tuple[float, float]]] = [[], [], []]
    for _ in range(120):
        arm = best_by_excess(policy, memory, pulls)
        if pulls.all():
            spends = [sum(x for x, _ in pairs) for pairs in samples]
            rate = max(sum(r for _, r in pairs) / spend for pairs, spend in zip(samples, spends, strict=True))
            for other in range(3):
                pairs = np.array(samples[other])
                held = len(pairs) * exact_evidence(pairs, len(pairs), rate, 1.0, 0.5, math.inf)
                assert math.log(spends[arm]) <= SLACK[policy] + math.log(spends[other]) + held + 1e-5
        cost, reward = float(rng.uniform(0.5, 2.0)), float(rng.random() < (0.3, 0.6, 0.5)[arm])
        memory.observe(arm, cost, reward)
        samples[arm].append((cost, reward))
        pulls[arm] += 1


@pytest.mark.parametrize("policy", [Frugal(), Frugal(reward_bound=2.0), KLRate("one", reward_bound=2.0)], ids=repr)
def test_what_knows_no_bound_gives_an_arm_up_for_ever(policy: Any) -> None:
    """Two rewards of 0.4 from an arm that may pay 2 one time in ten: `Frugal()` does not ask for a third."""
    memory, pulls = policy.memory(2), np.zeros(2, np.int64)
    for _ in range(1500):
        arm = best_by_excess(policy, memory, pulls)
        memory.observe(arm, 1.0, 0.4 if arm == 0 else 0.5)
        pulls[arm] += 1
    assert pulls[0] <= 2 if policy == Frugal() else pulls[0] > 10


def test_a_score_below_the_rate_by_more_is_rare_enough() -> None:
    """Theorem 5: after n pulls in all the chance is at most σ²/(2m²·n·ln n), with α = 1; and at least a tenth of it."""
    for ratio in (0.05, 0.5, 2.0):  # m/σ
        for n in (2, 100, 10**6):
            steps = np.arange(1, int(100 / ratio**2) + 1)
            chance = stats.norm.sf(math.sqrt(2 * math.log(n)) + ratio * np.sqrt(steps)).sum()
            bound = 1 / (2 * ratio**2 * n * math.log(n))
            assert chance <= bound
            assert chance > 0.1 * bound or ratio > 0.05


NOT_COVERED: list[tuple[Problem, KLRate, str]] = [
    (CLEAR, KLRate("one", "sample", 1.0), "is about evidence='exact' with a reward_bound"),
    (CLEAR, KLRate("one", "exact"), "is about evidence='exact' with a reward_bound"),
    (CLEAR, KLRate("one", "exact", 0.5), "needs rewards ≤ 0.5, its reward_bound; those of 'arm 0' can be 1"),
    (Problem([Gaussian(1.0, 1.0, 0.1, 0.1)]), EXACT, "needs costs ≥ 0; those of 'arm 0' can be -inf"),
    (Problem([Uniform(1.0, 2.0, -2.0, -1.0)]), EXACT, "needs a best rate > 0; it is -1"),
    (Problem([Uniform(1.0, 2.0, -1.0, 1.0)]), EXACT, "needs a best rate > 0; it is 0"),
    (Problem([Exponential(1.0, 1.0)]), EXACT, "needs rewards ≤ 1, its reward_bound; those of 'arm 0' can be inf"),
]


@pytest.mark.parametrize(("problem", "policy", "sentence"), NOT_COVERED, ids=[sentence for *_, sentence in NOT_COVERED])
def test_not_covered(problem: Problem, policy: KLRate, sentence: str) -> None:
    with pytest.raises(NotCovered) as caught:
        upper_bound(problem, policy, 1000.0)
    assert str(caught.value) == f"the theorem on KLRate {sentence}"


def test_it_is_about_budgets_and_not_about_pulls() -> None:
    tables = Problem([Discrete([1.0], [1.0], [1.0]), Discrete([0.0, 1.0], [0.0, 0.5], [0.5, 0.5])])
    assert upper_bound(tables, EXACT, 1e6).theorem == "KL-rate, Theorem 2"
    with pytest.raises(NotCovered, match=r"^no theorem of the paper covers KLRate$"):
        pull_bound(tables, EXACT, 1, 1000)


UNIT = np.linspace(0.0, 1.0, 4001)


@settings(max_examples=300, deadline=None)
@given(
    z=st.lists(st.floats(-3.0, 1.0), min_size=1, max_size=60),
    copies=st.integers(1, 30),
    within=st.floats(0.01, 0.9),
)
def test_the_price_of_mixing(z, copies, within):
    """max L ≤ (1 + U√(2Qt/π))·mean over [0, U] if its place is below U, else (t + 1)·mean over [U, 1]; Σ z < 0."""
    assume(sum(z) < -1e-6)
    t = copies * len(z)
    logs = copies * np.log(np.maximum(1 - UNIT[:, None] * np.array(z), 1e-300)).sum(axis=1)
    top = int(np.argmax(logs))
    heights = np.exp(logs - logs[top])
    curvature = max(min(z) ** 2, (max(*z, 0.0) / (1 - within * max(*z, 0.0))) ** 2)
    part = (UNIT - within <= 0) if UNIT[top] < within else (UNIT - within >= 0)
    price = 1 + within * math.sqrt(2 * curvature * t / math.pi) if UNIT[top] < within else t + 1
    slack = 2 / part.sum()  # of a sum over a grid in place of a mean
    assert price * heights[part].mean() * 1.02 + slack >= 1.0


@pytest.fixture(scope="module")
def walks() -> tuple[np.ndarray, float]:
    """H_t where the best arm looks worse than 0.6, its rate being 1, for t up to 60, in 4000 runs."""
    points = outcomes(Bernoulli(0.5, 0.5))
    rng, rate = np.random.default_rng(8), 0.6
    drawn = rng.choice(len(points.costs), size=(4000, 60), p=points.probabilities)
    z, costs = (points.rewards - rate * points.costs)[drawn], np.cumsum(points.costs[drawn], axis=1)
    grid = np.linspace(0.0, 1.0, 201)
    logs = np.zeros((4000, len(grid)))
    values = np.zeros((4000, 60))
    for t in range(60):
        logs += np.log(np.maximum(1 - grid * z[:, t, None], 1e-300))
        values[:, t] = np.where(z[:, : t + 1].sum(axis=1) < 0, costs[:, t] * np.exp(logs.max(axis=1)), 0.0)
    return values, rate


@pytest.mark.parametrize("budget", [3.0, 100.0, 1e6])
def test_what_mistakes_cost(walks, budget):
    """Both bounds are above what is simulated, less 4 standard errors, and not by any factor."""
    values, rate = walks
    sums, once = kl_rate_bound._lost(kl_rate_bound._arm(Bernoulli(0.5, 0.5)), rate, 1.0, 1.0, 1.0, budget)
    summed, largest = values.sum(axis=1), np.minimum(budget, values.max(axis=1))
    for found, bound in ((summed, sums), (largest, once)):
        assert found.mean() - 4 * found.std() / math.sqrt(len(found)) < bound.spend
    assert sums.spend < 40 * summed.mean()
    if budget < 1e3:  # further on ln(B/a) is large
        assert once.spend < 150 * largest.mean()
    assert (values > 0).sum(axis=1).mean() < sums.times
    assert (values > 0).any(axis=1).mean() < once.times


@pytest.mark.parametrize(
    ("reward", "budget", "share"), [(0.3, 1e5, 0.07), (0.4, 1e6, 0.1), (0.425, 1e7, 0.07), (0.45, 1e7, 0.6)]
)
def test_it_bites_at_smaller_gaps_and_budgets(reward, budget, share):
    """Rates of 0.6, 0.8, 0.85 and 0.9 against 1: with Lemma 3 alone .15, 1, 1 and 1 of what the budget buys."""
    arms = [Bernoulli(0.5, 0.5), Bernoulli(0.5, reward)]
    pulls = kl_rate_pulls(Problem(arms), KLRate("one", "exact", 1.0), budget)[1]
    assert pulls < share * arms[1].cost ** -1 * budget


WORSE = Discrete([0.0, 1.0, 3.0], [0.1, 0.9, 0.4], [0.3, 0.5, 0.2])


def test_pulls_become_regret() -> None:
    """Gap times mean cost times pulls; where the budget binds, the largest gap first, of B and one largest cost."""
    best = Discrete([0.0, 0.0, 1.0, 2.0], [0.5, 0.0, 1.5, 0.7], [0.2, 0.1, 0.4, 0.3])  # mean cost 1, mean reward 0.91
    problem, policy = Problem([best, WORSE, Discrete([1.0, 2.0], [0.0, 0.3], [0.5, 0.5])]), KLRate("one", "exact", 2.0)
    far, pulls = upper_bound(problem, policy, 1e12), kl_rate_pulls(problem, policy, 1e12)
    one, two = (0.91 - 0.56 / 1.1) * 1.1 * pulls[1], (0.91 - 0.1) * 1.5 * pulls[2]
    assert far.terms == {"arm 1": pytest.approx(one), "arm 2": pytest.approx(two)}
    assert far.value == pytest.approx(one + two)
    near = upper_bound(problem, policy, 2.0)  # arm 2 first: 2 + E[X²]/μ of 2 + 3, and 3 − 2.5/1.5 is left
    assert near.terms == {
        "arm 1": pytest.approx((0.91 - 0.56 / 1.1) * (3 - 2.5 / 1.5)),
        "arm 2": pytest.approx(0.81 * (2 + 2.5 / 1.5)),
    }


@pytest.mark.parametrize(("dear", "chance"), [(400.0, 1e-4), (100.0, 1e-6), (30.0, 1e-8), (1e150, 1e-152)])
def test_rare_and_dear(dear: float, chance: float) -> None:
    """Some θ are too large for a cost as rare as that; where all are, what the budget buys is left."""
    rare = Discrete([0.1, dear], [0.1, 0.1], [1 - chance, chance])
    found = kl_rate_pulls(Problem([rare, WORSE]), KLRate("one", "exact", 2.0), 1e12)
    assert 0 < found[1] <= 1e12 / 1.1 + 2.3 / 1.1**2
