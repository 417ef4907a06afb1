"""Costs on a lattice: its step, its tables, how far refunds reach, and values of policies."""

import math

import numpy as np
import pytest

from outlay.arms import AnyLaw, Constant, Discrete, Empirical, Gaussian, Linear
from outlay.theory import optimum as lattice
from outlay.theory.arm_rates import cost_table
from outlay.theory.optimum import Lattice, decay, find_lattice, policy_value


def coins(*costs: float) -> AnyLaw:
    return Discrete(costs, np.ones(len(costs)), np.full(len(costs), 1.0 / len(costs)))


@pytest.mark.parametrize(
    ("laws", "step", "low", "high", "budget"),
    [
        ([Constant(3.0, 1.0), Constant(4.5, 1.0)], 1.5, 0, 3, 20),
        ([Constant(6.0, 1.0), Constant(10.0, 1.0), Constant(15.0, 1.0)], 1.0, 0, 15, 31),
        ([coins(-4.0, 6.0)], 2.0, -2, 3, 15),
        ([coins(0.0, 0.15), Constant(0.25, 1.0)], 0.05, 0, 5, 620),
        ([Constant(2.0, 1.0)], 2.0, 0, 1, 15),
    ],
)
def test_the_step_is_the_greatest_common_divisor(laws, step, low, high, budget):
    found = find_lattice(laws, 31.0)
    assert found is not None
    assert (found.step, found.low, found.high, found.budget) == (step, low, high, budget)


def test_tables_merge_equal_costs_and_leave_out_the_impossible():
    merged = Discrete([2.0, 1.0, 2.0, 5.0], [0.0] * 4, [0.25, 0.5, 0.25, 0.0])
    assert [part.tolist() for part in cost_table(merged) or ()] == [[1.0, 2.0], [0.5, 0.5]]
    logged = Linear(Empirical([1.0, 3.0, 3.0, 3.0], [0.0] * 4), slope=2.0)
    assert [part.tolist() for part in cost_table(logged) or ()] == [[1.0, 3.0], [0.25, 0.75]]
    assert [part.tolist() for part in cost_table(Gaussian(2.0, 1.0, 0.0, 1.0)) or ()] == [[2.0], [1.0]]
    assert cost_table(Gaussian(2.0, 1.0, 1e-9, 1.0)) is None


def test_the_widest_lattice(monkeypatch):
    """The largest cost less the smallest, at most that many steps; as wide as that is still one."""
    monkeypatch.setattr(lattice, "WIDEST", 10)
    assert find_lattice([Constant(1.0, 1.0), Constant(10.0, 1.0)], 5.0) is not None
    assert find_lattice([Constant(1.0, 1.0), Constant(11.0, 1.0)], 5.0) is None
    assert find_lattice([coins(-2.0, 8.0, 1.0)], 5.0) is not None
    assert find_lattice([coins(-2.0, 9.0, 1.0)], 5.0) is None


def test_a_hundred_thousand_steps_are_the_most():
    assert find_lattice([Constant(1.0, 1.0), Constant(100_000.0, 1.0)], 5.0) is not None
    assert find_lattice([Constant(1.0, 1.0), Constant(100_001.0, 1.0)], 5.0) is None


def test_decay_is_that_of_the_arm_that_refunds_most():
    """Costs of −2 and 1 with E[e^(−θX)] = 1: p·y² + (1 − p)/y = 1 at y = e^θ, so p·y² + p·y = 1 − p."""
    roots = {p: (math.sqrt(1 + 4 * (1 - p) / p) - 1) / 2 for p in (0.1, 0.2)}
    laws = [Discrete([-2.0, 1.0], [1.0, 1.0], [p, 1 - p]) for p in roots]
    for law, root in zip(laws, roots.values(), strict=True):
        alone = find_lattice([law], 5.0)
        assert alone is not None
        assert decay(alone) == pytest.approx(math.log(root), rel=1e-8)
        assert decay(alone) < math.log(root)  # on the safe side
    for order in (laws, laws[::-1]):
        both = find_lattice(order, 5.0)
        assert both is not None
        assert decay(both) == pytest.approx(math.log(roots[0.2]), rel=1e-8)
    assert decay(Lattice(1.0, 0, 1, np.array([[0.5, 0.5]]), 5)) == math.inf


@pytest.mark.parametrize(("low", "width", "states"), [(0, 3, 7), (-2, 6, 5), (-3, 5, 2), (-1, 9, 4), (-4, 5, 3)])
def test_values_of_policies_by_a_dense_solve(low, width, states):
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.ones(width), states) * 0.9
    gain, beyond = rng.normal(size=states), rng.normal(size=-low)
    matrix, known = np.eye(states), gain.copy()
    for j in range(states):
        for i, p in enumerate(chances[j]):
            after = j - (low + i)
            if 0 <= after < states:
                matrix[j, after] -= p
            elif after >= states:
                known[j] += p * beyond[after - states]
    assert policy_value(chances, low, gain, beyond) == pytest.approx(np.linalg.solve(matrix, known), rel=1e-12)
