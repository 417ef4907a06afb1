"""What works without the extras, and the one sentence that everything else says.

A fresh interpreter in which the packages of an extra cannot be imported stands for a machine that does not have them.
"""

import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from outlay.cli import commands
from outlay.errors import EXTRA_OF

FreshPython = Callable[..., "subprocess.CompletedProcess[str]"]
DRAWING = sorted(package for package, extra in EXTRA_OF.items() if extra == "report")
ALL = sorted([*EXTRA_OF, "llvmlite"])

BLOCK = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""

# Each entry, and what it says. The problems are such that the theory needs an integral or a search.
ENTRIES = {
    "outlay.simulate(problem, policies.default(), budget=10)": "simulate needs numba: simulate",
    "outlay.load('result.parquet')": "load needs pyarrow: simulate",
    "result.regret()": "Result.regret needs pandas: simulate",
    "result.frame()": "Result.frame needs pandas: simulate",
    "result.save('result.parquet')": "Result.save needs pyarrow: simulate",
    "arms.Beta(0.5, 0.5, 0.1, 0.1)": "Beta needs scipy: simulate",
    "theory.lower_bound(heavy)": "theory.lower_bound needs scipy: simulate",
    "theory.divergence(heavy.arms[1], 1.0)": "theory.divergence needs scipy: simulate",
    "theory.optimal_policy(coins, 10)": "theory.optimal_policy needs scipy: simulate",
    "theory.optimality(coins, 10)": "theory.optimality needs scipy: simulate",
    "theory.expected_pulls(coins.arms[0], 10)": "theory.expected_pulls needs scipy: simulate",
    "theory.expected_reward(coins.arms[0], 10)": "theory.expected_reward needs scipy: simulate",
    "outlay.advice.advise('log.csv', 10)": "advise needs pyarrow: simulate",
    "outlay.report.regret_figure": "report.regret_figure needs matplotlib: report",
    "outlay.report.write_report(result, 'folder')": "report.write_report needs jinja2: report",
    "outlay.report.write_page": "report.write_page needs jinja2: report",
    "outlay.experiments.run(None, 'folder')": "experiments.run needs matplotlib: report",
}
VERBS = {
    "compare": "matplotlib: report",
    "compare experiment.toml --out folder": "matplotlib: report",
    "report result.parquet": "jinja2: report",
    "advise log.csv --budget 10": "pyarrow: simulate",
    "advise log.csv --budget 10 --out folder": "matplotlib: report",
    "bounds heavy-tails": "scipy: simulate",
    "bounds G --out folder": "matplotlib: report",
    "serve": "uvicorn: serve",
}

SENTENCES = """
import json
import numpy as np
import outlay
from outlay import arms, policies, theory
from outlay.errors import MissingExtra, OutlayError
problem = outlay.Problem([arms.Gaussian(1, 1.5, 0.5, 0.5), arms.Gaussian(1, 1, 0.5, 0.5)])
heavy = outlay.Problem([arms.Pareto(1, 1, 3.5), arms.Pareto(1, 0.5, 3.5)])
coins = outlay.Problem([arms.Discrete([1, 2], [0, 1], [0.5, 0.5]), arms.Discrete([1, 3], [0, 1], [0.5, 0.5])])
shape = (1, 2, 1)
result = outlay.Result(problem, {"a": policies.default()}, np.array([1.0]), 0, np.ones((*shape, 2), np.int64),
                       np.ones(shape), np.ones(shape), np.ones((2, 1)), "0")
said = {}
for entry in ENTRIES:
    try:
        eval(entry)
    except MissingExtra as error:
        assert isinstance(error, OutlayError) and isinstance(error, ImportError)
        said[entry] = str(error)
print(json.dumps(said))
"""

