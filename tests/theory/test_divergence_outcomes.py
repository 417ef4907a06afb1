"""D* of laws on a table or in a box, and of coins, against slow, independent searches of their models."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats
from tests.theory.divergence_laws import own_rate

from outlay.arms import (
    Bernoulli,
    Beta,
    Constant,
    Discrete,
    Empirical,
    Uniform,
)
from outlay.errors import BadParameter
from outlay.theory import divergence


def primal(costs: Any, rewards: Any, probabilities: Any, rate: float) -> Any:
    """KL_inf by a constrained search over the probabilities."""
    x, r, p = map(np.asarray, (costs, rewards, probabilities))
    seen = p > 0

    def kl(q: Any) -> float:
        return float(p[seen] @ np.log(p[seen] / q[seen]))

    def slope(q: Any) -> Any:
        return np.where(seen, -p / np.maximum(q, 1e-300), 0.0)

    constraints = [
        optimize.LinearConstraint(np.ones(len(p)), 1, 1),
        optimize.LinearConstraint(np.array([r - rate * x, x]), 0, np.inf),
    ]
    bounds = [(1e-12 if s else 0.0, 1.0) for s in seen]
    allowed = optimize.linprog(
        np.zeros(len(p)), A_ub=-np.array([r - rate * x, x]), b_ub=[0, 0], A_eq=np.ones((1, len(p))), b_eq=[1]
    )
    if allowed.status == 2:
        return math.inf
    return optimize.minimize(
        kl,
        0.5 * p + 0.5 * np.asarray(allowed.x),
        jac=slope,
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    ).fun


@pytest.mark.parametrize("lowest", [0.0, -1.0])
@pytest.mark.parametrize("seed", range(12))
def test_dual_is_the_primal(seed, lowest):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    costs, rewards, p = rng.uniform(lowest, 2, n), rng.uniform(-1, 2, n), rng.dirichlet(np.ones(n))
    costs[0], p = max(costs[0], 1.0), 0.9 * p + 0.1 * np.eye(n)[0]
    if p @ costs < 0.05:
        costs = costs - costs.min()
    law = Discrete(costs, rewards, p)
    rate = own_rate(law) + rng.uniform(0.05, 2)
    assert divergence(law, rate) == pytest.approx(primal(costs, rewards, p, rate), rel=1e-6, abs=1e-9)
    x_low, x_high, r_low, r_high = law.support()
    box = [*costs, x_low, x_low, x_high, x_high], [*rewards, r_low, r_high, r_low, r_high], [*p, 0, 0, 0, 0]
    assert divergence(law, rate, "bounded") == pytest.approx(primal(*box, rate), rel=1e-6, abs=1e-9)


def test_impossible_is_infinite():
    assert divergence(Constant(1.0, 1.0), 2.0) == math.inf
    assert divergence(Discrete([1, 2], [1, 1], [0.5, 0.5]), 1.5) == math.inf
    # with refunds: a mean cost > 0 and rewards ≤ costs leave no rate above 1, though Z can be positive
    refunds = Discrete([-1.0, 2.0], [-1.0, 1.0], [0.3, 0.7])
    assert divergence(refunds, 2.0) == math.inf
    assert divergence(Discrete([-1.0, 2.0], [-1.0, 3.0], [0.3, 0.7]), 2.0) < math.inf


def test_what_the_log_holds_is_what_the_table_holds():
    log = Empirical([1, 1, 2, 3], [0, 0, 2, 1])
    table = Discrete([1, 2, 3], [0, 2, 1], [0.5, 0.25, 0.25])
    for model in ("bounded", "its outcomes"):
        assert divergence(log, 1.0, model) == pytest.approx(divergence(table, 1.0, model), rel=1e-12)


@pytest.mark.parametrize(
    "law",
    [
        Uniform(0.2, 1.0, 0.0, 0.8, 0.7),
        Uniform(-1.0, 2.0, -0.5, 1.1, 0.5),
        Beta(0.4, 0.3, 0.2, 0.2, 0.6),
        Beta(0.6, 0.3, 0.48, 0.4, -0.3),
        Uniform(0.2, 1.0, 0.0, 0.8, 1.0),
    ],
)
def test_grids_against_many_draws(law):
    """Bounded continuous laws by draws in place of a grid: within five standard errors (false alarms below 1e-6)."""
    rng = np.random.default_rng(1)
    z, v = rng.standard_normal((2, 100_000))
    c = law.copula if isinstance(law, Beta) else 2 * math.sin(law.correlation * math.pi / 6)
    u, w = stats.norm.cdf(z), stats.norm.cdf(c * z + math.sqrt(1 - c * c) * v)
    if isinstance(law, Beta):
        shapes = [(m * n, (1 - m) * n) for m, s in [(law.cost, law.cost_sd), (law.reward, law.reward_sd)]
                  for n in [m * (1 - m) / s**2 - 1]]  # fmt: skip
        x, r = (stats.beta.ppf(q, *shape) for q, shape in zip((u, w), shapes, strict=True))
    else:
        x = law.cost_low + (law.cost_high - law.cost_low) * u
        r = law.reward_low + (law.reward_high - law.reward_low) * w
    x_low, x_high, r_low, r_high = law.support()
    box = np.array([[x_low, x_low, x_high, x_high], [r_low, r_high, r_low, r_high]])
    rate = own_rate(law) + 0.5
    values = []
    for at in np.linspace(own_rate(law), rate, 20)[1:] if x_low < 0 else [rate]:
        top = (box[1] - at * box[0]).max()
        w = (r - at * x) / top
        best = optimize.minimize_scalar(
            lambda t, w: -np.log1p(-t * w).mean(), bounds=(0, 1 - 1e-9), args=(w,), method="bounded"
        )
        values.append((-best.fun, np.log1p(-best.x * w).std() / math.sqrt(len(w))))
    found, error = max(values)
    assert divergence(law, rate) == pytest.approx(found, abs=5 * error)


@pytest.mark.parametrize("seed", range(10))
def test_independent_coins(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.uniform(0.05, 0.95, 2)
    rate = q / p + rng.uniform(0.01, 3)

    def kl(t):
        t, u = float(t), float(rate * t)
        return (
            p * math.log(p / t)
            + (1 - p) * math.log((1 - p) / (1 - t))
            + q * math.log(q / u)
            + (1 - q) * math.log((1 - q) / (1 - u))
        )

    found = optimize.minimize_scalar(kl, bounds=(0, min(1, 1 / rate)), method="bounded", options={"xatol": 1e-12})
    assert divergence(Bernoulli(p, q), rate, "independent") == pytest.approx(found.fun, rel=1e-7)


def test_certain_coins():
    assert divergence(Bernoulli(1, 0.5), 0.75, "independent") == pytest.approx(0.5 * math.log(4 / 3))
    assert divergence(Bernoulli(0.5, 1), 4, "independent") == pytest.approx(-0.5 * math.log(0.75))
    # rewards never seen: min of −½ ln t − 1½ ln(1 − t) − ln 2, at t = ¼
    assert divergence(Bernoulli(0.5, 0), 1, "independent") == pytest.approx(-1.5 * math.log(0.75))
    # a certain cost and a rate above 1: both change, to ⅜ and ¾
    assert divergence(Bernoulli(1, 0.5), 2, "independent") == pytest.approx(
        -math.log(0.375) - math.log(2) - 0.5 * math.log(0.75 * 0.25)
    )


def test_joint_table_is_the_discrete_one():
    law = Bernoulli(0.5, 0.4, 0.3)
    cells = [1 - 0.9 + law.both, 0.4 - law.both, 0.5 - law.both, law.both]
    for rate in (0.9, 1.5, 4.0):
        expected = primal([0, 0, 1, 1], [0, 1, 0, 1], cells, rate)
        assert divergence(law, rate) == pytest.approx(expected, rel=1e-6)
    # independent coins: the table is the larger model
    law = Bernoulli(0.5, 0.4)
    assert divergence(law, 1.5) < divergence(law, 1.5, "independent")
    with pytest.raises(BadParameter, match=r"^model of divergence must be 'joint table'; got 'independent'$"):
        divergence(Bernoulli(0.5, 0.4, 0.3), 1.5, "independent")
