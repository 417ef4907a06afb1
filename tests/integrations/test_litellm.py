"""A real LiteLLM `Router` and its proxy, against a provider on this machine that says what it charged."""

import asyncio
import doctest
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from benchmarks.provider import Model, Provider

from outlay import Campaign
from outlay.campaign import verify
from outlay.errors import BadParameter
from tests.service.conftest import running

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it would be fetched
litellm = pytest.importorskip("litellm", reason="litellm is not installed: pip install 'outlay[litellm]'")

import httpx  # noqa: E402
import openai  # noqa: E402
from benchmarks.gateway import UNBILLED, Proxy  # noqa: E402
from litellm.integrations.custom_logger import CustomLogger  # noqa: E402

from outlay.integrations.litellm import BudgetRouter, failure_cost  # noqa: E402
from outlay.integrations.spending import costs_nothing  # noqa: E402

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cap-an-llm-bill.md"
SMALL, LARGE, BROKEN, SLOW, FREE = "openai/gpt-4o-mini", "openai/gpt-4o", "openai/broken", "openai/slow", "openai/free"
DOLLAR = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}
FLAKY = {"input_cost_per_token": 0.15e-6, "output_cost_per_token": 0.6e-6}
ANSWERS = {"output_cost_per_token": 1e-6}
NOTHING = {"input_cost_per_token": 0, "output_cost_per_token": 0}
pytestmark = pytest.mark.filterwarnings("ignore")  # LiteLLM has many of its own


def deployment(model: str, group: str = "chat", info: Any = None, **params: Any) -> dict[str, Any]:
    return {"model_name": group, "litellm_params": {"model": model, **params}, "model_info": info or {}}


def router(budget: BudgetRouter, *models: dict[str, Any], **settings: Any) -> Any:
    listed = [*models] or [deployment(SMALL), deployment(LARGE)]
    return litellm.Router(
        model_list=listed,
        plugins=[budget],
        **{"num_retries": 0, "retry_after": 0, "disable_cooldowns": True, **settings},
    )


async def call(chat: Any, said: str = "hello", group: str = "chat", **more: Any) -> Any:
    return await chat.acompletion(group, [{"role": "user", "content": said}], **{"max_tokens": 50, **more})


