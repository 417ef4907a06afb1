"""Arms with known bounds or known outcomes and an otherwise unknown law: KL_inf of each."""

import math

import numpy as np

from outlay.arms import AnyLaw, Bernoulli, Beta, Constant, Discrete, Empirical, Uniform
from outlay.arms.beta_table import beta_quantile
from outlay.arms.law import Law
from outlay.checks import Vector
from outlay.errors import NotCovered
from outlay.theory.divergences.known_support import Edge, Points, nearest

_REACH = 8.5  # standard normals beyond this have probability 2e-17
_DENSITY, _MOST = 5.0, 40.0  # grid points per unit of a standard normal
_FINER = 8.0  # the knots between which Beta quantiles are interpolated lie this much closer
_UNIT_SQUARE = Edge(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0]))

Tabled = Bernoulli | Constant | Discrete | Empirical


def on_its_outcomes(law: Tabled, rate: float, worth: float = 0.0) -> float:
    """D* among the laws on the outcomes of the table, those of probability 0 included.

    >>> on_its_outcomes(Bernoulli(cost=0.5, reward=0.25), 1.0)
    0.065406017970...
    """
    points = _table(law)
    return nearest(law, points, Edge(points.costs, points.rewards), rate, worth)


def on_its_box(law: Tabled | Beta | Uniform, rate: float, worth: float = 0.0) -> float:
    """D* among all laws on the smallest box that holds every pair.

    >>> on_its_box(Uniform(cost_low=0, cost_high=2, reward_low=0, reward_high=1), 1.0)
    0.278730468943...
    """
    return nearest(law, outcomes(law), _box(law), rate, worth)


def outcomes(law: AnyLaw) -> Points:
    """The outcomes of a law with their probabilities, or a fine grid that stands for them; `NotCovered` for others.

    >>> outcomes(Constant(cost=2.0, reward=1.0))
    Points(costs=array([2.]), rewards=array([1.]), probabilities=array([1.]))
    """
    return _grid(law) if isinstance(law, (Beta, Uniform)) else _table(law)


def _box(law: Law) -> Edge:
    x_low, x_high, r_low, r_high = law.support()
    return Edge(np.array([x_low, x_low, x_high, x_high]), np.array([r_low, r_high, r_low, r_high]))


def _table(law: AnyLaw) -> Points:
    """The outcomes with their probabilities."""
    match law:
        case Bernoulli(p, q, both=both):
            return Points(*_UNIT_SQUARE, np.array([max(0.0, 1 - p - q + both), q - both, p - both, both]))
        case Discrete():
            return Points(law.costs, law.rewards, law.probabilities / math.fsum(law.probabilities))
        case Empirical():
            return Points(law.costs, law.rewards, np.full(len(law.costs), 1.0 / len(law.costs)))
        case Constant():
            return Points(np.array([law.cost]), np.array([law.reward]), np.ones(1))
    raise NotCovered(f"no table or grid of {type(law).__name__} is known here: theory/divergences/bounded.py has them")


def _grid(law: Beta | Uniform) -> Points:
    """The pairs that a grid of two standard normals gives: trapezoids, which leave D* a relative error below 1e-9.

    Steps get shorter for the U-shaped Betas, whose quantile function is nearly a step (1e-4 for the most extreme ones).
    """
    density = _DENSITY
    if isinstance(law, Beta):
        density = min(_MOST, max(density, 1.0 / _least_shape(law)))
    axis = np.arange(-_REACH, _REACH, 1.0 / density)
    z, v = np.meshgrid(axis, axis)
    inside = z * z + v * v < _REACH * _REACH
    z, v = z[inside], v[inside]
    weights = np.exp(-0.5 * (z * z + v * v))
    c = law.copula if isinstance(law, Beta) else 2.0 * math.sin(law.correlation * math.pi / 6.0)
    costs, rewards = _quantiles(law, z, c * z + math.sqrt((1.0 - c) * (1.0 + c)) * v, density)
    return Points(costs, rewards, weights / weights.sum())


def _quantiles(law: Beta | Uniform, z: Vector, w: Vector, density: float) -> tuple[Vector, Vector]:
    """The cost at the normals z and the reward at the normals w."""
    from scipy.interpolate import CubicSpline
    from scipy.special import ndtr

    if isinstance(law, Uniform):
        costs = law.cost_low + (law.cost_high - law.cost_low) * ndtr(z)
        return costs, law.reward_low + (law.reward_high - law.reward_low) * ndtr(w)
    knots = np.arange(-_REACH, _REACH, 1.0 / (_FINER * density))
    read = [
        CubicSpline(knots, [beta_quantile(table, at) for at in knots]) for table in (law.cost_table, law.reward_table)
    ]
    return law.cost_bound * np.clip(read[0](z), 0.0, 1.0), law.reward_bound * np.clip(read[1](w), 0.0, 1.0)


def _least_shape(law: Beta) -> float:
    """The smallest of the four shape parameters."""
    cost, reward = (law.cost, law.cost_sd, law.cost_bound), (law.reward, law.reward_sd, law.reward_bound)
    return min(min(m, b - m) / b * (m * (b - m) / (s * s) - 1.0) for m, s, b in (cost, reward))
