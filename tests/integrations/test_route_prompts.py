"""Prompts through LiteLLM's router, whose campaign is told of each; and what the page about it says."""

import asyncio
import csv
import json
import os
import re
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from benchmarks.provider import Provider

from outlay import Campaign
from outlay.campaign import verify
from outlay.campaign.context import agreed_kinds, encoded
from outlay.errors import BadParameter
from outlay.integrations.prompts import PROMPT_CONTEXT, prompt_context
from outlay.policies import LinearRation
from tests.service.conftest import running

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it would be fetched
litellm = pytest.importorskip("litellm", reason="litellm is not installed: pip install 'outlay[litellm]'")

from benchmarks.prompts import KINDS, MODELS, PER_CALL, asked, problem, write_log  # noqa: E402

from outlay.integrations.litellm import BudgetRouter  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "route-prompts.md"
SMALL, LARGE, BROKEN = "openai/gpt-4o-mini", "openai/gpt-4o", "openai/broken"
DOLLAR = {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}
KIND = {"context": {"kind": ["chat", "proof"]}, "context_of": lambda request: {"kind": request["metadata"]["kind"]}}
pytestmark = pytest.mark.filterwarnings("ignore")  # LiteLLM has many of its own


def router(budget: BudgetRouter, *arms: str, **settings: Any) -> Any:
    listed = [
        {"model_name": "chat", "litellm_params": {"model": arm}, "model_info": DOLLAR if arm == BROKEN else {}}
        for arm in arms or (SMALL, LARGE)
    ]
    settings = {"num_retries": 0, "retry_after": 0, "disable_cooldowns": True, **settings}
    return litellm.Router(model_list=listed, plugins=[budget], **settings)


def asking(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def features(request: object) -> tuple[float, ...] | None:
    return encoded("test", agreed_kinds(PROMPT_CONTEXT), prompt_context(request))


def test_each_attempt_is_told_the_same(
    provider: Provider, budgets: Callable[..., BudgetRouter], tmp_path: Path
) -> None:
    """Retries among them, streams and a form; and the ledger has nothing of the text."""
    store = f"sqlite:///{tmp_path / 'bill.db'}"
    arms = (SMALL, LARGE, BROKEN)
    budget = budgets(arms, store=store, requests=100, context="prompt", reward=lambda *_: 1.0)
    more: list[dict[str, Any]] = [{}, {"stream": True}, {"response_format": {"type": "json_object"}}]

    async def story() -> None:
        chat = router(budget, *arms, num_retries=3)
        for each in more:
            answer = await chat.acompletion("chat", asking("correct horse battery"), max_tokens=50, **each)
            if each.get("stream"):
                async for _ in answer:
                    pass
        await budget.reported()

    asyncio.run(story())
    expected = [features({"messages": asking("correct horse battery"), **each}) for each in more]
    pulls = list(budget.campaign.pulls())
    assert [*dict.fromkeys(pull.context for pull in pulls)] == [expected[0], expected[2]]
    assert len(pulls) > 3
    assert {pull.arm for pull in pulls} == set(arms)
    assert verify(store).ok
    assert b"horse" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_function_says_what_is_told(provider: Provider, budgets: Callable[..., BudgetRouter]) -> None:
    budget = budgets(requests=100, **KIND)

    async def story() -> list[Any]:
        chat = router(budget)

        async def call(metadata: Any) -> Any:
            return await chat.acompletion("chat", asking("Why?"), max_tokens=50, metadata=metadata)

        answers = [await call({"kind": kind}) for kind in ("proof", "chat", "proof")]
        assert [answer._hidden_params["outlay"]["reason"] for answer in answers] == [None] * 3
        with pytest.raises(litellm.BadRequestError, match="must be one of chat, proof; got 'song'"):
            await call({"kind": "song"})
        with pytest.raises(KeyError):
            await call({})
        await budget.reported()
        return answers

    asyncio.run(story())
    assert [(each.category, each.pulls) for each in budget.campaign.segments("kind")] == [("chat", 1), ("proof", 2)]
    assert len(budget.campaign.pulls()) == 3


def test_a_campaign_that_is_there_and_one_behind_a_service(
    provider: Provider, budgets: Callable[..., BudgetRouter], tmp_path: Path
) -> None:
    async def called(budget: BudgetRouter) -> None:
        await router(budget).acompletion("chat", asking("Why?"), max_tokens=50)
        await budget.reported()
        await budget.spending.disconnect()

    campaign = Campaign([SMALL, LARGE], 1, mode="hard", context=PROMPT_CONTEXT)
    asyncio.run(called(budgets(dollars=None, store=campaign, context="prompt")))
    assert [pull.context for pull in campaign.pulls()] == [features("Why?")]
    store = f"sqlite:///{tmp_path / 'bill.db'}"
    with running(store) as address:
        asyncio.run(called(budgets(store=address, requests=10, context="prompt")))
    with Campaign.open(store) as behind:
        assert [pull.context for pull in behind.pulls()] == [features("Why?")]


def test_contexts_that_nobody_tells(budgets: Callable[..., BudgetRouter]) -> None:
    for wrong in ({"context": ["length"]}, {"context_of": len}, {"context": ["length"], "context_of": 5}):
        with pytest.raises(BadParameter, match="context_of of BudgetRouter must be a function"):
            budgets(**wrong)
    with pytest.raises(BadParameter, match="context_of of BudgetRouter must be a function"):
        budgets(dollars=None, store=Campaign([SMALL], 1, context=["length"]), context=["length"])
    with pytest.raises(BadParameter, match="context of Campaign must be"):
        budgets(context="prompts", context_of=len)
    for policy, name in (("Ration", "Ration"), (LinearRation(features=19, alpha=0.5), "LinearRation")):
        assert f"by {name}" in repr(budgets(context="prompt", policy=policy).campaign)


@pytest.mark.parametrize("place", ["object", "file", "service"])
def test_a_campaign_that_was_opened_with_another_context(
    place: str, budgets: Callable[..., BudgetRouter], tmp_path: Path
) -> None:
    """It is refused where the router is made; what is behind a service is asked about the context of prompts alone."""
    store, prompt = f"sqlite:///{tmp_path / 'bill.db'}", {"context": "prompt"}
    told, length = {"context_of": lambda _: {"length": 1}}, {"context": ["length"]}
    mine = {"none": None, "length": ["length"], "prompt": PROMPT_CONTEXT}
    campaigns = {name: Campaign([SMALL], 1, store=store, name=name, context=kinds) for name, kinds in mine.items()}
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("none", prompt, r"^context of BudgetRouter must be what campaign 'none' was opened with.*; got 'prompt'$"),
        ("length", prompt, r"^context of BudgetRouter must be what campaign 'length' was opened with.*; got 'prompt'$"),
    ]
    if place != "service":
        refused += [
            ("none", {**length, **told}, r"'none' was opened with, None; got \['length'\]$"),
            ("prompt", {**length, **told}, r"'prompt' was opened with, 'prompt'; got \['length'\]$"),
            (
                "none",
                told,
                r"^context_of of BudgetRouter must be None, as campaign 'none' was opened without a context",
            ),
            (
                "length",
                {},
                r"^context_of of BudgetRouter must be a function, as campaign 'length' was opened with a con",
            ),
        ]
    with ExitStack() as stack:
        address = stack.enter_context(running(store)) if place == "service" else store
        made = litellm.callbacks[:]
        for name, given, words in refused:
            with pytest.raises(BadParameter, match=words):
                budgets(dollars=None, store=campaigns[name] if place == "object" else address, name=name, **given)
        assert litellm.callbacks == made
        for name, given in (("none", {}), ("length", told), ("length", {**length, **told}), ("prompt", prompt)):
            budgets(dollars=None, store=campaigns[name] if place == "object" else address, name=name, **given)
        for campaign in campaigns.values():
            campaign.disconnect()


