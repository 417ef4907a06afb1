"""An endpoint for any client of OpenAI's API, each call of which is a pull: `outlay serve --proxy gateway.toml`.

A call reads top to bottom: `Gateway._chat` bounds what it can cost on each arm and asks the campaign; `_ProviderCall`
calls the provider, and ends the pull once: told, where the provider says how many tokens it took; cancelled, where the
request was refused; charged with its ceiling, where it may have been billed. A client that leaves changes nothing
of that: what the provider sends is read to its end.
"""

import asyncio
import hashlib
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from decimal import Decimal
from typing import Annotated, Any, NamedTuple, cast
from urllib.parse import quote

import httpx2
import msgspec
from msgspec import Meta, Struct
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as AsgiMessage

from outlay import errors
from outlay.campaign import Campaign
from outlay.campaign.records import Pull
from outlay.client import Client
from outlay.errors import BadFile, BadParameter, BudgetSpent, NotNow, OverBudget, ServiceError
from outlay.integrations.gateway_file import GatewayFile, ModelArm
from outlay.integrations.prompts import PROMPT_CONTEXT, prompt_context
from outlay.integrations.spending import (
    Spending,
    campaign_at,
    check_context,
    costs_nothing,
    tokens_at_most,
    warn_without_requests,
)
from outlay.service import ServiceSettings
from outlay.service.endpoints import JSON, ApiRequest
from outlay.service.problems import Refused, problem_of

SPARE = 60.0  # seconds that a pull lasts longer than the call
LAST = 3.0  # seconds for pulls to be ended when the service stops
REST = 1.0  # seconds for a stream to end that has said so
LONG = 60.0  # seconds: who would have to wait longer is told that the quota is used
BAD_REQUEST = (400, 413, 415, 422)  # the request's fault, not the arm's
TOO_LATE = (408, 504, 524)  # somebody in between gave up: no time is left for another arm
CODES = {"no_key": "invalid_api_key", "not_now": "rate_limit_exceeded"}  # as OpenAI says it
EVENTS = "text/event-stream"
CONTEXT = "x-outlay-context"  # the header in which a client says what the campaign is told of a request, as JSON
PLAIN = "".join(map(chr, range(32, 127))).replace("%", "")

Handler = Callable[[ApiRequest, Send], Awaitable[None]]
Tokens = Annotated[int, Meta(ge=0, le=10**9)]
Wanted = Annotated[int, Meta(ge=1, le=10**8)] | None
_log = logging.getLogger("outlay.gateway")


class Part(Struct):
    """A part of a message."""

    type: str


class Message(Struct):
    """What must be known of a message to bound its tokens."""

    content: str | list[Part] | None = None
    audio: Any = None


class Tool(Struct):
    """A tool; those that the provider runs itself are billed by other prices."""

    type: str


class Chat(Struct):
    """What must be known of a request; all else goes through untouched."""

    model: str
    messages: Annotated[list[Message], Meta(min_length=1)]
    max_tokens: Wanted = None
    max_completion_tokens: Wanted = None
    n: Annotated[int, Meta(ge=1, le=128)] | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    tools: list[Tool] | None = None
    functions: Any = None
    response_format: Any = None
    modalities: list[str] | None = None
    audio: Any = None
    prediction: Any = None
    web_search_options: Any = None
    service_tier: str | None = None


class Feedback(Struct, forbid_unknown_fields=True):
    """What a pull earned."""

    pull: int | Annotated[str, Meta(max_length=200)]
    reward: float | bool


class PromptDetails(Struct):
    """Which tokens of a prompt were read from a cache."""

    cached_tokens: Tokens | None = None


class Usage(Struct):
    """What a provider says that a call took."""

    prompt_tokens: Tokens
    completion_tokens: Tokens = 0
    total_tokens: Tokens = 0
    prompt_tokens_details: PromptDetails | None = None

    def cost(self, arm: ModelArm) -> Decimal:
        """By the arm's prices; all that is no prompt is output, also where a provider counts thoughts apart."""
        details = self.prompt_tokens_details
        cached = 0 if details is None else details.cached_tokens or 0
        return arm.cost(self.prompt_tokens, max(self.completion_tokens, self.total_tokens - self.prompt_tokens), cached)


