"""The leaderboard's problems with many arms: how they are drawn, played in pieces, kept and shown."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.leaderboard import __main__ as command
from benchmarks.leaderboard import many, play, tables
from benchmarks.leaderboard.cells import rows_of
from benchmarks.leaderboard.contenders import CONTENDERS, Contender, always
from benchmarks.leaderboard.many import FAMILIES, Drawn
from benchmarks.leaderboard.problems import Entry
from benchmarks.leaderboard.store import Setting

from outlay import Problem, simulate
from outlay.arms import Gaussian
from outlay.policies import RoundRobin
from outlay.policies.baselines import EpsilonFirst, Greedy

FEW = Drawn("uniform", 4)
SETTING = Setting((1.0, 5.0), runs=45, seed=3)
PLAYERS = {
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


def test_families_are_what_their_names_say() -> None:
    """Means are within four standard errors: fewer than one seed in 2000 would fail, and this one is fixed."""
    problems = {name: [Drawn(name, 300).draw(1, i).problem for i in range(20)] for name in FAMILIES}
    rates = {name: np.array([problem.rates for problem in some]) for name, some in problems.items()}
    spans = {"uniform": (0.1, 1.0), "exponential": (0.05, 2.05), "pareto": (0.1, 3.0), "beta": (0.05, 0.95)}
    for name, (low, high) in spans.items():
        assert low - 1e-12 <= rates[name].min() < rates[name].max() <= high + 1e-12
    assert rates["uniform"].mean() == pytest.approx(0.55, abs=0.0134)
    assert rates["exponential"].mean() == pytest.approx(0.3, abs=0.013)
    assert (rates["pareto"] > 0.2).mean() == pytest.approx(0.25, abs=0.0224)
    assert rates["beta"].mean() == pytest.approx(0.275, abs=0.009)
    good = rates["one-good"] > 0.75
    assert (good.sum(axis=1) == 1).all()
    assert len(set(good.argmax(axis=1).tolist())) > 15  # it stands anywhere
    for name, noise in {"uniform": 0.5, "exponential": 0.5, "pareto": 0.1, "one-good": 0.5}.items():
        assert np.allclose(problems[name][0].second_moments()["var_reward"], noise**2)
    assert problems["beta"][0].bounds() == {"cost_bound": 1.0, "reward_bound": 1.0}


@pytest.mark.interpreted
def test_every_run_is_on_its_own_problem_and_told_the_budget(tmp_path: Path) -> None:
    setting = SETTING._replace(runs=3)
    players = PLAYERS | {"EpsilonFirst": Contender("budget", always(EpsilonFirst(0.5)))}
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
    jobs = [job for entry in (two, FEW) for job in play.jobs_of(entry, {"Greedy": PLAYERS["Greedy"]}, SETTING)]
    assert [len(play.pieces_of(job)) for job in jobs] == [1, 23]
    covered = [run for piece in play.pieces_of(jobs[1]) for run in range(piece.first, piece.last)]
    assert covered == list(range(45))
    one, several = (play.play_all(jobs, tmp_path / f"{workers}", print, workers) for workers in (1, 2))
    assert [each.job for each in several] == jobs
    for alone, together in zip(one, several, strict=True):
        assert np.array_equal(alone.kept.regret, together.kept.regret)


def test_what_is_kept_is_named_by_how_it_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def key(entry: Drawn = FEW, setting: Setting = SETTING) -> str:
        (job,) = play.jobs_of(entry, {"Greedy": PLAYERS["Greedy"]}, setting)
        return job.key

    first = key()
    assert first == key()
    others = [key(Drawn("uniform", 5)), key(Drawn("pareto", 4)), key(setting=SETTING._replace(seed=4))]
    others.append(key(setting=SETTING._replace(runs=46)))
    monkeypatch.setitem(FAMILIES, "uniform", many.exponential)
    others.append(key())
    assert len({first, *others}) == 6


def test_who_must_be_told_something_of_each_problem_does_not_play() -> None:
    told = {label: CONTENDERS[label] for label in ("FiellerKnown", "UCBM1", "OmegaUCB:0.25", "Fieller")}
    assert [job.label for job in play.jobs_of(FEW, told, SETTING)] == ["Fieller"]
    coins = play.jobs_of(Drawn("beta", 4), told, SETTING)
    assert [job.label for job in coins] == ["OmegaUCB:0.25", "Fieller"], "every problem has the same bounds"


@pytest.mark.soak  # it plays the whole command
def test_many_arms_have_tables_of_their_own(tmp_path: Path) -> None:
    entries = [Drawn(family, arms) for family in ("uniform", "one-good") for arms in (3, 4)]
    jobs = [job for entry in entries for job in play.jobs_of(entry, PLAYERS, SETTING._replace(runs=20))]
    rows = rows_of(play.play_all(jobs, tmp_path, print), dict.fromkeys(PLAYERS, "nothing"))
    assert len(rows) == 4 * 2 * 2
    assert all(row.bound is None and row.group == "many" for row in rows)
    groups, *of_many = tables.overall(rows)
    assert groups.headings == ("policy", "many")
    assert of_many[0].title == "All 8 cells with many arms"
    assert [grid.headings[1:] for grid in of_many[1:]] == [("1", "5"), ("3", "4"), ("uniform", "one-good")]
    ratios = {row.policy: row.ratio for row in rows if (row.problem, row.budget) == ("uniform:3", 5.0)}
    matrix = tables.details(rows, tables.matrix_grid)[1]
    assert matrix.title == "Many arms, 5 mean costs per arm: per cent of r*·B"
    line = dict(zip(matrix.headings, matrix.rows[0], strict=True))
    assert {label: line[label].strip("*") for label in ratios} == {
        label: tables.number(ratio, 2) for label, ratio in ratios.items()
    }


@pytest.mark.parametrize(
    ("arguments", "titles"),
    [
        (["--budgets", "20"], ["Budget 20 mean costs", "All 1 cells"]),
        (["--per-arm", "2"], ["Many arms, 2 mean costs per arm", "All 1 cells with many arms"]),
        (["--budgets", "20", "--per-arm", "2"], ["Budget 20", "Many arms, 2", "All 1 cells\n", "All 1 cells with"]),
    ],
)
def test_each_kind_of_problem_has_its_budgets(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    titles: list[str],
) -> None:
    two = Entry("two", "tiny", Problem([Gaussian(1.0, 0.5, 0.5, 0.5), Gaussian(1.0, 0.4, 0.5, 0.5)]))
    entries: list[Any] = [two, FEW]
    monkeypatch.setattr(command, "problems", lambda: entries)
    monkeypatch.setattr(command, "CONTENDERS", PLAYERS)
    command.main(["--folder", str(tmp_path), "--runs", "5", "--workers", "1", *arguments])
    out = capsys.readouterr().out
    places = [out.find(title) for title in titles]
    assert -1 not in places
    assert places == sorted(places)
    assert out.count("Budget 20") + out.count("Many arms, 2") == len(titles) // 2
