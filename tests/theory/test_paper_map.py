"""docs/paper-map.md names only what exists, and the docstring of outlay.theory all that it exports."""

import importlib
import inspect
import re
from functools import reduce
from pathlib import Path

import pytest

from outlay import report, theory

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([^`]+)`", PAGE)))
PLACES = [name for name in NAMED if "/" in name and name != "src/outlay"]
NAMES = [name for name in NAMED if re.fullmatch(r"(outlay|theory|policies|report)\.\w+", name)]


@pytest.mark.parametrize("place", PLACES)
def test_files_and_tests_exist(place):
    path, _, test = place.partition("::")
    file = ROOT / path if path.startswith("tests/") else ROOT / "src" / "outlay" / path
    assert file.is_file()
    assert not test or f"def {test}(" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_names_can_be_imported(name):
    assert reduce(getattr, name.removeprefix("outlay.").split("."), importlib.import_module("outlay")) is not None


def test_every_result_of_the_paper_has_its_line():
    """Numbered as in the paper: what each counter reaches."""
    last = {"Definition": 1, "Assumption": 1, "Proposition": 6, "Lemma": 6, "Claim": 1, "Theorem": 5, "Corollary": 1}
    lines = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    for kind, count in {**last, "Remark": 4}.items():
        for number in range(1, count + 1):
            assert any(re.search(rf"{kind} {number}\b", line) for line in lines), f"{kind} {number}"
    for algorithm in ("B1", "M1", "B2", "B2C"):
        assert any(f"Algorithm UCB-{algorithm}" in line for line in lines)


def test_the_docstring_is_the_table_of_contents():
    words = set((theory.__doc__ or "").replace(",", " ").replace("`", " ").split())
    assert set(theory.__all__) <= words


def test_no_name_is_hidden_by_a_file():
    """A function called like the file it is in would stand in for the file, or the file for it."""
    for package in (theory, report):
        for name in package.__all__:
            getattr(package, name)
        assert not any(inspect.ismodule(getattr(package, name)) for name in package.__all__)
