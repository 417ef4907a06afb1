"""The command line: what it prints, what it writes, and one line for everything that goes wrong."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.cli.campaign_runs import refused

import outlay
from outlay.arms import catalogue
from outlay.experiments import play as comparison

QUICK = ["--budget", "300", "--runs", "4", "--workers", "1"]


@pytest.fixture
def stand_in(monkeypatch):
    """In place of the simulator and of the report: results of the right shape at once, and a page."""

    def simulate(problem, policies, *, budget, requests, mode, runs, seed, workers):
        assert (requests, mode) == (None, "until_exceeded"), "as nothing else was asked for"
        shape = (len(policies), runs, 2)
        pulls = np.ones((*shape, len(problem)), np.int64)
        ones = np.ones(shape)
        budgets = np.array([budget / 10, budget])
        return outlay.Result(problem, policies, budgets, seed, pulls, ones, ones, ones[0], "0.1.0")

    def write_report(result, folder, title=None):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.html").write_text(repr(result))
        return [folder / "report.html"]

    monkeypatch.setattr(comparison, "simulate", simulate)
    monkeypatch.setattr("outlay.report.page.write_report", write_report)


def test_compare_prints_and_writes(ask, tmp_path, stand_in):
    result = ask("compare", "G", *QUICK, "--save", "x.parquet")
    assert result.exit_code == 0, result.output
    assert "Regret at budget 300, 4 runs, seed 0" in result.stdout
    for policy in ("UCBB1", "UCBM1", "Thrifty", "RoundRobin"):
        assert policy in result.stdout
    assert "UCBB2" not in result.stdout
    assert "lower bound as B grows: " in result.stdout
    assert "wrote outlay-report/report.html" in result.stdout.replace(os.sep, "/")
    saved = outlay.load("x.parquet")
    assert (tmp_path / "outlay-report" / "report.html").read_text() == repr(saved)
    assert saved.runs == 4
    assert saved.labels == ["UCBB1", "UCBM1", "Thrifty", "RoundRobin"]
    assert saved.problem == catalogue.load("G")
    assert all("\x1b" not in line for line in result.stdout.splitlines())


def test_list(ask, tmp_path):
    result = ask("compare", "--list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(catalogue.names())
    assert catalogue.describe("G") in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_library_errors_are_one_line(ask):
    assert "PROBLEM must be a TOML file or a name from the catalogue (G, " in refused(ask("compare", "nosuch"), 2)
    assert "(did you mean Frugal?); got 'Frugle'" in refused(ask("compare", "--policy", "Frugle"), 2)
    assert "(did you mean heavy-tails?); got 'heavytail'" in refused(ask("compare", "heavytail"), 2)
    assert "outlay: --save must be" in refused(ask("compare", *QUICK, "--save", "x.xlsx"), 2)
    assert "outlay: --runs must be" in refused(ask("compare", "--runs", "0"), 2)
    assert "budget" in refused(ask("compare", "--budget", "nan"), 2)
    assert "UCBB2 needs bounded costs and rewards, and those of arm 'arm 0' are not" in refused(
        ask("compare", "G", "--policy", "UCBB2"), 1
    )
    Path("broken.toml").write_text("== not TOML ==")
    assert "broken.toml" in refused(ask("compare", "broken.toml"), 1)
    assert "cannot read ." in refused(ask("compare", "."), 1)


def test_a_place_that_cannot_be_written(ask, monkeypatch):
    """Found before the work begins: the simulator is out of reach."""
    monkeypatch.setattr(comparison, "simulate", None)
    Path("file").write_text("in the way")
    Path("out/regret.svg").mkdir(parents=True)
    assert "cannot write out/regret.svg: it is a folder" in refused(ask("compare", "--out", "out"), 1)
    assert "cannot write no/x.parquet: there is no folder no" in refused(ask("compare", "--save", "no/x.parquet"), 1)
    Path("x.csv").mkdir()
    assert "cannot write x.csv: it is a folder" in refused(ask("compare", "--save", "x.csv"), 1)
    with monkeypatch.context() as patch:
        patch.setattr("os.access", lambda *_: False)
        assert "cannot write made/report.html: permission denied" in refused(ask("compare", "--out", "made"), 1)
    assert "file" in refused(ask("compare", *QUICK, "--out", "file"), 1)
    assert "Not a directory" in refused(ask("compare", *QUICK, "--out", "file/deeper"), 1)


def test_an_ask_loads_nothing_heavy(fresh_python, tmp_path):
    outlay.Campaign(["a"], 1, store=f"sqlite:///{tmp_path}/outlay.db").disconnect()
    script = """
import json, sys
sys.argv = ["outlay", "campaign", "ask"]
from outlay.cli import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""
    loaded = set(json.loads(fresh_python(script, OUTLAY_STORE="sqlite:///outlay.db").stderr.splitlines()[-1]))
    assert {"click", "sqlalchemy", "numpy"} <= loaded
    assert not loaded & {"numba", "matplotlib", "pandas", "scipy", "pyarrow", "rich", "jinja2", "alembic", "psycopg"}


def test_report(ask, stand_in):
    ask("compare", *QUICK, "--policy", "RoundRobin", "--save", "x.parquet")
    result = ask("report", "x.parquet", "--out", "there/deep", "--title", "Mine")
    assert result.exit_code == 0, result.output
    assert "Mine: regret at budget 300, 4 runs, seed 0" in result.stdout
    assert "wrote there/deep/report.html" in result.stdout
    assert Path("there/deep/report.html").read_text() == repr(outlay.load("x.parquet"))
    assert "there is no file none.parquet" in refused(ask("report", "none.parquet"), 1)
    Path("bad.parquet").write_text("no")
    assert "not a readable Parquet" in refused(ask("report", "bad.parquet"), 1)


COMMAND = [sys.executable, "-W", "error", "-c", "from outlay.cli import main; main()"]


SLOW = """
from typing import NamedTuple

class Slow(NamedTuple):
    width: float = 1.0

    def score(self, belief, log_n):
        try:
            return belief.mean_reward
        except ValueError:
            return 0.0
"""


def test_a_warning_is_one_line_without_our_source(tmp_path):
    (tmp_path / "slowly.py").write_text(SLOW)
    drawn = "from outlay.report import page; page.write_report = lambda _, folder, **__: [folder]"  # the next draws
    command = [sys.executable, "-c", f"{drawn}; {COMMAND[-1]}", "compare", "G", *QUICK, "--policy", "slowly.py:Slow"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=_ascii())
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"outlay: Slow cannot be compiled and runs interpreted.* line \d+\)\n", done.stderr)


def test_as_a_process(tmp_path):
    command = [*COMMAND, "compare", "G", *QUICK, "--policy", "RoundRobin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, env=_ascii())
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "RoundRobin" in done.stdout
    assert (tmp_path / "outlay-report" / "regret.png").read_bytes().startswith(b"\x89PNG")


def test_a_reader_that_leaves_early(tmp_path):
    with subprocess.Popen(
        [*COMMAND, "compare", "--list"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(60) == 1
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_ctrl_c_in_a_process(tmp_path):
    # Warnings are off: Ctrl-C in the middle of an import leaves a file of Python's own unclosed, and it says so.
    command = [sys.executable, "-W", "ignore", *COMMAND[3:]]
    command += ["compare", "G", "--policy", "RoundRobin", "--budget", "1e9", "--runs", "2", "--out", "made"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "made").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip() == "outlay: interrupted"


def _ascii() -> dict[str, str]:
    """A terminal that knows no Unicode."""
    return {**os.environ, "PYTHONIOENCODING": "ascii"}
