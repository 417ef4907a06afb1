"""The dynamic programme: brute force over all policies, refunds within the stated error, and its own simulation."""

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from outlay.arms import Bernoulli, Constant, Discrete, Empirical, Gaussian, Linear, Problem
from outlay.checks import Vector
from outlay.errors import BadParameter
from outlay.theory import expected_reward, optimal_policy

WAVES = Problem(
    [
        Discrete([4.0, 6.0], [5.0, 5.0], [0.5, 0.5]),
        Discrete([1.0, 2.0], [0.8, 1.9], [0.5, 0.5]),
        Discrete([9.0, 15.0], [6.0, 12.0], [0.5, 0.5]),
    ]
)
REFUNDING = [
    Discrete([-1.0, 3.0], [1.0, 3.0], [0.5, 0.5]),
    Discrete([-2.0, 2.0, 7.0], [1.0, 3.0, 4.0], [0.5, 0.3, 0.2]),
    Discrete([0.0, 1.0], [0.2, 1.0], [0.5, 0.5]),
]
REFUNDS = Problem(REFUNDING)
SCRIPT = str(Path(__file__).parents[2] / "docs" / "figures" / "optimality_gap.py")


def outcomes(law: Discrete) -> list[tuple[int, float, float]]:
    """The law's table: cost, reward, probability."""
    return [(int(x), float(r), float(p)) for x, r, p in zip(law.costs, law.rewards, law.probabilities, strict=True)]


def brute_force(laws: list[Discrete], budget: int) -> float:
    """The best of all policies that choose by the whole history of costs; costs are whole and > 0."""
    tables = [outcomes(law) for law in laws]
    costs = sorted({cost for table in tables for cost, *_ in table})

    def histories(left: int) -> list[tuple[int, ...]]:
        return [] if left < 0 else [(), *((x, *rest) for x in costs for rest in histories(left - x))]

    def earned(policy: dict[tuple[int, ...], int], past: tuple[int, ...]) -> float:
        if sum(past) > budget:
            return 0.0
        return sum(p * (reward + earned(policy, (*past, cost))) for cost, reward, p in tables[policy[past]])

    every = histories(budget)
    choices = itertools.product(range(len(laws)), repeat=len(every))
    return max(earned(dict(zip(every, arms, strict=True)), ()) for arms in choices)


@pytest.mark.parametrize("budget", [0.5, 1, 2, 3])
def test_no_policy_does_better(budget):
    laws = [Discrete([1.0, 2.0], [0.5, 1.5], [0.25, 0.75]), Discrete([2.0, 3.0], [1.0, 2.5], [0.5, 0.5])]
    found = optimal_policy(Problem(laws), budget)
    assert found.value[-1] == pytest.approx(brute_force(laws, int(budget)), rel=1e-13)


def test_all_stationary_policies_of_arms_that_may_cost_nothing():
    """3 arms and budgets 0 to 4: each of the 3⁵ choices of an arm per budget, evaluated by a linear solve."""
    laws = [
        Discrete([0.0, 1.0], [1.0, -0.5], [0.5, 0.5]),
        Discrete([0.0, 2.0, 3.0], [-0.2, 1.0, 2.5], [0.2, 0.4, 0.4]),
        Discrete([4.0], [1.75], [1.0]),
    ]
    found = optimal_policy(Problem(laws), 4.0)
    values = []
    for arms in itertools.product(range(3), repeat=5):
        matrix, gain = np.eye(5), np.zeros(5)
        for left, k in enumerate(arms):
            for cost, reward, p in outcomes(laws[k]):
                gain[left] += p * reward
                if cost <= left:
                    matrix[left, left - cost] -= p
        values.append(np.linalg.solve(matrix, gain))
    assert found.value == pytest.approx(np.max(values, axis=0), rel=1e-12)
    assert found.error == 0.0


def test_small_budgets_want_another_arm_and_the_gap_stays_bounded():
    """The crossing pull is paid in full: near the end the large arm wins, and odd budgets are worth repairing."""
    found = optimal_policy(WAVES, 3000.0)
    assert WAVES.best == 0
    assert found.arm[:8].tolist() == [2, 2, 1, 1, 1, 1, 0, 1]
    assert (found.gap >= -1e-9).all()
    assert found.gap[0] == 4.0
    assert found.gap.max() == pytest.approx(6.025)
    assert found.gap[1000:] == pytest.approx(found.gap[998:-2], abs=1e-9)


