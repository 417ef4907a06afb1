"""What docs/errata.py computes is what docs/errata.md says."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.soak
def test_every_number_of_the_script_is_on_the_page():
    page = " ".join((DOCS / "errata.md").read_text(encoding="utf-8").split())
    numbers = list(runpy.run_path(str(DOCS / "errata.py"))["numbers"]())
    assert len(numbers) > 20
    for number, meaning in numbers:
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\.?\d)", page), f"{meaning}: {number}"
