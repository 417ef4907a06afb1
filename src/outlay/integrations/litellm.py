"""A cap on what LiteLLM spends: `BudgetRouter` names a model for each attempt, and settles what it cost.

One object is a routing plugin and a logger. LiteLLM calls its parts in this order, for each attempt (each retry and
each fallback is one): `run` marks the attempt; `async_filter_deployments` asks the campaign for one of the models that
could serve it; `async_pre_call_deployment_hook` limits what the call can cost; then a hook of success or of failure
ends the pull. What LiteLLM never reports (a stream that was left, a task that was cancelled) ends by the pull's `ttl`.
"""

import asyncio
import json
import logging
import math
import uuid
from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from outlay.campaign import Campaign
from outlay.campaign.context import RequestContext
from outlay.campaign.ledger.events import Amount, ContextKinds
from outlay.campaign.pull import AnyPull, name_of
from outlay.campaign.records import Pull
from outlay.campaign.settings import checked_reward
from outlay.checks import real, whole
from outlay.errors import BadParameter, BudgetSpent, NotNow, OutlayError, OverBudget, needed
from outlay.integrations.prompts import PROMPT_CONTEXT, prompt_context
from outlay.integrations.spending import (
    Spending,
    campaign_at,
    check_context,
    costs_nothing,
    tokens_at_most,
    warn_without_requests,
)
from outlay.text import listed

with needed("outlay.integrations.litellm"):
    import httpx
    import litellm
    import openai
    from litellm.integrations.custom_logger import CustomLogger

if TYPE_CHECKING:
    from outlay.client import Client

Json = dict[str, Any]
OWNER = "BudgetRouter"
SIGNAL = "outlay"  # our place in `routing_plugin_signals`
HEADER = "x-outlay-pull"
LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")  # as requests name it
PROMPT = ("messages", "input", "prompt", "instructions", "system", "tools", "functions", "response_format")
BESIDES = ("extra_body", "documents", "suffix", "query")  # what else may be in a prompt
ELSEWHERE = ("previous_response_id", "conversation", "file")  # where a part of the prompt is not in the request
WORDS = (  # parts whose bytes bound their tokens
    "text", "input_text", "output_text", "tool_result", "tool_use", "thinking", "message", "function_call",
    "function_call_output",
)  # fmt: skip
TOOLS = ("function", "custom")  # that the provider does not run itself
INPUT = ("input_cost_per_token", "cache_creation_input_token_cost")
OUTPUT = ("output_cost_per_token", "output_cost_per_reasoning_token")
KINDS = ("audio", "image", "video")  # of tokens that have prices of their own
HURRIED = ("_priority", "_ultrafast")
UNHURRIED = (None, "auto", "default", "flex", "standard_only")
PRICES_OF_CALLS = ("input_cost_per_query", "input_cost_per_request")
CALLS = ("acompletion", "atext_completion", "aembedding", "aresponses", "anthropic_messages", "aanthropic_messages")
MOST_OPEN = 100_000  # attempts that are remembered until they are reported; left streams never are
ERRORS = tuple(litellm.LITELLM_EXCEPTION_TYPES)
READ = (litellm.ContentPolicyViolationError, litellm.ContextWindowExceededError)  # what was read may be billed
NOT_REACHED = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_log = logging.getLogger("outlay.litellm")


