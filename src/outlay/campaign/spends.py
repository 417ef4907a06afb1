"""`@campaign.spends(…)`: a function that is called on the arm that comes next, and pays for itself."""

import asyncio
import inspect
import time
from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, get_args, overload

from outlay.campaign.ledger.events import Amount
from outlay.campaign.pull import OnError, OpenPull
from outlay.campaign.settings import checked_reward
from outlay.checks import word
from outlay.errors import BadParameter, BudgetSpent
from outlay.sansio import Steps, run, run_async

P = ParamSpec("P")
T = TypeVar("T")
OWNER = "spends"


class Spends(Protocol):
    """What makes a function of the user's, or one for each arm, a function that spends."""

    @overload
    def __call__(self, functions: Callable[Concatenate[str, P], T]) -> Callable[P, T]: ...
    @overload
    def __call__(self, functions: Mapping[str, Callable[P, T]]) -> Callable[P, T]: ...


class SpendingFunctions:
    """What a campaign and its clients have in common: functions that ask before they are called, and tell after."""

    def spends(
        self,
        cost: Amount | Callable[[Any], Amount] | None = None,
        reward: float | Callable[[Any], float] | None = None,
        *,
        most: Amount | Mapping[str, Amount] | Callable[..., Any] | None = None,
        key: Callable[..., str] | None = None,
        context: Callable[..., Any] | None = None,
        wait: bool | float = True,
        on_error: OnError = "cancel",
    ) -> Spends:
        """Decorate a function, or one for each arm: each call asks for an arm, runs on it, and tells what came of it.

        A function takes the arm's name before its other arguments; a mapping has one without it for each arm that can
        serve the call. All may be async.

        Args:
            cost: what a call costs: a number, or a function of what it returned. None: the seconds that it took.
            reward: what it earns, likewise. None: it comes later, by the method `reward` and the pull's key.
            most: what a call can cost at most, as `ask` takes it, or a function of the call's arguments.
            key: a function of the call's arguments: the key of its pull. A call with the same key raises PullOver.
            context: a function of the call's arguments: what is known of the request, as `ask` takes it.
            wait: as `ask` takes it: NotNow is raised where no arm can be named within that time.
            on_error: what an exception makes of the pull: "cancel" it, or "charge" what was set aside. Where a call
                costs seconds, those that it took are told, with reward 0.

        A call raises BudgetSpent when the campaign has ended. Where `cost` raises, what was set aside is charged,
        because the call was made; where `reward` raises, its cost is told.

        >>> from outlay import Campaign
        >>> campaign = Campaign({"small": 0.5, "large": 4.0}, 3, mode="hard")
        >>> @campaign.spends(cost=lambda answer: answer["price"], reward=lambda answer: answer["good"])
        ... def answer(model, question):
        ...     return {"text": f"{model} has no answer to {question}", "price": 0.5, "good": 0}
        >>> answer("why?")["text"], campaign.status().spent
        ('small has no answer to why?', 0.5)
        """
        for name, given in (("cost", cost), ("reward", reward)):
            if isinstance(given, (str, Mapping)):
                raise BadParameter(OWNER, name, "a number, or a function of what a call returns", given)
        for name, function in (("key", key), ("context", context)):
            if not (function is None or callable(function)):
                raise BadParameter(OWNER, name, "a function of a call's arguments", function)
        word(OWNER, "on_error", on_error, get_args(OnError))

        def decorate(functions: Any) -> Any:
            several = functions if isinstance(functions, Mapping) else None
            is_async = _all_async(functions if several is None else several)
            verb, arms = self._verbs(is_async), None if several is None else [*several]

            def steps(*args: Any, **named: Any) -> Steps[Any]:
                name, ceiling, told = (_value(given, *args, **named) for given in (key, most, context))
                asked = {"most": ceiling, "arms": arms, "wait": wait, "context": told}
                pull: OpenPull | None = yield partial(verb("ask"), name, **asked)
                if pull is None:
                    raise BudgetSpent(self._named())
                call = partial(functions, pull.arm) if several is None else several[pull.arm]
                began = time.perf_counter()
                try:
                    result = yield partial(call, *args, **named)
                    if inspect.iscoroutine(result) or inspect.isgenerator(result):
                        result.close()  # none of it has run
                        raise BadParameter(OWNER, "functions", "functions that return what a call came to", functions)
                except BaseException as error:
                    end = partial(verb("tell"), pull, _since(began), 0)
                    if cost is None:
                        yield partial(_shielded, end) if is_async else end
                    else:
                        yield _leaving(pull.on_error(on_error), error, is_async)
                    raise
                took = _since(began)
                try:
                    paid = took if cost is None else _value(cost, result)
                    try:
                        given = _value(reward, result)
                        earned = None if given is None else checked_reward(OWNER, given)
                    except BaseException:
                        yield partial(verb("tell"), pull, paid)
                        raise
                    yield partial(verb("tell"), pull, paid, earned)
                except BaseException as error:
                    yield _leaving(pull.on_error("charge"), error, is_async)
                    raise
                return result

            def spending(*args: Any, **named: Any) -> Any:
                return run(steps(*args, **named), _take)

            async def spending_async(*args: Any, **named: Any) -> Any:
                return await run_async(steps(*args, **named), _take)

            first = functions if several is None else next(iter(several.values()))
            return _described(spending_async if is_async else spending, first, several is None)

        return decorate

    def _named(self) -> str:
        """The name of the campaign."""
        raise NotImplementedError

    def _verbs(self, is_async: bool) -> Callable[[str], Callable[..., Any]]:
        """Its verbs by name, to be awaited or not; BadParameter where it has none of the kind."""
        raise NotImplementedError


