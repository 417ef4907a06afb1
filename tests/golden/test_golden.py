"""outlay does what it did when the snapshots were made, to the last bit and word.

Where a change is meant, `python -m tests.golden` writes them anew, and the commit shows what changed.
"""

import platform
import sys

import pytest

from tests.golden.snapshots import DATA, SNAPSHOTS, made


def test_every_snapshot_is_kept() -> None:
    assert sorted(path.name for path in DATA.iterdir()) == sorted(SNAPSHOTS)


@pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="the last bits of log and exp depend on the C library",
)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak if name == "simulations-1.json" else ()) for name in SNAPSHOTS]
)
def test_nothing_has_changed(name: str) -> None:
    assert made(name) == (DATA / name).read_text(encoding="utf-8")
