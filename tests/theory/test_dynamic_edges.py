"""The dynamic programme at its edges: ties, short grids by a slow twin, what stopping early may cost, headroom."""

import numpy as np
import pytest

from outlay.arms import Constant, Discrete, Problem
from outlay.checks import Vector
from outlay.errors import BadParameter
from outlay.theory import optimum
from outlay.theory.optimum import optimal_policy

REFUNDING = [
    Discrete([-1.0, 3.0], [1.0, 3.0], [0.5, 0.5]),
    Discrete([-2.0, 2.0, 7.0], [1.0, 3.0, 4.0], [0.5, 0.3, 0.2]),
    Discrete([0.0, 1.0], [0.2, 1.0], [0.5, 0.5]),
]
REFUNDS = Problem(REFUNDING)
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


def test_what_stopping_early_can_amount_to(monkeypatch):
    """After one round the value is that of the best arm alone: its residual over (B + M)/μ_* pulls, M = 7 and μ_* = ½.

    Beyond the grid both are known equally well: the rest of the error is that of a full search.
    """
    monkeypatch.setattr(optimum, "_ROUNDS", 1)
    headroom, budget = 200, 40
    early = optimal_policy(REFUNDS, float(budget), headroom=headroom)
    whole = optimal_policy(REFUNDS, float(budget + headroom), headroom=0.0).static_value
    residual = np.abs(improved(whole, middle(len(whole))) - whole).max()
    monkeypatch.undo()
    rest = optimal_policy(REFUNDS, float(budget), headroom=headroom).error
    assert early.error - rest == pytest.approx(residual * (budget + 7) / 0.5, rel=1e-6)
    assert residual > 0.1


@pytest.mark.parametrize("refunds", [[], [WALK]], ids=["in turn", "policy iteration"])
@pytest.mark.parametrize("tied", [[Constant(2.0, 1.0), Constant(1.0, 1.0)], [Constant(1.0, -1.0), Constant(2.0, -1.0)]])
def test_among_equals_the_best_arm_is_kept(tied, refunds):
    """With nothing left the last pull pays in full, and both arms pay the same: the one with the better rate stays."""
    if tied[0].reward < 0 and refunds:
        refunds = [Discrete([-1.0, 1.0], [-5.0, -5.0], [0.1, 0.9])]
    problem = Problem([*tied, *refunds])
    assert problem.best == 1
    assert optimal_policy(problem, 6.0).arm[0] == 1


def test_without_refunds_nothing_is_left_to_solve():
    """Values in turn and by policy iteration: the same, and only the second has a residual to state."""
    plain = [Discrete([1.0, 2.0], [0.7, 1.9], [0.3, 0.7]), Discrete([3.0, 5.0], [2.9, 5.3], [0.6, 0.4])]
    found = optimal_policy(Problem(plain), 300.0)
    assert found.error == 0.0
    other = optimal_policy(Problem([*plain, Discrete([-1.0, 1.0], [-5.0, -5.0], [0.01, 0.99])]), 300.0)
    assert other.value == pytest.approx(found.value, rel=1e-9)
    assert other.error > 0.0


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_units_of_reward_change_no_choice(scale):
    scaled = Problem([Discrete(law.costs, scale * law.rewards, law.probabilities) for law in REFUNDING])
    wanted, found = optimal_policy(REFUNDS, 60.0), optimal_policy(scaled, 60.0)
    assert found.arm.tolist() == wanted.arm.tolist()
    assert found.value == pytest.approx(scale * wanted.value, rel=1e-10)


def test_headroom_is_rounded_up_to_whole_steps():
    """Of 2.1 steps three are kept: never less than was asked for."""
    wanted = optimal_policy(REFUNDS, 12.0, headroom=3.0)
    assert optimal_policy(REFUNDS, 12.0, headroom=2.1).error == wanted.error
    assert optimal_policy(REFUNDS, 12.0, headroom=3.1).error < wanted.error
    small = Problem([Discrete([-0.1, 0.3], [1.0, 3.0], [0.5, 0.5])])
    with pytest.raises(BadParameter, match=r"^headroom of optimal_policy must be small enough for 1,000,000 steps"):
        optimal_policy(small, 1.0, headroom=1e308)  # more steps than a float can count


def test_headroom_is_blamed_where_the_budget_alone_would_do(monkeypatch):
    monkeypatch.setattr(optimum, "MOST_STATES", 13)
    with pytest.raises(BadParameter, match=r"^headroom of optimal_policy must be small enough"):
        optimal_policy(REFUNDS, 12.0, headroom=1.0)
    assert optimal_policy(REFUNDS, 12.0, headroom=0.0).error > 0.0
    monkeypatch.setattr(optimum, "MOST_STATES", 12)
    with pytest.raises(BadParameter, match=r"^budget of optimal_policy must be small enough"):
        optimal_policy(REFUNDS, 12.0, headroom=0.0)