def run(steps: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(steps)


async def settled(budget: BudgetRouter, pulls: int | None = None) -> Any:
    """The campaign when LiteLLM has reported all calls."""
    async with asyncio.timeout(120):
        while budget._open or (pulls and len(budget.campaign.pulls()) < pulls):
            await asyncio.sleep(0.005)
    return budget.campaign.status()


def good(_: Any, response: Any) -> float:
    return float(response.choices[0].message.content.startswith("good"))


def test_what_is_told_is_what_the_provider_bills(
    provider: Provider, budgets: Callable[..., BudgetRouter], tmp_path: Path
) -> None:
    """Retries, failures and refusals among them, and streams that are read to the end."""
    store = f"sqlite:///{tmp_path / 'bill.db'}"
    budget = budgets([SMALL, LARGE, "openai/flaky"], store=store, reward=good, failure_cost=UNBILLED)

    async def story() -> Any:
        chat = router(budget, *map(deployment, (SMALL, LARGE)), deployment("openai/flaky", info=FLAKY), num_retries=3)

        async def streamed(number: int) -> None:
            async for _ in await call(chat, f"stream {number}", stream=True):
                pass

        await asyncio.gather(*(call(chat, f"hello {i}", n=1 + i % 2) for i in range(30)), *map(streamed, range(10)))
        return await settled(budget)

    status, billed = run(story()), provider.charged()
    assert status.exact.spent == billed["dollars"] > 0
    assert status.in_flight == 0
    flaky = billed["models"]["flaky"]
    assert flaky["failed"] + flaky["rate_limited"] > 0
    pulls = list(budget.campaign.pulls())
    assert len(pulls) == billed["calls"] + flaky["failed"] + flaky["rate_limited"]
    assert {pull.status for pull in pulls} == {"told"}
    assert 0 < status.reward <= billed["good"]
    assert verify(store).ok


def test_each_retry_and_each_fallback_is_a_pull(provider: Provider, budgets: Callable[..., BudgetRouter]) -> None:
    """The fallback's group has one other model: nothing of the choices before may stick."""
    budget = budgets([BROKEN, SMALL], failure_cost=UNBILLED)

    async def story() -> Any:
        models = deployment(BROKEN, info=DOLLAR), deployment(SMALL, "spare")
        chat = router(budget, *models, num_retries=1, fallbacks=[{"chat": ["spare"]}])
        answer = await call(chat)
        await settled(budget)
        return answer

    pull = run(story())._hidden_params["outlay"]["pull"]
    told = [(each.arm, each.cost, each.reward, each.status) for each in budget.campaign.pulls()]
    assert told[:-1] == [(BROKEN, 0, 0, "told")] * 2
    assert provider.charged()["models"]["broken"]["failed"] == 2
    *_, last = budget.campaign.pulls()
    assert (last.id, last.arm, Decimal(str(last.cost))) == (pull, SMALL, provider.charged()["dollars"])


@pytest.mark.parametrize("leaving", ["stream", "task"])
def test_what_litellm_never_reports_is_charged_when_its_time_is_over(
    leaving: str, provider: Provider, budgets: Callable[..., BudgetRouter]
) -> None:
    budget = budgets([SLOW, FREE], ttl=0.2)

    async def story() -> Any:
        chat = router(budget, deployment(SLOW, info=DOLLAR), deployment(FREE, "free", info=NOTHING))
        if leaving == "stream":
            answer = await call(chat, stream=True)
            async for _ in answer:
                break
            await answer.aclose()
        else:
            task = asyncio.ensure_future(call(chat))
            while not budget._open:
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert budget.campaign.status().in_flight == 1
        await asyncio.sleep(0.2)
        await call(chat, group="free")  # any command looks at the time
        return next(iter(budget.campaign.pulls()))

    left = run(story())
    assert (left.arm, left.status, left.cost) == (SLOW, "expired", left.reserved)
    while (billed := provider.charged())["under_way"]:
        time.sleep(0.01)
    assert 0 < float(billed["dollars"]) <= left.cost


SPOKEN = [{"role": "user", "content": "hello"}]


def test_a_stream_that_the_proxys_client_has_left_is_charged(budgets: Callable[..., BudgetRouter]) -> None:
    """LiteLLM reports it as a success that cost what was read; a provider may bill all of it."""
    budget = budgets([SLOW])

    async def story() -> None:
        context = type("Context", (), {"signals": {}})
        await budget.run(context)
        metadata = {"routing_plugin_signals": context.signals, "client_disconnected": True}  # type: ignore[attr-defined]
        given = {"max_tokens": 50, "metadata": metadata}
        await budget.async_filter_deployments("chat", [deployment(SLOW, info=DOLLAR)], SPOKEN, given)
        await budget.async_log_success_event({"litellm_params": given, "response_cost": 1e-6}, None, None, None)

    run(story())
    (left,) = budget.campaign.pulls()
    assert (left.status, left.cost) == ("expired", left.reserved)


@pytest.mark.parametrize("free", [False, True])
def test_a_timeout_may_be_billed(free: bool, provider: Provider, budgets: Callable[..., BudgetRouter]) -> None:
    budget = budgets([SLOW], **({"failure_cost": lambda error: 0} if free else {}))

    async def story() -> Any:
        with pytest.raises(litellm.Timeout):
            await call(router(budget, deployment(SLOW, info=DOLLAR, timeout=0.1)))
        await settled(budget)
        return next(iter(budget.campaign.pulls()))

    pull = run(story())
    assert pull.cost == (0 if free else pull.reserved)
    assert free or float(provider.charged()["dollars"]) <= pull.cost


@asynccontextmanager
async def answering(*said: bytes) -> AsyncIterator[str]:
    """A provider that says this, and hangs up."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read(100)
            for each in said:
                writer.write(each)
                await writer.drain()
                await asyncio.sleep(0.05)
        finally:
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


DELTA = b'"choices":[{"index":0,"delta":{"role":"assistant","content":"hello"}}]'
CHUNK = b'data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m",' + DELTA + b"}\n\n"
STREAM = (
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: text/event-stream\r\n\r\n",
    b"%x\r\n%s\r\n" % (len(CHUNK), CHUNK),
)


@pytest.mark.parametrize(
    ("said", "charged"),
    [(None, False), ((), True), ((b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{",), True), (STREAM, True)],
    ids=["nobody there", "no answer", "half an answer", "half a stream"],
)
def test_who_was_reached_may_bill(said: Any, charged: bool, budgets: Callable[..., BudgetRouter]) -> None:
    budget = budgets([SMALL])

    async def story() -> Any:
        async with answering(*(said or ())) as address:
            api = {"api_base": address if said is not None else "http://127.0.0.1:9/v1", "api_key": "any"}
            with pytest.raises(
                litellm.exceptions.APIConnectionError if said is STREAM else litellm.InternalServerError
            ):
                async for _ in await call(router(budget, deployment(SMALL, **api)), stream=said is STREAM):
                    pass
            await settled(budget)
        return next(iter(budget.campaign.pulls()))

    pull = run(story())
    assert pull.status != "open"
    assert pull.cost == (pull.reserved if charged else 0)


def whole(body: bytes, status: int = 200) -> tuple[bytes, ...]:
    head = b"HTTP/1.1 %d OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return (head % (status, len(body)) + body,)


NO = b'{"error": {"message": "no", "code": null}}'


@pytest.mark.parametrize(
    "status", [400, 401, 402, 403, 404, 408, 409, 413, 422, 424, 429, 499, 500, 502, 503, 504, 529]
)
@pytest.mark.parametrize("body", [NO, NO.replace(b"null", b'"content_filter"')])
def test_errors_cost_what_the_endpoint_says(status: int, body: bytes, budgets: Callable[..., BudgetRouter]) -> None:
    budget = budgets([SMALL])

    async def story() -> Any:
        async with answering(*whole(body, status)) as address:
            with pytest.raises(openai.APIError):
                await call(router(budget, deployment(SMALL, api_base=address, api_key="any")))
            await settled(budget)
        return next(iter(budget.campaign.pulls()))

    pull = run(story())
    free = costs_nothing(status, body)
    assert (pull.status, pull.cost, pull.reward) == (("told", 0, 0) if free else ("expired", pull.reserved, 0))


def test_an_attempt_is_judged_by_its_own_error(budgets: Callable[..., BudgetRouter]) -> None:
    """The second answer has no usage, and the error that LiteLLM makes of it was raised while it handled the first."""
    budget = budgets([SMALL])

    async def story() -> Any:
        async with answering(*whole(b"[1]")) as address:
            there = deployment(SMALL, api_base=address, api_key="any")
            nobody = deployment(SMALL, "first", api_base="http://127.0.0.1:9/v1", api_key="any")
            with pytest.raises(openai.APIError):
                await call(router(budget, there, nobody, fallbacks=[{"first": ["chat"]}]), group="first")
            await settled(budget, 2)
        return [(pull.status, pull.cost == pull.reserved) for pull in budget.campaign.pulls()]

    assert run(story()) == [("told", False), ("expired", True)]


MESSAGE = b'"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"good"}}]'
ANSWER = b'{"id":"x","object":"chat.completion","created":1,"model":"m",' + MESSAGE
LYING = b',"usage":{"prompt_tokens":-9,"completion_tokens":-9,"total_tokens":-18}}'


@pytest.mark.parametrize("said", [ANSWER + b"}", ANSWER + LYING, b"", b"<html>", b"[1]"])
def test_an_answer_that_says_no_usage_may_be_billed(said: bytes, budgets: Callable[..., BudgetRouter]) -> None:
    budget = budgets([SMALL])

    async def story() -> Any:
        async with answering(*whole(said)) as address:
            with suppress(litellm.InternalServerError):
                await call(router(budget, deployment(SMALL, api_base=address, api_key="any")))
            await settled(budget)
        return next(iter(budget.campaign.pulls()))

    pull = run(story())
    assert (pull.status, pull.cost) == ("expired", pull.reserved)


@pytest.mark.skipif(not find_spec("fastapi"), reason="LiteLLM has no cache without fastapi")
def test_answers_from_a_cache_are_free(provider: Provider, budgets: Callable[..., BudgetRouter]) -> None:
    budget = budgets([SMALL])

    async def story() -> Any:
        chat = router(budget, deployment(SMALL), cache_responses=True)
        for _ in range(2):
            await call(chat)
            await settled(budget)
        return [pull.cost for pull in budget.campaign.pulls()]

    paid, free = run(story())
    assert (paid > 0, free) == (True, 0)
    assert provider.charged()["calls"] == 1


def test_when_the_budget_is_spent(provider: Provider, budgets: Callable[..., BudgetRouter]) -> None:
    """LiteLLM's own error, at once and though a fallback is set: that has no money either."""
    budget = budgets([SMALL], 0.001)

    async def story() -> Any:
        models = deployment(SMALL), deployment(SMALL, "spare")
        chat = router(budget, *models, num_retries=2, fallbacks=[{"chat": ["spare"]}])
        with pytest.raises(litellm.BudgetExceededError, match=r"this call can cost .* is left of") as raised:  # noqa: PT012
            for _ in range(100):
                await call(chat, max_tokens=200)
        assert raised.value.max_budget == 0.001
        return await settled(budget)

    assert run(story()).exact.spent == provider.charged()["dollars"] <= Decimal("0.001")


@pytest.mark.parametrize("spare", [SMALL, FREE])
def test_a_model_for_when_the_budget_is_spent(
    spare: str, provider: Provider, budgets: Callable[..., BudgetRouter]
) -> None:
    """One that costs something is the campaign's fallback, outside the budget; one that is free always fits."""
    budget = budgets([LARGE, spare], 0.001, fallback=SMALL if spare == SMALL else None)

    async def story() -> Any:
        info = NOTHING if spare == FREE else None
        answer = await call(router(budget, deployment(LARGE), deployment(spare, info=info)), max_tokens=3000)
        assert answer._hidden_params["outlay"]["arm"] == spare
        return await settled(budget)

    status = run(story())
    assert status.spent == 0
    assert Decimal(str(status.outside)) == provider.charged()["dollars"]


def test_nobody_waits_longer_than_agreed(provider: Provider, budgets: Callable[..., BudgetRouter]) -> None:
    budget = budgets([SLOW], 0.0004, wait=0.05)

    async def story() -> Any:
        chat = router(budget, deployment(SLOW, info=DOLLAR))
        return await asyncio.gather(call(chat, max_tokens=150), call(chat, max_tokens=150), return_exceptions=True)

    served, refused = sorted(run(story()), key=lambda each: isinstance(each, Exception))
    assert served.choices
    assert isinstance(refused, litellm.RateLimitError)
    assert refused.status_code == 429
    assert "set aside" in str(refused)


def test_rewards_come_later(provider: Provider, budgets: Callable[..., BudgetRouter]) -> None:
    budget = budgets([SMALL])

    async def story() -> None:
        answer = await call(router(budget, deployment(SMALL)))
        await budget.reward(answer._hidden_params["outlay"]["pull"], 0.75)  # before LiteLLM has reported the cost

    run(story())
    (pull,) = budget.campaign.pulls()
    assert (pull.status, pull.reward, Decimal(str(pull.cost))) == ("told", 0.75, provider.charged()["dollars"])
    with pytest.raises(BadParameter, match="pull of reward must be a Pull"):
        run(budget.reward([pull.id], 1))  # type: ignore[arg-type]


@pytest.mark.parametrize("said", [lambda: 1 / 0, lambda: "good", lambda: float("inf")])
def test_a_reward_that_is_none_loses_no_cost(
    said: Callable[[], Any], provider: Provider, budgets: Callable[..., BudgetRouter]
) -> None:
    budget = budgets([SMALL], reward=lambda kwargs, response: said())

    async def story() -> Any:
        await call(router(budget, deployment(SMALL)))
        return await settled(budget)

    assert run(story()).exact.spent == provider.charged()["dollars"]
    assert [pull.status for pull in budget.campaign.pulls()] == ["paid"]


@pytest.mark.parametrize("cost", [lambda: 1 / 0, lambda: "much"])
def test_a_failure_whose_cost_is_none_is_charged_at_once(
    cost: Callable[[], Any], provider: Provider, budgets: Callable[..., BudgetRouter], caplog: Any
) -> None:
    budget = budgets([BROKEN], failure_cost=lambda error: cost())

    async def story() -> Any:
        with pytest.raises(litellm.InternalServerError):
            await call(router(budget, deployment(BROKEN, info=DOLLAR)))
        return await settled(budget)

    said = json.dumps({"messages": [{"role": "user", "content": "hello"}]})
    assert run(story()).spent == asked(said, 50, (1, 1))
    assert "failure_cost does not say what pull" in caplog.text


@pytest.mark.parametrize("pull", [[1], {"a": 1}, None])
def test_what_is_no_pull(pull: Any, budgets: Callable[..., BudgetRouter]) -> None:
    with pytest.raises(BadParameter, match="pull of reward must be a Pull"):
        run(budgets().reward(pull, 1))


def ceiling(words: str, output: int, prices: tuple[float, float] = (0.15, 0.6)) -> float:
    """By hand: a token for each byte of what is said, and all that may be answered."""
    return (len(words.encode()) * prices[0] + output * prices[1]) / 1e6


def asked(words: str, *given: Any) -> float:
    """The same, with what a provider may add to one message."""
    return ceiling(words + "+" * 116, *given)


SAID = '{"messages": [{"role": "user", "content": "grüße"}]}'
EXTRA = SAID[:-1] + ', "extra_body": {"max_tokens": 30}}'
PICTURE = [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]


@pytest.mark.parametrize(
    ("request_", "settings", "expected"),
    [
        ({"max_tokens": 10}, {}, asked(SAID, 10)),
        ({"max_completion_tokens": 10}, {}, asked(SAID, 10)),
        ({"max_tokens": 10, "extra_body": {"max_tokens": 30}}, {}, asked(EXTRA, 30)),
        ({"max_tokens": 10, "n": 3}, {}, asked(SAID, 30)),
        ({}, {}, asked(SAID, 4096)),
        ({}, {"output_limit": 7}, asked(SAID, 7)),
        ({}, {"output_limit": None}, asked(SAID, 16384)),
        ({"max_tokens": 10}, {"prompt_tokens": lambda call: 2}, ceiling("xx", 10)),
        ({"max_tokens": 10, "messages": [{"role": "user", "content": PICTURE}]}, {}, ceiling("x" * 128_000, 10)),
        pytest.param(
            {"max_tokens": 10, "tools": TOOLS},
            {},
            asked(SAID[:-1] + ', "tools": ' + json.dumps(TOOLS) + "}" + "+" * 1064, 10),
            marks=pytest.mark.skipif(not find_spec("mcp"), reason="LiteLLM sends no tools without the package mcp"),
        ),
        ({"max_tokens": 10, "service_tier": "priority"}, {}, asked(SAID, 10, (0.25, 1.0))),
    ],
)
def test_what_a_call_can_cost(
    request_: Any, settings: Any, expected: float, provider: Provider, budgets: Callable[..., BudgetRouter]
) -> None:
    budget = budgets([SMALL], **settings)

    async def story() -> Any:
        asked = {"messages": [{"role": "user", "content": "grüße"}], **request_}
        answer = await router(budget, deployment(SMALL)).acompletion("chat", **asked)
        await settled(budget)
        return answer.usage.completion_tokens

    answered = run(story())
    (pull,) = budget.campaign.pulls()
    assert pull.reserved == pytest.approx(expected, abs=1e-9)
    assert float(provider.charged()["dollars"]) <= pull.reserved
    if "max_tokens" not in request_:
        assert answered <= {7: 7, None: 16384}.get(settings.get("output_limit", 0), 4096)


def set_aside(budget: BudgetRouter, given: Any, info: Any, **params: Any) -> float:
    """What is set aside for a call, which is not made."""

    async def story() -> None:
        context = type("Context", (), {"signals": {}})
        await budget.run(context)
        call = {"max_tokens": 10, "metadata": {"routing_plugin_signals": context.signals}, **given}  # type: ignore[attr-defined]
        messages = call.pop("messages", SPOKEN)
        await budget.async_filter_deployments("chat", [deployment(SLOW, info=info, **params)], messages, call)

    run(story())
    (pull,) = budget.campaign.pulls()
    return pull.reserved


def words_of(*parts: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [*parts]}]


