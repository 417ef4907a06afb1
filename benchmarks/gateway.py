"""`python -m benchmarks.gateway`: a budget for LiteLLM, beside LiteLLM's own, against a provider that counts dollars.

    python -m benchmarks.gateway                                # 5,000 calls, 50 in flight, seeds 0–9
    python -m benchmarks.gateway --calls 500 --seeds 2          # a short form
    python -m benchmarks.gateway --overhead                     # what an ask takes, in three places
    python -m benchmarks.gateway --kill                         # the proxy is killed ten times under load
    python -m benchmarks.gateway --rough                        # with calls that hang, are left, or are cancelled

Good answers are 1, others 0. The budget is for `PER_CALL` dollars for each call, which buys a mix of two models. Rivals
without a budget are stopped when theirs is spent; what others serve after the cap was passed counts for nothing.
"""

import argparse
import asyncio
import json
import logging
import math
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from decimal import Decimal
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple, Self

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it would be fetched

import httpx
import litellm
import numpy as np
import openai

from benchmarks.provider import Model, Provider
from outlay import Campaign
from outlay.campaign import verify
from outlay.integrations.litellm import BudgetRouter, failure_cost
from outlay.tables import Table
from outlay.theory.fluid_optimum import fluid_at

MODELS = (
    Model("small", 0.15, 0.6, quality=0.5, seconds=0.01, fails=0.01, rate_limited=0.01),
    Model("medium", 0.8, 4.0, quality=0.7, seconds=0.01, fails=0.01, rate_limited=0.01),
    Model("large", 2.5, 10.0, quality=0.9, seconds=0.01, fails=0.01, rate_limited=0.01),
)
ARMS = [f"openai/{model.name}" for model in MODELS]
LONGEST = 100  # tokens of an answer
PER_CALL = 0.00012  # dollars
IN_FLIGHT = 50
PLAYERS = ("outlay", "simple-shuffle", "provider budget", "deployment budget", "adaptive router")
CAPPED = ("outlay", "provider budget", "deployment budget")
KINDS = ("chat", "chat", "chat", "stream", "stream", "left", "cancelled")
ENDS = ("told", "expired", "cancelled")
UNBILLED = partial(failure_cost, not_billed=[500])  # by this provider
TIMEOUT, HANG, TTL = 1.0, 2.0, 5.0  # seconds: of a call, of a model that hangs, of a pull


class Played(NamedTuple):
    """What came of one run, and whether all was in order."""

    good: float  # that were served before the cap was passed
    served: int
    dollars: Decimal  # by the provider
    told: Decimal | None  # by the ledger
    unsettled: int
    longest: float  # ask, in seconds


class Rough(NamedTuple):
    """What came of one run with calls of all kinds."""

    came: Counter[str]  # of the calls; and of their attempts, those that failed, and that hung
    ends: Counter[str]  # of the pulls
    dollars: Decimal  # by the provider
    ledger: Decimal
    doubly: int  # ends of pulls that had ended, without those that were told late
    verified: bool


class Timed(BudgetRouter):
    """It remembers how long each choice took."""

    seconds: list[float]

    async def async_filter_deployments(self, *args: Any, **named: Any) -> list[Any]:
        """As it is, with the time taken."""
        begun = time.perf_counter()
        try:
            return await super().async_filter_deployments(*args, **named)
        finally:
            self.seconds.append(time.perf_counter() - begun)


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--players", nargs="*", choices=PLAYERS, default=PLAYERS)
    parser.add_argument("--overhead", action="store_true", help="what an ask takes: in memory, SQLite, by HTTP")
    parser.add_argument("--kill", action="store_true", help="kill the proxy under load, and start it again")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--rough", action="store_true", help="time-outs, streams read and left, and cancellations, too")
    chosen = parser.parse_args()
    if chosen.rough:
        rough(chosen.calls, range(chosen.seeds))
    elif chosen.kill:
        killed(chosen.calls, chosen.kills)
    elif chosen.overhead:
        overhead(chosen.calls)
    else:
        compared(chosen.calls, range(chosen.seeds), chosen.players)


def question(seed: int, number: int) -> str:
    """One of a fixed length, and unlike all others."""
    return f"question {seed:03} {number:07} " + "why " * 20


