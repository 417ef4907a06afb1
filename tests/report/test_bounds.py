"""The tables of bounds: their numbers are the theory's, and nothing is shown that is not covered."""

import math

import numpy as np
import pytest
from rich.console import Console

from outlay.arms import Bernoulli, Constant, Exponential, Gamma, Gaussian, Pareto, Problem, catalogue
from outlay.errors import NotCovered
from outlay.problem_policies import policy_for
from outlay.report import request_bounds
from outlay.report.bounds import (
    WORST_CASE,
    bounds_chart,
    bounds_table,
    mix,
    notes,
    problem_bounds,
    provable,
    request_notes,
)
from outlay.theory import (
    divergence,
    finite_bound,
    fluid,
    fluid_loss,
    lower_bound,
    rates,
    request_gaps,
    upper_bound,
    worst_case_bound,
)

UNCOVERED = Problem(
    [Gamma(1, 1, 0.009, 0.009, 0.5), Gamma(1, 0.5, 0.009, 0.0045, 0.5), Exponential(2, 0.5)], names=["a", "b", "c"]
)


def printed(problem: Problem, budget: float = 1e5, width: int = 80) -> str:
    console = Console(width=width, highlight=False)
    with console.capture() as capture:
        console.print(bounds_table(problem_bounds(problem, budget), width))
    return capture.get()


@pytest.mark.parametrize("name", ["G", "H", "heavy-tails"])
def test_rows_are_the_theory(name):
    problem, budget = catalogue.load(name), 3e5
    bounds, found = problem_bounds(problem, budget), rates(problem)
    for k, row in enumerate(bounds.arms):
        assert (row.arm, row.rate, row.gap, row.sigma2) == (
            problem.names[k], found.rate[k], found.gap[k], found.sigma2[k],
        )  # fmt: skip
        if row.gap:
            distance = divergence(problem.arms[k], problem.rate)
            pulls = math.log(budget) / distance
            lower = pulls * found.mean_cost[k] * row.gap
            assert row[4:8] == pytest.approx((distance, pulls, lower, lower / 2))
        else:
            assert row[4:] == (None, None, None, None, {})
    total = bounds.total
    assert total.lower == pytest.approx(lower_bound(problem) * math.log(budget))
    assert total.printed == pytest.approx(lower_bound(problem, sharp=False) * math.log(budget))
    assert bounds.worst == worst_case_bound(problem, budget)
    assert bounds.near == finite_bound(problem, budget).value
    covered = {column.policy for column in bounds.columns} | {name.partition(" ")[0] for name in bounds.uncovered}
    assert covered == {"UCBB1", "UCBM1", "UCBB2", "UCBB2C"}
    for column in bounds.columns:
        policy = policy_for(problem, column.policy)
        if column.constants == "proved":
            policy, setting = provable(problem, policy)
            assert column.setting == setting
        bound = upper_bound(problem, policy, budget, column.constants)
        assert (column.theorem, column.terms) == (bound.theorem, bound.terms)
        shown = {row.arm: row.upper[column.label] for row in bounds.arms if row.gap}
        assert shown == {row.arm: min(bound.terms[row.arm], row.gap * budget) for row in bounds.arms if row.gap}
        assert total.upper[column.label] == pytest.approx(min(sum(shown.values()), found.gap.max() * budget))


@pytest.mark.parametrize("budget", [1e2, 1e4, 1e5, 1e6])
@pytest.mark.parametrize("name", ["near-tie", "G", "H"])
def test_nothing_exceeds_what_can_be_lost(name, budget):
    """Of near-tie at 10⁵ the lower bound of arm 0 alone would be 1151, where its gap times the budget is 1000."""
    problem = catalogue.load(name)
    bounds = problem_bounds(problem, budget)
    for row in (*bounds.arms, bounds.total):
        most = (problem.gaps.max() if row.gap is None else row.gap) * budget * (1 + 1e-12)
        assert max([row.lower or 0.0, row.printed or 0.0, *row.upper.values()]) <= most
    k = int(np.argmin(np.where(problem.gaps > 0, problem.gaps, np.inf)))
    uncut = math.log(budget) / divergence(problem.arms[k], problem.rate) * problem.gaps[k] * problem.mean_costs[k]
    assert (problem.names[k] in bounds.capped) == (uncut > problem.gaps[k] * budget)
    if (name, budget) == ("near-tie", 1e5):
        assert uncut == pytest.approx(1151, abs=1)
        assert bounds.arms[k].lower == pytest.approx(1000)
        assert any("too small for it: shown of arm 0" in sentence for _, sentence in notes(bounds))


