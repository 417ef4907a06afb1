"""A budget and requests: the fluid optimum, gaps, the identity and the √N law, against enumeration."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from outlay.arms import Bernoulli, Constant, Discrete, Gaussian, Pareto, Problem
from outlay.errors import NotCovered
from outlay.theory import fluid, fluid_loss, fluid_regret, request_gaps
from outlay.theory.fluid_optimum import right_prices, vertex

Outcomes = list[tuple[int, float, float]]
Choice = Callable[[int, int], int]  # (pulls made, spent) → arm


class Means(NamedTuple):
    pulls: np.ndarray  # E[T_k]
    cost: float  # E[S]
    reward: float  # of what was drawn, not of E[R]


def problem_of(arms: list[Outcomes]) -> Problem:
    return Problem([Discrete(*map(list, zip(*arm, strict=True))) for arm in arms])


def played(arms: list[Outcomes], budget: int, requests: int, choose: Choice, hard: bool = False) -> Means:
    """What a policy does on average, from the chances of every state."""
    pulls, cost, reward = np.zeros(len(arms)), 0.0, 0.0
    chances = {0: 1.0}  # of what is spent
    for made in range(requests):
        after: dict[int, float] = {}
        for spent, chance in chances.items():
            arm = choose(made, spent)
            if spent > budget or (hard and max(x for x, _, _ in arms[arm]) > budget - spent):
                cost += chance * spent
                continue
            pulls[arm] += chance
            for x, r, p in arms[arm]:
                reward += chance * p * r
                after[spent + x] = after.get(spent + x, 0.0) + chance * p
        chances = after
    return Means(pulls, cost + sum(chance * spent for spent, chance in chances.items()), reward)


def optimum(arms: list[Outcomes], budget: int, requests: int) -> float:
    """The largest mean reward of any policy, by dynamic programming over (requests left, money left)."""
    most = max(abs(x) for arm in arms for x, _, _ in arm)
    room = most * requests + 1  # refunds may add up
    left = np.arange(-most, budget + room + most + 1)
    value = np.zeros(len(left))
    for _ in range(requests):
        best = np.full(len(left), -np.inf)
        for arm in arms:
            best = np.maximum(best, sum(p * (r + shifted(value, x)) for x, r, p in arm))
        value = np.where(left >= 0, best, 0.0)
    return float(value[most + budget])


def shifted(value: np.ndarray, cost: int) -> np.ndarray:
    """The values after spending `cost`; beyond the ends the nearest, which no path from the start reaches."""
    places = np.clip(np.arange(len(value)) - cost, 0, len(value) - 1)
    return np.asarray(value[places])


THREE = Problem([Constant(0.1, 0.3), Constant(0.4, 0.6), Constant(1.0, 0.9)])
FREE = Problem([Constant(0.0, 0.2), Constant(0.5, 0.8), Constant(-0.2, 0.1)])


@pytest.mark.parametrize(
    ("problem", "c", "value", "price", "worth", "low", "high", "share"),
    [
        (THREE, 0.05, 0.15, 3.0, 0.0, None, 0, 0.5),
        (THREE, 0.25, 0.45, 1.0, 0.2, 0, 1, 0.5),
        (THREE, 0.7, 0.75, 0.5, 0.4, 1, 2, 0.5),
        (THREE, 2.0, 0.9, 0.0, 0.9, 2, None, 0.0),
        (THREE, 0.1, 0.3, 1.0, 0.2, 0, 1, 0.0),
        (THREE, 0.4, 0.6, 0.5, 0.4, 1, 2, 0.0),
        (FREE, 0.1, 0.4, 1.0, 0.3, 2, 1, 3 / 7),
        (FREE, 0.4, 0.7, 1.0, 0.3, 2, 1, 6 / 7),
        (FREE, 0.6, 0.8, 0.0, 0.8, 1, None, 0.0),
    ],
)
@pytest.mark.parametrize("requests", [1, 1000])
def test_exact_values(problem, c, value, price, worth, low, high, share, requests):
    found = fluid(problem, c * requests, requests)
    assert found[:3] == pytest.approx((value, price, worth), abs=1e-14)
    assert (found.low, found.high) == (low, high)
    assert found.share == pytest.approx(share, abs=1e-14)


def test_without_a_limit_to_requests_it_is_the_papers_problem():
    rng = np.random.default_rng(1)
    for _ in range(50):
        problem = Problem([Constant(*pair) for pair in rng.exponential(1.0, (8, 2))])
        found = fluid(problem, 7.0, math.inf)
        assert found == (0.0, problem.rate, 0.0, None, problem.best, 0.0)
        wanted = problem.mean_costs * problem.gaps
        np.testing.assert_allclose(request_gaps(problem, 7.0, math.inf), wanted, rtol=1e-9, atol=1e-14)
        assert fluid(problem, 7.0, 1e12)[1:5] == found[1:5]


def test_without_a_limit_to_money_it_is_the_classical_bandit():
    for problem, best in ((THREE, 0.9), (FREE, 0.8)):
        found = fluid(problem, math.inf, 1000)
        assert (found.value, found.price, found.worth, found.share) == (best, 0.0, best, 0.0)
        np.testing.assert_allclose(request_gaps(problem, math.inf, 1000), best - problem.mean_rewards)
        assert fluid_loss(problem, math.inf, 1000) == 0.0


def test_gaps_that_only_rounding_parts_from_0_are_0():
    line = Problem([Constant(x, 0.1 + x / 3) for x in (0.1, 0.2, 0.3, 0.7, 1.1)])
    assert not request_gaps(line, 0.5, 1).any()
    assert vertex(line, 0.3, 1) is None  # on the line, and no bend
    for reward in np.linspace(0.3, 1.3, 60):  # an arm that refunds and brings hardly anything
        assert not request_gaps(Problem([Constant(-0.3, 1e-6), Constant(0.7, reward)]), 0.1, 1).any()
    lower = Problem([*line.arms, Constant(0.5, 0.1 + 0.5 / 3 - 1e-9)])
    assert request_gaps(lower, 0.6, 1)[-1] == pytest.approx(1e-9, rel=1e-5)


@pytest.mark.parametrize("requests", [2997, 3000])
def test_a_vertex_is_one_where_only_rounding_parts_c_from_it(requests):
    problem = Problem([Constant(0.1, 0.3), Constant(0.2, 0.6), Constant(0.9, 0.85)])
    found = fluid(problem, 0.2 * requests, requests)
    assert found[:3] == pytest.approx((0.6, 0.25 / 0.7, 0.6 - 0.05 / 0.7))
    assert (found.low, found.high) == (1, 2)
    assert found.share == pytest.approx(0.0, abs=1e-14)
    assert request_gaps(problem, 0.2 * requests, requests).tolist() == [pytest.approx(0.3 - 0.025 / 0.7), 0.0, 0.0]
    assert vertex(problem, 0.2 * requests, requests) == 1


CHEAP: Outcomes = [(0, 0.0, 0.3), (1, 1.0, 0.5), (2, 0.0, 0.2)]
DEAR: Outcomes = [(1, 0.0, 0.2), (3, 2.5, 0.5), (4, 1.0, 0.3)]
ODD: Outcomes = [(-1, 0.5, 0.2), (2, -1.0, 0.3), (5, 2.0, 0.5)]
SKIP: Outcomes = [(0, 0.0, 1.0)]
RULES = {
    "in turn": lambda made, spent: made % 4,
    "by what is left": lambda made, spent: 0 if 40 - spent < 3 * (25 - made) else 1,
    "odd": lambda made, spent: (made * made + 3 * spent) % 4,
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("budget", "requests"), [(40, 25), (15, 25), (10, 40), (90, 25), (200, 25)])
@pytest.mark.parametrize("hard", [False, True])
def test_the_identity_holds_exactly(rule, budget, requests, hard):
    """Against what was drawn: costs and rewards are correlated, and the last pull may pass the budget."""
    arms = [CHEAP, DEAR, ODD, SKIP]
    problem, means = problem_of(arms), played(arms, budget, requests, RULES[rule], hard)
    regret = fluid_regret(problem, budget, requests, means.pulls, means.cost)
    assert float(regret.total) == pytest.approx(requests * fluid(problem, budget, requests).value - means.reward)
    assert float(regret.unserved + regret.unspent + regret.gaps) == pytest.approx(float(regret.total))
    assert regret.unserved >= 0 <= regret.gaps
    assert not hard or regret.unspent >= 0
    assert means.cost == pytest.approx(means.pulls @ problem.mean_costs)  # Wald
    assert float(fluid_regret(problem, budget, requests, means.pulls).total) == pytest.approx(float(regret.total))


NOISY = [
    [(0, 0.0, 0.5), (2, 0.8, 0.5)],
    [(1, 0.5, 0.5), (3, 1.0, 0.5)],
    [(3, 0.0, 0.25), (5, 1.2, 0.75)],
]


@pytest.mark.parametrize("c", [0.5, 1.5, 3.25, 6.0])
def test_inside_an_edge_the_optimum_stays_within_a_constant(c):
    problem = problem_of(NOISY)
    lost = [n * fluid(problem, c * n, n).value - optimum(NOISY, int(c * n), n) for n in (40, 80, 160)]
    assert max(lost) < 1.2
    assert abs(lost[2] - lost[1]) < 0.15
    assert fluid_loss(problem, c * 10_000, 10_000) < 1e-3


@pytest.mark.parametrize(("arm", "c"), [(0, 1), (1, 2)])
def test_at_a_vertex_it_grows_with_the_root_of_n(arm, c):
    """The exact optimum loses √N times the constant, but for a bounded term: the increments agree to a few percent."""
    problem = problem_of(NOISY)
    assert vertex(problem, c * 10, 10) == arm
    lost = {n: n * fluid(problem, c * n, n).value - optimum(NOISY, c * n, n) for n in (100, 400)}
    wanted = fluid_loss(problem, 400.0 * c, 400) - fluid_loss(problem, 100.0 * c, 100)
    assert lost[400] - lost[100] == pytest.approx(wanted, rel=0.08)


def test_beside_a_vertex_the_term_fades():
    """√N·(φ(z) − |z|Φ(−|z|)), against the exact optimum at one standard deviation from the vertex."""
    problem, n, c = problem_of(NOISY), 400, 2
    at, near = (fluid_loss(problem, b, n) for b in (c * n, c * n + 20))  # σ√N = 20
    assert near / at == pytest.approx((0.24197 - 0.15866) * math.sqrt(2 * math.pi), rel=1e-4)
    exact = [n * fluid(problem, b, n).value - optimum(NOISY, b, n) for b in (c * n, c * n + 20)]
    assert exact[0] - exact[1] == pytest.approx(at - near, rel=0.15)


def test_the_loss_of_known_costs_and_of_wild_ones():
    assert fluid_loss(THREE, 0.4, 1) == 0.0
    wild = Problem([Pareto(1.0, 1.0, 1.5), Constant(2.0, 1.5)])
    with pytest.raises(NotCovered, match="finite variance, and arm 'arm 0' has none"):
        fluid_loss(wild, 10.0, 10)
    assert fluid_loss(FREE, 1.0, 10) == 0.0
    twins = Problem([Gaussian(0.4, 0.6, 0.3, 0.1), Gaussian(0.4, 0.6, 0.2, 0.5), Constant(1.0, 0.9)])
    steady = Problem(twins.arms[1:])  # who knows the means pulls the steadier of two
    assert fluid_loss(twins, 400.0, 1000) == fluid_loss(steady, 400.0, 1000) > 0
    gaussian = Problem([Gaussian(0.1, 0.3, 0.1, 0.1), Bernoulli(0.4, 0.6)])
    half = (3.0 - 1.0) * 0.1 * math.sqrt(100 / (2 * math.pi))
    assert fluid_loss(gaussian, 10.0, 100) == pytest.approx(half, rel=1e-3)


def test_the_price_of_less_money_and_that_of_more():
    """At a vertex: the lines along the edges on both sides; the last has nothing to buy with more."""
    assert right_prices(THREE, 0.25, 1) == [pytest.approx((1.0, 0.2))]
    wanted = {0.1: [(3.0, 0.0), (1.0, 0.2)], 0.4: [(1.0, 0.2), (0.5, 0.4)], 1.0: [(0.5, 0.4), (0.0, 0.9)]}
    for c, pairs in wanted.items():
        assert right_prices(THREE, c, 1) == [pytest.approx(pair) for pair in pairs]
    assert right_prices(THREE, 0.1, 1)[0].worth == 0.0  # not what rounding leaves of 0.3 − 3·0.1
