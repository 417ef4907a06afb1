"""Tells that could not be delivered, in a file until they can: an outage of the service does not stop the work."""

import fcntl
import json
import logging
import os
import threading
from pathlib import Path

from outlay.client.answers import Json
from outlay.errors import BadFile

AT_ONCE = 500  # tells that are delivered in one request

_log = logging.getLogger("outlay.client")


class Spool:
    """A file of tells, one per line, for one process at a time. What the service refuses goes to a file beside it."""

    def __init__(self, path: str | Path) -> None:
        self._path, self._lock = Path(path), threading.Lock()
        try:
            self._file = self._path.open("a+b")
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise BadFile(f"{path} is the spool of another process: give each its own") from None
        except OSError as error:
            raise BadFile(f"{path} cannot be a spool: {error.strerror}") from error
        self._waiting = self._read()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, tell: Json) -> None:
        """Keep a tell; it is on disk when this returns."""
        with self._lock:
            self._file.write(json.dumps(tell).encode() + b"\n")
            self._flush()
            self._waiting.append(tell)

    def some(self, most: int) -> list[Json]:
        """The first tells that wait."""
        return self._waiting[:most]

    def delivered(self, tells: list[Json], results: list[Json]) -> None:
        """These were told, or refused for good; what was refused is kept for people to look at."""
        refused = [
            {**tell, "problem": result["problem"]}
            for tell, result in zip(tells, results, strict=True)
            if "problem" in result
        ]
        if refused:
            name = self._path.with_name(f"{self._path.name}.refused")
            _log.error("%d tells from the spool were refused: see %s", len(refused), name)
            with name.open("ab") as file:
                file.writelines(json.dumps(each).encode() + b"\n" for each in refused)
                file.flush()
                os.fsync(file.fileno())
        told = {id(tell) for tell in tells}
        with self._lock:
            self._waiting = [tell for tell in self._waiting if id(tell) not in told]
            if not self._waiting:  # to be told again is harmless, so the file need not shrink line by line
                self._file.truncate(0)
                self._flush()

    def close(self) -> None:
        """Let the file go; what waits is delivered by the next who opens it."""
        self._file.close()

    def _read(self) -> list[Json]:
        """What the file holds; a last line that was cut off by a crash was not promised to anybody."""
        self._file.seek(0)
        lines = self._file.read().split(b"\n")
        if lines[-1]:
            self._file.truncate(sum(len(line) + 1 for line in lines[:-1]))
        try:
            return [json.loads(line) for line in lines[:-1] if line]
        except ValueError:
            raise BadFile(f"{self._path} is no spool") from None

    def _flush(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