def failure_cost(error: Exception, not_billed: Container[int] = ()) -> Amount | None:
    """What a failed attempt costs, as far as its error says.

    0 where the provider was not reached or has refused (`costs_nothing`); None where it may have billed: after a
    timeout, where the connection broke, where what came was no answer, and after its other errors.

    Args:
        error: LiteLLM's.
        not_billed: a set or list of the statuses of the provider's errors that it does not bill, such as 500.

    >>> failure_cost(litellm.RateLimitError("Slow down.", "openai", "gpt-4o"))
    0
    >>> failure_cost(litellm.Timeout("No answer.", "gpt-4o", "openai")) is None
    True
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, (httpx.HTTPError, TimeoutError, json.JSONDecodeError)):
        cause = cause.__cause__ or cause.__context__
        if isinstance(cause, ERRORS):  # of an attempt before this one
            cause = None
    if isinstance(cause, NOT_REACHED):
        return 0
    if isinstance(error, READ) and getattr(error, "status_code", None) not in not_billed:
        return None
    if isinstance(cause, httpx.HTTPStatusError):
        try:
            content = cause.response.content
        except httpx.ResponseNotRead:
            content = b""
        return 0 if costs_nothing(cause.response.status_code, content, not_billed) else None
    if cause is not None:
        return None
    return 0 if isinstance(error, openai.APIStatusError) and costs_nothing(error.status_code, b"") else None


class _Attempt(NamedTuple):
    """A call under way: its pull, and the tokens that it may answer with, where the request does not say."""

    pull: Pull
    output: int | None
    reported: bool = False


class BudgetRouter(CustomLogger):  # type: ignore[misc]
    """A budget for a LiteLLM `Router`, or for the proxy: hand it over as a plugin.

    Args:
        arms: the models, as `litellm_params.model` names them. Deployments of one model are one arm.
        budget: dollars; None opens the campaign that is there.
        store: where the campaign is, as `campaign_at` takes it.
        name: the campaign's name.
        reward: what an answer earns: a function of the logger's `kwargs` and the response. None: it comes later, by
            the method `reward`.
        output_limit: tokens that an answer may have where the request sets no limit, which it then does. None: as many
            as the model can give.
        prompt_tokens: how many tokens a request has at most: a function of its parameters. None: its bytes; and where
            it is not text alone, as many as the model reads.
        failure_cost: what a failed attempt cost: a function of its error. None from it: nobody knows, and all that was
            set aside is charged.
        context: what the campaign is told of each request: "prompt" for what `prompt_context` reads off it; or names
            and kinds, as `Campaign` takes them, with `context_of`. None: nothing.
        context_of: what to tell: a function of the request's parameters.
        wait: seconds that a call waits at most for room in the budget, while others hold it.
        timeout: seconds that the campaign's store or service has to answer.
        terms: all others that `Campaign` takes; `mode` is "hard" if not given.

    >>> budget = BudgetRouter(["openai/gpt-4o-mini", "openai/gpt-4o"], 10, currency="USD", name="bill")
    >>> budget.campaign
    <Campaign 'bill': open, 0 of 10 USD spent in 0 pulls by Thrifty>
    >>> models = [{"model_name": "chat", "litellm_params": {"model": f"openai/{name}", "api_key": "…"}}
    ...           for name in ("gpt-4o-mini", "gpt-4o")]
    >>> router = litellm.Router(model_list=models, plugins=[budget])
    >>> budget.unregister()
    """

    def __init__(
        self,
        arms: Any = None,
        budget: Amount | None = None,
        *,
        store: "Campaign | Client | str | None" = None,
        name: str = "default",
        reward: Callable[[Json, Any], float | None] | None = None,
        output_limit: int | None = 4096,
        prompt_tokens: Callable[[Mapping[str, Any]], float | None] | None = None,
        failure_cost: Callable[[Exception], Amount | None] = failure_cost,
        context: Literal["prompt"] | ContextKinds | None = None,
        context_of: Callable[[Mapping[str, Any]], RequestContext] | None = None,
        wait: float = 0.2,
        timeout: float = 5.0,
        **terms: Any,
    ) -> None:
        super().__init__()
        for what, function in (("reward", reward), ("prompt_tokens", prompt_tokens), ("context_of", context_of)):
            if not (function is None or callable(function)):
                raise BadParameter(OWNER, what, "a function, or None", function)
        if not callable(failure_cost):
            raise BadParameter(OWNER, "failure_cost", "a function of an error", failure_cost)
        self.output_limit = None if output_limit is None else whole(OWNER, "output_limit", output_limit, at_least=1)
        self.wait = real(OWNER, "wait", wait, at_least=0, at_most=60)
        self.timeout = real(OWNER, "timeout", timeout, above=0)
        if context == "prompt":
            context, context_of = PROMPT_CONTEXT, context_of or prompt_context
        agreed_here = context is not None or budget is not None  # else the campaign that is there has terms of its own
        if agreed_here and (context is None) != (context_of is None):
            raise BadParameter(OWNER, "context_of", "a function where there is a context, which tells it", context_of)
        if budget is not None:
            terms = {"mode": "hard", **terms} | ({} if context is None else {"context": context})
        self.campaign = campaign_at(store, name, arms, budget, **terms)
        self._context_of = context_of
        try:
            self._check_context(context)
        except BadParameter:
            if self.campaign is not store:
                self.campaign.disconnect()
            raise
        self.name = self.campaign._named()
        self.spending = Spending(self.campaign)
        self._reward, self._prompt_tokens, self._failure_cost = reward, prompt_tokens, failure_cost
        self.mark = uuid.uuid4().hex[:12]  # public: LiteLLM takes loggers for one whose public texts and numbers agree
        self._known: frozenset[str] = frozenset()
        self._open: dict[int, _Attempt] = {}
        self._register()

    def _register(self) -> None:
        """Be heard: in LiteLLM's lists, whoever may have emptied them; it adds no more than a hundred loggers itself.

        Every Router of a process has some, and one that is not among them never hears what its calls have cost.
        """
        for loggers in _lists_of_loggers():
            if self not in loggers:
                loggers.append(self)

    def unregister(self) -> None:
        """Hear no more from LiteLLM, whose lists are those of the whole process; the campaign stays as it is."""
        for loggers in (*_lists_of_loggers(), litellm.input_callback, litellm._async_input_callback):
            while self in loggers:
                loggers.remove(self)

    async def reward(self, pull: AnyPull, value: float) -> None:
        """What an answer earned, said later; `pull` is its number, as `x-outlay-pull` says it."""
        await self._until_reported(name_of("reward", pull))
        await self.spending.reward(pull, value)

    async def reported(self) -> None:
        """Wait, for `timeout` seconds at most, until LiteLLM has reported all calls: before a program ends."""
        await asyncio.gather(*map(self._until_reported, self._open))

    async def _until_reported(self, pull: object) -> None:
        """The caller has its answer before LiteLLM reports what it cost."""
        patience = asyncio.get_running_loop().time() + self.timeout
        while isinstance(pull, int) and pull in self._open and asyncio.get_running_loop().time() < patience:
            await asyncio.sleep(0.01)

    def serve_feedback(self, app: Any, path: str = "/outlay/feedback") -> None:
        """Let the proxy take rewards: `POST /outlay/feedback {"pull": 17, "reward": 1}`, by the proxy's own keys."""
        from fastapi import APIRouter, Depends, HTTPException
        from litellm.proxy.auth.user_api_key_auth import user_api_key_auth

        routes = APIRouter()

        async def feedback(said: dict[str, Any]) -> dict[str, Any]:
            try:
                if set(said) != {"pull", "reward"}:
                    raise BadParameter("feedback", "body", 'an object with "pull" and "reward"', said)
                pull = said["pull"]
                is_number = isinstance(pull, str) and pull.isdecimal() and len(pull) < 20  # as the header says it
                await self.reward(int(pull) if is_number else pull, said["reward"])
            except OutlayError as error:
                raise HTTPException(400, str(error)) from error
            return said

        routes.add_api_route(path, feedback, methods=["POST"], dependencies=[Depends(user_api_key_auth)])
        app.include_router(routes)
        app.router.routes.insert(0, app.router.routes.pop())  # before the proxy's own, some of which match any path

    # What follows is called by LiteLLM, in this order.

    async def run(self, context: Any) -> Any:
        """Mark the attempt as one that this campaign pays for; which deployments are healthy is not known yet."""
        self._register()
        context.signals[SIGNAL] = {"campaign": self.name, "plugin": self.mark}
        return context

    async def async_filter_deployments(
        self,
        model: str,
        healthy_deployments: list[Any],
        messages: Any,
        request_kwargs: Json | None = None,
        parent_otel_span: Any = None,  # noqa: ARG002 (LiteLLM gives it)
    ) -> list[Any]:
        """The deployments of the model that the campaign names for this attempt."""
        given = request_kwargs or {}
        signal = self._signal(given)
        if signal is None:
            return healthy_deployments
        call = {"messages": messages, **given}
        try:
            async with asyncio.timeout(self.timeout + self.wait):
                able = await self._able(model, healthy_deployments, given)
                if not able:
                    return []
                bounds = {arm: [self._ceiling(each, call) for each in each_of] for arm, each_of in able.items()}
                most = {arm: max(ceiling for ceiling, _ in found) for arm, found in bounds.items()}
                metadata = {"call": str(given.get("litellm_call_id", ""))}
                told = None if self._context_of is None else self._context_of(call)
                try:
                    pull = await self.spending.ask(
                        most=most, arms=[*able], wait=self.wait, metadata=metadata, context=told
                    )
                except (BudgetSpent, OverBudget) as error:
                    status = await self.spending.status()
                    raise litellm.BudgetExceededError(status.spent, status.budget, message=str(error)) from error
        except (BadParameter, _Refused) as error:
            raise litellm.BadRequestError(str(error), model, SIGNAL) from error
        except NotNow as error:
            raise litellm.RateLimitError(str(error), SIGNAL, model) from error
        except TimeoutError as error:
            said = f"campaign {self.name!r} did not answer within {self.timeout:g} seconds"
            raise litellm.ServiceUnavailableError(said, SIGNAL, model) from error
        except OutlayError as error:
            raise litellm.ServiceUnavailableError(str(error), SIGNAL, model) from error
        outputs = [output for _, output in bounds[pull.arm] if output is not None]
        self._open[pull.id] = _Attempt(pull, min(outputs, default=None))
        if len(self._open) > MOST_OPEN:
            del self._open[next(iter(self._open))]
        signal.update(pull=pull.id, arm=pull.arm, reason=self.spending.reason(pull))
        return able[pull.arm]

    async def async_pre_call_deployment_hook(self, kwargs: Json, call_type: Any) -> Json | None:
        """The request as it is sent: with a limit on its answer, tokens counted, and no retry that nobody pays for."""
        signal = self._signal(kwargs)
        if signal is None:
            return None
        if "pull" not in signal:
            said = f"campaign {self.name!r} pays for calls of a model group, not of one deployment by its number"
            raise litellm.BadRequestError(said, kwargs.get("model"), SIGNAL)
        if (kind := getattr(call_type, "value", call_type)) not in CALLS:  # their answers have other limits, or none
            said = f"campaign {self.name!r} pays for text alone: nobody knows what a call of {kind} can cost"
            raise litellm.BadRequestError(said, kwargs.get("model"), SIGNAL)
        sent = {**kwargs, "max_retries": 0}
        if (attempt := self._open.get(signal["pull"])) is not None and attempt.output is not None:
            sent["max_tokens"] = attempt.output
        if kwargs.get("stream") and kwargs.get("messages") is not None:
            sent["stream_options"] = {**(kwargs.get("stream_options") or {}), "include_usage": True}
        for key in ("metadata", "litellm_metadata"):  # LiteLLM's own is one for all attempts
            if _signals(kwargs.get(key)):
                sent[key] = {**kwargs[key], "routing_plugin_signals": {**_signals(kwargs[key]), SIGNAL: {**signal}}}
        return sent

    async def async_post_call_success_deployment_hook(
        self,
        request_data: Json,
        response: Any,
        call_type: Any,  # noqa: ARG002
    ) -> Any:
        """Let the caller know the pull: `response._hidden_params["outlay"]`."""
        if (signal := self._signal(request_data)) is not None:
            response._hidden_params[SIGNAL] = {**signal}
        return response

    async def async_post_call_response_headers_hook(self, data: Json, *_: Any, **__: Any) -> dict[str, str] | None:
        """Let the proxy's caller know the pull."""
        signal = self._signal(data)
        return None if signal is None or "pull" not in signal else {HEADER: str(signal["pull"])}

    async def async_log_success_event(self, kwargs: Json, response_obj: Any, start_time: Any, end_time: Any) -> None:  # noqa: ARG002
        """Tell what the call cost; streams are reported when they are read, or left by a client of the proxy."""
        said = kwargs.get("litellm_params") or {}
        if (attempt := self._reported(said)) is None:
            return
        if (said.get("metadata") or {}).get("client_disconnected"):  # more is billed than what was read
            await self._end(attempt.pull, None, 0)
            return
        cost, earned = kwargs.get("response_cost"), None
        if cost is not None and cost <= 0 and attempt.pull.reserved and not kwargs.get("cache_hit"):
            cost = None  # the provider said no usage, or LiteLLM made nothing of it
        try:
            if self._reward is not None and (returned := self._reward(kwargs, response_obj)) is not None:
                earned = checked_reward(OWNER, returned)
        finally:  # what it cost is known, also where the user's function raises, or returns what is no reward
            await self._end(attempt.pull, None if cost is None else round(cost, 12), earned)  # floats: 3e-07 + 6e-07

    async def async_post_call_failure_deployment_hook(
        self, request_data: Mapping[str, Any], exception: Exception, *_: Any, **__: Any
    ) -> None:
        """End the pull of an attempt that failed."""
        if (attempt := self._reported(request_data)) is None:
            return
        cost = None
        try:
            if (returned := self._failure_cost(exception)) is not None:
                real(OWNER, "failure_cost", returned)
                cost = returned
        except Exception:  # the user's function: LiteLLM would say so to nobody
            _log.exception(
                "failure_cost does not say what pull %d cost: what was set aside is charged", attempt.pull.id
            )
        await self._end(attempt.pull, cost, 0)

    async def async_log_failure_event(self, kwargs: Json, response_obj: Any, start_time: Any, end_time: Any) -> None:  # noqa: ARG002
        """End the pull of a stream that broke off, or of a call that was never made: all other failures came before."""
        if (attempt := self._reported(kwargs.get("litellm_params") or {})) is not None:
            made = kwargs.get("api_call_start_time") is not None
            await self._end(attempt.pull, None if made else 0, 0)

    # Helpers.

    def _check_context(self, context: ContextKinds | None) -> None:
        """Refuse what no call of this campaign could be told, as far as that is known before one."""
        if context is not None:
            check_context(OWNER, self.campaign, context)
        elif isinstance(self.campaign, Campaign) and (self.campaign.context is None) != (self._context_of is None):
            without = self._context_of is not None
            had = f"as campaign {self.campaign.name!r} was opened {'without' if without else 'with'} a context"
            raise BadParameter(OWNER, "context_of", f"{None if without else 'a function'}, {had}", self._context_of)

    def _signal(self, kwargs: Mapping[str, Any]) -> Json | None:
        """What this object has said of the attempt whose parameters these are, if it is one of its own."""
        for key in ("litellm_metadata", "metadata"):
            signal: Json = _signals(kwargs.get(key)).get(SIGNAL) or {}
            if signal.get("plugin") == self.mark:
                return signal
        return None

    def _reported(self, kwargs: Mapping[str, Any]) -> _Attempt | None:
        """The attempt that is reported, for the first time."""
        attempt = self._open.get((self._signal(kwargs) or {}).get("pull", -1))
        if attempt is None or attempt.reported:
            return None
        self._open[attempt.pull.id] = attempt._replace(reported=True)
        return attempt

    async def _end(self, pull: Pull, cost: Amount | None, earned: float | None) -> None:
        """Tell what it cost; where nobody knows, charge what was set aside."""
        try:
            if cost is None:
                await self.spending.charge(pull)
            else:
                await self.spending.tell(pull, cost, earned)
        finally:
            self._open.pop(pull.id, None)

    async def _able(self, model: str, deployments: Iterable[Any], given: Json) -> dict[str, list[Json]]:
        """The deployments that may be chosen, by their arms."""
        metadata = given.get("litellm_metadata") or given.get("metadata") or {}
        narrowed = metadata.get("_routing_plugin_candidate_models")  # by another plugin
        by_arm: dict[str, list[Json]] = {}
        for each in deployments:
            arm = each["litellm_params"]["model"]
            if narrowed is None or arm in narrowed:
                by_arm.setdefault(arm, []).append(each)
        if not by_arm.keys() <= self._known:
            status = await self.spending.status()
            if not self._known and self._context_of is not None:
                warn_without_requests(status)
            self._known = frozenset(arm.name for arm in status.arms)
        for arm in by_arm.keys() - self._known:
            said = f"{arm} of model group {model!r} is no arm of campaign {self.name!r}: add it there"
            raise _Refused(f"{said}, beside {listed(sorted(self._known))}")
        return by_arm

    def _ceiling(self, deployment: Json, call: Json) -> tuple[float, int | None]:
        """What this call can cost at most there, and the limit on its answer, where one has to be set."""
        info, params = _prices(deployment), deployment["litellm_params"]
        bodies = [each["extra_body"] for each in (call, params) if each.get("extra_body")]
        arm, said = params["model"], (call, params, *bodies)
        for name in ("model", *PROMPT):
            if any(name in body for body in bodies):
                raise _Refused(f"extra_body may not have {name!r}: it would take the place of what {arm} is asked")
        if any(info.get(key) for key in PRICES_OF_CALLS):
            raise _Refused(f"{arm} has a price for each request, and only those of tokens are counted")
        is_text = self._is_text(call)
        kinds = [] if is_text else [f"input_cost_per_{kind}_token" for kind in KINDS]
        paid_in = _dearest(info, said, *INPUT, *kinds)
        paid_out = _dearest(info, said, *OUTPUT, *(f"output_cost_per_{kind}_token" for kind in KINDS))
        if paid_in is None or paid_out is None or info.get("output_cost_per_token") is None:
            raise _Refused(f"nobody knows what {arm} costs: say input_cost_per_token and output_cost_per_token")
        prompt = self._prompt(call, info, is_text) if paid_in else 0
        if prompt is None:
            raise _Refused(f"nobody knows how long this prompt is for {arm}: say its max_input_tokens in model_info")
        if not paid_out:
            return round(prompt * paid_in, 12), None
        asked = max(_numbers(said, *LIMITS), default=None)
        limits = [limit for limit in (self.output_limit, info.get("max_output_tokens")) if limit is not None]
        if call["messages"] is None:
            limits = []  # such requests have another name for it: only what they say themselves is sure
        if asked is None and not limits:
            raise _Refused(f"nobody knows how long an answer of {arm} can be: give max_tokens, or max_output_tokens")
        output = asked or min(limits)
        predicted = sum(len(_json(each["prediction"])) for each in said if each.get("prediction"))  # beyond the limit
        answers = max(_numbers(said, "n", "best_of"), default=1)
        most = prompt * paid_in + (output + predicted) * answers * paid_out
        return round(most, 12), None if asked else output

    def _prompt(self, call: Json, info: Json, is_text: bool) -> float | None:
        """How many tokens a prompt has at most, None if nobody can tell."""
        if self._prompt_tokens is not None:
            tokens = self._prompt_tokens(call)
            return None if tokens is None else real(OWNER, "prompt_tokens", tokens, at_least=0)
        read: int | None = info.get("max_input_tokens")
        if not is_text:
            return read
        said = {key: call[key] for key in (*PROMPT, *BESIDES) if call.get(key) is not None}
        messages = max(len(said[key]) if isinstance(said.get(key), list) else 1 for key in ("messages", "input"))
        tools = len(call.get("tools") or ())
        size = tokens_at_most(_json(said), messages, tools, any(map(call.get, ("functions", "response_format"))))
        return size if read is None else min(size, read)

    @staticmethod
    def _is_text(call: Json) -> bool:
        """Whether all of the prompt is in the request, as text."""
        parts = [part for said in ("messages", "input", "system") for part in _parts(call.get(said))]
        if any(part.get("type", "text") not in WORDS or part.get("audio") for part in parts):
            return False
        if any(tool.get("type", "custom") not in TOOLS for tool in call.get("tools") or () if isinstance(tool, dict)):
            return False  # what the provider finds becomes a part of the prompt
        return not any(map(call.get, ELSEWHERE)) and not isinstance(call.get("prompt"), dict)


