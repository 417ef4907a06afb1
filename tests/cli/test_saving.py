"""`outlay compare --save`: the format is that of the file's ending."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from outlay.cli import commands

QUICK = ("compare", "--policy", "RoundRobin", "--budget", "20", "--runs", "2", "--save")


@pytest.mark.interpreted
def test_a_result_is_saved_as_csv(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("outlay.report.page.write_report", lambda result, out: [out / "report.html"])
    done = CliRunner().invoke(commands, [*QUICK, "x.csv"])
    assert done.exit_code == 0, done.output
    first, *rows = Path("x.csv").read_text().splitlines()
    assert first == "policy,run,budget,pulls,cost,reward,regret"
    assert len(rows) == 2 * 25


def test_another_ending_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(commands, [*QUICK, "x.xlsx"])
    sentence = "outlay: --save must be a file that ends in .parquet or .csv; got 'x.xlsx'\n"
    assert (done.exit_code, done.output) == (2, sentence)
    assert list(tmp_path.iterdir()) == []
