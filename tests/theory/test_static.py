"""Expected pulls of one arm: enumeration, simulation, renewal theory, and the bounds that always hold."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import outlay
from outlay import policies
from outlay.arms import (
    AnyLaw,
    Bernoulli,
    Constant,
    Discrete,
    Empirical,
    Exponential,
    Gamma,
    Gaussian,
    Linear,
    Lognormal,
    Pareto,
    Problem,
    StudentT,
    Uniform,
)
from outlay.checks import Vector
from outlay.errors import BadParameter
from outlay.theory import optimum as static
from outlay.theory.optimum import (
    decay,
    expected_pulls,
    expected_reward,
    find_lattice,
    lattice_pulls,
    overshoot_bound,
    solvable,
)

LAWS = [
    Discrete([1.0, 2.0, 5.0], [1.0, 0.0, 2.0], [0.5, 0.3, 0.2]),
    Discrete([0.0, 0.25, 0.75], [1.0, 0.0, 2.0], [0.2, 0.5, 0.3]),
    Discrete([-1.0, 2.0, 0.5], [0.1, 0.1, -3.0], [0.4, 0.4, 0.2]),
    Bernoulli(0.3, 0.5),
    Empirical([1.0, 1.5, 1.0, -0.5], [1.0, 2.0, 3.0, 4.0]),
    Exponential(2.0, 1.0),
    Gamma(2.0, 1.0, 1.0, 1.0),
    Gaussian(0.5, 1.0, 1.0, 0.5),
    Lognormal(1.0, 1.0, 1.0, 0.8),
    Linear(Bernoulli(0.5, 0.5), slope=1.0, noise=-1.0, noise_sd=0.5),
    StudentT(0.5, 0.4, 1.0, 0.5, 4.0),
]


def check(law: AnyLaw, budget: float, pulls: Vector, reward: Vector) -> None:
    """Sample means within 4 standard errors of the value, and of the interval between low and high."""
    for sample, wanted in ((pulls, expected_pulls(law, budget)), (reward, expected_reward(law, budget))):
        stderr = 4 * sample.std() / math.sqrt(len(sample))
        assert wanted.low - stderr <= sample.mean() <= wanted.high + stderr
        if wanted.method != "bounds":
            assert sample.mean() == pytest.approx(wanted.value, abs=stderr)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_agrees_with_drawn_pulls(law):
    """22 comparisons at 4 standard errors: a false alarm once in 700 seeds, and the seed is fixed."""
    rng, budget, runs = np.random.default_rng(3), 15.25, 1000
    totals = np.zeros((runs, 2))
    for total in totals:
        left = budget
        while left >= 0:
            cost, reward = law.draw(rng)
            left -= cost
            total += 1, reward
    check(law, budget, totals[:, 0], totals[:, 1])


@pytest.mark.parametrize("law", [LAWS[2], LAWS[7]], ids=lambda law: type(law).__name__)
def test_agrees_with_the_simulator(law):
    result = outlay.simulate(Problem([law]), policies.Fixed(0), budgets=[100.25], runs=4000, seed=7, progress=False)
    check(law, 100.25, result.pulls[0, :, 0, 0].astype(float), result.reward[0, :, 0])


def enumerated(costs: list[Fraction], chances: list[Fraction], left: Fraction) -> Fraction:
    """E[N] over every sequence of positive costs."""
    if left < 0:
        return Fraction(0)
    return 1 + sum((p * enumerated(costs, chances, left - x) for x, p in zip(costs, chances, strict=True)), Fraction(0))


@pytest.mark.parametrize("budget", ["0.05", "0.3", "0.7", "1.15"])
def test_recursion_is_enumeration(budget):
    law = Discrete([0.1, 0.25, 0.4], [1.0, 1.0, 1.0], [0.5, 0.25, 0.25])
    wanted = enumerated(
        [Fraction(1, 10), Fraction(1, 4), Fraction(2, 5)], [Fraction(1, 2), *[Fraction(1, 4)] * 2], Fraction(budget)
    )
    found = expected_pulls(law, float(budget))
    assert found.method == "exact"
    assert found.value == found.low == found.high == pytest.approx(float(wanted), rel=1e-13)


def test_decimal_costs_are_read_as_printed():
    """A budget of 0.3 holds three costs of 0.1, although 0.1 + 0.1 + 0.1 > 0.3 in floating point."""
    assert expected_pulls(Constant(0.1, 1.0), 0.3).value == 4.0
    assert expected_pulls(Discrete([0.1, 0.2], [1.0, 1.0], [1.0, 0.0]), 0.3).value == 4.0


def test_closed_forms_need_no_lattice_walk():
    assert expected_pulls(Constant(0.1, 1.0), 1e12).value == 1e13 + 1
    assert expected_pulls(Bernoulli(0.25, 1.0), 1e12).value == 4 * (1e12 + 1)
    assert expected_pulls(Gaussian(2.0, 1.0, 0.0, 1.0), 10.0).value == 6.0


def test_zero_costs_wait():
    """Costs 0 w.p. ½, 1 and 3 otherwise: twice the pulls of the law without the zeros."""
    with_zeros = Discrete([0.0, 1.0, 3.0], [1.0] * 3, [0.5, 0.25, 0.25])
    without = Discrete([1.0, 3.0], [1.0] * 2, [0.5, 0.5])
    assert expected_pulls(with_zeros, 17.0).value == pytest.approx(2 * expected_pulls(without, 17.0).value)


def test_negative_costs_are_within_their_error():
    """A random walk that steps −1 or +1: it cannot overshoot by more than one, so E[N] = (B + 1)/μ exactly."""
    found = expected_pulls(Discrete([-1.0, 1.0], [1.0, 1.0], [0.4, 0.6]), 25.0)
    assert found.value == pytest.approx(26 / 0.2, rel=1e-12)
    law = Discrete([-2.0, 1.0, 3.0], [1.0] * 3, [0.4, 0.3, 0.3])
    lattice = find_lattice([law], 20.0)
    assert lattice is not None
    truth, exact_error = lattice_pulls(lattice, 0, above=400)
    assert exact_error < 1e-12
    for above in (0, 1, 5, 20, 60):
        pulls, error = lattice_pulls(lattice, 0, above)
        assert 0 < np.abs(pulls - truth).max() <= error


def test_decay_is_the_root():
    """Steps of ±1 with mean > 0: e^θ = p/q."""
    lattice = find_lattice([Discrete([-1.0, 1.0], [1.0, 1.0], [0.25, 0.75]), Constant(1.0, 1.0)], 5.0)
    assert lattice is not None
    assert decay(lattice) == pytest.approx(math.log(3), rel=1e-8)


def test_long_lattices_are_expanded_with_their_step():
    """The arithmetic form of the expansion, checked where the recursion can still be run."""
    law = Discrete([1.0, 2.0, 5.0], [1.0] * 3, [0.5, 0.3, 0.2])
    exact, mean, square = expected_pulls(law, 900_000.5), 2.1, 6.7
    assert exact.method == "exact"
    assert exact.value == pytest.approx(900_000.5 / mean + square / (2 * mean**2), rel=1e-12)
    far = expected_pulls(law, 9_000_000.0)
    assert far.method == "expansion"
    assert far.value == pytest.approx(9_000_000.5 / mean + square / (2 * mean**2), rel=1e-12)
    assert far.low < far.value < far.high


def test_gaussian_expansion_is_spitzers_series():
    """For σ ≪ μ no S_n is negative and the non-negative expansion is left; for σ ≫ μ the overshoot is 0.583σ."""
    narrow = expected_pulls(Gaussian(1.0, 1.0, 0.1, 1.0), 100.0)
    assert narrow.value == pytest.approx(100 + 1.01 / 2, abs=1e-9)
    wide = expected_pulls(Gaussian(0.01, 1.0, 1.0, 1.0), 100.0)
    assert wide.value * 0.01 - 100 == pytest.approx(0.5826, abs=0.01)
    assert expected_pulls(Gaussian(1e-4, 1.0, 1.0, 1.0), 100.0).method == "bounds"
    assert expected_pulls(Gaussian(1.0, 1.0, 0.1, 1.0), 0.01).value == 1.0  # never outside low and high


@settings(max_examples=100)
@given(
    costs=st.lists(st.integers(-3, 9), min_size=2, max_size=4, unique=True),
    weights=st.lists(st.integers(1, 9), min_size=4, max_size=4),
    budget=st.integers(1, 60),
)
def test_wald_and_lorden_enclose_the_exact_number(costs, weights, budget):
    p = np.array(weights[: len(costs)]) / sum(weights[: len(costs)])
    if p @ costs <= 0.1:
        return
    law, mean = Discrete(costs, costs, p), float(p @ costs)
    found = expected_pulls(law, budget)
    assert found.method == "exact"
    assert budget / mean <= found.value <= (budget + overshoot_bound(law)) / mean * (1 + 1e-12)
    lorden = (budget + float(p @ np.maximum(costs, 0) ** 2) / mean) / mean
    assert found.value <= lorden * (1 + 1e-12)


def test_a_negative_mean_reward_turns_the_bounds():
    found = expected_reward(Uniform(-1.0, 2.0, -2.0, -1.0), 10.0)
    assert found.method == "bounds"
    assert found.low == pytest.approx(-1.5 * (10 + 1) / 0.5)  # costs above 0 are uniform up to 2
    assert found.high == pytest.approx(-1.5 * 10 / 0.5)
    assert found.low < found.value < found.high


def test_irregular_logs_fall_back_to_the_expansion():
    costs = np.random.default_rng(0).exponential(size=50)
    found = expected_pulls(Empirical(costs, costs), 20.0)
    assert found.method == "expansion"
    assert found.low < found.value < found.high


def test_costs_without_a_variance_leave_walds_bound():
    wild = Pareto(2.0, 1.0, cost_tail=1.5)
    assert expected_pulls(wild, 1000.0) == (500.0, 500.0, math.inf, "bounds")
    assert expected_reward(Linear(wild, slope=-0.5), 1000.0) == (-500.0, -math.inf, -500.0, "bounds")
    assert expected_reward(Linear(wild, slope=0.0), 1000.0) == (0.0, 0.0, 0.0, "bounds")
    drifting = expected_pulls(Gaussian(1e-200, 1.0, 1.0, 1.0), 10.0)
    half = math.sqrt(2 / math.pi)  # the mean of a standard normal that is above 0
    assert [drifting.low, drifting.high] == pytest.approx([1e201, (10 + half) * 1e200])
    assert drifting.method == "bounds"


def test_hardly_any_drift_is_left_to_the_bounds():
    found = expected_pulls(Discrete([-1.0, 1.0], [1.0, 1.0], [0.5 - 1e-9, 0.5 + 1e-9]), 10.0)
    assert found.method == "bounds"
    assert found.low * (1 - 1e-6) <= 10 / 2e-9 <= found.value <= 11 / 2e-9 <= found.high * (1 + 1e-6)


def test_what_is_missing_is_named():
    with pytest.raises(BadParameter, match=r"^law of expected_pulls must be a law"):
        expected_pulls(None, 10.0)  # type: ignore[arg-type]
    for law in (Constant(1e-300, 0.5), Gaussian(1e-300, 0.5, 1.0, 1.0), Bernoulli(0.5, 0.5)):
        with pytest.raises(BadParameter, match=r"^budget of expected_pulls must be ≤ 1e\+300 mean costs; got 1e\+308$"):
            expected_pulls(law, 1e308)
    with pytest.raises(BadParameter, match=r"^the mean cost of the law of expected_pulls must be a finite number > 0"):
        expected_pulls(Uniform(-2.0, 1.0, 0.0, 1.0), 10.0)
    with pytest.raises(BadParameter, match=r"^budget of expected_pulls must be > 0; got 0"):
        expected_pulls(Constant(1.0, 1.0), 0)


def test_small_numbers_by_hand():
    """Costs 1 and 3 with ½ each: m(0) = 1, m(1) = 1.5, m(2) = 1.75, m(3) = 1 + (m(2) + m(0))/2."""
    found = [expected_pulls(Discrete([1.0, 3.0], [1.0, 1.0], [0.5, 0.5]), b).value for b in (0.5, 1.0, 2.0, 3.0)]
    assert found == pytest.approx([1.0, 1.5, 1.75, 2.375], rel=1e-14)


def test_refunds_on_a_short_grid():
    """The equations with m(j) = (j + (1 + M)/2)/μ above the grid, solved densely; and the error that is stated."""
    law, budget, above = Discrete([-2.0, 1.0, 3.0], [1.0] * 3, [0.3, 0.3, 0.4]), 6, 4
    lattice = find_lattice([law], budget)
    assert lattice is not None
    states, mean = budget + 1 + above, 0.9
    matrix, known = np.eye(states), np.ones(states)
    for j in range(states):
        for x, p in ((-2, 0.3), (1, 0.3), (3, 0.4)):
            if 0 <= j - x < states:
                matrix[j, j - x] -= p
            elif j - x >= states:
                known[j] += p * (j - x + 2) / mean
    pulls, error = lattice_pulls(lattice, 0, above)
    assert pulls == pytest.approx(np.linalg.solve(matrix, known)[: budget + 1], rel=1e-12)
    assert error == pytest.approx((3 - 1) / (2 * mean) * math.exp(-decay(lattice) * (above + 1)), rel=1e-12)
    found = expected_pulls(law, budget)
    exact, close = lattice_pulls(lattice, 0)
    assert found == (exact[-1], exact[-1] - close, exact[-1] + close, "exact")
    assert 0 < close < 1e-11


def test_what_is_too_much_to_solve(monkeypatch):
    """States times the widest cost, once more with refunds: n = 21 and 4 here, or 25 + headroom and 5."""
    plain = find_lattice([Discrete([1.0, 4.0], [1.0, 1.0], [0.5, 0.5])], 20.0)
    refunds = find_lattice([Discrete([-1.0, 4.0], [1.0, 1.0], [0.5, 0.5])], 20.0)
    assert plain is not None
    assert refunds is not None
    for grid, above, work in ((plain, 0, 21 * 4), (refunds, 4, 25 * 5 * 5)):
        monkeypatch.setattr(static, "MOST_WORK", work)
        assert solvable(grid, above)
        monkeypatch.setattr(static, "MOST_WORK", work - 1)
        assert not solvable(grid, above)
    monkeypatch.setattr(static, "MOST_WORK", 10**9)
    monkeypatch.setattr(static, "MOST_STATES", 25)
    assert solvable(refunds, 4)
    assert not solvable(refunds, 5)
    assert static.safe_headroom(refunds) == math.ceil(12 * math.log(10) / decay(refunds))


def test_units_of_cost_change_nothing():
    """Half the costs and half the budget, on a lattice too long to solve; and 1e301 mean costs of 1e-10."""
    whole = expected_pulls(Discrete([1.0, 2.0, 5.0], [1.0] * 3, [0.5, 0.3, 0.2]), 9_000_000.0)
    half = expected_pulls(Discrete([0.5, 1.0, 2.5], [1.0] * 3, [0.5, 0.3, 0.2]), 4_500_000.0)
    assert half.method == whole.method == "expansion"
    assert half.value == pytest.approx(whole.value, rel=1e-14)
    with pytest.raises(BadParameter, match=r"^budget of expected_pulls must be ≤ 1e\+300 mean costs; got 1e\+291$"):
        expected_pulls(Exponential(1e-10, 0.5), 1e291)
