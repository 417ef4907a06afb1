"""D* of laws known by their outcomes or their support, against searches over the probabilities."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats
from tests.theory.divergence_laws import own_rate

from outlay.arms import (
    AnyLaw,
    Bernoulli,
    Beta,
    Constant,
    Discrete,
    Exponential,
    Gaussian,
    Linear,
    Pareto,
    Uniform,
)
from outlay.errors import BadParameter
from outlay.theory import Edge, Points, divergence, kl_inf, models


def primal(costs: Any, rewards: Any, probabilities: Any, rate: float, worth: float = 0.0) -> Any:
    """KL_inf by a constrained search over the probabilities; without a worth the mean cost must be ≥ 0, too."""
    x, r, p = map(np.asarray, (costs, rewards, probabilities))
    seen = p > 0

    def kl(q: Any) -> float:
        return float(p[seen] @ np.log(p[seen] / q[seen]))

    def slope(q: Any) -> Any:
        return np.where(seen, -p / np.maximum(q, 1e-300), 0.0)

    rows = np.array([r - rate * x - worth] if worth else [r - rate * x, x])
    constraints = [optimize.LinearConstraint(np.ones(len(p)), 1, 1), optimize.LinearConstraint(rows, 0, np.inf)]
    bounds = [(1e-12 if s else 0.0, 1.0) for s in seen]
    none = np.zeros(len(p))
    allowed = optimize.linprog(none, A_ub=-rows, b_ub=0 * rows[:, 0], A_eq=np.ones((1, len(p))), b_eq=[1])
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


def test_arms_that_cost_nothing_on_average():
    """At ν = 0 such an arm is judged on the half-plane, with or without a worth."""
    for law in (Gaussian(0.0, -0.5, 0.5, 0.5, 0.2), Gaussian(-0.2, -0.7, 0.5, 0.5, 0.2)):
        assert divergence(law, 1.0) == pytest.approx(divergence(law, 1.0, worth=1e-14), rel=1e-9)
    table = Discrete([-1.0, 0.0, 1.0], [0.0, -0.5, 0.3], [0.5, 0.3, 0.2])
    assert divergence(table, 1.0, worth=0.3) > divergence(table, 1.0, worth=0.25) > 0
    skip = Discrete([0.0], [0.0], [1.0])
    assert divergence(skip, 1.0, worth=0.3) == math.inf
    assert divergence(Bernoulli(0.0, 0.2), 1.0, "independent", worth=0.5) == pytest.approx(
        0.2 * math.log(0.4) + 0.8 * math.log(1.6)
    )


@pytest.mark.parametrize("seed", range(8))
def test_tables_with_a_worth(seed):
    rng = np.random.default_rng(seed)
    costs, rewards = rng.normal(0.6, 0.7, 5).round(2), rng.uniform(0, 1, 5).round(2)
    p = rng.dirichlet(np.full(5, 2.0))
    law = Discrete(costs, rewards, p)
    price = float(rng.uniform(0, 1))
    z = rewards - price * costs
    own, top = float(p @ z), float(z.max())
    worth = max(0.01, own + 0.4 * (top - own))
    assert divergence(law, price, worth=worth) == pytest.approx(primal(costs, rewards, p, price, worth), rel=1e-5)
    assert divergence(law, price, worth=max(top, 0.0) + 0.01) == math.inf
    box = [[x, r] for x in (costs.min(), costs.max()) for r in (rewards.min(), rewards.max())]
    wide = np.concatenate([np.column_stack([costs, rewards]), box]).T
    expected = primal(wide[0], wide[1], np.append(p, np.zeros(4)), price, worth)
    assert divergence(law, price, "bounded", worth=worth) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_independent_coins_with_a_worth(seed):
    rng = np.random.default_rng(seed)
    p, q = rng.uniform(0.05, 0.95, 2)
    price, worth = rng.uniform(0.0, 1.5), rng.uniform(0.0, 0.9)
    worth = max(worth, q - price * p + 0.02)
    if worth >= 1:
        price, worth = 0.0, (1 + q) / 2

    def kl(a: float, b: float) -> float:
        return a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))

    most = min(1.0, (1 - worth) / price) if price > 0 else 1.0

    def both(t: Any) -> float:
        return float(kl(p, t) + kl(q, max(q, price * t + worth)))

    found = optimize.minimize_scalar(both, bounds=(0, most), method="bounded", options={"xatol": 1e-12})
    assert divergence(Bernoulli(p, q), price, "independent", worth=worth) == pytest.approx(found.fun, rel=1e-7)
    assert divergence(Bernoulli(p, q), price, "independent", worth=1.0 + 1e-9) == math.inf
    assert divergence(Bernoulli(p, q), 0.5, "independent", worth=1.0) == math.inf


def test_which_models_a_law_has():
    def names(law: AnyLaw) -> list[str]:
        return [model.name for model in models(law)]

    assert names(Exponential(1.0, 0.5)) == ["independent"]
    assert names(Exponential(1.0, 0.5, 0.3)) == ["known correlation"]
    assert names(Linear(Pareto(1.0, 1.0), 0.5)) == ["known cost"]
    assert names(Linear(Gaussian(1.0, 0.0, 0.5, 0.0), 0.5)) == ["known covariance", "unknown covariance", "known cost"]


def test_supports_of_your_own():
    """A coin of ¼ that may pay up to 2, against a mean of ½; (λ is ⅓: E[Z/(1 − λZ)] = 0)."""
    coin = Points(np.ones(2), np.array([0.0, 1.0]), np.array([0.75, 0.25]))
    edge = Edge(np.ones(2), np.array([0.0, 2.0]))
    best = max(0.75 * math.log(1 + s / 2) + 0.25 * math.log(1 - s / 2) for s in np.linspace(0, 2 / 3, 100_001).tolist())
    assert kl_inf(coin, 0.25, 0.5, edge) == pytest.approx(best, rel=1e-9)
    assert kl_inf(coin, 0.25, 0.25, edge, worth=0.25) == pytest.approx(best, rel=1e-9)
    assert kl_inf(coin, 1.75, 2.0, edge) == math.inf
    # far from every better law θ is at its end: all mass but a little goes to the largest Z
    assert kl_inf(coin, 1.65, 1.9, edge) == pytest.approx(0.75 * math.log(20.0) + 0.25 * math.log(10.0))


@pytest.mark.parametrize("far", [1e5, 1.1e6, 1e9, 1e15, 1e20, 1e100, 1e200])
@pytest.mark.parametrize("chance", [0.01, 0.5, 0.99])
def test_outcomes_far_apart(far, chance):
    """Z is 1 or −w: a better law has Z = 1 with chance q = w/(1 + w), and D* is kl(p, q)."""
    points = Points(np.zeros(2), np.array([1.0, -far]), np.array([chance, 1 - chance]))
    wanted = chance * math.log(chance / (far / (1 + far))) + (1 - chance) * math.log((1 - chance) * (1 + far))
    found = kl_inf(points, far * (1 - chance) - chance, 0.0, Edge(*points[:2]))
    assert found == pytest.approx(wanted, rel=1e-10)
