"""What is read off a prompt, and campaigns of gateways that are told of it."""

import doctest
import json
import math
import os
import string
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from benchmarks.provider import Model, Provider
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage

from outlay import Campaign
from outlay.campaign import verify
from outlay.campaign.context import agreed_kinds, encoded
from outlay.errors import BadFile, BadParameter
from outlay.integrations import prompts
from outlay.integrations.gateway import Gateway
from outlay.integrations.gateway_file import load
from outlay.integrations.prompts import PROMPT_CONTEXT, prompt_context
from outlay.service import ServiceSettings
from tests.integrations.gateways import ASKED, GONE, KEY, gateway, written

FLAGS = ("fence", "question", "picture", "tools", "json")
USER: dict[str, Any] = {"role": "user", "content": "Why?"}


def features(request: object) -> tuple[float, ...]:
    found = encoded("test", agreed_kinds(PROMPT_CONTEXT), prompt_context(request))
    assert found is not None
    return found


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def slow_shares(text: str) -> dict[str, float]:
    """Character by character."""
    seen = text if len(text) <= 8000 else text[:4000] + "\n" + text[-4000:]
    count = {"not_ascii": 0, "code": 0, "digits": 0, "operators": 0}
    for character in seen:
        count["not_ascii"] += ord(character) > 127
        count["code"] += character in prompts.CODE
        count["digits"] += character in string.digits
        count["operators"] += character in prompts.OPERATORS
    return {name: math.sqrt(number / max(1, len(seen))) for name, number in count.items()}


@given(st.text(st.characters(exclude_categories=()), max_size=300), st.integers(0, 60))
def test_shares_are_those_of_a_count(text: str, times: int) -> None:
    found = prompt_context(said(text * times))
    assert {name: found[name] for name in slow_shares("")} == slow_shares(text * times)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["role", "content", "text", "type", "tool_calls", "messages", "tools"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_whatever_is_sent_has_features(messages: Any) -> None:
    """All of them finite and none far off: such that a campaign takes them, and no prompt outweighs a thousand."""
    for request in ({"messages": messages}, {"input": messages, "tools": messages, "response_format": messages}):
        assert all(abs(feature) <= 20 for feature in features(request))
        assert features(json.loads(json.dumps(request))) == features(request)


def test_what_is_read() -> None:
    plain = prompt_context(said("Tell me about bees"))
    assert {
        name: plain[name] for name in (*FLAGS, "turns", "not_ascii", "code", "digits", "operators")
    } == dict.fromkeys((*FLAGS, "turns", "not_ascii", "code", "digits", "operators"), 0.0)
    assert plain["length"] == math.log(1 + len("Tell me about bees"))
    one_more = {
        "fence": said("```\nx\n```"),
        "question": said("为什么？"),
        "picture": {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "…"}}]}]},
        "tools": said("Go", tools=[{"type": "function"}]),
        "json": said("Go", response_format={"type": "json_object"}),
    }
    for name, request in one_more.items():
        found = prompt_context(request)
        assert [flag for flag in FLAGS if found[flag]] == [name]
    assert prompt_context(said("Go", response_format={"type": "text"}))["json"] == 0
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    assert prompt_context([USER, called, {"role": "tool", "content": "7"}, USER])["tools"] == 1
    assert prompt_context([USER, called, {"role": "tool", "content": "7"}, USER])["turns"] == math.log(2)


@pytest.mark.parametrize(
    "request_",
    [
        "Why?",
        [USER],
        {"messages": [USER]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"text": "Why?"}]}]}]},
        [ChatCompletionMessage(role="assistant", content="Why?")],
        {"prompt": "Why?"},
        {"prompt": ["Why?"]},
        {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Why?"}]}]},
    ],
)
def test_one_text_in_any_shape(request_: Any) -> None:
    assert prompt_context(request_) == prompt_context(said("Why?"))


@pytest.mark.parametrize("wrong", [None, 5, b"Why?", {}, {"content": "Why?"}, object()])
def test_what_is_no_request(wrong: object) -> None:
    with pytest.raises(BadParameter, match="request of prompt_context must be a text, a list of messages"):
        prompt_context(wrong)


def test_words_are_those_of_the_kind_hashed() -> None:
    """Once each, without digits, whatever their case; those of Chinese and Japanese character by character."""
    words = ["the", "café", "and", "bees", "日", "本", "語"]
    hashed = encoded("test", {"words": "hashed:8"}, {"words": words}) or ()
    assert prompt_context("The café AND the 17 bees: 日本語")["words"] == [math.sqrt(8) * each for each in hashed]


def test_both_ends_of_a_long_text_are_looked_at() -> None:
    middle = "x" * 10_000
    assert prompt_context(f"{middle}?")["question"] == 1
    assert prompt_context(f"?{middle}")["question"] == 0
    assert prompt_context(f"```{middle}")["fence"] == prompt_context(f"{middle}```")["fence"] == 1
    assert prompt_context(f"{middle}```{middle}")["fence"] == 0


