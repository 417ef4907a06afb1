"""The ways in which compiled code can be stale or wrong, each tried.

Numba tells NamedTuples apart by name, freezes what a method reads, and keeps machine code on disk. Each test here
is one way in which that could run code other than what the user wrote.
"""

import gc
import importlib
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core import event
from numpy.typing import NDArray

import outlay
from outlay import arms, policies
from outlay.engine import batch
from outlay.engine.compiler import dispatch
from outlay.engine.compiler.fingerprint import Reach
from outlay.errors import InterpretedWarning

SOAK = "OUTLAY_SOAK" in os.environ
PROBLEM = outlay.Problem([arms.Constant(1.0, 1.0), arms.Constant(1.0, 2.0), arms.Constant(1.0, 3.0)])


def favourite(policy: Any, problem: outlay.Problem = PROBLEM) -> int:
    """The arm that a policy pulls most."""
    result = outlay.simulate(problem, policy, budgets=[50.0], runs=1, workers=1)
    return int(result.pulls[0, 0, 0].argmax())


@pytest.fixture
def pulls() -> Callable[[Any, int], bool]:
    """Whether a policy pulls this arm most, as far as its fingerprint goes: who shares one shares machine code.

    With OUTLAY_SOAK=1 each is compiled and played, which takes seconds.
    """
    arms: dict[str, int] = {}

    def check(policy: Any, arm: int) -> bool:
        digest = Reach(type(policy)).digest
        assert digest == Reach(type(policy)).digest
        return arms.setdefault(digest, arm) == arm and (not SOAK or favourite(policy) == arm)

    return check


class Compilations(event.Listener):  # type: ignore[misc]
    """Counts what numba compiles (not what it finds on disk)."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, event: Any) -> None:
        self.count += 1

    def on_end(self, event: Any) -> None:
        pass


def define(space: dict[str, Any], source: str) -> None:
    """Run a notebook cell: in one namespace, module `__main__`."""
    space.setdefault("__name__", "__main__")
    exec(textwrap.dedent(source), space)


CELL = """
from typing import NamedTuple
class Pick(NamedTuple):
    weight: float = 1.0
    def score(self, belief, log_n):
        return self.weight if belief.arm == {arm} else 0.0
"""


def test_redefining_a_policy_in_a_notebook_runs_the_new_code() -> None:
    space: dict[str, Any] = {}
    for arm in (0, 2):
        define(space, CELL.format(arm=arm))
        assert favourite(space["Pick"]()) == arm


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


def test_a_class_made_inside_a_method_is_followed() -> None:
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
    problem = outlay.Problem([space["Outer"](1.0)])
    assert outlay.simulate(problem, policies.Fixed(0), budgets=[10.5], runs=1).pulls.sum() == 11
    define(space, "PRICE = 3.0")
    assert outlay.simulate(problem, policies.Fixed(0), budgets=[10.5], runs=1).pulls.sum() == 4


def test_two_laws_of_one_name_keep_their_own_code() -> None:
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
    a, b = one["Mine"](1.0), two["Mine"](1.0)
    for last, price in ((a, 1.0), (b, 2.0)):
        problem = outlay.Problem([a, b, arms.Linear(last, 1.0)])
        result = outlay.simulate(problem, policies.Fixed(2), budgets=[20.5], runs=1)
        assert result.cost[0, 0, 0] / result.pulls[0, 0, 0, 2] == price


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


def test_a_patched_constant_of_outlay_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = arms.catalogue.load("G")
    policy = policies.UCBB1(**problem.second_moments())
    before = outlay.simulate(problem, policy, budgets=[300.0], runs=1).pulls
    monkeypatch.setattr("outlay.formulas.upper_rate.STABLE", 1e-9)
    assert (outlay.simulate(problem, policy, budgets=[300.0], runs=1).pulls != before).any()
    monkeypatch.undo()
    assert (outlay.simulate(problem, policy, budgets=[300.0], runs=1).pulls == before).all()


MODULE = """
import math
from typing import NamedTuple

BONUS = {bonus}

def helper(arm):
    return BONUS if arm == {arm} else 0.0

class Parent(NamedTuple):
    weight: float = 1.0

class Imported(Parent):
    __slots__ = ()
    def score(self, belief, log_n):
        return self.weight * helper(belief.arm)
"""
DRIVER = """
import sys
sys.path.insert(0, {path!r})
import mine, outlay
from outlay import arms
from numba.core import event
from numpy.typing import NDArray
compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event): pass
problem = outlay.Problem([arms.Constant(1.0, 1.0), arms.Constant(1.0, 2.0), arms.Constant(1.0, 3.0)])
with event.install_listener("numba:compile", Listener()):
    result = outlay.simulate(problem, mine.Imported(), budgets=[50.0], runs=1)