class Rejected(Exception):
    """A request that is answered with an error, in OpenAI's shape."""

    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        super().__init__(status, code, message, param)
        self.status, self.code, self.message, self.param = status, code, message, param


class ProviderFailed(Exception):
    """A provider that did not answer the call, or refused it; `answer` is what the client is told."""

    def __init__(self, answer: Response, again: bool) -> None:
        super().__init__(answer, again)
        self.answer, self.again = answer, again


class Call(NamedTuple):
    """A request that was read: for each arm what it can cost at most, and how long an answer may be."""

    chat: Chat
    body: dict[str, Any]
    most: dict[str, Decimal]
    tokens: dict[str, int]

    def content(self, arm: ModelArm) -> bytes:
        """What the arm's provider is sent."""
        body = {key: value for key, value in self.body.items() if key not in ("max_tokens", "max_completion_tokens")}
        body |= {"model": arm.model, arm.provider.limit: self.tokens[arm.name]}
        if self.chat.stream:
            body["stream_options"] = {**(self.chat.stream_options or {}), "include_usage": True}
        return msgspec.json.encode(body)

    @property
    def wants_usage(self) -> bool:
        """Whether the client of a stream asked for its usage."""
        return bool((self.chat.stream_options or {}).get("include_usage"))


class Gateway:
    """The endpoint; the service runs it beside its own routes."""

    def __init__(self, file: GatewayFile, settings: ServiceSettings) -> None:
        if not file.keys and (not settings.on_loopback or settings.hosts or settings.trusted_proxy):
            raise BadFile(f"{file.source} lacks access.key_env: without keys it serves programs on this machine alone")
        self._file = file
        self.spending = Spending(_opened(file, settings))
        self.paths: dict[str, dict[str, ASGIApp]] = {
            "/v1/chat/completions": {"POST": _Endpoint("/v1/chat/completions", self._chat, file.keys)},
            "/v1/models": {"GET": _Endpoint("/v1/models", self._models, file.keys)},
            "/v1/models/{model:path}": {"GET": _Endpoint("/v1/models/{model}", self._model, file.keys)},
            "/v1/feedback": {"POST": _Endpoint("/v1/feedback", self._feedback, file.keys)},
        }
        self._under_way: set[asyncio.Task[Any]] = set()  # calls, and the ends of their pulls

    async def begin(self) -> None:
        """Be ready to call providers."""
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=200)
        timeout = httpx2.Timeout(None, connect=10.0)  # a call as a whole has `timeout` seconds
        self._http = httpx2.AsyncClient(limits=limits, timeout=timeout, trust_env=False, follow_redirects=False)

    async def end(self) -> None:
        """Let go; every call is over, or was cancelled, and then its pull is charged."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST):
                while self._under_way:
                    await asyncio.wait(self._under_way)
        await self._http.aclose()
        await self.spending.disconnect()

    async def ended(self, pull: Pull, verb: Coroutine[Any, Any, Any]) -> Any:
        """End a pull, also when the call is cancelled meanwhile; what fails is logged, and the pull expires."""

        async def end() -> Any:
            try:
                return await verb
            except errors.OutlayError as error:
                _log.error("pull %d of %r could not be ended, and will expire: %s", pull.id, pull.arm, error)

        return await asyncio.shield(self._kept(asyncio.ensure_future(end())))

    def _kept(self, task: asyncio.Task[Any]) -> asyncio.Task[Any]:
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _chat(self, request: ApiRequest, send: Send) -> None:
        call = self._read(await _body(request, self._file.most_bytes))
        self._kept(cast("asyncio.Task[Any]", asyncio.current_task()))
        metadata = {"request": request.scope["outlay.request"]}
        ttl, most, retries = self._file.timeout + SPARE, call.most, self._file.retries
        told = {"metadata": metadata, "context": self._context(request, call.body)}  # the same of each attempt
        failed: ProviderFailed | None = None
        while True:
            asking = self.spending.ask(ttl=ttl, most=most, arms=most, wait=self._file.wait, **told)
            try:
                pull = await request.unless_gone(asking)
            except (BudgetSpent, OverBudget, NotNow) as error:
                raise failed or error from None
            try:
                await _ProviderCall(self, request, call, pull, self._file.arms[pull.arm]).run(
                    self._http, self._file, send
                )
                return
            except ProviderFailed as error:
                failed = error
                most = {name: amount for name, amount in most.items() if name != pull.arm}
                if not (failed.again and most and retries):
                    raise
                retries -= 1

    def _read(self, content: bytes) -> Call:
        """The request, with a bound on what it can cost."""
        body = msgspec.json.decode(content)
        chat = msgspec.convert(body, Chat)
        for name in body:
            if name not in Chat.__struct_fields__ and name.casefold() in Chat.__struct_fields__:
                raise _not_this(name[:200], f"{name.casefold()} is written in small letters: some providers take any")
        images = _images(chat)
        able = [arm for arm in self._arms(chat.model) if not images or arm.image_tokens is not None]
        if not able:
            raise _not_this("messages", f"the model {chat.model!r} takes no images")
        wanted = max(chat.max_tokens or 0, chat.max_completion_tokens or 0) or self._file.max_tokens
        tokens = {arm.name: min(wanted or arm.max_output_tokens, arm.max_output_tokens) for arm in able}
        call = Call(chat, body, {}, tokens)
        request = max((call.content(arm) for arm in able), key=len).decode()
        formatted = bool(chat.functions) or chat.response_format is not None
        text = tokens_at_most(request, len(chat.messages), len(chat.tools or ()), formatted)
        for arm in able:
            prompt = text + images * (arm.image_tokens or 0)
            call.most[arm.name] = arm.most(prompt, tokens[arm.name] * (chat.n or 1))
        return call

    def _context(self, request: ApiRequest, body: dict[str, Any]) -> Any:
        """What the campaign is told of the request: what its header says; else what is read off the prompt, or None."""
        said = request.headers.get(CONTEXT)
        if said is None:
            return prompt_context(body) if self._file.reads_prompts else None
        try:
            return msgspec.json.decode(said.encode("latin-1"))
        except (msgspec.DecodeError, RecursionError):
            raise Rejected(400, "invalid_header", f"{CONTEXT} must be JSON", CONTEXT) from None

    def _arms(self, model: str) -> list[ModelArm]:
        if model in self._file.models:
            return [*self._file.arms.values()]
        if model not in self._file.arms:
            raise Rejected(404, "model_not_found", f"The model {model[:200]!r} does not exist.", "model")
        return [self._file.arms[model]]

    async def _models(self, request: ApiRequest, send: Send) -> None:
        names = [*self._file.models, *self._file.arms]
        listed = {"object": "list", "data": [self._shown(name) for name in names]}
        await _json(listed)(request.scope, request.receive, send)

    async def _model(self, request: ApiRequest, send: Send) -> None:
        name = request.path_params["model"]
        self._arms(name)
        await _json(self._shown(name))(request.scope, request.receive, send)

    def _shown(self, name: str) -> dict[str, object]:
        arm = self._file.arms.get(name)
        return {"id": name, "object": "model", "created": 0, "owned_by": arm.provider.name if arm else "outlay"}

    async def _feedback(self, request: ApiRequest, send: Send) -> None:
        said = msgspec.json.decode(await _body(request, self._file.most_bytes), type=Feedback)
        pull = int(said.pull) if isinstance(said.pull, str) and said.pull.isdecimal() else said.pull
        receipt = await self.spending.reward(pull, said.reward)
        await _json(receipt)(request.scope, request.receive, send)


class _ProviderCall:
    """One call of a provider."""

    def __init__(self, gateway: Gateway, request: ApiRequest, call: Call, pull: Pull, arm: ModelArm) -> None:
        self._gateway, self._request, self._call, self._pull, self._arm = gateway, request, call, pull, arm
        self._is_over = False

    async def run(self, http: httpx2.AsyncClient, file: GatewayFile, send: Send) -> None:
        """Call, answer, and end the pull; ProviderFailed where there is no answer."""
        self._deadline = asyncio.get_running_loop().time() + file.timeout
        self._reward = file.reward
        provider = self._arm.provider
        headers = {"content-type": JSON} | ({"authorization": f"Bearer {provider.key}"} if provider.key else {})
        sent = http.build_request("POST", provider.url, content=self._call.content(self._arm), headers=headers)
        try:
            try:
                async with asyncio.timeout_at(self._deadline):
                    answer = await http.send(sent, stream=True)
                    is_stream = answer.headers.get("content-type", "").startswith(EVENTS)
                    content = b"" if answer.is_success and is_stream else await answer.aread()
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                await self._tell(Decimal(0), 0.0)
                raise self._failed(502, f"the provider {provider.name!r} cannot be reached", again=True) from error
            except (httpx2.RequestError, TimeoutError) as error:
                late = isinstance(error, TimeoutError)
                what = f"took longer than {file.timeout:g} s" if late else "broke off"
                raise self._failed(
                    504 if late else 502, f"the call of {provider.name!r} {what}", again=False
                ) from error
            try:
                if not answer.is_success:
                    await self._refused(answer, content)
                elif is_stream:
                    await self._relay(answer, send)
                else:
                    await self._answer(content, send)
            finally:
                await answer.aclose()
        finally:
            if not self._is_over:  # it failed, took too long, broke off, or was cancelled: it may have been billed
                await self._charge()

    async def _answer(self, content: bytes, send: Send) -> None:
        """An answer in one piece."""
        cost = await self._settle(_usage_of(content))
        headers = self._headers() | ({} if cost is None else {"x-outlay-cost": format(cost, "f")})
        await Response(self._without_key(content), 200, headers, JSON)(self._request.scope, self._request.receive, send)

    async def _relay(self, answer: httpx2.Response, send: Send) -> None:
        """A stream, line by line; to a client that has left, `send` sends nothing."""
        headers = {**self._headers(), "content-type": EVENTS, "cache-control": "no-store"}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        usage, last, lines = None, b"", _lines(answer)
        try:
            async with asyncio.timeout_at(self._deadline):
                async for line in lines:
                    if line == b"data: [DONE]":
                        last = line + b"\n\n"
                        break
                    found, kept = self._chunk(line)
                    usage = found or usage
                    if kept:
                        await send(
                            {"type": "http.response.body", "body": self._without_key(kept) + b"\n\n", "more_body": True}
                        )
        except (httpx2.RequestError, TimeoutError):
            error = _error(502, "provider_error", f"the stream of {self._arm.provider.name!r} broke off")
            last = b"data: " + msgspec.json.encode(error) + b"\n\n"
            usage = None
        await self._settle(usage)
        await send({"type": "http.response.body", "body": last})
        with suppress(httpx2.RequestError, TimeoutError):  # what was read to its end can be used for another call
            async with asyncio.timeout(REST):
                async for _ in lines:
                    continue

    def _chunk(self, line: bytes) -> tuple[Usage | None, bytes]:
        """The usage in a line of a stream, and the line as the client gets it; without what it did not ask for."""
        if b'"usage"' not in line or not line.startswith(b"data:"):
            return None, line
        try:
            chunk = msgspec.json.decode(line[5:])
        except (msgspec.DecodeError, RecursionError):
            return None, line
        usage = _usage_in(chunk)
        if self._call.wants_usage or not isinstance(chunk, dict) or "usage" not in chunk:
            return usage, line
        if usage is not None and not chunk.get("choices"):
            return usage, b""
        del chunk["usage"]
        return usage, b"data: " + msgspec.json.encode(chunk)

    async def _refused(self, answer: httpx2.Response, content: bytes) -> None:
        """An error of the provider; it is passed on, but never with a key."""
        status, provider = answer.status_code if 400 <= answer.status_code < 600 else 502, self._arm.provider
        if costs_nothing(answer.status_code, content, provider.not_billed):
            if status in BAD_REQUEST:
                await self._over(self._gateway.spending.cancel(self._pull, f"the provider refused it: {status}"))
            else:
                await self._tell(Decimal(0), 0.0)
        again = status not in (*BAD_REQUEST, *TOO_LATE)
        if status in (401, 403):
            raise self._failed(502, f"the provider {provider.name!r} refused the key of this endpoint", again)
        content = self._without_key(content)
        try:
            said = msgspec.json.decode(content)
        except (msgspec.DecodeError, RecursionError):
            said = None
        if status != answer.status_code or not (isinstance(said, dict) and isinstance(said.get("error"), dict)):
            raise self._failed(status, f"the provider {provider.name!r} answered {answer.status_code}", again)
        after = answer.headers.get("retry-after", "")
        headers = self._headers() | ({"retry-after": after} if after.isascii() and after.isdecimal() else {})
        raise ProviderFailed(Response(content, status, headers, JSON), again)

    def _without_key(self, content: bytes) -> bytes:
        key = self._arm.provider.key
        return content.replace(key.encode(), b"***") if key else content

    def _failed(self, status: int, message: str, again: bool) -> ProviderFailed:
        _log.warning("pull %d of %r failed: %s", self._pull.id, self._pull.arm, message)
        return ProviderFailed(_json(_error(status, "provider_error", message), status, self._headers()), again)

    def _headers(self) -> dict[str, str]:
        reason = self._gateway.spending.reason(self._pull)
        return {
            "x-outlay-pull": str(self._pull.id),
            "x-outlay-arm": quote(self._pull.arm, safe=PLAIN),
            "x-outlay-reserved": format(Decimal(repr(self._pull.reserved)), "f"),
        } | ({} if reason is None else {"x-outlay-reason": quote(reason, safe=PLAIN)})

    async def _settle(self, usage: Usage | None) -> Decimal | None:
        """Tell what the call cost, if the provider said it."""
        if usage is None:
            _log.warning("pull %d of %r is charged: its usage is not known", self._pull.id, self._pull.arm)
            await self._charge()
            return None
        cost = usage.cost(self._arm)
        await self._tell(cost, self._reward)
        return cost

    async def _tell(self, cost: Decimal, reward: float | None) -> None:
        receipt = await self._over(self._gateway.spending.tell(self._pull, cost, reward))
        if receipt is not None and receipt.overrun:
            said = "pull %d of %r cost %s, more than the %g set aside: are its prices right?"
            _log.warning(said, self._pull.id, self._pull.arm, cost, self._pull.reserved)

    async def _charge(self) -> None:
        await self._over(self._gateway.spending.charge(self._pull))

    async def _over(self, verb: Coroutine[Any, Any, Any]) -> Any:
        self._is_over = True
        return await self._gateway.ended(self._pull, verb)


class _Endpoint:
    """A route: its key is checked first, and what goes wrong is told in OpenAI's shape."""

    def __init__(self, path: str, handler: Handler, keys: tuple[str, ...]) -> None:
        self.path, self._handler, self._keys = path, handler, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = ApiRequest(scope, receive, send)
        campaigns, is_answered = request.campaigns, False

        async def answering(message: AsgiMessage) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            self._authorize(request)
            if campaigns.active >= campaigns.settings.most_active:
                raise Refused("busy", retry_after=1.0)
            campaigns.active += 1
            try:
                await self._handler(request, answering)
            finally:
                campaigns.active -= 1
        except ClientDisconnect:
            raise
        except Exception as error:
            if is_answered:
                raise
            answer = _refusal(error)
            if answer.status_code >= 500 and not isinstance(error, (ProviderFailed, Refused)):
                _log.error("request %s failed", scope["outlay.request"], exc_info=error)
            await answer(scope, receive, send)

    def _authorize(self, request: ApiRequest) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        digest = hashlib.sha256(token.strip().encode()).hexdigest() if scheme.lower() == "bearer" else ""
        if self._keys and not any(hmac.compare_digest(digest, key) for key in self._keys):
            raise request.key_cache.failed(request.address)
        if (connection := request.scope.get("outlay.connection")) is not None:
            connection.keyless_since = None


