"""Code that is written anew: the new code runs."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outlay
from outlay import arms, policies
from outlay.usercode import Reach
from tests.engine.traps.cells import PROBLEM, define, favourite
from tests.engine.traps.test_cache import MODULE

CELL = """
from typing import NamedTuple
class Pick(NamedTuple):
    weight: float = 1.0
    def score(self, belief, log_n):
        return self.weight if belief.arm == {arm} else 0.0
"""


def test_redefining_a_policy_in_a_notebook_runs_the_new_code(pulls: Callable[[Any, int], bool]) -> None:
    space: dict[str, Any] = {}
    for arm in (0, 2):
        define(space, CELL.format(arm=arm))
        assert pulls(space["Pick"](), arm)


def test_two_policies_of_one_name_keep_their_own_code() -> None:
    one: dict[str, Any] = {}
    other: dict[str, Any] = {}
    define(one, CELL.format(arm=0))
    define(other, CELL.format(arm=2))
    result = outlay.simulate(PROBLEM, {"one": one["Pick"](), "other": other["Pick"]()}, budgets=[50.0], runs=1)
    assert result.pulls[:, 0, 0].argmax(axis=1).tolist() == [0, 2]


HELPER = """
def chosen(arm):
    return step(arm)
"""
STEP = """
def step(arm):
    return 1.0 if arm == {arm} else 0.0
"""
USER = """
from typing import NamedTuple
class ByHelper(NamedTuple):
    weight: float = 1.0
    def score(self, belief, log_n):
        return self.weight * chosen(belief.arm)
