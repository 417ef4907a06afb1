"""outlay does what it did when the snapshots were made, to the last bit and word.

Where a change is meant, `python -m tests.golden` writes them anew, and the commit shows what changed.
"""

import json
import platform
import sys

import pytest

from tests.golden.snapshots import DATA, PARTS, SNAPSHOTS, made

APART = ("simulations-0.json", "simulations-1.json", "limits.json", "ledgers.txt")  # in processes of their own


def test_every_snapshot_is_kept() -> None:
    assert sorted(path.name for path in DATA.iterdir()) == sorted(SNAPSHOTS)


here = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="the last bits of log and exp depend on the C library",
)


@here
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.soak if name.startswith("simulations") else ()) for name in APART]
)
def test_nothing_has_changed(name: str) -> None:
    assert made(name) == [kept(name)]


@here
@pytest.mark.parametrize("name", PARTS)
def test_every_policy_plays_some_laws_as_ever(name: str) -> None:
    """On all of them in the soak; every day on one arm of each, and on every fourth law."""
    whole, (part,) = json.loads(kept(f"{name}.json")), made(name)
    found = json.loads(part)
    assert found == {law: {label: whole[law][label] for label in of_law} for law, of_law in found.items()}
    assert found["mixed"] == whole["mixed"]
    assert len(found) == len(whole)


@here
def test_no_document_and_no_report_has_changed() -> None:
    names = [name for name in SNAPSHOTS if name not in APART]
    for name, text in zip(names, made(*names), strict=True):
        assert text == kept(name), name


def kept(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")