def test_static_value_is_the_static_expectation():
    for problem in (WAVES, REFUNDS):
        found = optimal_policy(problem, 40.0)
        for b in (1, 7, 40):
            wanted = expected_reward(problem.arms[problem.best], b).value
            assert found.static_value[b] == pytest.approx(wanted, abs=2 * found.error + 1e-12)


def test_lattice_of_decimals_and_mixed_laws():
    problem = Problem([Bernoulli(0.5, 0.9), Constant(0.3, 0.5), Linear(Empirical([0.1, 0.7], [0, 0]), 1.5, 0.1, 1.0)])
    found = optimal_policy(problem, 1.25)
    assert found.budgets == pytest.approx(np.arange(13) / 10)
    assert found.value[0] == pytest.approx(1.8)  # Bernoulli until it costs: E[R]/P(X = 1)
    assert found.value[3] == pytest.approx(0.5 + 1.8)


@pytest.mark.parametrize("headroom", [0.0, 1.0, 4.0, 15.0, 60.0])
def test_refunds_are_within_the_stated_error(headroom):
    truth, found = optimal_policy(REFUNDS, 40.0, headroom=400.0), optimal_policy(REFUNDS, 40.0, headroom=headroom)
    assert truth.error < 1e-9
    assert np.abs(found.value - truth.value).max() <= found.error + truth.error
    assert np.abs(found.static_value - truth.static_value).max() <= found.error + truth.error
    assert optimal_policy(REFUNDS, 40.0).value == pytest.approx(truth.value, abs=1e-9)


@pytest.mark.parametrize("headroom", [0.0, 3.0, 10.0])
def test_the_stated_error_is_reached(headroom):
    """Steps of ±1 overshoot by 1 exactly, v(b) = b + 1; a useless arm of cost 41 widens what may be beyond the grid."""
    walk = Problem([Discrete([-1.0, 1.0], [0.5, 0.5], [0.25, 0.75]), Constant(41.0, 0.0)])
    found = optimal_policy(walk, 40.0, headroom=headroom)
    assert found.error == pytest.approx(20.0 * 3.0 ** -(headroom + 1), rel=1e-6)
    for value in (found.value, found.static_value):
        off = np.abs(value - (found.budgets + 1.0)).max()
        assert 0.99 * found.error < off <= found.error


def test_refunds_satisfy_the_equation():
    """Value iteration from the other side: applying the equation to the found values changes nothing."""
    found = optimal_policy(REFUNDS, 400.0)
    v = dict(enumerate(found.value))
    for b in range(300):
        each = [sum(p * (r + (v[b - x] if x <= b else 0.0)) for x, r, p in outcomes(law)) for law in REFUNDING]
        assert found.value[b] == pytest.approx(max(each), abs=1e-9)
        assert each[found.arm[b]] == pytest.approx(max(each), abs=1e-9)


def test_playing_the_policy_earns_its_value():
    """4 standard errors, false alarm 1 in 16 000, fixed seed."""
    found, rng, runs = optimal_policy(REFUNDS, 200.0), np.random.default_rng(5), 4000
    earned = np.zeros(runs)
    left = np.full(runs, 20)
    while (playing := left >= 0).any():
        for k, law in enumerate(REFUNDING):
            now = np.flatnonzero(playing & (found.arm[np.clip(left, 0, 200)] == k))
            drawn = rng.choice(len(law.costs), size=len(now), p=law.probabilities)
            left[now] -= law.costs[drawn].astype(int)
            earned[now] += law.rewards[drawn]
    assert found.value[20] - found.static_value[20] > 0.5
    assert earned.mean() == pytest.approx(found.value[20], abs=4 * earned.std() / math.sqrt(runs))


