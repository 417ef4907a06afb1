"""Find, load or compile the loop: a formula is written once, and compiled code calls the same method.

`overload_method` tells numba that `x.score(...)` on any NamedTuple is that tuple's class's own `score` (`numba_types`).
A loop that calls it is then compiled once per set of classes. What makes this safe:

- The entry point of one compilation is kept and called, never numba's dispatcher: the dispatcher tells NamedTuples
  apart by name and field types only, and would run the old code for a class that was redefined.
- What a compilation reads is walked (`fingerprint`), plain helper functions are registered on the way, and the
  result is reused only for equal code. Where the same object is met again with other code behind it (a helper
  redefined in a notebook, a constant changed), or where another process could not find the class, the loop is compiled
  for copies of the classes and functions, which nothing has compiled before.
- On disk, each compiled loop has a folder of its own, named by everything its machine code depends on: outlay's own
  sources of what is compiled, the versions of Python, numpy, numba and llvmlite, the types, and all the code that the
  classes reach. So nothing in a folder ever goes stale, two processes that fill one at the same time write the same
  thing, and a class whose module has vanished is never looked at.
"""

import functools
import hashlib
import inspect
import os
import pickle
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import types as python
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError

from outlay.arms.contextual import RequestTable
from outlay.arms.law import AnyLaw
from outlay.engine import loop
from outlay.engine.bulk_random import can_be_packed, can_open
from outlay.engine.jit.numba_types import (
    OPTIONS,
    OWN,
    PLAY,
    FieldTuple,
    Function,
    NumbaType,
    coerced,
    described,
    plain_world,
    register,
    shape,
    world_of,
)
from outlay.engine.limits import Limits
from outlay.engine.loop import AnyWorld, play
from outlay.engine.task import Task
from outlay.errors import InterpretedWarning
from outlay.parameters import is_record, records_in
from outlay.policies.protocol import Memory, Policy, memory_of
from outlay.usercode import PROTOCOL, Reach

Source = tuple[AnyLaw, ...] | RequestTable  # what a world is made of
Things = tuple[FieldTuple, FieldTuple, FieldTuple]  # a policy, its memory, the world

# The parts whose code compiled functions can hold.
_COMPILED = ("arms", "beliefs", "engine", "formulas", "policies")
_KEPT_DAYS = 60  # of code on disk that is not used
_CHILD = "import sys; sys.path[:] = sys.argv[1:]; from outlay.engine.jit.compile import compile_sent; compile_sent()"

_lock = threading.RLock()
_entries: dict[object, tuple[Function, Reach]] = {}
_first_met: dict[object, str] = {}  # class or function -> the digest of what it reached when it was first compiled
_looked_at: set[object] = set()  # classes: what they need is there, or is compiled when played


class CannotCompile(Exception):
    """Numba refuses the policy, its memory or a law; the message says why, in one line."""


@dataclass(frozen=True)
class Program:
    """What the runs of a task share."""

    play: Callable[..., None]  # `loop.play`
    world: AnyWorld
    policy: Policy
    memory: Callable[[], Memory]
    alone: bool  # whether every run needs a generator and a memory that are made for it


def program_of(task: Task) -> Program:
    """Compile the policy for the problem's laws, or have it interpreted, with a warning, where numba refuses."""
    memory = task.memory()
    first, second = memory(), memory()
    try:
        world = world_of(task.problem.world)  # a law of the user's may hold anything
        policy = coerced(task.policy)
        alone = not (can_open() and can_be_packed(first, second))
        return Program(compiled((policy, first, world), task.hard), world, policy, memory, alone)
    except Exception as error:  # whatever numba cannot type or compile still runs; what is wrong otherwise fails again
        reason = str(error) if isinstance(error, CannotCompile) else f"{type(error).__name__}: {error}"
        slow = f"{task.label} cannot be compiled and runs interpreted, hundreds of times slower: {reason}"
        if task.warn:
            warnings.warn(slow, InterpretedWarning, stacklevel=5)  # of the caller of simulate
        return interpreted(task)


def interpreted(task: Task) -> Program:
    """The same loop, left to the interpreter."""
    return Program(play, plain_world(task.problem.world), task.policy, task.memory(), alone=True)