def _images(chat: Chat) -> int:
    """How many images there are; what is billed by other prices than those of tokens is refused."""
    for name in ("audio", "prediction", "web_search_options"):
        if getattr(chat, name) is not None:
            raise _not_this(name, f"{name} is billed by prices of its own: leave it out")
    if chat.modalities not in (None, ["text"]):
        raise _not_this("modalities", 'modalities must be ["text"]')
    if chat.service_tier not in (None, "auto", "default", "flex"):
        raise _not_this("service_tier", "service_tier must be auto, default or flex")
    if any(tool.type not in ("function", "custom") for tool in chat.tools or ()):
        raise _not_this("tools", "tools must be functions, or custom")
    parts = [part.type for each in chat.messages if isinstance(each.content, list) for part in each.content]
    if not {"text", "refusal", "image_url"}.issuperset(parts) or any(each.audio is not None for each in chat.messages):
        raise _not_this("messages", "messages may hold text and image_url alone")
    return parts.count("image_url")


def _not_this(param: str, message: str) -> Rejected:
    return Rejected(400, "unsupported_value", message, param)


def _opened(file: GatewayFile, settings: ServiceSettings) -> Campaign | Client:
    """The campaign, which has every arm of the file."""
    terms = {"mode": "hard", **file.terms} if file.terms else {}
    budget = terms.pop("budget", None)
    try:
        campaign = campaign_at(file.store or settings.store, file.name, [*file.arms], budget, **terms)
    except BadParameter as error:
        raise BadFile(f"{file.source}, campaign: {error}") from None
    try:
        if file.reads_prompts:
            check_context("Campaign", campaign, PROMPT_CONTEXT)
        _check_arms(file, campaign)
    except BadParameter as error:
        campaign.disconnect()
        raise BadFile(f"{file.source}, campaign: {error}") from None
    except BaseException:
        campaign.disconnect()
        raise
    return campaign


