"""A verb is written once, as a generator of the steps it takes: a thread takes them, or asyncio awaits them.

Whose verb it is says what a step is, and performs it: a campaign hands commands to its store, a client sends requests
to a service. `sync` makes of the steps a method that returns when they are done, and `as_async` the one for asyncio:

    class Campaign:
        def _perform(self, step: Command) -> Reply: ...
        async def _aperform(self, step: Command) -> Reply: ...

        @sync
        def pause(self) -> Steps[None]:
            yield Pause()

        apause = as_async(pause)
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, get_args

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")  # whose verb it is: it has `_perform`, `_aperform` or both
Steps = Generator[Any, Any, T]


def sync(steps: Callable[Concatenate[S, P], Steps[T]]) -> Callable[Concatenate[S, P], T]:
    """The method that takes the steps in the caller's thread."""

    @wraps(steps)
    def now(self: S, /, *args: P.args, **named: P.kwargs) -> T:
        return run(steps(self, *args, **named), self._perform)  # type: ignore[attr-defined]

    return _signed(now, steps)


def as_async(
    method: Callable[Concatenate[S, P], T], prefix: str = "a"
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The method for asyncio: the steps of a `sync` one awaited, and any other run in a thread.

    Another class than that of the method may have it, under the same name, if it performs the same steps.
    """
    steps = getattr(method, "__wrapped__", None)

    @wraps(method)
    async def later(self: Any, /, *args: P.args, **named: P.kwargs) -> T:
        if steps is None:
            return await asyncio.to_thread(method, self, *args, **named)
        found: T = await run_async(steps(self, *args, **named), self._aperform)
        return found

    name = method.__name__
    later.__name__, later.__qualname__ = prefix + name, method.__qualname__.removesuffix(name) + prefix + name
    if prefix:
        later.__doc__ = f"`{name}` for asyncio.\n\n{inspect.getdoc(method)}"
    return _signed(later, method)


def run(steps: Steps[T], perform: Callable[[Any], Any]) -> T:
    """Take all steps, waiting where they wait; return what they come to."""
    try:
        step = next(steps)
        while True:
            try:
                answer = perform(step)
            except BaseException as error:  # Ctrl-C too: the verb may have something to put right
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


async def run_async(steps: Steps[T], perform: Callable[[Any], Awaitable[Any]]) -> T:
    """The same in asyncio; a cancelled task has the error thrown into its steps."""
    try:
        step = next(steps)
        while True:
            try:
                answer = await perform(step)
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


def _signed(method: Callable[P, T], written: Callable[..., Any]) -> Callable[P, T]:
    """With the signature that callers see: what the steps come to, in place of the steps."""
    signature = inspect.signature(written)
    found = signature.return_annotation
    if getattr(found, "__origin__", None) is Generator:
        signature = signature.replace(return_annotation=get_args(found)[-1])
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__annotations__ = {**written.__annotations__, "return": signature.return_annotation}
    return method
