"""Policies that numba finds odd, refuses, or that are mistaken: each works or is answered in one sentence."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import outlay
from outlay.engine.oracle import trace
from outlay.errors import BadCode, InterpretedWarning
from tests.engine.traps import cells
from tests.engine.traps.cells import favourite


class Tiny(NamedTuple):
    def score(self, belief: Any, log_n: float) -> float:
        return float(belief.arm)


class OnlyPython(NamedTuple):
    weight: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        return self.weight * float(belief._asdict()["arm"])


class Wrong(NamedTuple):
    weight: float = 1.0

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return 3 if now.pulls > 5 else 0


def test_a_policy_without_fields_works() -> None:
    assert favourite(Tiny()) == 2


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
    with pytest.raises(BadCode, match=r"Mistaken\.score \(test_odd_policies\.py, line \d+\) (must return|failed with)"):
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
        InterpretedWarning,
        match=r"OnlyPython cannot .* interpreted.*_asdict.* in OnlyPython\.score \(test_odd_policies.py, line \d+\)",
    ) as warned:
        assert favourite(OnlyPython()) == 2
    assert [warning.filename for warning in warned] == [cells.__file__]  # the line that called simulate


def test_an_arm_that_does_not_exist_is_refused() -> None:
    with pytest.raises(outlay.OutlayError, match=r"the arm that choose returns of Wrong must be 0 to 2; got 3"):
        favourite(Wrong())
    with pytest.raises(outlay.OutlayError, match=r"the arm that choose returns of Wrong must be 0 to 2; got 3"):
        list(trace(cells.PROBLEM, Wrong(), budget=50.0))


class Talking(NamedTuple):
    arm: int = 1

    def score(self, belief: Any, log_n: float) -> float:
        if log_n == 0.0 and belief.pulls == 0:
            print("arm", belief.arm, "costs", belief.mean_cost)
        return 1.0 if belief.arm == self.arm else 0.0


def test_a_policy_may_print(capfd: pytest.CaptureFixture[str]) -> None:
    """Printing takes Python objects, which a function that is linked into the loop has no place of its own for.

    The first line is from the trial.
    """
    assert favourite(Talking()) == 1
    assert capfd.readouterr().out.splitlines()[:4] == [f"arm {arm} costs 0.0" for arm in (0, 0, 1, 2)]