def _check_arms(file: GatewayFile, campaign: Campaign | Client) -> None:
    """Every arm of the file is one of the campaign; those that are the fallback alone are not for the policy."""
    status = campaign.status()
    known = {arm.name for arm in status.arms}
    for name, arm in file.arms.items():
        if name not in known:
            raise BadFile(f"{file.source}: arms.{name} is no arm of the campaign {file.name!r}: add it there")
        if arm.fallback_only:
            if name != status.fallback:
                raise BadFile(f"{file.source}: arms.{name} has fallback_only, and campaign.fallback is not {name!r}")
            campaign.disable_arm(name)
    if file.reads_prompts or "context" in file.terms:
        warn_without_requests(status)


async def _body(request: ApiRequest, most: int) -> bytes:
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > most:
            raise Refused("too_large", f"at most {most} bytes are taken")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise Refused("not_json")
    return content


async def _lines(answer: httpx2.Response) -> AsyncIterator[bytes]:
    """The lines of a stream that are not empty."""
    rest = b""
    async for part in answer.aiter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            if line := line.rstrip(b"\r"):
                yield line
    if rest:
        yield rest


def _usage_of(content: bytes) -> Usage | None:
    try:
        return _usage_in(msgspec.json.decode(content))
    except (msgspec.DecodeError, RecursionError):
        return None


