"""Snapshots: name → a function that makes the text. They are made in another process, where nothing is compiled."""

import hashlib
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
ROOT = Path(__file__).parents[2]
END = "\0"  # of a snapshot that others follow


def made(*names: str) -> list[str]:
    """Some snapshots, by one process: interpreted play is the compiled one's equal, and spares compiling hundreds.

    Ledgers have one of their own, whose clock is set by hand.
    """
    with tempfile.TemporaryDirectory() as cache:
        # The last bits of Beta's table depend on which of its kernels OpenBLAS takes for this processor.
        fixed = {"NUMBA_DISABLE_JIT": "1", "OPENBLAS_CORETYPE": "Haswell", "OUTLAY_CACHE_DIR": cache}
        plain = {"COLUMNS": "100", "NO_COLOR": "1", "TZ": "UTC", "PYTHONIOENCODING": "utf-8"}
        here = {key: value for key, value in os.environ.items() if not key.startswith("OUTLAY_")}
        command = [sys.executable, "-m", "tests.golden", "--show", *names]
        done = subprocess.run(
            command, cwd=ROOT, env={**here, **fixed, **plain}, capture_output=True, encoding="utf-8", timeout=600
        )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.split(END)


def _json(content: object) -> str:
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _unversioned(text: str) -> str:
    from outlay import __version__

    return text.replace(__version__, "VERSION")


# ---- simulations


def _digest(*arrays: Any) -> str:
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(array.tobytes())
    return sha.hexdigest()[:12]


def _digests(result: Any) -> dict[str, str]:
    """Policy → a digest of its pulls, costs and rewards: equal digests mean equal bits."""
    return {
        label: _digest(result.pulls[i], result.cost[i], result.reward[i]) for i, label in enumerate(result.policies)
    }


def simulations(seed: int, apart: int = 1) -> str:
    """Every policy on one arm of each law, and on every law, or on one of so many in turn."""
    from outlay import Problem, simulate
    from tests.golden.examples import LAWS, MIXED, NEWER, PLAYERS

    players, found = {**PLAYERS, **NEWER}, {}
    for turn, (law, laws) in enumerate({**LAWS, "mixed": tuple(MIXED.values())}.items()):
        problem = Problem(laws)
        scale = float(problem.mean_costs.min())
        some = players if law == "mixed" else dict([*players.items()][turn % apart :: apart])
        result = simulate(problem, some, budgets=[20.0 * scale, 50.0 * scale], runs=1, seed=seed)
        found[law] = _digests(result)
    return _json(found)


def limits() -> str:
    """Runs with limits: hard budgets, requests, both, infinite budgets, and arms of the catalogue."""
    from outlay import Problem, arms, simulate
    from outlay.arms import catalogue
    from tests.golden.examples import LAWS, LIMITED, NEWER, PLAYERS

    policies = {**PLAYERS, **NEWER, **LIMITED}
    bounded = Problem([arms.Uniform(0.5, 1.5, 0.0, 1.0), *LAWS["Bernoulli"], *LAWS["Discrete"]])
    gaussian, budgets = Problem(LAWS["Gaussian"]), [15.0, 40.0]
    runs: dict[str, dict[str, Any]] = {
        "hard": {"problem": bounded, "budgets": budgets, "mode": "hard"},
        "requests": {"problem": gaussian, "budgets": budgets, "requests": [20, 50]},
        "hard, requests": {"problem": bounded, "budgets": budgets, "mode": "hard", "requests": 40},
        "requests alone": {"problem": gaussian, "budgets": [float("inf")], "requests": 60},
    }
    for name in catalogue.names():
        problem = catalogue.load(name)
        runs[name] = {"problem": problem, "budgets": [60 * float(problem.mean_costs.min())]}
    found = {}
    for name, of_run in runs.items():
        known = {**NEWER, **LIMITED} if name in catalogue.names() else policies
        result = simulate(**of_run, policies=known, runs=2, seed=5)
        found[name] = {**_digests(result), "best arm alone": _digest(result.oracle_reward)}
    return _json(found)


# ---- documents


def openapi() -> str:
    """The document of the service."""
    from outlay.service import document

    return _unversioned(_json(document()))


def commands() -> str:
    """What `--help` says of every verb."""
    import click

    from outlay.cli import commands as outlay

    def said(command: click.Command, path: tuple[str, ...], parent: click.Context | None) -> list[str]:
        context = click.Context(command, info_name=path[-1], parent=parent, terminal_width=80, max_content_width=80)
        text = [f"$ {' '.join(path)} --help\n\n{command.get_help(context)}\n"]
        if isinstance(command, click.Group):
            for name in sorted(command.list_commands(context)):
                verb = command.get_command(context, name)
                assert verb is not None
                text += said(verb, (*path, name), context)
        return text

    return "\n".join(said(outlay, ("outlay",), None))


