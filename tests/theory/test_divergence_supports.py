"""D* on supports and in models at their edges: costs below 0, outcomes of no probability, caps, lines, families."""

import math

import numpy as np
import pytest
from scipy import optimize

from outlay.arms import (
    AnyLaw,
    Beta,
    Discrete,
    Exponential,
    Gaussian,
    LawMoments,
    Linear,
    Lognormal,
    Pareto,
    Support,
    Tails,
)
from outlay.arms.problem_file import Remembered
from outlay.errors import BadParameter, NotCovered
from outlay.theory import Edge, Points, divergence, exponential_family, kl_inf, models
from outlay.theory.divergence_bounded import outcomes
from outlay.theory.divergence_gaussian import as_gaussian, known_log_covariance


def coin(reward: float) -> Points:
    return Points(np.ones(2), np.array([0.0, 1.0]), np.array([1 - reward, reward]))


def test_outcomes_of_no_probability():
    """Never a reward, and a mean of ½ asked for: half of the mass moves, D = ln 2, however the support is told."""
    for points in (coin(0.0), Points(np.ones(1), np.zeros(1), np.ones(1))):
        assert kl_inf(points, 0.5, 0.5, Edge(np.ones(2), np.array([0.0, 1.0]))) == pytest.approx(math.log(2))


def test_supports_that_hardly_have_anything_better():
    """kl(½, r) as r comes near 1: −½ ln(4r(1 − r))."""
    for short in (1e-4, 1e-8, 1e-12):
        rate = 1.0 - short
        exact = -0.5 * math.log(4 * rate * (1 - rate))
        assert kl_inf(coin(0.5), rate - 0.5, rate, Edge(np.ones(2), np.array([0.0, 1.0]))) == pytest.approx(exact)


@pytest.mark.parametrize(("part", "name"), [(0, "costs"), (1, "rewards"), (2, "probabilities")])
def test_parts_that_are_no_numbers_are_named(part, name):
    parts = [*coin(0.25)]
    parts[part] = np.array([math.nan, 1.0])
    with pytest.raises(BadParameter, match=rf"^{name} at position 0 of kl_inf must be a finite number; got nan$"):
        kl_inf(Points(*parts), 0.25, 0.5, Edge(np.ones(2), np.array([0.0, 1.0])))
    if part < 2:
        edge = [np.ones(2), np.array([0.0, 1.0])]
        edge[part] = np.array([math.nan, 1.0])
        with pytest.raises(BadParameter, match=rf"^{name} of the edge at position 0 of kl_inf must be a finite number"):
            kl_inf(coin(0.25), 0.25, 0.5, Edge(*edge))


@pytest.mark.parametrize("costs", [[-1.0, 1.0], [-2.0, 1.0]])
def test_laws_without_a_mean_cost_are_judged_by_the_rate_alone(costs):
    """0 or below on average: no mean cost above 0 is asked of better laws either."""
    law = Discrete(costs, [-3.0, 1.5], [0.5, 0.5])
    points = Points(law.costs, law.rewards, law.probabilities)
    mean_cost, mean_reward = sum(costs) / 2, -0.75
    wanted = kl_inf(points, mean_cost - mean_reward, 1.0, Edge(law.costs, law.rewards))
    assert 0 < wanted < math.inf
    assert divergence(law, 1.0, "its outcomes") == pytest.approx(wanted, rel=1e-12)


def test_outcomes_that_cost_nothing_and_pay_nothing():
    """Half of the pulls cost 1 and are coins: ½·kl(½, ¾)."""
    law = Discrete([0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.5, 0.25, 0.25])
    assert divergence(law, 0.75) == pytest.approx(0.5 * 0.5 * math.log(4 / 3))