def optimum(calls: int) -> float:
    """Good answers of the best mix of two models, for an average call and its retries."""
    prompt = len(question(0, 0).encode()) // 4
    costs = np.array([float(model.dollars(prompt, 0)) + model.output * (LONGEST + 1) / 2e6 for model in MODELS])
    return calls * fluid_at(costs, np.array([model.quality for model in MODELS]), PER_CALL).value


def models(address: str, player: str, budget: float) -> list[dict[str, Any]]:
    """All models as one group; for the adaptive router each is a group, and it is another."""
    listed = []
    for tier, (model, arm) in enumerate(zip(MODELS, ARMS, strict=True), 1):
        params: dict[str, Any] = {"model": arm, "api_base": address, "api_key": "any"}
        info: dict[str, Any] = {"input_cost_per_token": model.input / 1e6, "output_cost_per_token": model.output / 1e6}
        if player == "deployment budget":
            params |= {"max_budget": budget / len(MODELS), "budget_duration": "1d"}
        if player == "adaptive router":
            info["adaptive_router_preferences"] = {"quality_tier": tier, "strengths": []}
        name = model.name if player == "adaptive router" else "chat"
        listed.append({"model_name": name, "litellm_params": params, "model_info": info})
    if player == "adaptive router":
        names = [model.name for model in MODELS]
        params = {"model": "auto_router/adaptive_router", "adaptive_router_default_model": names[0]}
        params["adaptive_router_config"] = {"available_models": names}
        listed.append({"model_name": "chat", "litellm_params": params})
    return listed


async def play(player: str, calls: int, seed: int, provider: Provider, store: str | None = None) -> Played:
    """One run of one player."""
    cap = PER_CALL * calls
    settings: dict[str, Any] = {"num_retries": 5, "retry_after": 0, "disable_cooldowns": True}
    budget = None
    if player == "outlay":
        terms: dict[str, Any] = {"store": store, "name": f"run {seed}", "policy": "Ration", "seed": seed}
        budget = Timed(ARMS, cap, reward=reward, failure_cost=UNBILLED, **terms)
        budget.campaign.expect_requests(round(calls / (1 - MODELS[0].fails - MODELS[0].rate_limited)))  # with retries
        budget.seconds = []
        settings["plugins"] = [budget]
    elif player == "provider budget":
        settings["provider_budget_config"] = {"openai": {"budget_limit": cap, "time_period": "1d"}}
    router = litellm.Router(model_list=models(provider.base_url, player, cap), **settings)
    numbers, spent, good, served = iter(range(calls)), 0.0, 0.0, 0
    over = False

    async def caller() -> None:
        nonlocal spent, good, served, over
        for number in numbers:
            if over:
                return
            try:
                said = [{"role": "user", "content": question(seed, number)}]
                answer = await router.acompletion("chat", said, max_tokens=LONGEST)
            except litellm.BudgetExceededError:
                continue
            except (openai.APIError, ValueError):
                continue  # of LiteLLM's budgets: no deployment is left; of all: five failures in a row
            served += 1
            spent += answer._hidden_params["response_cost"]
            good += spent <= cap and reward({}, answer)
            over = player not in CAPPED and spent >= cap

    await asyncio.gather(*(caller() for _ in range(IN_FLIGHT)))
    told, unsettled, longest = None, 0, 0.0
    if budget is not None:
        await budget.reported()
        status = await budget.spending.status()
        told, unsettled, longest = status.exact.spent, status.in_flight, max(budget.seconds)
        budget.unregister()
        budget.campaign.disconnect()
    await asyncio.sleep(0.1)
    return Played(good, served, provider.charged()["dollars"], told, unsettled, longest)


def reward(_: Mapping[str, Any], answer: Any) -> float:
    """Whether an answer is good."""
    return float(answer.choices[0].message.content.startswith("good"))


def run(player: str, calls: int, seed: int) -> Played:
    """One run, with a provider of its own."""
    quiet()
    with Provider(MODELS, seed=seed) as provider:
        return asyncio.run(play(player, calls, seed, provider))


def quiet() -> None:
    """Say nothing of calls that fail."""
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "outlay.campaign", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    litellm.suppress_debug_info = True


