"""The leaderboard: its statistics against hand-computed ones, what is kept, many arms, requests."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from benchmarks.leaderboard import __main__ as command
from benchmarks.leaderboard import cells, play, real, store, tables
from benchmarks.leaderboard.cells import rows_of
from benchmarks.leaderboard.contenders import Contender, always
from benchmarks.leaderboard.many import Drawn
from benchmarks.leaderboard.problems import Entry
from benchmarks.leaderboard.requests import Rationed
from benchmarks.leaderboard.store import Setting
from benchmarks.leaderboard.summary import ratios_by, summaries

from outlay import Problem, simulate
from outlay.arms import Bernoulli, Constant, Gaussian
from outlay.policies import UCBB2, Fixed, RoundRobin
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


def test_kept_results_are_not_played_again(tmp_path: Path, counted: list[str]) -> None:
    first = played(tmp_path, {"RoundRobin": PLAYERS["RoundRobin"]})
    again = played(tmp_path)
    assert counted == ["RoundRobin", "Worst"]
    assert np.array_equal(first[0].kept.regret, again[0].kept.regret)
    direct = simulate(COINS.problem, Fixed(1), budgets=[10.0, 50.0], runs=20, seed=3)
    assert np.array_equal(again[1].kept.regret, direct.pulls[0, :, :, 1] * 0.5 * 0.5)


def test_a_result_is_named_by_problem_policy_and_code(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.26)])
    policies = (Fixed(0), Fixed(1), UCBB2(1.0, 1.0), UCBB2(1.0, 1.0, alpha=2.2))
    keys = {store.key_of(problem, policy, SETTING) for problem in (COINS.problem, other) for policy in policies}
    assert len(keys) == 8
    monkeypatch.setattr(Fixed, "choose", lambda self, memory, now, rng: 0)
    assert store.key_of(COINS.problem, Fixed(0), SETTING) not in keys


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


def test_a_problem_is_that_of_its_seed_run_and_family() -> None:
    one = FEW.draw(3, 5)
    assert (one.problem.mean_costs == FEW.draw(3, 5).problem.mean_costs).all()
    assert one.seed == FEW.draw(3, 5).seed
    others = [FEW.draw(3, 6), FEW.draw(4, 5), Drawn("exponential", 4).draw(3, 5), Drawn("one-good", 4).draw(3, 5)]
    assert len({one.seed, *(other.seed for other in others)}) == 5
    assert len({one.problem.mean_costs[0], *(other.problem.mean_costs[0] for other in others)}) == 5


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


def test_several_processes_find_what_one_does(tmp_path: Path) -> None:
    two = Entry("two", "tiny", Problem([Gaussian(1.0, 0.5, 0.5, 0.5), Gaussian(1.0, 0.4, 0.5, 0.5)]))
    jobs = [job for entry in (two, FEW) for job in play.jobs_of(entry, {"Greedy": OF_MANY["Greedy"]}, PER_ARM)]
    assert [len(play.pieces_of(job)) for job in jobs] == [1, 23]
    covered = [run for piece in play.pieces_of(jobs[1]) for run in range(piece.first, piece.last)]
    assert covered == list(range(45))
    one, several = (play.play_all(jobs, tmp_path / f"{workers}", print, workers) for workers in (1, 2))
    assert [each.job for each in several] == jobs
    for alone, together in zip(one, several, strict=True):
        assert np.array_equal(alone.kept.regret, together.kept.regret)


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


def test_who_plays_and_where_the_tables_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "problems", lambda: [Entry("pair", "tiny", PAIR), RATIONED])
    monkeypatch.setattr(command, "CONTENDERS", RATIONERS)
    assert command.unasked(RATIONED) == RATIONERS
    where = ["--folder", str(tmp_path), "--runs", "2", "--workers", "1", "--per-request", "0.25", "0.5"]
    command.main(where)
    out = capsys.readouterr().out
    assert "All 2 cells with requests" in out
    assert "mean costs" not in out  # the other kind of problem was not asked for
    page = tmp_path / "page.md"
    page.write_text("<!-- leaderboard requests -->\nstale\n<!-- end of leaderboard -->\nafter\n")
    command.main([*where, "--page", str(page)])
    assert "| Cheap | budget | 2 |" in page.read_text()
    assert page.read_text().endswith("after\n")
