"""A verb is written once, as the steps it takes; a thread takes them one after another, and asyncio awaits each.

A step is what a verb waits for: a command, whose reply comes back or whose error is raised; a list of commands, in one
transaction, for the list of their replies, errors among them; or a moment at which to look again. `verb` makes of the
steps a method that returns when they are done, and `later` the method for asyncio, with the same signature:

    class Managing:
        @verb
        def void(self, pull: Pull | int) -> Steps[None]:
            yield Void(number_of("void", pull))

        avoid = later(void)
"""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import Future
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar, get_args

from msgspec import Struct

from outlay.campaign import log
from outlay.campaign.ledger.commands import Command
from outlay.campaign.ledger.state import State
from outlay.campaign.records import Listed, Reply, Rows
from outlay.campaign.stores.base import Store
from outlay.checks import real
from outlay.errors import StoreBusy

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound=Struct)
LONGEST_WAIT = 1e6  # seconds


class Commanded(Protocol):
    """Whose verbs take steps on a ledger."""

    _ledger: Store
    _state: State


S = TypeVar("S", bound=Commanded)


class Until(NamedTuple):
    """Wait for a future, whatever comes of it, or for so many seconds."""

    future: Future[None]
    seconds: float | None = None


class Within(NamedTuple):
    """A command that the store must answer in so many seconds."""

    command: Command
    seconds: float


Step = Command | list[Command] | Within | Until
Steps = Generator[Step, Any, T]


def verb(steps: Callable[Concatenate[S, P], Steps[T]]) -> Callable[Concatenate[S, P], T]:
    """The method that takes the steps in the caller's thread."""

    @wraps(steps)
    def now(self: S, /, *args: P.args, **named: P.kwargs) -> T:
        return take(self, steps(self, *args, **named))

    now.__signature__ = _signature(steps)  # type: ignore[attr-defined]
    now.__annotations__ = {**steps.__annotations__, "return": now.__signature__.return_annotation}  # type: ignore[attr-defined]
    return now


def later(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """The method for asyncio: the steps of a verb awaited, and any other method run in a thread."""
    steps = getattr(method, "__wrapped__", None)

    async def awaited(self: S, /, *args: P.args, **named: P.kwargs) -> T:
        if steps is None:
            return await asyncio.to_thread(method, self, *args, **named)
        return await await_all(self, steps(self, *args, **named))

    name = method.__name__
    awaited.__name__, awaited.__qualname__ = f"a{name}", f"{method.__qualname__.removesuffix(name)}a{name}"
    awaited.__module__, awaited.__doc__ = method.__module__, f"`{name}` for asyncio.\n\n{inspect.getdoc(method)}"
    awaited.__annotations__ = method.__annotations__
    awaited.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
    return awaited


def listed(method: Callable[Concatenate[S, P], Rows[R]]) -> Callable[Concatenate[S, P], Listed[R]]:
    """The method that reads all rows before it returns, for `later`."""

    def all_of_them(self: S, /, *args: P.args, **named: P.kwargs) -> Listed[R]:
        return method(self, *args, **named).listed()

    written = inspect.signature(method)
    all_of_them.__name__, all_of_them.__qualname__ = method.__name__, method.__qualname__
    all_of_them.__module__, all_of_them.__doc__ = method.__module__, method.__doc__
    all_of_them.__signature__ = written.replace(  # type: ignore[attr-defined]
        return_annotation=Listed[get_args(written.return_annotation)[0]]  # type: ignore[misc]
    )
    all_of_them.__annotations__ = {**method.__annotations__, "return": Listed}
    return all_of_them


def once(command: Command, seconds: float | None) -> Steps[Any]:
    """One command; StoreBusy where the store takes longer than these seconds."""
    return (yield command if seconds is None else Within(command, seconds))


def seconds_of(owner: str, timeout: object) -> float | None:
    """A timeout, checked."""
    return None if timeout is None else real(owner, "timeout", timeout, at_least=0, at_most=LONGEST_WAIT)


def take(campaign: Commanded, steps: Steps[T]) -> T:
    """Take all steps, waiting where they wait; return what they come to."""
    try:
        step = next(steps)
        while True:
            try:
                answer = _answer(campaign, step)
            except BaseException as error:  # Ctrl-C too: the verb may have something to put right
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


async def await_all(campaign: Commanded, steps: Steps[T]) -> T:
    """The same in asyncio; a cancelled task has the error thrown into its steps."""
    try:
        step = next(steps)
        while True:
            try:
                answer = await _awaited(campaign, step)
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


def transact(campaign: Commanded, commands: Sequence[Command]) -> list[Reply]:
    """Each command's reply, or the error that it met, which is logged."""
    return _logged(campaign, campaign._ledger.transact(commands))


def _answer(campaign: Commanded, step: Step) -> object:
    if isinstance(step, list):
        return transact(campaign, step)
    if not isinstance(step, Until):  # on the way of every ask and tell: no call more than it takes
        command, seconds = step if isinstance(step, Within) else (step, None)
        reply = campaign._ledger.transact((command,), seconds)[0]
        if isinstance(reply, Exception):
            log.refused(campaign._state.name, reply)
            raise reply
        return reply
    try:
        return step.future.result(step.seconds)
    except TimeoutError:
        return None


async def _awaited(campaign: Commanded, step: Step) -> object:
    if isinstance(step, Until):
        await asyncio.wait([asyncio.wrap_future(step.future)], timeout=step.seconds)
        return None
    if isinstance(step, Within):
        replies = await _in_time(campaign, step)
    else:
        replies = await campaign._ledger.atransact(step if isinstance(step, list) else (step,))
    _logged(campaign, replies)
    if isinstance(step, list):
        return replies
    if isinstance(replies[0], Exception):
        raise replies[0]
    return replies[0]


async def _in_time(campaign: Commanded, step: Within) -> list[Reply]:
    try:
        return await asyncio.wait_for(campaign._ledger.atransact((step.command,)), step.seconds)
    except TimeoutError:
        name = campaign._state.name
        raise StoreBusy(f"campaign {name!r} did not answer within {step.seconds:g} s") from None


def _logged(campaign: Commanded, replies: list[Reply]) -> list[Reply]:
    for reply in replies:
        if isinstance(reply, Exception):
            log.refused(campaign._state.name, reply)
    return replies


def _signature(steps: Callable[..., Steps[Any]]) -> inspect.Signature:
    """The signature that users see: what the steps come to, in place of the steps."""
    written = inspect.signature(steps)
    return written.replace(return_annotation=get_args(written.return_annotation)[-1])
