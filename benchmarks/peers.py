"""How fast outlay is next to other bandit packages, on the same machine in the same minutes.

`python -m benchmarks.peers` installs them into build/peers (that needs a network, once); docs/benchmarks.md says what
the columns mean, and what they do not.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import venv
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from outlay import Problem, simulate
from outlay.arms import Gaussian
from outlay.policies import UCBB1

HERE = Path(__file__).resolve().parent
WORKER = HERE / "peers_worker.py"
REQUIREMENTS = HERE / "peers-requirements.txt"
FOLDER = HERE.parent / "build" / "peers"

SIZES = (10, 100)
PULLS = 10_000
DEVIATION = 0.1
SECONDS = 0.5  # the least CPU time that one repetition lasts
REPETITIONS = 3


class Player(NamedTuple):
    """One row of the table; a player of no package needs numpy alone, which outlay's own interpreter has."""

    name: str  # in peers_worker.py
    policy: str
    package: str | None = None


PLAYERS = (
    Player("SMPyBandits", "UCB", "SMPyBandits"),
    Player("MABWiser", "UCB1", "mabwiser"),
    Player("river", "UCB", "river"),
    Player("PyMAB", "UCB", "pymab"),
    Player("PyMAB, loop alone", "UCB", "pymab"),
    Player("numpy, run by run", "UCB1"),
    Player("numpy, runs in step", "UCB1"),
    Player("numpy, outlay's problem", "UCB-B1"),
)


class Duel(NamedTuple):
    """Pulls per CPU second of another player and of outlay right after, once per repetition."""

    theirs: list[float]
    ours: list[float]

    @property
    def ratio(self) -> float:
        """How many times as fast outlay was, the median of the repetitions."""
        return statistics.median(ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True))


class Unavailable(Exception):
    """A player cannot be measured: one sentence says why."""


def problem_of(arms: int) -> Problem:
    """The problem of benchmarks/engine.py: mean cost 1, so that a budget is also a number of pulls."""
    return Problem([Gaussian(1.0, rate, DEVIATION, DEVIATION) for rate in np.linspace(0.2, 1.0, arms).tolist()])


class Outlay:
    """UCBB1 on the problem, on one thread, called as a user calls it."""

    def __init__(self, arms: int) -> None:
        self.problem = problem_of(arms)
        self.policy = UCBB1(**self.problem.second_moments())
        self.runs = 1
        self.clock()  # compiles
        while self.clock()[0] < SECONDS:
            self.runs *= 2

    def clock(self) -> tuple[float, int]:
        """CPU seconds and pulls of one repetition."""
        start = time.process_time()
        result = simulate(self.problem, self.policy, budgets=[PULLS], runs=self.runs, workers=1, progress=False)
        return time.process_time() - start, int(result.pulls.sum())

    def speed(self) -> float:
        """Pulls per CPU second."""
        seconds, pulls = self.clock()
        return pulls / seconds


def complaint(text: str) -> str:
    """What a failed command said: pip's first ERROR, or the last line of a traceback."""
    lines = text.strip().splitlines() or ["it said nothing"]
    return next((line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")), lines[-1]).rstrip(".")


def pins() -> dict[str, str]:
    """The requirements: name → version."""
    lines = (line.partition("#")[0].strip() for line in REQUIREMENTS.read_text().splitlines())
    return {name: pinned for name, _, pinned in (line.partition("==") for line in lines if line)}


def interpreter(player: Player) -> Path:
    """The Python to run a player with, made and filled where needed."""
    if player.package is None:
        return Path(sys.executable)
    wanted = f"{player.package}=={pins()[player.package]}"
    python = FOLDER / "bin" / "python"
    if not python.exists():
        venv.create(FOLDER, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    command += ["--retries", "1", "--timeout", "15", "--constraint", str(REQUIREMENTS), wanted]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        why = "no package index can be reached" if "connection broken" in done.stderr else complaint(done.stderr)
        raise Unavailable(f"{wanted} could not be installed: {why}.")
    return python


def their_speed(python: Path, player: Player, arms: int) -> float:
    """Pulls per CPU second of a player, in a new process on one thread; imports and a first short run are not timed."""
    job = {"means": problem_of(arms).mean_rewards.tolist(), "deviation": DEVIATION, "pulls": PULLS, "seconds": SECONDS}
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    command = [str(python), str(WORKER), player.name, json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode:
        raise Unavailable(f"{player.name} failed: {complaint(done.stderr)}.")
    return float(done.stdout)


def duels(player: Player, outlays: dict[int, Outlay]) -> list[Duel]:
    """One player against outlay, by turns, for each number of arms."""
    python = interpreter(player)
    played = []
    for arms, outlay in outlays.items():
        turns = [(their_speed(python, player, arms), outlay.speed()) for _ in range(REPETITIONS)]
        played.append(Duel([theirs for theirs, _ in turns], [ours for _, ours in turns]))
    return played


def two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):,g}"


def table_of(measured: dict[Player, list[Duel]]) -> Table:
    table = Table("package", "version", "policy", box=SIMPLE_HEAD, pad_edge=False)
    for name in (*(f"pulls/s, K = {arms}" for arms in SIZES), *(f"outlay ÷ it, {arms}" for arms in SIZES)):
        table.add_column(name, justify="right")
    versions = pins() | {"numpy": version("numpy")}
    for player, played in measured.items():
        speeds = (f"{statistics.median(duel.theirs):,.0f}" for duel in played)
        row = (player.name, versions[player.package or "numpy"], player.policy)
        table.add_row(*row, *speeds, *(two_digits(duel.ratio) for duel in played))
    ours = (
        statistics.median(speed for played in measured.values() for speed in played[i].ours) for i in range(len(SIZES))
    )
    table.add_row("outlay", version("outlay"), "UCB-B1", *(f"{speed:,.0f}" for speed in ours), "1", "1")
    return table


def main() -> int:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    console = Console(width=120, highlight=False)
    outlays = {arms: Outlay(arms) for arms in SIZES}
    measured: dict[Player, list[Duel]] = {}
    unavailable: dict[str, None] = {}  # each reason once, in order
    for player in PLAYERS:
        try:
            measured[player] = duels(player, outlays)
        except Unavailable as error:
            unavailable.setdefault(str(error))
    console.print(f"Runs of {PULLS:,} pulls, one thread: pulls per CPU second")
    console.print(table_of(measured))
    for reason in unavailable:
        console.print(reason, markup=False)
    return 0 if any(player.package for player in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