READ = {**DOLLAR, "max_input_tokens": 1000}
DEARER = {key + "_priority": 5e-6 for key in DOLLAR}
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}


@pytest.mark.parametrize(
    ("given", "info", "params", "least"),
    [
        ({}, {**DOLLAR, **DEARER}, {"service_tier": "priority"}, 5 * 160e-6),
        ({"extra_body": {"service_tier": "priority"}}, {**DOLLAR, **DEARER}, {}, 5 * 160e-6),
        ({"service_tier": "ultrafast"}, {**DOLLAR, "output_cost_per_token_ultrafast": 1e-4}, {}, 1e-3),
        ({"speed": "fast"}, {**DOLLAR, "provider_specific_entry": {"fast": 6, "frames": "x"}}, {}, 6 * 160e-6),
        ({}, DOLLAR, {"extra_body": {"n": 50}}, 500e-6),
        ({"prediction": {"type": "content", "content": "x" * 700}}, DOLLAR, {}, 860e-6),
        ({"messages": [{"role": "user", "content": "\ufdfa" * 100}]}, DOLLAR, {}, 3300e-6),  # 18 letters, after NFKC
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, DOLLAR, {}, 1160e-6),
        ({"response_format": {"type": "json_object"}}, DOLLAR, {}, 1160e-6),
        ({"extra_body": {"documents": ["x" * 700]}}, DOLLAR, {}, 860e-6),
        ({"messages": words_of({"type": "tool_result", "content": [IMAGE]})}, READ, {}, 1010e-6),
        ({"messages": None, "input": [{"type": "item_reference", "id": "x"}]}, READ, {}, 1010e-6),
        ({"messages": None, "input": [{"type": "function_call_output", "output": [IMAGE]}]}, READ, {}, 1010e-6),
        ({"messages": None, "prompt": {"id": "x"}}, READ, {}, 1010e-6),
        ({"messages": [{"role": "assistant", "audio": {"id": "x"}}]}, READ, {}, 1010e-6),
        ({"tools": [{"type": "file_search"}]}, READ, {}, 1010e-6),
        ({"messages": words_of({"type": "input_audio"})}, {**READ, "input_cost_per_audio_token": 4e-5}, {}, 0.04),
        ({}, {**DOLLAR, "output_cost_per_audio_token": 8e-5}, {}, 8e-4),
    ],
)  # fmt: skip
def test_what_else_a_call_can_cost(
    given: Any, info: Any, params: Any, least: float, budgets: Callable[..., BudgetRouter]
) -> None:
    assert least <= set_aside(budgets([SLOW]), given, info, **params) < 1.6 * least


