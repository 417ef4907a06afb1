"""The bound at a budget on a problem and its neighbours: the formula, its steps, and that good policies have it."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import outlay
from outlay.arms import Bernoulli, Constant, Discrete, Exponential, Gamma, Gaussian, Pareto, Problem, catalogue
from outlay.errors import BadParameter, NotCovered
from outlay.policies import FiellerKnown, Fixed, Frugal
from outlay.theory import divergence, finite_bound, lower_bound
from outlay.theory.finite_budget import _GAINS

PAIR = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.2, 0.9, 0.5, 0.5, 0.3)])
COINS = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.35)])
TABLES = Problem([Discrete([0, 0, 1, 1], [0, 1, 0, 1], p) for p in ([0.25] * 4, [0.325, 0.175, 0.325, 0.175])])  # those


def kl(p: float, q: float) -> float:
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def root(problem: Problem, budget: float, regret: float, gain: float, part: float) -> float:
    """The least x of arm 1 with x·D ≥ kl(…) at one ε and one b, by small steps."""
    gap, mean = float(problem.gaps[1]), float(problem.mean_costs[1])
    v = float((problem.second_moments()["var_cost"] / problem.mean_costs).max())
    b, late = part * budget, v * part * budget / (v * part * budget + (budget * (1 - part)) ** 2)
    distance, there = divergence(problem.arms[1], problem.rate + gain * gap), regret / (gain * gap * part * budget)
    x = 0.0
    while 1 - late - mean * x / b > there and x * distance < kl(1 - late - mean * x / b, there):
        x += 1e-3
    return x


@pytest.mark.parametrize("problem", [PAIR, COINS])
def test_it_is_the_formula_at_the_best_gain_and_part(problem):
    """The largest root over a coarse grid is not above it, one over a finer grid by 3 % at most."""
    for budget, regret in ((1e3, 10.0), (1e5, 40.0)):
        found = finite_bound(problem, budget, regret)
        (pulls,) = found.pulls.values()
        assert found.value == pytest.approx(problem.gaps[1] * problem.mean_costs[1] * pulls)
        assert found.regret == regret
        coarse = max(root(problem, budget, regret, gain, 0.93) for gain in _GAINS)
        fine = max(
            root(problem, budget, regret, gain, part)
            for gain in np.geomspace(0.2, 1.5, 12)
            for part in (0.8, 0.9, 0.95, 0.98)
        )
        assert coarse - 2e-3 <= pulls <= max(coarse, fine) * 1.03
        assert fine <= 1.03 * pulls


def test_without_a_regret_it_is_where_both_are_equal():
    for problem, value in ((catalogue.load("G"), 18.1), (Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.4)]), 33.8)):
        found = finite_bound(problem, 1e5)
        assert found.value == pytest.approx(value, abs=0.05)
        assert finite_bound(problem, 1e5, found.value).value == pytest.approx(found.value, rel=1e-3)
        assert finite_bound(problem, 1e5, 2 * found.value).value < found.value < finite_bound(problem, 1e5, 1.0).value


def test_it_becomes_the_sharp_bound():
    """With R = 2·bound·ln B the share rises to 1/1.03², of the smallest gain that is tried: no factor is lost."""
    for problem in (PAIR, COINS):
        sharp = lower_bound(problem)
        shares = []
        for power in (5, 20, 60, 200):
            level = power * math.log(10.0)
            shares.append(finite_bound(problem, 10.0**power, 2 * sharp * level).value / (sharp * level))
        assert shares == sorted(shares)
        assert shares[0] > 0.2
        assert 0.9 < shares[-1] < 1.0


def better(law: Any, rate: float) -> Any:
    """The nearest law of the model whose rate is `rate`: a Gaussian of this covariance, or a table P/(1 − λZ)."""
    if isinstance(law, Discrete):
        costs, rewards, p = (np.array(values) for values in (law.costs, law.rewards, law.probabilities))
        z = rewards - rate * costs
        best = minimize_scalar(lambda u: -float(p @ np.log1p(-u * z)), bounds=(0.0, 0.999), method="bounded")
        moved = p / (1 - best.x * z)
        return Discrete(law.costs, law.rewards, moved / moved.sum())
    cov = law.correlation * law.cost_sd * law.reward_sd
    covariance, normal = np.array([[law.cost_sd**2, cov], [cov, law.reward_sd**2]]), np.array([-rate, 1.0])
    move = covariance @ normal * (rate * law.cost - law.reward) / (normal @ covariance @ normal)
    return law._replace(cost=law.cost + float(move[0]), reward=law.reward + float(move[1]))


CASES: dict[str, tuple[Problem, Any]] = {
    "index": (PAIR, FiellerKnown(**PAIR.second_moments())),
    "one arm for ever": (PAIR, Fixed(0)),
    "tables": (TABLES, Frugal()),
}


@pytest.mark.parametrize("name", CASES)
def test_good_policies_have_it(name, monkeypatch):
    """Each policy loses the bound here or where arm 1 is made better by a gain that is tried; 200 runs each.

    With R the largest mean regret of those, plus 4 standard errors, what is lost here is at least the bound at R. Where
    arm 1 is better by more than three halves of its gap, policies that never find out lose more: left out of both.
    """
    (problem, policy), budget, gains = CASES[name], 2000.0, (0.12, 0.25, 0.5, 0.75, 1.0, 1.5)
    monkeypatch.setattr("outlay.theory.finite_budget._GAINS", gains)
    rates = [problem.rate + gain * float(problem.gaps[1]) for gain in gains]
    others = [Problem([problem.arms[0], better(problem.arms[1], rate)]) for rate in rates]
    assert [other.rate for other in others] == pytest.approx(rates, rel=1e-5)
    here, *there = (
        outlay.simulate(played, policy, budgets=[budget], runs=200, seed=4, workers=1).regret()
        for played in (problem, *others)
    )
    most = max(regret["mean"][0] + 4 * regret["stderr"][0] for regret in there)
    lost, least = here["mean"][0] + 4 * here["stderr"][0], finite_bound(problem, budget).value
    assert least > 4
    assert max(most, lost) >= least
    assert lost >= finite_bound(problem, budget, most).value
    if name != "one arm for ever":
        assert lost < 20 * finite_bound(problem, budget, most).value  # not vacuous


@pytest.mark.parametrize("law", [Exponential(1.0, 1.0), Gaussian(1.0, 1.0, 3.0, 1.0), Gamma(1.0, 1.0, 2.0, 1.0)])
def test_the_budget_lasts(law):
    """The share of runs in which mean costs of less than b are pulled is at most p; 20 000 runs of one arm.

    It is a fair part of p at some b, so that p is no mere 1.
    """
    rng = np.random.default_rng(6)
    budget, variance = 40.0, law.moments()[2]
    costs = np.array([law.draw(rng)[0] for _ in range(20_000 * 60)]).reshape(20_000, 60)
    first = np.argmax(np.cumsum(costs, axis=1) > budget, axis=1) + 1.0
    first[(np.cumsum(costs, axis=1) <= budget).all(axis=1)] = math.inf
    shares = []
    for b in (10.0, 20.0, 30.0, 36.0):
        late = variance * b / (variance * b + (budget - b) ** 2)
        shares.append(float((first < b).mean()) / late)
    assert max(shares) < 1.0
    assert max(shares) > 0.1


def test_where_it_is_zero_or_there_is_none():
    assert finite_bound(Problem([Constant(1.0, 1.0), Constant(1.0, 0.5)]), 1e4).value == 0.0
    assert finite_bound(Problem([Constant(1.0, 1.0)] * 2), 1e4) == (0.0, 0.0, {})
    assert finite_bound(PAIR, 1e4, regret=1e9) == (0.0, 1e9, {"arm 1": 0.0})
    assert finite_bound(PAIR, 1e-3).value < 1e-3
    assert finite_bound(PAIR, 1e300, regret=1.0).value > 0
    with pytest.raises(NotCovered, match=r"is for costs of finite variance; those of arm 'arm 0' have none$"):
        finite_bound(Problem([Pareto(1.0, 1.0, 1.5, 3.0), Constant(1.0, 0.5)]), 1e4)
    with pytest.raises(NotCovered, match=r"^no bound at a budget for arm 'arm 1': its law is a correlated Gamma of"):
        finite_bound(Problem([Constant(1.0, 1.0), Gamma(1.0, 0.5, 0.002, 0.001, 0.5)]), 1e4)
    with pytest.raises(BadParameter, match=r"^regret of finite_bound must be ≥ 0; got -1$"):
        finite_bound(PAIR, 1e4, -1)
    with pytest.raises(BadParameter, match=r"^model of finite_bound must be one that an arm has; got 'mine'$"):
        finite_bound(PAIR, 1e4, model="mine")
    wide = finite_bound(PAIR, 1e5, 20.0, model="unknown covariance").value
    assert wide > finite_bound(PAIR, 1e5, 20.0).value  # a larger model, a nearer law
