"""Policies compiled at the same time in several processes: all of them in the end, whatever the others do."""

from collections.abc import Callable
from typing import Any

import pytest

import outlay
from outlay import policies
from outlay.arms import catalogue
from outlay.engine.jit import compile as together
from outlay.engine.jit.compile import Missing, compile_all
from tests.engine.traps.cells import PROBLEM

OBEDIENT = """
import pickle, sys
from pathlib import Path
policy, arms, hard = pickle.load(sys.stdin.buffer)
with Path({log!r}).open("a") as log:
    log.write(f"{{policy!r}}\\n")
"""


def missing(count: int, here: int = 0) -> list[Missing]:
    """Some loops, of which the last few can be compiled here alone."""
    made = [policies.Fixed(i) for i in range(count)]
    return [
        Missing(str(i), policy, tuple(PROBLEM.arms), False, 9 - i, i >= count - here) for i, policy in enumerate(made)
    ]


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was compiled in this process, by label."""
    labels: list[str] = []
    monkeypatch.setattr(Missing, "compile", lambda self: labels.append(self.label))
    return labels


def test_everything_is_compiled_once_here_or_elsewhere(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    log, told = tmp_path / "log", list[float]()
    monkeypatch.setattr(together, "_CHILD", OBEDIENT.format(log=str(log)))
    compile_all(missing(9, here=2), 3, told.append)
    elsewhere = log.read_text().splitlines() if log.exists() else []
    there = [line[line.index("=") + 1 : -1] for line in elsewhere]
    assert sorted(compiled + there) == [str(i) for i in range(9)]
    assert {"7", "8"} <= set(compiled)
    assert told == [float(n + 1) for n in range(9)]


@pytest.mark.parametrize("child", ["import sys; sys.exit(1)", "raise ValueError", "syntax error("])
def test_what_fails_elsewhere_is_done_here(compiled: list[str], monkeypatch: pytest.MonkeyPatch, child: str) -> None:
    monkeypatch.setattr(together, "_CHILD", child)
    compile_all(missing(5), 2, lambda _: None)
    assert sorted(compiled) == [str(i) for i in range(5)]


def test_nobody_goes_on_after_ctrl_c(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Missing) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Missing, "compile", interrupted)
    monkeypatch.setattr(together, "_CHILD", "import time; time.sleep(600)")
    with pytest.raises(KeyboardInterrupt):
        compile_all(missing(5), 3, lambda _: None)


COLD = """
import outlay
from outlay import policies
from outlay.arms import catalogue
from outlay.engine.jit import compile as together
sent = together.Missing.compile_elsewhere
def watched(self, *given):
    well = sent(self, *given)
    print("elsewhere", well)
    return well
together.Missing.compile_elsewhere = watched
result = outlay.simulate(catalogue.load("G"), [policies.RoundRobin(), policies.Fixed(1)], [50.0], runs=3)
print(result.pulls.tolist())
"""


@pytest.mark.soak  # it compiles in processes of its own
def test_a_first_run(fresh_python: Callable[..., Any], tmp_path: Any) -> None:
    """From an empty cache: one of two policies is compiled by another process, and both play as ever."""
    cold = fresh_python(COLD, OUTLAY_COMPILE_CORES="2", OUTLAY_CACHE_DIR=str(tmp_path / "empty")).stdout.splitlines()
    players: list[Any] = [policies.RoundRobin(), policies.Fixed(1)]
    here = outlay.simulate(catalogue.load("G"), players, [50.0], runs=3)
    assert cold == ["elsewhere True", str(here.pulls.tolist())]
