"""`python -m benchmarks.endpoint`: a thousand calls through `outlay serve --proxy`, fifty in flight.

Does the cap hold? Chats, streams, and streams whose client leaves after the first piece; some calls fail, some hang.
What the provider billed is compared with the ledger to the last digit. Then what a call takes through the endpoint and
without it, in one run. `--kill` kills the endpoint when half of the calls are made, and starts it again on its file.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path

import httpx2
import numpy as np
import tomli_w

from benchmarks.provider import MODELS, Model, Provider
from outlay import Campaign
from outlay.campaign import verify
from outlay.tables import Table

KEY = "ENDPOINT_KEY"
CALLS, AT_ONCE, BUDGET, SEED = 1000, 50, 0.1, 1
TOKENS = 300  # of an answer at most
KINDS = ("chat", "chat", "chat", "chat", "chat", "stream", "stream", "stream", "left", "left")
TIMEOUT, HANG = 1.0, 3.0  # seconds
QUICK = Model("quick", 0.01, 0.01)

Call = Callable[[int], Awaitable[object]]


class Endpoint:
    """`outlay serve --proxy` as a process."""

    def __init__(self, folder: Path, provider: Provider, models: list[Model], budget: float) -> None:
        arm = {"provider": "here", "max_output_tokens": TOKENS}
        file = {
            "campaign": {"name": "bill", "budget": budget, "currency": "USD", "seed": SEED},
            "providers": {"here": {"base_url": provider.base_url, "key_env": KEY, "not_billed": [500]}},
            "arms": {
                each.name: {"model": each.name, "input": each.input, "output": each.output, **arm} for each in models
            },
            "calls": {"timeout": TIMEOUT},
        }
        (folder / "gateway.toml").write_text(tomli_w.dumps(file))
        self._folder, self.store = folder, f"sqlite:///{folder / 'bill.db'}"
        self._port = 0
        self.start()

    def start(self) -> None:
        """Begin, or begin again."""
        command = [sys.executable, "-m", "outlay", "serve", f"--port={self._port}", "--store", self.store]
        command += ["--proxy", str(self._folder / "gateway.toml")]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, KEY: "sk-none"}
            )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip().removeprefix("outlay serves ")
        self._port = int(self.address.rpartition(":")[2])  # and the same again

    def kill(self) -> None:
        """As a crash does."""
        self._process.kill()
        self._process.communicate()

    def stop(self) -> None:
        """As a supervisor does."""
        self._process.terminate()
        self._process.communicate(timeout=30)


async def in_flight(calls: int, at_once: int, call: Call) -> None:
    """So many calls, so many of them at once."""
    numbers = iter(range(calls))

    async def work() -> None:
        for number in numbers:
            await call(number)

    await asyncio.gather(*(work() for _ in range(at_once)))


def request(number: int, model: str = "auto") -> dict[str, object]:
    kind = KINDS[number % len(KINDS)]
    prompt = {"role": "user", "content": f"Question {number}: " + "why " * (number % 50)}
    return {"model": model, "messages": [prompt], "max_tokens": TOKENS, "stream": kind != "chat"}


async def mixed(endpoint: Endpoint, calls: int, kill: bool) -> Counter[str]:
    """What became of the calls."""
    came = Counter[str]()

    async def call(number: int) -> None:
        if kill and number == calls // 2:
            endpoint.kill()
            endpoint.start()
        try:
            await served(number)
        except httpx2.TransportError:
            came["cut off by the kill"] += 1

    async def served(number: int) -> None:
        path, kind = f"{endpoint.address}/v1", KINDS[number % len(KINDS)]
        async with http.stream("POST", f"{path}/chat/completions", json=request(number)) as answer:
            if kind == "left" and answer.status_code == 200:
                await anext(answer.aiter_lines())
                came["streams left"] += 1
                return
            said = await answer.aread()
        if answer.status_code != 200:
            came[{429: "refused", 504: "took too long"}.get(answer.status_code, "failed")] += 1
            came["of which for want of money"] += b"insufficient_quota" in said
            return
        came["streams" if kind == "stream" else "chats"] += 1
        if b'"error"' not in said:  # a stream that took too long
            found = {"pull": answer.headers["x-outlay-pull"], "reward": float(b'"good ' in said)}
            (await http.post(f"{path}/feedback", json=found)).raise_for_status()

    async with httpx2.AsyncClient(timeout=60, limits=httpx2.Limits(max_connections=None)) as http:
        await in_flight(calls, AT_ONCE, call)
    return came


def money(hangs: float, kill: bool, calls: int, budget: float) -> tuple[str, ...]:
    """Run the mix; a row of the table."""
    models = [each._replace(fails=0.03, rate_limited=0.03, hangs=hangs) for each in MODELS]
    with (
        tempfile.TemporaryDirectory() as folder,
        Provider(models, seed=SEED, hang=HANG) as provider,
    ):
        endpoint = Endpoint(Path(folder), provider, models, budget)
        came = asyncio.run(mixed(endpoint, calls, kill))
        while provider.charged()["under_way"]:
            time.sleep(0.05)
        endpoint.stop()
        billed = provider.charged()["dollars"]
        with Campaign.open(endpoint.store, "bill") as campaign:
            pulls, status = [*campaign.pulls()], campaign.status()
        assert verify(endpoint.store, "bill").ok
        log = (Path(folder) / "log").read_text().splitlines()
    ends = Counter(pull.status for pull in pulls)
    known = sum((Decimal(str(pull.cost)) for pull in pulls if pull.status in ("paid", "told")), Decimal(0))
    ledger = status.exact.spent + status.exact.reserved
    print(f"\n{calls:,} calls, {100 * hangs:g} % hang{', the endpoint killed half way' if kill else ''}")
    print("  came:", ", ".join(f"{number} {kind}" for kind, number in came.most_common()))
    print("  pulls:", ", ".join(f"{number} {kind}" for kind, number in ends.most_common()))
    print(f"  billed {billed}, told {known}, charged or set aside {ledger - known}, cap {budget}")
    print(f"  open pulls: {ends['open']}{', set aside until they expire' if ends['open'] else ''}")
    assert kill or not ends["open"]
    assert billed <= ledger <= Decimal(str(budget))
    print("  the bill is within the ledger, and the ledger within the cap")
    if not ends["expired"] and not ends["open"]:
        assert billed == ledger
        print("  the ledger is the bill, to the last digit")
    assert not [line for line in log if '"level": "error"' in line and "StoreBusy" not in line]
    return f"{calls:,}", f"{hangs:.0%}", "yes" if kill else "no", f"{billed:.6f}", f"{ledger:.6f}", f"{budget:g}"


async def times(address: str, model: str, calls: int, at_once: int) -> list[float]:
    """Milliseconds of each call."""
    taken: list[float] = []

    async def call(number: int) -> None:
        began = time.perf_counter()
        answer = await http.post(f"{address}/chat/completions", json=request(number, model))
        taken.append(1000 * (time.perf_counter() - began))
        answer.raise_for_status()

    async with httpx2.AsyncClient(timeout=60, limits=httpx2.Limits(max_connections=None)) as http:
        await in_flight(at_once, at_once, call)  # connections are made
        taken.clear()
        await in_flight(calls, at_once, call)
    return taken


def bare(store: str, calls: int) -> list[float]:
    """Milliseconds of an ask and its tell alone, on a store of its own."""
    taken = []
    with Campaign([QUICK.name], 1000.0, store=store, mode="hard") as campaign:
        for _ in range(calls):
            began = time.perf_counter()
            pull = campaign.ask(most=0.001)
            assert pull is not None
            campaign.tell(pull, 0.0001)
            taken.append(1000 * (time.perf_counter() - began))
    return taken


def overhead(calls: int) -> None:
    """A model that answers at once: all that is left is what lies in between."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, Provider([QUICK], seed=SEED) as provider:
        endpoint = Endpoint(Path(folder), provider, [QUICK], 1000.0)
        for at_once in (1, AT_ONCE):
            found = [
                np.quantile(asyncio.run(times(address, QUICK.name, calls, at_once)), (0.5, 0.99))
                for address in (provider.base_url, f"{endpoint.address}/v1")
            ]
            rows.append([str(at_once), *(f"{each:.1f}" for each in (*found[0], *found[1], *(found[1] / found[0])))])
        p50, p99 = np.quantile(bare(f"sqlite:///{folder}/bare.db", calls), (0.5, 0.99))
        endpoint.stop()
    headings = "in flight", "direct p50, ms", "direct p99", "endpoint p50", "endpoint p99", "ratio p50", "ratio p99"
    print(f"\n{Table(headings, rows).markdown()}")
    print(f"An ask and its tell alone, each on disk before it returns: p50 {p50:.1f} ms, p99 {p99:.1f} ms.")


def main() -> None:
    """Run, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--budget", type=float, default=BUDGET, help="dollars")
    parser.add_argument("--kill", action="store_true", help="kill the endpoint half way")
    given = parser.parse_args()
    rows = [money(hangs, given.kill, given.calls, given.budget) for hangs in (0.0, 0.02)]
    print(f"\n{Table(('calls', 'hang', 'killed', 'billed', 'ledger', 'cap'), rows).markdown()}")
    if not given.kill:
        overhead(given.calls)


if __name__ == "__main__":
    main()
