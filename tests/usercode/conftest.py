"""Files of a test run code: what they leave behind is taken away again."""

import sys
from collections.abc import Iterator

import pytest

from outlay import usercode


@pytest.fixture(autouse=True)
def untouched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the files of a test leave behind is taken away: modules, places to look in, files that were run."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(usercode, "_loaded", {})
    yield
    for name in set(sys.modules) - before:
        if name.startswith("outlay_"):  # as the files of these tests are called; what they import for good stays
            del sys.modules[name]
