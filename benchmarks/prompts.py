"""`python -m benchmarks.prompts`: prompts of six kinds through `BudgetRouter`, with a context and without.

    python -m benchmarks.prompts                        # 1,000 calls, 20 in flight, seeds 0–3
    python -m benchmarks.prompts --calls 300 --seeds 2  # a short form
    python -m benchmarks.prompts --new                  # in the second half, prompts that the first half had not
    python -m benchmarks.prompts --simulated            # more requests and budgets, without a router
    python -m benchmarks.prompts --simulated --alike    # where prompts say nothing about which model is good
    python -m benchmarks.prompts --log log.jsonl --calls 6000  # a log of such calls

A provider on this machine answers, well with a probability that depends on the model and the kind of the prompt: these
numbers are made up. Each prompt is one of the 36 in prompts.toml, with other words and numbers in it each time.
"""

import argparse
import asyncio
import json
import logging
import math
import os
import random
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it would be fetched

import litellm
import numpy as np
from numpy.typing import NDArray

from benchmarks.provider import Model, Provider, tokens_of
from outlay import simulate
from outlay.arms import ContextualProblem
from outlay.campaign.context import agreed_kinds, encoded
from outlay.integrations.litellm import BudgetRouter
from outlay.integrations.prompts import PROMPT_CONTEXT, prompt_context
from outlay.policies import LinearRation, Ration
from outlay.policies.protocol import Policy
from outlay.tables import Table
from outlay.theory import fluid

GIVEN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
WORDS, PROMPTS = GIVEN["words"], GIVEN["prompts"]
KINDS = tuple(PROMPTS)
LONGEST = dict(zip(KINDS, (150, 60, 100, 400, 120, 500), strict=True))  # tokens of an answer
MODELS = tuple(
    Model(name, paid_in, paid_out, dict(zip(KINDS, good, strict=True)), longest=LONGEST)
    for name, paid_in, paid_out, good in (  # chat, extraction, arithmetic, code, translation, proof
        ("small", 0.15, 0.6, (0.85, 0.80, 0.35, 0.40, 0.70, 0.10)),
        ("medium", 0.8, 4.0, (0.88, 0.90, 0.60, 0.75, 0.85, 0.30)),
        ("large", 2.5, 10.0, (0.90, 0.92, 0.92, 0.88, 0.90, 0.75)),
    )
)
ARMS = [f"openai/{model.name}" for model in MODELS]
PER_CALL = 0.0004  # dollars
IN_FLIGHT = 20
NOTHING = "no context"
PLAYERS: dict[str, dict[str, Any]] = {
    'context="prompt"': {"context": "prompt"},
    "told the kind": {
        "context": {"kind": KINDS},
        "context_of": lambda request: {"kind": request["extra_body"]["kind"]},
    },
    NOTHING: {"policy": "Ration"},
}


class Call(NamedTuple):
    """A prompt, and its kind, which a router is not told as a rule."""

    kind: str
    text: str


class Played(NamedTuple):
    """What came of one run: good answers and dollars, by kind and half."""

    good: NDArray[np.float64]  # [half, kind]
    dollars: NDArray[np.float64]
    billed: Decimal
    told: Decimal


