"""Problems that change: the engine against plain Python, piece by piece, and what is refused."""

from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import outlay
from outlay import Problem, policies, simulate
from outlay.arms import Constant, Gaussian
from outlay.cli import commands
from outlay.engine.choose_arm import ChoiceCache, decide, forget
from outlay.engine.oracle import trace
from outlay.errors import BadFile, BadParameter, NotCovered
from outlay.policies.protocol import memory_of, with_limits
from outlay.problem_policies import paper_policies
from outlay.report.page import arms_table
from outlay.report.runs import earnings
from outlay.results import best_shares


def of(*means: float) -> Problem:
    return Problem([Gaussian(1.0, mean, 0.6, 0.5) for mean in means])  # costs below 0 now and then


PIECES = [(0.0, of(0.9, 0.5, 0.1)), (60.0, of(0.2, 0.5, 0.1)), (150.0, of(0.2, 0.5, 1.5))]
CHANGING = Problem.changing(PIECES)
BUDGETS = [40.0, 60.0, 100.0, 200.0]
PLAYERS: dict[str, Any] = {"in turn": policies.RoundRobin(), "thrifty": policies.Thrifty()}


def slow(policy: Any, budgets: list[float], seed: int, run: int) -> tuple[list[Any], list[float], list[float]]:
    """One run: pulls by piece and arm, costs and rewards when each budget is first passed."""
    rng: Any = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run,)))
    memory, cache, pulls = memory_of(policy, 3), ChoiceCache.start(3), np.zeros(3, np.int64)
    forget(cache)
    made, piece, spent, earned = np.zeros((3, 3), np.int64), 0, 0.0, 0.0
    seen: tuple[list[Any], list[float], list[float]] = [], [], []
    while len(seen[0]) < len(budgets):
        arm = decide(policy, memory, pulls, spent, int(pulls.sum()), cache, rng)
        cost, reward = PIECES[piece][1].arms[arm].draw(rng)
        memory.observe(arm, cost, reward)
        pulls[arm] += 1
        made[piece, arm] += 1
        spent, earned = spent + cost, earned + reward
        while piece < 2 and spent > PIECES[piece + 1][0]:
            piece += 1
        while len(seen[0]) < len(budgets) and spent > budgets[len(seen[0])]:
            for kept, value in zip(seen, (made.copy(), spent, earned), strict=True):
                kept.append(value)
    return seen


@pytest.mark.parametrize("label", PLAYERS)
def test_the_engine_against_plain_python(label: str) -> None:
    policy = PLAYERS[label]
    result = simulate(CHANGING, {label: policy}, BUDGETS, runs=4, seed=5, workers=1)
    told = label == "thrifty"
    for run in range(4):
        parts = (
            [slow(with_limits(policy, b), [b], 5, run) for b in BUDGETS] if told else [slow(policy, BUDGETS, 5, run)]
        )
        made, cost, reward = ([*chain(*(part[i] for part in parts))] for i in range(3))
        assert np.array_equal(result.piece_pulls[0, run], made)  # type: ignore[index]
        assert result.cost[0, run] == pytest.approx(cost)
        assert result.reward[0, run] == pytest.approx(reward)
        steps = [*trace(CHANGING, policy, BUDGETS[-1], 5, run)]
        assert np.array_equal(np.bincount([step.arm for step in steps], minlength=3), result.pulls[0, run, -1])
        assert sum(step.reward for step in steps) == pytest.approx(result.reward[0, run, -1])
    assert result.piece_pulls is not None
    assert np.array_equal(result.piece_pulls.sum(axis=-2), result.pulls)


def test_regret_is_against_the_best_arm_of_the_moment() -> None:
    result = simulate(CHANGING, policies.RoundRobin(), BUDGETS, runs=400, seed=1)
    pieces = np.asarray(result.piece_pulls)
    lost = [[0.0, 0.4, 0.8], [0.3, 0.0, 0.4], [1.3, 1.0, 0.0]]
    assert result.run_regret()[0] == pytest.approx((pieces[0] * lost).sum(axis=(-1, -2)))
    assert result.attainable.tolist() == pytest.approx([36.0, 54.0, 74.0, 54.0 + 45.0 + 75.0])
    assert result.oracle_reward.mean(axis=0) == pytest.approx(result.attainable, abs=4.0)
    realised, pseudo = (result.regret(kind) for kind in ("realised", "pseudo"))
    assert (abs(realised["mean"] - pseudo["mean"]) < 4 * realised["stderr"] + 1.0).all()
    best = pieces[0, :, -1, [0, 1, 2], [0, 1, 2]].sum() / pieces[0, :, -1].sum()
    assert best_shares(result) == pytest.approx([best])
    assert result.gaps == pytest.approx([1.3, 1.0, 0.0])


