"""Policies and laws of the user's in experiment files and in `outlay compare`."""

from pathlib import Path

import pytest

import outlay
from outlay import experiments
from outlay.errors import BadFile

MINE = """
import math
from typing import NamedTuple


class Eager(NamedTuple):
    width: float
    cost_bound: float

    def score(self, belief, log_n):
        return math.inf if belief.pulls == 0 else self.width + belief.mean_reward / self.cost_bound


class Coin(NamedTuple):
    chance: float
    reward: float = 1.0

    def draw(self, rng):
        return 1.0, self.reward if rng.random() < self.chance else 0.0

    def moments(self):
        p, r = self.chance, self.reward
        return 1.0, p * r, 0.0, r * r * p * (1.0 - p), 0.0

    def support(self):
        return 1.0, 1.0, 0.0, self.reward
"""
FILE = """
format = 1

[experiment]
budgets = [5, 20]
runs = 2

[[arms]]
name = "coin"
law = "outlay_laws.py:Coin"
chance = 0.5

[[arms]]
name = "plain"
law = "Constant"
cost = 1.0
reward = 0.4

[[policies]]
name = "outlay_laws.py:Eager"
width = 0.5

[[policies]]
name = "RoundRobin"

[[sweep]]
over = "arms.coin.chance"
values = [0.3, 0.5]
"""
pytestmark = pytest.mark.interpreted


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "outlay_laws.py").write_text(MINE)
    (tmp_path / "there" / "own.toml").write_text(FILE)
    return tmp_path / "there"


def played(folder: Path) -> int:
    experiment = experiments.load(folder / "own.toml")
    before = len(list(folder.glob("out/cells/*")))
    for _point, _result in experiments.results(experiment, folder / "out"):
        pass
    return len(list(folder.glob("out/cells/*"))) - before


def test_an_experiment_names_the_users_policy_and_law_and_sweeps_over_its_parameter(folder):
    points = list(experiments.results(experiments.load(folder / "own.toml"), folder / "out"))
    coins = [repr(point.problem["coin"]) for point, _ in points]
    assert coins == [f"Coin(chance={chance}, reward=1.0)" for chance in (0.3, 0.5)]
    assert [repr(result.policies["Eager"]) for _, result in points] == ["Eager(width=0.5, cost_bound=1.0)"] * 2
    again = outlay.simulate(points[1][0].problem, points[1][1].policies, [5, 20], runs=2)
    assert points[1][1] == again


def test_only_what_the_code_changes_is_played_again(folder):
    assert (played(folder), played(folder)) == (4, 0)
    code = folder / "outlay_laws.py"
    code.write_text(MINE.replace("self.width + ", "self.width - "))
    assert played(folder) == 2  # Eager, on both problems
    code.write_text(code.read_text().replace("import math", "import math  # nothing else"))
    assert played(folder) == 0
    code.write_text(code.read_text().replace("rng.random() <", "rng.random() <="))
    assert played(folder) == 4  # both policies: the law draws otherwise


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("Eager", "Eagr", r"name of policy 1 must be a class of outlay_laws.py, which has Eager, Coin \(did you mean"),
        ("width = 0.5", "", "width of Eager must be given, or have a default; got None"),
        ("width = 0.5", "breadth = 1", "a key of policy 'Eager', Eager, must be one of name, label, width, cost_bound"),
        ("py:Coin", "py:Eager", r"arm 0 \('coin'\): Eager has no argument chance; it has width, cost_bound"),
        ('Eager"\nwidth', 'Coin"\nchance', "policies of simulate must be a NamedTuple with exactly one of the methods"),
    ],
)
def test_a_mistake_is_answered_in_one_sentence(folder, old, new, sentence):
    (folder / "own.toml").write_text(FILE.replace(old, new))
    with pytest.raises(BadFile, match=sentence):
        experiments.points_of(experiments.load(folder / "own.toml"))
