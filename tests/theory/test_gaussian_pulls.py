"""UCB-B1 on Gaussian pairs at α·L > 1.741: the steps of the proof on the policy's own scores, and measured pulls.

What the steps say is sharp: sample means that put the best arm out of play are as near as the proof allows.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import norm

import outlay
from outlay.arms import Gaussian, Problem, catalogue
from outlay.beliefs import Belief
from outlay.policies import UCBB1
from outlay.theory import assumptions, pull_bound, rates, upper_bound
from outlay.theory.assumptions import GaussianMoments, _enough, _lost, gaussian_pulls, least_level
from outlay.theory.pull_bounds import arms_with_a_gap, pull_constants

KAPPA = 0.28 / 1.28
PROBLEMS = {
    "correlated": Problem([Gaussian(1.0, 1.5, 0.5, 0.5, 0.6), Gaussian(0.8, 1.0, 0.4, 0.5, 0.5)]),
    "steady costs": Problem([Gaussian(1.0, 1.5, 0.0, 0.5), Gaussian(0.8, 1.0, 0.0, 0.5)]),
    "noisy costs": Problem([Gaussian(1.0, 1.5, 0.5, 0.1), Gaussian(0.8, 0.2, 1.6, 0.1)]),
    "steep": Problem([Gaussian(1.0, 1.0, 0.5, 2.0, 0.9), Gaussian(1.0, 0.9, 0.5, 2.0, -0.9)]),
    "near": Problem([Gaussian(1.0, 1.0, 0.3, 0.3), Gaussian(1.0, 0.95, 0.3, 0.3)]),
}


def moments(problem: Problem, arm: int) -> GaussianMoments:
    found, second = rates(problem), problem.second_moments()
    parts = (found.mean_cost, found.rate, found.slope, found.residual_variance, second["var_cost"])
    return GaussianMoments(*(float(part[arm]) for part in parts))


def policy_of(problem: Problem, level: float, factor: float = 1.4) -> UCBB1:
    least = 0.45 * float(problem.mean_costs.min())
    return UCBB1(**problem.second_moments(), alpha=3.0, variance_factor=level / 3.0, factor=factor, min_cost=least)


def score(policy: UCBB1, arm: GaussianMoments, place: int, pulls: int, off: tuple[float, float], log_n: float) -> float:
    """After `pulls` of means of cost and residual that are `off` by so many standard deviations."""
    cost = arm.mean_cost + off[0] * math.sqrt(arm.var_cost / pulls)
    residual = (arm.rate - arm.slope) * arm.mean_cost + off[1] * math.sqrt(arm.residual_variance / pulls)
    return float(policy.score(Belief(place, pulls, cost, residual + arm.slope * cost, 0.0, 0.0, 0.0), log_n))


@pytest.mark.parametrize("name", PROBLEMS)
@settings(max_examples=400, deadline=None)
@given(
    x=st.floats(-40, 40),
    y=st.floats(-12, 12),
    pulls=st.integers(1, 3000),
    log_n=st.floats(0.7, 40.0),
    share=st.floats(0.02, 0.98),
    factor=st.sampled_from([1.4, 1.28 / 0.72]),
    level=st.sampled_from([1.75, 2.5, 4.2]),
)
def test_what_puts_the_best_arm_out_of_play_is_rare(name, x, y, pulls, log_n, share, factor, level):
    """Step 1: its score is below r* − γΔ only if a mean is off by c_f√(a ln n) + m√t standard deviations."""
    problem = PROBLEMS[name]
    best, below = moments(problem, 0), share * float(problem.gaps[1])
    rate = best.rate - below
    if score(policy_of(problem, level, factor), best, 0, pulls, (x, y), log_n) >= rate:
        return
    spread = best.spread(max(abs(best.slope), abs(rate - best.slope)))
    m = best.mean_cost / (1 + factor * KAPPA) / max(spread / below, 2 * math.sqrt(best.var_cost))
    least = factor / (1 + factor * KAPPA) * math.sqrt(level * log_n) + m * math.sqrt(pulls)
    assert max(abs(x) if best.var_cost else 0.0, -y) > least * (1 - 1e-9)


def test_no_less_will_do():
    """Costs of mean (1 + fκ) after the least pulls that are stable: c_f√(a ln n) standard deviations, 1 % more of them
    and it is out of play, 1 % less and it is not."""
    problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.0), Gaussian(1.0, 0.999, 0.0, 0.0)])
    best, policy, log_n = moments(problem, 0), policy_of(problem, 1.7), 1e7
    pulls = math.floor(1.7 * 0.25 * log_n / (KAPPA * (1 + 1.4 * KAPPA)) ** 2) + 1
    off = 1.4 / (1 + 1.4 * KAPPA) * math.sqrt(1.7 * log_n)
    assert score(policy, best, 0, pulls, (1.01 * off, 0.0), log_n) < 0.999
    assert score(policy, best, 0, pulls, (0.99 * off, 0.0), log_n) > 0.999
    assert least_level(1.4) * (1.4 / (1 + 1.4 * KAPPA)) ** 2 == pytest.approx(2.0)


@pytest.mark.parametrize("name", PROBLEMS)
@settings(max_examples=200, deadline=None)
@given(
    x=st.floats(-1, 1),
    y=st.floats(-1, 1),
    more=st.floats(1, 100),
    share=st.floats(0.02, 0.98),
    off=st.floats(0.02, 1.0),
)
def test_a_worse_arm_is_dropped_after_enough_pulls(name, x, y, more, share, off):
    """Step 2: after more than C·a·ln n pulls, with means off by at most β of the radius after so many, at any time."""
    problem, level, log_n = PROBLEMS[name], 2.1, 14.0
    arm, gap = moments(problem, 1), float(problem.gaps[1])
    enough = _enough(arm, (1 - share) * gap, 1.4, off) * level * log_n
    pulls = math.ceil(more * enough) + 1
    far = off * math.sqrt(level * log_n * pulls / enough)  # in standard deviations after these pulls
    assert score(policy_of(problem, level), arm, 1, pulls, (x * far, y * far), log_n) < problem.rate - share * gap


def test_the_constants_are_not_wasteful():
    """At a third of the pulls the arm may still be in play with such means, and at half of them with exact ones."""
    for problem in PROBLEMS.values():
        arm, gap, level, log_n = moments(problem, 1), float(problem.gaps[1]), 2.1, 1e4
        for off, part, at in ((1.0, 1 / 3, (-1.0, 0.0, 1.0)), (0.02, 1 / 2, (0.0,))):
            enough = _enough(arm, 0.98 * gap, 1.4, off) * level * log_n
            pulls = math.floor(part * enough)
            far = off * math.sqrt(level * log_n * pulls / enough)
            corners = [(x * far, y * far) for x in at for y in at]
            policy = policy_of(problem, level)
            assert max(score(policy, arm, 1, pulls, corner, log_n) for corner in corners) > problem.rate - 0.02 * gap


@pytest.mark.parametrize("level", [1.75, 2.1, 4.2])
def test_the_sum_over_pulls_and_times(level):
    """Step 3: Σ over t of the normal tails, exactly, is below K/(j^e ln j), and not far below."""
    best, below, factor = moments(PROBLEMS["correlated"], 0), 0.1, 1.4
    rate = best.rate - below
    spread = best.spread(max(abs(best.slope), abs(rate - best.slope)))
    m = best.mean_cost / (1 + factor * KAPPA) / max(spread / below, 2 * math.sqrt(best.var_cost))
    exponent, total = level / least_level(factor), 0.0
    roots = m * np.sqrt(np.arange(1.0, 4e5))
    for j in (2, 10, 1000):
        exact = 3 * norm.sf(math.sqrt(2 * exponent * math.log(j)) + roots).sum()
        bound = 1.5 / (exponent * m**2) / (j**exponent * math.log(j))
        assert bound / 12 < exact < bound
    times = np.arange(2.0, 10.0**6)
    terms = np.minimum(1.0, 1.5 / (exponent * m**2) / (times**exponent * np.log(times)))
    total = float(terms.sum())
    assert total < _lost(best, below, factor, exponent)
    if level > 2:
        assert _lost(best, below, factor, exponent) < 1.4 * total


@pytest.mark.parametrize("level", [1.8, 2.1, 3.0, 4.2])
@pytest.mark.parametrize("name", ["G", "near"])
def test_pulls_stay_below_and_those_of_equal_play_do_not(name, level):
    """Twenty runs; what is measured is a third of what is allowed or less, so a failure is a defect, not chance."""
    problem = catalogue.load("G") if name == "G" else PROBLEMS[name]
    policy = UCBB1(**problem.second_moments(), alpha=3.0, variance_factor=level / 3.0)
    pulls = outlay.simulate(problem, policy, budgets=[3e3, 3e5], runs=20, seed=3, workers=1).pulls[0]
    for i in range(2):
        n = int(pulls[:, i].sum(axis=1).max())
        for arm in np.flatnonzero(problem.gaps > 0):
            bound = pull_bound(problem, policy, int(arm), n, "proved")
            assert pulls[:, i, arm].mean() < bound
            if i == 1 and level < 4:
                assert bound < n / len(problem) / 1.5


def test_theorem_1_is_true_from_3_48_on():
    """In the limit β, γ → 0, L·C ≤ 11σ²/(Δμ)² wherever ω ≤ r: the printed coefficient, at every α with a proof."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        sds, cors = rng.uniform(0, 2, (2, 2)), rng.uniform(-1, 0.9, 2)
        laws = [
            Gaussian(cost, rate * cost, sd[0], sd[1], min(cor, 0.99 * rate * sd[0] / max(sd[1], 1e-9)))
            for cost, rate, sd, cor in zip(rng.uniform(0.2, 3, 2), (1.0, rng.uniform(0, 0.99)), sds, cors, strict=True)
        ]
        problem = Problem(laws)
        policy = UCBB1(**problem.second_moments(), alpha=3.5, min_cost=0.05)
        (arm,) = arms_with_a_gap(problem, policy).values()
        assert 0.5 * _enough(arm.moments, arm.gap, 1.4, 0.0) <= 11 * arm.sigma2 / arm.loss**2
        level = math.log(1e5 / (problem.mean_costs.min() / 2))
        printed, proved = (upper_bound(problem, policy, 1e5, kind).value for kind in ("printed", "proved"))
        assert printed == pytest.approx(3.5 * level * 11 * arm.sigma2 / arm.loss)
        assert proved > 0