@pytest.mark.parametrize(
    ("model", "info", "request_", "sentence"),
    [
        (SLOW, {}, {}, "nobody knows what openai/slow costs: say input_cost_per_token and output_cost_per_token"),
        (SLOW, DOLLAR, {"messages": [{"role": "user", "content": PICTURE}]}, "say its max_input_tokens in model_info"),
        (SLOW, DOLLAR, {"max_tokens": None}, "nobody knows how long an answer of openai/slow can be: give max_tokens"),
        (SLOW, {"input_cost_per_tokens": 1e-6, **ANSWERS}, {}, "nobody knows what openai/slow costs"),
        (SLOW, {"input_cost_per_token": -1e-6, **ANSWERS}, {}, "input_cost_per_token of openai/slow must be ≥ 0"),
        (SLOW, DOLLAR, {"n": -1}, "n of the request must be a whole number ≥ 1; got -1"),
        (SLOW, DOLLAR, {"max_tokens": "many"}, "max_tokens of the request must be a whole number ≥ 1; got 'many'"),
        (SLOW, DOLLAR, {"extra_body": {"model": "gpt-4o"}}, "extra_body may not have 'model': it would take the place"),
        (SLOW, DOLLAR, {"extra_body": {"messages": []}}, "extra_body may not have 'messages'"),
        (SLOW, {**DOLLAR, "input_cost_per_query": 1}, {}, "openai/slow has a price for each request"),
        (
            SLOW,
            {"input_cost_per_token": 1, "output_cost_per_image_token": 1},
            {},
            "nobody knows what openai/slow costs",
        ),
        (
            BROKEN,
            DOLLAR,
            {},
            "openai/broken of model group 'chat' is no arm of campaign 'default': add it there, beside ",
        ),
    ],
)
def test_what_is_refused(
    model: str, info: Any, request_: Any, sentence: str, provider: Provider, budgets: Callable[..., BudgetRouter]
) -> None:
    budget = budgets([SLOW], output_limit=None)

    async def story() -> None:
        chat = router(budget, deployment(model, info=info))
        asked = {"messages": [{"role": "user", "content": "hello"}], "max_tokens": 10, **request_}
        with pytest.raises(litellm.BadRequestError, match=re.escape(sentence)):
            await chat.acompletion("chat", **asked)

    run(story())
    assert not list(budget.campaign.pulls())
    assert provider.charged()["calls"] == 0


