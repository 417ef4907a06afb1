"""Thrifty and Wary: the whole choice against a slow twin; at the edges, in other units, with a budget nearly spent."""

import math
from typing import Any, Literal

import numpy as np
import pytest
from tests.beliefs.compiled import compiled
from tests.policies import slow_thrifty as slow
from tests.policies.tapes import (
    Law,
    Run,
    Tape,
    compared,
    constants,
    each_tape,
    gaussian,
    nothing,
    scaled,
    scales,
    taped,
)
from tests.policies.test_kl_rate import box, edge, edge_belief, edge_lead, extremes_of

from outlay import Problem, simulate
from outlay.arms import Discrete, Gaussian
from outlay.beliefs import Belief
from outlay.formulas.argmax import best_of_opened
from outlay.policies import Thrifty, Wary

pytestmark = pytest.mark.interpreted

ALL: list[Any] = [
    Thrifty(),
    Thrifty(0.05, horizon="unknown"),
    Thrifty(budget=60),
    Wary(budget=400.0),
    Wary(horizon="unknown"),
    Thrifty(free_pulls=45),
]


def twin(policy: Any, slack: float) -> Any:
    return lambda samples, order: slow.choose(samples, order, policy.slope, policy.budget, slack, policy.free_pulls)


@each_tape
def test_choices_and_excess_equal_the_slow_twin(tape: Tape) -> None:
    """Step by step along the run of each policy; rounding may decide only where the twin says that it could."""
    slack = 0.0 if tape in (constants, nothing) else 1e-9  # all ties are exact there
    steps = [n for n in range(160) if n < 40 or n % 8 == 0]
    counts = [
        compared(policy, tape, 4 + 10 * (seed % 2), seed, steps, twin(policy, slack)) for seed, policy in enumerate(ALL)
    ]
    clear, of = np.sum(counts, axis=0)
    assert clear > 0.6 * of


def test_a_long_run_equals_the_slow_twin() -> None:
    """So much spend that the slope grows with it, and many arms, so that it grows less."""
    steps = [*range(200, 1200, 50)]
    for arms, budget in ((14, None), (40, 1100.0)):
        policy = Thrifty(budget=budget)
        clear, of = compared(policy, gaussian, arms, 3, steps, twin(policy, 1e-9))
        assert clear == of > 10


@pytest.mark.parametrize("policy", [Thrifty(budget=1e9), Wary(horizon="unknown")])
def test_arms_of_different_scale_equal_the_slow_twin(policy: Any) -> None:
    """Prices from 0.001 to a million."""
    clear, of = compared(policy, scales, 4, 3, [*range(40), *range(40, 160, 8)], twin(policy, 1e-9))
    assert clear > 0.9 * of


def test_a_cheap_arm_is_not_pulled_on_and_on_and_a_dear_one_comes_back() -> None:
    """Prices of 1 and 1000, the dear arm with twice the rate: most runs lose less than a fiftieth of the budget."""
    problem, budget = Problem([Gaussian(1.0, 1.0, 0.3, 0.3), Gaussian(1000.0, 2000.0, 300.0, 600.0)]), 1e5
    pulls = simulate(problem, Thrifty(), [budget], runs=20, progress=False).pulls[0, :, 0]
    assert np.median(pulls @ (problem.mean_costs * problem.gaps)) < 0.02 * budget


def test_nothing_speaks_against_an_arm_whose_costs_show_no_price() -> None:
    """Nine pulls with a mean cost of 0.3: no price is told from 0 if they vary by 1, and one is if they vary by 0.8."""
    policy = Thrifty()
    memory = policy.memory(2)
    memory.observe(1, 0.3, 0.01)
    for _ in range(50):
        memory.observe(0, 1.0, 1.0)
    lead = memory.lead(0)
    unclear, clear = (policy.excess(Belief(1, 9, 0.3, 0.01, var, 0.0, 0.0), lead, lead) for var in (1.0, 0.8))
    assert unclear < clear - 0.1


@pytest.mark.parametrize(
    ("pulls", "var", "told"), [(9, 0.21, False), (9, 0.19, True), (2, 0.1, False), (2, 0.08, True)]
)
def test_once_a_cost_was_negative_a_price_is_told_from_0_by_more(pulls: int, var: float, told: bool) -> None:
    """A mean cost of 0.3, its square 0.09: above a variance of it four times as large, or above that of the costs."""
    policy = Thrifty()
    memory = policy.memory(2)
    memory.observe(1, -0.3, 0.01)
    for _ in range(50):
        memory.observe(0, 1.0, 1.0)
    lead = memory.lead(0)
    found = policy.excess(Belief(1, pulls, 0.3, 0.01, var, 0.0, 0.0), lead, lead)
    nothing_against = policy.excess(Belief(1, pulls, 0.3, 2.0, var, 0.0, 0.0), lead, lead)  # pays more than the leader
    assert (found > nothing_against) == told