def lost_by_hand(best: tuple[float, ...], below: float, e: float) -> float:
    """Σ min(1, K/(j^e·ln j)) over j ≥ 2, without an end, for μ, √Var(X), √V, ω and r of the best arm, and γΔ."""
    mean, sd, root, slope, rate = best
    w = max(abs(slope), abs(rate - below - slope))
    m = mean / ((1 + 1.4 * KAPPA) * max((root + w * sd) / below, 2 * sd))
    k, times = 3 / (2 * e * m**2), np.arange(2.0, 100_001.0)
    rest, _ = integrate.quad(lambda t: k * math.exp(-(e - 1) * t) / t, math.log(100_000), math.inf)  # j = eᵗ
    return float(np.minimum(1.0, k / (times**e * np.log(times))).sum()) + rest


@pytest.mark.parametrize("slope", [-0.3, 0.5, 0.9, 2.0])
@pytest.mark.parametrize("below", [0.1, 0.4, 0.9])
def test_what_is_lost_by_hand(slope, below):
    """Slopes below 0, below the rate and above it; with little noise of the rewards 2√Var(X) is the larger of both."""
    for root in (0.01, 0.7):
        for e in (1.02, 1.5):
            found = _lost(GaussianMoments(0.8, 1.0, slope, root**2, 0.3**2), below, 1.4, e)
            assert found == pytest.approx(lost_by_hand((0.8, 0.3, root, slope, 1.0), below, e), rel=1e-7)