def test_a_report_has_what_each_arm_earned_and_was_piece_by_piece() -> None:
    result = simulate(CHANGING, policies.RoundRobin(), BUDGETS, runs=3, seed=1)
    means = [piece.mean_rewards for piece in CHANGING.pieces]
    earned = (np.asarray(result.piece_pulls)[0, :, -1].mean(axis=0) * means).sum(axis=0)
    shown = earnings(result)
    assert sorted(shown.expected[0]) == pytest.approx(sorted(earned))
    assert shown.line == "the best arm of each moment"
    rows = [row[:5] for row in arms_table(result).rows]
    assert rows[0] == ['arm 0<span class="best"> best</span>', "1", "0.9", "0.9", "0"]
    assert rows[3] == ["arm 0, from 60 on", "1", "0.2", "0.2", "0.3"]
    assert rows[8] == ['arm 2, from 150 on<span class="best"> best</span>', "1", "1.5", "1.5", "0"]


def test_a_noticed_change_saves_most_of_the_regret() -> None:
    """The leader falls from 0.8 to 0.3 in the middle of 2000 pulls; the regret of not noticing is above 100."""
    before, after = of(0.8, 0.5), of(0.3, 0.5)
    players = {word: policies.Thrifty(changes=word) for word in ("noticed", "ignored")}
    result = simulate(Problem.changing([(0, before), (1000, after)]), players, [2000.0], runs=100, seed=2)
    noticed, ignored = result.run_regret()[:, :, 0].mean(axis=1)
    assert noticed < 0.4 * ignored
    assert ignored > 100.0


def test_an_arm_that_was_given_up_and_becomes_the_best_is_found() -> None:
    """It rises from 0.3 to 0.9 in the middle of 4000 pulls: the regret of never trying it again is above 500."""
    problem = Problem.changing([(0, of(0.6, 0.3)), (2000, of(0.6, 0.9))])
    players: dict[str, Any] = {"thrifty": policies.Thrifty(), "forgetful": policies.Forgetful(changes_every=2000)}
    result = simulate(problem, players, [4000.0], runs=20, seed=2)
    thrifty, forgetful = result.run_regret()[:, :, 0].mean(axis=1)
    assert forgetful < 0.3 * thrifty
    assert thrifty > 500.0


def test_saved_results_and_problems_come_back(tmp_path: Any) -> None:
    result = simulate(CHANGING, policies.RoundRobin(), BUDGETS, runs=2)
    result.save(tmp_path / "changing.parquet")
    assert outlay.load(tmp_path / "changing.parquet") == result
    assert Problem.from_toml(CHANGING.to_toml()) == CHANGING != PIECES[0][1]
    assert "Problem.changing([(0.0, " in repr(CHANGING)
    assert hash(CHANGING) != hash(PIECES[0][1])