def test_no_more_than_so_much_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a megabyte in one message, or in tens of thousands, a few thousand words are hashed and parts read."""
    hashed = []

    def counting(owner: str, kinds: Any, told: Any) -> Any:
        hashed.append(len(told["words"]))
        return encoded(owner, kinds, told)

    monkeypatch.setattr(prompts, "encoded", counting)
    words = [f"{a}{b}{c}" for a in string.ascii_letters for b in string.ascii_lowercase for c in string.ascii_lowercase]
    prompt_context(" ".join(words * 8))
    found = prompt_context([{"role": "user", "content": word} for word in words])
    assert max(hashed) <= 2 * prompts.ENDS
    assert found["turns"] == math.log(prompts.MOST_PARTS / 2)


def test_the_same_in_every_process() -> None:
    text = "Les sanglots 長い of 99 bottles, {and} more?"
    code = f"from outlay.integrations.prompts import prompt_context; print(prompt_context({text!r}))"
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        printed = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
        )
        assert printed.stdout.strip() == repr(prompt_context(text))


def test_examples_run() -> None:
    tried = doctest.testmod(prompts)
    assert (tried.failed, tried.attempted > 3) == (0, True)


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider(
        [Model("small", 0.15, 0.6), Model("large", 2.5, 10), Model("broken", 1, 1, fails=1.0)], key=KEY
    ) as it:
        yield it


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE_KEY", KEY)


BROKEN = {"provider": "here", "model": "broken", "input": 1, "output": 1, "max_output_tokens": 500}
PROMPT = {"campaign.policy": "LinearRation", "campaign.context": "prompt"}
KIND = {"campaign.policy": "LinearRation", "campaign.context": {"kind": ["chat", "proof"], "size": "number:10"}}


def test_the_endpoint_reads_prompts(provider: Provider, tmp_path: Path) -> None:
    """Each attempt of a call is told the same, and neither the provider nor the ledger has anything of the text."""
    secret = "correct horse battery staple"
    changes = {**PROMPT, "campaign.requests": 100, "arms.broken": BROKEN, "calls.retries": 2}
    with gateway(tmp_path, provider.base_url, changes) as gate:
        chat = gate.client().chat.completions.with_raw_response
        for _ in range(3):
            answer = chat.create(**{**ASKED, "messages": [{"role": "user", "content": secret}]})
            assert "x-outlay-reason" not in answer.headers
        pulls = gate.settled()
    assert {pull.arm for pull in pulls} == {"small", "large", "broken"}
    assert len(pulls) > 3
    assert {pull.context for pull in pulls} == {features(said(secret))}
    assert verify(gate.store, "bill").ok
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"horse" not in kept


def test_clients_say_what_they_know(provider: Provider, tmp_path: Path) -> None:
    with gateway(tmp_path, provider.base_url, KIND) as gate:
        client = gate.client().chat.completions

        def told(context: str) -> None:
            client.create(**ASKED, extra_headers={"x-outlay-context": context})

        told('{"kind": "proof", "size": 25}')
        for wrong, words in {
            "{": "x-outlay-context must be JSON",
            "[" * 5000: "x-outlay-context must be JSON",
            '{"kind": "song", "size": 1}': "must be one of chat, proof; got 'song'",
            '{"kind": "chat"}': "context['size'] of ask must be a finite number",
            '{"kind": "chat", "size": 1, "age": 2}': "and no other name",
            "[1, 0, 2.5]": "must be a mapping with kind and size",
            "7": "must be a mapping with kind and size",
        }.items():
            with pytest.raises(openai.BadRequestError) as refused:
                told(wrong)
            assert words in str(refused.value)
        with pytest.raises(openai.BadRequestError, match="must be a mapping with kind and size; got None"):
            client.create(**ASKED)
        assert [pull.context for pull in gate.settled()] == [(0.0, 1.0, 2.5)]


def test_a_context_that_nobody_agreed_on(provider: Provider, tmp_path: Path) -> None:
    with (
        gateway(tmp_path, provider.base_url) as gate,
        pytest.raises(openai.BadRequestError, match="opened without one"),
    ):
        gate.client().chat.completions.create(**ASKED, extra_headers={"x-outlay-context": '{"kind": "chat"}'})


def test_a_campaign_that_is_there_may_have_a_context(provider: Provider, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'bill.db'}"
    Campaign(["small", "large"], 5, store=store, name="bill", context=PROMPT_CONTEXT).disconnect()
    alone = {"campaign": GONE, "campaign.name": "bill", "campaign.context": "prompt"}
    with gateway(tmp_path, provider.base_url, alone) as gate:
        gate.client().chat.completions.create(**ASKED)
        assert [pull.context for pull in gate.settled()] == [features(ASKED)]


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ("prompts", "campaign.context of gateway.toml must be \"prompt\", or names and their kinds; got 'prompts'"),
        ({"kind": "word"}, "context['kind'] of Campaign must be"),
        ({}, "1 to 64 features"),
        (True, "context of Campaign must be"),
    ],
)
def test_contexts_of_a_file_that_are_none(context: Any, words: str, tmp_path: Path) -> None:
    file = written(tmp_path, "http://localhost/v1", {**PROMPT, "campaign.context": context})
    with pytest.raises(BadFile) as refused:
        Gateway(load(file), ServiceSettings(f"sqlite:///{tmp_path}/o.db"))
    assert words in str(refused.value)
