"""Problems: what is true of them, how they are read, and what they refuse."""

import copy
import math
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

from outlay import arms, policies, simulate, theory
from outlay.arms import Bernoulli, Constant, Empirical, Gaussian, Linear, Pareto, Problem, Uniform
from outlay.errors import BadParameter, UnknownArm

PROBLEM = Problem(
    [Gaussian(1.0, 0.9, 0.5, 0.2, 0.5), Bernoulli(0.5, 0.6), Uniform(-2.0, 4.0, -3.0, 1.0), Constant(0.5, 0.6)],
    names=["a", "b", "c", "d"],
)


class Coin(NamedTuple):
    chances: np.ndarray

    def draw(self, rng):
        return 1.0, 1.0 if rng.random() < self.chances[0] else 0.0

    def moments(self):
        return 1.0, self.chances[0], 0.0, self.chances[0] * (1 - self.chances[0]), 0.0


class Odd(NamedTuple):
    """A user's law with whatever moments it is given."""

    values: tuple[Any, ...]

    def draw(self, rng):
        return 1.0, 1.0

    def moments(self):
        return self.values


class Twin(Odd):
    """Another law with the same fields."""


def test_properties():
    np.testing.assert_array_equal(PROBLEM.mean_costs, [1.0, 0.5, 1.0, 0.5])
    np.testing.assert_array_equal(PROBLEM.mean_rewards, [0.9, 0.6, -1.0, 0.6])
    np.testing.assert_allclose(PROBLEM.rates, [0.9, 1.2, -1.0, 1.2])
    np.testing.assert_allclose(PROBLEM.gaps, [0.3, 0.0, 2.2, 0.0], atol=1e-15)
    assert PROBLEM.best == 1  # the first of two
    assert PROBLEM.rate == pytest.approx(1.2)
    assert len(PROBLEM) == 4
    second = PROBLEM.second_moments()
    np.testing.assert_allclose(second["var_cost"], [0.25, 0.25, 3.0, 0.0])
    np.testing.assert_allclose(second["var_reward"], [0.04, 0.24, 4 / 3, 0.0])
    np.testing.assert_allclose(second["cov"], [0.05, 0.0, 0.0, 0.0])


def test_rates_that_only_rounding_parts_are_ties():
    problem = Problem([Constant(0.1, 0.3), Constant(1, 3), Constant(1, 3 - 1e-9)])
    assert problem.best == 0
    assert problem.gaps[:2].tolist() == [0.0, 0.0]
    assert problem.rates[0] == problem.rates[1] == problem.rate
    assert problem.gaps[2] == pytest.approx(1e-9)
    losing = Problem([Constant(1, -3), Constant(0.1, -0.3), Constant(1, -3.1)])
    assert losing.gaps[:2].tolist() == [0.0, 0.0]
    assert losing.best == 0
    assert Problem([Constant(1, 0), Constant(1, -1e-300)]).gaps.tolist() == [0.0, 1e-300]


def test_arrays_are_contiguous_floats_and_read_only():
    second = PROBLEM.second_moments()
    for array in (PROBLEM.mean_costs, PROBLEM.rates, PROBLEM.gaps, second["var_cost"], second["cov"]):
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert PROBLEM.rates is PROBLEM.rates


def test_bounds():
    assert PROBLEM.bounds() == {"cost_bound": math.inf, "reward_bound": math.inf}
    bounded = Problem(PROBLEM.arms[1:])
    assert bounded.bounds() == {"cost_bound": 4.0, "reward_bound": 3.0}
    assert Problem([Coin(np.array([0.5]))]).bounds()["cost_bound"] == math.inf


def test_default_names_and_repr():
    problem = Problem([Constant(1, 2), Constant(1, 3)])
    assert problem.names == ("arm 0", "arm 1")
    assert repr(problem) == "Problem([Constant(cost=1.0, reward=2.0), Constant(cost=1.0, reward=3.0)])"
    assert eval(repr(PROBLEM), vars(arms)) == PROBLEM
    assert "<88 more>" in repr(Problem([Constant(1, 2)] * 100))


def test_values_compare_hash_and_cannot_change():
    twin = Problem(list(PROBLEM.arms), list(PROBLEM.names))
    assert twin == PROBLEM
    assert hash(twin) == hash(PROBLEM)
    assert Problem(PROBLEM.arms) != PROBLEM
    assert Problem(PROBLEM.arms[::-1], PROBLEM.names) != PROBLEM
    assert PROBLEM != "PROBLEM"
    coins = [Problem([Coin(np.array([chance]))]) for chance in (0.5, 0.5, 0.6)]
    assert coins[0] == coins[1] != coins[2]
    assert hash(coins[0]) == hash(coins[1])
    for copied in (copy.deepcopy(PROBLEM), pickle.loads(pickle.dumps(PROBLEM))):
        assert copied == PROBLEM
        assert not copied.rates.flags.writeable
    lines = [Problem([Linear(Coin(np.array([chance])), 1.0)]) for chance in (0.5, 0.5, 0.6)]
    assert lines[0] == lines[1] != lines[2]
    assert hash(lines[0]) == hash(lines[1])
    assert Problem([Linear(Odd((1, 1, 1, 1, 0)), 1.0)]) != Problem([Linear(Twin((1, 1, 1, 1, 0)), 1.0)])
    with pytest.raises(AttributeError, match="cannot be changed"):
        PROBLEM.names = ("x",)
    with pytest.raises(AttributeError, match="cannot be changed"):
        del PROBLEM.arms


