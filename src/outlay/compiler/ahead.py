"""Compiled code that is made ready while its caller goes on without it.

Numba holds the interpreter's lock while it compiles, and threads that want it wait: tenths of a second at a time, for
as long as a minute. So another process compiles and leaves the code in the cache on disk, and this one only loads it.
Where nothing can be kept on disk nothing is compiled.

$OUTLAY_COMPILE_AHEAD, if it is "never", means that nobody is to do this: tests, or a host without room for a second
process.
"""

import atexit
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from outlay.compiler.records import described, shape
from outlay.compiler.untyped import FieldTuple

Function = Callable[..., Any]

_CHILD = "import sys; sys.path[:] = sys.argv[1:]; from outlay.compiler.ahead import compile_here; compile_here()"
_PATIENCE = 300.0  # seconds for a compilation


class Coming:
    """A compiled function on its way: `entry` is there in the end, or `failure` says why it is not."""

    def __init__(self) -> None:
        self.entry: Function | None = None
        self.failure: str | None = None
        self.told = False  # whether the failure was
        self.over = threading.Event()
        self.child: subprocess.Popen[bytes] | None = None


_coming: dict[tuple[str, str], Coming] = {}
_leaving = threading.Event()


def possible() -> bool:
    """Whether anything can be compiled, and may be."""
    return os.environ.get("OUTLAY_COMPILE_AHEAD") != "never" and find_spec("numba") is not None


def order(versions: str, things: tuple[FieldTuple, ...]) -> Coming:
    """Have a function compiled for arguments of these types; whoever asks for the same later gets the same.

    `versions` is where the function is found, "module:name", as versions that `dispatch.compiled` can choose from.
    """
    key = versions, described(shape(things))
    coming = _coming.get(key)
    if coming is None:
        mine = Coming()
        coming = _coming.setdefault(key, mine)
        if coming is mine:
            thread = threading.Thread(target=_fetch, args=(mine, versions, things), name="outlay-compile", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # too many, or the process is ending
                mine.failure = str(error)
                mine.over.set()
    return coming


def _fetch(coming: Coming, versions: str, things: tuple[FieldTuple, ...]) -> None:
    try:
        coming.entry = _fetched(coming, versions, things)
    except Exception as error:  # numba, the disk and other processes fail in many ways: its caller can do without it
        coming.failure = f"{type(error).__name__}: {error}"
    finally:
        coming.over.set()


def _fetched(coming: Coming, versions: str, things: tuple[FieldTuple, ...]) -> Function:
    from outlay.compiler import dispatch

    kept = dispatch.on_disk(_versions(versions), things)
    if kept is None:
        raise dispatch.CannotCompile("compiled code cannot be kept on disk: see OUTLAY_CACHE_DIR")
    if not kept:
        _have_compiled(coming, versions, things)
    return _compiled(versions, things)


def _versions(name: str) -> tuple[Function, ...]:
    module, _, versions = name.partition(":")
    return tuple(getattr(import_module(module), versions))


def _compiled(versions: str, things: tuple[FieldTuple, ...]) -> Function:
    """From disk, or compiled here and now; it keeps the interpreter's lock, since calls take microseconds."""
    from outlay.compiler import dispatch

    return dispatch.compiled(_versions(versions), things, lambda type_of: tuple(map(type_of, things)), nogil=False)


def _have_compiled(coming: Coming, versions: str, things: tuple[FieldTuple, ...]) -> None:
    """Compile in another process, which leaves the code on disk."""
    from outlay.compiler.dispatch import CannotCompile

    if getattr(sys, "frozen", False) or "python" not in os.path.basename(sys.executable or ""):  # noqa: PTH119
        raise CannotCompile(f"{sys.executable!r} is not an interpreter that could be started")
    command = [sys.executable, "-c", _CHILD, *sys.path]
    with subprocess.Popen(  # noqa: S603 (a group of its own: Ctrl-C is not meant for it)
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0
    ) as child:
        coming.child = child
        try:
            if _leaving.is_set():
                raise CannotCompile("the process is ending")
            said, _ = child.communicate(pickle.dumps((versions, _plain(things))), _PATIENCE)
        finally:
            child.kill()
    if child.returncode:
        raise CannotCompile(said.decode(errors="replace").strip() or f"the compiler ended with {child.returncode}")


def _plain(value: object) -> object:
    """Records as their classes and fields: pickled as they are, they would be made anew from what users pass."""
    return (type(value), [_plain(field) for field in value]) if isinstance(value, tuple) else value


def _records(value: Any) -> Any:
    """The inverse of `_plain`."""
    return tuple.__new__(value[0], map(_records, value[1])) if isinstance(value, tuple) else value


def compile_here() -> None:
    """What the other process does: compile what comes in, after everybody else's work, and say what went wrong."""
    os.nice(5)
    versions, things = pickle.load(sys.stdin.buffer)  # noqa: S301 (from the process that started this one)
    try:
        _compiled(versions, _records(things))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        sys.exit(1)


@atexit.register
def _leave() -> None:
    """Nothing outlives this process: a thread that is in numba's code as it goes down would take it along."""
    _leaving.set()
    for coming in list(_coming.values()):
        if coming.child is not None:
            coming.child.kill()
        coming.over.wait()


def _after_fork() -> None:
    """The threads were not copied: what was on its way does not come."""
    for key, coming in list(_coming.items()):
        if not coming.over.is_set():
            del _coming[key]


os.register_at_fork(after_in_child=_after_fork)
