"""ContextualProblem: what it can bring by a linear program, what is drawn from it, and what is refused."""

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import outlay
from outlay import policies, simulate
from outlay.arms import ContextualProblem, Problem, support_of
from outlay.arms.contextual import AnyRequest
from outlay.engine.oracle import trace
from outlay.errors import BadParameter, NotCovered, OutlayError
from outlay.testing import LawContract

X, COSTS, REWARDS = [[0.0], [1.0]], [[1.0, 2.0], [1.0, 3.0]], [[0.2, 0.9], [0.3, 0.4]]


def by_linear_program(problem: ContextualProblem, budget: float, requests: float) -> float:
    """Shares of requests that are served, in each row by each arm; rows come up as often as each other."""
    costs, rewards = problem.table.costs, problem.table.rewards
    rows, arms = costs.shape
    shares = np.zeros((rows, rows * arms + 1))  # Σ over arms of a row = what is served of it: the same of all rows
    for row in range(rows):
        shares[row, row * arms : (row + 1) * arms] = 1.0
    shares[:, -1] = -1.0 / rows
    limits = [(0, None)] * (rows * arms) + [(0, 1)]
    found = linprog(
        [*-rewards.ravel(), 0.0], A_ub=[[*costs.ravel(), 0.0]], b_ub=[budget / requests],
        A_eq=shares, b_eq=np.zeros(rows), bounds=limits,
    )  # fmt: skip
    return -float(found.fun or 0.0) * requests


@pytest.mark.parametrize("seed", range(12))
def test_what_is_attainable_is_a_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    rewards = rng.normal(size=shape) if seed % 2 else rng.integers(0, 3, shape) / 2.0
    problem = ContextualProblem(np.zeros((shape[0], 1)), rng.uniform(0.1, 2.0, shape), rewards)
    for c in (0.01, 0.2, 0.7, 3.0):
        expected = by_linear_program(problem, 100 * c, 100)
        assert problem.attainable(100 * c, 100) == pytest.approx(expected, abs=1e-9)
    assert problem.attainable(7.0, math.inf) == pytest.approx(by_linear_program(problem, 7.0, 1e7), rel=1e-6, abs=1e-6)


def test_where_requests_are_alike_it_is_the_fluid_optimum() -> None:
    plain = Problem([outlay.arms.Constant(0.1, 0.3), outlay.arms.Constant(0.4, 0.6), outlay.arms.Constant(1.0, 0.9)])
    problem = ContextualProblem(np.zeros((3, 2)), [plain.mean_costs] * 3, [plain.mean_rewards] * 3)
    for c in (0.05, 0.25, 0.7, 2.0):
        assert problem.attainable(c, 1) == pytest.approx(outlay.theory.fluid(plain, c, 1).value)


NOISY = AnyRequest([1.0, 3.0], [0.2, 0.9], cost_noise=0.5, reward_noise=0.1)
COIN = AnyRequest([1.0, 3.0], [0.2, 0.9], coin=1.0)


class TestNoisy(LawContract):
    law = NOISY


class TestCoin(LawContract):
    law = COIN


@pytest.mark.parametrize("law", [NOISY, COIN])
def test_moments_are_those_of_draws(law: Any) -> None:
    rng = np.random.default_rng(1)
    x, r = np.array([law.draw(rng) for _ in range(40_000)]).T
    moments = law.moments()
    assert (x.mean(), r.mean()) == pytest.approx(moments[:2], abs=0.03)
    assert (x.var(), r.var(), np.cov(x, r)[0, 1]) == pytest.approx(moments[2:], rel=0.05)
    box = support_of(law)
    assert box.cost_low <= x.min()
    assert x.max() <= box.cost_high
    assert box.reward_low <= r.min()
    assert r.max() <= box.reward_high


