"""`python -m benchmarks.leaderboard`: play what is not kept yet, print the tables, or write them to the docs."""

import argparse
import fnmatch
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import contexts
from benchmarks.leaderboard import page, tables
from benchmarks.leaderboard.cells import Row, rows_of
from benchmarks.leaderboard.contenders import CONTENDERS, Contender
from benchmarks.leaderboard.contexts import Contextual
from benchmarks.leaderboard.drift import Changing
from benchmarks.leaderboard.many import PER_ARM, Drawn
from benchmarks.leaderboard.play import jobs_of, play_all, read_all, refuse_interpreted
from benchmarks.leaderboard.problems import DATA, AnyEntry, Entry, problems
from benchmarks.leaderboard.requests import PER_REQUEST, Rationed
from benchmarks.leaderboard.store import Setting
from outlay import __version__
from outlay.checks import vector, whole
from outlay.errors import BadParameter, InterpretedWarning, OutlayError

Board = Sequence[tuple[AnyEntry, Setting]]
ROOT = Path(__file__).resolve().parents[2]
BUDGETS, QUICK = (300.0, 1_000.0, 10_000.0), (300.0, 1_000.0)
PLACES = ("many", "requests", "drift", "contexts")  # groups whose tables have a place of their own on the page
QUICK_PER_ARM, QUICK_PER_REQUEST = (0.5, 3.0), (0.2, 0.8)
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
    add("--per-arm", nargs="+", type=float, metavar="B",
        help="budgets of the group many, in mean costs per arm; 0.5 1 3 10 30 100")  # fmt: skip
    add("--per-request", nargs="+", type=float, metavar="B",
        help="of the group requests, for each, in costs of the arm that pays most; 0.05 0.2 0.5 0.8 1.2")  # fmt: skip
    add("--runs", type=int, help="of each policy in each cell; 500; many 100 or more, requests, drift 200, contexts 25")
    add("--seed", type=int, default=0, help="same seed, same problems of the group many, same figures; 0")
    add("--workers", type=int, default=os.cpu_count() or 1, help="processes to play in; all cores")
    add("--quick", action="store_true", help="20 runs at the smaller budgets: does everything work?")
    add("--folder", type=Path, default=ROOT / "build" / "leaderboard", help="of the kept results; build/leaderboard")
    add("--page", nargs="?", type=Path, const=ROOT / "docs" / "leaderboard.md", metavar="FILE",
        help="play nothing: write the tables of what is kept to the page, docs/leaderboard.md")  # fmt: skip
    add("--list", action="store_true", help="list problems and policies and stop")
    return parser.parse_args(arguments)


def command(chosen: argparse.Namespace) -> None:
    refuse_interpreted()
    workers = whole("leaderboard", "workers", chosen.workers, at_least=1)
    entries, named = selected(chosen.only, problems(), CONTENDERS)
    board = [(entry, setting) for entry in entries if (setting := setting_of(entry, chosen))]
    if not os.environ.get(DATA):
        say(f"no real problems: {DATA} names no folder of logs (docs/leaderboard.md says how to make them)")
    if chosen.list:
        show_list([entry for entry, _ in board], named or CONTENDERS)
        return
    jobs = [job for entry, setting in board for job in jobs_of(entry, named or unasked(entry), setting)]
    played = read_all(jobs, chosen.folder, say) if chosen.page else play_all(jobs, chosen.folder, say, workers)
    rows = rows_of(played, {label: contender.told for label, contender in CONTENDERS.items()})
    if chosen.page:
        write_page(chosen.page, board, rows, chosen.seed)
        return
    console = Console(highlight=False, emoji=False, width=WIDTH)
    for grid in (*tables.details(rows, tables.cell_grid), *tables.overall(rows)):
        console.print(grid.title, style="bold")
        console.print(grid.for_terminal())