def test_a_free_arm_beside_a_paid_one_has_no_rate():
    problem = Problem([Constant(1, 1), Constant(0, 0), Constant(-1, 0)], ["paid", "skip", "refund"])
    assert problem.mean_costs.tolist() == [1.0, 0.0, -1.0]
    assert Problem.from_toml(problem.to_toml()) == problem
    assert "<th" in problem._repr_html_()
    assert "rate" not in problem._repr_html_()
    for read in ("rates", "rate", "best", "gaps"):
        with pytest.raises(BadParameter, match=r"^the mean cost of 'skip' of rates must be a finite number > 0; got 0"):
            getattr(problem, read)
    refusing: dict[str, Any] = {
        "simulate": lambda: simulate(problem, policies.RoundRobin(), budgets=[10.0], runs=1),
        "rates": lambda: theory.rates(problem),
        "lower_bound": lambda: theory.lower_bound(problem),
        "upper_bound": lambda: theory.upper_bound(problem, policies.UCBB2(1, 1), 10.0),
        "optimality": lambda: theory.optimality(problem, 10.0),
        "optimal_policy": lambda: theory.optimal_policy(problem, 10.0),
    }
    for owner, call in refusing.items():
        with pytest.raises(
            BadParameter, match=f"^the mean cost of 'skip' of {owner} must be a finite number > 0.*; got 0"
        ):
            call()


ONE = [Constant(1, 1)]
BAD = [
    ([], None, "arms of Problem must be a sequence of at least one law; got []"),
    (3, None, "arms of Problem must be a sequence of laws; got 3"),
    (Constant(1, 1), None, "arms of Problem must be a sequence of laws; got Constant(cost=1.0, reward=1.0)"),
    ([Gaussian(0, 1, 1, 1)], None, "the mean cost of 'arm 0' of Problem must be a finite number > 0; got 0.0"),
    ([Odd((1, math.nan, 1, 1, 0))], None, "the mean reward of 'arm 0' of Problem must be a finite number; got nan"),
    (
        [Odd((1, 1, -1, 1, 0))],
        None,
        "the variances of 'arm 0' of Problem must be ≥ 0, with a covariance; got (-1.0, 1.0, 0.0)",
    ),
    (
        [Odd((1, 1, 0.1, 0.1, -5))],
        None,
        "the covariance of 'arm 0' of Problem must be within ±√(Var(cost)·Var(reward)) = ±0.1; got -5.0",
    ),
    ([Odd((1, 1, 1, 1, "x"))], None, "the moments of 'arm 0' of Problem must be five numbers; got (1, 1, 1, 1, 'x')"),
    (ONE, ["a", "b"], "names of Problem must be 1, as many as arms; got 2"),
    (ONE * 2, ["a", "a"], "name 1 of Problem must be unlike the others; got 'a'"),
    (ONE, ["a\nb"], "name 0 of Problem must be a string, not blank and without control characters; got 'a\\nb'"),
]


@pytest.mark.parametrize(("laws", "names", "sentence"), BAD)
def test_bad_problems_are_refused_in_one_sentence(laws, names, sentence):
    with pytest.raises(BadParameter) as error:
        Problem(laws, names)
    assert str(error.value) == sentence


def test_covariances_at_their_limit_are_legal():
    almost = math.nextafter(1.0, 0.0)
    for law in (
        Gaussian(1, 1, 0.1, 0.3, 1),
        Gaussian(1, 1, 1e-170, 1, 1),  # whose variance of the cost underflows
        Bernoulli(almost, almost, 1),
        Bernoulli(1 - 1e-12, 1 - 1e-12, 1),
        Linear(Pareto(1, 1, 1.5), -2),
        Odd((1, 1, math.inf, 0, 7)),
        Empirical(np.linspace(1e9, 1e9 + 1, 1000), np.linspace(1e9, 1e9 + 1, 1000)),
    ):
        assert len(Problem([law])) == 1


def test_laws_are_read_by_position_and_by_name():
    assert [PROBLEM[i] for i in range(4)] == list(PROBLEM) == list(PROBLEM.arms)
    assert PROBLEM[-1] is PROBLEM["d"] is PROBLEM.arms[3]
    assert PROBLEM[np.int64(1)] is PROBLEM["b"]
    assert "a" in PROBLEM
    assert "e" not in PROBLEM
    assert Constant(0.5, 0.6) in PROBLEM
    assert Constant(0.5, 0.7) not in PROBLEM
    assert Coin(np.array([0.5])) in Problem([Coin(np.array([0.5]))])
    assert None not in PROBLEM


UNKNOWN = [
    (4, "it has 4 arms, counted from 0"),
    ("e", "it has 4 arms, of other names"),
    ("A", "it has 4 arms, of other names (did you mean a?)"),
]


@pytest.mark.parametrize(("arm", "known"), UNKNOWN)
def test_an_unknown_arm_is_refused_in_one_sentence(arm, known):
    with pytest.raises(UnknownArm) as error:
        PROBLEM[arm]
    assert str(error.value) == f"there is no arm {arm!r} in this problem: {known}"
    assert error.value.arm == arm
