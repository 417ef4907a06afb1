"""Callers who give up: by cancelling, by a timeout, by Ctrl-C. What they were given is taken back."""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from outlay.campaign import Campaign
from outlay.campaign.ledger.events import Asked, Cancelled
from outlay.campaign.stores.transaction import REASON_UNDELIVERED
from outlay.errors import BadParameter, StoreBusy
from tests.campaign.busy import asked, blocked
from tests.campaign.checker import checked
from tests.campaign.worker import ROOT, TERMS


@pytest.mark.parametrize("way", ["cancel", "timeout", "closed loop"])
@pytest.mark.parametrize("seed", [0, pytest.param(range(1, 40), marks=pytest.mark.soak)])
def test_asks_that_nobody_receives_are_cancelled(tmp_path: Path, way: str, seed: int | range) -> None:
    """Cancelled at any moment of their way: afterwards what is under way is what somebody got."""
    for number in [seed] if isinstance(seed, int) else seed:
        store = f"sqlite:///{tmp_path}/{number}.db"
        rng = random.Random(number)
        with Campaign(**TERMS, store=store) as campaign:
            received = asyncio.run(_interrupted(campaign, way, rng))
            last = campaign.ask()  # with this batch, at the latest, all is taken back
            assert last is not None
            campaign.cancel(last)
            assert campaign.status().in_flight == len(received)
        records = checked(store)
        cancelled = {
            r.event.pull for r in records if isinstance(r.event, Cancelled) and r.event.reason == REASON_UNDELIVERED
        }
        asked = {record.seq for record in records if isinstance(record.event, Asked)}
        assert asked == cancelled | received | {last.id}
        assert received


async def _interrupted(campaign: Campaign, way: str, rng: random.Random) -> set[int]:
    received: set[int] = set()

    async def ask() -> None:
        for i in range(10):
            patience = rng.expovariate(200) if way == "timeout" and i else None
            with suppress(TimeoutError):
                pull = await asyncio.wait_for(campaign.aask(), patience)
                assert pull is not None
                received.add(pull.id)

    tasks = [asyncio.create_task(ask()) for _ in range(20)]
    for task in tasks[1:] if way == "cancel" else []:
        await asyncio.sleep(rng.expovariate(200))
        task.cancel()
    if way == "closed loop":
        while len(received) < 30:
            await asyncio.sleep(0.001)  # then `run` cancels what is left
    else:
        await asyncio.gather(*tasks, return_exceptions=True)
    return received


def test_an_ask_that_is_cancelled_as_its_answer_comes(tmp_path: Path) -> None:
    """The answer is there, and the task has not seen it: the pull is taken back, also where the ask has a timeout."""

    async def ask(campaign: Campaign) -> None:
        asking = asyncio.ensure_future(campaign.aask(wait=5.0))
        for _ in range(2):
            await asyncio.sleep(0)
        while campaign.status().in_flight == 0:  # which holds up the loop
            time.sleep(0.001)
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    with Campaign(**TERMS, store=f"sqlite:///{tmp_path}/bill.db") as campaign:
        asyncio.run(ask(campaign))
        campaign.pause()  # with this batch, at the latest, it is taken back
        assert [pull.status for pull in campaign.pulls()] == ["cancelled"]


def test_ctrl_c_orphans_nothing(store: str) -> None:
    """An ask that was interrupted is not done, or cancelled; only between two lines of Python can a pull be lost.

    Each signal comes at a random moment of the time that an ask takes on this machine, however fast it is.
    """
    script = f"""
import random, signal, statistics, time
from outlay.campaign import Campaign
from tests.campaign.worker import TERMS
campaign = Campaign(**TERMS, store={store!r})
spans = []
for _ in range(21):
    start = time.perf_counter()
    campaign.cancel(campaign.ask())
    spans.append((time.perf_counter() - start) / 2)
rng, interrupted, span = random.Random(1), 0, statistics.median(spans)
for _ in range(20_000):
    if interrupted == 40:
        break
    try:
        signal.setitimer(signal.ITIMER_REAL, span * rng.uniform(0.05, 1.5))
        pull = campaign.ask()
        signal.setitimer(signal.ITIMER_REAL, 0)
        campaign.tell(pull, 1, 0.5)
    except KeyboardInterrupt:
        interrupted += 1
campaign.pause()
print(interrupted, campaign.status().in_flight)
campaign.disconnect()
"""
    handler = "import signal\nsignal.signal(signal.SIGALRM, signal.default_int_handler)\n"
    done = subprocess.run([sys.executable, "-c", handler + script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    interrupted, in_flight = map(int, done.stdout.split())
    assert interrupted == 40
    assert in_flight <= 4
    checked(store)


@pytest.mark.parametrize("start", ["ask()", "multiprocessing.get_context('fork').Process(target=ask).start()"])
def test_ctrl_c_that_ends_the_process_orphans_nothing(store: str, start: str) -> None:
    """It comes when the pull is written and not yet received, and nothing disconnects the campaign."""
    script = f"""
import multiprocessing, os, signal, time
from outlay.campaign import Campaign
from tests.campaign.worker import TERMS
def ask():
    campaign, late = Campaign(**TERMS, store={store!r}), []
    def interrupt(news):
        if not late:
            late.append(os.kill(os.getpid(), signal.SIGINT))
            time.sleep(0.2)
    campaign._ledger.listen(interrupt)
    campaign.ask()
{start}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert "KeyboardInterrupt" in done.stderr
    assert [type(record.event) for record in checked(store)[1:]] == [Asked, Cancelled]


@pytest.mark.parametrize("verb", ["ask", "tell"])
def test_a_store_that_does_not_answer_in_time(store: str, verb: str) -> None:
    """The caller is told, nothing is done behind its back, and when the store is free again all goes on."""
    with Campaign(**TERMS, store=store) as campaign:
        pull = asked(campaign)
        call: Callable[..., object] = campaign.ask if verb == "ask" else partial(campaign.tell, pull, 1, 0.5)
        with blocked(store), pytest.raises(StoreBusy, match=r"'default' did not answer within 0\.05 s"):
            call(timeout=0.05)
        call(timeout=60)
    assert len(checked(store)) == 3
    with pytest.raises(BadParameter, match="timeout of ask must be ≥ 0 and "):
        campaign.ask(timeout=-1)