def test_policies_that_do_not_look_play_its_arms() -> None:
    """Fixed arms earn their means over all requests, which is what a plain problem of such arms gives."""
    problem = ContextualProblem(X, COSTS, REWARDS, cost_noise=0.2, coin=True)
    result = simulate(problem, policies.Fixed(1), budgets=[1e6], requests=2000, runs=20)
    assert result.reward.mean() / 2000 == pytest.approx(0.65, abs=0.01)
    assert result.cost.mean() / 2000 == pytest.approx(2.5, abs=0.03)
    steps = list(trace(problem, policies.Fixed(1), 1e6, 0, 3, requests=2000))
    assert sum(step.reward for step in steps) == result.reward[0, 3, 0]
    assert result.oracle_reward.mean() / 2000 == pytest.approx(0.65, abs=0.01)


@pytest.mark.soak  # a compilation of its own
def test_without_a_number_of_requests_money_alone_is_scarce() -> None:
    problem = ContextualProblem(X, COSTS, REWARDS)
    result = simulate(problem, policies.LinearRation(features=1), budgets=[900.0], runs=3)
    assert result.attainable == pytest.approx([900 * problem.price(1, math.inf)])
    assert (result.run_regret() < 0.1 * result.attainable).all()


def test_it_is_compared_copied_and_never_changed() -> None:
    problem = ContextualProblem(X, COSTS, REWARDS, names=["a", "b"])
    again = pickle.loads(pickle.dumps(problem))
    assert again == problem == ContextualProblem(X, COSTS, REWARDS, names=["a", "b"])
    assert hash(again) == hash(problem)
    assert problem != ContextualProblem([[0.0], [2.0]], COSTS, REWARDS, names=["a", "b"])
    assert problem != Problem(problem.arms, problem.names)
    assert repr(problem) == "<ContextualProblem: 2 requests with 1 features, 2 arms>"
    with pytest.raises(ValueError, match="read-only"):
        problem.table.features[0, 0] = 1.0
    with pytest.raises(NotCovered, match=r"^a ContextualProblem is not written to files"):
        problem.to_toml()


TABLE = "a table of finite numbers: a row for each request; got"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"features": [1.0, 2.0]}, f"features of ContextualProblem must be {TABLE}"),
        ({"features": [["a"], ["b"]]}, f"features of ContextualProblem must be {TABLE}"),
        ({"features": [[math.nan], [0.0]]}, f"features of ContextualProblem must be {TABLE} nan"),
        ({"costs": []}, f"costs of ContextualProblem must be {TABLE}"),
        ({"costs": [[1.0], [1.0, 2.0]]}, f"costs of ContextualProblem must be {TABLE}"),
        ({"costs": [[1.0, 2.0]]}, "costs of ContextualProblem must be 2 rows, as many as features; got 1"),
        (
            {"rewards": [[1.0], [2.0]]},
            r"rewards of ContextualProblem must be of shape \(2, 2\), as costs; got \(2, 1\)",
        ),
        ({"coin": 1}, "coin of ContextualProblem must be True or False; got 1"),
        ({"coin": True, "rewards": [[1.5, 0.0]] * 2}, "rewards of .* must be probabilities, from 0 to 1.*; got 1.5"),
        ({"cost_noise": 2.0}, "cost_noise of ContextualProblem must be ≥ 0 and ≤ 1; got 2"),
        ({"names": ["a"]}, "names of Problem must be 2, as many as arms; got 1"),
    ],
)
def test_what_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(BadParameter, match=said):
        ContextualProblem(**({"features": X, "costs": COSTS, "rewards": REWARDS} | change))


def test_limits_are_above_zero() -> None:
    problem = ContextualProblem(X, COSTS, REWARDS)
    for given, said in (((0.0, 5), "budget of .* must be > 0; got 0"), ((5.0, 0), "requests of .* must be > 0; got 0")):
        with pytest.raises(BadParameter, match=said):
            problem.attainable(*given)
    with pytest.raises(NotCovered, match="not read from files"):
        ContextualProblem.from_toml("")


def test_results_are_not_saved(tmp_path: Any) -> None:
    problem = ContextualProblem(X, COSTS, REWARDS)
    result = simulate(problem, policies.Fixed(1), budgets=[9.0], requests=5, runs=2)
    with pytest.raises(OutlayError, match="not written to files"):
        result.save(tmp_path / "result.parquet")
