"""Experiment files to begin with, and stand-ins: a simulator that is done at once, a report of one line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from outlay import Result, __version__
from outlay.experiments import play
from outlay.experiments import report as outputs
from outlay.report import table

SWEPT = """
format = 1

[experiment]
title = "two arms"
budgets = [20, 50]
runs = 4
seed = 3

[[arms]]
name = "good"
law = "Gaussian"
cost = 1.0
reward = 1.0
cost_sd = 0.5
reward_sd = 0.5

[[arms]]
name = "worse"
law = "Gaussian"
cost = 1.0
reward = 0.5
cost_sd = 0.5
reward_sd = 0.5

[[policies]]
name = "RoundRobin"

[[policies]]
name = "Fixed"
label = "stubborn"
arm = 1

[[sweep]]
over = "arms.correlation"
values = [-0.5, 0.5]
"""
PLAIN = SWEPT[: SWEPT.index("[[sweep]]")]


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Put a text into a file of an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)

    def write(text: str, name: str = "experiment.toml") -> Path:
        path = Path(name)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def reports(monkeypatch):
    """In place of the report: a page with the table's numbers, at once; the folders that got one."""
    folders: list[str] = []

    def report_files(folder: Path) -> list[Path]:
        return [folder / "report.html", folder / "table.md"]

    def write_report(result: Result, folder: Path, title: str | None = None, command: str | None = None) -> list[Path]:
        folders.append(folder.name)
        folder.mkdir(parents=True, exist_ok=True)
        texts = f"<title>{title}</title>\n{result.regret().to_csv()}", table(result, "markdown", title=title)
        for path, text in zip(report_files(folder), texts, strict=True):
            path.write_text(text, encoding="utf-8")
        return report_files(folder)

    monkeypatch.setattr(outputs, "write_report", write_report)
    monkeypatch.setattr(outputs, "report_files", report_files)
    return folders


@pytest.fixture
def undrawn(monkeypatch):
    """In place of a sweep's figure: its numbers as text, where the test is about playing; drawing takes seconds."""
    monkeypatch.setattr(
        "outlay.experiments.report.sweep_figure", lambda chart, width="page", title=True: (chart, width)
    )
    monkeypatch.setattr("outlay.report.page.svg_text", lambda figure: f"<svg {figure[0].title}/>")
    monkeypatch.setattr("outlay.report.style.save_figure", lambda figure, path: path.write_text(repr(figure)))


@pytest.fixture
def simulated(monkeypatch, reports):
    """In place of the simulator: random pulls by the seed and the policy; the labels that were played, in order."""
    labels: list[str] = []

    def simulate(
        problem: Any, policies: dict[str, Any], budgets: Any, *, runs: int, seed: int, progress: Any, **_: Any
    ) -> Result:
        [(label, policy)] = policies.items()
        labels.append(label)
        progress(0.5)
        rng = np.random.default_rng([seed, *type(policy).__name__.encode()])
        shape = (1, runs, len(budgets))
        pulls = rng.integers(1, 50, (*shape, len(problem)))
        cost = pulls.sum(axis=-1).astype(float)
        oracle = np.tile(np.array(budgets, float), (runs, 1))
        return Result(problem, policies, np.array(budgets, float), seed, pulls, cost, cost, oracle, __version__)

    monkeypatch.setattr(play, "simulate", simulate)
    return labels