def main() -> None:
    """Print what came of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--players", nargs="*", choices=PLAYERS, default=[*PLAYERS])
    parser.add_argument("--new", action="store_true", help="the second half has prompts that the first had not")
    parser.add_argument("--simulated", action="store_true", help="the same requests in the simulator, without a router")
    parser.add_argument("--log", type=Path, help="write the calls to this file, models chosen evenly, and no more")
    parser.add_argument("--alike", action="store_true", help="there, prompts say nothing about which model is good")
    parser.add_argument("--runs", type=int, default=40, help="of the simulator")
    chosen = parser.parse_args()
    if chosen.log is not None:
        write_log(chosen.log, chosen.calls)
    elif chosen.simulated:
        simulated(chosen.runs, chosen.alike)
    else:
        compared(chosen.calls, range(chosen.seeds), chosen.players, chosen.new)


def asked(seed: int, calls: int, new: bool) -> list[Call]:
    """The calls, all kinds equally often; with `new`, each half has three of the six prompts of each kind."""
    rng = random.Random(seed)
    shuffled = {kind: rng.sample(texts, len(texts)) for kind, texts in PROMPTS.items()}
    listed = []
    for number in range(calls):
        kind, first = rng.choice(KINDS), 3 * (2 * number // calls)
        text = rng.choice(shuffled[kind][first : first + 3] if new else shuffled[kind])
        said = {name: rng.choice(words) for name, words in WORDS.items()}
        said |= {"n": str(rng.randint(20, 900)), "m": str(rng.randint(20, 900)), "d": str(rng.randint(2, 29))}
        for name, word in said.items():
            text = text.replace(f"{{{name}}}", word)
        listed.append(Call(kind, text))
    return listed


def problem(calls: Sequence[Call]) -> ContextualProblem:
    """The calls as a table of what each arm costs for them and brings, on average."""
    sizes = [tokens_of([{"content": call.text}]) for call in calls]
    costs = [
        [(model.input * size + model.output * (LONGEST[call.kind] + 1) / 2) / 1e6 for model in MODELS]
        for call, size in zip(calls, sizes, strict=True)
    ]
    rewards = [[model.quality[call.kind] for model in MODELS] for call in calls]  # type: ignore[index]
    return ContextualProblem(np.zeros((len(calls), 1)), costs, rewards, coin=True)


async def play(player: str, calls: Sequence[Call], seed: int, provider: Provider) -> Played:
    """One run."""
    budget = BudgetRouter(ARMS, PER_CALL * len(calls), name=f"run {seed}", wait=10, seed=seed, **PLAYERS[player])
    budget.campaign.expect_requests(len(calls))
    prices = {
        arm: {"input_cost_per_token": model.input / 1e6, "output_cost_per_token": model.output / 1e6}
        for arm, model in zip(ARMS, MODELS, strict=True)
    }
    to_provider = {"api_base": provider.base_url, "api_key": "any"}
    listed = [
        {"model_name": "chat", "litellm_params": {"model": arm, **to_provider}, "model_info": prices[arm]}
        for arm in ARMS
    ]
    router = litellm.Router(model_list=listed, plugins=[budget], num_retries=5, retry_after=0, disable_cooldowns=True)
    good, dollars = np.zeros((2, len(KINDS))), np.zeros((2, len(KINDS)))
    numbers = iter(range(len(calls)))

    async def caller() -> None:
        for number in numbers:
            call = calls[number]
            said, kind = [{"role": "user", "content": call.text}], {"kind": call.kind}
            try:
                answer = await router.acompletion("chat", said, max_tokens=500, extra_body=kind)
            except litellm.BudgetExceededError:
                continue
            earned = float(answer.choices[0].message.content.startswith("good"))
            await budget.reward(answer._hidden_params["outlay"]["pull"], earned)
            place = 2 * number // len(calls), KINDS.index(call.kind)
            good[place] += earned
            dollars[place] += answer._hidden_params["response_cost"]

    await asyncio.gather(*(caller() for _ in range(IN_FLIGHT)))
    await budget.reported()
    told = budget.campaign.status().exact.spent
    budget.unregister()
    return Played(good, dollars, provider.charged()["dollars"], told)


def run(player: str, calls: int, seed: int, new: bool) -> Played:
    """One run, with a provider of its own."""
    for name in ("LiteLLM", "LiteLLM Router", "outlay.campaign"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    litellm.suppress_debug_info = True
    with Provider(MODELS, seed=seed) as provider:
        played = asyncio.run(play(player, asked(seed, calls, new), seed, provider))
    if not played.billed <= played.told <= Decimal(str(PER_CALL)) * calls:
        raise RuntimeError(f"the provider billed {played.billed}, and the ledger has {played.told}")
    return played


def compared(calls: int, seeds: Sequence[int], players: Sequence[str], new: bool) -> None:
    """Each on each seed, beside what could be earned with all means known."""
    known = [problem(asked(seed, calls, new)) for seed in seeds]
    rule = np.array([each.attainable(PER_CALL * calls, calls) for each in known])
    mix = np.array([calls * fluid(each, PER_CALL * calls, calls).value for each in known])
    runs: dict[str, list[Played]] = {}
    with ProcessPoolExecutor(2, get_context("spawn"), max_tasks_per_child=1) as pool:
        futures = {player: [pool.submit(run, player, calls, seed, new) for seed in seeds] for player in players}
        for player, started in futures.items():
            runs[player] = [each.result() for each in started]
            print(player, [each.good.sum(axis=1).tolist() for each in runs[player]], file=sys.stderr, flush=True)
    good = {player: np.array([each.good for each in played]) for player, played in runs.items()}  # [seed, half, kind]
    lines: list[tuple[str, ...]] = [
        ("best rule", with_error(rule), "", "", ""),
        ("best mix", with_error(mix), "", "", ""),
    ]
    for player, won in good.items():
        ahead = (won - good.get(NOTHING, won)).sum(axis=2)
        dollars = np.mean([float(each.billed) for each in runs[player]])
        gains = [with_error(ahead.sum(axis=1)), with_error(ahead[:, 1])] if player != NOTHING else ["", ""]
        lines.append((player, with_error(won.sum(axis=(1, 2))), *gains, f"{dollars:.3f}"))
    title = f"{calls:,} calls, {PER_CALL * calls:g} dollars, {len(seeds)} seeds"
    heads = ("router", "good answers", f"more than {NOTHING}", "of that in the second half", "dollars")
    print(Table(heads, lines, title).markdown())
    rows = []
    for place, kind in enumerate(KINDS):
        row = [kind]
        for played in runs.values():
            dollars = np.mean([each.dollars[:, place].sum() for each in played])
            row += [f"{dollars:.3f}", with_error(np.array([each.good[:, place].sum() for each in played]))]
        rows.append(row)
    columns = ("kind", *(f"{player}: {what}" for player in players for what in ("dollars", "good")))
    print(Table(columns, rows, "by kind").markdown())


def simulated(runs: int, alike: bool) -> None:
    """The same requests in the simulator, which takes no router, for other numbers of them and other budgets.

    Where they are `alike`, a model costs and brings the same for each of them.
    """
    calls = asked(0, 6000, new=False)
    table = problem(calls).table
    costs, rewards = table.costs, table.rewards
    if alike:
        costs, rewards = (np.tile(means.mean(axis=0), (len(calls), 1)) for means in (costs, rewards))
    kinds = agreed_kinds(PROMPT_CONTEXT)
    features = np.array([encoded("prompts", kinds, prompt_context(call.text)) for call in calls])
    world = ContextualProblem(features, costs, rewards, coin=True)
    contenders: dict[str, Policy] = {'context="prompt"': LinearRation(features=features.shape[1]), NOTHING: Ration()}
    rows = []
    for requests in (100, 300, 1000, 3000, 10_000):
        for per_call in (0.0002, 0.0004, 0.0008):
            budget = per_call * requests
            found = simulate(world, contenders, budgets=[budget], requests=requests, runs=runs, mode="hard").reward
            best = world.attainable(budget, requests)
            shares = [with_error(100 * each.ravel() / best) for each in found]
            mix = 100 * requests * fluid(world, budget, requests).value / best
            rows.append((f"{requests:,}", f"{per_call:g}", *shares, f"{mix:.1f}"))
    heads = ("requests", "dollars for each", *contenders, "best mix")
    print(Table(heads, rows, f"good answers in per cent of the best rule's, {runs} runs").markdown())


def write_log(path: Path, calls: int) -> None:
    """A line of JSON for each call, as a program without a budget might keep it."""
    rng = random.Random(0)
    with path.open("w", encoding="utf-8") as log:
        for call in asked(0, calls, new=False):
            model, said = rng.choice(MODELS), [{"role": "user", "content": call.text}]
            usd = float(model.dollars(tokens_of(said), rng.randint(1, LONGEST[call.kind])))
            good = int(rng.random() < model.quality[call.kind])  # type: ignore[index]
            log.write(json.dumps({"messages": said, "model": model.name, "usd": usd, "good": good}) + "\n")


def with_error(numbers: NDArray[np.float64]) -> str:
    """Their mean and its standard error."""
    error = numbers.std(ddof=1) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan
    return f"{numbers.mean():,.1f} ± {error:.1f}"


if __name__ == "__main__":
    main()