@pytest.mark.interpreted
def test_what_is_refused() -> None:
    one, two = Problem([Constant(1, 1)]), Problem([Constant(1, 1)], names=["other"])
    for pieces, words in [
        ([], "pieces of Problem.changing must be a sequence of pairs"),
        (3, "pieces of Problem.changing must be a sequence of pairs"),
        ([one], "piece 0 of Problem.changing must be a pair"),
        ([(5, one)], "the start of piece 0 of Problem.changing must be 0; got 5"),
        (
            [(0, one), (0, one)],
            "the start of piece 1 of Problem.changing must be > 0, the start of the one before; got 0",
        ),
        ([(0, one), (float("nan"), one)], "the start of piece 1 of Problem.changing must be a finite number"),
        ([(0, one), (5, two)], r"the names of piece 1 of Problem.changing must be those of piece 0, \['arm 0'\]"),
        ([(0, CHANGING)], "Problem.changing is about arms that stay what they are"),
    ]:
        with pytest.raises((BadParameter, NotCovered), match=f"^{words}"):
            Problem.changing(pieces)  # type: ignore[arg-type]
    for options in ({"mode": "hard"}, {"requests": 10}, {"backend": "cuda"}, {"backend": "dask"}):
        problem = Problem.changing([(0, one), (5, one)])
        with pytest.raises(NotCovered, match=r"^arms that change are played with budgets alone"):
            simulate(problem, policies.RoundRobin(), [10.0], **options)
        if "backend" not in options:
            with pytest.raises(NotCovered, match=r"^arms that change are played with a budget alone"):
                next(trace(problem, policies.RoundRobin(), 10.0, **options))
    with pytest.raises(
        NotCovered, match=r"^lower_bound is about arms that stay what they are, and those of this problem"
    ):
        outlay.theory.lower_bound(CHANGING)
    with pytest.raises(NotCovered, match=r"^second_moments is about arms that stay what they are"):
        CHANGING.second_moments()
    with pytest.raises(NotCovered, match=r"^bounds is about arms that stay what they are"):
        outlay.report.problem_bounds(CHANGING, 100.0)
    falls = Problem.changing([(0, one), (5, Problem([Constant(0.25, 1)]))])
    assert {paper.min_cost for paper in paper_policies(falls).values()} == {0.125}
    cheaper = Problem.changing([(0, one), (5, Problem([Constant(1e-13, 1)]))])
    with pytest.raises(BadParameter, match=r"^min_cost of UCBB2 must be at most 1e-13, the smallest mean cost"):
        simulate(cheaper, policies.UCBB2(1.0, 1.0), [10.0])
    poorer = Problem.changing([(0, one), (5, Problem([Constant(1, 0)]))])
    assert simulate(poorer, policies.Fixed(0), [10.0], runs=1).reward[0, 0, 0] == 6.0
    text = CHANGING.to_toml()
    for broken, words in [
        (text.replace("start = 60.0", "begin = 60.0"), "change 0 has a `start` and 3 `\\[\\[changes.arms\\]\\]`"),
        (text.replace("start = 150.0", "start = 50.0"), "the start of piece 2 of Problem.changing must be > 60"),
        ("changes = 3\n" + text.split("[[changes]]")[0], "a problem has one `\\[\\[changes\\]\\]` table per change"),
    ]:
        with pytest.raises(BadFile, match=f"^{words}"):
            Problem.from_toml(broken)


@pytest.mark.parametrize("times", [0, pytest.param(2, marks=pytest.mark.soak)])  # figures take a while
def test_an_experiment_on_a_file_of_a_problem_that_changes(tmp_path: Path, times: int) -> None:
    CHANGING.save(tmp_path / "changing.toml")
    text = """
        format = 1
        [experiment]
        problem = "changing.toml"
        budgets = [60, 200]
        runs = 3
        [[policies]]
        name = "RoundRobin"
        [[policies]]
        name = "Thrifty"
    """
    (tmp_path / "experiment.toml").write_text(text)
    run = partial(CliRunner().invoke, commands)
    for _ in range(times):  # the second reads what the first has kept
        done = run(["compare", str(tmp_path / "experiment.toml"), "--out", str(tmp_path / "out")])
        assert done.exit_code == 0, done.output
        assert "RoundRobin" in done.output
    for more, words in [
        ('[[policies]]\nname = "Forgetful"', "needs to be told how much is spent between two changes of an arm"),
        ('[[policies]]\nname = "UCBM1"', "UCBM1 needs arms that stay what they are"),
        ('[[sweep]]\nover = "arms.reward"\nvalues = [1]', "a sweep over arms is about arms that stay what they are"),
        ('[[sweep]]\nover = "K"\nvalues = [3]', "a sweep over K is about arms that stay what they are"),
    ]:
        (tmp_path / "wrong.toml").write_text(f"{text}\n{more}")
        done = run(["compare", str(tmp_path / "wrong.toml"), "--out", str(tmp_path / "no")])
        assert done.exit_code != 0
        assert words in done.output
    if times:
        (tmp_path / "told.toml").write_text(f'{text}\n[[policies]]\nname = "Forgetful"\nchanges_every = 90')
        done = run(["compare", str(tmp_path / "told.toml"), "--out", str(tmp_path / "out"), "--dry-run"])
        assert done.exit_code == 0, done.output