def compared(calls: int, seeds: range, players: tuple[str, ...]) -> None:
    """Each player on each seed."""
    cap = Decimal(str(PER_CALL)) * calls
    lines = []
    with ProcessPoolExecutor(2, get_context("spawn"), max_tasks_per_child=1) as pool:
        runs = {player: [pool.submit(run, player, calls, seed) for seed in seeds] for player in players}
        for player, futures in runs.items():
            played = [future.result() for future in futures]
            good = np.array([each.good for each in played])
            error = good.std(ddof=1) / math.sqrt(len(good)) if len(good) > 1 else math.nan
            share = max(float(each.dollars / cap) for each in played)
            served = np.mean([each.served for each in played])
            print(f"{player}: {played}", file=sys.stderr, flush=True)
            lines.append((player, f"{good.mean():,.1f} ± {error:.1f}", f"{served:,.0f}", f"{share:.1%}"))
            if player == "outlay":
                wrong = Counter(
                    {
                        "above the cap": sum(each.dollars > cap for each in played),
                        "ledger unlike provider": sum(each.dollars != each.told for each in played),
                        "not settled": sum(each.unsettled for each in played),
                    }
                )
                longest = max(each.longest for each in played)
    title = f"{calls:,} calls, {cap} dollars, {len(seeds)} seeds"
    print(Table(("router", "good answers", "served", "most dollars spent"), lines, title).markdown())
    print(f"optimum with all means known: {optimum(calls):,.1f} good answers")
    if "outlay" in players:
        print("outlay:", ", ".join(f"{number} {what}" for what, number in wrong.items()))
        print(f"longest choice: {1000 * longest:.0f} ms, of which 200 at most are to wait for room")


def rough(calls: int, seeds: range) -> None:
    """Calls of all kinds: the cap, the ledger, and each pull ended once."""
    cap = Decimal(str(PER_CALL)) * calls
    with ProcessPoolExecutor(2, get_context("spawn"), max_tasks_per_child=1) as pool:
        runs = [*pool.map(roughly, [calls] * len(seeds), seeds)]
    lines = []
    for seed, each in zip(seeds, runs, strict=True):
        print(f"seed {seed}: {each}", file=sys.stderr)
        known = each.ends["paid"] + each.ends["told"]
        came = [each.came[kind] for kind in ("chat", "stream", "left", "cancelled", "refused", "failed", "hung")]
        money = (f"{each.dollars:.6f}", f"{each.ledger:.6f}", f"{cap:f}")
        lines.append((str(seed), *(f"{number:,}" for number in (*came, known, each.ends["expired"])), *money))
    columns = ("seed", "chats", "streams", "left", "cancelled", "refused", "failed", "hung", "told", "charged")
    title = f"{calls:,} calls, {cap} dollars, {len(seeds)} seeds"
    print(Table((*columns, "billed", "ledger", "cap"), lines, title).markdown())
    checks = {
        "the provider billed no more than the ledger has": all(each.dollars <= each.ledger for each in runs),
        "the ledger has no more than the cap": all(each.ledger <= cap for each in runs),
        "every pull ended, and once": all(not each.ends["open"] and not each.doubly for each in runs),
        "every event follows from those before it": all(each.verified for each in runs),
    }
    print("\n".join(f"{'yes' if held else 'NO '} {what}" for what, held in checks.items()))


def roughly(calls: int, seed: int) -> Rough:
    """One run, with a provider that bills all of a stream that is left."""
    quiet()
    rough_models = [model._replace(hangs=0.02) for model in MODELS]
    with (
        tempfile.TemporaryDirectory() as folder,
        Provider(rough_models, seed=seed, left="all", hang=HANG) as provider,
    ):
        store = f"sqlite:///{folder}/rough.db"
        came = asyncio.run(mixed(calls, seed, provider, store))
        while provider.charged()["under_way"]:
            time.sleep(0.05)
        time.sleep(TTL)  # until what LiteLLM never reported has expired
        with Campaign.open(store, "rough") as campaign:
            for pull in campaign.ask_many(1):  # any command looks at the time
                pull.cancel()
            spent = campaign.status().exact.spent
            ends = Counter[str](pull.status for pull in campaign.pulls())
            late = sum(bool(event.more.get("late")) for event in campaign.history())  # told after they had expired
            ended = Counter(event.pull for event in campaign.history() if event.kind in ENDS)
        billed = provider.charged()
        for each in billed["models"].values():
            came += Counter({"failed": each["failed"] + each["rate_limited"], "hung": each["hung"]})
        doubly = sum(ended.values()) - len(ended) - late
        return Rough(came, ends, billed["dollars"], spent, doubly, verify(store, "rough").ok)