class _Refused(OutlayError):
    """A request that no ceiling can be given."""


def _lists_of_loggers() -> list[list[Any]]:
    """Where LiteLLM looks for who is to hear how calls ended, beside `callbacks`, from which it fills them."""
    ended = ("success_callback", "failure_callback", "_async_success_callback", "_async_failure_callback")
    return [litellm.callbacks, *(getattr(litellm, name) for name in ended)]


def _signals(metadata: Any) -> Json:
    """What plugins have said of an attempt."""
    signals = metadata.get("routing_plugin_signals") if isinstance(metadata, dict) else None
    return signals if isinstance(signals, dict) else {}


def _numbers(said: Iterable[Mapping[str, Any]], *names: str) -> list[int]:
    """The numbers of these names, wherever they are given."""
    given = [(name, each[name]) for each in said for name in names if each.get(name) is not None]
    return [whole("the request", name, value, at_least=1) for name, value in given]


def _parts(said: Any) -> Iterable[Json]:
    """Messages, their parts, and the parts of these."""
    for each in said if isinstance(said, list) else ():
        if isinstance(each, dict):
            yield each
            yield from _parts(each.get("content"))
            yield from _parts(each.get("output"))


def _json(said: object) -> str:
    return json.dumps(said, ensure_ascii=False, default=str)


