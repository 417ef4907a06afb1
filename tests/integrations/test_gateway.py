"""The endpoint, called by OpenAI's own package: what it answers, what the ledger says, what the provider billed."""

import asyncio
import json
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import unquote

import httpx2
import openai
import pytest
from benchmarks.provider import Model, Provider
from openai.types.chat import ChatCompletion

from outlay import Campaign
from outlay.campaign import verify
from outlay.campaign.records import PullStatus
from outlay.errors import BadFile, CampaignConflict
from outlay.integrations.gateway import Gateway
from outlay.integrations.gateway_file import load
from outlay.integrations.prompts import PROMPT_CONTEXT
from outlay.service import ServiceSettings
from outlay.service.auth import KeyStore
from tests.integrations.gateways import ASKED, GONE, HERE, KEY, Handler, gateway, scripted, written
from tests.service.conftest import running

PAGE = Path(__file__).parents[2] / "docs" / "gateway.md"
MODELS = [
    Model("small", 0.15, 0.6),
    Model("large", 2.5, 10, quality=0.9),
    Model("broken", 1, 1, fails=1.0),
    Model("busy", 1, 1, rate_limited=1.0),
    Model("slow", 1, 1, hangs=1.0),
]
BROKEN = {"provider": "here", "model": "broken", "input": 1, "output": 1, "max_output_tokens": 500}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
WHOLE: dict[str, Any] = {
    "id": "1", "object": "chat.completion", "created": 0, "model": "small", "usage": USAGE,
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "So."}, "finish_reason": "stop"}],
}  # fmt: skip


@pytest.fixture(scope="module")
def running_provider() -> Iterator[Provider]:
    with Provider(MODELS, key=KEY, hang=1.5) as provider:
        yield provider


@pytest.fixture
def provider(running_provider: Provider) -> Provider:
    running_provider.reset()
    return running_provider


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HERE, KEY)


def dollars(pulls: list[PullStatus]) -> Decimal:
    return sum((Decimal(str(pull.cost)) for pull in pulls), Decimal(0))


def test_a_chat_is_a_pull(provider: Provider, tmp_path: Path) -> None:
    with gateway(tmp_path, provider.base_url) as gate:
        raw = gate.client().chat.completions.with_raw_response.create(**ASKED, max_tokens=50)
        answer = raw.parse()
        [pull] = gate.pulls()
    assert answer.choices[0].message.content
    assert answer.usage is not None
    assert raw.headers["x-outlay-pull"] == str(pull.id)
    assert raw.headers["x-outlay-arm"] == pull.arm == answer.model
    assert Decimal(raw.headers["x-outlay-cost"]) == provider.charged()["dollars"] > 0
    assert dollars([pull]) == Decimal(raw.headers["x-outlay-cost"])
    assert pull.cost is not None
    assert pull.cost <= float(raw.headers["x-outlay-reserved"]) == pull.reserved
    assert (pull.status, pull.reward) == ("paid", None)
    assert verify(gate.store, "bill").ok


def test_models(provider: Provider, tmp_path: Path) -> None:
    with gateway(tmp_path, provider.base_url, {"calls.models": ["auto", "any"]}) as gate:
        client = gate.client()
        assert [model.id for model in client.models.list()] == ["auto", "any", "small", "large"]
        assert client.models.retrieve("large").owned_by == "here"
        for model in ("small", "large"):
            assert client.chat.completions.create(**{**ASKED, "model": model}).model == model
        with pytest.raises(openai.NotFoundError) as refused:
            client.chat.completions.create(**{**ASKED, "model": "gpt"})
        with pytest.raises(openai.NotFoundError):
            client.models.retrieve("gpt")
        assert refused.value.code == "model_not_found"
        assert [pull.arm for pull in gate.pulls()] == ["small", "large"]


@pytest.mark.parametrize("asked", [None, {"include_usage": True}, {"include_usage": False}])
def test_streams(asked: dict[str, bool] | None, provider: Provider, tmp_path: Path) -> None:
    async def chunks(gate_address: str) -> list[Any]:
        async with openai.AsyncOpenAI(base_url=f"{gate_address}/v1", api_key="any", max_retries=0) as client:
            more: dict[str, Any] = {} if asked is None else {"stream_options": asked}
            return [each async for each in await client.chat.completions.create(**ASKED, stream=True, **more)]

    with gateway(tmp_path, provider.base_url) as gate:
        found = asyncio.run(chunks(gate.address))
        [pull] = gate.pulls()  # it is settled before the stream ends
    wanted = bool(asked and asked["include_usage"])
    assert [each.usage is not None for each in found] == [False] * (len(found) - 1) + [wanted]
    assert all(each.choices for each in found[: -1 if wanted else None])
    assert not wanted or "usage" in found[0].model_fields_set
    assert "".join(each.choices[0].delta.content or "" for each in found if each.choices)
    assert pull.status == "paid"
    assert dollars([pull]) == provider.charged()["dollars"]


def test_who_leaves_a_stream_is_told_what_all_of_it_costs(provider: Provider, tmp_path: Path) -> None:
    with gateway(tmp_path, provider.base_url) as gate:
        for _ in range(5):
            with gate.client().chat.completions.create(**ASKED, stream=True) as stream:
                next(iter(stream))
        pulls = gate.settled()
        charged = provider.charged()
    assert {pull.status for pull in pulls} == {"paid"}
    assert sum(model["left"] for model in charged["models"].values()) == 0
    assert dollars(pulls) == charged["dollars"]