def write_page(path: Path, board: Board, rows: Sequence[Row], seed: int) -> None:
    """Write the tables of what was chosen and played; some groups have places of their own."""
    for place in ("", *PLACES):
        part = [(entry, setting) for entry, setting in board if place_of(entry.group) == place]
        some = [row for row in rows if place_of(row.group) == place]
        if not some:
            continue
        runs = "–".join(f"{runs}" for runs in sorted({setting.runs for _, setting in part}))
        budgets = next((setting.budgets for entry, setting in part if isinstance(entry, Entry)), ())
        what = place or " ".join(f"{budget:.0f}" for budget in budgets) or "many"
        grids = [*tables.overall(some), *tables.details(some, tables.matrix_grid)]
        page.rewrite(path, what, grids, f"outlay {__version__}, {runs} runs per cell, seed {seed}.")


def place_of(group: str) -> str:
    """The group, where its tables have a place of their own on the page."""
    return group if group in PLACES else ""


def show_list(entries: Sequence[AnyEntry], contenders: dict[str, Contender]) -> None:
    """Print what there is to play, and who plays."""
    for entry in entries:
        print(f"{entry.name:<20} {entry.group:<10} {entry.arms} arms")
    for label, contender in contenders.items():
        print(f"{label:<28} told {contender.told}{f', {where}' if (where := contender.where) else ''}")


def setting_of(entry: AnyEntry, chosen: argparse.Namespace) -> Setting | None:
    """The budgets, runs and seed that were asked for; None where only those of another kind of problem were."""
    own = (entry.budget,) if isinstance(entry, Changing) else contexts.PER_REQUEST  # there is no option for them
    kinds: dict[type, tuple[str, Sequence[float], Sequence[float]]] = {
        Changing: ("own", own, own),
        Contextual: ("own", own, own),
        Entry: ("budgets", BUDGETS, QUICK),
        Drawn: ("per_arm", PER_ARM, QUICK_PER_ARM),
        Rationed: ("per_request", PER_REQUEST, QUICK_PER_REQUEST),
    }
    name, all_of_them, few = kinds[type(entry)]
    given = getattr(chosen, name, None)
    if not given and any(getattr(chosen, other, None) for other, _, _ in kinds.values()):
        return None
    budgets = vector("leaderboard", name, given or (few if chosen.quick else all_of_them), above=0)
    runs = chosen.runs if chosen.runs is not None else 20 if chosen.quick else entry.runs
    runs = whole("leaderboard", "runs", runs, at_least=2)
    seed = whole("leaderboard", "seed", chosen.seed, at_least=0)
    return Setting(tuple(sorted(set(budgets.tolist()))), runs, seed)


def selected(
    names: Sequence[str], entries: list[AnyEntry], contenders: dict[str, Contender]
) -> tuple[list[AnyEntry], dict[str, Contender]]:
    """The problems with these names or of these groups, all where none is named; the policies that are named."""
    some: list[AnyEntry] = []
    few: dict[str, Contender] = {}
    for name in names:
        here = [entry for entry in entries if fnmatch.fnmatchcase(entry.name, name) or entry.group == name]
        there = {label: one for label, one in contenders.items() if fnmatch.fnmatchcase(label, name)}
        if not here and not there:
            known = ", ".join(dict.fromkeys([*(entry.group for entry in entries), *contenders]))
            raise BadParameter("leaderboard", "only", f"a problem of --list, or one of {known}", name)
        some += [entry for entry in here if entry not in some]
        few |= there
    return some or entries, few


def unasked(entry: AnyEntry) -> dict[str, Contender]:
    """The policies that play a problem where none is named."""
    if isinstance(entry, Rationed):
        return {label: one for label, one in CONTENDERS.items() if one.requests}
    if isinstance(entry, Changing):
        return {label: one for label, one in CONTENDERS.items() if one.drift}
    if isinstance(entry, Contextual):
        return {label: one for label, one in CONTENDERS.items() if one.contexts}
    drawn = isinstance(entry, Drawn)
    return {label: one for label, one in CONTENDERS.items() if (one.many if drawn else not one.reserve)}


def say(sentence: str) -> None:
    print(sentence, file=sys.stderr)


if __name__ == "__main__":
    main()
