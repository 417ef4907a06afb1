"""`outlay report`: from a saved result to a folder of files."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import outlay
from outlay.arms import catalogue
from outlay.cli import commands
from outlay.policies import RoundRobin


@pytest.fixture
def ask(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def ask(*arguments: str) -> Result:
        return CliRunner().invoke(commands, list(arguments), prog_name="outlay")

    return ask


def test_report_prints_and_writes(ask, monkeypatch):
    given = []

    def write(result, folder, title):
        given.append((result, title))
        return [folder / "report.html"]

    monkeypatch.setattr("outlay.report.page.write_report", write)
    problem, shape = catalogue.load("G"), (1, 3, 2)
    pulls, ones = np.full((*shape, 3), 5, np.int64), np.ones(shape)
    outlay.Result(
        problem, {"RoundRobin": RoundRobin()}, np.array([1.0, 9.0]), 0, pulls, ones, ones, ones[0], "0.1.0"
    ).save("x.parquet")
    result = ask("report", "x.parquet", "--out", "there/deep", "--title", "Mine")
    assert result.exit_code == 0, result.output
    assert "Mine: regret at budget 9, 3 runs, seed 0" in result.stdout
    assert result.stdout.splitlines()[-1] == f"wrote {Path('there/deep/report.html')}"
    assert given == [(outlay.load("x.parquet"), "Mine")]


@pytest.mark.parametrize(
    ("name", "sentence"), [("none.parquet", "there is no file none.parquet"), ("bad.parquet", "not a readable Parquet")]
)
def test_what_cannot_be_read_is_one_line(ask, name, sentence):
    Path("bad.parquet").write_text("no")
    result = ask("report", name)
    assert result.exit_code == 1
    assert result.stdout == ""
    [line] = result.stderr.splitlines()
    assert line.startswith("outlay: ")
    assert sentence in line


def test_help_has_an_example(ask):
    shown = ask("report", "--help").stdout
    assert "outlay report g.parquet --out figures" in shown
    assert "table.txt .md .csv .tex" in shown