print(result.pulls[0, 0, 0].argmax(), "play" in compiled)
"""


def test_an_edited_module_is_compiled_anew_and_an_unedited_one_starts_warm(tmp_path: Path, fresh_python: Any) -> None:
    cache = str(tmp_path / "cache")

    def run(arm: int, bonus: float) -> str:
        (tmp_path / "mine.py").write_text(MODULE.format(arm=arm, bonus=bonus))
        output: str = fresh_python(DRIVER.format(path=str(tmp_path)), OUTLAY_CACHE_DIR=cache).stdout
        return output.strip()

    assert run(0, 1.0) == "0 True"
    assert run(0, 1.0) == "0 False"  # a second process starts warm
    assert run(2, 1.0) == "2 True"  # an edited helper
    if SOAK:
        assert run(2, -1.0) == "0 True"  # an edited constant


def test_a_vanished_module_does_not_trouble_built_in_policies(tmp_path: Path, fresh_python: Any) -> None:
    cache = str(tmp_path / "cache")
    (tmp_path / "mine.py").write_text(MODULE.format(arm=1, bonus=1.0))
    assert fresh_python(DRIVER.format(path=str(tmp_path)), OUTLAY_CACHE_DIR=cache).stdout.split()[0] == "1"
    (tmp_path / "mine.py").unlink()
    script = (
        DRIVER.format(path="")
        .replace("import mine, outlay", "import outlay")
        .replace("mine.Imported()", "outlay.policies.Fixed(2)")
    )
    assert fresh_python(script, OUTLAY_CACHE_DIR=cache).stdout.split()[0] == "2"


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


SMALL = """
import outlay
from outlay import policies
problem = outlay.arms.catalogue.load("G")
result = outlay.simulate(problem, policies.Fixed(1), budgets=[300.0], runs=3)  # the oracle's class: compiled once
print(result.pulls.tolist(), result.reward.tolist())
"""


def test_parallel_first_runs_agree(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SMALL)
    env = {**os.environ, "OUTLAY_CACHE_DIR": str(tmp_path / "cache")}
    runs = [
        subprocess.Popen([sys.executable, "script.py"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = {run.communicate(timeout=300)[0] for run in runs}
    assert [run.returncode for run in runs] == [0, 0]
    assert len(outputs) == 1
    assert next(iter(outputs))


def test_without_a_writable_place_it_compiles_for_itself_and_writes_nothing(fresh_python: Any) -> None:
    package = Path(outlay.__file__).parent

    def listing() -> set[Path]:
        return {path for path in package.rglob("*") if path.suffix != ".pyc" and path.name != "__pycache__"}

    before = listing()
    warm = fresh_python(SMALL).stdout
    assert fresh_python(SMALL, OUTLAY_CACHE_DIR="/dev/null/nowhere", HOME="/dev/null").stdout == warm
    assert listing() == before


def test_a_damaged_cache_is_replaced(tmp_path: Path, fresh_python: Any) -> None:
    cache = tmp_path / "cache"
    good = fresh_python(SMALL, OUTLAY_CACHE_DIR=str(cache)).stdout
    for path in cache.rglob("*.nb?"):
        path.write_bytes(path.read_bytes()[:20])
    assert fresh_python(SMALL, OUTLAY_CACHE_DIR=str(cache)).stdout == good


def test_compilation_depends_on_types_only() -> None:
    def run(k: int, alpha: float, as_ints: bool) -> None:
        values = [1 if as_ints else 1.5] * k
        problem = outlay.Problem([arms.Gaussian(1, 1 + i / k, 0.25, 0.5, 0.1) for i in range(k)])
        policy = policies.UCBB1(values, values, [0] * k, alpha=alpha)
        outlay.simulate(problem, policy, budgets=[30, 40 + k], runs=3)

    run(3, 2.1, False)
    listener = Compilations()
    with event.install_listener("numba:compile", listener):
        run(50, 3, True)
        run(7, 2.5, False)
        outlay.simulate(arms.catalogue.load("G"), policies.UCBB1(0.25, 0.25, 0.0), budgets=[10], runs=40, workers=1)
    assert listener.count == 0


class Tiny(NamedTuple):
    def score(self, belief: Any, log_n: float) -> float:
        return float(belief.arm)


class Allocating(NamedTuple):
    weight: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        return self.weight * float(np.array([0.0, 2.0, 1.0])[belief.arm])


class OnlyPython(NamedTuple):
    weight: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        return self.weight * float(belief._asdict()["arm"])


class Wrong(NamedTuple):
    weight: float = 1.0

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return 3


def test_a_policy_without_fields_works() -> None:
    assert favourite(Tiny()) == 2


def resident_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)


def test_a_policy_that_allocates_works_and_leaks_nothing() -> None:
    assert favourite(Allocating()) == 1
    before = resident_kilobytes()
    outlay.simulate(PROBLEM, Allocating(), budgets=[200_000.0], runs=4)  # 2.4 million arrays of 24 bytes and a header
    assert resident_kilobytes() - before < 40_000


def test_references_are_not_leaked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the generators, which compiled code gets once a slice."""
    seen: list[Any] = []
    start = batch._Running.start

    def watched(which: Any) -> Any:
        state = start(which)
        seen.extend(state.rngs[:2])
        return state

    monkeypatch.setattr(batch._Running, "start", watched)
    outlay.simulate(PROBLEM, policies.UCBB1([0.25] * 3, [0.25] * 3, [0.1] * 3), budgets=[5000.0], runs=20)
    gc.collect()
    assert len(seen) >= 4
    assert {sys.getrefcount(rng) for rng in seen} == {sys.getrefcount(object()) + 2}  # by `seen` and by `rng`