CAMPAIGN = """
import os
import outlay
from outlay import arms, policies, theory
for store in (None, "sqlite:///spend.db"):
    with outlay.Campaign(arms=["small", "large"], budget=5.0, store=store) as campaign:
        while (pull := campaign.ask()) is not None:
            campaign.tell(pull, cost=0.5, reward=0.3)
        assert campaign.status().spent == 5.5
assert outlay.campaign.verify("sqlite:///spend.db").ok
problem = outlay.Problem([arms.Gaussian(1, 1.5, 0.5, 0.5), arms.Gaussian(1, 1, 0.5, 0.5)])
problem.save("problem.toml")
assert outlay.Problem.load("problem.toml") == problem
assert theory.lower_bound(problem) > 0
assert "report" in dir(outlay) and "regret_figure" in dir(outlay.report)
"""

COMMANDS = """
import contextlib, io, json, shlex
from outlay.cli import commands
printed = {}
for line in LINES:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            commands(shlex.split(line), prog_name="outlay")
        except SystemExit as end:
            code = end.code
    printed[line] = [code, out.getvalue(), err.getvalue()]
print(json.dumps(printed))
"""


def without(packages: list[str], script: str) -> str:
    return BLOCK.format(blocked=packages) + script


def sentence(owner_and_package: str) -> str:
    said, extra = owner_and_package.split(": ")
    return f"{said}: pip install 'outlay[{extra}]'"


def run_commands(fresh_python: FreshPython, packages: list[str], *lines: str) -> dict[str, tuple[int, str, str]]:
    found: dict[str, tuple[int, str, str]] = json.loads(
        fresh_python(without(packages, f"LINES = {lines!r}\n{COMMANDS}")).stdout
    )
    return found


@pytest.fixture
def inputs(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("arm,cost,reward\na,1,1\nb,1,0\n")
    (tmp_path / "experiment.toml").write_text(
        'format = 1\n[experiment]\nproblem = "G"\nbudget = 100\nruns = 2\n[[policies]]\nname = "Frugal"\n'
    )


def test_every_entry_says_what_to_install(fresh_python: FreshPython) -> None:
    said = json.loads(fresh_python(without(ALL, f"ENTRIES = {list(ENTRIES)!r}\n{SENTENCES}")).stdout)
    assert said == {entry: sentence(wanted) for entry, wanted in ENTRIES.items()}


def test_campaigns_laws_problem_files_and_light_theory_need_no_extra(fresh_python: FreshPython) -> None:
    fresh_python(without(ALL, CAMPAIGN))


def test_the_command_helps_and_runs_campaigns_without_extras(fresh_python: FreshPython) -> None:
    helps = [f"{verb} --help".strip() for verb in ("", *commands.commands)]
    work = [
        "campaign new --arm a --arm b --budget 5",
        "campaign ask",
        "campaign tell 2 --cost 1 --reward 1",
        "campaign status",
        "compare --list",
        "bounds G",
    ]
    printed = run_commands(fresh_python, ALL, *helps, *work)
    assert {line: (code, err) for line, (code, _, err) in printed.items()} == dict.fromkeys((*helps, *work), (0, ""))


@pytest.mark.usefixtures("inputs")
def test_every_verb_says_what_to_install(fresh_python: FreshPython, tmp_path: Path) -> None:
    printed = run_commands(fresh_python, ALL, *VERBS)
    assert {line: (code, err) for line, (code, _, err) in printed.items()} == {
        line: (1, f"outlay: {sentence(f'this command needs {wanted}')}\n") for line, wanted in VERBS.items()
    }
    assert not (tmp_path / "outlay-report").exists()
    assert not (tmp_path / "folder").exists()


@pytest.mark.usefixtures("inputs")
def test_what_cannot_be_drawn_is_not_played(fresh_python: FreshPython) -> None:
    """With `simulate` but not `report`, the refusal comes before the work."""
    lines = ("compare --budget 1e9 --runs 100000", "compare experiment.toml --out folder")
    for code, out, err in run_commands(fresh_python, DRAWING, *lines).values():
        assert (code, out, err) == (1, "", f"outlay: {sentence('this command needs matplotlib: report')}\n")


def test_the_table_of_extras_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for package, extra in EXTRA_OF.items():
        assert any(re.match(rf"{package}\b", line) for line in extras[extra])
        assert not any(line.startswith(package) for line in project["dependencies"])
    assert "outlay[simulate]" in extras["report"]