@pytest.mark.parametrize("known", [{"requests": 10}, {}, {"context": None}, None])
def test_a_context_without_a_number_of_requests_is_said_in_the_log(
    known: dict[str, Any] | None, provider: Provider, budgets: Callable[..., BudgetRouter], caplog: Any
) -> None:
    budget = budgets(**{"context": "prompt", **(known or {})})
    if known is None:
        budget.campaign.expect_requests(10)

    async def story() -> None:
        for _ in range(2):
            await router(budget).acompletion("chat", asking("Why?"), max_tokens=50)
        await budget.reported()

    asyncio.run(story())
    words = "campaign 'default' does not know how many requests there are"
    assert [words in record.getMessage() for record in caplog.records].count(True) == (known == {})


def test_a_service_that_does_not_answer_refuses_no_context(budgets: Callable[..., BudgetRouter]) -> None:
    assert budgets(dollars=None, store="http://127.0.0.1:9", context="prompt").name == "default"


def block(title: str) -> str:
    """A file that the page shows."""
    found = re.search(rf'^```\w+ title="{re.escape(title)}"\n(.*?)^```', PAGE.read_text(encoding="utf-8"), re.S | re.M)
    assert found is not None
    return found[1]


def run(title: str, **known: Any) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "__main__", **known}
    exec(compile(block(title), title, "exec"), space)
    return space


def test_the_programs_of_the_page(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    space = run("route.py")
    space["budget"].unregister()
    assert "Prove that there are infinitely many primes." in capsys.readouterr().out
    campaign = space["budget"].campaign
    assert campaign.status().exact.spent == provider.charged()["dollars"] > 0
    assert [pull.context for pull in campaign.pulls()] == [features(question) for question, _ in space["QUESTIONS"]]
    assert campaign.reasons(context=prompt_context("Why?")).arm in (SMALL, LARGE)
    known = {"BudgetRouter": BudgetRouter, "PROMPT_CONTEXT": PROMPT_CONTEXT, "prompt_context": prompt_context}
    budget = run("tenants.py", **known)["budget"]
    context = budget._context_of({"messages": asking("Why?"), "metadata": {"tenant": "paid"}})
    assert budget.campaign.ask(context=context).arm == SMALL
    budget.unregister()


def test_the_log_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_log(Path("log.jsonl"), 60)
    run("columns.py")
    with Path("log.csv").open() as table:
        rows = [*csv.DictReader(table)]
    calls = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    assert [float(row["length"]) for row in rows] == [prompt_context(call["messages"])["length"] for call in calls]
    assert [row["model"] for row in rows] == [call["model"] for call in calls]


def test_calls_of_the_benchmark() -> None:
    calls = asked(3, 600, new=True)
    assert calls == asked(3, 600, new=True)
    assert set(Counter(call.kind for call in calls)) == set(KINDS)
    assert not [call.text for call in calls if re.search(r"\{(name2?|city2?|thing|topic|mood|n|m|d)\}", call.text)]
    table = problem(calls).table
    place = next(number for number, call in enumerate(calls) if call.kind == "proof")
    assert table.rewards[place].tolist() == [0.1, 0.3, 0.75]
    assert table.costs[place, 0] > MODELS[0].output * 500 / 2e6
    assert problem(calls).attainable(PER_CALL * 600, 600) < 600