# ---- campaigns


def ledgers() -> str:
    """Exported ledgers of random stories, by a clock that is set by hand, and how each of them ended."""
    import random
    import time

    now = [1_700_000_000 * 10**9]
    time.time_ns = lambda: now[0]
    time.clock_gettime_ns = lambda _: now[0]
    from tests.golden.campaigns import told

    text = []
    for seed in range(10):
        story = random.Random(seed)
        text.append(f"# story {seed}\n{told(story, now)}")
    return re.sub("[0-9a-f]{64}", "HASH", _unversioned("\n".join(text)))


# ---- reports


def _ran(*arguments: str) -> str:
    """What the command prints to stdout."""
    from click.testing import CliRunner

    from outlay.cli import commands as outlay

    done = CliRunner().invoke(outlay, arguments)
    assert done.exit_code == 0, done.output
    return f"$ outlay {' '.join(arguments)}\n\n{done.stdout}"


def _folder(folder: Path) -> str:
    """Its files: the words of pages and tables, and of other files only that they are there."""
    text = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder.parent)
        if path.suffix in (".txt", ".md", ".csv", ".tex", ".json"):
            text.append(f"--- {name}\n{path.read_text(encoding='utf-8')}")
        elif path.suffix == ".html":
            page = re.sub(r"(?s)<(script|style|svg).*?</\1>", "", path.read_text(encoding="utf-8"))
            lines = (" ".join(line.split()) for line in html.unescape(re.sub(r"<[^>]*>", " ", page)).splitlines())
            text.append(f"--- {name}\n" + "\n".join(filter(None, lines)) + "\n")
        elif path.is_file():
            text.append(f"--- {re.sub('-[0-9a-f]{20}', '-KEY', str(name))}\n")
    return "\n".join(text)


def _in_folder(work: Callable[[Path], str]) -> str:
    """Work done in an empty folder, which is the current one."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return _unversioned(work(Path()))
        finally:
            os.chdir(ROOT)


def experiment() -> str:
    """An experiment file with a sweep, played and reported: its page, and one for each point."""
    from tests.golden.examples import EXPERIMENT

    def work(here: Path) -> str:
        (here / "two.toml").write_text(EXPERIMENT)
        return _ran("compare", "two.toml", "--out", "out") + "\n" + _folder(Path("out"))

    return _in_folder(work)


def bounds() -> str:
    """Bounds of regret, without and with requests; what there is to choose from."""
    asked = ["problems", "policies", "bounds G", "bounds H --budget 1e4", "bounds H --budget 250 --requests 1000"]
    return _unversioned("\n".join(_ran(*words.split()) for words in asked))


def advice(*options: str) -> str:
    """Advice on a log of three arms."""
    import numpy as np

    rng, rates = np.random.default_rng(0), {"good": 0.8, "fair": 0.6, "poor": 0.2}
    rows = ["arm,cost,reward"]
    for arm, cost, chance in zip(
        rng.choice(list(rates), size=600).tolist(), rng.gamma(4.0, 0.25, 600).tolist(), rng.random(600), strict=True
    ):
        rows.append(f"{arm},{cost:.6f},{int(chance < rates[arm])}")

    def work(here: Path) -> str:
        (here / "log.csv").write_text("\n".join(rows) + "\n")
        text = _ran("advise", "log.csv", "--budget", "60", "--runs", "2", "--workers", "1", *options)
        return text + ("\n" + _folder(Path("advice")) if "--out" in options else "")

    return _in_folder(work)


SNAPSHOTS: dict[str, Callable[[], str]] = {
    "simulations-0.json": partial(simulations, 0),
    "simulations-1.json": partial(simulations, 1),
    "limits.json": limits,
    "openapi.json": openapi,
    "commands.txt": commands,
    "ledgers.txt": ledgers,
    "experiment.txt": experiment,
    "bounds.txt": bounds,
    "advice.txt": partial(advice, "--out", "advice"),
    "advice-requests.txt": partial(advice, "--requests", "50"),
    "advice.json": partial(advice, "--json"),
}
PARTS: dict[str, Callable[[], str]] = {"simulations-0": partial(simulations, 0, apart=4)}
warnings.simplefilter("ignore")  # that nothing is compiled