def by_hand(arm: tuple[float, ...], best: tuple[float, ...], gap: float, level: float, log_n: float) -> list[float]:
    """C, c and what both come to at n, at f = 1.4 and the best β and γ: the theorem of docs/errata.md, term by term.

    Of the arm it reads μ, √Var(X) and S, of the best one μ, √Var(X), √V, ω and r; the sum over j goes on for ever.
    """
    e, found = level * (1.4 / (1 + 1.4 * KAPPA)) ** 2 / 2, []
    for gamma in assumptions._SHARES:
        lost = lost_by_hand(best, gamma * gap, e)
        for beta in assumptions._GAUSSIAN_DEVIATIONS:
            mean, sd, spread = arm
            tau, h = KAPPA / (1 + KAPPA * beta), (1 + KAPPA * beta) * (beta + 1.4 * (1 + KAPPA * beta))
            c = max((sd / (tau * mean)) ** 2, (h * spread / ((1 - gamma) * gap * mean)) ** 2)
            missed = 2 * math.exp(-level * beta**2 / 2 * log_n) / (1 - math.exp(-(beta**2) / (2 * c)))
            found.append([c * level * log_n + 1 + missed + lost, c, 1 + missed + lost])
    total, enough, constant = min(found)
    return [enough, constant, total]


