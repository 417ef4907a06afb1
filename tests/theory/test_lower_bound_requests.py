"""The lower bound with requests: its two ends, the inside of edges, vertices, and what is not covered."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import optimize
from tests.theory.divergence_laws import LAWS

from outlay.arms import Bernoulli, Constant, Discrete, Gamma, Gaussian, Pareto, Problem, catalogue
from outlay.errors import BadParameter, NotCovered
from outlay.theory import divergence, fluid, lower_bound, request_gaps
from outlay.theory.fluid_optimum import bend

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


@pytest.mark.parametrize("more", [(0.2, 0.6), (3 * 0.1, 3 * 0.3), (0.7 * 0.3, 0.7 * 0.9), (0.1 / 0.3, 1.0)])
@pytest.mark.parametrize("requests", [1000, math.inf])
def test_rounding_does_not_leave_the_first_edge(more, requests):
    """Several arms on one ray from the origin: a request is worth exactly 0, and the bound is the paper's."""
    wanted = lower_bound(Problem([Constant(0.1, 0.3), ODD]))
    for pair in ([Constant(0.1, 0.3), Constant(*more)], [Constant(*more), Constant(0.1, 0.3)]):
        problem = Problem([*pair, ODD])
        found = fluid(problem, 150.0, requests)
        assert (found.worth, found.low) == (0.0, None)
        assert found.price == pytest.approx(3.0)
        assert lower_bound(problem, budget=150.0, requests=requests) == pytest.approx(wanted)


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


@pytest.mark.parametrize("name", LAWS)
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


def test_beside_a_vertex_it_is_another_bound():
    """Prices jump there. At the vertex better laws have more to beat, so the bound is at most the larger beside it."""
    below, at, above = (lower_bound(PROBLEM, budget=400.0 + more, requests=1000) for more in (-1e-3, 0.0, 1e-3))
    assert below != pytest.approx(above, rel=0.01)
    assert 0 < at < max(below, above)


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


def test_where_no_arm_has_a_gap_it_is_the_number_0():
    line = Problem([Constant(0.1, 0.3), Constant(0.2, 0.6)])
    for bound in (lower_bound(line), lower_bound(line, budget=150.0, requests=1000)):
        assert isinstance(bound, float)
        assert bound == 0.0


def test_not_covered():
    wild = Problem([Pareto(1.0, 1.0, 1.5, 3.0), Constant(0.5, 0.2)], names=["wild", "tame"])
    with pytest.raises(NotCovered, match="it is for arms of finite variances, and arm 'wild' has none"):
        lower_bound(wild, budget=1.0, requests=2)
    tied = Problem([*ARMS, Gamma(0.5, 0.1, 0.001, 0.0002, 0.5)])
    with pytest.raises(NotCovered, match="no lower bound for arm 'arm 5': its law is a correlated Gamma of shape"):
        lower_bound(tied, budget=250.0, requests=1000)


def test_bad_use_is_one_sentence():
    cases: list[tuple[dict[str, Any], str]] = [
        ({"requests": 10}, "budget of lower_bound must be a number where there are requests; got None"),
        ({"budget": -1.0, "requests": 10}, "budget of lower_bound must be > 0; got -1.0"),
        ({"budget": -3, "requests": math.inf}, "budget of lower_bound must be > 0; got -3"),
        ({"budget": "x"}, "budget of lower_bound must be a finite number > 0; got 'x'"),
        (
            {"budget": math.inf, "requests": math.inf},
            "requests of lower_bound must be finite where the budget is not; got inf",
        ),
        (
            {"budget": 1.0, "requests": 10, "sharp": False},
            "sharp of lower_bound must be True with requests: the paper prints no bound for them; got False",
        ),
    ]
    for arguments, sentence in cases:
        with pytest.raises(BadParameter) as refused:
            lower_bound(PROBLEM, **arguments)
        assert str(refused.value) == sentence
