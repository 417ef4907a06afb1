"""The leaderboard's problems with a number of requests: what they are, how they are played, kept and shown."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.leaderboard import __main__ as command
from benchmarks.leaderboard import play, tables
from benchmarks.leaderboard.cells import rows_of
from benchmarks.leaderboard.contenders import CONTENDERS, Contender, always
from benchmarks.leaderboard.fixed import BestFixed
from benchmarks.leaderboard.problems import Entry
from benchmarks.leaderboard.requests import FAMILIES, Rationed, of_family
from benchmarks.leaderboard.store import Setting

from outlay import Problem, theory
from outlay.arms import Constant
from outlay.formulas.argmax import Now
from outlay.policies import Fixed, RoundRobin

PAIR = Problem([Constant(0.5, 0.5), Constant(2.0, 1.0)])
TINY = Rationed("ration-pair", PAIR, 40)
SETTING = Setting((0.25, 0.5), runs=2, seed=3)
PLAYERS = {
    "RoundRobin": Contender("nothing", always(RoundRobin()), requests=True),
    "Cheap": Contender("budget", always(Fixed(0)), requests=True),
    "Known": Contender("means", always(Fixed(1)), requests=True),
}


def test_regret_is_in_per_cent_of_the_best_mix(tmp_path: Path) -> None:
    """0.5 or 1 for each request: *cheap* alone is best, or the half of a mix that brings 2/3; in turn, 1.25 a pull."""
    played = play.play_all(play.jobs_of(TINY, PLAYERS, SETTING), tmp_path, print)
    found = {each.job.label: each.kept.regret[0].tolist() for each in played}
    assert found["Cheap"] == pytest.approx([0.0, 100 * (1 - 0.5 / (2 / 3))])
    assert found["RoundRobin"][0] == pytest.approx(100 * (1 - 17 * 0.5 / 20 - 8 * 0.5 / 20))
    rows = rows_of(played, {label: one.told for label, one in PLAYERS.items()})
    assert {(row.problem, row.requests, row.group) for row in rows} == {("ration-pair×40", 40, "requests")}
    assert all(np.isnan(row.ratio) for row in rows if row.policy == "Known")
    assert [row.policy for row in rows if row.best] == ["Cheap", "RoundRobin"]
    means = tables.mean_grid(rows)
    assert means.headings == ("policy", "all", "40")
    assert {line[0] for line in means.rows} == set(PLAYERS)


def test_the_number_of_requests_is_part_of_a_name() -> None:
    keys = {play.jobs_of(TINY._replace(requests=n), PLAYERS, SETTING)[0].key for n in (40, 41, 42)}
    assert len(keys) == 3


def test_dearer_arms_pay_more_in_every_family() -> None:
    for family in FAMILIES:
        problem = of_family(family, 1)
        assert (problem.mean_costs == of_family(family, 1).mean_costs).all()
        entry = Rationed(family, problem, 100)
        most = [entry.most(budget) for budget in entry.budgets((0.05, 0.2, 0.5, 1.2)).tolist()]
        assert most == sorted(most)
        assert most[-1] == pytest.approx(100 * problem.mean_rewards.max())
        assert theory.fluid(problem, float(entry.budgets((0.5,))[0]), 100).price > 0


def test_the_best_arm_alone() -> None:
    memory, now, rng = BestFixed([1.0], [1.0]).memory(2), Now(0, 0.0, 0.0), np.random.default_rng(0)
    for budget, arm in ((10.0, 0), (60.0, 0), (70.0, 1)):  # the second serves half of the requests, or more, from 60
        policy = BestFixed([0.5, 1.2], [0.5, 1.0], budget=budget, requests=100)
        assert policy.choose(memory, now, rng) == arm


def test_who_plays_and_where_the_tables_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "problems", lambda: [Entry("pair", "tiny", PAIR), TINY])
    monkeypatch.setattr(command, "CONTENDERS", PLAYERS)
    assert command.unasked(TINY) == PLAYERS
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


def test_the_rivals_play_with_requests_alone() -> None:
    rationing = {label for label, one in CONTENDERS.items() if one.requests}
    assert {"Ration", "LPUCB", "LPThompson", "LPGreedy", "LPEpsilonFirst", "PDBwKRequests", "BestFixed"} <= rationing
    assert "Ration" not in command.unasked(Entry("pair", "tiny", PAIR))
