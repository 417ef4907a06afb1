"""Watching a run: what a policy may not name. That it is the run of `simulate` is tested with the intervals."""

from typing import Any, NamedTuple

import pytest

from outlay.arms import Constant, Problem
from outlay.engine.oracle import trace
from outlay.errors import BadParameter

PROBLEM = Problem([Constant(1.0, 0.5), Constant(2.0, 0.5)])


class Stray(NamedTuple):
    arm: int

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return self.arm


@pytest.mark.parametrize("arm", [-1, 2])
def test_an_arm_that_does_not_exist_is_refused(arm: int) -> None:
    with pytest.raises(BadParameter, match=rf"^the arm that choose returns of Stray must be 0 to 1; got {arm}$"):
        list(trace(PROBLEM, Stray(arm), budget=5.0))
