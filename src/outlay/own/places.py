"""Where code of the user's is, in words: `Mine.score (mine.py, line 12)`."""

import sysconfig
import traceback
import types
from collections.abc import Sequence
from pathlib import Path

_OUTLAY = str(Path(__file__).parents[1])
_ELSEWHERE = (*{sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}, "<frozen")


def is_own(cls: type) -> bool:
    """Whether a class is the user's: written outside of this package.

    >>> from outlay.errors import OutlayError
    >>> is_own(OutlayError), is_own(Path)
    (False, True)
    """
    return cls.__module__.partition(".")[0] != "outlay"


def in_words(name: str, file: str, line: int) -> str:
    """A function with its file and line.

    >>> in_words("Mine.score", "/home/me/mine.py", 12)
    'Mine.score (mine.py, line 12)'
    """
    return f"{name} ({Path(file).name}, line {line})"


def place_of(owner: type, method: str) -> str:
    """Where a method of a class begins."""
    code = getattr(getattr(owner, method), "__code__", None)
    name = f"{owner.__name__}.{method}"
    return name if code is None else in_words(name, code.co_filename, code.co_firstlineno)


def what_failed(error: BaseException, *owners: type) -> str:
    """The user's function and line that an exception comes from, and what it says.

    The last line that is neither outlay's nor in an installed package nor in Python itself; else the very last.
    Compiled code tells the name of a method, not of its class, which is then looked for among `owners`.
    """
    frames = list(traceback.walk_tb(error.__traceback__))
    outside = [(frame, line) for frame, line in frames if not frame.f_code.co_filename.startswith(_OUTLAY)]
    mine = [(frame, line) for frame, line in outside if not frame.f_code.co_filename.startswith(_ELSEWHERE)]
    said = f"failed with {type(error).__name__}: {error}"
    if not (found := mine or outside or frames):
        return said
    frame, line = found[-1]
    return f"{in_words(_name(frame.f_code, owners), frame.f_code.co_filename, line)} {said}"


def _name(code: types.CodeType, owners: Sequence[type]) -> str:
    """A function's name with its class's, without where a function within a function was made."""
    for owner in owners:
        method = getattr(getattr(owner, code.co_name, None), "__code__", None)
        if method is not None and method.co_filename == code.co_filename:
            return f"{owner.__name__}.{code.co_name}"
    return code.co_qualname.rpartition("<locals>.")[2]