@pytest.mark.parametrize("tokens", ["5", -5, float("nan")])
def test_a_count_of_tokens_that_is_none_is_refused(
    tokens: Any, provider: Provider, budgets: Callable[..., BudgetRouter]
) -> None:
    budget = budgets([SMALL], prompt_tokens=lambda request: tokens)
    with pytest.raises(litellm.BadRequestError, match="prompt_tokens of BudgetRouter must be"):
        run(call(router(budget, deployment(SMALL))))
    assert provider.charged()["calls"] == 0


def test_what_cannot_be_capped_is_not_called(provider: Provider, budgets: Callable[..., BudgetRouter]) -> None:
    """One deployment by its number passes the choice by, and calls that do not await have none."""
    budget = budgets([SMALL])
    chat = router(budget, deployment(SMALL, info={"id": "number-1"}))
    with pytest.raises(litellm.BadRequestError, match="pays for calls of a model group, not of one deployment"):
        run(call(chat, group="number-1"))
    with pytest.raises(ValueError, match="synchronous"):
        chat.completion("chat", [{"role": "user", "content": "hello"}])
    with pytest.raises(litellm.BadRequestError, match="give max_tokens, or max_output_tokens"):
        run(chat.aresponses(model="chat", input="hello"))
    assert provider.charged()["calls"] == 0
    assert not list(budget.campaign.pulls())


