"""The leaderboard: its statistics against hand-computed ones, and the command from end to end."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.leaderboard import __main__ as command
from benchmarks.leaderboard import cells, play
from benchmarks.leaderboard.contenders import CONTENDERS, Contender, always
from benchmarks.leaderboard.contexts import Contextual, that_carry_features
from benchmarks.leaderboard.drift import Changing, that_change
from benchmarks.leaderboard.problems import Entry
from benchmarks.leaderboard.store import Setting

from outlay import Problem, simulate
from outlay.arms import Bernoulli
from outlay.policies import Fixed, RoundRobin

COINS = Entry("coins", "tiny", Problem([Bernoulli(0.5, 0.5), Bernoulli(0.5, 0.25)]))
PLAYERS = {"RoundRobin": Contender("nothing", always(RoundRobin())), "Worst": Contender("nothing", always(Fixed(1)))}
pytestmark = pytest.mark.interpreted
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


def test_problems_that_change_have_players_and_tables_of_their_own(
    tmp_path: Path, tiny: None, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (Problem([Bernoulli(1.0, mean), Bernoulli(1.0, 0.5)]) for mean in (0.9, 0.1))
    changing = Changing("falls", "drift-falls", [(0.0, one), (50.0, two)], 100.0)
    few = {name: CONTENDERS[name] for name in ("Thrifty:ignored", "SWUCB", "BTS")}
    monkeypatch.setattr(command, "problems", lambda: [COINS, changing])
    monkeypatch.setattr(command, "CONTENDERS", PLAYERS | few)
    where = ["--folder", str(tmp_path / "kept"), "--runs", "3", "--workers", "1"]
    command.main([*where, "--budgets", "20"])
    assert counted == ["RoundRobin", "Worst", "BTS"]  # other budgets are not for the problem that changes
    command.main([*where, "--only", "drift"])
    assert counted[3:] == ["Thrifty:ignored", "SWUCB"]
    page = tmp_path / "page.md"
    page.write_text("<!-- leaderboard drift -->\nstale\n<!-- end of leaderboard -->\n")
    command.main([*where, "--page", str(page)])  # nothing is kept at the usual budgets, and nothing written of it
    text = page.read_text()
    assert "stale" not in text
    assert "### All 1 cells where arms change" in text
    assert "| SWUCB | changes | 1 |" in text
    kept = play.jobs_of(changing, few, Setting((100.0,), 3, 0))
    other = play.jobs_of(changing._replace(pieces=[(0.0, one), (60.0, two)]), few, Setting((100.0,), 3, 0))
    assert [job.label for job in kept] == ["Thrifty:ignored", "SWUCB"]
    assert not {job.key for job in kept} & {job.key for job in other}


def test_all_problems_that_change_are_on_the_board_with_what_the_rivals_are_told() -> None:
    entries = that_change()
    assert len({entry.name for entry in entries}) == len(entries) == 25
    for entry in entries:
        assert set(entry.players()) == {label for label, one in CONTENDERS.items() if one.drift}
        assert entry.budget > entry.pieces[-1][0]


def test_problems_with_features_have_players_and_tables_of_their_own(
    tmp_path: Path, tiny: None, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Contextual("linear", 2, 0)
    few = {name: CONTENDERS[name] for name in ("Ration", "LinUCB", "LPUCB")}
    monkeypatch.setattr(command, "problems", lambda: [COINS, entry])
    monkeypatch.setattr(command, "CONTENDERS", PLAYERS | few)
    where = ["--folder", str(tmp_path / "kept"), "--runs", "2", "--workers", "1"]
    command.main([*where, "--budgets", "20"])
    assert counted == ["RoundRobin", "Worst"]  # other budgets are not for the problem with features
    command.main([*where, "--only", "contexts"])
    assert counted[2:] == ["LinUCB", "Ration"]
    page = tmp_path / "page.md"
    page.write_text("<!-- leaderboard contexts -->\nstale\n<!-- end of leaderboard -->\n")
    command.main([*where, "--page", str(page)])
    text = page.read_text()
    assert "stale" not in text
    assert "### All 2 cells where requests carry features" in text
    assert "| LinUCB | budget | 2 |" in text
    job, other = (play.jobs_of(one, few, Setting((0.15, 0.4), 2, 0))[0] for one in (entry, entry._replace(number=1)))
    assert job.key != other.key
    result = simulate(entry.problem, job.policy, [150.0, 400.0], requests=1_000, runs=2)
    most = [entry.problem.attainable(budget, 1_000) for budget in (150.0, 400.0)]
    expected = 100.0 * (1.0 - result.reward[0] / most)
    np.testing.assert_allclose(play.play(play.pieces_of(job)[0]).regret, expected, atol=1e-9)


def test_all_problems_with_features_are_on_the_board_with_their_players() -> None:
    entries = that_carry_features()
    assert len({entry.name for entry in entries}) == len(entries) == 36
    for entry in entries:
        assert set(entry.players()) == {label for label, one in CONTENDERS.items() if one.contexts}
        assert entry.problem.table.features.shape[1] == entry.features
        assert len(entry.problem) == entry.arms
