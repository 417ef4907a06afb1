"""From a path to what stands there: a few look-ups, however many routes there are.

Parts of a path are split before they are decoded, so that a name may hold a slash (`spring%2F1`).
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from outlay.service.call import ByMethod, Endpoint

ANY = "*"  # in the place of a parameter; as a part of a real path it would be matched as itself


class Place(NamedTuple):
    """What stands at a path, and the names of its parameters, by where they are."""

    app: ASGIApp
    names: dict[int, str]


class Paths:
    """All paths of the service; what is at none of them goes to `otherwise`."""

    def __init__(self, endpoints: Sequence[Endpoint], otherwise: ASGIApp) -> None:
        by_path: dict[str, list[Endpoint]] = {}
        for endpoint in endpoints:
            by_path.setdefault(endpoint.route.path, []).append(endpoint)
        self._otherwise = otherwise
        self._places: dict[tuple[str, ...], Place] = {}
        for path, found in by_path.items():
            parts = path.split("/")
            names = {i: part[1:-1] for i, part in enumerate(parts) if part.startswith("{")}
            self._places[tuple(ANY if i in names else part for i, part in enumerate(parts))] = Place(
                ByMethod(found), names
            )
        where = sorted({i for place in self._places.values() for i in place.names})
        self._masks = [mask for size in range(len(where) + 1) for mask in combinations(where, size)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand over to what stands at the path."""
        parts = scope["path"].split("/")
        for mask in self._masks:
            if mask and mask[-1] >= len(parts):
                continue
            tried = tuple(ANY if i in mask else part for i, part in enumerate(parts)) if mask else tuple(parts)
            place = self._places.get(tried)
            if place is not None and all(parts[i] for i in mask):
                scope["path_params"] = {name: unquote(parts[i]) for i, name in place.names.items()}
                await place.app(scope, receive, send)
                return
        await self._otherwise(scope, receive, send)