def test_an_arm_that_costs_and_pays_at_once_and_seldom_is_found_with_free_pulls() -> None:
    """One pull of 200 costs 20 and pays 30, against 0.1 for 0.1; what never costs or pays has just so many pulls."""
    laws = [Discrete([0.0, cost], [0.0, 1.5 * cost], [0.995, 0.005]) for cost in (20.0, 0.0)]
    steady = Discrete([0.1], [0.1], [1.0])
    problem = Problem([laws[0], steady])
    for policy, runs in ((Thrifty(), 20), (Thrifty(free_pulls=1000), 6), (Wary(free_pulls=1000), 6)):
        lost = simulate(problem, policy, [200.0], runs=runs, seed=1, progress=False).regret()["mean"][0]
        if policy.free_pulls:  # about 5 in every run
            assert lost < 0.2 * 200.0
        else:
            assert lost > 0.4 * 200.0  # of the half of the budget that the better arm is ahead
    law: Law = lambda arm, k: (0.0, 0.0) if arm else (1.0, 0.5)  # noqa: E731
    for free_pulls in (0, 20, 300):
        run = Run(Thrifty(free_pulls=free_pulls), law, 2, 1000)
        assert max(30, free_pulls) <= run.pulls[1] < free_pulls + 100


def edge_moments(rng: np.random.Generator) -> Belief:
    return Belief(*edge_belief(rng)[:7])


@pytest.mark.parametrize(
    "function", [Thrifty.excess, Thrifty.excess_of_new_arm], ids=lambda function: function.__name__
)
def test_compiled_equals_interpreted_and_never_nan(function: Any) -> None:
    """For beliefs and leads of every size and sign, whether samples could give them or not; one lead, or a box."""
    rng, fast, finite = np.random.default_rng(7), compiled(function), 0
    for n in range(6000):
        policy = Thrifty(rng.uniform(0.01, 1.0), budget=None if n % 2 else abs(edge(rng)) or 1.0, free_pulls=n % 10)
        extremes = extremes_of(edge(rng), edge(rng), edge(rng))
        low = high = edge_lead(rng, extremes)
        if n % 3 == 0:
            low, high = box(low, edge_lead(rng, extremes))
        given = (edge_moments(rng), low, high) if function is Thrifty.excess else (low, high)
        one, other = function(policy, *given), fast(policy, *given)
        assert not math.isnan(one), (policy, *given)
        assert np.float64(one).tobytes() == np.float64(other).tobytes(), (policy, *given)
        finite += math.isfinite(one)
    assert finite > 500


HORIZONS: tuple[Literal["told", "unknown"], ...] = ("told", "unknown")


EACH = pytest.mark.parametrize("policy", [Thrifty(), Wary(budget=1e9), Thrifty(budget=100.0)], ids=repr)


@EACH
def test_edges(policy: Any) -> None:
    assert Run(policy, lambda arm, k: (1.0, 0.5), 1, 20).pulls.tolist() == [20]
    two = Run(policy, lambda arm, k: (1.0, 1.0 + arm), 2, 90)  # constant: 1 and 2 for the same cost
    assert two.chosen[:2] == [0, 1]
    assert two.pulls[1] > 80
    assert Run(policy, lambda arm, k: (1.0, 1.0 + arm), 2, 90, order=[1, 0]).chosen[:2] == [1, 0]
    assert Run(policy, lambda arm, k: (-1.0, 0.1 * k), 2, 60).pulls.tolist() == [30, 30]
    free = Run(policy, lambda arm, k: (0.0, 0.0), 3, 90)
    assert free.chosen[:60] == [0, 1] * 30  # arms that have cost nothing come before a third is opened
    assert free.memory.opened() == 3
    dead = Run(policy, lambda arm, k: (1.0, float(arm)), 2, 90)  # the first pays nothing
    assert dead.pulls[0] < 20
    alike = Run(policy, lambda arm, k: (1.0, 0.7), 2, 60)
    assert alike.chosen == [0, 1] * 30  # ties to the least spend, then index


@pytest.mark.parametrize("reward", [0.0, 0.7, -0.7])
def test_while_all_rates_are_equal_arms_are_opened(reward: float) -> None:
    """Nothing speaks against the next: also where nothing has ever paid. Told the budget, while what is left allows."""
    assert Run(Thrifty(), lambda arm, k: (2.0, reward), 30, 30).chosen == [*range(30)]
    prices = np.arange(1.0, 31.0).tolist()  # dearer and dearer, at one rate but for rounding
    assert Run(Thrifty(), lambda arm, k: (prices[arm], reward * prices[arm]), 30, 30).chosen == [*range(30)]
    told = Run(Thrifty(budget=100.0), lambda arm, k: (2.0, reward), 30, 50)
    opened = next(m for m in range(2, 30) if 100.0 - 2.0 * m < 4.0 * (m + 1) * math.log(m + 1))
    assert told.chosen[: opened + 1] == [*range(opened), 0]
    assert told.memory.opened() == opened