@pytest.mark.parametrize("kind", ["aimage_generation", "aspeech"])
def test_what_is_no_text_is_not_called(kind: str, provider: Provider, budgets: Callable[..., BudgetRouter]) -> None:
    """What limits an answer of text, limits no picture and no speech; some have prices of tokens."""
    budget = budgets([SMALL])

    async def story() -> None:
        asked = {"aimage_generation": {"prompt": "a cat"}, "aspeech": {"input": "a cat", "voice": "alloy"}}[kind]
        verb = getattr(router(budget, deployment(SMALL)), kind)
        with pytest.raises(litellm.BadRequestError, match=f"nobody knows what a call of {kind} can cost"):
            await verb(model="chat", **asked)
        await settled(budget)

    run(story())
    assert [(pull.status, pull.cost) for pull in budget.campaign.pulls()] == [("told", 0)]
    assert provider.charged()["calls"] == 0


def test_deployments_of_one_model_are_one_arm(provider: Provider, budgets: Callable[..., BudgetRouter]) -> None:
    budget = budgets([SMALL])

    async def story() -> set[str]:
        chat = router(budget, deployment(SMALL, info={"id": "one"}), deployment(SMALL, info={"id": "two"}))
        answers = await asyncio.gather(*(call(chat, str(number)) for number in range(20)))
        await settled(budget)
        return {answer._hidden_params["model_id"] for answer in answers}

    assert run(story()) == {"one", "two"}
    assert [(arm.name, arm.pulls) for arm in budget.campaign.status().arms] == [(SMALL, 20)]


