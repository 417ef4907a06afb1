"""The programs in examples/ run as they are, on small budgets, and spend what they were given."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "examples"


def printed(program: str, *budget: str) -> str:
    command = [sys.executable, "-W", "error", str(FOLDER / program), *budget]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_answer_questions_keeps_the_cap():
    first, *arms = printed("answer_questions.py", "0.2").splitlines()
    spent = float(re.findall(r"spent \$([\d.]+) of \$0.2", first)[0])
    assert 0.2 - 0.002 * 2 <= spent <= 0.2  # no call of the cheapest model fits into what is left
    assert [line.split()[0] for line in arms] == ["small", "medium", "large"]


def test_calls_that_fail_spends_within_the_cap_and_leaves_nothing_open():
    (line,) = printed("calls_that_fail.py", "0.3").splitlines()
    spent = float(re.findall(r"closed, ([\d.]+) of 0.3 spent", line)[0])  # closed: it has ended, and nothing is open
    assert 0.3 - 0.002 <= spent <= 0.3


def test_solver_portfolio_goes_on_where_it_stopped():
    sessions = re.findall(r"(open|closed), ([\d.]+) of 600 spent in (\d+) pulls", printed("solver_portfolio.py", "600"))
    (before, half, fifty), (after, whole, pulls) = sessions
    assert (before, after, fifty) == ("open", "closed", "50")
    assert float(half) < 600 < float(whole) < 660
    assert int(pulls) > 50


def test_ad_spend_spends_the_budget():
    spent = float(re.findall(r"spent ([\d.]+), sold", printed("ad_spend.py", "200", "20"))[0])
    assert 195 < spent < 220


def test_custom_policy_is_simulated_and_at_work():
    text = printed("custom_policy.py", "300")
    assert re.findall(r"^ *(curious|default) +(30|300)\.0 ", text, re.M) == [
        ("curious", "30"), ("curious", "300"), ("default", "30"), ("default", "300"),
    ]  # fmt: skip
    assert "of 100 spent in" in text
    assert "by Curious" in text


@pytest.mark.parametrize("program", sorted(FOLDER.glob("*.py")), ids=lambda program: program.name)
def test_examples_are_short_and_use_public_names(program: Path):
    text = program.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert set(re.findall(r"^(?:from|import) (outlay[\w.]*)", text, re.M)) <= {"outlay", "outlay.arms", "outlay.errors"}


def outputs(path: Path) -> list[list[dict[str, Any]]]:
    """What each cell of a notebook shows."""
    return [cell["outputs"] for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_shows_what_its_cells_give(tmp_path):
    """Every cell is run, by the runner that filled the notebook; pictures depend on matplotlib and its fonts."""
    copy = tmp_path / "first_look.ipynb"
    copy.write_bytes((FOLDER / "first_look.ipynb").read_bytes())
    printed("notebook.py", str(copy))
    before, after = outputs(FOLDER / "first_look.ipynb"), outputs(copy)
    kinds = [[sorted(output.get("data", ())) for output in cell] for cell in after]
    table, picture = [["text/html", "text/plain"]], [["image/png", "text/plain"]]
    assert kinds == [table, table, picture, table, picture, table]
    for kept, found in zip(before, after, strict=True):
        for one, other in zip(kept, found, strict=True):
            assert (one["data"].get("text/html"), one["metadata"]) == (
                other["data"].get("text/html"),
                other["metadata"],
            )
