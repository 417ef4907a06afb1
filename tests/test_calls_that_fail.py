"""examples/calls_that_fail.py with a provider that refuses, fails, hangs, breaks off and bills for all of it.

The provider counts its own money. Whatever it does, and whenever tasks are cancelled, the bill stays within the cap and
no pull is left open.
"""

import asyncio
import importlib.util
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from outlay import Campaign
from outlay.campaign import verify

CAP = 0.8


@pytest.fixture
def router(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path = Path(__file__).parents[1] / "examples" / "calls_that_fail.py"
    spec = importlib.util.spec_from_file_location("calls_that_fail", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Provider:
    """Bills what a call costs, at most what the model's calls can cost, and does one of many things."""

    def __init__(self, router: ModuleType, seed: int) -> None:
        self.bill, self.seen = Decimal(0), Counter[str]()
        self._router, self._rng = router, random.Random(seed)

    async def call(self, model: str, prompt: str) -> tuple[float, bool]:
        try:
            return await self._served(model)
        except asyncio.CancelledError:
            self.seen["cancelled"] += 1
            raise

    async def _served(self, model: str) -> tuple[float, bool]:
        cost = round(self._router.MOST[model] * self._rng.choice([0.1, 0.5, 1.0]), 6)
        fate = self._rng.choice(["good", "bad", "refused", "failed", "broken", "hangs", "billed late", "absurd"])
        self.seen[fate] += 1
        if fate == "refused":
            raise ConnectionRefusedError
        if fate == "billed late":
            try:
                await asyncio.sleep(3600)
            finally:
                self.bill += Decimal(repr(cost))
        self.bill += Decimal(repr(cost))
        await asyncio.sleep(self._rng.random() * 0.002)
        if fate == "failed":
            raise self._router.Failed(cost)
        if fate == "broken":
            raise ConnectionResetError
        if fate == "absurd":
            raise ZeroDivisionError  # which no handler expects
        if fate == "hangs":
            await asyncio.sleep(3600)
        return cost, fate == "good"


async def routed(
    router: ModuleType, provider: Provider, campaign: Campaign, seed: int, cancelled: float, stopped: bool
) -> None:
    """Route many prompts; some tasks are cancelled on the way, or all of them at once."""
    rng, gate = random.Random(seed), asyncio.Semaphore(50)
    tasks = [asyncio.create_task(router.answer(campaign, f"p{n}", gate)) for n in range(700)]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0.002)
        for task in tasks:
            if rng.random() < cancelled:
                task.cancel()
        if stopped and provider.bill > Decimal(repr(CAP)) / 2:
            for task in tasks:
                task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(one) for one in outcomes} <= {bool, type(None), ZeroDivisionError, asyncio.CancelledError}


@pytest.mark.parametrize("cancelled", [0.0, 0.02])
@pytest.mark.parametrize("kept", [False, True], ids=["memory", "sqlite"])
@pytest.mark.parametrize("stopped", [False, True])
def test_the_bill_stays_within_the_cap_and_nothing_is_left_open(
    router: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cancelled: float, kept: bool, stopped: bool
) -> None:
    provider = Provider(router, seed=7)
    monkeypatch.setattr(router, "call", provider.call)
    monkeypatch.setattr(router, "SECONDS", 0.01)
    store = f"sqlite:///{tmp_path}/a.db" if kept else None

    async def main() -> None:
        async with Campaign(router.MOST, CAP, mode="hard", store=store) as campaign:
            await routed(router, provider, campaign, 3, cancelled, stopped)
            await campaign.apause()  # a transaction after all others
            status = campaign.status()
            assert (status.in_flight, status.reserved) == (0, 0.0)
            assert list(campaign.pulls(status="open")) == []
            assert provider.bill <= status.exact.spent <= Decimal(repr(CAP))
            assert len(campaign._queue) == 0

    asyncio.run(main())
    if not stopped and not cancelled:
        assert set(provider.seen) == {
            *("good", "bad", "refused", "failed", "broken", "hangs", "billed late", "absurd", "cancelled"),
        }
        assert provider.bill > Decimal(repr(CAP)) / 3
    if store is not None:
        assert verify(store).problems == ()
