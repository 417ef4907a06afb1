"""The leaderboard: its statistics against hand-computed ones, what is kept, many arms, requests."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.leaderboard import __main__ as command
from benchmarks.leaderboard import cells, play, real, tables
from benchmarks.leaderboard.cells import rows_of
from benchmarks.leaderboard.contenders import Contender, always
from benchmarks.leaderboard.many import Drawn
from benchmarks.leaderboard.problems import Entry
from benchmarks.leaderboard.requests import Rationed
from benchmarks.leaderboard.store import Setting

from outlay import Problem, simulate
from outlay.arms import Bernoulli, Constant
from outlay.policies import Fixed, RoundRobin
from outlay.policies.baselines import EpsilonFirst, Greedy

COINS = Entry("coins", "tiny", Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.25)]))
PLAYERS = {"RoundRobin": Contender("nothing", always(RoundRobin())), "Worst": Contender("nothing", always(Fixed(1)))}
SETTING = Setting((20.0, 100.0), runs=20, seed=3)
TOLD = {"a": "nothing", "b": "bounds", "c": "moments"}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Labels of what is played, as it is played."""
    labels: list[str] = []

    def counting(problem: Problem, policies: dict[str, Any], *args: Any, **options: Any) -> Any:
        labels.extend(policies)
        return simulate(problem, policies, *args, **options)

    monkeypatch.setattr(play, "simulate", counting)
    return labels


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "problems", lambda: [COINS])
    monkeypatch.setattr(command, "CONTENDERS", PLAYERS)


def played(folder: Path, contenders: dict[str, Contender] = PLAYERS) -> list[play.Played]:
    return play.play_all(play.jobs_of(COINS, contenders, SETTING), folder, print)


def test_statistics_of_a_cell() -> None:
    regrets = {
        "a": np.array([1.0, 2.0, 3.0, 10.0]),
        "b": np.array([4.0, 4.0, 4.0, 20.0]),
        "c": np.array([1.0, 1.0, 1.0, 1.0]),
    }
    a, b, c = cells.cell(COINS, 100.0, regrets, 2.0, TOLD)
    assert (a.mean, a.median, a.worst, a.long, a.bound, a.ratio, a.best) == (4.0, 2.5, 10.0, 0.25, 2.0, 1.0, True)
    assert a.stderr == pytest.approx((50.0 / 3.0) ** 0.5 / 2.0)  # squares of −3, −2, −1 and 6, over 3, over 4 runs
    assert a.q90 == pytest.approx(3.0 + 0.7 * 7.0)
    assert a.ratio_stderr == 0.0
    assert (b.mean, b.ratio, b.long, b.best) == (8.0, 2.0, 0.25, False)
    assert b.ratio_stderr == pytest.approx(2.0 * (np.std([0.25, 0.0, -0.25, 0.0], ddof=1) / 2.0))
    assert (c.ratio, c.best) == (0.25, False)  # it knows the truth: shown, and no measure for the others


def test_the_command_from_end_to_end(
    tmp_path: Path, tiny: None, counted: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--folder", str(tmp_path / "kept"), "--runs", "20", "--budgets", "20", "100", "--workers", "1"]
    command.main(where)
    out = capsys.readouterr().out
    assert out.index("Budget 20 mean costs") < out.index("Budget 100 mean costs") < out.index("All 2 cells")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- leaderboard 20 100 -->\nstale\n<!-- end of leaderboard -->\nafter\n")
    command.main([*where, "--page", str(page)])
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "stale" not in text
    assert "| RoundRobin | nothing | 2 | 1.00 | 100% |" in text
    command.main([*where, "--page", str(page)])
    assert page.read_text() == text
    assert counted == ["RoundRobin", "Worst"]


def test_a_log_becomes_a_problem_of_pairs(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("arm,instance,cost,reward\nb,x#1,2,1\na,x#1,1,0\nb,x#2,4,3\na,w#1,3,1\n")
    log = real.read_log(path)
    problem = real.from_log(log)
    assert problem.names == ("a", "b")
    assert problem.mean_costs.tolist() == [2.0, 3.0]
    assert problem.second_moments()["cov"].tolist() == [0.5, 1.0]
    parts = [real.half(log, which) for which in real.HALVES]
    assert pd.concat(parts).sort_index().equals(log)
    assert [sorted(set(part["instance"])) for part in parts] == [["w#1"], ["x#1", "x#2"]]


FEW = Drawn("uniform", 4)
PER_ARM = Setting((1.0, 5.0), runs=45, seed=3)
OF_MANY = {
    "Greedy": Contender("nothing", always(Greedy()), many=True),
    "RoundRobin": Contender("nothing", always(RoundRobin()), many=True),
}


@pytest.mark.interpreted
def test_every_run_is_on_its_own_problem_and_told_the_budget(tmp_path: Path) -> None:
    setting = PER_ARM._replace(runs=3)
    players = OF_MANY | {"EpsilonFirst": Contender("budget", always(EpsilonFirst(0.5)))}
    played = play.play_all(play.jobs_of(FEW, players, setting), tmp_path, print)
    assert [each.job.label for each in played] == ["Greedy", "RoundRobin", "EpsilonFirst"]
    policies: list[Any] = [Greedy(), RoundRobin(), EpsilonFirst(0.5)]
    for each, policy in zip(played, policies, strict=True):
        for run in range(3):
            problem, seed = FEW.draw(3, run)
            budgets = problem.mean_costs.sum() * np.array([1.0, 5.0])
            pulls = simulate(problem, policy, budgets, runs=1, seed=seed).pulls[0, 0]
            regret = pulls @ (problem.mean_costs * problem.gaps)
            assert each.kept.regret[run] == pytest.approx(100.0 * regret / (problem.rates.max() * budgets))


PAIR = Problem([Constant(0.5, 0.5), Constant(2.0, 1.0)])
RATIONED = Rationed("ration-pair", PAIR, 40)
PER_REQUEST = Setting((0.25, 0.5), runs=2, seed=3)
RATIONERS = {
    "RoundRobin": Contender("nothing", always(RoundRobin()), requests=True),
    "Cheap": Contender("budget", always(Fixed(0)), requests=True),
    "Known": Contender("means", always(Fixed(1)), requests=True),
}


def test_regret_is_in_per_cent_of_the_best_mix(tmp_path: Path) -> None:
    """0.5 or 1 for each request: *cheap* alone is best, or the half of a mix that brings 2/3; in turn, 1.25 a pull."""
    played = play.play_all(play.jobs_of(RATIONED, RATIONERS, PER_REQUEST), tmp_path, print)
    found = {each.job.label: each.kept.regret[0].tolist() for each in played}
    assert found["Cheap"] == pytest.approx([0.0, 100 * (1 - 0.5 / (2 / 3))])
    assert found["RoundRobin"][0] == pytest.approx(100 * (1 - 17 * 0.5 / 20 - 8 * 0.5 / 20))
    rows = rows_of(played, {label: one.told for label, one in RATIONERS.items()})
    assert {(row.problem, row.requests, row.group) for row in rows} == {("ration-pair×40", 40, "requests")}
    assert all(np.isnan(row.ratio) for row in rows if row.policy == "Known")
    assert [row.policy for row in rows if row.best] == ["Cheap", "RoundRobin"]
    means = tables.mean_grid(rows)
    assert means.headings == ("policy", "all", "40")
    assert {line[0] for line in means.rows} == set(RATIONERS)