def test_nothing_is_explored_with_a_budget_nearly_spent() -> None:
    noisy = Run(Thrifty(), lambda arm, k: (1.0, 0.3 * arm + 0.2 * (-1.0) ** k), 2, 40)
    for left in (1e-9, 0.5):
        chosen = best_of_opened(Wary(1.0, budget=40.0 + left), noisy.memory, noisy.pulls)
        assert chosen == int(np.argmax(noisy.pulls))
    wide = Run(Thrifty(budget=40.0), lambda arm, k: (1.0, 0.1 * arm), 50, 40)
    assert wide.memory.opened() < 10
    assert len(set(wide.chosen[-5:])) == 1


@pytest.mark.parametrize("free", [(0.0, 0.0), (-0.5, 0.1)])
def test_a_free_arm_is_not_pulled_for_ever(free: tuple[float, float]) -> None:
    pulls = Run(Thrifty(), lambda arm, k: free if arm else (1.0, 0.5 + k % 2), 2, 600).pulls
    assert 30 <= pulls[1] < 200


@pytest.mark.parametrize("policy", [Thrifty(), Wary(budget=1e3), Thrifty(budget=1e3)], ids=repr)
def test_an_arm_that_pays_and_has_cost_nothing_for_long_is_not_given_up(policy: Any) -> None:
    """It pays 1 in four pulls and costs 1 in eighty, the last of them: at 20 to 5 the better arm, seen after 80."""
    law: Law = lambda arm, k: (float(k % 80 == 79), float(k % 4 == 0)) if arm else (float(k % 5 == 0), 1.0)  # noqa: E731
    run = Run(policy, law, 2, 2000)
    assert run.memory.lead(1).rate > run.memory.lead(0).rate
    assert run.pulls[1] > 1000
    worthless = Run(policy, lambda arm, k: (0.0, 0.0) if arm else law(0, k), 2, 2000)
    assert worthless.pulls[1] < 100  # a call that fails costs nothing, too


@pytest.mark.parametrize("budget", [None, 110.0])
def test_units_change_no_choice(budget: float | None) -> None:
    """By powers of two none at all, so that rounding is the same, from 1e-15 to 1e15; the budget is a cost."""
    samples = taped(gaussian, 8, 12)
    path = Run(Thrifty(budget=budget), scaled(samples, 1.0, 1.0), 12, 100).chosen
    assert len(set(path)) > 6
    for cost, reward in ((2.0**10, 1.0), (1.0, 2.0**10), (2.0**50, 2.0**-50), (2.0**-50, 2.0**50)):
        policy = Thrifty(budget=budget and budget * cost)
        assert Run(policy, scaled(samples, cost, reward), 12, 100).chosen == path


@pytest.mark.parametrize("budget", [None, 110.0])
def test_other_labels_in_the_same_order_change_the_labels_alone(budget: float | None) -> None:
    samples, rng = taped(gaussian, 9, 12), np.random.default_rng(1)
    order, label = rng.permutation(12).tolist(), rng.permutation(12).tolist()
    back = np.argsort(label).tolist()
    policy = Thrifty(budget=budget)
    path = Run(policy, scaled(samples, 1.0, 1.0), 12, 100, order).chosen
    assert path[:2] == order[:2]
    assert len(set(path)) > 6
    other = Run(policy, lambda arm, k: samples[back[arm]][k], 12, 100, [label[arm] for arm in order])
    assert other.chosen == [label[arm] for arm in path]


def test_one_run_serves_all_budgets_where_the_horizon_is_unknown_and_else_one_each() -> None:
    problem = Problem([Gaussian(1.0, 0.5 + 0.1 * k, 0.3, 0.3) for k in range(10)])
    budgets, runs = [40.0, 200.0], 6
    told, unknown = (simulate(problem, Thrifty(horizon=h), budgets, runs=runs).pulls[0] for h in HORIZONS)
    for j, budget in enumerate(budgets):
        filled_in = Thrifty(horizon="unknown", budget=budget)
        assert np.array_equal(told[:, j], simulate(problem, filled_in, [budget], runs=runs).pulls[0, :, 0])
    assert np.array_equal(
        unknown[:, 0], simulate(problem, Thrifty(horizon="unknown"), [40.0], runs=runs).pulls[0, :, 0]
    )
    assert (unknown[:, 1] >= unknown[:, 0]).all()
    assert (told[:, 1] < told[:, 0]).any()  # another run, which spends more on opening arms
