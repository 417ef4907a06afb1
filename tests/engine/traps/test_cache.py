"""Machine code on disk: never stale, never in the way, and found where it should be."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from numba.core import event

import outlay
from outlay import arms, policies
from tests.engine.traps.cells import favourite

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


def copied(source: str, target: str) -> None:
    """Copy a file unless it is gone: another worker of this test session may be writing its own."""
    with suppress(FileNotFoundError):
        shutil.copy(source, target)


def test_an_edited_module_is_compiled_anew_an_unedited_one_starts_warm_and_a_vanished_one_is_not_missed(
    tmp_path: Path, fresh_python: Any, compiled_code_cache: Path
) -> None:
    favourite(policies.Fixed(1))  # so that it is in the cache: built-in policies start warm
    cache = str(shutil.copytree(compiled_code_cache, tmp_path / "cache", copy_function=copied))

    def run(arm: int, bonus: float) -> str:
        (tmp_path / "mine.py").write_text(MODULE.format(arm=arm, bonus=bonus))
        output: str = fresh_python(DRIVER.format(path=str(tmp_path)), OUTLAY_CACHE_DIR=cache).stdout
        return output.strip()

    assert run(0, 1.0) == "0 True"
    assert run(0, 1.0) == "0 False"  # a second process starts warm
    assert run(2, 1.0) == "2 True"  # an edited helper
    (tmp_path / "mine.py").unlink()  # which does not trouble built-in policies
    script = DRIVER.format(path="").replace("import mine, outlay", "import outlay")
    script = script.replace("mine.Imported()", "outlay.policies.Fixed(1)")
    assert fresh_python(script, OUTLAY_CACHE_DIR=cache).stdout.split() == ["1", "False"]


@pytest.mark.soak
def test_an_edited_constant_is_compiled_anew(tmp_path: Path, fresh_python: Any) -> None:
    for bonus, said in ((1.0, "2 True"), (-1.0, "0 True")):
        (tmp_path / "mine.py").write_text(MODULE.format(arm=2, bonus=bonus))
        output = fresh_python(DRIVER.format(path=str(tmp_path)), OUTLAY_CACHE_DIR=str(tmp_path / "cache")).stdout
        assert output.strip() == said


SMALL = """
import outlay
from outlay import policies
problem = outlay.arms.catalogue.load("G")
result = outlay.simulate(problem, policies.Fixed(1), budgets=[300.0], runs=3)
print(result.pulls.tolist(), result.reward.tolist())
"""


class First(NamedTuple):
    """What two processes printed that began at the same time with an empty cache, and that cache."""

    outputs: list[str]
    cache: Path


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> First:
    folder = tmp_path_factory.mktemp("first")
    (folder / "script.py").write_text(SMALL)
    env = {**os.environ, "OUTLAY_CACHE_DIR": str(folder / "cache")}
    runs = [
        subprocess.Popen([sys.executable, "script.py"], cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [run.communicate(timeout=300)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    return First(outputs, folder / "cache")


@pytest.mark.soak  # processes of their own compile
def test_parallel_first_runs_agree(first: First, fresh_python: Any) -> None:
    assert first.outputs[0] == first.outputs[1] != ""
    assert fresh_python(SMALL, OUTLAY_CACHE_DIR=str(first.cache)).stdout == first.outputs[0]  # what they left behind


@pytest.mark.soak  # it compiles once more
def test_without_a_writable_place_it_compiles_for_itself_and_writes_nothing(first: First, fresh_python: Any) -> None:
    package = Path(outlay.__file__).parent

    def listing() -> set[Path]:
        return {path for path in package.rglob("*") if path.suffix != ".pyc" and path.name != "__pycache__"}

    before = listing()
    said = fresh_python(SMALL, OUTLAY_CACHE_DIR="/dev/null/nowhere", HOME="/dev/null").stdout
    assert said == first.outputs[0]
    assert listing() == before


@pytest.mark.soak  # processes of their own compile
def test_a_damaged_cache_is_replaced(tmp_path: Path, first: First, fresh_python: Any) -> None:
    cache = shutil.copytree(first.cache, tmp_path / "cache")
    damaged = list(cache.rglob("*.nb?"))
    assert damaged
    for path in damaged:
        path.write_bytes(path.read_bytes()[:20])
    assert fresh_python(SMALL, OUTLAY_CACHE_DIR=str(cache)).stdout == first.outputs[0]


class Compilations(event.Listener):  # type: ignore[misc]
    """Counts what numba compiles (not what it finds on disk)."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, event: Any) -> None:
        self.count += 1

    def on_end(self, event: Any) -> None:
        pass


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
