"""The leaderboard: its statistics against hand-computed ones, its kept results, its refusals."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.leaderboard import __main__ as command
from benchmarks.leaderboard import cells, play, problems, real, store, tables
from benchmarks.leaderboard.contenders import CONTENDERS, Contender, always, with_bounds, with_moments
from benchmarks.leaderboard.many import Drawn
from benchmarks.leaderboard.problems import Entry
from benchmarks.leaderboard.store import Setting
from benchmarks.leaderboard.summary import ratios_by, summaries
from benchmarks.leaderboard.two_point import two_point

from outlay import Problem, simulate
from outlay.arms import Bernoulli, Pareto
from outlay.errors import BadFile
from outlay.policies import UCBB2, Fixed, RoundRobin

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


def test_kept_results_are_not_played_again(tmp_path: Path, counted: list[str]) -> None:
    first = played(tmp_path, {"RoundRobin": PLAYERS["RoundRobin"]})
    again = played(tmp_path)
    assert counted == ["RoundRobin", "Worst"]
    assert np.array_equal(first[0].kept.regret, again[0].kept.regret)
    direct = simulate(COINS.problem, Fixed(1), budgets=[10.0, 50.0], runs=20, seed=3)
    assert np.array_equal(again[1].kept.regret, direct.pulls[0, :, :, 1] * 0.5 * 0.5)


@pytest.mark.parametrize(
    "change", [{"runs": 21}, {"seed": 4}, {"budgets": (20.0, 101.0)}], ids=lambda change: next(iter(change))
)
def test_a_result_is_named_by_how_it_was_played(change: dict[str, Any]) -> None:
    key = store.key_of(COINS.problem, RoundRobin(), SETTING)
    assert key == store.key_of(COINS.problem, RoundRobin(), SETTING)
    assert key != store.key_of(COINS.problem, RoundRobin(), SETTING._replace(**change))


def test_a_result_is_named_by_problem_policy_and_code(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.26)])
    policies = (Fixed(0), Fixed(1), UCBB2(1.0, 1.0), UCBB2(1.0, 1.0, alpha=2.2))
    keys = {store.key_of(problem, policy, SETTING) for problem in (COINS.problem, other) for policy in policies}
    assert len(keys) == 8
    monkeypatch.setattr(Fixed, "choose", lambda self, memory, now, rng: 0)
    assert store.key_of(COINS.problem, Fixed(0), SETTING) not in keys


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"seconds": 1, "regret": [[1.0, 2.0]]}', '{"seconds": 1}'])
def test_a_broken_file_is_played_anew(
    tmp_path: Path, counted: list[str], capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    one = {"Worst": PLAYERS["Worst"]}
    before = played(tmp_path, one)
    (file,) = tmp_path.glob("*.json")
    whole = file.read_text()
    file.write_text(damage)
    assert np.array_equal(played(tmp_path, one)[0].kept.regret, before[0].kept.regret)
    assert counted == ["Worst", "Worst"]
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert json.loads(file.read_text())["regret"] == json.loads(whole)["regret"]


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


def test_equals_win_together() -> None:
    a, b = cells.cell(COINS, 100.0, {"a": np.array([1.0, 3.0]), "b": np.array([2.0, 2.0])}, None, TOLD)
    assert a.best
    assert b.best


def test_without_anybody_unaided_there_is_no_ratio() -> None:
    (row,) = cells.cell(COINS, 100.0, {"c": np.array([1.0, 2.0])}, None, TOLD)
    assert np.isnan(row.ratio)
    assert row.bound is None
    assert tables.cell_grid([row], 100.0).rows[0][-2:] == ("–", "–")
    assert tables.summary_grid([row]).rows == []


def row(problem: str, policy: str, ratio: float, error: float = 0.0, long: float = 0.0, told: str = "nothing") -> Any:
    return cells.Row(
        problem, "tiny", 300.0, policy, told, ratio, 0.0, 1.0, 1.0, 1.0, long, None, ratio, error, ratio == 1.0, 2
    )


def test_summary_over_cells() -> None:
    rows = [
        row("x", "a", 1.0), row("y", "a", 4.0, error=1.26, long=0.2),
        row("x", "b", 1.2, error=0.04), row("y", "b", 1.0),
        row("x", "c", 0.5, told="moments"), row("y", "c", 0.5, told="moments"),
        row("x", "d", 1.3, long=0.1), row("y", "d", 1.4),
    ]  # fmt: skip
    c, b, d, a = summaries(rows)
    assert [each.policy for each in (c, b, d, a)] == ["c", "b", "d", "a"]
    assert a.ratio == pytest.approx(2.0)
    assert (a.cells, a.largest, a.hardest) == (2, 4.0, "y at 300")
    assert (a.within_tenth, a.within_half, a.long, a.most_long, a.won) == (0.5, 1.0, 0.1, 0.2, 1)
    assert (b.within_tenth, b.within_half, b.won) == (0.5, 1.0, 1)
    assert [each.frontier for each in (c, b, d, a)] == [False, True, False, False]
    assert ratios_by(rows, lambda each: each.group) == {"tiny": {each.policy: each.ratio for each in (c, b, d, a)}}


def test_who_played_fewer_cells_bars_nobody_from_the_frontier() -> None:
    rows = [row("x", "a", 1.5, long=0.1), row("y", "a", 1.0), row("x", "b", 1.0)]
    assert {each.policy for each in summaries(rows) if each.frontier} == {"a", "b"}


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


def test_a_page_shows_what_is_kept_alone(
    tmp_path: Path, tiny: None, counted: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- leaderboard 300 -->\n<!-- end of leaderboard -->\n")
    command.main(["--folder", str(tmp_path), "--budgets", "300", "--page", str(page)])
    assert counted == []
    assert "2 of 2 results are not kept yet" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only", "nobody"], "only of leaderboard must be a problem of --list, or one of tiny, RoundRobin, Worst"),
        (["--workers", "0"], "workers of leaderboard must be a whole number ≥ 1; got 0"),
        (["--runs", "1"], "runs of leaderboard must be a whole number ≥ 2; got 1"),
        (["--budgets", "-5"], "budgets of leaderboard must be a finite number > 0; got -5.0"),
        (["--page", "nowhere.md"], "cannot read nowhere.md: No such file or directory"),
    ],
)
def test_bad_arguments_get_one_sentence(
    tmp_path: Path, tiny: None, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as refusal:
        command.main(["--folder", str(tmp_path), *arguments])
    assert str(refusal.value.code).startswith(f"leaderboard: {sentence}")
    assert "\n" not in str(refusal.value.code)


def test_names_choose_problems_groups_and_policies() -> None:
    other = Entry("dice", "other", COINS.problem)
    assert command.selected([], [COINS, other], PLAYERS) == ([COINS, other], {})
    assert command.selected(["tiny", "W*"], [COINS, other], PLAYERS) == ([COINS], {"Worst": PLAYERS["Worst"]})
    assert command.selected(["d*"], [COINS, other], PLAYERS) == ([other], {})
    reserve = {"Slow": Contender("nothing", always(RoundRobin()), reserve=True)}
    assert command.selected(["S*"], [COINS], PLAYERS | reserve) == ([COINS], reserve)


def test_who_plays_where_nobody_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, swarm = (Contender("nothing", always(RoundRobin()), True, many) for many in (False, True))
    monkeypatch.setattr(command, "CONTENDERS", PLAYERS | {"Slow": slow, "Swarm": swarm})
    assert command.unasked(COINS) == PLAYERS
    assert command.unasked(Drawn("uniform", 30)) == {"Swarm": swarm}


def test_names_are_unlike_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(problems.DATA, raising=False)
    entries = problems.problems()
    names = [*(entry.name for entry in entries), *CONTENDERS]
    assert len(set(names)) == len(names)
    assert not {entry.group for entry in entries} & set(CONTENDERS)


def test_two_point_arms_have_the_means_they_were_asked_for() -> None:
    moments = two_point(20.0, 1.0, 0.5, 0.02).moments()
    assert moments.mean_cost == pytest.approx(20.0)
    assert moments.mean_reward == pytest.approx(1.0)
    assert moments.cov == pytest.approx(0.0)
    assert two_point(1.0, 1.0, 0.01, 0.5, low=0.1).support().cost_high == pytest.approx(90.1)


def test_who_may_not_play_is_left_out() -> None:
    wild = Problem([Pareto(1.0, 1.0, 1.5), Pareto(1.0, 0.5, 1.5)])
    assert with_bounds(UCBB2)(wild) is None
    assert with_moments(dict)(wild) is None
    assert with_bounds(UCBB2)(COINS.problem) == UCBB2(cost_bound=1.0, reward_bound=1.0)
    assert with_moments(dict, a=1)(COINS.problem).keys() == {"var_cost", "var_reward", "cov", "a"}


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


def test_subsets_are_fixed_and_of_five_to_eight_arms() -> None:
    log = pd.DataFrame({"arm": [f"arm {i}" for i in range(24)]})
    chosen = [tuple(real.subset(log, i)["arm"]) for i in range(12)]
    assert chosen == [tuple(real.subset(log, i)["arm"]) for i in range(12)]
    assert len(set(chosen)) == 12
    assert {len(arms) for arms in chosen} <= {5, 6, 7, 8}


@pytest.mark.parametrize(
    "text", ["", "arm,cost\na,1\n", "arm,instance,cost,reward\n", "arm,instance,cost,reward\na,x,one,1\n"]
)
def test_a_broken_log_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text)
    with pytest.raises(BadFile, match=r"log\.csv"):
        real.read_log(path)
