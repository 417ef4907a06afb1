"""What tables, figures, pages, files and notebooks say of a result where requests are limited beside the budget."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outlay
from outlay import Problem, Result, arms, policies, report, theory
from outlay.engine.limits import MODES
from outlay.report.curves import bound_lines, ceiling_lines, floor_for, regret_chart
from outlay.report.page import page_figures, page_text
from outlay.report.regret import regret_numbers
from outlay.report.runs import shares
from outlay.results import axis_of

pytestmark = pytest.mark.interpreted

COINS = Problem([arms.Bernoulli(0.1, 0.3), arms.Bernoulli(0.4, 0.6), arms.Bernoulli(0.9, 0.85)], names=["s", "m", "l"])
FREE = Problem([arms.Bernoulli(0.4, 0.6), arms.Constant(0.0, 0.1), arms.Bernoulli(0.9, 0.7)])
PLAYERS: dict[str, Any] = {"turns": policies.RoundRobin(), "middle": policies.Fixed(1)}


@pytest.fixture(scope="module")
def over_budgets() -> Result:
    """One number of requests for several budgets."""
    return outlay.simulate(COINS, PLAYERS, [25.0, 50.0, 90.0], requests=200, runs=20)


@pytest.fixture(scope="module")
def over_requests() -> Result:
    """No limit to the money, and an arm that costs nothing."""
    return outlay.simulate(FREE, PLAYERS, math.inf, requests=[20, 200], runs=5)


def test_the_axis_is_what_grows(over_budgets: Result, over_requests: Result) -> None:
    assert (axis_of(over_budgets)[0], axis_of(over_requests)[0]) == ("budget", "requests")
    assert regret_chart(over_budgets).across == shares(over_budgets).axis == "budget"
    chart = regret_chart(over_requests)
    assert chart.across == shares(over_requests).axis == "requests"
    assert chart.curves[0].budgets.tolist() == [20.0, 200.0]
    mixed = outlay.simulate(COINS, policies.Fixed(1), [10.0, 20.0, math.inf], requests=50, runs=2)
    assert regret_chart(mixed).curves[0].budgets.tolist() == [10.0, 20.0], "an infinite budget has no place there"
    both = outlay.simulate(COINS, policies.Fixed(1), [10.0, 20.0], requests=[50, 100], runs=2)
    assert regret_chart(both).across == "budget, and requests with it"


def test_the_table_counts_pulls_of_the_mix_and_divides_by_the_bound(over_budgets: Result) -> None:
    """At c = 0.45 the second and third arm are the edge."""
    text = report.table(over_budgets)
    assert "Regret at budget 90 and 200 requests, 20 runs, seed 0" in text
    assert "best arms" in text
    sharp = theory.lower_bound(COINS, budget=90.0, requests=200)
    lines = report.table(over_budgets, "csv").splitlines()
    assert lines[0] == "policy,budget,requests,regret,stderr,median,q10,q90,best_share,bound_ratio"
    mean = over_budgets.regret()["mean"].iloc[2]
    turns = lines[1].split(",")
    assert turns[:3] == ["turns", "90.0", "200"]
    assert float(turns[3]) == mean
    assert float(turns[8]) == pytest.approx(2 / 3, abs=0.01)
    assert float(turns[9]) == pytest.approx(mean / (sharp * math.log(200)))


def test_the_bound_is_drawn_where_budgets_and_requests_are_in_proportion(
    over_budgets: Result, over_requests: Result
) -> None:
    assert bound_lines(over_budgets) == ceiling_lines(over_budgets) == []
    together = outlay.simulate(COINS, PLAYERS, [30.0, 90.0], requests=[100, 300], runs=2)
    for result, budget in ((together, 90.0), (over_requests, math.inf)):
        [line] = bound_lines(result)
        assert result.requests is not None
        sharp = theory.lower_bound(result.problem, budget=budget, requests=int(result.requests[-1]))
        assert line.values.tolist() == pytest.approx([sharp * math.log(n) for n in result.requests])
    assert bound_lines(together)[0].budgets.tolist() == [30.0, 90.0]
    assert bound_lines(over_requests)[0].budgets.tolist() == [20.0, 200.0]
    assert floor_for(over_requests).sharp == theory.lower_bound(FREE, budget=math.inf, requests=200)


def test_a_lower_bound_of_0_is_left_out() -> None:
    """All money goes to the arm that is best at every price: nothing is to be learnt of the other."""
    sure = Problem([arms.Constant(1.0, 2.0), arms.Constant(2.0, 1.0)])
    result = outlay.simulate(sure, policies.RoundRobin(), [10.0], requests=50, runs=2)
    assert floor_for(result).sharp == 0
    page = page_of(result)
    for text in (*(report.table(result, form) for form in ("text", "markdown", "latex")), page):
        assert "ln N" not in text
    assert "seed 0.}" in report.table(result, "latex")
    assert report.table(result, "markdown").endswith("|\n")
    assert "the mean divided by the lower bound.</p>" in page


def page_of(result: Result) -> str:
    numbers = regret_numbers(result)
    return page_text(result, numbers, page_figures(result, numbers.floor))


def test_runs_are_below_0_as_the_page_says() -> None:
    """By what the last pull overspends, and never in hard mode: here by half a unit, which is worth 2."""
    alone = Problem([arms.Constant(1.0, 2.0)])
    played = [outlay.simulate(alone, policies.Fixed(0), 10.5, requests=99, mode=mode, runs=1) for mode in MODES]
    assert [result.run_regret().item() for result in played] == pytest.approx([-1.0, 1.0])


def test_files_keep_requests_and_mode(over_budgets: Result, over_requests: Result, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    hard = outlay.simulate(COINS, PLAYERS, [25.0], mode="hard", runs=3)
    plain = outlay.simulate(COINS, PLAYERS, [25.0], runs=3)
    for result in (over_budgets, over_requests, hard, plain):
        result.save(tmp_path / "x.parquet")
        back = outlay.load(tmp_path / "x.parquet")
        assert back == result
        assert (back.mode, back.limits.keys()) == (result.mode, result.limits.keys())
        table = pq.read_table(tmp_path / "x.parquet")
        assert ("requests" in table.column_names) == (result.requests is not None)
    assert hard != plain
    with pytest.raises(outlay.errors.BadParameter, match="requests of Result must be an array of shape"):
        Result(**{**vars(plain), "requests": np.array([1, 2])})
