"""What the paper prints and does not hold, each with a case that shows it: docs/errata.md has the calculations.

Long runs at the budgets of that page are in docs/errata.py. Seeds are fixed, and what is measured is far from what is
printed, so a failure is a defect, not chance.
"""

import importlib.util
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outlay
from outlay.arms import Discrete, Gaussian, Problem, catalogue
from outlay.beliefs import Belief
from outlay.errors import NotCovered
from outlay.policies import UCBB1, UCBB2, UCBM1
from outlay.theory import lower_bound, optimality, pull_bound, upper_bound

ERRATA = Path(__file__).parents[2] / "docs" / "errata.py"


def told(problem: Problem) -> dict[str, Any]:
    return dict(problem.second_moments())


def pulls_of(problem: Problem, policy: Any, budget: float, runs: int = 2) -> np.ndarray:
    pulls: np.ndarray = outlay.simulate(problem, policy, budgets=[budget], runs=runs, seed=0, workers=1).pulls[0, :, 0]
    return pulls


@pytest.mark.parametrize(
    ("problem", "alpha", "budget"),
    [
        (Problem([Gaussian(1.0, 2.0, 0.0, 0.1), Gaussian(1.0, 1.0, 0.0, 0.1)]), 10.0, 1e6),
        (Problem([Gaussian(1.0, 4.4, 0.0125, 0.05), Gaussian(1.0, 4.0, 0.0125, 0.05)]), 10.0, 3e5),
        (Problem([Gaussian(1.0, 1.0, 0.0, 0.0), Gaussian(1.0, 0.5, 0.0, 0.0)]), 10.0, 1e5),
    ],
    ids=["constant costs", "random costs", "no noise"],
)
def test_lemma_3(problem, alpha, budget):
    """UCB-M1 keeps an arm for 968·S²ℓ/(Δμ)² pulls, or to fill its blocks; Lemma 3 has 793·σ²ℓ/(Δμ)² + 2821·Var(X)ℓ/μ².

    S² is σ² where costs are constant, and nearly 2σ² where both are as random.
    """
    policy = UCBM1(**told(problem), alpha=alpha)
    pulls = pulls_of(problem, policy, budget)
    n = int(pulls[0].sum())
    assert pulls[:, 1].min() > pull_bound(problem, policy, 1, n)
    assert pulls[:, 1].max() < pull_bound(problem, policy, 1, n, "proved")


def test_theorem_2_without_noise():
    """σ² = 0: the printed bound is 0, whatever the constant, and the blocks take ⌊3.5α ln n⌋ + 1 pulls."""
    problem = Problem([Gaussian(1.0, 1.0, 0.0, 0.0), Gaussian(1.0, 0.5, 0.0, 0.0)])
    policy = UCBM1(**told(problem), alpha=10.0)
    assert upper_bound(problem, policy, 1e5).value == 0.0
    assert pulls_of(problem, policy, 1e5)[0, 1] == int(35 * math.log(1e5)) + 1


def test_theorem_1_for_gaussians_at_one_half():
    """The counterexample: a mean cost of x after T pulls is the last that is seen of the better arm up to time n."""
    delta, spread, n = 0.005, 0.5, 1e12
    problem = Problem([Gaussian(1.0, 1.0, spread, 0.0), Gaussian(1.0, 1.0 - delta, 0.0, 0.0)])
    policy = UCBB1(**told(problem))
    kappa = 0.28 / 1.28
    x = (1 + 1.4 * kappa) / (1 - delta)
    pulls = math.floor(0.5 * 2.1 * spread**2 * math.log(n) / (kappa * x) ** 2) + 1
    best = Belief(0, pulls, x, 1.0, spread**2, 0.0, 0.0)
    worse = policy.score(Belief(1, 1, 1.0, 1.0 - delta, 0.0, 0.0, 0.0), 1.0)
    assert worse == 1.0 - delta
    scores = [policy.score(best._replace(mean_cost=mean), math.log(n)) for mean in (x, 1.1 * x, 2 * x)]
    assert max(scores) <= worse
    assert policy.score(best._replace(pulls=pulls - 1), math.log(n)) == math.inf  # T is the least
    spec = importlib.util.spec_from_file_location("errata", ERRATA)
    page: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(page)  # type: ignore[union-attr]
    chance = math.erfc((x - 1) / spread * math.sqrt(pulls / 2)) / 2
    assert page.stuck_pulls(n, delta) == pytest.approx((n - pulls) * chance)
    assert upper_bound(problem, policy, n).value == 0.0
    assert page.stuck_pulls(n, delta) > 8 * pull_bound(problem, policy, 1, int(n))
    growth = math.log(page.stuck_pulls(1e300, delta) / page.stuck_pulls(1e150, delta)) / math.log(1e150)
    assert growth > 0.36  # a power of n; 1 − e is 0.385
    with pytest.raises(NotCovered, match=r"α·L > 1\.741"):
        upper_bound(problem, policy, n, "proved")


def test_theorem_3_on_one_problem_only():
    """Always pulling k* pulls worse arms o(n^a) times on this problem, and its regret is O(1)."""
    problem = catalogue.load("G")
    for budget in (1e3, 1e4):
        chain = optimality(problem, budget)
        most = chain.upper - chain.static.low  # of its regret
        assert most < 0.5 * lower_bound(problem, sharp=False) * math.log(budget)


def test_theorem_4_with_correlation():
    """R = rX: after the pulls that Theorem 4 would allow, the worse arm's score is above r*, with exact estimates."""
    problem = Problem([Discrete([0.0, 1.0], [0.0, rate], [0.5, 0.5]) for rate in (1.0, 0.98)])
    policy = UCBB2(1.0, 1.0)
    with pytest.raises(NotCovered, match="uncorrelated"):
        upper_bound(problem, policy, 1e7)
    level = 2.1 * math.log(4e7)
    printed = level * (42 * 0.02**2 / 4 / 0.01 + 42 * 1.98 + 21 * 0.02 + 21 * (16 * 0.01 + 0.01))
    assert printed == pytest.approx(3219, abs=1)
    belief = Belief(1, int(printed / 0.01), 0.5, 0.49, 0.25, 0.25 * 0.98**2, 0.25 * 0.98)
    assert policy.score(belief, math.log(1e7)) > 1.01
    enough = int(upper_bound(problem, policy, 1e7, "proved").value / 0.01)
    assert policy.score(belief._replace(pulls=enough), math.log(1e7)) < 1.0


def test_theorem_1_for_negative_rates():
    """r̂ = max(0, R̄)/X̄ shows rate 0 for −10: the arm is pulled until 0.1 and 0 are told apart. Hence NotCovered."""
    problem = Problem([Gaussian(1.0, 0.1, 0.1, 0.5), Gaussian(1.0, -10.0, 0.1, 0.5)])
    sigma2, level = 0.25 + (0.1 * 0.1) ** 2, 2.1 * np.log(3e5)
    lemma_2 = 11 * level * sigma2 / 10.1**2 + 12 * 2.1 / 0.1
    assert pulls_of(problem, UCBB1(**told(problem)), 3e5, runs=10)[:, 1].mean() > 2 * lemma_2
