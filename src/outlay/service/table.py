"""The table of routes: each is a function whose annotations say what it takes and returns.

From the same table come the server's routes, the check of who may call what, and the OpenAPI document.
"""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, get_type_hints

from outlay.service.keys.key import Scope

Handler = Callable[..., Awaitable[Any]]


class Route(NamedTuple):
    """What can be called: `scope` is what a key must allow, None where none is needed."""

    method: str
    path: str
    scope: Scope | None
    handler: Handler
    body: Any  # the type, or None
    query: Any
    answer: Any
    status: int
    media: str  # of the answer

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return (inspect.getdoc(self.handler) or "").partition("\n")[0]

    @property
    def changes(self) -> bool:
        """Whether it changes something that an admin answers for."""
        return self.scope == "admin" and self.method != "GET"


class Table:
    """Routes, in the order in which they are tried."""

    def __init__(self) -> None:
        self.routes: list[Route] = []

    def route(
        self, method: str, path: str, scope: Scope | None, *, status: int = 200, media: str = "application/json"
    ) -> Callable[[Handler], Handler]:
        """Add a function: parameters named `body` and `query` are decoded into the types that it says."""

        def add(handler: Handler) -> Handler:
            hints = get_type_hints(handler, include_extras=True)
            types = hints.get("body"), hints.get("query"), hints.get("return")
            self.routes.append(Route(method, path, scope, handler, *types, status, media))
            return handler

        return add
