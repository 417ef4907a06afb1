"""Points and cells, what a key depends on, and how much time is left."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from outlay.arms import Gaussian
from outlay.experiments import estimate, load, play, points_of
from outlay.experiments.plan import Progress, folder_of
from outlay.experiments.play import jobs

from .conftest import PLAIN, SWEPT


def keys(write: Callable[[str], Path], text: str) -> list[str]:
    return [cell.key for _, cell in jobs(points_of(load(write(text))))]


def test_several_sweeps_make_a_grid(write):
    text = SWEPT + '[[sweep]]\nover = ["arms.good.cost_sd", "arms.worse.reward_sd"]\nname = "sd"\nvalues = [1, 2, 3]\n'
    points = points_of(load(write(text)))
    assert [tuple(point.values.values()) for point in points] == [(c, s) for c in (-0.5, 0.5) for s in (1, 2, 3)]
    assert points[4].title == "correlation = 0.5, sd = 2"
    assert folder_of(points[4].values) == "correlation=0.5,sd=2"
    assert points[4].problem.arms == (Gaussian(1, 1, 2, 0.5, 0.5), Gaussian(1, 0.5, 0.5, 2, 0.5))
    assert points[4].cells["RoundRobin"].problem == points[4].problem


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("two arms", "other words", True),
        ('label = "stubborn"', 'label = "mule"', True),
        ("seed = 3", "seed = 3\nworkers = 1", True),
        ("seed = 3", 'seed = 3\nbackend = "dask"', True),
        ("seed = 3", "seed = 3\nmax_pulls = 500", True),
        ("budgets = [20, 50]", "budgets = [20.0, 5e1]", True),
        ("values = [-0.5, 0.5]", "values = [0.5, -0.5]", True),
        ("seed = 3", "seed = 4", False),
        ("seed = 3", 'seed = 3\nbackend = "cuda"', False),
        ("runs = 4", "runs = 5", False),
        ("budgets = [20, 50]", "budgets = [20, 51]", False),
        ("reward = 0.5", "reward = 0.4", False),
    ],
)
def test_what_keys_depend_on(write, old, new, same):
    before, after = set(keys(write, SWEPT)), set(keys(write, SWEPT.replace(old, new)))
    assert after == before if same else after.isdisjoint(before)


def test_points_share_the_cells_that_a_sweep_leaves_alone(write):
    text = PLAIN + '[[sweep]]\nover = "policies.arm"\nvalues = [0, 1]\n'
    assert len(keys(write, text)) == 3
    assert len(set(keys(write, text)) | set(keys(write, PLAIN))) == 3


def test_the_default_plays_every_budget_unless_its_horizon_is_unknown(write):
    head = 'format = 1\n[experiment]\nproblem = "G"\nbudget = 1e4\n'
    told = points_of(load(write(head)))[0].cells["Thrifty"].pulls
    [point] = points_of(load(write(f'{head}[[policies]]\nname = "Thrifty"\nhorizon = "unknown"')))
    assert told / point.cells["Thrifty"].pulls == pytest.approx(3.9953, abs=1e-4)


def test_each_label_has_its_pace(write):
    lines: list[str] = []
    every = jobs(points_of(load(write(SWEPT))))  # 4 runs of 50 pulls: 200 pulls a cell
    progress = Progress(every, say=lines.append)
    assert progress.left == 0.0
    (quick, first), (slow, second), (_, third), (_, fourth) = every
    progress.done(quick, "correlation = -0.5", first, 1.0)
    assert progress.left == pytest.approx(3.0), "one pace for all, as long as there is one"
    progress.done(slow, "correlation = -0.5", second, 300.0)
    assert progress.left == pytest.approx(301.0)
    progress.done(quick, "correlation = 0.5", third, 3.0)
    assert progress.left == pytest.approx(300.0)
    progress.done(slow, "", fourth, 100.0)
    assert progress.played == 4
    assert lines == [
        "1/4  RoundRobin, correlation = -0.5: 1.0 s, 200 pulls/s, 3 s left",
        "2/4  stubborn, correlation = -0.5: 300.0 s, 0.667 pulls/s, 5 min left",
        "3/4  RoundRobin, correlation = 0.5: 3.0 s, 66.7 pulls/s, 5 min left",
        "4/4  stubborn: 100.0 s, 2 pulls/s",
    ]


@pytest.fixture
def clock(monkeypatch):
    """A simulator that takes 10 s to compile each policy, then 0.1 s for itself and a millisecond for each pull."""
    now, known = [0.0], set()

    def simulate(problem, policy, budgets, *, runs, **_):
        if type(policy) not in known:
            known.add(type(policy))
            now[0] += 10.0
        now[0] += 0.1 + 1e-3 * runs * budgets[-1] / float(problem.mean_costs[problem.best])
        return SimpleNamespace(oracle_reward=np.zeros(1))

    monkeypatch.setattr(play, "simulate", simulate)
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    return now


def test_the_estimate_is_scaled_by_pulls(write, clock):
    text = SWEPT.replace("budgets = [20, 50]", "budgets = [2e3, 5e3]").replace("runs = 4", "runs = 600")
    shares = estimate(load(write(text)), "out")
    assert [(share.label, share.cells, share.missing, share.pulls) for share in shares] == [
        ("RoundRobin", 2, 2, 6e6),
        ("stubborn", 2, 2, 6e6),
    ]
    assert [share.seconds for share in shares] == pytest.approx([6e3 + 0.2, 6e3 + 0.2])
    assert clock[0] < 30.0, "it measured for a moment"
