"""Folders for what is to be written: made when needed, and taken away again where nothing came of it."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from outlay.errors import BadFile
from outlay.files import writing


def check_folder(folder: Path) -> None:
    """BadFile where something that is no folder is in the way."""
    with writing(folder):
        for path in (folder, *folder.parents):
            if path.is_dir():
                return
            if path.exists():
                what = "it is a file" if path == folder else f"Not a directory: {path}"
                raise BadFile(f"cannot write {folder}: {what}")


@contextmanager
def made(folder: Path) -> Iterator[None]:
    """Make the folder, and those above it; where the work fails and leaves them empty, they are gone again."""
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