def test_who_leaves_before_there_is_an_answer_is_told_what_it_costs(tmp_path: Path) -> None:
    def act(handler: Handler) -> None:
        time.sleep(0.3)
        handler.answer(WHOLE)

    with scripted(act) as provider, gateway(tmp_path, provider.base_url) as gate:
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(f"{gate.address}/v1/chat/completions", json=ASKED, timeout=0.15)
        assert [pull.status for pull in gate.settled()] == ["paid"]


@pytest.mark.parametrize(
    ("model", "status", "code"), [("broken", 500, "server_error"), ("busy", 429, "rate_limit_exceeded")]
)
def test_a_provider_that_fails(model: str, status: int, code: str, provider: Provider, tmp_path: Path) -> None:
    changes = {"arms.bad": {**BROKEN, "model": model}, "providers.here.not_billed": [500]}
    with gateway(tmp_path, provider.base_url, changes) as gate:
        with pytest.raises(openai.APIStatusError) as failed:
            gate.client().chat.completions.create(**{**ASKED, "model": "bad"})
        [pull] = gate.pulls()
        assert failed.value.response.headers["x-outlay-pull"] == str(pull.id)
    assert (failed.value.status_code, failed.value.code) == (status, code)
    assert (pull.status, pull.cost, pull.reward) == ("told", 0, 0)


@pytest.mark.parametrize("stream", [False, True])
def test_another_arm_is_tried(stream: bool, provider: Provider, tmp_path: Path) -> None:
    arms = {"bad": BROKEN, "worse": BROKEN, "good": {**BROKEN, "model": "small", "input": 0.15, "output": 0.6}}
    changes = {"arms": arms, "calls.retries": 2, "providers.here.not_billed": [500]}
    with gateway(tmp_path, provider.base_url, changes) as gate:
        for _ in range(4):
            answer = gate.client().chat.completions.create(**ASKED, stream=stream)
            assert answer.model == "small" if isinstance(answer, ChatCompletion) else [*answer]
        pulls = gate.settled()
    assert [pull.status for pull in pulls if pull.arm == "good"] == ["paid"] * 4
    assert {pull.arm for pull in pulls} == set(arms)
    assert dollars(pulls) == provider.charged()["dollars"]


def test_the_last_failure_is_told_where_no_other_arm_is_left(provider: Provider, tmp_path: Path) -> None:
    arms = {"bad": BROKEN, "dear": {**BROKEN, "output": 1e5}}
    changes = {"arms": arms, "calls.retries": 5, "calls.wait": 0}
    with gateway(tmp_path, provider.base_url, changes) as gate:
        with pytest.raises(openai.InternalServerError):
            gate.client().chat.completions.create(**ASKED)
        assert [pull.arm for pull in gate.pulls()] == ["bad"]


def test_the_end_of_the_budget(provider: Provider, tmp_path: Path) -> None:
    with gateway(tmp_path, provider.base_url, {"campaign.budget": 0.02}) as gate:
        client = gate.client()
        with pytest.raises(openai.RateLimitError) as over:
            all(client.chat.completions.create(**ASKED) for _ in range(500))
        status = gate.status()
    assert (over.value.code, over.value.type) == ("insufficient_quota", "insufficient_quota")
    assert over.value.response.headers["x-should-retry"] == "false"
    assert provider.charged()["dollars"] == status.exact.spent <= Decimal("0.02")


def test_the_fallback_serves_when_the_budget_is_spent(provider: Provider, tmp_path: Path) -> None:
    changes = {"campaign.budget": 0.005, "campaign.fallback": "small"}
    with gateway(tmp_path, provider.base_url, changes) as gate:
        models = [gate.client().chat.completions.create(**ASKED).model for _ in range(60)]
        pulls = gate.pulls()
        with pytest.raises(openai.RateLimitError):
            gate.client().chat.completions.create(**{**ASKED, "model": "large"})
        status = gate.status()
    assert models[-1] == "small"
    assert pulls[-1].fallback
    assert status.exact.spent <= Decimal("0.005")
    assert dollars(pulls) == provider.charged()["dollars"]


def test_a_free_arm_can_be_the_fallback_alone(provider: Provider, tmp_path: Path) -> None:
    free = {"input": 0, "output": 0, "fallback_only": True}
    changes = {"campaign.budget": 0.01, "campaign.fallback": "small"} | {f"arms.small.{key}": free[key] for key in free}
    with gateway(tmp_path, provider.base_url, changes) as gate:
        client = gate.client()
        models = [client.chat.completions.create(**ASKED).model for _ in range(12)]
        assert client.chat.completions.create(**{**ASKED, "model": "small"}).model == "small"
    assert models[0] == "large"
    assert models == sorted(models)
    assert models[-1] == "small"


def test_names_that_are_not_ascii(provider: Provider, tmp_path: Path) -> None:
    with gateway(tmp_path, provider.base_url, {"arms": {"größe 1%": {**BROKEN, "model": "small"}}}) as gate:
        headers: dict[str, str] = {}
        while "x-outlay-reason" not in headers:  # it is looked up beside the calls
            headers = dict(gate.client().chat.completions.with_raw_response.create(**ASKED).headers)
    assert headers["x-outlay-arm"] == "gr%C3%B6%C3%9Fe 1%25"
    assert unquote(headers["x-outlay-reason"]).isprintable()