async def mixed(calls: int, seed: int, provider: Provider, store: str) -> Counter[str]:
    """What became of the calls."""
    cap, came, numbers = PER_CALL * calls, Counter[str](), iter(range(calls))
    terms: dict[str, Any] = {"store": store, "name": "rough", "policy": "Ration", "seed": seed, "ttl": TTL}
    budget = BudgetRouter(ARMS, cap, reward=reward, failure_cost=UNBILLED, wait=TTL, **terms)
    budget.campaign.expect_requests(calls)
    settings: dict[str, Any] = {"num_retries": 2, "retry_after": 0, "disable_cooldowns": True, "timeout": TIMEOUT}
    router = litellm.Router(model_list=models(provider.base_url, "outlay", cap), plugins=[budget], **settings)

    async def call(number: int, kind: str) -> str:
        said = [{"role": "user", "content": question(seed, number)}]
        stream = kind in ("stream", "left")
        answer = await router.acompletion("chat", said, max_tokens=LONGEST, stream=stream)
        if stream:
            async for _ in answer:
                if kind == "left":
                    break
        return kind

    async def caller() -> None:
        for number in numbers:
            kind = KINDS[number % len(KINDS)]
            calling = asyncio.ensure_future(call(number, kind))
            if kind == "cancelled":
                await asyncio.sleep(0.001 * (number % 40))  # before the choice, during the call, or after it
                calling.cancel()
            try:
                came[await calling] += kind != "cancelled"
                came["chat"] += kind == "cancelled"  # it was quicker
            except asyncio.CancelledError:
                came["cancelled"] += 1
            except (litellm.BudgetExceededError, openai.APIError):
                came["refused"] += 1

    await asyncio.gather(*(caller() for _ in range(IN_FLIGHT)))
    budget.timeout = 1.0
    await budget.reported()
    budget.unregister()
    await budget.spending.disconnect()
    return came


def overhead(calls: int) -> None:
    """What a choice takes, alone and with others."""
    lines = []
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        for place in ("memory", "SQLite", "HTTP"):
            store: str | None = None if place == "memory" else f"sqlite:///{folder}/{place}.db"
            if place == "HTTP":
                store = stack.enter_context(Service(str(store))).address
            for in_flight in (1, IN_FLIGHT):
                seconds = asyncio.run(asked(store, f"{in_flight}", in_flight, calls))
                times = [f"{1000 * float(np.quantile(seconds, part)):.1f}" for part in (0.5, 0.99, 1)]
                lines.append((place, str(in_flight), *times))
    print(Table(("campaign in", "in flight", "p50 ms", "p99 ms", "longest ms"), lines, f"{calls:,} asks").markdown())


async def asked(store: str | None, name: str, in_flight: int, calls: int) -> list[float]:
    """Seconds of each choice, as LiteLLM makes it, with money for all."""
    budget = Timed(ARMS, 1000, store=store, name=name)
    budget.seconds, numbers = [], iter(range(calls))
    deployments = models("", "outlay", 0)

    async def caller() -> None:
        for number in numbers:
            context = type("Context", (), {"signals": {}})
            await budget.run(context)
            metadata = {"routing_plugin_signals": context.signals}  # type: ignore[attr-defined]
            said = [{"role": "user", "content": question(0, number)}]
            given = {"max_tokens": LONGEST, "metadata": metadata}
            await budget.async_filter_deployments("chat", deployments, said, given)
            await asyncio.sleep(0)  # the call itself, in which others have their turn
            await budget.async_log_success_event({"litellm_params": given, "response_cost": 1e-4}, None, None, None)

    await asyncio.gather(*(caller() for _ in range(in_flight)))
    await budget.spending.disconnect()
    budget.unregister()
    return budget.seconds