def test_negative_rates_are_losses_to_be_kept_small():
    """All rewards negative: the dynamic programme still holds, with and without refunds."""
    losses = Problem([Constant(1.0, -1.0), Constant(3.0, -4.0)])
    assert optimal_policy(losses, 3.0).value.tolist() == [-1.0, -2.0, -3.0, -4.0]
    refunds = Problem(
        [Discrete([-1.0, 2.0], [-1.0, -1.0], [0.4, 0.6]), Discrete([-1.0, 4.0], [-2.0, -3.0], [0.5, 0.5])]
    )
    truth = optimal_policy(refunds, 20.0, headroom=300.0)
    for headroom in (0.0, 5.0, 20.0):
        found = optimal_policy(refunds, 20.0, headroom=headroom)
        assert np.abs(found.value - truth.value).max() <= found.error + truth.error


def test_bad_use_is_one_sentence():
    with pytest.raises(
        BadParameter, match=r"^problem of optimal_policy must be made of arms with costs on a common lat"
    ):
        optimal_policy(Problem([Constant(1.0, 1.0), Gaussian(1.0, 1.0, 0.1, 0.1)]), 10.0)
    with pytest.raises(
        BadParameter, match=r"^budget of optimal_policy must be small enough for 1,000,000 steps of 0.5"
    ):
        optimal_policy(Problem([Constant(1.0, 1.0), Constant(1.5, 1.0)]), 1e9)
    with pytest.raises(BadParameter, match=r"^headroom of optimal_policy must be small enough for 1,000,000 steps"):
        optimal_policy(REFUNDS, 10.0, headroom=1e308)
    slow = Problem([Discrete([-1.0, 1.0], [1.0, 1.0], [0.5 - 1e-9, 0.5 + 1e-9])])
    with pytest.raises(BadParameter, match=r"^headroom of optimal_policy must be given, where refunds lead too far"):
        optimal_policy(slow, 10.0)


def test_the_page_prints_what_it_says():
    page = (Path(__file__).parents[2] / "docs" / "optimum.md").read_text(encoding="utf-8")
    shown = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True, timeout=120).stdout
    for number in ("[2 2 1 1 1 1 0 1 1 1 0 1]", "11.025", "6.025", "4.78", "5.48", "1,008.38", "2.826", "15.08"):
        assert number in page
        assert number in shown


TABLES = [(law.costs, law.rewards, law.probabilities) for law in REFUNDING]
WALK = Discrete([-1.0, 1.0], [0.01, 0.01], [0.1, 0.9])  # a refund now and then, and hardly a reward


def improved(value: Vector, beyond: Vector) -> Vector:
    """max_k E[R_k] + E[v(b − X_k)] for b = 0, 1, …: v is 0 below 0 and `beyond` after the last."""
    around = {**dict(enumerate(value)), **{len(value) + i: v for i, v in enumerate(beyond)}}
    each = [
        [r @ p + sum(q * around.get(b - int(x), 0.0) for x, q in zip(costs, p, strict=True)) for costs, r, p in TABLES]
        for b in range(len(value))
    ]
    return np.array([max(row) for row in each], dtype=np.float64)


def middle(states: int) -> Vector:
    """Half-way between r*(b + h) and r*(b + M), for the two budgets past a grid that a refund of 2 can reach."""
    return np.array([REFUNDS.rate * (states + i + (1 + 7) / 2) for i in (0, 1)], dtype=np.float64)


@pytest.mark.parametrize("headroom", [0, 1, 5])
def test_a_short_grid_by_value_iteration(headroom):
    states = 13 + headroom
    value = np.zeros(states)
    for _ in range(600):
        value = improved(value, middle(states))
    found = optimal_policy(REFUNDS, 12.0, headroom=headroom)
    assert found.value == pytest.approx(value[:13], rel=1e-10)
    assert len(found.value) == len(found.arm) == len(found.budgets) == 13


@pytest.mark.parametrize("refunds", [[], [WALK]], ids=["in turn", "policy iteration"])
@pytest.mark.parametrize("tied", [[Constant(2.0, 1.0), Constant(1.0, 1.0)], [Constant(1.0, -1.0), Constant(2.0, -1.0)]])
def test_among_equals_the_best_arm_is_kept(tied, refunds):
    """With nothing left the last pull pays in full, and both arms pay the same: the one with the better rate stays."""
    if tied[0].reward < 0 and refunds:
        refunds = [Discrete([-1.0, 1.0], [-5.0, -5.0], [0.1, 0.9])]
    problem = Problem([*tied, *refunds])
    assert problem.best == 1
    assert optimal_policy(problem, 6.0).arm[0] == 1