"""


@pytest.mark.soak  # it compiles twice
def test_redefining_only_a_helper_of_a_helper_runs_the_new_code() -> None:
    space: dict[str, Any] = {}
    define(space, STEP.format(arm=0))
    define(space, HELPER)
    define(space, USER)
    assert favourite(space["ByHelper"]()) == 0
    define(space, STEP.format(arm=2))
    assert favourite(space["ByHelper"]()) == 2


def test_a_changed_constant_is_seen(pulls: Callable[[Any, int], bool]) -> None:
    space: dict[str, Any] = {}
    define(space, "WANTED = 0")
    define(space, USER.replace("chosen(belief.arm)", "(1.0 if belief.arm == WANTED else 0.0)"))
    assert pulls(space["ByHelper"](), 0)
    define(space, "WANTED = 1")
    assert pulls(space["ByHelper"](), 1)


def test_a_changed_parent_is_seen(pulls: Callable[[Any, int], bool]) -> None:
    child = "class Child(ByHelper):\n    __slots__ = ()\n"
    space: dict[str, Any] = {}
    for arm in (0, 2):
        define(space, STEP.format(arm=arm) + HELPER + USER + child)
        assert pulls(space["Child"](), arm)


def test_a_name_bound_to_another_known_helper_is_seen(pulls: Callable[[Any, int], bool]) -> None:
    space: dict[str, Any] = {}
    define(
        space,
        """
        from typing import NamedTuple
        def up(x): return x
        def down(x): return -x
        def both(x): return up(x) + down(x)
        chosen = up
        class Either(NamedTuple):
            weight: float = 1.0
            def score(self, belief, log_n):
                return both(0.0) + self.weight * chosen(float(belief.arm))
        """,
    )
    assert pulls(space["Either"](), 2)
    define(space, "chosen = down")
    assert pulls(space["Either"](), 0)


def test_closures_are_told_apart_by_how_their_values_are_grouped(pulls: Callable[[Any, int], bool]) -> None:
    space: dict[str, Any] = {}
    define(
        space,
        """
        from typing import NamedTuple
        def make(left, right):
            def inner(arm):
                return float(len(left)) if arm == 0 else float(len(right))
            return inner
        inner = make((1.0, 2.0, 3.0), (1.5,))
        class ByClosure(NamedTuple):
            weight: float = 1.0
            def score(self, belief, log_n):
                return self.weight * inner(belief.arm) if belief.arm < 2 else -1.0
        """,
    )
    assert pulls(space["ByClosure"](), 0)
    define(space, "inner = make((1.0,), (2.0, 3.0, 1.5))")
    assert pulls(space["ByClosure"](), 1)


def test_a_constant_of_a_submodule_and_a_record_changed_in_place_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pulls: Callable[[Any, int], bool]
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "__init__.py").write_text("from . import inside")
    (tmp_path / "outside" / "inside.py").write_text("WANTED = 0\ndef bonus(arm): return 1.0 if arm == WANTED else 0.0")
    space: dict[str, Any] = {"np": np}
    define(
        space,
        """
        from typing import NamedTuple
        import outside
        class Settings(NamedTuple):
            weights: np.ndarray
        SETTINGS = Settings(np.array([1.0, 1.0, 1.0]))
        class Nested(NamedTuple):
            weight: float = 1.0
            def score(self, belief, log_n):
                return SETTINGS.weights[belief.arm] * outside.inside.bonus(belief.arm)
        """,
    )
    assert pulls(space["Nested"](), 0)
    space["outside"].inside.WANTED = 2
    assert pulls(space["Nested"](), 2)
    space["SETTINGS"].weights[2] = -1.0
    assert pulls(space["Nested"](), 0)


@pytest.mark.parametrize("played", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_class_made_inside_a_method_is_followed(played: bool) -> None:
    space: dict[str, Any] = {}
    define(
        space,
        """
        from typing import NamedTuple
        PRICE = 1.0
        def price(): return PRICE
        class Inner(NamedTuple):
            level: float
            def draw(self, rng): return price(), self.level
        class Outer(NamedTuple):
            level: float
            def draw(self, rng): return Inner(self.level).draw(rng)
            def moments(self): return 1.0, self.level, 0.0, 0.0, 0.0
        """,
    )
    before = Reach(space["Outer"]).digest
    if played:
        assert pulls_made(space["Outer"](1.0)) == 11
    define(space, "PRICE = 3.0")
    assert Reach(space["Outer"]).digest != before
    if played:
        assert pulls_made(space["Outer"](1.0)) == 4


def pulls_made(law: Any) -> int:
    result = outlay.simulate(outlay.Problem([law]), policies.Fixed(0), budgets=[10.5], runs=1)
    return int(result.pulls.sum())


@pytest.mark.parametrize("third", [1, pytest.param(0, marks=pytest.mark.soak)])
def test_two_laws_of_one_name_keep_their_own_code(third: int) -> None:
    source = """
    from typing import NamedTuple
    class Mine(NamedTuple):
        level: float
        def draw(self, rng): return {price}, self.level
        def moments(self): return {price}, self.level, 0.0, 0.0, 0.0
    """
    one: dict[str, Any] = {}
    two: dict[str, Any] = {}
    define(one, source.format(price=1.0))
    define(two, source.format(price=2.0))
    laws = one["Mine"](1.0), two["Mine"](1.0)
    problem = outlay.Problem([*laws, arms.Linear(laws[third], 1.0)])
    result = outlay.simulate(problem, policies.Fixed(2), budgets=[20.5], runs=1)
    assert result.cost[0, 0, 0] / result.pulls[0, 0, 0, 2] == (1.0, 2.0)[third]


def test_helpers_given_to_njit_are_followed_and_left_unharmed(pulls: Callable[[Any, int], bool]) -> None:
    space: dict[str, Any] = {"np": np}
    define(
        space,
        """
        from typing import NamedTuple
        from numba import njit
        SIGN = 1.0
        @njit
        def signed(x): return SIGN * np.full(3, x)[0]
        class ByNjit(NamedTuple):
            weight: float = 1.0
            def score(self, belief, log_n): return self.weight * signed(float(belief.arm))
        """,
    )
    assert pulls(space["ByNjit"](), 2)
    assert favourite(space["ByNjit"]()) == 2
    assert space["signed"](2.0) == 2.0
    define(space, "SIGN = -1.0")
    assert pulls(space["ByNjit"](), 0)


@pytest.mark.soak  # it compiles twice
def test_a_patched_constant_of_outlay_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = arms.catalogue.load("G")
    policy = policies.UCBB1(**problem.second_moments())
    before = outlay.simulate(problem, policy, budgets=[300.0], runs=1).pulls
    monkeypatch.setattr("outlay.formulas.confidence.STABLE", 1e-9)
    assert (outlay.simulate(problem, policy, budgets=[300.0], runs=1).pulls != before).any()
    monkeypatch.undo()
    assert (outlay.simulate(problem, policy, budgets=[300.0], runs=1).pulls == before).all()


def test_a_reloaded_module_runs_its_new_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pulls: Callable[[Any, int], bool]
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "reloaded.py").write_text(MODULE.format(arm=0, bonus=1.0))
    module = importlib.import_module("reloaded")
    assert pulls(module.Imported(), 0)
    monkeypatch.setattr(module, "BONUS", -1.0)
    assert pulls(module.Imported(), 1)
    (tmp_path / "reloaded.py").write_text(MODULE.format(arm=2, bonus=10.0))
    importlib.reload(module)
    assert pulls(module.Imported(), 2)
