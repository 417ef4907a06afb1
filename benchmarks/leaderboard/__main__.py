"""`python -m benchmarks.leaderboard`: play what is not kept yet, print the tables, or write them to the docs."""

import argparse
import fnmatch
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.leaderboard import page, tables
from benchmarks.leaderboard.cells import rows_of
from benchmarks.leaderboard.contenders import CONTENDERS, Contender
from benchmarks.leaderboard.play import jobs_of, play_all, read_all
from benchmarks.leaderboard.problems import DATA, Entry, problems
from benchmarks.leaderboard.store import Setting
from outlay import __version__
from outlay.checks import vector, whole
from outlay.errors import BadParameter, InterpretedWarning, OutlayError

ROOT = Path(__file__).resolve().parents[2]
BUDGETS, QUICK = (300.0, 1_000.0, 10_000.0), (300.0, 1_000.0)
WIDTH = 160  # of the tables, whatever the terminal's: a figure that is cut says nothing


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; what is refused is one line on stderr."""
    try:
        command(parsed(arguments))
    except (OutlayError, InterpretedWarning) as error:
        sys.exit(f"leaderboard: {error}")
    except KeyboardInterrupt:
        say("interrupted: what is done is kept, and the same command goes on from there")
        sys.exit(130)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leaderboard", description=__doc__)
    add = parser.add_argument
    add("--only", nargs="+", default=[], metavar="NAME", help="these problems, groups or policies; * stands for any")
    add("--budgets", nargs="+", type=float, metavar="B", help="in mean costs of the problem; 300 1000 10000")
    add("--runs", type=int, help="of each policy in each cell; 500")
    add("--seed", type=int, default=0, help="same seed, same figures; 0")
    add("--quick", action="store_true", help="20 runs at 300 and 1000: does everything work?")
    add("--folder", type=Path, default=ROOT / "build" / "leaderboard", help="of the kept results; build/leaderboard")
    add("--page", nargs="?", type=Path, const=ROOT / "docs" / "leaderboard.md", metavar="FILE",
        help="play nothing: write the tables of what is kept to the page, docs/leaderboard.md")  # fmt: skip
    add("--list", action="store_true", help="list problems and policies and stop")
    return parser.parse_args(arguments)


def command(chosen: argparse.Namespace) -> None:
    warnings.filterwarnings("error", category=InterpretedWarning)  # such a policy would play for days
    setting = checked_setting(chosen)
    entries, contenders = selected(chosen.only, problems(), CONTENDERS)
    if not os.environ.get(DATA):
        say(f"no real problems: {DATA} names no folder of logs (docs/leaderboard.md says how to make them)")
    if chosen.list:
        for entry in entries:
            print(f"{entry.name:<20} {entry.group:<10} {len(entry.problem)} arms")
        for label, contender in (contenders if chosen.only else CONTENDERS).items():
            print(f"{label:<28} told {contender.told}{', reserve: only by name' if contender.reserve else ''}")
        return
    jobs = jobs_of(entries, contenders, setting)
    played = (read_all if chosen.page else play_all)(jobs, setting, chosen.folder, say)
    told = {label: contender.told for label, contender in contenders.items()}
    rows = rows_of(played, setting.budgets, told)
    overall = [tables.summary_grid(rows), tables.group_grid(rows)]
    if chosen.page:
        about = f"outlay {__version__}, {setting.runs} runs per cell, seed {setting.seed}."
        page.rewrite(chosen.page, setting, [*overall, *(tables.matrix_grid(rows, b) for b in setting.budgets)], about)
        return
    console = Console(highlight=False, emoji=False, width=WIDTH)
    for grid in (*(tables.cell_grid(rows, budget) for budget in setting.budgets), *overall):
        console.print(grid.title, style="bold")
        console.print(grid.for_terminal())


def checked_setting(chosen: argparse.Namespace) -> Setting:
    """The budgets, runs and seed that were asked for."""
    budgets = vector("leaderboard", "budgets", chosen.budgets or (QUICK if chosen.quick else BUDGETS), above=0)
    runs = whole(
        "leaderboard", "runs", (20 if chosen.quick else 500) if chosen.runs is None else chosen.runs, at_least=2
    )
    seed = whole("leaderboard", "seed", chosen.seed, at_least=0)
    return Setting(tuple(sorted(set(budgets.tolist()))), runs, seed)


def selected(
    names: Sequence[str], entries: list[Entry], contenders: dict[str, Contender]
) -> tuple[list[Entry], dict[str, Contender]]:
    """The problems and policies with these names or of these groups.

    All problems where none is named; all policies but the reserve where none is.
    """
    some: list[Entry] = []
    few: dict[str, Contender] = {}
    for name in names:
        here = [entry for entry in entries if fnmatch.fnmatchcase(entry.name, name) or entry.group == name]
        there = {label: one for label, one in contenders.items() if fnmatch.fnmatchcase(label, name)}
        if not here and not there:
            known = ", ".join(dict.fromkeys([*(entry.group for entry in entries), *contenders]))
            raise BadParameter("leaderboard", "only", f"a problem of --list, or one of {known}", name)
        some += [entry for entry in here if entry not in some]
        few |= there
    return some or entries, few or {label: one for label, one in contenders.items() if not one.reserve}


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr)


if __name__ == "__main__":
    main()
