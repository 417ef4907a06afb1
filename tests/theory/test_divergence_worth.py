"""D* where a request has a worth: the nearest law with E[R] ≥ λE[X] + ν, against searches of other kinds."""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import integrate, optimize
from tests.theory.divergence_laws import CASES, LAWS

from outlay.arms import (
    Bernoulli,
    Discrete,
    Exponential,
    Gamma,
    Gaussian,
    Linear,
    Lognormal,
    Pareto,
    StudentT,
    support_of,
)
from outlay.errors import BadParameter, NotCovered
from outlay.theory import divergence, exponential_family, models

PRICES = [(0.0, 0.7), (0.3, 0.6), (0.8, 0.2), (2.0, 0.05), (0.1, 3.0)]


def shortfall(law: Any, price: float, worth: float) -> Any:
    cost, reward, *_ = law.moments()
    return price * cost + worth - reward


def cases(law: Any) -> list[tuple[float, float]]:
    return [at for at in PRICES if shortfall(law, *at) > 0]


@pytest.mark.parametrize(("name", "model"), CASES)
@pytest.mark.filterwarnings("error")
def test_rising_in_both_and_0_where_reached(name, model):
    law = LAWS[name](1, 1)
    cost, reward, *_ = law.moments()
    own = reward - 0.1 * cost
    assert divergence(law, 0.1, model, worth=max(own, 0.0)) == pytest.approx(0.0, abs=1e-12)
    worths = [max(own, 0.0) + more for more in (1e-3, 0.05, 0.3, 1.0, 5.0, 1e3)]
    by_worth = [divergence(law, 0.1, model, worth=worth) for worth in worths]
    assert all(low <= high * (1 + 1e-9) for low, high in pairwise(by_worth))
    assert by_worth[0] > 0
    by_price = [divergence(law, price, model, worth=0.3) for price in (0.4, 0.6, 1.2, 2.5, 20.0, 1e30)]
    if support_of(law).cost_low >= 0:  # a law that may refund gains by a high price
        assert all(low <= high * (1 + 1e-9) for low, high in pairwise(by_price))
    assert min(by_price[1:]) > 0


@pytest.mark.parametrize(("name", "model"), CASES)
def test_a_worth_that_vanishes_leaves_what_there_is_without(name, model):
    """Where better laws all have a mean cost above 0; else a mean cost below it becomes possible, and D* falls."""
    law = LAWS[name](1, 1)
    rate = shortfall(law, 0.0, 0.0) / -law.moments()[0] + 0.4
    without, tiny = divergence(law, rate, model), divergence(law, rate, model, worth=1e-12)
    if name in ("Gaussian, corner", "Discrete, refunds", "Uniform, refunds"):
        assert tiny <= without * (1 + 1e-9)
    else:
        assert tiny == pytest.approx(without, rel=1e-6)


@pytest.mark.parametrize(("name", "model"), CASES)
def test_units_change_nothing(name, model):
    law, scaled = LAWS[name](1.0, 1.0), LAWS[name](3.0, 0.02)
    for price, worth in cases(law):
        other = divergence(scaled, price * 0.02 / 3.0, model, worth=worth * 0.02)
        assert other == pytest.approx(divergence(law, price, model, worth=worth), rel=1e-7)


def test_gaussians():
    law = Gaussian(1.2, 0.6, 0.5, 0.4, 0.3)
    for price, worth in cases(law):
        variance = 0.4**2 - 2 * price * 0.3 * 0.5 * 0.4 + price**2 * 0.5**2
        half = shortfall(law, price, worth) ** 2 / (2 * variance)
        assert divergence(law, price, worth=worth) == pytest.approx(half, rel=1e-12)
        unknown = divergence(law, price, "unknown covariance", worth=worth)
        assert unknown == pytest.approx(0.5 * math.log1p(2 * half), rel=1e-12)
    # the corner of the paper's cone is no corner here, nor is a line of means that misses it
    assert divergence(Gaussian(1.0, 0.5, 1.0, 1.0, 0.9), 2.0, worth=1e-15) == pytest.approx(0.804, abs=5e-4)
    assert divergence(Gaussian(1.0, 0.5, 1.0, 1.0, 1.0), 2.0, worth=0.5) == pytest.approx(2.0**2 / 2)
    assert divergence(Gaussian(1.0, 1.0, 0.5, 1.0, 1.0), 2.0, worth=0.5) == math.inf


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