def test_several_budgets_in_one_process(provider: Provider, budgets: Callable[..., BudgetRouter]) -> None:
    """Of one name, too: LiteLLM's loggers hear of all routers' calls; one without a budget is left alone."""
    first, second = budgets([SMALL]), budgets([SMALL])

    async def story() -> None:
        await call(router(first, deployment(SMALL)))
        await call(litellm.Router(model_list=[deployment(SMALL)], num_retries=0))
        await settled(first)
        first.unregister()
        await call(router(second, deployment(SMALL)))
        await settled(second)

    run(story())
    assert [len(list(each.campaign.pulls())) for each in (first, second)] == [1, 1]


def test_calls_are_told_where_a_process_has_more_routers_than_litellm_listens_for(
    provider: Provider, budgets: Callable[..., BudgetRouter]
) -> None:
    for _ in range(120):
        litellm.Router([deployment(SMALL)])
    budget = budgets([SMALL], reward=good)

    async def story() -> Any:
        await call(router(budget, deployment(SMALL)))
        return await settled(budget)

    assert run(story()).exact.spent == provider.charged()["dollars"] > 0


def test_the_choice_and_its_reason_are_logged(
    provider: Provider, budgets: Callable[..., BudgetRouter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outlay.integrations.spending.FRESH", 0.0)
    heard: list[Any] = []

    class Log(CustomLogger):  # type: ignore[misc]
        async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
            heard.append(kwargs["litellm_params"]["metadata"]["routing_plugin_signals"]["outlay"])

    log = Log()
    litellm.logging_callback_manager.add_litellm_callback(log)
    budget = budgets(reward=good, name="bill", policy="Frugal")

    async def story() -> None:
        chat = router(budget)
        for _ in range(3):
            await call(chat)
            await settled(budget)
            await asyncio.sleep(0.02)  # reasons are looked for beside the calls
        while len(heard) < 3:
            await asyncio.sleep(0.005)

    run(story())
    BudgetRouter.unregister(log)
    assert [each["pull"] for each in heard] == [pull.id for pull in budget.campaign.pulls()]
    assert {each["campaign"] for each in heard} == {"bill"}
    assert heard[-1]["reason"].endswith(".")


def test_a_campaign_behind_a_service(provider: Provider, budgets: Callable[..., BudgetRouter], tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 'bill.db'}") as address:
        budget = budgets(dollars=1, store=address, name="bill", reward=good)

        async def story() -> None:
            chat = router(budget)
            await asyncio.gather(*(call(chat, str(number)) for number in range(10)))
            while budget._open:
                await asyncio.sleep(0.005)
            await budget.spending.disconnect()

        run(story())
    with Campaign.open(f"sqlite:///{tmp_path / 'bill.db'}", "bill") as campaign:
        assert campaign.status().exact.spent == provider.charged()["dollars"]


def test_a_service_that_is_gone_refuses_calls(provider: Provider, budgets: Callable[..., BudgetRouter]) -> None:
    budget = budgets(None, None, store="http://127.0.0.1:9", timeout=0.2)
    with pytest.raises(litellm.ServiceUnavailableError, match=r"'default' did not answer within 0\.2 seconds"):
        run(call(router(budget)))
    assert provider.charged()["calls"] == 0


def test_bad_settings(budgets: Callable[..., BudgetRouter]) -> None:
    for name, given in {
        "reward": 1, "prompt_tokens": 5, "failure_cost": None, "output_limit": 0, "wait": -1, "timeout": 0,
    }.items():  # fmt: skip
        with pytest.raises(BadParameter, match=f"{name} of BudgetRouter"):
            budgets(**{name: given})
    with pytest.raises(BadParameter, match="budget of campaign_at must be given for a campaign in memory"):
        budgets(None, None)


def test_examples_run() -> None:
    tried = doctest.testmod(sys.modules["outlay.integrations.litellm"])
    assert (tried.failed, tried.attempted > 3) == (0, True)


def test_what_failures_cost() -> None:
    refused = litellm.BadRequestError("No.", "m", "p")
    assert failure_cost(refused) == 0
    sent = httpx.Request("POST", "http://a")
    answer = httpx.HTTPStatusError("No.", request=sent, response=httpx.Response(400, request=sent))
    for kind in (litellm.ContentPolicyViolationError, litellm.ContextWindowExceededError):
        read = kind("No.", "m", "p")
        for cause in (None, answer):  # which says no code: LiteLLM knows it by its words
            read.__cause__ = cause
            assert failure_cost(read) is None
            assert failure_cost(read, not_billed=[400]) == 0
    assert failure_cost(litellm.JSONSchemaValidationError("m", "p", "{", "{}")) is None
    assert failure_cost(litellm.InternalServerError("?", "p", "m"), not_billed=[500]) is None
    assert failure_cost(ValueError("?")) is None
    refused.__cause__ = httpx.ReadError("?")
    assert failure_cost(refused) is None
    refused.__cause__.__context__ = httpx.ConnectError("of an attempt before")
    assert failure_cost(refused) is None
    refused.__cause__ = httpx.ConnectError("?")
    assert failure_cost(refused) == 0


def named_block(title: str) -> str:
    """A file that the page shows."""
    found = re.search(rf'^```\w+ title="{re.escape(title)}"\n(.*?)^```', PAGE.read_text(encoding="utf-8"), re.S | re.M)
    assert found is not None
    return found[1]


def test_the_program_of_the_page_runs(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(named_block("chat.py"), "chat.py", "exec"), space)
    assert "'campaign': 'bill'" in capsys.readouterr().out
    space["budget"].unregister()
    assert space["budget"].campaign.status().exact.spent == provider.charged()["dollars"] > 0


@pytest.mark.soak
@pytest.mark.skipif(not find_spec("fastapi"), reason="the proxy is not installed: pip install 'litellm[proxy]'")
def test_the_proxy_of_the_page(provider: Provider, tmp_path: Path) -> None:
    files = {name: named_block(name) for name in ("config.yaml", "budget.py")}
    with Proxy(tmp_path, files) as proxy, httpx.Client(base_url=proxy.address, timeout=60) as client:
        client.headers["authorization"] = f"Bearer {proxy.key}"
        asked = {"model": "chat", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 50}
        served = [client.post("/v1/chat/completions", json={**asked, "stream": i % 2 == 0}) for i in range(10)]
        assert [answer.status_code for answer in served] == [200] * 10
        pulls = [int(answer.headers["x-outlay-pull"]) for answer in served]

        def feedback(said: Any, **head: str) -> tuple[int, str]:
            answer = client.post("/outlay/feedback", json=said, headers=head)
            return answer.status_code, answer.text

        assert feedback({"pull": pulls[0], "reward": 1})[0] == 200
        assert feedback({"pull": str(pulls[0]), "reward": 1})[0] == 200  # as the header says it
        status, said = feedback({"pull": pulls[0], "reward": 2})
        assert (status, "which stands; amend corrects it" in said) == (400, True)
        for wrong in ({"pull": pulls[1]}, {"pull": 10**9, "reward": 1}, {"pull": pulls[1], "reward": "good"}):
            assert feedback(wrong)[0] == 400
        for pull in ([1], {"a": 1}, "", "9" * 30):
            assert feedback({"pull": pull, "reward": 1})[0] == 400
        assert feedback({"pull": pulls[1], "reward": 1}, authorization="Bearer sk-another")[0] in (400, 401)
        refused = client.post("/v1/chat/completions", json={**asked, "max_tokens": 10**8})
        assert (refused.status_code, "is left of the budget" in refused.text) == (422, True)
    with Campaign.open(f"sqlite:///{tmp_path / 'bill.db'}", "bill") as campaign:
        stands = campaign.status()
        assert stands.exact.spent == provider.charged()["dollars"]
        assert [pull.id for pull in campaign.pulls()] == pulls
        assert (stands.in_flight, stands.awaited) == (0, 9)


@pytest.mark.soak
@pytest.mark.skipif(not find_spec("fastapi"), reason="the proxy is not installed: pip install 'litellm[proxy]'")
def test_streams_that_clients_of_the_proxy_leave(tmp_path: Path) -> None:
    files = {name: named_block(name) for name in ("config.yaml", "budget.py")}
    models = [Model("gpt-4o-mini", 0.15, 0.6, seconds=0.2), Model("gpt-4o", 2.5, 10, seconds=0.2)]
    with (
        Provider(models, left="all") as provider,
        Proxy(tmp_path, files, {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": provider.base_url}) as proxy,
    ):
        client = openai.OpenAI(base_url=f"{proxy.address}/v1", api_key=proxy.key, max_retries=0)
        for number in range(20):
            said: Any = [{"role": "user", "content": f"{number}"}]
            answer = client.chat.completions.create(model="chat", messages=said, max_tokens=50, stream=True)
            next(iter(answer))
            answer.close()
        while provider.charged()["under_way"]:
            time.sleep(0.01)
        with Campaign.open(f"sqlite:///{tmp_path / 'bill.db'}", "bill") as campaign:
            while campaign.status().in_flight:
                time.sleep(0.05)
            assert campaign.status().exact.spent >= provider.charged()["dollars"] > 0
