"""The dashboard: a few files, read once, that hold no data; their script reads the same routes as everybody."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from starlette.types import Receive, Scope, Send

from outlay.service.call import SAFE, respond
from outlay.service.problems import Refused

KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
}


class Page(NamedTuple):
    """A file as it is sent."""

    body: bytes
    kind: bytes


@cache
def pages() -> dict[str, Page]:
    """From paths to files.

    >>> pages()["/"].kind
    b'text/html; charset=utf-8'
    """
    folder = Path(__file__).parent / "static"
    found = {f"/{path.name}": Page(path.read_bytes(), KINDS[path.suffix]) for path in sorted(folder.iterdir())}
    return {**found, "/": found["/index.html"]}


async def show(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
    """Send a page, where there is one of this path."""
    page = pages().get(scope["path"])
    if page is None:
        raise Refused("not_found")
    scope["outlay.route"] = "page"
    if scope["method"] not in SAFE:
        scope["outlay.allow"] = b"GET"
        raise Refused("method_not_allowed")
    headers = [(b"content-type", page.kind), (b"cache-control", b"no-cache")]
    await respond(send, 200, headers, page.body)
