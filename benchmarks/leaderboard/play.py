"""Read the results that are kept; play and keep the others, in several processes.

A result is played in pieces: a problem's runs all at once, of problems that are drawn some runs at a time. The
processes take pieces as they become free, so that what is slow does not hold up the rest.
"""

import signal
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from inspect import getsource
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.leaderboard.contenders import Contender
from benchmarks.leaderboard.contexts import Contextual
from benchmarks.leaderboard.drift import Changing
from benchmarks.leaderboard.many import Draw, Drawn
from benchmarks.leaderboard.problems import AnyEntry
from benchmarks.leaderboard.progress import Say, progress
from benchmarks.leaderboard.requests import Rationed
from benchmarks.leaderboard.store import Floats, Kept, Setting, keep, kept_at, key_of, key_of_drawn
from outlay import Problem, __version__, simulate
from outlay.engine import pieces as changes
from outlay.errors import BadFile, InterpretedWarning

PIECES = 20  # that the runs of a drawn problem are cut into


class Job(NamedTuple):
    """A policy on a problem, for all budgets at once."""

    entry: AnyEntry
    label: str
    policy: Any
    setting: Setting
    key: str


class Piece(NamedTuple):
    """Some of the runs of a job."""

    job: Job
    first: int
    last: int  # and not this one


class Played(NamedTuple):
    """What came of a job."""

    job: Job
    kept: Kept


def jobs_of(entry: AnyEntry, contenders: dict[str, Contender], setting: Setting) -> list[Job]:
    """Every contender on a problem that it admits; on problems that are drawn, if it needs no other word on each."""
    if not isinstance(entry, Drawn):
        more: tuple[Any, ...] = (entry.name, Rationed.budgets) if isinstance(entry, Rationed) else ()
        if isinstance(entry, Changing):
            more = (entry.problem.starts, entry.problem.laws, getsource(changes))
        if isinstance(entry, Contextual):
            more = (entry.problem.table, Contextual.budgets)
        if isinstance(entry, Changing | Contextual):
            made = {label: policy for label, policy in entry.players().items() if label in contenders}
        else:
            made = {label: contender.make(entry.problem) for label, contender in contenders.items()}
        return [
            Job(entry, label, policy, setting, key_of(entry.problem, policy, setting, *more))
            for label, policy in made.items()
            if policy is not None
        ]
    one, other = (entry.draw(setting.seed, run).problem for run in range(2))
    made = {label: contender.make(one) for label, contender in contenders.items()}
    return [
        Job(entry, label, policy, setting, key_of_drawn(entry, one, policy, setting))
        for label, policy in made.items()
        if policy is not None and policy == contenders[label].make(other)
    ]


def find(job: Job, folder: Path, say: Say) -> Kept | None:
    """The kept result of a job; a broken file counts as none, with a message."""
    try:
        return kept_at(folder, job.key, job.setting)
    except BadFile as error:
        say(f"{error}")
        return None