def least(law: Discrete, rate: float) -> float:
    """The least KL over tables with E[X] ≥ 0 and E[R] ≥ rate·E[X], by a search."""
    x, r, p = law.costs, law.rewards, law.probabilities
    found = optimize.minimize(  # type: ignore[call-overload]
        lambda q: float((p * np.log(p / q)).sum()),
        np.full(len(p), 1.0 / len(p)),
        bounds=[(1e-12, 1.0)] * len(p),
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1.0},
            {"type": "ineq", "fun": lambda q: (q * x).sum()},
            {"type": "ineq", "fun": lambda q: (q * (r - rate * x)).sum()},
        ],
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return float(found.fun)


@pytest.mark.parametrize("rate", [0.7, 3.0, 10.0])
def test_what_pays_and_costs_nothing_allows_any_rate(rate):
    law = Discrete([-1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [0.25, 0.25, 0.5])
    assert divergence(law, rate) == pytest.approx(least(law, rate), rel=1e-6)


def test_caps():
    """Of −1 refunded at a loss of 2 and 2 paid for 1, a mean cost > 0 has a rate of ½ at most: 0.3 is 0.4c = 1.7a."""
    for costs, rewards in (([-1.0, 2.0], [-2.0, 1.0]), ([-1.0, 0.0, 2.0], [-2.0, 0.0, 1.0])):
        law = Discrete(costs, rewards, [0.5, *[0.0] * (len(costs) - 2), 0.5])
        for rate in (0.5, 1.0, 3.0):
            assert divergence(law, rate) == math.inf
        wanted = 0.5 * math.log(0.5 / (0.4 / 2.1)) + 0.5 * math.log(0.5 / (1.7 / 2.1))
        assert divergence(law, 0.3) == pytest.approx(wanted, rel=1e-9)
    # a cap of 0.5 that only rates up to 0.51 would show, and one of −0.5; what costs nothing pays nothing
    narrow = Discrete([-1.0, 0.0, 2.0], [-0.51, 0.0, 1.0], [0.5, 0.0, 0.5])
    assert divergence(narrow, 3.0) == math.inf
    losing = Discrete([-1.0, 0.0, 2.0], [0.2, 0.0, -1.0], [0.5, 0.0, 0.5])
    assert divergence(losing, 1.0) == math.inf
    on_a_line = Discrete([-1.0, 2.0], [-1.0, 2.0], [0.25, 0.75])
    assert divergence(on_a_line, 2.0) == math.inf


@pytest.mark.parametrize(
    ("cost_sigma", "reward_sigma"), [(0.6, 0.3), (1.6, 0.8), (0.5, 1.0), (0.4, 0.4), (0.5, 0.6), (1.0, 0.2)]
)
@pytest.mark.parametrize("correlation", [1.0, -1.0])
@pytest.mark.parametrize(("price", "worth"), [(1.0, 0.1), (1.0, 0.6), (1.0, 1.5), (10.0, 8.0)])
def test_logarithms_on_a_line(cost_sigma, reward_sigma, correlation, price, worth):
    """(u, w) = k·(s, ±t): k²/2 at the least |k| with e^w ≥ (rXe^u + ν)/R, or ∞ where no k is enough."""
    cost_sd, reward_sd = math.sqrt(math.expm1(cost_sigma**2)), 0.9 * math.sqrt(math.expm1(reward_sigma**2))
    joint = math.expm1(correlation * cost_sigma * reward_sigma)
    joint /= math.sqrt(math.expm1(cost_sigma**2) * math.expm1(reward_sigma**2))
    law = Lognormal(1.0, 0.9, cost_sd, reward_sd, joint)
    assert law.log_correlation == pytest.approx(correlation)
    k = np.linspace(-60.0, 60.0, 1_200_001)
    enough = 0.9 * np.exp(correlation * reward_sigma * k) >= price * np.exp(cost_sigma * k) + worth
    found = known_log_covariance(law, price, worth)
    if not enough.any():
        assert found > 1e6  # rounding may leave a correlation just short of 1
        assert found == math.inf or abs(law.log_correlation) < 1
    else:
        assert found == pytest.approx(float((k[enough] ** 2).min()) / 2, rel=1e-3)


def test_which_models_a_law_has():
    def names(law: AnyLaw) -> list[str]:
        return [model.name for model in models(law)]

    assert names(Exponential(1.0, 0.5)) == ["independent"]
    assert names(Exponential(1.0, 0.5, 0.3)) == ["known correlation"]
    assert names(Linear(Pareto(1.0, 1.0), 0.5)) == ["known cost"]
    assert names(Linear(Gaussian(1.0, 0.0, 0.5, 0.0), 0.5)) == ["known covariance", "unknown covariance", "known cost"]


def test_a_law_that_is_known_by_name_only():
    moments = LawMoments(1.0, 0.5, 1.0, 1.0, 0.0)
    law = Remembered("mine:Odd", (("size", 2.0),), moments, Support(0.0, 9.0, 0.0, 9.0), Tails(math.inf, math.inf))
    with pytest.raises(NotCovered, match=r"^its law Odd\(size=2\.0\) is known by name only, and its code would have"):
        divergence(law, 1.0)


def test_only_tables_and_grids_have_outcomes():
    with pytest.raises(NotCovered, match=r"^no table or grid of Gaussian is known here"):
        outcomes(Gaussian(1.0, 0.5, 0.5, 0.5))


def test_noise_of_one_is_noise():
    """Cov = 2·¼ and Var(R) = 1 + 1: a correlation of ½/(½·√2)."""
    found = as_gaussian(Linear(Gaussian(1.0, 0.0, 0.5, 0.0), slope=2.0, noise_sd=1.0))
    assert found.correlation == pytest.approx(math.sqrt(0.5))


def test_extreme_betas_have_outcomes_too():
    """Nearly a coin: its grid is no finer than one can hold, and has its mean."""
    points = outcomes(Beta(0.5, 0.5, 0.494, 0.2))
    assert len(points.costs) < 1_000_000
    assert float(points.probabilities @ points.costs) == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("mean", "sds", "correlation"),
    [
        ((0.3, -1.0), (0.8, 0.5), -0.8),
        ((0.3, -1.0), (0.8, 0.5), 0.0),
        ((0.3, -1.0), (0.8, 0.5), 0.8),
        ((0.1, -1.0), (0.3, 1.0), -0.95),
    ],
)
@pytest.mark.parametrize("worth", [0.0, 0.5])
def test_families_of_gaussians_beside_the_corner(mean, sds, correlation, worth):
    """Means of a loss: better ones are in the cone where a request is worth nothing, else in a half-plane."""
    rate = 0.5
    sigma = np.outer(sds, sds) * np.array([[1.0, correlation], [correlation, 1.0]])
    found = exponential_family(
        np.linalg.solve(sigma, mean), lambda e: 0.5 * e @ sigma @ e, lambda e: sigma @ e, rate, worth
    )
    wanted = divergence(Gaussian(mean[0], mean[1], sds[0], sds[1], correlation), rate, worth=worth)
    assert found == pytest.approx(wanted, rel=1e-6)


def test_families_without_a_better_law():
    """Coins pay 1 at most: not 1.01, and not 1.01 for each unit of a cost that is never below 1."""

    def coins(eta: np.ndarray) -> float:
        return float(np.logaddexp(0.0, eta).sum())

    def chances(eta: np.ndarray) -> np.ndarray:
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(eta, -700.0, 700.0))))

    none = r"^the search for the nearest better law of its exponential family found none$"
    with pytest.raises(NotCovered, match=none):
        exponential_family([0.0, 0.0], coins, chances, 0.1, 1.01)
    shift = np.array([1.0, 0.0])
    with pytest.raises(NotCovered, match=none):
        exponential_family([0.0, 0.0], lambda eta: coins(eta) + eta @ shift, lambda eta: chances(eta) + shift, 1.01)
