"""What a class of the user's does, as a short digest: a result is kept as long as the code that made it is the same."""

import collections
import inspect
import sys
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import cast

from outlay.compiler.fingerprint import Reach
from outlay.own.places import is_own
from outlay.own.references import reference_of
from outlay.parameters import is_record

_MAKERS = (collections.__file__, "<string>")  # of NamedTuple's methods


def own_classes(*values: object) -> list[type]:
    """The user's classes among some records, and among records inside them, each once."""
    found: dict[type, None] = {}
    for value in values:
        if is_record(value):
            if is_own(type(value)):
                found[type(value)] = None
            found.update(dict.fromkeys(own_classes(*cast(tuple[object, ...], value))))
    return list(found)


def digests(*values: object) -> dict[str, str]:
    """The user's classes among some records, each with a digest of its code."""
    return {reference_of(cls): digest(cls) for cls in own_classes(*values)}


def digest(cls: type) -> str:
    """Everything that the methods of a class read, helpers and constants included; comments and layout are not code.

    Where the methods hold something that only this process knows (an object of another library, say), the text of the
    file stands for them.
    """
    reach = Reach(cls, *_functions(cls))
    if reach.portable:
        return reach.digest
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    return sha256(Path(file).read_bytes()).hexdigest()[:24] if file else reach.digest


def _functions(cls: type) -> list[FunctionType]:
    """The methods that the user wrote, and what makes derived fields; not those that NamedTuple made."""
    parts = [part for base in cls.__mro__ if is_own(base) for _, part in sorted(vars(base).items())]
    parts += [entry.make for entry in getattr(cls, "_declared", {}).values()]
    plain = [part.__func__ if isinstance(part, (classmethod, staticmethod)) else part for part in parts]
    return [part for part in plain if inspect.isfunction(part) and part.__code__.co_filename not in _MAKERS]