@dataclass
class Missing:
    """A loop that is neither in this process nor on disk."""

    label: str
    policy: Policy
    arms: Source
    hard: bool
    weight: int  # how much code it reaches
    here: bool  # whether no other process can compile it

    def compile(self) -> None:
        """Compile it, unless numba refuses, in whatever way: who plays it interprets it then, and says so."""
        with suppress(Exception):
            compiled(_things(self.policy, self.arms), self.hard)

    def compile_elsewhere(self, started: list["subprocess.Popen[bytes]"], over: threading.Event) -> bool:
        """Have another process compile it, which leaves it on disk; whether that went well."""
        try:
            sent = pickle.dumps((self.policy, self.arms, self.hard))
            with subprocess.Popen(  # noqa: S603 (a group of its own: Ctrl-C is not meant for it)
                [sys.executable, "-c", _CHILD, *sys.path],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0,
            ) as child:  # fmt: skip
                started.append(child)
                if over.is_set():
                    child.kill()
                child.communicate(sent)
        except (OSError, pickle.PicklingError, AttributeError, TypeError):  # no room, or it cannot be sent
            return False
        return child.returncode == 0


def missing_of(tasks: Sequence[Task]) -> list[Missing]:
    """What has to be compiled for some tasks, what takes longest first."""
    found: dict[object, Missing] = {}
    for task in tasks:
        arms = task.problem.world
        classes = type(task.policy), frozenset(map(type, arms)), task.hard
        if classes in _looked_at:
            continue
        _looked_at.add(classes)
        try:
            things = _things(task.policy, arms)
        except Exception:  # noqa: S112 (of a user's: whatever it is, playing it raises it again and says where)
            continue
        reach = reach_of(things)
        key = task.hard, shape(things), reach.digest
        where = _folder(things, task.hard, reach)
        if key not in _entries and not (where and any(where.rglob("*.nbc"))):
            here = where is None or _changed(reach)
            found.setdefault(key, Missing(task.label, task.policy, arms, task.hard, len(reach.functions), here))
    return sorted(found.values(), key=lambda each: -each.weight)


def compile_all(missing: Sequence[Missing], cores: int, report: Callable[[float], None]) -> None:
    """Compile all of it, on so many cores; `report` is told how many are done.

    Numba compiles on one core. So other processes compile, too, one loop each, and leave it on disk, where this one
    finds it. This one begins with what no other can compile and with what takes least; whatever goes wrong over there
    is done again here, where it is told.
    """
    portable = [each for each in missing if not each.here]
    helpers = min(cores, len(missing), len(portable) + 1) - 1
    started: list[subprocess.Popen[bytes]] = []
    over = threading.Event()
    pool = ThreadPoolExecutor(max(helpers, 1), thread_name_prefix="outlay-compile")
    sent: dict[Future[bool], Missing] = {}
    try:
        if helpers:
            sent = {pool.submit(each.compile_elsewhere, started, over): each for each in portable}
        done = 0
        for each in missing:
            if each.here or not helpers:
                each.compile()
                report(done := done + 1)
        for future, each in reversed(sent.items()):
            if future.cancel():  # nobody has begun with it
                each.compile()
                report(done := done + 1)
        for future, each in sent.items():
            if not future.cancelled():
                if not future.result():
                    each.compile()
                report(done := done + 1)
    finally:  # on Ctrl-C, too
        over.set()  # who is about to start another process ends it
        pool.shutdown(wait=False, cancel_futures=True)
        for child in started:
            child.kill()


def compile_sent() -> None:
    """What the other process does: compile what comes in; it fails where that does."""
    policy, arms, hard = pickle.load(sys.stdin.buffer)  # noqa: S301 (from the process that started this one)
    compiled(_things(policy, arms), hard)


def cores_for(workers: int | None) -> int:
    """How many cores may compile: those of this process, but no more than may play, nor than $OUTLAY_COMPILE_CORES."""
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(mine, workers or mine, int(os.environ.get("OUTLAY_COMPILE_CORES") or mine))


def _things(policy: Policy, source: Source) -> Things:
    """What a loop is compiled for."""
    arms = source.costs.shape[1] if isinstance(source, RequestTable) else len(source)
    return coerced(policy), memory_of(policy, arms), world_of(source)