def test_an_arm_without_a_formula_leaves_no_total():
    bounds = problem_bounds(UNCOVERED, 1e4)
    assert [row.lower is None for row in bounds.arms] == [True, True, False]
    assert bounds.total.lower is None
    assert bounds.total.printed is None
    assert "arm 'b'" in bounds.reason
    assert "–" in printed(UNCOVERED)
    chart = bounds_chart(UNCOVERED, 1e4)
    assert chart.title == "Bounds on regret, no lower bound"
    assert [line.label for line in chart.bounds] in ([], [WORST_CASE])


def test_infinite_variances_leave_nothing():
    wild = Problem([Pareto(1.0, 1.0, 1.5, 1.5), Gaussian(1.0, 0.5, 0.1, 0.1)])
    bounds = problem_bounds(wild, 1e4)
    assert bounds.columns == []
    assert all(row.divergence is None and row.upper == {} for row in bounds.arms)
    assert "finite variances" in bounds.reason
    assert "∞" in printed(wild)
    with pytest.raises(NotCovered, match=r"no bound to draw: no lower bound: .* finite variances"):
        bounds_chart(wild, 1e4)


def test_chart_is_the_bounds_at_every_budget():
    problem = catalogue.load("H")
    chart = bounds_chart(problem, 1e5)
    named = ("UCBB1", "UCBM1", "UCBB2", "UCBB2C")
    assert [curve.label for curve in chart.curves] == [f"{name}, {c}" for name in named for c in ("proved", "printed")]
    assert [line.label for line in chart.bounds] == ["lower bound as B grows", "the same, as printed", WORST_CASE]
    for at in (0, 12, 24):
        total = problem_bounds(problem, float(chart.curves[0].budgets[at])).total
        assert [curve.mean[at] for curve in chart.curves] == pytest.approx(list(total.upper.values()))
        assert [line.values[at] for line in chart.bounds[:2]] == pytest.approx([total.lower, total.printed])
    worst = chart.bounds[2]
    for at in (0, 2, 4):
        assert worst.values[at] == pytest.approx(worst_case_bound(problem, float(worst.budgets[at])))
    assert len(chart.heights) == 11
    assert chart.axis.scale == "log"
    assert chart.axis.bottom < min(line.values.min() for line in chart.bounds)


COINS = Problem(
    [Bernoulli(0.1, 0.3), Bernoulli(0.4, 0.6), Bernoulli(0.9, 0.85), Constant(0.0, 0.0)], ["a", "b", "c", "s"]
)


@pytest.mark.parametrize("budget", [50.0, 250.0, 400.0, 700.0, 2000.0, math.inf])
def test_the_numbers_are_the_theorys(budget):
    found = request_bounds(COINS, budget, 1000)
    assert found.fluid == fluid(COINS, budget, 1000)
    assert found.loss == fluid_loss(COINS, budget, 1000)
    assert found.total.lower == pytest.approx(lower_bound(COINS, budget=budget, requests=1000) * math.log(1000))
    if len(found.prices) == 1:
        assert [row.gap for row in found.arms] == request_gaps(COINS, budget, 1000).tolist()
        for law, row in zip(COINS.arms, found.arms, strict=True):
            if row.gap:
                far = divergence(law, found.fluid.price, worth=found.fluid.worth)
                assert row.divergence == far
                assert row.pulls == pytest.approx(math.log(1000) / far)
    else:
        assert budget == 400.0
    shares = np.array([row.share for row in found.arms])
    assert shares @ COINS.mean_rewards == pytest.approx(found.fluid.value)
    assert shares @ COINS.mean_costs <= budget / 1000 * (1 + 1e-12)


def test_without_a_bound_the_mix_is_still_there():
    tied = Problem([Bernoulli(0.1, 0.3), Gamma(0.5, 0.1, 0.001, 0.0002, 0.5)], ["a", "tied"])
    found = request_bounds(tied, 50.0, 1000)
    assert found.total.lower is None
    assert "'tied': its law is a correlated Gamma of shape" in found.reason
    assert found.reason in dict(request_notes(found))["≥"]
    assert mix(found) == "50 % to a, 50 % not served"
    wild = request_bounds(Problem([Pareto(1.0, 1.0, 1.5), Constant(2.0, 1.1)]), 1500.0, 1000)
    assert wild.loss is None
    assert "finite variance" in wild.reason