def _all_async(functions: Any) -> bool:
    """Whether they are async, each as the others."""
    each = [*functions.values()] if isinstance(functions, Mapping) else [functions]
    if not each or not all(callable(function) for function in each):
        raise BadParameter(OWNER, "functions", "a function, or a mapping from arms to functions", functions)
    if any(inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function) for function in each):
        raise BadParameter(OWNER, "functions", "functions that return: one that yields has no end to pay at", functions)
    kinds = {inspect.iscoroutinefunction(f) or inspect.iscoroutinefunction(getattr(f, "__call__", f)) for f in each}  # noqa: B004
    if len(kinds) > 1:
        raise BadParameter(OWNER, "functions", "all async, or none of them", functions)
    return kinds.pop()


def _take(step: Callable[[], Any]) -> Any:
    return step()


def _value(given: Any, *args: Any, **named: Any) -> Any:
    return given(*args, **named) if callable(given) else given


def _since(began: float) -> float:
    return round(time.perf_counter() - began, 9)


async def _shielded(end: Callable[[], Any]) -> None:
    await asyncio.shield(end())  # a task that is cancelled again still leaves no pull open


def _leaving(pull: OpenPull, error: BaseException, is_async: bool) -> Callable[[], Any]:
    """The step that ends a pull as its `with` block does, left by this error."""
    leave: Callable[..., Any] = pull.__aexit__ if is_async else pull.__exit__
    return partial(leave, type(error), error, None)


def _described(spending: Callable[..., Any], function: Callable[..., Any], takes_arm: bool) -> Callable[..., Any]:
    """With the name, the docstring and the signature of the user's function, less the arm."""
    update_wrapper(spending, function)
    del spending.__wrapped__  # type: ignore[attr-defined]
    try:
        signature = inspect.signature(function)
    except ValueError:  # of C's, which do not say
        return spending
    parameters = [*signature.parameters.values()]
    if takes_arm and not parameters:
        raise BadParameter(OWNER, "functions", "a function whose first argument is the arm", function)
    described = signature.replace(parameters=parameters[1:] if takes_arm else parameters)
    spending.__signature__ = described  # type: ignore[attr-defined]
    return spending