def test_the_campaign_may_be_behind_another_service(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = f"sqlite:///{tmp_path / 'there.db'}"
    token, _ = KeyStore(store).new("gateway", ["admin"])
    monkeypatch.setenv("OUTLAY_KEY", token)
    with running(store) as there, gateway(tmp_path, provider.base_url, {"campaign.store": there}) as gate:
        raw = gate.client().chat.completions.with_raw_response.create(**ASKED)
        found = httpx2.post(f"{gate.address}/v1/feedback", json={"pull": raw.headers["x-outlay-pull"], "reward": 1})
        assert found.json()["reward"] == 1
        with pytest.raises(openai.NotFoundError):
            gate.client().chat.completions.create(**{**ASKED, "model": "gpt"})
        with Campaign.open(store, "bill") as campaign:
            assert dollars([*campaign.pulls()]) == provider.charged()["dollars"]
            campaign.close()
        with pytest.raises(openai.RateLimitError) as over:
            gate.client().chat.completions.create(**ASKED)
        assert over.value.code == "insufficient_quota"


def test_where_all_is_set_aside_a_call_waits(tmp_path: Path) -> None:
    def act(handler: Handler) -> None:
        time.sleep(0.3)
        handler.answer(WHOLE)

    changes = {"campaign.budget": 0.0004, "arms.large": GONE}

    async def both(address: str) -> list[object]:
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="any", max_retries=0) as client:
            calls = [client.chat.completions.create(**ASKED) for _ in range(2)]
            return [*await asyncio.gather(*calls, return_exceptions=True)]

    for wait, failures in ((5.0, 0), (0.0, 1)):
        folder = tmp_path / str(wait)
        folder.mkdir()
        with scripted(act) as provider, gateway(folder, provider.base_url, {**changes, "calls.wait": wait}) as gate:
            found = asyncio.run(both(gate.address))
        refused = [each for each in found if isinstance(each, openai.RateLimitError)]
        assert [each.code for each in refused] == ["rate_limit_exceeded"] * failures
        assert all(int(each.response.headers["retry-after"]) >= 1 for each in refused)


def test_feedback(provider: Provider, tmp_path: Path) -> None:
    with gateway(tmp_path, provider.base_url, {"campaign.reward_within": "1h", "campaign.missing_reward": 0}) as gate:
        raw = gate.client().chat.completions.with_raw_response.create(**ASKED)
        path, pull = f"{gate.address}/v1/feedback", raw.headers["x-outlay-pull"]
        for given, duplicate in ((pull, False), (int(pull), True)):
            said = httpx2.post(path, json={"pull": given, "reward": True}).json()
            assert (said["reward"], said["duplicate"], said["pull"]) == (1.0, duplicate, int(pull))
        for body, status, code in (
            ({"pull": pull, "reward": 0}, 409, "conflict"),
            ({"pull": 999, "reward": 0}, 404, "no_pull"),
            ({"pull": "a key", "reward": 0}, 404, "no_pull"),
            ({"pull": "9" * 5000, "reward": 0}, 400, "bad_request"),
            ({"pull": pull}, 400, "bad_request"),
            ({"pull": pull, "reward": "good"}, 400, "bad_request"),
            ({"pull": pull, "reward": 1, "cost": 2}, 400, "bad_request"),
            ({"pull": -1, "reward": 1}, 400, "bad_request"),
        ):
            refused = httpx2.post(path, json=body)
            assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
        assert [pull.reward for pull in gate.pulls()] == [1.0]


def test_a_reward_for_every_answer(provider: Provider, tmp_path: Path) -> None:
    with gateway(tmp_path, provider.base_url, {"calls.reward": 0.5}) as gate:
        gate.client().chat.completions.create(**ASKED)
        assert [(pull.status, pull.reward) for pull in gate.pulls()] == [("told", 0.5)]


def test_all_else_goes_through_untouched(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    more = {"tools": tools, "temperature": 0.25, "seed": 2**70, "response_format": {"type": "json_object"}, "x": [None]}
    changes = {"arms.large": GONE, "calls.max_tokens": 70, "arms.small.model": "vendor/small"}
    with (
        scripted(lambda handler: handler.answer(WHOLE)) as provider,
        gateway(tmp_path, provider.base_url, changes) as gate,
    ):
        path = f"{gate.address}/v1/chat/completions"
        for limit in ({}, {"max_tokens": 60}, {"max_completion_tokens": 9999}):
            sent = {**ASKED, **more, **limit}
            answer = httpx2.post(path, json=sent, headers={"x-forwarded-for": "1.2.3.4", "cookie": "a=b"})
            assert answer.json() == WHOLE
    kept = {key: value for key, value in sent.items() if not key.startswith("max_")} | {"model": "vendor/small"}
    assert [body for _, body in provider.seen] == [{**kept, "max_tokens": most} for most in (70, 60, 500)]
    for headers, _ in provider.seen:
        assert headers["authorization"] == f"Bearer {KEY}"
        assert not {"cookie", "x-forwarded-for"} & headers.keys()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "Why?"}, "messages"),
        ({"messages": [{"role": "user", "content": 7}]}, "content"),
        ({"model": 7}, "model"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": 1.5}, "max_completion_tokens"),
        ({"n": 0}, "$.n"),
        ({"n": 1000}, "$.n"),
        ({"stream": "yes"}, "stream"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "no images"),
        ({"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "x"}}]}]}, "image_url alone"),
        ({"messages": [{"role": "assistant", "audio": {"id": "x"}}]}, "image_url alone"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"audio": {"voice": "x"}}, "audio"),
        ({"prediction": {"type": "content"}}, "prediction"),
        ({"web_search_options": {}}, "web_search_options"),
        ({"service_tier": "priority"}, "service_tier"),
        ({"tools": [{"type": "web_search"}]}, "functions"),
        ({"N": 100}, "small letters"),
        ({"Model": "another"}, "small letters"),
    ],
)
def test_what_cannot_be_bounded_is_refused(
    change: dict[str, Any], words: str, tmp_path: Path, shared_gate: Any
) -> None:
    refused = httpx2.post(f"{shared_gate.address}/v1/chat/completions", json={**ASKED, **change})
    assert refused.status_code == 400
    assert words in refused.json()["error"]["message"]
    assert refused.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b"[" * 100_000, {}, 400),
        (b"\xff", {}, 400),
        (b"", {}, 400),
        (json.dumps(ASKED).encode(), {"content-type": "text/plain"}, 415),
        (json.dumps({**ASKED, "x": "y" * (1 << 20)}).encode(), {}, 413),
        (json.dumps(ASKED).encode(), {"origin": "https://elsewhere.example"}, 403),
        (json.dumps(ASKED).encode(), {"host": "elsewhere.example"}, 400),
    ],
)
def test_bad_requests(body: bytes, headers: dict[str, str], status: int, shared_gate: Any) -> None:
    given = {"content-type": "application/json", **headers}
    assert httpx2.post(f"{shared_gate.address}/v1/chat/completions", content=body, headers=given).status_code == status


