"""The lower bound, with requests and without: closed forms, vertices of the hull, Lemma 4, policies that meet it."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from tests.theory.divergence_laws import LAWS

import outlay
from outlay.arms import (
    Bernoulli,
    Constant,
    Discrete,
    Exponential,
    Gaussian,
    Problem,
    catalogue,
    support_of,
)
from outlay.errors import BadParameter, NotCovered
from outlay.policies import Fieller, FiellerKnown
from outlay.theory import divergence, lower_bound, optimal_policy, request_gaps
from outlay.theory.arm_rates import cost_table, suboptimal
from outlay.theory.fluid_optimum import bend


def searched(law: Gaussian, rate: float) -> float:
    """D* by minimising over the cone {cost ≥ 0, reward ≥ rate·cost}: points s·(1, rate) + t·(0, 1), s, t ≥ 0."""
    cov = law.correlation * law.cost_sd * law.reward_sd
    root = np.linalg.cholesky(np.linalg.inv([[law.cost_sd**2, cov], [cov, law.reward_sd**2]])).T
    edges = np.array([[1.0, 0.0], [rate, 1.0]])
    _, distance = optimize.nnls(root @ edges, root @ [law.cost, law.reward])
    return distance**2 / 2


def test_corner_of_the_cone():
    """The example of a closed form (.804) that would leave the model: the minimum is .921."""
    law = Gaussian(1.0, 0.5, 1.0, 1.0, 0.9)
    closed_form = (1.0 * 1.5) ** 2 / (2 * 1.4)
    assert closed_form == pytest.approx(0.804, abs=5e-4)
    assert divergence(law, 2.0) == pytest.approx(0.921, abs=5e-4)
    assert divergence(law, 2.0) == pytest.approx(searched(law, 2.0), rel=1e-9)
    problem = Problem([Gaussian(1.0, 2.0, 1.0, 1.0), law])
    assert lower_bound(problem) == pytest.approx(1.5 / (0.35 / 0.38))


@settings(max_examples=300)
@given(
    cost=st.floats(0.1, 5),
    reward=st.floats(-3, 5),
    cost_sd=st.floats(0.05, 3),
    reward_sd=st.floats(0.05, 3),
    correlation=st.floats(-0.95, 0.95),
    more=st.floats(0.01, 4),
)
def test_agrees_with_search(cost, reward, cost_sd, reward_sd, correlation, more):
    law = Gaussian(cost, reward, cost_sd, reward_sd, correlation)
    rate = reward / cost + more
    assert divergence(law, rate) == pytest.approx(searched(law, rate), rel=1e-6)


def test_gaussian_corollary_and_the_printed_half():
    arms = [Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.2, 0.96, 0.6, 0.5), Gaussian(0.8, 0.56, 0.4, 0.5)]
    problem = Problem(arms)
    sigma2 = [0.25 + (1.0 * sd) ** 2 for sd in (0.6, 0.4)]
    wanted = 2 * sigma2[0] / (1.2 * 0.2) + 2 * sigma2[1] / (0.8 * 0.3)
    assert lower_bound(problem) == pytest.approx(wanted)
    assert lower_bound(problem, sharp=False) == pytest.approx(wanted / 2)
    assert isinstance(lower_bound(problem), float)


def test_arms_that_need_no_exploring_add_nothing():
    best = Gaussian(1.0, 2.0, 0.5, 0.5)
    assert lower_bound(Problem([best])) == 0.0
    assert lower_bound(Problem([best, best])) == 0.0
    # reward − r*·cost is a constant: no law of the model with this covariance is harder to tell apart
    assert divergence(Gaussian(1.0, 1.0, 0.5, 1.0, 1.0), 2.0) == math.inf
    assert lower_bound(Problem([best, Gaussian(1.0, 1.0, 0.5, 1.0, 1.0)])) == 0.0
    assert lower_bound(Problem([best, Gaussian(1.0, 1.0, 0.0, 0.0)])) == 0.0


def test_another_model():
    problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5), Exponential(1.0, 0.5)])
    positive = 0.5 / divergence(problem.arms[2], 1.0)
    assert lower_bound(problem) == pytest.approx(2.0 + positive)
    unknown = 0.5 / (0.5 * math.log(1 + 0.5))
    assert lower_bound(problem, model="unknown covariance") == pytest.approx(unknown + positive)
    with pytest.raises(BadParameter, match=r"^model of lower_bound must be one that an arm has; got 'bounded'$"):
        lower_bound(problem, model="bounded")


ARMS = [
    Bernoulli(0.1, 0.3), Bernoulli(0.4, 0.6), Bernoulli(0.9, 0.85),  # on the hull
    Bernoulli(0.3, 0.4), Bernoulli(0.05, 0.1),
]  # fmt: skip
PROBLEM = Problem(ARMS)


@pytest.mark.parametrize("name", [name for name in catalogue.names() if name != "thousand-arms"])
def test_without_an_end_to_requests_it_is_the_papers(name):
    problem = catalogue.load(name)
    assert lower_bound(problem, budget=100.0, requests=math.inf) == lower_bound(problem)
    most = float(problem.mean_costs[problem.best])
    for share in (0.1, 0.9):  # inside the first edge: the same prices, up to rounding
        assert lower_bound(problem, budget=share * most, requests=1) == pytest.approx(lower_bound(problem), rel=1e-9)


def test_without_an_end_to_money_it_is_that_of_lai_and_robbins():
    """Σ Δ/kl(q, q*) for the rewards; the cost of a coin that is judged on its own need not change."""

    def kl(p: float, q: float) -> float:
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

    wanted = sum((0.85 - law.reward) / kl(law.reward, 0.85) for law in ARMS if law.reward < 0.85)
    for budget in (math.inf, 950.0):
        assert lower_bound(PROBLEM, budget=budget, requests=1000) == pytest.approx(wanted)
        assert lower_bound(PROBLEM, model="independent", budget=budget, requests=1000) == pytest.approx(wanted)


def test_inside_an_edge_every_arm_adds_its_gap_over_its_distance():
    price, worth = 1.0, 0.2
    gaps = request_gaps(PROBLEM, 250.0, 1000)
    assert gaps[:2].tolist() == [0.0, 0.0]
    wanted = sum(gaps[k] / divergence(ARMS[k], price, worth=worth) for k in (2, 3, 4))
    assert lower_bound(PROBLEM, budget=250.0, requests=1000) == pytest.approx(wanted)


ODD = Gaussian(0.5, -1.25, 2.8, 0.15, 0.8)  # its nearest better law would refund


def test_arms_that_cost_nothing():
    """A skip that is known adds nothing; a free arm that may be better adds its share."""
    base = lower_bound(PROBLEM, budget=250.0, requests=1000)
    assert lower_bound(Problem([*ARMS, Constant(0.0, 0.0)]), budget=250.0, requests=1000) == pytest.approx(base)
    free = Gaussian(0.0, 0.1, 0.2, 0.5)
    more = lower_bound(Problem([*ARMS, free]), budget=250.0, requests=1000) - base
    assert more == pytest.approx(0.1 / divergence(free, 1.0, worth=0.2))


def cone_distance(law: Gaussian, corner: tuple[float, float], before: float, after: float) -> float:
    """Half the squared distance to {reward ≥ corner + slopes·(cost − corner)}: nnls over the edges of the cone."""
    cov = law.correlation * law.cost_sd * law.reward_sd
    root = np.linalg.cholesky(np.linalg.inv([[law.cost_sd**2, cov], [cov, law.reward_sd**2]])).T
    edges = np.array([[1.0, -1.0, 0.0], [before, -after, 1.0]])
    _, distance = optimize.nnls(root @ edges, root @ (np.array([law.cost, law.reward]) - corner))
    return float(distance**2 / 2)


@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.6])
@pytest.mark.parametrize("at", [0.1, 0.4, 1.0])
def test_at_a_vertex_gaussians_are_as_far_as_the_cone(correlation, at):
    points = [(0.1, 0.3), (0.4, 0.6), (1.0, 0.9), (0.3, 0.2), (0.8, 0.5)]
    problem = Problem([Gaussian(x, r, 0.2, 0.3, correlation) for x, r in points])
    arm = [0.1, 0.4, 1.0].index(at)
    before, after = bend(problem, arm)
    ends = []
    for price in (before, after):
        worth = points[arm][1] - price * at
        total = 0.0
        for k, (x, r) in enumerate(points):
            if k != arm:
                distance = cone_distance(problem.arms[k], points[arm], before, after)  # type: ignore[arg-type]
                total += max(0.0, worth + price * x - r) / distance
        ends.append(total)
    assert lower_bound(problem, budget=at * 1000, requests=1000) == pytest.approx(max(ends), rel=1e-6)


def test_at_the_first_vertex_better_laws_may_refund():
    """The nearest law above both lines, {reward ≥ 1 + (cost − 1), reward ≥ 1 + (cost − 1)/2}, has a cost below 0."""
    problem = Problem([Constant(1.0, 1.0), Constant(3.0, 2.0), ODD])
    wanted = (0.5 + 0.5 * 0.5 + 1.25, 0.5 + 1.25)  # the gaps at the two ends of the prices
    distance = cone_distance(ODD, (1.0, 1.0), 1.0, 0.5)
    found = lower_bound(problem, budget=1000.0, requests=1000)
    assert found == pytest.approx(max(wanted) / distance, rel=1e-6)


def test_at_a_vertex_tables_are_as_far_as_both_constraints():
    """The primal with both half-planes, by SLSQP over the probabilities, against the largest dual of one."""
    vertex, left, right = Constant(0.5, 0.6), Constant(0.1, 0.3), Constant(1.0, 0.8)
    costs, rewards, p = np.array([0.2, 0.6, 0.9, 0.4]), np.array([0.0, 1.0, 0.4, 0.9]), np.array([0.4, 0.2, 0.3, 0.1])
    problem = Problem([vertex, left, right, Discrete(costs, rewards, p)])
    before, after = bend(problem, 0)
    rows = np.array([rewards - 0.6 - slope * (costs - 0.5) for slope in (before, after)])
    found = optimize.minimize(  # type: ignore[call-overload]
        lambda q: float(p @ np.log(p / q)),
        np.array([0.01, 0.48, 0.02, 0.49]),
        jac=lambda q: -p / q,
        bounds=[(1e-9, 1.0)] * 4,
        constraints=[{"type": "eq", "fun": lambda q: q.sum() - 1}, {"type": "ineq", "fun": lambda q: rows @ q}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    gaps = [0.6 - slope * 0.5 + slope * (p @ costs) - p @ rewards for slope in (before, after)]
    assert lower_bound(problem, budget=500.0, requests=1000) == pytest.approx(max(gaps) / found.fun, rel=1e-5)


@pytest.mark.parametrize("name", [name for name in LAWS if name != "Gamma, correlated"])  # a minute
def test_at_a_vertex_the_distance_is_that_of_the_worst_price(name):
    """No price between the two has a larger D: against a fine grid of them."""
    law = LAWS[name](1, 1)
    problem = Problem([Constant(0.5, 0.9), Constant(1.6, 1.5), Constant(4.0, 2.0), law])
    before, after = bend(problem, 1)
    prices = np.linspace(after, before, 101)
    worst = max(divergence(law, float(price), worth=1.5 - 1.6 * float(price)) for price in prices)
    cost, reward, *_ = law.moments()
    gap = max(1.5 + price * (cost - 1.6) - reward for price in (before, after))
    found = lower_bound(problem, budget=1600.0, requests=1000)
    assert found <= gap / worst * (1 + 1e-9)
    assert found == pytest.approx(gap / worst, rel=2e-3, abs=1e-12)


class Mine(NamedTuple):
    cost: float

    def draw(self, rng: Any) -> tuple[float, float]:
        return self.cost, 0.0

    def moments(self) -> tuple[float, float, float, float, float]:
        return self.cost, 0.0, 1.0, 1.0, 0.0

    def divergence(self, rate: float, worth: float = 0.0) -> float:
        return 0.5 * (rate * self.cost + worth) ** 2 / (1 + rate * rate)


def test_a_law_of_ones_own():
    problem = Problem([*ARMS[:3], Mine(0.3)])
    inside = lower_bound(problem, budget=250.0, requests=1000) - lower_bound(
        Problem(ARMS[:3]), budget=250.0, requests=1000
    )
    assert inside == pytest.approx(0.5 / Mine(0.3).divergence(1.0, 0.2))
    with pytest.raises(NotCovered, match="'arm 3': its law is Mine, whose own divergence is not for a vertex"):
        lower_bound(problem, budget=400.0, requests=1000)


class Measured(NamedTuple):
    """Regret in units of the sharp bound: its slope in ln B between two budgets, and its size at the larger."""

    slope: float
    stderr: float
    level: float


def measured(problem: Problem, runs: int, low: float, high: float) -> Measured:
    policy = FiellerKnown(**problem.second_moments())
    pulls = outlay.simulate(problem, policy, budgets=[low, high], runs=runs, seed=0).pulls[0]
    regret = pulls @ (problem.mean_costs * problem.gaps) / lower_bound(problem)
    slopes = (regret[:, 1] - regret[:, 0]) / math.log(high / low)
    return Measured(
        float(slopes.mean()),
        float(slopes.std(ddof=1)) / math.sqrt(runs),
        float(regret[:, 1].mean()) / math.log(high),
    )


@pytest.mark.soak  # thousands of long runs
def test_a_policy_at_the_sharp_bound():
    """False alarms: 3e-5 at the lower end if the slope were the bound itself, 1e-5 at the upper end.

    Measured with 200 runs, in units of the sharp bound: the slope is 1.34 ± 0.04 from 10⁴ to 10⁵ and 1.13 ± 0.04 from
    10⁵ to 10⁶, falling to 1, and regret at 10⁶ is 0.96 of the bound. The printed bound, 0.5 here, is not met.
    """
    found = measured(catalogue.load("gaussian5"), runs=40, low=1e5, high=1e6)
    assert found.stderr < 0.11
    assert found.slope > 1.0 - 4 * found.stderr
    assert found.slope > 0.5 + 4 * found.stderr
    assert found.slope < 1.5
    assert 0.8 < found.level < 1.15


def test_every_arm_is_pulled_as_often_as_lemma_5_asks():
    """E[T_k] grows by 1/D* per unit of ln B or more; false alarms below 2e-4 for the four arms together."""
    problem, runs = catalogue.load("strong-correlation"), 200
    policy = FiellerKnown(**problem.second_moments())
    pulls = outlay.simulate(problem, policy, budgets=[1e4, 1e5], runs=runs, seed=1).pulls[0]
    slopes = (pulls[:, 1] - pulls[:, 0]) / math.log(10.0)
    for k in suboptimal(problem):
        units = slopes[:, k] * divergence(problem.arms[k], problem.rate)
        stderr = units.std(ddof=1) / math.sqrt(runs)
        assert stderr < 0.15
        assert 1.0 - 4 * stderr < units.mean() < 2.2


@pytest.mark.parametrize(("name", "policy", "low", "high"), [
    ("gaussian5", "known", 0.75, 1.1),
    ("gaussian5", "student", 0.85, 1.25),
    ("gaussian5", "plugin", 0.55, 1.05),
    ("strong-correlation", "known", 1.0, 1.35),
    ("strong-correlation", "student", 1.9, 2.5),
    ("strong-correlation", "plugin", 0.85, 1.25),
])  # fmt: skip
def test_regret_in_units_of_the_sharp_bound(name: str, policy: Any, low: float, high: float) -> None:
    """At B = 10⁵, where knowing nothing costs little without correlation and a factor with it.

    Measured with 48 runs of another seed: 0.90, 1.03, 0.79, then 1.19, 2.16, 1.03, all ± 0.04. False alarms: below 1e-4
    for the six together, the limits being 5 standard errors of 60 runs away or more.
    """
    problem = catalogue.load(name)
    player = FiellerKnown(**problem.second_moments()) if policy == "known" else Fieller(form=policy)
    pulls = outlay.simulate(problem, player, budgets=[1e5], runs=60, seed=3).pulls[0, :, 0]
    units = pulls @ (problem.mean_costs * problem.gaps) / (lower_bound(problem, sharp=True) * math.log(1e5))
    assert units.std(ddof=1) / math.sqrt(60) < 0.05
    assert low < units.mean() < high


class Play(NamedTuple):
    """What a policy that looks only at what is left does with a budget, on average."""

    reward: float
    spent: float  # E[S_N]
    pulls: np.ndarray  # E[T_k(N)]
    last: np.ndarray  # P(I_N = k)


def play(problem: Problem, arm: np.ndarray) -> Play:
    """With j left, 0 ≤ j ≤ B, arm[j] is pulled until it costs something: forward, by the chance of having j left."""
    budget, arms = len(arm) - 1, len(problem)
    tables = [cost_table(law) for law in problem.arms]
    left = np.zeros(budget + 1)
    left[budget] = 1.0
    spent, pulls, last = 0.0, np.zeros(arms), np.zeros(arms)
    for j in range(budget, -1, -1):
        costs, chances = tables[arm[j]]
        paid = chances[costs > 0].sum()
        pulls[arm[j]] += left[j] / paid
        for cost, chance in zip(costs[costs > 0], chances[costs > 0] / paid, strict=True):
            spent += left[j] * chance * cost
            if cost > j:
                last[arm[j]] += left[j] * chance
            else:
                left[j - int(cost)] += left[j] * chance
    return Play(float(pulls @ problem.mean_rewards), spent, pulls, last)


def random_problem(rng: np.random.Generator) -> Problem:
    laws: list[Constant | Discrete] = [Constant(1.0, 0.3)]  # so that the lattice has step 1
    for _ in range(rng.integers(1, 5)):
        costs = rng.integers(1, rng.choice([3, 9, 30]), size=2).astype(float)
        laws.append(Discrete(costs, rng.uniform(0.2, 1.0) * costs, [0.5, 0.5]))
    return Problem(laws)


def test_regret_is_what_pulls_lose_less_what_is_spent_too_much():
    """E[REW] = r*E[S_N] − Σ Δ_kμ_kE[T_k(N)], so Reg ≥ Σ Δ_kμ_kE[T_k(N)] − r*(E[S_N] − B), and Lemma 4 follows from it.

    T_k(n₀) ≤ T_k(N) + the pulls of n₀ after N, of which there are n₀·P(N < n₀) ≤ n₀²μ₊/B = 2μ₊/μ_* at most.
    """
    rng, budget = np.random.default_rng(0), 120
    for _ in range(60):
        problem = random_problem(rng)
        best = optimal_policy(problem, float(budget))
        losses = problem.gaps * problem.mean_costs
        for arm in (best.arm, rng.integers(0, len(problem), size=budget + 1), np.full(budget + 1, problem.best)):
            found = play(problem, arm)
            lost = float(losses @ found.pulls)
            assert found.reward == pytest.approx(problem.rate * found.spent - lost)
            regret, overshoot = best.value[-1] - found.reward, found.spent - budget
            assert 0 < overshoot <= max(support_of(law).cost_high for law in problem.arms)
            assert regret >= lost - problem.rate * overshoot - 1e-9
            least, most = problem.mean_costs.min(), problem.mean_costs.max()
            first = early(problem, arm, math.ceil(math.sqrt(2 * budget / least)))
            late = most / least * (1 + math.sqrt(least / (2 * budget))) * losses.sum()
            assert regret >= losses @ first - late - problem.rate * overshoot - 1e-9
            assert losses @ first - lost <= late + 1e-9


def early(problem: Problem, arm: np.ndarray, pulls: int) -> np.ndarray:
    """E[T_k(n₀)], a policy that has spent its budget going on with the arm that loses most."""
    tables = [cost_table(law) for law in problem.arms]
    left, counts = np.zeros(len(arm)), np.zeros(len(problem))
    left[-1] = 1.0
    for _ in range(pulls):
        np.add.at(counts, arm, left)
        counts[int(np.argmax(problem.gaps * problem.mean_costs))] += 1.0 - left.sum()
        after = np.zeros(len(arm))
        for j in np.flatnonzero(left):
            for cost, chance in zip(*tables[arm[j]], strict=True):
                if cost <= j:
                    after[j - int(cost)] += left[j] * chance
        left = after
    return counts


def test_the_average_cost_of_the_last_arm_is_not_enough():
    """An arm of cost 1 beside one that costs 100 once in a hundred pulls: the optimum ends with the second, regret 0.

    Σ Δ_kμ_kE[T_k(N)] is 10; less r*φ = 1, as printed, 9; less the overshoot, 100, −90.
    """
    problem = Problem([Constant(1.0, 1.0), Discrete([0.0, 100.0], [0.0, 90.0], [0.99, 0.01])])
    best = optimal_policy(problem, 10.0)
    found = play(problem, best.arm)
    assert found.reward == pytest.approx(best.value[-1]) == pytest.approx(100.0)
    lost = float(problem.gaps * problem.mean_costs @ found.pulls)
    phi = float(found.last @ problem.mean_costs)
    assert (lost, phi, found.spent - 10.0) == pytest.approx((10.0, 1.0, 100.0))
    assert lost - problem.rate * phi == pytest.approx(9.0)  # "≤ regret", as printed; it is 0
    assert lost - problem.rate * (found.spent - 10.0) == pytest.approx(-90.0)
