"""D* of every law against slow, independent searches of its model, and what all of them have in common."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from outlay import arms
from outlay.arms import (
    Bernoulli,
    Beta,
    Constant,
    Discrete,
    Empirical,
    Exponential,
    Gamma,
    Gaussian,
    LawMoments,
    Linear,
    Lognormal,
    Pareto,
    StudentT,
    Uniform,
)
from outlay.errors import BadParameter, NotCovered
from outlay.theory.divergences import divergence, exponential_family, model_of, models

# Every law as a function of the units that costs and rewards are measured in.
LAWS: dict[str, Callable[[float, float], Any]] = {
    "Gaussian": lambda c, d: Gaussian(c, 0.6 * d, 0.5 * c, 0.4 * d, 0.3),
    "Gaussian, corner": lambda c, d: Gaussian(c, 0.5 * d, c, d, 0.9),
    "Bernoulli": lambda c, d: Discrete([0, 0, c, c], [0, d, 0, d], [0.35, 0.05, 0.25, 0.35]),
    "Discrete": lambda c, d: Discrete([c, 2 * c, 3 * c], [0, 2 * d, d], [0.3, 0.3, 0.4]),
    "Discrete, refunds": lambda c, d: Discrete([-c, 2 * c, c], [0.5 * d, d, 0], [0.3, 0.3, 0.4]),
    "Empirical": lambda c, d: Empirical(c * np.array([0.5, 1, 2, 1.5]), d * np.array([0.2, 1.1, 0.4, -0.3])),
    "Beta": lambda c, d: Beta(0.5 * c, 0.3 * d, 0.2 * c, 0.1 * d, 0.4, c, d),
    "Uniform": lambda c, d: Uniform(0.2 * c, c, -0.2 * d, 0.8 * d, -0.5),
    "Uniform, refunds": lambda c, d: Uniform(-0.5 * c, c, -0.2 * d, 0.4 * d, 0.5),
    "Exponential": lambda c, d: Exponential(c, 0.5 * d),
    "Gamma": lambda c, d: Gamma(c, 0.5 * d, 0.3 * c, 0.7 * d),
    "Lognormal": lambda c, d: Lognormal(c, 0.5 * d, 0.8 * c, 0.3 * d, 0.4),
    "Pareto": lambda c, d: Pareto(c, 0.5 * d, 2.5, 3.5),
    "StudentT": lambda c, d: StudentT(c, 0.5 * d, 0.5 * c, 0.4 * d, 3.0, 0.4),
    "StudentT on a line": lambda c, d: StudentT(c, 0.5 * d, 0.0, 0.4 * d, 3.0),
    "Linear": lambda c, d: Linear(Pareto(c, 1.0), 0.5 * d / c, 0.1 * d, 0.3 * d),
    "Linear, Gaussian cost": lambda c, d: Linear(Gaussian(c, 0, 0.5 * c, 0), 0.4 * d / c, 0.1 * d, 0.3 * d),
}
CASES = [(name, model.name) for name, law in LAWS.items() for model in models(law(1, 1))]


def own_rate(law: Any) -> Any:
    cost, reward, *_ = law.moments()
    return reward / cost


def variance(law: Any, rate: float) -> Any:
    _, _, var_cost, var_reward, cov = law.moments()
    return var_reward - 2 * rate * cov + rate**2 * var_cost


# --- What all models have in common ---


@pytest.mark.parametrize(("name", "model"), CASES)
def test_zero_at_the_own_rate_and_rising(name, model):
    law = LAWS[name](1, 1)
    own = own_rate(law)
    assert divergence(law, own, model) == divergence(law, own - 1, model) == 0.0
    values = [divergence(law, own + more, model) for more in (1e-3, 0.05, 0.3, 0.6, 1.2, 2.5, 5.0, 20.0)]
    assert all(low <= high * (1 + 1e-9) for low, high in pairwise(values))
    assert values[0] > 0


@pytest.mark.parametrize("law", [Gaussian(1, -1, 0.5, 0.4, 0.3), Discrete([1, 2, 3], [-1, -2, 0], [0.4, 0.4, 0.2]),
                                 Uniform(0.2, 1.0, -0.8, 0.0, 0.5), StudentT(1, -1, 0.5, 0.4)])  # fmt: skip
def test_rates_may_be_negative(law):
    own = own_rate(law)
    values = [divergence(law, own * share) for share in (0.9, 0.5, 0.1, 0.0)]
    assert 0 < values[0] < values[1] < values[2] < values[3]


@pytest.mark.parametrize(("name", "model"), CASES)
def test_units_change_nothing(name, model):
    law, scaled = LAWS[name](1.0, 1.0), LAWS[name](3.0, 0.02)
    for more in (0.1, 1.0):
        rate = own_rate(law) + more
        assert divergence(scaled, rate * 0.02 / 3.0, model) == pytest.approx(divergence(law, rate, model), rel=1e-8)


def information(law: Any, model: str) -> Any:
    """Squared mean over the best variance of an unbiased estimate of E[Z], relative to Var Z (Cramér and Rao)."""
    if isinstance(law, StudentT):
        dimensions = 1 if law.cost_sd == 0 else 2
        return law.tail / (law.tail - 2) * (law.tail + dimensions) / (law.tail + dimensions + 2)
    rate = own_rate(law)
    if isinstance(law, Lognormal):
        logs = law.cost_sigma**2 + law.reward_sigma**2 - 2 * law.cost_sigma * law.reward_sigma * law.log_correlation
        return variance(law, rate) / (law.reward**2 * logs)
    if isinstance(law, Pareto):
        logs = (law.cost_tail + 2) / law.cost_tail + (law.reward_tail + 2) / law.reward_tail
        return variance(law, rate) / (law.reward**2 * logs)
    if model == "known cost":
        return variance(law, rate) / law.noise_sd**2
    return 1.0


@pytest.mark.parametrize(("name", "model"), CASES)
@pytest.mark.parametrize("gap", [1e-4, 1e-7])
def test_small_gaps(name, model, gap):
    """D* → (μΔ)²/(2σ²), or what Cramér and Rao put for σ² where the mean is not the best estimate."""
    law = LAWS[name](1, 1)
    cost, reward, *_ = law.moments()
    rate = own_rate(law) + gap
    limit = (rate * cost - reward) ** 2 / (2 * variance(law, rate)) * information(law, model)
    assert divergence(law, rate, model) == pytest.approx(limit, rel=30 * gap + 1e-6)


@pytest.mark.parametrize("name", LAWS)
def test_smaller_models_are_farther(name):
    law = LAWS[name](1, 1)
    rate = own_rate(law) + 0.5
    values = {model.name: divergence(law, rate, model.name) for model in models(law)}
    for small, large in [("known covariance", "unknown covariance"), ("its outcomes", "bounded")]:
        if small in values and large in values:
            assert values[large] <= values[small] * (1 + 1e-9)


# --- Laws on a table and in a box ---


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


# --- Bernoulli ---


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


# --- Gaussians of unknown covariance ---


@pytest.mark.parametrize("law", [Gaussian(1.0, 0.5, 0.6, 0.4, 0.3), Gaussian(1.0, 0.5, 1.0, 1.0, 0.9)])
def test_unknown_covariance(law):
    """A search over means and Cholesky factors; the second law ends in the corner of the cone."""
    cov = law.correlation * law.cost_sd * law.reward_sd
    sigma = np.array([[law.cost_sd**2, cov], [cov, law.reward_sd**2]])
    mean = np.array([law.cost, law.reward])

    def kl(v):
        root = np.array([[math.exp(v[2]), 0], [v[3], math.exp(v[4])]])
        whitened = np.linalg.solve(root, np.column_stack([np.linalg.cholesky(sigma), v[:2] - mean]))
        return 0.5 * (np.sum(whitened**2) - 2) + v[2] + v[4] - 0.5 * math.log(np.linalg.det(sigma))

    cone = optimize.LinearConstraint([[1, 0, 0, 0, 0], [-2, 1, 0, 0, 0]], 0, np.inf)
    root = np.linalg.cholesky(sigma)
    start = [0.5, 1.1, math.log(root[0, 0]), root[1, 0], math.log(root[1, 1])]
    found = optimize.minimize(kl, start, constraints=[cone], method="SLSQP", options={"ftol": 1e-14, "maxiter": 500})
    assert divergence(law, 2.0, "unknown covariance") == pytest.approx(found.fun, rel=1e-6)
    assert divergence(Gaussian(1.0, 1.0, 0.5, 1.0, 1.0), 2.0, "unknown covariance") == math.inf


# --- Scale families ---


def scales(kl_cost: Any, kl_reward: Any, law: Any, rate: float) -> Any:
    """The cheapest pair of logarithmic scales whose rate is `rate`, by a search in two dimensions."""
    rise = math.log(rate / own_rate(law))
    line = optimize.LinearConstraint([[-1, 1]], rise, np.inf)

    def both(u: Any) -> float:
        return float(kl_cost(u[0]) + kl_reward(u[1]))

    start = np.array([-rise / 2, rise / 2])
    return optimize.minimize(both, start, constraints=[line], method="SLSQP", options={"ftol": 1e-14}).fun


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (4.0, 0.5), (0.3, 9.0)])
@pytest.mark.parametrize("rate", [0.6, 2.0, 30.0])
def test_gammas(a, b, rate):
    law = Gamma(2.0, 1.0, 2.0 / math.sqrt(a), 1.0 / math.sqrt(b))
    expected = scales(lambda u: a * (u + math.exp(-u) - 1), lambda u: b * (u + math.exp(-u) - 1), law, rate)
    assert divergence(law, rate) == pytest.approx(expected, rel=1e-6)
    if a == b == 1:
        assert divergence(Exponential(2.0, 1.0), rate) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("a", "b"), [(2.5, 3.5), (1.2, 8.0)])
@pytest.mark.parametrize("rate", [0.6, 2.0, 30.0])
def test_paretos(a, b, rate):
    def kl(tail: float, u: float) -> float:
        def integrand(p):
            x = p ** (-1 / tail) - 1
            return u + (tail + 1) * (math.log1p(x * math.exp(-u)) - math.log1p(x))

        return integrate.quad(integrand, 0, 1, limit=200)[0]

    law = Pareto(2.0, 1.0, a, b)
    expected = scales(lambda u: kl(a, u), lambda u: kl(b, u), law, rate)
    assert divergence(law, rate) == pytest.approx(expected, rel=1e-6)


def test_lognormals():
    law = Lognormal(1.0, 0.5, 0.8, 0.3, 0.4)
    logs = law.cost_sigma, law.reward_sigma, law.log_correlation
    # in the logarithms the rate is a shift of the line reward = cost, here far from the corner at 0
    rise = math.log(2.0 / 0.5)
    assert divergence(law, 2.0) == pytest.approx(divergence(Gaussian(9.0, 9.0 - rise, *logs), 1.0), rel=1e-12)
    assert divergence(Lognormal(1.0, 0.5, 0.0, 0.0), 2.0) == math.inf


# --- Student's t ---


@pytest.mark.parametrize("rate", [0.7, 2.0])
def test_students_in_the_plane(rate):
    law = StudentT(1.0, 0.5, 0.5, 0.4, 3.0, 0.4)
    gaussian = Gaussian(1.0, 0.5, 0.5, 0.4, 0.4)
    shift = math.sqrt(2 * divergence(gaussian, rate) * 3.0)  # in units of the scale matrix

    def integrand(y, x):
        w = x * x + y * y
        return (
            (1 + w / 3) ** -2.5 / (2 * math.pi) * 2.5 * (math.log1p(((x - shift) ** 2 + y * y) / 3) - math.log1p(w / 3))
        )

    expected, _ = integrate.dblquad(integrand, -np.inf, np.inf, -np.inf, np.inf, epsabs=1e-8, epsrel=1e-7)
    assert divergence(law, rate) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("shift", [0.1, 1.0, 20.0])
def test_students_on_a_line(shift):
    nu = 3.0
    law = StudentT(1.0, 1.0, 0.0, math.sqrt(nu / (nu - 2)), nu)
    t = stats.t(nu)
    expected, _ = integrate.quad(
        lambda x: t.pdf(x) * (t.logpdf(x) - t.logpdf(x - shift)), -np.inf, np.inf, epsabs=1e-11
    )
    assert divergence(law, 1.0 + shift) == pytest.approx(expected, rel=1e-6)
    assert divergence(StudentT(1.0, 1.0, 0.0, 0.0), 2.0) == math.inf


# --- Linear laws ---


def test_a_line_over_a_gaussian_cost_is_gaussian():
    line, same = (
        Linear(Gaussian(1.0, 0.0, 0.5, 0.0), 0.4, 0.1, 0.3),
        Gaussian(1.0, 0.5, 0.5, math.hypot(0.2, 0.3), 0.2 / math.hypot(0.2, 0.3)),
    )
    for model in ("known covariance", "unknown covariance"):
        assert divergence(line, 2.0, model) == pytest.approx(divergence(same, 2.0, model), rel=1e-12)
    # knowing the cost's law is knowing more
    assert divergence(line, 2.0, "known cost") > divergence(line, 2.0)
    assert divergence(Linear(Pareto(1.0, 1.0), 0.5), 2.0) == math.inf


# --- Exponential families ---


@pytest.mark.parametrize("correlation", [0.3, 0.9])
def test_family_of_gaussians(correlation):
    law = Gaussian(1.0, 0.5, 1.0, 1.0, correlation)
    sigma = np.array([[1.0, correlation], [correlation, 1.0]])
    eta = np.linalg.solve(sigma, [1.0, 0.5])
    found = exponential_family(eta, lambda e: 0.5 * e @ sigma @ e, lambda e: sigma @ e, 2.0)
    assert found == pytest.approx(divergence(law, 2.0), rel=1e-6)


def test_family_of_all_gaussians():
    """Five statistics: cost, reward, their squares and product; the domain is a cone of positive definite matrices."""
    law = Gaussian(1.0, 0.5, 0.6, 0.4, 0.3)
    sigma = np.array([[0.36, 0.072], [0.072, 0.16]])

    def read(e: Any) -> Any:
        precision = -np.array([[2 * e[2], e[4]], [e[4], 2 * e[3]]])
        return precision, np.linalg.solve(precision, e[:2])

    def log_partition(e):
        precision, mean = read(e)
        determinant = np.linalg.det(precision)
        return 0.5 * (mean @ precision @ mean - math.log(determinant)) if determinant > 0 and e[2] < 0 else math.inf

    def means(e):
        precision, mean = read(e)
        second = np.linalg.inv(precision) + np.outer(mean, mean)
        return np.array([*mean, second[0, 0], second[1, 1], second[0, 1]])

    precision = np.linalg.inv(sigma)
    eta = [*precision @ [1.0, 0.5], -precision[0, 0] / 2, -precision[1, 1] / 2, -precision[0, 1]]
    found = exponential_family(eta, log_partition, means, 1.2)
    assert found == pytest.approx(divergence(law, 1.2, "unknown covariance"), rel=1e-6)


def test_family_of_coins():
    p, q, rate = 0.5, 0.4, 1.5
    eta = np.log([p / (1 - p), q / (1 - q)])
    found = exponential_family(eta, lambda e: np.logaddexp(0, e).sum(), lambda e: 1 / (1 + np.exp(-e)), rate)
    assert found == pytest.approx(divergence(Bernoulli(p, q), rate, "independent"), rel=1e-7)


def test_family_of_tables():
    law, rate = Bernoulli(0.5, 0.4, 0.3), 1.5
    cells = np.array([0.1 + law.both, 0.4 - law.both, 0.5 - law.both, law.both])
    statistics = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1.0]])  # cost, reward, both
    eta = np.linalg.solve(statistics.T[1:], np.log(cells[1:] / cells[0]))

    def means(e):
        weights = np.exp(e @ statistics)
        return statistics @ weights / weights.sum()

    found = exponential_family(eta, lambda e: math.log(np.exp(e @ statistics).sum()), means, rate)
    assert found == pytest.approx(divergence(law, rate), rel=1e-6)


@pytest.mark.parametrize("rate", [0.6, 2.0, 30.0])
def test_family_of_exponentials(rate):
    def log_partition(e):
        return -np.log(-e).sum() if (e < 0).all() else math.inf

    found = exponential_family([-1.0, -2.0], log_partition, lambda e: -1 / e, rate)
    assert found == pytest.approx(divergence(Exponential(1.0, 0.5), rate), rel=1e-6)


# --- The user's own, and what is not covered ---


class Mine(NamedTuple):
    known: float

    def draw(self, rng):
        return 1.0, 0.5

    def moments(self):
        return LawMoments(1.0, 0.5, 1.0, 1.0, 0.0)


class Brought(Mine):
    def divergence(self, rate):
        return self.known * (rate - 0.5)


def test_a_law_may_bring_its_own():
    assert divergence(Brought(2.0), 1.0) == 1.0
    assert model_of(Brought(2.0)) == "The model of the law's own method divergence(rate)."
    with pytest.raises(BadParameter, match=r"^divergence at the rate 1 of Brought must be ≥ 0; got -0.5$"):
        divergence(Brought(-1.0), 1.0)


@pytest.mark.parametrize("law", [Mine(1.0), Exponential(1.0, 0.5, 0.4), Gamma(1.0, 0.5, 1.0, 0.5, 0.4)])
def test_not_covered(law):
    kind = type(law).__name__ + ("" if isinstance(law, Mine) else " with correlated cost and reward")
    sentence = rf"^its law is {kind}, which has no formula here and no divergence\(rate\) of its own$"
    with pytest.raises(NotCovered, match=sentence):
        divergence(law, 1.0)
    with pytest.raises(NotCovered, match=sentence):
        model_of(law)


def test_every_law_has_a_sentence():
    for law in [Constant(1.0, 1.0), *(build(1, 1) for build in LAWS.values())]:
        assert model_of(law).endswith(".")
    covered = {type(law(1, 1)) for law in LAWS.values()} | {Bernoulli, Constant}
    assert covered == {getattr(arms, name) for name in arms.__all__ if hasattr(getattr(arms, name), "draw")} - {
        arms.AnyLaw
    }


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.filterwarnings("error")
def test_distant_rates(name):
    law = LAWS[name](1, 1)
    for model in models(law):
        assert divergence(law, 1e60, model.name) >= divergence(law, 2.0, model.name) * (1 - 1e-9)
        with pytest.raises(BadParameter, match=r"^rate of divergence must be .*≤ 1e\+100; got 1e\+200$"):
            divergence(law, 1e200, model.name)


def test_bad_families_are_one_sentence():
    cases: list[tuple[Any, str]] = [
        (([0.0], abs, abs, 2.0), "natural of exponential_family must be at least two numbers"),
        (("a", abs, abs, 2.0), "natural of exponential_family must be a number or a sequence"),
        (([0.0, 1.0], None, abs, 2.0), "log_partition of exponential_family must be a function"),
        (([0.0, 1.0], abs, None, 2.0), "means of exponential_family must be a function"),
        (([0.0, 1.0], abs, abs, math.nan), "rate of exponential_family must be a finite number"),
    ]
    for arguments, sentence in cases:
        with pytest.raises(BadParameter, match=f"^{sentence}"):
            exponential_family(*arguments)
    with pytest.raises(BadParameter, match=r"^law of divergence must be a law"):
        divergence(None, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", [math.nan, math.inf, "1"])
def test_rates_are_numbers(rate):
    with pytest.raises(BadParameter, match=r"^rate of divergence must be a finite number .*; got "):
        divergence(Gaussian(1.0, 0.5, 0.5, 0.5), rate)
