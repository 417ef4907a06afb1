"""A store as it is at one moment, to be read only: also where nothing may be written, on a read-only disk."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy.engine import Connection, Engine

from outlay.campaign.stores.db import sqlite_file
from outlay.campaign.stores.db.address import parsed
from outlay.campaign.stores.db.database import adopt, at_one_moment, connect, in_plain_words, revision
from outlay.campaign.stores.db.making import REVISION
from outlay.errors import StoreError


@contextmanager
def reading(store: object, owner: str = "Campaign.open") -> Iterator[Connection]:
    """A connection that sees a store as it is at one moment, whatever is written meanwhile."""
    url = parsed(store, owner)
    path = sqlite_file.checked_path(url, new=False) if url.get_backend_name() == "sqlite" else None
    if path is None or (_writable(path) and _writable(path.parent)):
        engine = connect(store, new=False, owner=owner)
        try:
            with in_plain_words(engine), at_one_moment(engine) as connection:
                yield connection
        finally:
            engine.dispose()
        return
    with ExitStack() as stack:
        engine = _of_a_file_that_may_not_be_written(path, stack)
        with in_plain_words(engine), at_one_moment(engine) as connection:
            yield connection


def _of_a_file_that_may_not_be_written(path: Path, stack: ExitStack) -> Engine:
    engine = sqlite_file.engine_of(path, "immutable" if _is_still(path) else "ro")
    stack.callback(engine.dispose)
    if _is_still(path):
        stack.callback(_check_still, path)
    adopt(engine)
    with in_plain_words(engine):
        if revision(engine) != REVISION:
            raise StoreError(f"{path} was written by an older outlay: it is brought up to date where it may be written")
    return engine


def _is_still(path: Path) -> bool:
    """Whether SQLite could keep no log beside the file, and nobody else keeps one: then nothing changes in it."""
    log = path.with_name(f"{path.name}-wal")
    return not _writable(path.parent) and not log.exists()


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _check_still(path: Path) -> None:
    if not _is_still(path):
        raise StoreError(f"{path} was written to while it was read: read it again")