def _prices(deployment: Json) -> Json:
    """What LiteLLM's price map says of a model, and what the deployment says of itself, which goes first."""
    model = deployment["litellm_params"]["model"]
    info = deployment.get("model_info") or {}
    names = (info.get("base_model"), model, model.partition("/")[2])
    found: Json = next((litellm.model_cost[name] for name in names if name in litellm.model_cost), {})
    own = {**deployment["litellm_params"], **info}
    return {**found, **{key: value for key, value in own.items() if value is not None}}


def _dearest(info: Json, said: Iterable[Json], name: str, *others: str) -> float | None:
    """The highest of some prices, which differ for long prompts, for what is cached, for those in a hurry.

    None where the price that LiteLLM reckons with is not among them: another key may be this one misspelt.
    """
    hurried = any(each.get("service_tier") not in UNHURRIED for each in said)
    keys = [key for key in info if key.startswith((name, *others)) and (hurried or not key.endswith(HURRIED))]
    prices = {
        key: real(info["model"], key, info[key], at_least=0) for key in keys if isinstance(info[key], (int, float))
    }
    if prices.keys().isdisjoint((name, f"{name}_priority")):
        return None
    price = max(prices.values())
    if not any(each.get("speed") or each.get("inference_geo") for each in said):
        return price
    entry = info.get("provider_specific_entry") or {}  # by how much these make it dearer
    return float(price * math.prod(each for each in entry.values() if isinstance(each, (int, float)) and each > 1))
