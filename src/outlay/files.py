"""Files and folders that a user names; what is wrong with one is said in a sentence, as BadParameter or BadFile."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from outlay.errors import BadFile, BadParameter


def checked_path(owner: str, value: object) -> Path:
    """The path that the user passed to `owner`.

    >>> checked_path("load", 5)
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
    """Turn what the system refuses while the file is read into BadFile."""
    try:
        yield
    except OSError as error:
        raise BadFile(f"cannot read {path}: {error.strerror or error}") from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system refuses while the file is written into BadFile."""
    try:
        yield
    except OSError as error:
        raise BadFile(f"cannot write {path}: {error.strerror or error}") from None


def check_writable(path: Path) -> None:
    """Raise BadFile where a file cannot be written, as far as can be told without writing."""
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


def check_folder(folder: Path) -> None:
    """Raise BadFile where something that is not a folder is in the way."""
    with writing(folder):
        for path in (folder, *folder.parents):
            if path.is_dir():
                return
            if path.exists():
                what = "it is a file" if path == folder else f"Not a directory: {path}"
                raise BadFile(f"cannot write {folder}: {what}")


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """Make the folder and those above it; where the work fails and leaves them empty, they are removed again."""
    check_folder(folder)
    with writing(folder):
        new = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # not empty: what is there is kept
            for path in new:
                path.rmdir()
        raise