def compiled(things: Things, hard: bool) -> Function:
    """`loop.play`, compiled for these classes: from this process, from disk, or now.

    It counts no references; it does where that fails, as it does for code that makes arrays. Raises CannotCompile with
    the reason, in one line, where numba refuses.
    """
    with _lock:
        reach = reach_of(things)
        key = hard, shape(things), reach.digest
        if key not in _entries:
            _entries[key] = _compile(things, hard, reach), reach
        return _entries[key][0]


def reach_of(things: FieldTuple) -> Reach:
    """All the code that the classes of some values read."""
    return Reach(*map(type, records_in(*things)))


def _compile(things: Things, hard: bool, reach: Reach) -> Function:
    where = _folder(things, hard, reach)
    if not reach.portable or _changed(reach):
        copies = ClassCopies(reach)
        for function in copies.functions:
            register(function)
        return _entry(things, hard, copies.of, reach)
    for function in reach.functions:
        register(function)
    if where is not None:
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(where)
        try:
            return _entry(things, hard, lambda cls: cls, reach, cache=True)
        except CannotCompile:
            raise
        except Exception:  # a damaged cache can fail in any way; what was not the cache's fault fails again below
            shutil.rmtree(where, ignore_errors=True)
        finally:
            numba.config.CACHE_DIR = before
    return _entry(things, hard, lambda cls: cls, reach)


def _entry(things: Things, hard: bool, copy_of: Callable[[type], type], reach: Reach, **options: bool) -> Function:
    """Compile the first version of the loop that numba does not refuse."""
    policy, memory, world = things
    words = np.zeros(1, np.uint64)
    arguments = (
        world, policy, memory, loop.ResetImage(words[None], words, words, words, words),
        loop.RunState.start(1, np.ones(1) if hard else None),
        loop.Crossings.blank(1, 1, 1), Limits.of(np.ones(1), None),
    )  # fmt: skip
    generator = numba.typeof(np.random.default_rng(0))
    signature = (generator, *(type_of(value, copy_of) for value in arguments), types.int64, types.int64, types.int64)
    for version in PLAY:
        try:
            entry: Function = numba.njit(nogil=True, **OPTIONS, **options)(version).compile(signature)
        except NumbaError as error:
            refusal = error
        else:
            return entry
    raise CannotCompile(reason_of(str(refusal), reach.functions)) from refusal


def type_of(value: FieldTuple, stand_in: Callable[[type], type]) -> NumbaType:
    """The numba type of a value, with another class in place of each record's."""
    if is_record(value):
        return types.BaseTuple.from_types([type_of(field, stand_in) for field in value], stand_in(type(value)))
    return numba.typeof(value)


def _changed(reach: Reach) -> bool:
    """Whether anything here has been compiled before with other code behind it."""
    known = {item: Reach(item).digest for item in (*reach.classes, *reach.functions)}
    stale = any(_first_met.get(item, digest) != digest for item, digest in known.items())
    if not stale:
        _first_met.update(known)
    return stale


class ClassCopies:
    """Copies of classes and of the plain functions they reach: to numba, things it has never seen.

    A function that the user gave to njit is replaced by a plain copy of what was given: its own machine code is frozen,
    and its reference counts are not ours.
    """

    def __init__(self, reach: Reach) -> None:
        self._copies: dict[Any, Any] = {}
        for function in reach.functions:
            if function not in OWN:
                self._copies[function] = _bare_copy(function)
        for cls in reach.classes:
            self._copies[cls] = type(cls.__name__, (cls,), {"__slots__": ()})
        for module in reach.modules:
            self._copies[module] = python.ModuleType(module.__name__)
        for original, copy in self._copies.items():
            if isinstance(original, type):
                for name in PROTOCOL:
                    if inspect.isfunction(method := getattr(original, name, None)):
                        setattr(copy, name, self.of(method))
            elif inspect.ismodule(original):
                vars(copy).update({name: self.of(value) for name, value in vars(original).items()})
            else:
                copy.__globals__.update({name: self.of(value) for name, value in original.__globals__.items()})
                for cell, old in zip(copy.__closure__ or (), original.__closure__ or (), strict=True):
                    cell.cell_contents = self.of(old.cell_contents)

    @property
    def functions(self) -> list[Any]:
        """The copied functions."""
        return [copy for copy in self._copies.values() if inspect.isfunction(copy)]

    def of(self, value: Any) -> Any:
        """What stands in for a class, function or module; anything else as it is."""
        if inspect.isfunction(given := getattr(value, "py_func", None)):
            value = given
        copied = inspect.isfunction(value) or isinstance(value, type) or inspect.ismodule(value)
        return self._copies.get(value, value) if copied else value