@pytest.fixture(scope="module")
def shared_gate(running_provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """For requests that no provider gets."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(HERE, KEY)
        with gateway(tmp_path_factory.mktemp("shared"), running_provider.base_url) as gate:
            yield gate
            assert gate.pulls() == []


TEXTS = ["a", "é" * 50, "你好" * 40, "👩‍👩‍👧‍👦" * 9, "\ufdfa" * 300, '"\\\n\t\x01' * 30, "\u2028 '"]


@pytest.mark.parametrize("text", TEXTS)
def test_no_token_is_less_than_a_byte(text: str, tmp_path: Path) -> None:
    """With a dollar a token, what is set aside holds every byte of a prompt, tools and all, and every answer."""
    dollar = {**BROKEN, "input": 1e6, "output": 1e6, "image_tokens": 9000, "max_output_tokens": 5000}
    changes = {"campaign.budget": 1e6, "arms": {"dollar": dollar}}
    parts = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": text}}]
    tools = [{"type": "function", "function": {"name": "f", "description": text}}]
    messages = [{"role": "user", "content": text}, {"role": "user", "content": parts}]
    with (
        scripted(lambda handler: handler.answer(WHOLE)) as provider,
        gateway(tmp_path, provider.base_url, changes) as gate,
    ):
        asked: list[dict[str, Any]] = [{"messages": messages}, {"messages": messages[:1], "tools": tools, "n": 3}]
        for sent in asked:
            found = httpx2.post(f"{gate.address}/v1/chat/completions", json={"model": "dollar", **sent})
            forms = [[each, normalize("NFKC", each)] for each in strings(sent)]
            slow = sum(max(len(form.encode()) for form in each) for each in forms) + 5000 * sent.get("n", 1)
            assert float(found.headers["x-outlay-reserved"]) >= slow + (9000 if sent["messages"] == messages else 0)


def strings(content: Any) -> Iterator[str]:
    """Every string of some JSON."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, (list, dict)):
        for key in content:
            yield from strings(key)
            if isinstance(content, dict):
                yield from strings(content[key])


def breaks_off(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    handler.wfile.write(b"{")
    handler.close_connection = True


def sleeps(handler: Handler) -> None:
    time.sleep(0.8)


@pytest.mark.parametrize(
    ("act", "status", "code"),
    [
        (sleeps, 504, "provider_error"),
        (breaks_off, 502, "provider_error"),
        (lambda handler: handler.answer({"error": {"message": "late"}}, 504), 504, None),
        (lambda handler: handler.answer({**WHOLE, "usage": None}), 200, None),
        (lambda handler: handler.answer({**WHOLE, "usage": {"prompt_tokens": -3}}), 200, None),
        (lambda handler: handler.answer(b"no JSON"), 200, None),
        (lambda handler: handler.answer({"error": {"message": f"bad key {KEY}"}}), 200, None),
    ],
)
def test_what_nobody_knows_the_price_of_is_charged(act: Any, status: int, code: str | None, tmp_path: Path) -> None:
    changes = {"calls.timeout": 0.4, "calls.retries": 1}
    with scripted(act) as provider, gateway(tmp_path, provider.base_url, changes) as gate:
        answer = httpx2.post(f"{gate.address}/v1/chat/completions", json=ASKED)
        [pull] = gate.pulls()
    assert answer.status_code == status
    assert KEY not in answer.text
    assert code is None or answer.json()["error"]["code"] == code
    assert (pull.status, pull.cost) == ("expired", pull.reserved)
    assert "x-outlay-cost" not in answer.headers


def test_every_answer_that_succeeds_is_paid(tmp_path: Path) -> None:
    """Something in between may have made 203 of 200."""
    with (
        scripted(lambda handler: handler.answer(WHOLE, 203, "text/plain; ž".encode().decode("latin-1"))) as provider,
        gateway(tmp_path, provider.base_url, {"arms.large": GONE}) as gate,
    ):
        answer = httpx2.post(f"{gate.address}/v1/chat/completions", json=ASKED)
        [pull] = gate.pulls()
    assert (answer.status_code, answer.json(), pull.status) == (200, WHOLE, "paid")


def streamed(*lines: object) -> Any:
    said = [line if isinstance(line, bytes) else b"data: " + json.dumps(line).encode() for line in lines]
    return lambda handler: handler.answer(
        b"\r\n\r\n".join(said) + b"\r\n\r\n", media="text/event-stream; charset=utf-8"
    )


CHUNK = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "small"}
PIECE = {**CHUNK, "choices": [{"index": 0, "delta": {"content": 'the word "usage"'}, "finish_reason": None}]}
DONE = b"data: [DONE]"


@pytest.mark.parametrize(
    ("lines", "cost", "kept"),
    [
        ([PIECE, {**CHUNK, "choices": [], "usage": USAGE}, DONE], "0.00000165", [PIECE]),
        ([PIECE, {**PIECE, "usage": USAGE}, DONE], "0.00000165", [PIECE, PIECE]),  # with the last piece
        ([{**PIECE, "usage": None}, {**CHUNK, "choices": [], "usage": USAGE}], "0.00000165", [PIECE]),  # no [DONE]
        ([b": wait", PIECE, b'data: {"usage"', DONE], None, [PIECE, '{"usage"']),
        ([PIECE, {"error": {"message": "lost"}}, DONE], None, [PIECE, {"error": {"message": "lost"}}]),
        ([{"error": f"bad key {KEY}"}, DONE], None, [{"error": "bad key ***"}]),
        ([b'data: {"usage":' + b"[" * 100_000, PIECE, DONE], None, ['{"usage":' + "[" * 100_000, PIECE]),
        ([{**PIECE, "usage": {"prompt_tokens": 1, "total_tokens": 9}}], "0.00000495", [PIECE]),  # thoughts apart
        ([{**PIECE, "usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 2}}}], "0.00000136", [PIECE]),
    ],
)
def test_streams_as_providers_send_them(lines: list[Any], cost: str | None, kept: list[Any], tmp_path: Path) -> None:
    changes = {"arms.large": GONE, "arms.small.cached_input": 0.005}
    with scripted(streamed(*lines)) as provider, gateway(tmp_path, provider.base_url, changes) as gate:
        answer = httpx2.post(f"{gate.address}/v1/chat/completions", json={**ASKED, "stream": True})
        [pull] = gate.pulls()
    found = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line.startswith("data: ")]
    assert [
        json.loads(each) if isinstance(want, dict) else each for each, want in zip(found, kept, strict=False)
    ] == kept
    assert found[len(kept) :] == (["[DONE]"] if DONE in lines else [])
    assert (": wait" in answer.text) == (b": wait" in lines)
    if cost is None:
        assert (pull.status, pull.cost) == ("expired", pull.reserved)
    else:
        assert (pull.status, Decimal(str(pull.cost))) == ("paid", Decimal(cost).quantize(Decimal("1e-9"), "ROUND_UP"))


def test_connections_to_a_provider_are_used_again(tmp_path: Path) -> None:
    act = streamed(PIECE, {**CHUNK, "choices": [], "usage": USAGE}, DONE)
    with scripted(act) as provider, gateway(tmp_path, provider.base_url) as gate:
        for _ in range(3):
            httpx2.post(f"{gate.address}/v1/chat/completions", json={**ASKED, "stream": True})
    assert len(provider.ports) == 1


def test_a_stream_that_breaks_off_ends_with_an_error(tmp_path: Path) -> None:
    def act(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "1000")
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(b"data: " + json.dumps(PIECE).encode() + b"\n\n")
        handler.close_connection = True

    with scripted(act) as provider, gateway(tmp_path, provider.base_url) as gate:
        with pytest.raises(openai.APIError, match="broke off"):
            [*gate.client().chat.completions.create(**ASKED, stream=True)]
        [pull] = gate.pulls()
    assert (pull.status, pull.cost) == ("expired", pull.reserved)


@pytest.mark.parametrize(
    ("answer", "status", "words", "ends"),
    [
        (({"error": {"message": "too long", "code": "context_length_exceeded"}}, 400), 400, "too long", "expired"),
        (({"error": {"message": "filtered", "code": "content_filter"}}, 400), 400, "filtered", "expired"),
        (({"error": {"message": "too large", "code": None}}, 413), 413, "too large", "cancelled"),
        (({"detail": "what?"}, 422), 422, "answered 422", "cancelled"),
        (({"error": {"message": f"bad key {KEY}"}}, 400), 400, "bad key ***", "cancelled"),
        (({"error": {"message": f"bad key {KEY}"}}, 401), 502, "refused the key of this endpoint", "told"),
        (({"error": {"message": "no"}}, 403), 502, "refused the key of this endpoint", "told"),
        (({"error": {"message": "not now"}}, 409), 409, "not now", "told"),
        ((b"[" * 10_000, 429), 429, "answered 429", "told"),
        (({"error": {"message": "broken"}}, 424), 424, "broken", "expired"),
        ((b"", 499), 499, "answered 499", "expired"),
        (({"error": {"message": "broken"}}, 502), 502, "broken", "expired"),
        ((b"<html>", 503), 503, "answered 503", "expired"),
        ((b"", 302), 502, "answered 302", "expired"),
        ((b"", 999), 502, "answered 999", "expired"),
    ],
)
def test_refusals_of_a_provider(answer: Any, status: int, words: str, ends: str, tmp_path: Path) -> None:
    content, its_status = answer

    def act(handler: Handler) -> None:
        handler.answer(content, its_status, location=handler.server.base_url)

    with scripted(act) as provider, gateway(tmp_path, provider.base_url) as gate:
        refused = httpx2.post(f"{gate.address}/v1/chat/completions", json=ASKED)
        [pull] = gate.pulls()
    assert (refused.status_code, len(provider.seen)) == (status, 1)
    assert words in refused.json()["error"]["message"]
    assert KEY not in refused.text
    assert (pull.status, pull.cost or 0) == (ends, pull.reserved if ends == "expired" else 0)


def test_a_provider_that_cannot_be_reached_costs_nothing(tmp_path: Path) -> None:
    with scripted(lambda _: None) as provider:
        nobody = provider.base_url
    with gateway(tmp_path, nobody) as gate:
        refused = httpx2.post(f"{gate.address}/v1/chat/completions", json=ASKED)
        assert [(pull.status, pull.cost, pull.reward) for pull in gate.pulls()] == [("told", 0, 0)]
    assert (refused.status_code, refused.json()["error"]["code"]) == (502, "provider_error")


def test_a_cost_above_the_ceiling_is_told_as_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    much = {**WHOLE, "usage": {"prompt_tokens": 10**5, "completion_tokens": 10**5}}
    changes = {"arms.large": GONE}
    with (
        scripted(lambda handler: handler.answer(much)) as provider,
        gateway(tmp_path, provider.base_url, changes) as gate,
    ):
        httpx2.post(f"{gate.address}/v1/chat/completions", json=ASKED)
        [pull] = gate.pulls()
    assert (pull.cost, pull.overrun) == (0.075, True)
    assert "are its prices right?" in caplog.text


@pytest.mark.parametrize("stream", [False, True])
def test_when_the_service_stops_calls_are_finished_or_charged(stream: bool, tmp_path: Path) -> None:
    def act(handler: Handler) -> None:
        time.sleep(taking)
        streamed({**PIECE, "usage": USAGE}, DONE)(handler) if stream else handler.answer(WHOLE)

    async def called(address: str) -> None:
        async with httpx2.AsyncClient() as client:
            await client.post(f"{address}/v1/chat/completions", json={**ASKED, "stream": stream}, timeout=30)

    for seconds, ends in ((0.3, "paid"), (2.0, "expired")):
        taking, folder = seconds, tmp_path / ends
        folder.mkdir()
        with scripted(act) as provider:
            with gateway(folder, provider.base_url, patience=1) as gate:

                def call(address: str = gate.address) -> None:
                    with suppress(httpx2.TransportError):
                        asyncio.run(called(address))

                thread = threading.Thread(target=call)
                thread.start()
                while not provider.seen:
                    time.sleep(0.01)
            thread.join()
        assert [pull.status for pull in gate.pulls()] == [ends]


def test_clients_need_a_key_where_the_file_says_so(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TEAM_A", "TEAM_B"):
        monkeypatch.setenv(name, f"key-of-{name}")
    with gateway(tmp_path, provider.base_url, {"access.key_env": ["TEAM_A", "TEAM_B"]}) as gate:
        for key in ("key-of-TEAM_A", "key-of-TEAM_B"):
            assert gate.client(key).chat.completions.create(**ASKED).usage
        for key in ("key-of-TEAM_C", "key-of-TEAM_", KEY):
            with pytest.raises(openai.AuthenticationError) as refused:
                gate.client(key).chat.completions.create(**ASKED)
            assert refused.value.code == "invalid_api_key"
        assert httpx2.get(f"{gate.address}/v1/models").status_code == 401
        assert httpx2.post(f"{gate.address}/v1/feedback", json={"pull": 1, "reward": 1}).status_code == 401
        for _ in range(20):
            limited = httpx2.get(f"{gate.address}/v1/models")
        assert limited.status_code == 429
        assert gate.client("key-of-TEAM_A").models.list().data
        assert len(gate.pulls()) == 2
    for settings in ({"host": "0.0.0.0"}, {"trusted_proxy": "127.0.0.1"}, {"hosts": ("budget.example.com",)}):
        with pytest.raises(BadFile, match=r"lacks access\.key_env"):
            Gateway(load(written(tmp_path, provider.base_url, {})), ServiceSettings()._replace(**settings))


class Process:
    """`outlay serve --proxy` as a process of its own."""

    def __init__(self, folder: Path, file: Path) -> None:
        self.log, self.store = folder / "log", f"sqlite:///{folder / 'bill.db'}"
        command = [sys.executable, "-c", "from outlay.cli import main; main()", "serve", "--port=0", "--log-all"]
        command += ["--store", self.store, "--proxy", str(file)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip().removeprefix("outlay serves ")

    def end(self, sign: int) -> None:
        self._process.send_signal(sign)
        self._process.communicate(timeout=30)


def test_killed_and_started_again(provider: Provider, tmp_path: Path) -> None:
    """What was under way is still set aside: with it the ledger is never below the bill. And no key was written."""
    slow = {**BROKEN, "model": "slow"}
    changes = {"arms.slow": slow, "arms.bad": BROKEN, "providers.here.not_billed": [500]}
    file = written(tmp_path, provider.base_url, changes)

    async def called(address: str) -> None:
        async with httpx2.AsyncClient(timeout=30) as client:
            for model in ("small", "large", "bad"):
                await client.post(f"{address}/v1/chat/completions", json={**ASKED, "model": model})
            calls = [
                asyncio.ensure_future(
                    client.post(f"{address}/v1/chat/completions", json={**ASKED, "model": "slow", "stream": stream})
                )
                for stream in (True, False, True)
            ]
            while provider.charged()["models"]["slow"]["hung"] < 3:
                await asyncio.sleep(0.02)
            gate.end(signal.SIGKILL)
            await asyncio.gather(*calls, return_exceptions=True)

    gate = Process(tmp_path, file)
    asyncio.run(called(gate.address))
    again = Process(tmp_path, file)
    assert httpx2.post(f"{again.address}/v1/chat/completions", json={**ASKED, "model": "small"}).status_code == 200
    again.end(signal.SIGTERM)
    while provider.charged()["under_way"]:
        time.sleep(0.02)
    with Campaign.open(gate.store, "bill") as campaign:
        assert [pull.status for pull in campaign.pulls()] == ["paid", "paid", "told", "open", "open", "open", "paid"]
        status = campaign.status()
        assert status.exact.spent + status.exact.reserved >= provider.charged()["dollars"] > status.exact.spent
    assert verify(gate.store, "bill").ok
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path != file)
    assert b"small" in kept
    assert KEY.encode() not in kept
    assert b'"status": 500' in kept


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arms": GONE}, "lacks arms"),
        ({"arms": {}}, "arms of gateway.toml must be at least one table"),
        ({"arms.small": 7}, "arms.small of gateway.toml must be a table"),
        ({"providers": GONE}, "lacks providers"),
        ({"arms.small.model": GONE}, "lacks arms.small.model"),
        ({"arms.small.model": ""}, "arms.small.model of gateway.toml must be a string of one line"),
        ({"arms.small.provider": "there"}, "arms.small.provider of gateway.toml must be one of here; got 'there'"),
        ({"arms.small.input": -1}, "arms.small.input of gateway.toml must be ≥ 0"),
        ({"arms.small.input": "0.15"}, "arms.small.input of gateway.toml must be a finite number"),
        ({"arms.small.output": float("nan")}, "arms.small.output of gateway.toml must be a finite number"),
        ({"arms.small.output": GONE}, "lacks arms.small.output"),
        (
            {"arms.small.max_output_tokens": 0},
            "arms.small.max_output_tokens of gateway.toml must be a whole number ≥ 1",
        ),
        ({"arms.small.image_tokens": 1.5}, "arms.small.image_tokens of gateway.toml must be a whole number"),
        ({"arms.small.prize": 1}, "a key arms.small.prize, which is unknown: there may be provider, model"),
        ({"providers.here.base_url": "here"}, "providers.here.base_url of gateway.toml must be http://… or https://…"),
        ({"providers.here.base_url": "https://me:sk-1@x"}, "without a key; got '…'"),
        (
            {"providers.here.key_env": "NOT_SET"},
            "providers.here.key_env of gateway.toml must be set in the environment; got 'NOT_SET'",
        ),
        ({"providers.here.key_env": "sk-1-secret"}, "holds a key; got 'no such name'"),
        ({"providers.here.limit": "tokens"}, "must be one of max_completion_tokens, max_tokens"),
        ({"providers.here.not_billed": 500}, "providers.here.not_billed of gateway.toml must be a list of statuses"),
        (
            {"providers.here.not_billed": [200]},
            "providers.here.not_billed of gateway.toml must be a whole number ≥ 300",
        ),
        ({"access.key_env": ["NOT_SET"]}, "access.key_env of gateway.toml must be set in the environment"),
        ({"access.keys": ["x"]}, "lacks access.key_env"),
        ({"access.keys": ["x"], "access.key_env": [HERE]}, "access.keys, which is unknown"),
        ({"access": {}}, "lacks access.key_env"),
        ({"access.key_env": []}, "access.key_env of gateway.toml must be at least one name of a variable"),
        ({"providers.here.base_url": "http://x/v1/chat/completions"}, "must be what comes before /chat/completions"),
        ({"arms.small.input": 4e-7}, "must be 0, or at least 0.001, for a million tokens and not for one; got 4e-07"),
        ({"arms.small.fallback_only": 1}, "arms.small.fallback_only of gateway.toml must be true or false"),
        ({"arms.small.fallback_only": True}, "arms.small has fallback_only, and campaign.fallback is not 'small'"),
        ({"calls.wait": -1}, "calls.wait of gateway.toml must be ≥ 0"),
        ({"calls.timeout": 0}, "calls.timeout of gateway.toml must be > 0"),
        ({"calls.retries": 0.5}, "calls.retries of gateway.toml must be a whole number"),
        ({"calls.reward": "soon"}, "calls.reward of gateway.toml must be a finite number"),
        ({"calls.models": "auto"}, "calls.models of gateway.toml must be a list of names"),
        ({"calls.models": ["small"]}, "calls.models of gateway.toml must be names that no arm has"),
        ({"calls.max_tokens": True}, "calls.max_tokens of gateway.toml must be a whole number"),
        ({"campaign.budget": GONE}, "lacks campaign.budget"),
        ({"campaign.badget": 1}, "campaign.badget, which is unknown"),
        ({"campaign.arms": ["a"]}, "campaign.arms, which is unknown"),
        ({"campaign.name": ""}, "campaign.name of gateway.toml must be 1 to"),
        ({"campaign": []}, "campaign of gateway.toml must be a table"),
        ({"campagne": {}}, "a key campagne, which is unknown"),
        ({"campaign.budget": "much"}, "gateway.toml, campaign: budget of Campaign must be"),
        ({"campaign.mode": "soft"}, "gateway.toml, campaign: mode of Campaign must be"),
        ({"campaign.fallback": "none"}, "gateway.toml, campaign: fallback of Campaign must be"),
        ({"campaign.policy": "Best"}, "gateway.toml, campaign: policy of Campaign must be"),
    ],
)
def test_one_sentence_for_every_mistake(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(BadFile) as said:
        Gateway(load(written(tmp_path, "http://localhost/v1", changes)), ServiceSettings(f"sqlite:///{tmp_path}/o.db"))
    assert words in str(said.value)
    assert "\n" not in str(said.value)
    assert "sk-1" not in str(said.value)


def test_the_file_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, access = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)
    (tmp_path / "gateway.toml").write_text(whole + access, encoding="utf-8")
    with pytest.raises(BadFile, match=r"key_env of gateway\.toml must be set"):
        load(tmp_path / "gateway.toml")
    for name in ("OPENAI_API_KEY", "TEAM_A_KEY", "TEAM_B_KEY"):
        monkeypatch.setenv(name, "sk-1")
    file = load(tmp_path / "gateway.toml")
    with Gateway(file, ServiceSettings(f"sqlite:///{tmp_path}/o.db", "0.0.0.0")).spending.campaign as campaign:
        status = campaign.status()
    assert (status.mode, status.fallback, [arm.enabled for arm in status.arms]) == (
        "hard",
        "local",
        [True, True, False],
    )
    assert "sk-1" not in repr(file)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "gateway.toml").write_text("[arms")
    with pytest.raises(BadFile, match="is not TOML"):
        load(tmp_path / "gateway.toml")
    with pytest.raises(BadFile, match="cannot read"):
        load(tmp_path / "other.toml")


def test_the_campaign_that_is_there_is_used(tmp_path: Path) -> None:
    settings = ServiceSettings(f"sqlite:///{tmp_path}/o.db")
    none = {"campaign": {"name": "bill"}}
    with Campaign(["small"], 5, "Frugal", settings.store, name="bill") as mine:
        with pytest.raises(BadFile, match=r"arms\.large is no arm of the campaign 'bill'"):
            Gateway(load(written(tmp_path, "http://localhost/v1", none)), settings)
        mine.add_arm("large")
        Gateway(load(written(tmp_path, "http://localhost/v1", none)), settings).spending.campaign.disconnect()
        with pytest.raises(CampaignConflict):
            Gateway(load(written(tmp_path, "http://localhost/v1", {"campaign.budget": 7})), settings)


def test_a_campaign_that_is_told_of_no_prompts_is_refused_at_the_start(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/o.db"
    file = load(written(tmp_path, "http://localhost/v1", {"campaign": {"name": "bill", "context": "prompt"}}))
    with Campaign(["small", "large"], 5, "Frugal", store, name="bill"), running(store) as address:
        behind = load(
            written(
                tmp_path, "http://localhost/v1", {"campaign": {"name": "bill", "context": "prompt", "store": address}}
            )
        )
        for each, had in ((file, ", None"), (behind, "")):
            words = (
                f"gateway.toml, campaign: context of Campaign must be what campaign 'bill' was opened with{had}; got"
            )
            with pytest.raises(BadFile, match=re.escape(words)):
                Gateway(each, ServiceSettings(store))
    with Campaign(["small", "large"], 5, store=store, name="prompts", context=PROMPT_CONTEXT):
        file = load(written(tmp_path, "http://localhost/v1", {"campaign": {"name": "prompts", "context": "prompt"}}))
        Gateway(file, ServiceSettings(store)).spending.campaign.disconnect()


@pytest.mark.parametrize("context", ["prompt", ["length"], GONE])
@pytest.mark.parametrize("requests", [100, GONE])
def test_a_context_without_a_number_of_requests_is_said_in_the_log(
    context: Any, requests: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    changes = {"campaign.context": context, "campaign.requests": requests, "campaign.policy": GONE}
    file = load(written(tmp_path, "http://localhost/v1", changes))
    Gateway(file, ServiceSettings(f"sqlite:///{tmp_path}/o.db")).spending.campaign.disconnect()
    said = "campaign 'bill' does not know how many requests there are" in caplog.text
    assert said == (context is not GONE and requests is GONE)


def test_an_address_is_for_another_option() -> None:
    command = [sys.executable, "-c", "from outlay.cli import main; main()", "serve", "--proxy", "127.0.0.1"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert said.returncode == 2
    assert "the address of a proxy in front is --trusted-proxy" in said.stderr


def test_metrics_and_the_service_are_beside_it(provider: Provider, tmp_path: Path) -> None:
    logging.getLogger("outlay").setLevel(logging.WARNING)
    with gateway(tmp_path, provider.base_url) as gate:
        gate.client().chat.completions.create(**ASKED)
        assert httpx2.get(f"{gate.address}/v1/campaigns/bill").json()["pulls"] == 1
        served = httpx2.get(f"{gate.address}/metrics").text
        assert 'outlay_requests_total{method="POST",route="/v1/chat/completions",status="200"} 1.0' in served
        assert httpx2.get(f"{gate.address}/v1/chat/completions").status_code == 405
    assert os.environ[HERE] == KEY
