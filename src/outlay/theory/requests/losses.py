"""How far the best policy stays below the fluid optimum although it knows the means: costs are random.

Inside an edge of the hull the loss is bounded in N. At a vertex it grows like √N, and there is no way round it: what
chance leaves over earns λ₊ only, and what it takes away would have earned λ₋ (docs/requests.md has both proofs).
"""

import math

from outlay.arms import Problem
from outlay.errors import NotCovered
from outlay.theory.requests.hull import bend, fluid, per_request


def fluid_loss(problem: Problem, budget: float, requests: float) -> float:
    """N·f(c) less what the best policy earns that knows the means, up to o(√N): 0 inside an edge.

    At a vertex, c = E[X_k], it is (λ₋ − λ₊)·σ·√(N/2π), with λ₋ and λ₊ the slopes of the hull on both sides and σ the
    standard deviation of arm k's cost, the least of several arms at that point. Beside it, z = (c − E[X_k])·√N/σ
    standard deviations away, φ(z) − |z|·Φ(−|z|) takes the place of 1/√(2π): the √N term fades as c moves into an edge.
    Both ends of the edge are counted.

    >>> from outlay.arms import Constant, Gaussian, Problem
    >>> problem = Problem([Constant(0.1, 0.3), Gaussian(0.4, 0.6, 0.2, 0.1), Constant(1.0, 0.9)])
    >>> round(fluid_loss(problem, budget=400.0, requests=1000), 4)  # (1 − ½)·0.2·√(1000/2π)
    1.2616
    >>> round(fluid_loss(problem, budget=450.0, requests=1000), 4)
    0.0
    """
    found, c = fluid(problem, budget, requests), per_request("fluid_loss", budget, requests)
    if math.inf in (budget, requests):
        return 0.0
    total, root = 0.0, math.sqrt(requests)
    for arm in (found.low, found.high):
        slopes = None if arm is None else bend(problem, arm)
        if arm is None or slopes is None or slopes.before == math.inf:
            continue  # the origin, or an arm that c > 0 does not come near as N grows
        sigma = _steadiest(problem, arm)
        if sigma == 0:
            continue
        if sigma == math.inf:
            name = problem.names[arm]
            raise NotCovered(f"no fluid loss: it is for costs of finite variance, and arm {name!r} has none")
        distance = abs(c - float(problem.mean_costs[arm])) * root / sigma
        total += (slopes.before - slopes.after) * sigma * root * _left_over(distance)
    return total


def _steadiest(problem: Problem, arm: int) -> float:
    """The least standard deviation of a cost among the arms at the point of `arm`."""
    same = (problem.mean_costs == problem.mean_costs[arm]) & (problem.mean_rewards == problem.mean_rewards[arm])
    return math.sqrt(float(problem.second_moments()["var_cost"][same].min()))


def _left_over(z: float) -> float:
    """φ(z) − z·Φ(−z) for z ≥ 0: by how much the positive part of a unit normal around −z exceeds 0 on average."""
    return math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) - 0.5 * z * math.erfc(z / math.sqrt(2))
