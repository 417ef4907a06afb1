"""Several policies compiled at the same time, before any is played.

Numba compiles on one core. So every other core gets a process that compiles a policy at a time and leaves the code on
disk, where this one finds it; meanwhile this one compiles, too. What takes longest comes first. Classes that another
process could not import, such as those of a notebook, are compiled here. Whatever goes wrong over there is done again
here, where it is told.
"""

import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec

from outlay.arms.law import AnyLaw
from outlay.compiler.records import coerced, shape
from outlay.compiler.untyped import FieldTuple
from outlay.engine.compiler.world import compose
from outlay.engine.task import Task
from outlay.errors import OutlayError
from outlay.policies.protocol import Policy, memory_of

_CHILD = "import sys; sys.path[:] = sys.argv[1:]; from outlay.engine.compiler.together import serve; serve()"


@dataclass
class Missing:
    """A loop that is neither in this process nor on disk."""

    label: str
    policy: Policy
    arms: tuple[AnyLaw, ...]
    hard: bool
    weight: int  # how much code it reaches
    here: bool  # whether no other process can compile it

    def compile(self) -> None:
        """Compile it, unless numba refuses, in whatever way: who plays it interprets it then, and says so."""
        from outlay.engine.compiler.dispatch import compiled

        with suppress(Exception):
            compiled(*_things(self.policy, self.arms), self.hard)


_met: set[object] = set()  # classes that have been looked at: what they need is there, or is compiled when played


def missing_of(tasks: Sequence[Task]) -> list[Missing]:
    """What has to be compiled for some tasks, what takes longest first."""
    found: dict[object, Missing] = {}
    for task in tasks:
        classes = type(task.policy), frozenset(map(type, task.problem.arms)), task.hard
        if classes in _met:
            continue
        _met.add(classes)
        try:
            things = _things(task.policy, tuple(task.problem.arms))
        except Exception:  # noqa: S112 (of a user's: whatever it is, playing it raises it again and says where)
            continue
        key = task.hard, shape(things)
        if key not in found:
            from outlay.engine.compiler.dispatch import standing

            where = standing(things, task.hard)
            if not where.ready:
                found[key] = Missing(
                    task.label, task.policy, tuple(task.problem.arms), task.hard, where.weight, not where.portable
                )
    return sorted(found.values(), key=lambda each: -each.weight)


def compile_together(missing: Sequence[Missing], cores: int, report: Callable[[float], None]) -> None:
    """Compile all of it, on so many cores; `report` is told how many are done."""
    work = _Work(deque(missing), report)
    helpers = min(cores, sum(not each.here for each in missing), len(missing)) - 1 if _allowed() else 0
    threads = [threading.Thread(target=work.hand_over, name="outlay-compile", daemon=True) for _ in range(helpers)]
    try:
        for thread in threads:
            thread.start()
        while (each := work.take(here=True)) is not None:
            each.compile()
            work.finished()
        for thread in threads:
            thread.join()
    finally:
        work.end()
    for each in work.failed:
        each.compile()


@dataclass
class _Work:
    """What is still to be compiled, and who compiles."""

    left: deque[Missing]
    report: Callable[[float], None]
    failed: list[Missing] = field(default_factory=list)
    done: int = 0
    over: bool = False
    children: list[subprocess.Popen[bytes]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, here: bool) -> Missing | None:
        """The next, here or elsewhere."""
        with self.lock:
            for each in self.left:
                if (here or not each.here) and not self.over:
                    self.left.remove(each)
                    return each
        return None

    def finished(self) -> None:
        """One more."""
        with self.lock:
            self.done += 1
            self.report(self.done)

    def hand_over(self) -> None:
        """Have another process compile one after another."""
        each = self.take(here=False)
        if each is None:
            return
        try:
            child = self._start()
        except OSError:  # no room for a process: this one compiles it
            self.failed.append(each)
            return
        with child:
            while each is not None:
                try:
                    said = _ask(child, each)
                except (
                    OSError,
                    pickle.PicklingError,
                    AttributeError,
                    TypeError,
                ):  # it is gone, or it cannot be sent
                    said = b""
                if said != b"done\n":
                    self.failed.append(each)
                self.finished()
                each = self.take(here=False) if said else None
            child.kill()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", _CHILD, *sys.path]
        pipe = subprocess.PIPE
        child = subprocess.Popen(  # noqa: S603 (a group of its own: Ctrl-C is not meant for it)
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, process_group=0
        )
        with self.lock:
            self.children.append(child)
            if self.over:
                child.kill()
        return child

    def end(self) -> None:
        """On Ctrl-C too: nobody goes on compiling."""
        with self.lock:
            self.over = True
            for child in self.children:
                child.kill()


def _ask(child: "subprocess.Popen[bytes]", each: Missing) -> bytes:
    if child.stdin is None or child.stdout is None:
        raise OutlayError("a process was started without pipes")
    child.stdin.write(pickle.dumps((each.policy, each.arms, each.hard)))
    child.stdin.flush()
    return child.stdout.readline()


def serve() -> None:
    """What the other process does: compile what comes in, until nothing does."""
    from outlay.engine.compiler.dispatch import compiled

    for policy, arms, hard in _sent():
        try:
            compiled(*_things(policy, arms), hard)
            print("done", flush=True)
        except Exception as error:
            print(type(error).__name__, flush=True)


def _sent() -> Iterator[tuple[Policy, tuple[AnyLaw, ...], bool]]:
    while True:
        try:
            yield pickle.load(sys.stdin.buffer)  # noqa: S301 (from the process that started this one)
        except EOFError:
            return


def _things(policy: Policy, arms: tuple[AnyLaw, ...]) -> tuple[FieldTuple, FieldTuple, FieldTuple]:
    """What a loop is compiled for: policy, memory, world."""
    return coerced(policy), memory_of(policy, len(arms)), compose(arms)


def _allowed() -> bool:
    """Whether other processes may compile: $OUTLAY_COMPILE_AHEAD, if it is "never", forbids it."""
    return os.environ.get("OUTLAY_COMPILE_AHEAD") != "never" and find_spec("numba") is not None


def cores_for(workers: int | None) -> int:
    """How many cores may compile: those of this process, but no more than the user allows to play."""
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(mine, workers or mine)
