"""Files that a user names: a path or `BadParameter`, a file that can be read or written or `BadFile`, in a sentence."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from outlay.errors import BadFile, BadParameter


def place(owner: str, value: object) -> Path:
    """The path that the user passed to `owner`.

    >>> place("load", 5)
    Traceback (most recent call last):
    outlay.errors.BadParameter: path of load must be a path, a string or a pathlib.Path; got 5
    """
    try:
        path = Path(value)  # type: ignore[arg-type]
        good = b"\0" not in os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        good = False
    if not good:
        raise BadParameter(owner, "path", "a path, a string or a pathlib.Path", value)
    return path


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What the system refuses while the file is read, as BadFile."""
    try:
        yield
    except OSError as error:
        raise BadFile(f"cannot read {path}: {error.strerror or error}") from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the system refuses while the file is written, as BadFile."""
    try:
        yield
    except OSError as error:
        raise BadFile(f"cannot write {path}: {error.strerror or error}") from None


def check_writable(path: Path) -> None:
    """BadFile where a file cannot be written, as far as can be told without writing."""
    with writing(path):
        exists = path.exists()
        if path.is_dir():
            raise BadFile(f"cannot write {path}: it is a folder")
        if exists and not path.is_file():
            raise BadFile(f"cannot write {path}: it is not an ordinary file")
        if not path.parent.is_dir():
            raise BadFile(f"cannot write {path}: there is no folder {path.parent}")
        if not os.access(path.parent, os.W_OK | os.X_OK) or (exists and not os.access(path, os.W_OK)):
            raise BadFile(f"cannot write {path}: permission denied")
