"""The true optimum π^opt(B) by dynamic programming, where all costs lie on one lattice (Section 3).

The best static policy π* never looks at what is left of the budget; π^opt does, and gains most near the end, where the
pull that crosses the budget is paid in full.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.arms import Problem
from outlay.arms.problem import checked_problem
from outlay.checks import Vector, real
from outlay.errors import BadParameter
from outlay.extras import needed
from outlay.theory.arm_rates import rates
from outlay.theory.optimum.lattice import Lattice, find_lattice, policy_value
from outlay.theory.optimum.static import MOST_STATES, lattice_pulls, safe_headroom, solvable

_TIE = 1e-12  # relative difference of values below which the best static arm is kept
_ROUNDS = 100  # of policy iteration; a handful suffices, and `error` covers the rest


class DynamicOptimum(NamedTuple):
    """What the optimal policy earns and pulls when a budget is left, for every budget on the lattice up to B."""

    budgets: Vector  # 0, h, 2h, …, ⌊B/h⌋h
    value: Vector  # E[REW_opt]
    arm: NDArray[np.int64]  # the optimal arm; among equals the best static arm, then the lowest index
    static_value: Vector  # E[REW_π*]
    error: float  # value and static_value are this close to the truth; 0 (rounding) if no cost is negative

    @property
    def gap(self) -> Vector:
        """What π* loses to the optimum: value − static_value, bounded in B (Proposition 1)."""
        return self.value - self.static_value


@needed("theory.optimal_policy")
def optimal_policy(problem: Problem, budget: float, headroom: float | None = None) -> DynamicOptimum:
    """E[REW_opt(b)] and the optimal arm for every budget b up to `budget`, the maximum over all policies (Section 2).

    v(b) = max_k E[R_k] + Σ_x P(X_k = x)·v(b − x), and v = 0 below 0: the pull that crosses the budget still pays. Costs
    must lie on a common lattice (Constant, Bernoulli, Discrete, Empirical; the rewards may have any law).

    Without negative costs b = 0, h, 2h, … are solved in turn; an arm that may cost nothing is repeated until it costs
    something, (E[R] + Σ_{x>0} P(X=x)·v(b−x))/(1 − P(X=0)). With negative costs, policy iteration on a grid that ends
    `headroom` above the budget, by default where refunds reach with probability at most 1e-12. Beyond it v lies between
    r*(b + h) and r*(b + M), M the largest cost (Proposition 1), and their middle is used; `error` is half their
    distance times that probability, plus what the residual of the equation can amount to.

    >>> from outlay.arms import Constant, Problem
    >>> found = optimal_policy(Problem([Constant(1.0, 1.0), Constant(3.0, 2.0)]), budget=4.0)
    >>> found.value, found.arm, found.static_value
    (array([2., 3., 4., 5., 6.]), array([1, 0, 0, 0, 0]), array([1., 2., 3., 4., 5.]))
    """
    limit = real("optimal_policy", "budget", budget, above=0)
    lattice = find_lattice(checked_problem("optimal_policy", problem).arms, limit)
    if lattice is None:
        raise BadParameter("optimal_policy", "problem", "made of arms with costs on a common lattice", problem)
    above = _steps_above(lattice, headroom)
    if not solvable(lattice, above):
        allowed = (
            f"small enough for {MOST_STATES:,} steps of {lattice.step:g} with headroom, fewer for costs of many steps"
        )
        if not solvable(lattice, 0):
            raise BadParameter("optimal_policy", "budget", allowed, limit)
        if headroom is None:
            allowed = "given, where refunds lead too far above the budget"
        raise BadParameter("optimal_policy", "headroom", allowed, headroom)
    best = rates(problem).best
    pulls, static_error = lattice_pulls(lattice, best, above)
    reward = problem.mean_rewards
    if lattice.low == 0:
        value, arm, unsolved = *_forward(lattice, reward, best), 0.0
    else:
        value, arm, unsolved = _iterated(lattice, reward, best, above)
    budgets = lattice.step * np.arange(lattice.budget + 1.0)
    error = abs(float(reward[best])) * static_error + unsolved  # beyond the grid both are known equally well
    return DynamicOptimum(budgets, value, arm, float(reward[best]) * pulls, error)


def _steps_above(lattice: Lattice, given: float | None) -> int:
    if lattice.low == 0 or given is None:
        return safe_headroom(lattice)
    return math.ceil(min(MOST_STATES, real("optimal_policy", "headroom", given, at_least=0) / lattice.step))


def _forward(lattice: Lattice, reward: Vector, best: int) -> tuple[Vector, NDArray[np.int64]]:
    """Values from small budgets to large ones: a pull that costs anything leaves less."""
    states, moves = lattice.budget + 1, 1.0 - lattice.chances[:, 0]
    gain, chances = reward / moves, np.ascontiguousarray(lattice.chances[:, states:0:-1]) / moves[:, None]
    width = chances.shape[1]
    value, arm = np.zeros(width + states), np.empty(states, dtype=np.int64)
    for j in range(states):
        each = gain + chances @ value[j : j + width]
        k = each.argmax()
        value[width + j] = each[k]
        arm[j] = best if each[best] >= each[k] - _TIE * abs(each[k]) else k
    return value[width:], arm


def _iterated(lattice: Lattice, reward: Vector, best: int, above: int) -> tuple[Vector, NDArray[np.int64], float]:
    """Policy iteration: the value of a policy, then in every state the arm that is best before that value.

    And what the residual of the equation can amount to over (B + M)/μ_* pulls, the most a policy makes on average.
    """
    states, low, high = lattice.budget + 1 + above, lattice.low, lattice.high
    means = lattice.chances @ np.arange(low, high + 1)
    rate = float(reward[best] / means[best])
    beyond = rate * (states + np.arange(-low, dtype=np.float64) + (1 + high) / 2)
    policy = np.full(states, best)
    for _ in range(_ROUNDS):
        value = policy_value(lattice.chances[policy], low, reward[policy], beyond)
        around = np.concatenate([np.zeros(high), value, beyond])
        each = reward[:, None] + np.array([np.convolve(around, row, "valid") for row in lattice.chances])
        better = each.max(axis=0) > value + _TIE * np.abs(value)
        if not better.any():
            break
        policy = np.where(better, each.argmax(axis=0), policy)
    residual = float(np.abs(each.max(axis=0) - value).max())
    unsolved = residual * (lattice.budget + high) / float(means.min())
    return value[: lattice.budget + 1], policy[: lattice.budget + 1], unsolved
