"""Server-sent events: an answer that goes on until its reader goes, reads no more or may not, or the service stops."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from starlette.types import Receive, Scope, Send

from outlay.service.desk import Desk
from outlay.service.problems import Refused

LOOK = 0.25  # seconds between two looks at what there is to send
QUIET = 15.0  # seconds after which a stream says that it is alive
RETRY = b"retry: 2000\n\n"  # milliseconds until a browser connects again
ALIVE = b": alive\n\n"
HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]


class Stream:
    """A stream of pieces; an empty one says that there is nothing at the moment.

    Whoever does not read stops his own stream only: nothing is looked up while the last piece waits to be sent, and
    after a while the connection is cut. A key that is revoked, or expires, ends its streams.
    """

    def __init__(self, desk: Desk, pieces: AsyncIterator[bytes], allowed: Callable[[], Awaitable[bool]]) -> None:
        if desk.streams >= desk.settings.most_streams:
            raise Refused("busy", "too many streams are open", 5.0)
        self._desk, self._pieces, self._allowed = desk, pieces, allowed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until there is a reason to stop; to a HEAD nothing but what a stream begins with."""
        if scope["method"] == "HEAD":
            await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS]})
            await send({"type": "http.response.body", "body": b""})
            return
        over = [asyncio.ensure_future(_gone(receive)), asyncio.ensure_future(self._desk.stopping.wait())]
        self._desk.streams += 1
        try:
            await send({"type": "http.response.start", "status": 200, "headers": [*HEADERS]})
            await self._send_all(send, over)
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._desk.streams -= 1
            for each in over:
                each.cancel()

    async def _send_all(self, send: Send, over: Sequence[asyncio.Future[object]]) -> None:
        await send({"type": "http.response.body", "body": RETRY, "more_body": True})
        quiet = 0.0
        async for piece in self._pieces:
            if not piece:
                await asyncio.wait(over, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
                quiet += LOOK
            if any(each.done() for each in over) or not await self._allowed():
                return
            if piece or quiet >= QUIET:
                quiet = 0.0
                await send({"type": "http.response.body", "body": piece or ALIVE, "more_body": True})


async def _gone(receive: Receive) -> object:
    while (await receive())["type"] != "http.disconnect":
        continue
    return None
