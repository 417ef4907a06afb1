"""Whether code is known to be other code: by its fingerprint, or played."""

from collections.abc import Callable
from typing import Any

import pytest

from outlay.usercode import Reach
from tests.engine.traps.cells import favourite


@pytest.fixture(params=[pytest.param(False, id="fingerprint"), pytest.param(True, id="played", marks=pytest.mark.soak)])
def pulls(request: pytest.FixtureRequest) -> Callable[[Any, int], bool]:
    """Whether a policy pulls this arm most, as far as its fingerprint goes: who shares one shares machine code.

    In `make soak` each is compiled and played, too, which takes seconds.
    """
    arms: dict[str, int] = {}

    def check(policy: Any, arm: int) -> bool:
        digest = Reach(type(policy)).digest
        assert digest == Reach(type(policy)).digest
        return arms.setdefault(digest, arm) == arm and (not request.param or favourite(policy) == arm)

    return check
