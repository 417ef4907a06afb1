"""Costs on a lattice: the step that divides them all, and the value of a policy that looks only at what is left.

Costs and budget are read as the decimal numbers they print as (0.1 is one tenth), and everything until the step is
found is exact rational arithmetic: a budget of 0.3 holds three costs of 0.1.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from outlay.arms import AnyLaw, Bernoulli, Discrete, Empirical, Linear
from outlay.checks import Vector

WIDEST = 100_000  # steps between the smallest and the largest cost
_SLOWEST = 1e-6  # decay per step; slower ones are lost in rounding, and reach too far to be of use


class Lattice(NamedTuple):
    """Laws whose costs are whole multiples of one step; costs and budgets counted in steps."""

    step: float
    low: int  # smallest cost of any law, or 0 if that is smaller
    high: int  # largest cost of any law
    chances: Vector  # [law, cost − low]: its probability
    budget: int  # ⌊B/step⌋: S_n > B exactly when S_n is at least one step more


def cost_side(law: AnyLaw) -> AnyLaw:
    """The law that draws the cost: a linear law's own cost law, else the law itself."""
    return cost_side(law.cost) if isinstance(law, Linear) else law


def cost_table(law: AnyLaw) -> tuple[Vector, Vector] | None:
    """The possible costs, rising, with their probabilities; None if they are not finitely many.

    >>> from outlay.arms import Bernoulli
    >>> cost_table(Bernoulli(cost=0.25, reward=0.5))
    (array([0., 1.]), array([0.75, 0.25]))
    """
    law = cost_side(law)
    match law:
        case Bernoulli():
            costs, chances = np.array([0.0, 1.0]), np.array([1.0 - law.cost, law.cost])
        case Discrete():
            costs, chances = law.costs, law.probabilities / math.fsum(law.probabilities)
        case Empirical():
            costs, chances = law.costs, np.full(len(law.costs), 1.0 / len(law.costs))
        case _:
            mean, _, variance, *_ = law.moments()
            if variance > 0:
                return None
            costs, chances = np.array([mean]), np.ones(1)
    different, which = np.unique(costs[chances > 0], return_inverse=True)
    return different, np.asarray(np.bincount(which, weights=chances[chances > 0]), dtype=np.float64)


def find_lattice(laws: Sequence[AnyLaw], budget: float) -> Lattice | None:
    """The coarsest lattice that holds every cost of the laws; None if there is none with at most `WIDEST` steps.

    The step is the greatest common divisor of all costs, each as the fraction its decimal digits say.

    >>> from outlay.arms import Constant, Discrete
    >>> find_lattice([Constant(0.4, 1.0), Discrete([0.2, 1.0], [1.0, 1.0], [0.5, 0.5])], budget=0.7)
    Lattice(step=0.2, low=0, high=5, chances=array([[0. , 0. , 1. , 0. , 0. , 0. ],
           [0. , 0.5, 0. , 0. , 0. , 0.5]]), budget=3)
    """
    tables = [table for law in laws if (table := cost_table(law)) is not None]
    if len(tables) < len(laws):
        return None
    columns = [[Fraction(repr(float(cost))) for cost in costs] for costs, _ in tables]
    smallest, largest = min(Fraction(0), *(column[0] for column in columns)), max(column[-1] for column in columns)
    step = Fraction(0)
    for cost in {cost for column in columns for cost in column}:
        step = _common_divisor(step, cost)
        if largest - smallest > WIDEST * step > 0:
            return None
    low, high = int(smallest / step), int(largest / step)
    chances = np.zeros((len(laws), high - low + 1))
    for row, column, (_, probabilities) in zip(chances, columns, tables, strict=True):
        row[[int(cost / step) - low for cost in column]] = probabilities
    return Lattice(float(step), low, high, chances, Fraction(repr(budget)) // step)


def _common_divisor(one: Fraction, other: Fraction) -> Fraction:
    common = math.gcd(one.numerator * other.denominator, other.numerator * one.denominator)
    return Fraction(common, one.denominator * other.denominator)


def decay(lattice: Lattice) -> float:
    """The largest θ with E[e^(−θX)] ≤ 1 for every law, cost X in steps; ∞ if no cost is negative.

    0 stands for what is too small to tell from it.

    e^(−θS_n) then is a supermartingale under every policy, so refunds ever exceed costs by d steps with probability at
    most e^(−θd) (Lundberg's inequality).
    """
    from scipy.optimize import brentq

    costs = np.arange(lattice.low, lattice.high + 1)
    found = math.inf
    for chances in lattice.chances:
        possible = chances > 0
        x, log_p = costs[possible], np.log(chances[possible])
        if x[0] >= 0:
            continue

        def excess(theta: float, x: Vector = x, log_p: Vector = log_p) -> float:
            return float(np.logaddexp.reduce(log_p - theta * x))

        above = log_p[0] / x[0] + 1e-9  # the smallest cost alone already gives 1 there
        below = above / 2
        while excess(below) >= 0:
            below /= 2
            if below < _SLOWEST:
                return 0.0
        found = min(found, float(brentq(excess, below, above)) * (1 - 1e-9))
    return found


def policy_value(chances: Vector, low: int, gain: Vector, beyond: Vector) -> Vector:
    """Expected gain until the budget is passed, from every state 0, …, n−1 = steps left, of a policy fixed per state.

    Solves v(j) = gain(j) + Σ_x chances[j, x − low]·v(j − x), where v is 0 below 0 and `beyond` from state n on.
    """
    from scipy.linalg import solve_banded

    states = len(gain)
    chances = chances[:, : states - low]  # a larger cost passes the budget from every state
    width = chances.shape[1]
    diagonals = np.zeros((width, states))
    known = gain.copy()
    for x in range(low, low + width):
        first, last = max(0, x), max(0, min(states, states + x))  # the states whose successor is one too
        diagonals[x - low, max(0, -x) : max(0, -x) + last - first] = -chances[first:last, x - low]
        known[last:] += chances[last:, x - low] * beyond[last - x - states : -x]
    diagonals[-low] += 1.0
    return np.asarray(solve_banded((low + width - 1, -low), diagonals, known))