def primal(costs: Any, rewards: Any, p: Any, price: float, worth: float) -> float:
    """min Σ p ln(p/q) over q on the points with Σ q(R − λX) ≥ ν: the linear constraint by SLSQP."""
    costs, rewards, p = (np.asarray(x, dtype=np.float64) for x in (costs, rewards, p))
    z = rewards - price * costs - worth
    start = np.full(len(p), 1e-3)
    start[np.argmax(z)] = 1.0
    found = optimize.minimize(  # type: ignore[call-overload]
        lambda q: float(-(p[p > 0] @ np.log(np.maximum(q[p > 0], 1e-300) / p[p > 0]))),
        start / start.sum(),
        jac=lambda q: np.where(p > 0, -p / np.maximum(q, 1e-300), 0.0),
        bounds=[(1e-12, 1.0)] * len(p),
        constraints=[{"type": "eq", "fun": lambda q: q.sum() - 1}, {"type": "ineq", "fun": lambda q: q @ z}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return float(found.fun)


@pytest.mark.parametrize("seed", range(8))
def test_tables(seed):
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
def test_independent_coins(seed):
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


def test_certain_coins():
    assert divergence(Bernoulli(1, 0.5), 0.25, "independent", worth=0.5) == pytest.approx(0.5 * math.log(4 / 3))
    assert divergence(Bernoulli(0.5, 0), 0.0, "independent", worth=0.5) == pytest.approx(math.log(2))
    # a reward that never fails: only the cost can change, from ½ to ¼
    assert divergence(Bernoulli(0.5, 1), 2.0, "independent", worth=0.5) == pytest.approx(-0.5 * math.log(0.75))


def by_scales(kl_cost: Any, kl_reward: Any, law: Any, price: float, worth: float) -> Any:
    """The cheapest pair of logarithmic scales with R·e^w ≥ λX·e^u + ν, by a search in two dimensions."""

    def both(u: Any) -> float:
        return float(kl_cost(u[0]) + kl_reward(u[1]))

    def better(u: Any) -> Any:
        return u[1] - math.log((price * law.cost * math.exp(u[0]) + worth) / law.reward)

    start = np.array([-0.1, better([-0.1, 0.0]) * -1.0 + 0.1])
    line = {"type": "ineq", "fun": better}
    found = optimize.minimize(both, start, constraints=[line], method="SLSQP", options={"ftol": 1e-15, "maxiter": 500})  # type: ignore[call-overload]
    return found.fun


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (4.0, 0.5), (0.3, 9.0)])
@pytest.mark.parametrize(("price", "worth"), [(0.2, 0.9), (0.6, 0.3), (2.0, 1.5), (0.01, 4.0), (0.5, 0.02)])
def test_gammas(a, b, price, worth):
    law = Gamma(2.0, 1.0, 2.0 / math.sqrt(a), 1.0 / math.sqrt(b))
    expected = by_scales(lambda u: a * (u + math.exp(-u) - 1), lambda u: b * (u + math.exp(-u) - 1), law, price, worth)
    assert divergence(law, price, worth=worth) == pytest.approx(expected, rel=1e-6)
    if a == b == 1:
        assert divergence(Exponential(2.0, 1.0), price, worth=worth) == pytest.approx(expected, rel=1e-6)


def test_gammas_in_closed_form():
    """Without a worth: (a+b) ln((a + bs)/(a+b)) − b ln s, s = r_k/r; from gaps of 1e-9 to those of 1e80."""
    for a, b in ((1.0, 1.0), (4.0, 0.5), (0.3, 9.0)):
        law = Gamma(2.0, 1.0, 2.0 / math.sqrt(a), 1.0 / math.sqrt(b))
        for rate in (0.6, 2.0, 1e5, 1e80):
            s = 0.5 / rate
            closed = (a + b) * math.log((a + b * s) / (a + b)) - b * math.log(s)
            assert divergence(law, rate) == pytest.approx(closed, rel=1e-12)
        close = a * b / (a + b) * (1e-9 / 0.5) ** 2 / 2
        assert divergence(law, 0.5 + 1e-9) == pytest.approx(close, rel=1e-6)


@pytest.mark.parametrize(("price", "worth"), [(0.2, 0.9), (0.6, 0.3), (2.0, 1.5), (0.01, 4.0)])
def test_paretos(price, worth):
    def kl(tail: float, u: float) -> float:
        def integrand(p):
            x = p ** (-1 / tail) - 1
            return u + (tail + 1) * (math.log1p(x * math.exp(-u)) - math.log1p(x))

        return float(integrate.quad(integrand, 0, 1, limit=200)[0])

    law = Pareto(2.0, 1.0, 2.5, 3.5)
    expected = by_scales(lambda u: kl(2.5, u), lambda u: kl(3.5, u), law, price, worth)
    assert divergence(law, price, worth=worth) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.85])
