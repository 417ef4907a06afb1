"""A verb of a client is written once, as the requests that it makes; a thread or asyncio sends them.

A verb is a generator that yields each `Request` and is handed its `Answer`:

    def pause(client: Caller) -> Requests[None]:
        yield Request("POST", client.path("pause"))
"""

from collections.abc import Callable, Coroutine, Generator
from decimal import Decimal
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar
from urllib.parse import quote

import msgspec

P = ParamSpec("P")
T = TypeVar("T")


class Request(NamedTuple):
    """What to send. Every verb of a campaign changes nothing the second time, so it may be sent again."""

    method: str
    path: str
    body: Any = None
    query: dict[str, Any] | None = None
    seconds: float = 0.0  # that the service was asked to wait before it answers


Requests = Generator[Request, Any, T]


class Caller(Protocol):
    """What a verb needs of its client."""

    campaign: str

    def path(self, *parts: object) -> str:
        """The path of something in its campaign."""

    def held(self, pull: Any) -> Any:
        """A pull in the hands of whoever asked for it."""


class Sender(Caller, Protocol):
    """A client whose requests are sent in a thread."""

    def send(self, request: Request) -> Any:
        """The answer."""


class AsyncSender(Caller, Protocol):
    """A client whose requests are awaited."""

    async def send(self, request: Request) -> Any:
        """The answer."""


S = TypeVar("S", bound=Sender)
A = TypeVar("A", bound=AsyncSender)


def now(verb: Callable[Concatenate[Any, P], Requests[T]]) -> Callable[Concatenate[Sender, P], T]:
    """The method that sends the requests of a verb in the caller's thread."""

    @wraps(verb)
    def sent(self: Sender, /, *args: P.args, **named: P.kwargs) -> T:
        requests = verb(self, *args, **named)
        try:
            request = next(requests)
            while True:
                try:
                    answer = self.send(request)
                except Exception as error:
                    request = requests.throw(error)
                else:
                    request = requests.send(answer)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    return sent


def later(
    verb: Callable[Concatenate[Any, P], Requests[T]],
) -> Callable[Concatenate[AsyncSender, P], Coroutine[Any, Any, T]]:
    """The method that awaits them."""

    @wraps(verb)
    async def sent(self: AsyncSender, /, *args: P.args, **named: P.kwargs) -> T:
        requests = verb(self, *args, **named)
        try:
            request = next(requests)
            while True:
                try:
                    answer = await self.send(request)
                except Exception as error:
                    request = requests.throw(error)
                else:
                    request = requests.send(answer)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]

    return sent


def path_of(campaign: str, *parts: object) -> str:
    """The path of something in a campaign, whatever is in its names.

    >>> path_of("spring/1", "arms", "a b", "disable")
    '/v1/campaigns/spring%2F1/arms/a%20b/disable'
    """
    return "/".join(["/v1/campaigns", *(quote(str(part), safe="") for part in (campaign, *parts))])


def encoded(body: object) -> bytes:
    """A body as JSON; money keeps every digit."""
    return msgspec.json.encode(body, enc_hook=_plain)


def _plain(value: object) -> int | float:
    if hasattr(value, "__index__"):
        return int(value)
    if hasattr(value, "__float__"):
        return float(value)
    raise TypeError(f"{value!r} cannot be sent")


def money(value: object) -> object:
    """An amount as it is sent: a Decimal in digits, a float as the decimal number that it prints as.

    >>> money(Decimal("0.10")), money(0.1), money(3)
    ('0.10', '0.1', 3)
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, float):
        return repr(float(value))
    return str(value) if isinstance(value, Decimal) else value
