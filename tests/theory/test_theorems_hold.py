"""Measured pulls and regret stay below the lemmas, the theorems and the proved constants, and uniform play does not.

Seeds are fixed; what is measured is far below what is allowed, so a failure is a defect, not chance. Lemmas are about
n pulls and runs end at a budget: the mean over runs of T_k(N) is compared with the bound at the largest N.
"""

from typing import Any

import pytest

import outlay
from outlay.arms import Bernoulli, Gaussian, Problem, StudentT, catalogue
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1
from outlay.theory import horizon, optimality, pull_bound, regret_from_pulls, upper_bound
from outlay.theory.arm_rates import suboptimal

BUDGETS = [300.0, 3e3, 3e4, 3e5]
PROBLEMS = {
    "G": catalogue.load("G"),
    "gaussian5": catalogue.load("gaussian5"),
    "near": Problem([Gaussian(1.0, 1.0, 0.3, 0.3), Gaussian(1.0, 0.95, 0.3, 0.3), Gaussian(2.0, 0.2, 1.0, 0.3)]),
    "H": catalogue.load("H"),
    "coins": Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.45), Bernoulli(0.6, 0.1)]),
    "tied coins": Problem([Bernoulli(0.5, 0.5, 0.5), Bernoulli(0.5, 0.45, 0.4), Bernoulli(0.8, 0.2, -0.2)]),
    "calm": Problem(  # the moments of "tails", which is all that UCB-M1 and its bounds look at
        [Gaussian(1.0, 1.0, 0.2, 0.2, 0.4), Gaussian(1.2, 0.6, 0.2, 0.2), Gaussian(0.8, 0.1, 0.1, 0.1)]
    ),
    "tails": Problem(
        [StudentT(1.0, 1.0, 0.2, 0.2, 3.0, 0.4), StudentT(1.2, 0.6, 0.2, 0.2), StudentT(0.8, 0.1, 0.1, 0.1)]
    ),
}


def told(problem: Problem) -> dict[str, Any]:
    return dict(problem.second_moments())


CASES: list[tuple[str, Any]] = [
    *((name, UCBB1(**told(PROBLEMS[name]))) for name in ("G", "gaussian5", "near")),
    *((name, UCBB1(**told(PROBLEMS[name]), variance_factor=2.0)) for name in ("G", "near")),
    *((name, UCBB1(**told(PROBLEMS[name]), cost_bound=1, reward_bound=1)) for name in ("H", "tied coins")),
    *((name, UCBB2(cost_bound=1, reward_bound=1)) for name in ("H", "coins")),
    ("calm", UCBM1(**told(PROBLEMS["calm"]))),
]
RARE_CASES: list[tuple[str, Any]] = [  # three compilations more
    ("tails", UCBM1(**told(PROBLEMS["tails"]))),
    *((name, UCBB2C(cost_bound=1, reward_bound=1, slope_bound=1)) for name in ("coins", "tied coins")),
]


def constants_for(name: str, policy: Any) -> list[str]:
    """Printed constants need the paper's L, proved ones L = 2 for Gaussians. What is printed for UCB-B2 on H says
    nothing at these budgets: uniform play loses less."""
    if isinstance(policy, UCBB1) and policy.cost_bound == 0:
        return ["printed"] if policy.chosen_factor == 0.5 else ["proved"]
    return ["proved"] if name == "H" and isinstance(policy, UCBB2) else ["printed", "proved"]


@pytest.mark.parametrize(
    ("name", "policy"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.soak) for case in RARE_CASES)],
    ids=[f"{type(policy).__name__}-{name}" for name, policy in (*CASES, *RARE_CASES)],
)
def test_pulls_and_regret_stay_below(name, policy):
    problem = PROBLEMS[name]
    result = outlay.simulate(problem, policy, budgets=BUDGETS, runs=10, seed=1, workers=1)
    regret = result.regret()["mean"].to_numpy()
    for i, budget in enumerate(BUDGETS):
        mean = result.pulls[0, :, i].mean(axis=0)
        longest = int(result.pulls[0, :, i].sum(axis=1).max())
        for constants in constants_for(name, policy):
            for arm in suboptimal(problem):
                assert mean[arm] <= pull_bound(problem, policy, arm, longest, constants)
            assert regret[i] <= upper_bound(problem, policy, budget, constants).value
    uniform = float(problem.gaps @ problem.mean_costs / problem.mean_costs.sum()) * BUDGETS[-1]
    for constants in constants_for(name, policy):
        assert uniform > 1.5 * upper_bound(problem, policy, BUDGETS[-1], constants).value


@pytest.mark.parametrize("name", ["G", "H"])
def test_regret_with_every_constant(name):
    """Proposition 4 with a lemma's pulls: what no policy can exceed, less what was earned, is below all its terms."""
    problem = PROBLEMS[name]
    policy = next(policy for case, policy in CASES if case == name)
    if name == "H":
        policy = UCBB2(cost_bound=1, reward_bound=1)
    result = outlay.simulate(problem, policy, budgets=BUDGETS, runs=10, seed=1, workers=1)
    earned = (result.pulls[0] @ problem.mean_rewards).mean(axis=0)
    for budget, reward in zip(BUDGETS, earned, strict=True):
        constants, n = constants_for(name, policy)[0], horizon(problem, budget)
        pulls = [
            pull_bound(problem, policy, arm, n, constants) if arm in suboptimal(problem) else 0.0
            for arm in range(len(problem))
        ]
        bound = regret_from_pulls(problem, pulls, budget, order=4.0)
        assert bound.optimality_gap > 0
        assert optimality(problem, budget).upper - reward <= bound.value
        assert bound.value >= upper_bound(problem, policy, budget, constants).value
    played = float(problem.mean_rewards.sum() / problem.mean_costs.sum()) * BUDGETS[-1]
    assert optimality(problem, BUDGETS[-1]).lower - played > 1.5 * bound.value  # uniform play