def _bare_copy(function: Any) -> Any:
    """A copy with globals and cells of its own, both still to be filled."""
    cells = tuple(python.CellType() for _ in function.__closure__ or ()) or None
    copy = python.FunctionType(function.__code__, {}, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _folder(things: Things, hard: bool, reach: Reach) -> Path | None:
    """The folder for a loop; None where nothing can be written, or its classes are not to be found elsewhere.

    It lies in $OUTLAY_CACHE_DIR, or in outlay's place in the user's cache.
    """
    if not reach.portable:
        return None
    key = f"{_versions()} {'hard' if hard else 'soft'} {reach.digest} {described(shape(things))}"
    try:
        shared = os.environ.get("XDG_CACHE_HOME") or ("~/Library/Caches" if sys.platform == "darwin" else "~/.cache")
        root = Path(os.environ.get("OUTLAY_CACHE_DIR") or f"{shared}/outlay").expanduser()
        path = root / hashlib.sha256(key.encode()).hexdigest()[:32]
        if not path.is_dir():
            path.mkdir(parents=True)
            for old in root.iterdir():  # every edit of a policy leaves a folder behind
                if time.time() - old.stat().st_mtime > _KEPT_DAYS * 86_400:
                    shutil.rmtree(old, ignore_errors=True)
        os.utime(path)
        with tempfile.TemporaryFile(dir=path):
            return path
    except (OSError, RuntimeError):  # there is no home
        return None


@functools.cache
def _versions() -> str:
    sources = hashlib.sha256()
    package = Path(__file__).parents[2]
    for path in sorted(path for part in _COMPILED for path in (package / part).rglob("*.py")):
        sources.update(f"{path.relative_to(package)} {path.stat().st_size} ".encode() + path.read_bytes())
    modules = (np.__version__, numba.__version__, llvmlite.__version__)
    return f"{sys.version} {platform.machine()} {modules} {sources.hexdigest()}"


_PLACE = r'([^\n]*\S)\s*\n\s*File "([^"]+)", line (\d+):\n(?:(?! *File ")[^\n]*\n)*?([^\n]*)\n *\^'
_LACKS = r"Use of unsupported NumPy function '(\w+(?:\.\w+)*)'"


def reason_of(report: str, functions: Iterable[python.FunctionType] = ()) -> str:
    r"""Which line of the user's numba stumbled over, and what it said there; `functions` are those it might be in.

    >>> reason_of('Unknown attribute cots\nFile "mine.py", line 3:\n    return belief.cots\n    ^')
    "numba refuses 'return belief.cots' in mine.py, line 3 (Unknown attribute cots)"
    """
    report = re.sub(r"\x1b\[[0-9;]*m", "", report)
    for found in re.finditer(_PLACE, report):
        said, path, line, code = (part.strip() for part in found.groups())
        if not re.search(r"[\\/](numba|outlay)[\\/]", path):
            lacks = re.search(_LACKS, said)
            why = f"it has no {lacks[1]}: use math, and a loop" if lacks else said.rstrip(".")
            why = f" ({why})" if why and not why.startswith("During") else ""
            return f"numba refuses {code!r} in {_place(path, int(line), functions)}{why}"
    telling = (line.strip() for line in report.splitlines() if re.search(r"Unknown|Cannot|annot |nvalid|ntyped", line))
    return f"numba says {next(telling, 'nothing helpful')!r}"


def _place(path: str, line: int, functions: Iterable[python.FunctionType]) -> str:
    """`Mine.score (mine.py, line 12)`, or the file and the line where no function is known to hold it."""
    file = path.rsplit("/", 1)[-1]
    for function in functions:
        code = function.__code__
        if code.co_filename.rsplit("/", 1)[-1] == file and any(at == line for _, _, at in code.co_lines()):
            return f"{code.co_qualname.rpartition('<locals>.')[2]} ({file}, line {line})"
    return f"{file}, line {line}"


def _after_fork() -> None:
    """Nobody holds the lock in a child: the thread that may have held it was not copied."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)
