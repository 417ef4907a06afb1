"""Experiments and `outlay compare` where requests are limited beside the budget, and in hard mode."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import outlay
from outlay import theory
from outlay.cli import commands
from outlay.errors import BadFile
from outlay.experiments import load, points_of, results, run
from outlay.problem_policies import usual_policies

pytestmark = pytest.mark.interpreted

ARMS = """
[[arms]]
law = "Bernoulli"
cost = 0.4
reward = 0.6
[[arms]]
law = "Bernoulli"
cost = 0.9
reward = 0.85
"""
SKIP = '[[arms]]\nlaw = "Constant"\ncost = 0\nreward = 0.1\n'
TURNS = '[[policies]]\nname = "RoundRobin"\n'


def text_of(limits: str, sweep: str = "", arms: str = ARMS) -> str:
    return f"format = 1\n[experiment]\n{limits}\nruns = 3\n{arms}{TURNS}{sweep}"


@pytest.mark.parametrize(
    ("limits", "sweep"),
    [("budgets = [5]", '[[sweep]]\nover = "requests"\nvalues = [40]\n'), ("budgets = [5]\nrequests = 40", "")],
)
def test_without_a_word_on_policies_those_for_requests_play(write: Any, limits: str, sweep: str) -> None:
    experiment = load(write(text_of(limits, sweep).replace(TURNS, "")))
    assert [player.name for player in experiment.players] == [*usual_policies(experiment.problem, requests=True)]


def test_free_arms_need_requests(write: Any) -> None:
    assert len(points_of(load(write(text_of("budgets = [5]\nrequests = 20", arms=ARMS + SKIP))))) == 1
    with pytest.raises(BadFile, match="mean cost"):
        points_of(load(write(text_of("budgets = [5]", arms=ARMS + SKIP))))


@pytest.mark.soak  # reports take seconds to draw
def test_a_sweep_over_the_budget_per_request(write: Any, tmp_path: Path) -> None:
    sweep = '[[sweep]]\nover = "budget_per_request"\nvalues = [0.2, 0.5]'
    experiment = load(write(text_of("budgets = [5]\nrequests = 40", sweep)))
    outcome = run(experiment, tmp_path)
    assert [(row.budget, row.requests) for row in outcome.rows] == [(8.0, 40), (20.0, 40)]
    assert (tmp_path / "sweep.csv").read_text().splitlines()[0].endswith(",lower_bound,requests")
    sharp = theory.lower_bound(experiment.problem, budget=8.0, requests=40)
    assert outcome.rows[0].lower_bound == pytest.approx(sharp * math.log(40))
    again = run(experiment, tmp_path)
    assert (again.played, again.reused) == (0, 2)
    for point, result in results(experiment, tmp_path):
        budget = 40.0 * float(point.values["budget_per_request"])
        players = {"RoundRobin": outlay.policies.RoundRobin()}
        assert result == outlay.simulate(experiment.problem, players, [budget], requests=40, runs=3)


PER_REQUEST = '[[sweep]]\nover = "budget_per_request"\nvalues = [0.5, 0.7]\n'


@pytest.mark.parametrize(
    ("limits", "sweep"), [("requests = 40", ""), ("", '[[sweep]]\nover = "requests"\nvalues=[40]\n')]
)
def test_a_sweep_over_the_budget_per_request_needs_no_budget(write: Any, limits: str, sweep: str) -> None:
    for budget in ("", "budget = 3\n"):
        points = points_of(load(write(text_of(budget + limits, sweep + PER_REQUEST))))
        found = [(cell.budgets, cell.requests) for point in points for cell in point.cells.values()]
        assert found == [((20.0,), (40,)), ((28.0,), (40,))]
    with pytest.raises(BadFile, match="requests of a sweep over budget_per_request must be in"):
        points_of(load(write(text_of("", PER_REQUEST))))


def test_a_cell_is_named_by_its_limits(write: Any) -> None:
    texts = ["", "requests = 9", "requests = 8", 'mode = "hard"']
    tables = [text_of(f"budgets = [5]\n{limits}") for limits in texts]
    cells = [points_of(load(write(text)))[0].cells["RoundRobin"] for text in tables]
    assert len({cell.key for cell in cells}) == 4
    assert [cell.pulls for cell in cells] == pytest.approx([3 * 5 / 0.4, 3 * 9, 3 * 8, 3 * 5 / 0.4])


def test_the_command_takes_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outlay.report.page.write_report", lambda _, folder: [folder / "report.html"])
    run_it = ["compare", "H", "--policy", "RoundRobin", "--runs", "2", "--out", str(tmp_path)]
    shown = CliRunner().invoke(commands, [*run_it, "--budget", "50", "--requests", "100"])
    assert shown.exit_code == 0, shown.output
    assert "Regret at budget 50 and 100 requests, 2 runs" in shown.output
    told = CliRunner().invoke(commands, [*run_it, "--budget", "inf", "--requests", "100", "--json"])
    [row] = json.loads(told.output)["rows"]
    assert (row["budget"], row["requests"]) == (None, 100)
    hard = CliRunner().invoke(commands, [*run_it, "--budget", "20", "--mode", "hard", "--requests", "1e2"])
    assert hard.exit_code == 0, hard.output
    assert "Regret at budget 20 and 100 requests, hard mode, 2 runs" in hard.output
    for count, sentence in {"0": "≥ 1, or None; got 0\n", "2.5": "got 2.5", "x": "'x' is not"}.items():
        refused = CliRunner().invoke(commands, [*run_it, "--requests", count])
        assert (refused.exit_code, sentence in refused.output) == (2, True), refused.output
    wrong = CliRunner().invoke(commands, [*run_it, "--budget", "inf"])
    assert (wrong.exit_code, "--budget must be a finite number" in wrong.output) == (2, True)
