"""A connection that is not kept waiting: a request must arrive within a while, and its answer be read within one."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

SECONDS = 30.0  # for a request to arrive, from its first byte, or from when the connection was made
SLOWEST = 60.0  # for a reader to take what fills the buffer; who reads nothing at all is cut off
MOST_HEAD = 1 << 16  # bytes of a request line and its headers


class Connection(HttpToolsProtocol):
    """uvicorn's, with timers. A request that arrives in one piece, as nearly all do, never starts one."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._timer: asyncio.TimerHandle | None = None
        self._deaf: asyncio.TimerHandle | None = None
        self._arriving = self._in_head = False
        self._head = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has connected, and may be in no hurry to say anything."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Something has come."""
        super().data_received(data)
        if self._in_head:
            self._head += len(data)
            if self._head > MOST_HEAD:
                self.send_400_response("The request has too long a head.")
        if self._arriving:
            self._wait()
        else:
            self._done()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._done()
        self._heard()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Much waits to be read at the other end."""
        super().pause_writing()
        self._deaf = self.loop.call_later(SLOWEST, self.transport.abort)

    def resume_writing(self) -> None:
        """It was read."""
        self._heard()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing has come for long; where the last answer was not even read, nobody waits for its end."""
        if self.transport.get_write_buffer_size() > 0:
            self.transport.abort()
        super().timeout_keep_alive_handler()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._arriving = self._in_head = True
        self._head = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Its head is there."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All of it is there."""
        self._arriving = False
        super().on_message_complete()

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(SECONDS, self.transport.close)

    def _heard(self) -> None:
        if self._deaf is not None:
            self._deaf.cancel()
            self._deaf = None

    def _done(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