def _usage_in(said: Any) -> Usage | None:
    """The usage in an answer; None where there is none that can be understood."""
    try:
        return msgspec.convert(said["usage"], Usage)
    except (msgspec.ValidationError, KeyError, TypeError):
        return None


def _json(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, JSON)


def _error(status: int, code: str, message: str, param: str | None = None) -> dict[str, object]:
    kind = "invalid_request_error" if status in (400, 401, 404) else code
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _refusal(error: Exception) -> Response:
    """An error in OpenAI's shape."""
    match error:
        case ProviderFailed():
            return error.answer
        case Rejected():
            return _json(_error(error.status, error.code, error.message, error.param), error.status)
        case BudgetSpent() | OverBudget():
            return _no_quota(error, getattr(error, "retry_after", None))
        case NotNow() if error.retry_after >= LONG:
            return _no_quota(error, error.retry_after)
        case ServiceError():
            return _json(_error(503, "server_error", "the campaign cannot be asked: see the log"), 503)
    found = problem_of(error)
    words = found.detail or found.title
    headers = {} if found.retry_after is None else {"retry-after": str(max(1, round(found.retry_after)))}
    status = 400 if found.status == 422 else found.status
    return _json(_error(status, CODES.get(found.code, found.code), words), status, headers)


def _no_quota(error: Exception, retry_after: float | None) -> Response:
    """The budget is used: clients need not try again at once."""
    headers = {"x-should-retry": "false"} | ({} if retry_after is None else {"retry-after": str(round(retry_after))})
    return _json(_error(429, "insufficient_quota", str(error)), 429, headers)
