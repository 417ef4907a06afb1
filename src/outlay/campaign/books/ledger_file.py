"""A ledger as lines of JSON, which any program can read.

The first line says what the file is, one line per event follows, and the last line holds the number of events, the
SHA-256 of all lines before it, so that a file that was cut or damaged is not taken for whole, and the head of the chain
of events, by which the ledger is known wherever it goes.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import msgspec

from outlay import __version__
from outlay.campaign.ledger.agreement import LONGEST, MOST_ARMS
from outlay.campaign.ledger.chain import NOTHING, link
from outlay.campaign.ledger.events import Record, from_json, to_json
from outlay.errors import BadFile

FORMAT = 1
LONGEST_LINE = 2**22  # bytes: ten thousand samples of a warm start need a quarter of it
_LONGEST = {1: 2**16, 2: LONGEST_LINE + MOST_ARMS * (4 * LONGEST + 64)}  # the header, and the opening with all arms


class _Header(msgspec.Struct):
    outlay: str
    format: int
    version: str
    campaign: str


class _Event(msgspec.Struct):
    seq: int
    at: int
    event: msgspec.Raw


class _End(msgspec.Struct):
    events: int
    sha256: str
    head: str  # the hash of the last event


def write(file: BinaryIO, campaign: str, events: Iterable[tuple[int, int, str]]) -> int:
    """Write the number, time and text of each event; return how many there were."""
    digest, count, head = hashlib.sha256(), 0, NOTHING

    def put(line: msgspec.Struct) -> None:
        text = msgspec.json.encode(line) + b"\n"
        digest.update(text)
        file.write(text)

    put(_Header("ledger", FORMAT, __version__, campaign))
    for seq, at, body in events:
        put(_Event(seq, at, msgspec.Raw(body.encode())))
        count, head = count + 1, link(head, seq, at, body)
    put(_End(count, digest.hexdigest(), head))
    return count


class LedgerFile:
    """A file to read from; what is not as `write` wrote it is BadFile, in a sentence with the file's name."""

    def __init__(self, file: BinaryIO, title: str) -> None:
        self._file, self._title = file, title
        self._digest = hashlib.sha256()
        self._line = 0
        self._head = NOTHING
        header = self._decoded(self._next(), _Header, "this is no ledger of outlay")
        if header.outlay != "ledger":
            raise self.bad("this is no ledger of outlay")
        if header.format > FORMAT:
            raise self.bad(f"it was written by a newer outlay ({header.version}): upgrade outlay to read it")
        self.campaign: str = header.campaign

    def bad(self, reason: str) -> BadFile:
        """What to raise where it cannot be used."""
        return BadFile(f"{self._title}: {reason}")

    def records(self) -> Iterator[Record]:
        """The events; after the last, the file is known to be whole."""
        count = 0
        while line := self._next():
            if not line.startswith(b'{"seq":'):
                self._check_end(line, count)
                return
            yield self._record(line)
            count += 1
        raise self.bad("it was cut: its last line is missing")

    def _next(self) -> bytes:
        """The next line; the one before is done with."""
        self._line += 1
        self._before = self._digest.copy()
        most = _LONGEST.get(self._line, LONGEST_LINE)
        line = self._file.readline(most)
        if len(line) >= most:
            raise self.bad(f"line {self._line} is longer than any line of a ledger")
        self._digest.update(line)
        if line and not line.endswith(b"\n"):
            raise self.bad("it was cut in the middle of a line" if self._line > 1 else "this is no ledger of outlay")
        return line

    def _record(self, line: bytes) -> Record:
        parts = self._decoded(line, _Event, f"line {self._line} is no event")
        body = bytes(parts.event)
        event = self._decoded(body, None, f"line {self._line} is no event")
        if to_json(event).encode() != body:
            raise self.bad(f"line {self._line} says more than this version of outlay understands: upgrade it")
        record = Record(parts.seq, parts.at, event, self._head)
        self._head = link(self._head, parts.seq, parts.at, body.decode())
        return record

    def _decoded(self, text: bytes, kind: Any, otherwise: str) -> Any:
        try:
            return from_json(text) if kind is None else msgspec.json.decode(text, type=kind)
        except (msgspec.DecodeError, RecursionError):
            raise self.bad(otherwise) from None

    def _check_end(self, line: bytes, count: int) -> None:
        whole = self._before.hexdigest()
        end = self._decoded(line, _End, f"line {self._line} is neither an event nor the last line")
        if end.sha256 != whole or end.events != count or end.head != self._head:
            raise self.bad("it is damaged: its lines are not those that its last line was written for")
        if self._next():
            raise self.bad("there is more after its last line")
