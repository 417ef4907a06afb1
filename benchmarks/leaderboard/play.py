"""Read the results that are kept; play and keep the others."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from benchmarks.leaderboard.contenders import Contender
from benchmarks.leaderboard.problems import Entry
from benchmarks.leaderboard.store import Kept, Setting, keep, kept_at, key_of
from outlay import __version__, simulate
from outlay.errors import BadFile

Say = Callable[[str], None]


class Job(NamedTuple):
    """A policy on a problem, for all budgets at once."""

    entry: Entry
    label: str
    policy: Any
    key: str


class Played(NamedTuple):
    """What came of a job."""

    entry: Entry
    label: str
    kept: Kept


def jobs_of(entries: Sequence[Entry], contenders: dict[str, Contender], setting: Setting) -> list[Job]:
    """Every contender on every problem that it admits."""
    made = (
        (entry, label, policy)
        for entry in entries
        for label, contender in contenders.items()
        if (policy := contender.make(entry.problem)) is not None
    )
    return [Job(entry, label, policy, key_of(entry.problem, policy, setting)) for entry, label, policy in made]


def find(job: Job, setting: Setting, folder: Path, say: Say) -> Kept | None:
    """The kept result of a job; a broken file counts as none, with a message."""
    try:
        return kept_at(folder, job.key, setting)
    except BadFile as error:
        say(f"{error}")
        return None


def play(job: Job, setting: Setting, folder: Path) -> Kept:
    """Play a job and keep the result."""
    budgets = job.entry.mean_cost * np.array(setting.budgets)
    start = time.perf_counter()
    result = simulate(
        job.entry.problem, {job.label: job.policy}, budgets, runs=setting.runs, seed=setting.seed, progress=False
    )
    regret = result.frame()["regret"].to_numpy(dtype=np.float64).reshape(setting.runs, len(budgets))
    kept = Kept(regret, time.perf_counter() - start)
    about = {"problem": job.entry.name, "policy": job.label, "parameters": repr(job.policy), "version": __version__}
    keep(folder, job.key, kept, **about, **setting._asdict())
    return kept


def play_all(jobs: Sequence[Job], setting: Setting, folder: Path, say: Say) -> list[Played]:
    """Every job's result; what is not kept is played now, with progress on stderr."""
    found = [find(job, setting, folder, say) for job in jobs]
    missing = [i for i, kept in enumerate(found) if kept is None]
    with progress(len(missing)) as begin:
        for i in missing:
            begin(f"{jobs[i].entry.name}, {jobs[i].label}")
            found[i] = play(jobs[i], setting, folder)
    return [Played(job.entry, job.label, kept) for job, kept in zip(jobs, found, strict=True) if kept]


def read_all(jobs: Sequence[Job], setting: Setting, folder: Path, say: Say) -> list[Played]:
    """The results that are kept; nothing is played."""
    found = [find(job, setting, folder, say) for job in jobs]
    if missing := found.count(None):
        say(f"{missing} of {len(jobs)} results are not kept yet: play them without --page")
    return [Played(job.entry, job.label, kept) for job, kept in zip(jobs, found, strict=True) if kept]


@contextmanager
def progress(total: int) -> Iterator[Say]:
    """Yield a function to call as each job begins: a bar on a terminal, else one line per job."""
    console = Console(stderr=True, highlight=False, emoji=False)
    if not console.is_terminal:
        count = itertools.count(1)
        yield lambda what: console.print(f"{next(count)}/{total} {what}", markup=False, soft_wrap=True)
        return
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        begun = False

        def begin(what: str) -> None:
            nonlocal begun
            bar.update(task, advance=int(begun), description=what)
            begun = True

        yield begin