@pytest.mark.parametrize(("price", "worth"), [(0.2, 0.9), (0.6, 0.3), (2.0, 1.5), (0.01, 4.0), (0.5, 0.02)])
def test_lognormals(correlation, price, worth):
    law = Lognormal(2.0, 1.0, 1.6, 0.9, correlation)
    s, t, c = law.cost_sigma, law.reward_sigma, law.log_correlation
    precision = np.linalg.inv([[s * s, c * s * t], [c * s * t, t * t]])

    def better(u: Any) -> float:
        return float(u[1] - math.log((price * 2.0 * math.exp(u[0]) + worth) / 1.0))

    line = {"type": "ineq", "fun": better}
    found = optimize.minimize(lambda u: u @ precision @ u / 2, [0.0, 2.0], constraints=[line], options={"ftol": 1e-15})  # type: ignore[call-overload]
    assert divergence(law, price, worth=worth) == pytest.approx(found.fun, rel=1e-6)


def test_singular_lognormals():
    """Known costs, known rewards, and logarithms on a line."""
    rise = math.log((0.5 * 2.0 + 0.8) / 1.0)
    law = Lognormal(2.0, 1.0, 0.0, 0.5)
    assert divergence(law, 0.5, worth=0.8) == pytest.approx(rise**2 / (2 * law.reward_sigma**2))
    law = Lognormal(2.0, 1.0, 0.5, 0.0)
    fall = math.log((1.0 - 0.8) / (0.5 * 2.0))
    assert divergence(law, 0.5, worth=0.8) == pytest.approx(fall**2 / (2 * law.cost_sigma**2))
    assert divergence(law, 0.5, worth=1.1) == math.inf
    assert divergence(Lognormal(2.0, 1.0, 0.0, 0.0), 0.5, worth=0.8) == math.inf


def test_students_and_lines():
    law, gaussian = StudentT(1.0, 0.5, 0.5, 0.4, 1e9, 0.4), Gaussian(1.0, 0.5, 0.5, 0.4, 0.4)
    line = Linear(Gaussian(1.0, 0.0, 0.5, 0.0), 0.4, 0.1, 0.3)
    for price, worth in cases(law):
        assert divergence(law, price, worth=worth) == pytest.approx(divergence(gaussian, price, worth=worth), rel=1e-6)
        known = divergence(line, price, "known cost", worth=worth)
        assert known == pytest.approx(shortfall(line, price, worth) ** 2 / (2 * 0.3**2))


@pytest.mark.parametrize(("price", "worth"), [(0.3, 0.6), (0.8, 0.2), (0.1, 3.0)])
def test_families(price, worth):
    sigma = np.array([[1.0, 0.9], [0.9, 1.0]])
    eta = np.linalg.solve(sigma, [1.0, 0.5])
    found = exponential_family(eta, lambda e: 0.5 * e @ sigma @ e, lambda e: sigma @ e, price, worth)
    expected = divergence(Gaussian(1.0, 0.5, 1.0, 1.0, 0.9), price, worth=worth)
    assert found == pytest.approx(expected, rel=1e-6)
    found = exponential_family(
        [-1.0, -2.0], lambda e: -np.log(np.maximum(-e, 1e-300)).sum(), lambda e: -1 / e, price, worth
    )
    assert found == pytest.approx(divergence(Exponential(1.0, 0.5), price, worth=worth), rel=1e-6)


class Brought(NamedTuple):
    known: float

    def draw(self, rng):
        return 1.0, 0.5

    def moments(self):
        return 1.0, 0.5, 1.0, 1.0, 0.0

    def divergence(self, rate):
        return self.known * (rate - 0.5)


class Both(Brought):
    def divergence(self, rate, worth=0.0):
        return self.known * (rate + worth - 0.5)


def test_a_law_may_bring_its_own():
    assert divergence(Both(2.0), 1.0) == 1.0
    assert divergence(Both(2.0), 1.0, worth=0.5) == 2.0
    with pytest.raises(NotCovered, match=r"^its law is Brought, whose divergence\(rate\) takes no worth of a request$"):
        divergence(Brought(2.0), 1.0, worth=0.5)


def test_bad_worths_are_one_sentence():
    law = Gaussian(1.0, 0.5, 0.5, 0.5)
    with pytest.raises(BadParameter, match=r"^worth of divergence must be ≥ 0 and ≤ 1e\+100; got -1"):
        divergence(law, 1.0, worth=-1.0)
    with pytest.raises(BadParameter, match=r"^rate of divergence must be ≥ 0 where a request has a worth; got -1"):
        divergence(law, -1.0, worth=1.0)
    assert [model.name for model in models(law)] == ["known covariance", "unknown covariance"]