@pytest.mark.parametrize("alpha", [4.0, 9.0])
@pytest.mark.parametrize("log_n", [5.0, 13.0, 300.0])
def test_the_theorem_by_hand(alpha, log_n):
    """ω = 1.5 and r = 0.5, Var(X) = ¼ and V = 1/16: S = ¼ + 1·½. The best arm: r = 1.25, ω = −0.3, V = 1/25."""
    steep = Gaussian(1.0, 0.5, 0.5, math.sqrt(0.0625 + 1.5**2 * 0.25), 0.75 / math.sqrt(0.0625 + 1.5**2 * 0.25))
    first = Gaussian(0.8, 1.0, 0.6, math.sqrt(0.04 + 0.09 * 0.36), -0.18 / math.sqrt(0.04 + 0.09 * 0.36))
    problem = Problem([first, steep])
    policy = UCBB1(**problem.second_moments(), alpha=alpha, min_cost=0.1)
    enough, constant, total = by_hand((1.0, 0.5, 0.75), (0.8, 0.6, 0.2, -0.3, 1.25), 0.75, alpha / 2, log_n)
    found = pull_constants(problem, policy, 1, "proved", log_n)
    assert found == pytest.approx((enough / 2, constant), rel=1e-7)  # L = ½: C·α·L
    assert found.coefficient * alpha * log_n + found.constant == pytest.approx(total, rel=1e-7)


def test_worse_arms_with_little_noise():
    """√Var(X) = √V = 0.02: less than one pull in units of a·ln n, and the deviations still count."""
    problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.2, 0.02, 0.02)])
    policy = UCBB1(**problem.second_moments(), alpha=4.0)
    enough, constant, _ = by_hand((1.0, 0.02, 0.024), (1.0, 0.5, 0.5, 0.0, 1.0), 0.8, 2.0, 1.0)
    assert enough < 1 < constant
    assert pull_constants(problem, policy, 1, "proved", 1.0) == pytest.approx((enough / 2, constant), rel=1e-7)


def test_without_noise():
    """Nothing to learn: one pull and none lost. A rate of 0 is never undercut."""
    still, best = GaussianMoments(1.0, 0.5, 0.0, 0.0, 0.0), GaussianMoments(1.0, 1.0, 0.0, 0.0, 0.0)
    assert gaussian_pulls(still, best, 2.1, 1.4, 10.0) == (0.0, 1.0)
    assert _lost(GaussianMoments(1.0, 0.2, 0.0, 1.0, 1.0), 0.2, 1.4, 1.5) == 0.0