class Process:
    """A server on this machine, once it answers, until the block is left."""

    def __init__(self, command: list[str], folder: Path, ready: str, environment: Mapping[str, str]) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.log = folder / f"log {port}"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [str(Path(sys.executable).with_name(command[0])), *command[1:], "--port", str(port)],
                cwd=folder, env={**os.environ, **environment}, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        patience = time.monotonic() + 120
        while True:
            if self.process.poll() is not None or time.monotonic() > patience:
                self.__exit__()
                raise RuntimeError(self.log.read_text())
            try:
                urllib.request.urlopen(f"{self.address}{ready}", timeout=5).close()
                return
            except OSError:
                time.sleep(0.1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(60)


class Service(Process):
    """`outlay serve`."""

    def __init__(self, store: str) -> None:
        super().__init__(["outlay", "serve", "--store", store], Path(tempfile.mkdtemp()), "/healthz", {})


class Proxy(Process):
    """LiteLLM's proxy, of these files, of which one is its config.yaml."""

    def __init__(self, folder: Path, files: Mapping[str, str], environment: Mapping[str, str] | None = None) -> None:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        self.key = f"sk-{secrets.token_hex(32)}"
        said = {"LITELLM_MASTER_KEY": self.key, "LITELLM_LOCAL_MODEL_COST_MAP": "True", **(environment or {})}
        super().__init__(["litellm", "--config", "config.yaml"], folder, "/health/liveliness", said)


PLUGIN = """
from functools import partial

from outlay.integrations.litellm import BudgetRouter, failure_cost

def reward(kwargs, answer):
    return float(answer.choices[0].message.content.startswith("good"))

unbilled = partial(failure_cost, not_billed=[500])
terms = dict(store="sqlite:///{path}", name="kill", policy="Ration", ttl=5, reward=reward, failure_cost=unbilled)
budget = BudgetRouter({arms}, {cap}, **terms)
made = sum(arm.pulls for arm in budget.campaign.status().arms)  # by those that were killed
budget.campaign.expect_requests(max(0, {requests} - made))
"""


def killed(calls: int, kills: int) -> None:
    """The proxy under load, killed now and then: the cap, the ledger, and each pull ended once."""
    cap = Decimal(str(PER_CALL)) * calls
    with tempfile.TemporaryDirectory() as folder, Provider(MODELS, seed=1) as provider:
        path = Path(folder) / "kill.db"
        config = {
            "model_list": models(provider.base_url, "outlay", 0),
            "router_settings": {"plugins": ["budget.budget"], "num_retries": 5, "disable_cooldowns": True},
            "general_settings": {"master_key": "os.environ/LITELLM_MASTER_KEY"},
        }
        plugin = PLUGIN.format(arms=ARMS, cap=cap, path=path, requests=calls)
        files = {"config.yaml": json.dumps(config), "budget.py": plugin}
        served, number = 0, 0
        for round_ in range(kills + 1):
            until = calls if round_ == kills else (round_ + 1) * calls // (kills + 1)
            with Proxy(Path(folder), files) as proxy:
                got = asyncio.run(load(proxy, number, until, kill=round_ < kills))
            served, number = served + got, until
        while provider.charged()["under_way"]:
            time.sleep(0.05)
        time.sleep(5)  # until what was under way at the last kill has expired
        with Campaign.open(f"sqlite:///{path}", "kill") as campaign:
            for pull in campaign.ask_many(1):  # any command looks at the time
                pull.cancel()
            status, billed = campaign.status(), provider.charged()["dollars"]
            ended = Counter(pull.status for pull in campaign.pulls())
        print(
            f"{calls:,} calls, {kills} kills, {served:,} served, cap {cap}: "
            f"provider {billed}, ledger {status.exact.spent}"
        )
        print("pulls:", ", ".join(f"{number} {how}" for how, number in sorted(ended.items())))
        checks = {
            "the provider billed no more than the cap": billed <= cap,
            "the ledger counts no less than the provider": status.exact.spent >= billed,
            "no pull is open": status.in_flight == 0,
            "every event follows from those before it": verify(f"sqlite:///{path}", name="kill").ok,
        }
        print("\n".join(f"{'yes' if held else 'NO '} {what}" for what, held in checks.items()))


async def load(proxy: Proxy, first: int, end: int, kill: bool) -> int:
    """Calls until `end`; the last that are in flight see the proxy killed. How many were served."""
    numbers, served, over = iter(range(first, end)), 0, False
    head = {"authorization": f"Bearer {proxy.key}"}
    async with httpx.AsyncClient(base_url=proxy.address, headers=head, timeout=60, limits=httpx.Limits()) as client:

        async def caller() -> None:
            nonlocal served, over
            for number in numbers:
                if kill and number >= end - IN_FLIGHT and not over:
                    over = True
                    proxy.process.kill()
                said = [{"role": "user", "content": question(1, number)}]
                try:
                    body = {"model": "chat", "messages": said, "max_tokens": LONGEST}
                    answer = await client.post("/v1/chat/completions", json=body)
                    served += answer.status_code == 200
                except httpx.TransportError:
                    continue

        await asyncio.gather(*(caller() for _ in range(IN_FLIGHT)))
    return served


if __name__ == "__main__":
    main()