def pieces_of(job: Job) -> list[Piece]:
    """All runs of a job."""
    runs = job.setting.runs
    size = max(1, runs // PIECES) if isinstance(job.entry, Drawn) else runs
    return [Piece(job, first, min(runs, first + size)) for first in range(0, runs, size)]


def play(piece: Piece) -> Kept:
    """Play a piece, on one core."""
    start = time.perf_counter()
    job, (budgets, runs, seed) = piece.job, piece.job.setting
    if isinstance(job.entry, Drawn):
        regret = np.array([drawn_regret(job, job.entry.draw(seed, run)) for run in range(piece.first, piece.last)])
    elif isinstance(job.entry, Rationed | Contextual):
        regret = rationed_regret(job, job.entry)
    else:
        regret = regret_of(job, job.entry.problem, job.entry.mean_cost * np.array(budgets), runs, seed)
    return Kept(regret, time.perf_counter() - start)


def drawn_regret(job: Job, draw: Draw) -> Floats:
    """The regret of one run on a problem that was drawn for it, at every budget, in per cent of r*·B."""
    budgets = draw.budgets(job.setting.budgets)
    worth = draw.problem.rate * budgets
    return np.asarray(100.0 * regret_of(job, draw.problem, budgets, 1, draw.seed)[0] / worth)


def rationed_regret(job: Job, entry: Rationed | Contextual) -> Floats:
    """The regret of all runs with a number of requests, at every budget, in per cent of the most there is."""
    budgets, (_, runs, seed) = entry.budgets(job.setting.budgets), job.setting
    worth = np.array([entry.most(budget) for budget in budgets.tolist()])
    return np.asarray(100.0 * regret_of(job, entry.problem, budgets, runs, seed, entry.requests) / worth)


def regret_of(
    job: Job, problem: Problem, budgets: Floats, runs: int, seed: int, requests: int | None = None
) -> Floats:  # fmt: skip
    """The pseudo-regret of the job's policy: [run, budget]."""
    result = simulate(
        problem, {job.label: job.policy}, budgets, requests=requests, runs=runs, seed=seed, workers=1, progress=False
    )
    return result.frame()["regret"].to_numpy(dtype=np.float64).reshape(runs, len(budgets))


def play_all(jobs: Sequence[Job], folder: Path, say: Say, workers: int = 1) -> list[Played]:
    """Every job's result; what is not kept is played now, with progress on stderr."""
    found = {job.key: find(job, folder, say) for job in jobs}
    missing = {job.key: job for job in jobs if found[job.key] is None}
    parts: dict[str, dict[int, Kept]] = {key: {} for key in missing}
    longest = sorted(missing.values(), key=lambda job: -job.entry.arms)  # first: at the end nobody waits for them
    with progress(len(missing)) as done:
        for piece, part in played([piece for job in longest for piece in pieces_of(job)], workers):
            job = piece.job
            parts[job.key][piece.first] = part
            if len(parts[job.key]) == len(pieces_of(job)):
                found[job.key] = joined(job, parts.pop(job.key), folder)
                done(f"{job.entry.name}, {job.label}")
    return [Played(job, kept) for job in jobs if (kept := found[job.key])]


def joined(job: Job, parts: dict[int, Kept], folder: Path) -> Kept:
    """The pieces of a job as one result, which is kept."""
    regret = np.concatenate([parts[first].regret for first in sorted(parts)])
    kept = Kept(regret, sum(part.seconds for part in parts.values()))
    about = {"problem": job.entry.name, "policy": job.label, "parameters": repr(job.policy), "version": __version__}
    keep(folder, job.key, kept, **about, **job.setting._asdict())
    return kept


def played(pieces: Sequence[Piece], workers: int) -> Iterator[tuple[Piece, Kept]]:
    """Play the pieces, and yield each as it is done."""
    if workers == 1 or len(pieces) < 2:
        yield from ((piece, play(piece)) for piece in pieces)
        return
    # Not forked: this process may have threads.
    with ProcessPoolExecutor(min(workers, len(pieces)), get_context("spawn"), initializer=ready) as pool:
        begun: dict[Future[Kept], Piece] = {pool.submit(play, piece): piece for piece in pieces}
        try:
            for future in as_completed(begun):
                yield begun[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)  # on an error: what has not begun never does


def ready() -> None:
    """What a new process does first: Ctrl-C ends it without a word, and nothing is played uncompiled."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    refuse_interpreted()


def refuse_interpreted() -> None:
    """Have a policy that does not compile raise: it would play for days."""
    warnings.filterwarnings("error", category=InterpretedWarning)


def read_all(jobs: Sequence[Job], folder: Path, say: Say) -> list[Played]:
    """The results that are kept; nothing is played."""
    found = [find(job, folder, say) for job in jobs]
    if missing := found.count(None):
        say(f"{missing} of {len(jobs)} results are not kept yet: play them without --page")
    return [Played(job, kept) for job, kept in zip(jobs, found, strict=True) if kept]
