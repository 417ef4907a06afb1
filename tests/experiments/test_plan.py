"""Points and cells: what is played where, and what a cell's key depends on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from outlay.arms import Gaussian
from outlay.errors import BadFile
from outlay.experiments import load, plan, points_of
from outlay.experiments.play import jobs
from outlay.policies import Fixed, RoundRobin

from .conftest import PLAIN, SWEPT


def keys(write: Callable[[str], Path], text: str) -> list[str]:
    return [cell.key for _, cell in jobs(points_of(load(write(text))))]


def test_a_file_without_a_sweep_is_one_point(write):
    [point] = points_of(load(write(PLAIN)))
    assert (point.title, point.folder, point.values) == ("", "", {})
    assert {label: cell.policy for label, cell in point.cells.items()} == {
        "RoundRobin": RoundRobin(),
        "stubborn": Fixed(1),
    }


def test_several_sweeps_make_a_grid(write):
    text = SWEPT + '[[sweep]]\nover = ["arms.good.cost_sd", "arms.worse.reward_sd"]\nname = "sd"\nvalues = [1, 2, 3]\n'
    points = points_of(load(write(text)))
    assert [tuple(point.values.values()) for point in points] == [(c, s) for c in (-0.5, 0.5) for s in (1, 2, 3)]
    assert points[4].title == "correlation = 0.5, sd = 2"
    assert points[4].folder == "correlation=0.5,sd=2"
    assert points[4].problem.arms == (Gaussian(1, 1, 2, 0.5, 0.5), Gaussian(1, 0.5, 0.5, 2, 0.5))
    assert points[4].cells["RoundRobin"].problem == points[4].problem


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("two arms", "other words"),
        ('label = "stubborn"', 'label = "mule"'),
        ("seed = 3", "seed = 3\nworkers = 1"),
        ("seed = 3", 'seed = 3\nbackend = "dask"'),
        ("seed = 3", "seed = 3\nmax_pulls = 500"),
        ("budgets = [20, 50]", "budgets = [20.0, 5e1]"),
        ("values = [-0.5, 0.5]", "values = [0.5, -0.5]"),
    ],
)
def test_what_keys_do_not_depend_on(write, old, new):
    assert set(keys(write, SWEPT.replace(old, new))) == set(keys(write, SWEPT))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed = 3", "seed = 4"),
        ("seed = 3", 'seed = 3\nbackend = "cuda"'),
        ("runs = 4", "runs = 5"),
        ("budgets = [20, 50]", "budgets = [20, 51]"),
        ("reward = 0.5", "reward = 0.4"),
    ],
)
def test_what_keys_depend_on(write, old, new):
    assert set(keys(write, SWEPT.replace(old, new))).isdisjoint(keys(write, SWEPT))


def test_the_version_is_in_the_key(write, monkeypatch):
    before = keys(write, SWEPT)
    monkeypatch.setattr(plan, "__version__", "99")
    assert set(keys(write, SWEPT)).isdisjoint(before)


def test_a_policy_s_parameters_are_in_its_key_alone(write):
    changed = keys(write, PLAIN.replace("arm = 1", "arm = 0"))
    before = keys(write, PLAIN)
    assert changed[0] == before[0]
    assert changed[1] != before[1]


def test_points_share_the_cells_that_a_sweep_leaves_alone(write):
    text = PLAIN + '[[sweep]]\nover = "policies.arm"\nvalues = [0, 1]\n'
    assert len(keys(write, text)) == 3
    assert len(set(keys(write, text)) | set(keys(write, PLAIN))) == 3


def test_the_default_plays_every_budget_unless_its_horizon_is_unknown(write):
    head = 'format = 1\n[experiment]\nproblem = "G"\nbudget = 1e4\n'
    told = points_of(load(write(head)))[0].cells["Thrifty"].pulls
    [point] = points_of(load(write(f'{head}[[policies]]\nname = "Thrifty"\nhorizon = "unknown"')))
    assert told / point.cells["Thrifty"].pulls == pytest.approx(3.9953, abs=1e-4)


def test_means_beyond_all_measure_are_refused_before_the_work(write):
    text = SWEPT.replace("arms.correlation", "arms.good.reward").replace("[-0.5, 0.5]", "[1, 1e300]")
    with pytest.raises(
        BadFile, match=r"mean reward of an arm must be within ±1e\+100; got 1e\+300 \(at reward = 1e\+300\)"
    ):
        points_of(load(write(text)))


def test_arms_that_cost_nothing_are_refused_before_the_work(write):
    text = SWEPT.replace("arms.correlation", "arms.worse.cost").replace("[-0.5, 0.5]", "[1, 0]")
    with pytest.raises(
        BadFile,
        match=r"of 'worse' of simulate must be a finite number > 0, unless requests is given; got 0.0 \(at cost = 0\)",
    ):
        points_of(load(write(text)))