class Uneven(NamedTuple):
    table: Any

    def observe(self, arm: int, cost: float, reward: float) -> None:
        self.table[arm, 0] += 1.0

    def belief(self, arm: int) -> float:
        return float(self.table[arm, 0])

    def full(self) -> bool:
        return False


class Careless(NamedTuple):
    """Its memory is laid out differently each time."""

    count: Any

    def memory(self, arms: int) -> Uneven:
        self.count[0] += 1
        return Uneven(np.zeros((arms, 8), order="F") if self.count[0] % 2 else np.zeros((arms, 16))[:, ::2])

    def score(self, belief: float, log_n: float) -> float:
        return -belief


def test_a_memory_of_another_layout_never_reaches_compiled_code() -> None:
    with pytest.raises(outlay.OutlayError, match="a Uneven must have the same types of fields every time it is made"):
        favourite(Careless(np.zeros(1)))


class Whole(NamedTuple):
    weights: NDArray[np.int64]

    def score(self, belief: Any, log_n: float) -> float:
        return float(self.weights[belief.arm])


def test_an_annotation_does_not_change_a_value() -> None:
    assert favourite(Whole(np.array([0.1, 0.9, 0.4]))) == 1


class Mistaken(NamedTuple):
    kind: str = "none"

    def score(self, belief: Any, log_n: float) -> Any:
        return None if self.kind == "none" else belief.no_such_thing


@pytest.mark.parametrize("kind", ["none", "attribute"])
def test_a_mistake_in_a_policy_is_one_sentence(kind: str) -> None:
    with (
        pytest.warns(InterpretedWarning, match="Mistaken cannot be compiled"),
        pytest.raises(outlay.OutlayError, match=r"a run of Mistaken failed with (Type|Attribute)Error: .*, line \d+\)"),
    ):
        favourite(Mistaken(kind))


class NoMemory(NamedTuple):
    memory_size: float = 1.0

    def memory(self, arms: int) -> list[float]:
        return [0.0] * arms

    def score(self, belief: Any, log_n: float) -> float:
        return 0.0


def test_a_memory_that_is_none_is_refused() -> None:
    with pytest.raises(outlay.OutlayError, match="memory of NoMemory must be a NamedTuple with methods"):
        favourite(NoMemory())


def test_what_numba_refuses_runs_interpreted_with_a_warning() -> None:
    with pytest.warns(
        InterpretedWarning, match=r"OnlyPython cannot .* interpreted.*_asdict.* in test_traps.py, line \d+"
    ) as warned:
        assert favourite(OnlyPython()) == 2
    assert [warning.filename for warning in warned] == [__file__]  # the line that called simulate


def test_an_arm_that_does_not_exist_is_refused() -> None:
    with pytest.raises(outlay.OutlayError, match=r"the arm that choose returns of Wrong must be 0 to 2; got 3"):
        favourite(Wrong())


def test_ctrl_c_returns_at_once_and_leaves_no_thread() -> None:
    problem = arms.catalogue.load("thousand-arms")
    policy = policies.UCBB1(**problem.second_moments())
    outlay.simulate(problem, policy, budgets=[10.0], runs=1)  # compiled before the clock starts
    moments: list[float] = []

    def interrupt() -> None:
        time.sleep(0.5)
        moments.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        outlay.simulate(problem, policy, budgets=[1e9], runs=8, max_pulls=10**9)
    assert time.perf_counter() - moments[0] < 5.0  # a hang, not a stopwatch; benchmarks/ has the milliseconds
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("outlay")]


def test_entries_are_reused_for_equal_code() -> None:
    favourite(policies.Fixed(1))
    before = len(dispatch._entries)
    favourite(policies.Fixed(2))
    assert len(dispatch._entries) == before
