"""Random stories in which callers give up, and processes are forked: a database against a model of what must be left.

An ask that was given up before its turn is not done; one that was done, and that nobody received, is cancelled with the
next batch, unless it has a key. The model is a ledger in memory that is asked, and then told to cancel. In a forked
process both refuse everything, and the story goes on in the first.
"""

import asyncio
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from outlay.campaign.ledger import apply as fold
from outlay.campaign.ledger import events as e
from outlay.campaign.records import Pull, PullFilter
from outlay.campaign.stores.base import FORKED
from outlay.campaign.stores.memory import MemoryLedger
from outlay.campaign.stores.transaction import REASON_UNDELIVERED, SqlLedger
from outlay.campaign.stores.writer import Writer, WriteRequest
from outlay.errors import StoreBusy, StoreError
from tests.campaign.busy import blocked
from tests.campaign.checker import checked
from tests.campaign.stories import EXACT, Caller, Operation, openings, operations, shown
from tests.campaign.test_heart import check_twin
from tests.campaign.test_same_everywhere import Hand, check_rows

NAMES = count()
Commands = Sequence[e.Command]


def timed_out(ledger: SqlLedger, store: str, commands: Commands) -> None:
    """While another process has the file."""
    with blocked(store), pytest.raises(StoreBusy):
        ledger.transact(commands, timeout=0.001)


def task_cancelled(ledger: SqlLedger, store: str, commands: Commands) -> None:
    """A task of asyncio, before its turn has come."""

    async def give_up() -> None:
        task = asyncio.create_task(ledger.atransact(commands))
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    with blocked(store):
        asyncio.run(give_up())


def task_cancelled_too_late(ledger: SqlLedger, store: str, commands: Commands) -> None:
    """When it was done, and before the task could hear of it."""

    async def give_up() -> None:
        task = asyncio.create_task(ledger.atransact(commands))
        await asyncio.sleep(0)
        ledger.transact(())  # comes after it, in the thread of the event loop, which hears nothing meanwhile
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())


def loop_closed(ledger: SqlLedger, store: str, commands: Commands) -> None:
    """Under way while the event loop that waits for it is closed."""

    async def hand_in() -> asyncio.Task[Any]:
        task = asyncio.create_task(ledger.atransact(commands))
        await asyncio.sleep(0)
        return task

    loop = asyncio.new_event_loop()
    with blocked(store):
        task = loop.run_until_complete(hand_in())
        loop.close()
    ledger.transact(())
    task._log_destroy_pending = False  # type: ignore[attr-defined]


NOT_DONE = [timed_out, task_cancelled]
DONE = [task_cancelled_too_late, loop_closed]
POLICY_KINDS: list[Any] = [None] * 5 + NOT_DONE + DONE * 2 + ["fork", "three"]


def check_fork(ledgers: Sequence[MemoryLedger | SqlLedger]) -> None:
    """A forked process is refused everything."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads: what is tested here
        child = os.fork()
    if child == 0:
        os._exit(_refused_all(ledgers))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _refused_all(ledgers: Sequence[MemoryLedger | SqlLedger]) -> int:
    calls: list[Callable[[Any], object]] = [
        lambda ledger: ledger.transact([e.Ask()], timeout=1),
        lambda ledger: list(ledger.records()),
        lambda ledger: list(ledger.find(PullFilter())),
        lambda ledger: ledger.status(),
    ]
    for ledger in ledgers:
        for call in calls:
            try:
                call(ledger)
            except StoreError as error:
                if FORKED in str(error):
                    continue
            return 1
    return 0


def given_up_story(folder: Path, opening: e.Open, story: list[Operation], ways: list[Any]) -> None:
    store, caller, opening = f"sqlite:///{folder}/a.db", Caller(), opening._replace(name=f"story {next(NAMES)}")
    model = MemoryLedger(opening, clock=Hand(caller))
    ledger = SqlLedger(store, opening.name, opening, clock=Hand(caller))
    try:
        for operation, way in zip(story, ways, strict=False):
            command = caller.command(operation)
            if way == "fork":
                check_fork([model, ledger])
            many = [command] * (3 if way == "three" and not getattr(command, "key", None) else 1)
            if callable(way) and isinstance(command, e.Ask):
                way(ledger, store, [command, command._replace(key=None)])
                ledger.transact(())
                replies = model.transact([command, command._replace(key=None)]) if way in DONE else []
                lost = [r for r in replies[command.key is not None :] if isinstance(r, Pull)]
                model.transact([e.Cancel(pull.id, REASON_UNDELIVERED) for pull in lost])
            else:
                replies = model.transact(many)
                assert list(map(shown, ledger.transact(many))) == list(map(shown, replies))
                for reply in replies:
                    caller.hears(reply)
            assert ledger.status() == model.status()
            check_nothing_orphaned(model, caller)
        assert list(ledger.records()) == list(model.records())
    finally:
        ledger.close()
    check_rows(store, model)
    checked(store, opening.name)


def check_nothing_orphaned(model: MemoryLedger, caller: Caller) -> None:
    """Whatever is under way somebody got, or can get by its key."""
    received = {pull.id for pull in caller.pulls}
    assert all(number in received or d.key is not None for number, d in model.state().pending.items())


def story_test(test: Callable[..., None], *arguments: st.SearchStrategy[Any], examples: int) -> None:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    # To make what fails smaller would take minutes: a story has its own campaign on a disk.
    often = settings(max_examples=examples, suppress_health_check=slow, phases=[Phase.generate])
    tried: Any = given(*arguments)(test)
    often(tried)()


WHICH = st.lists(st.sampled_from(POLICY_KINDS), min_size=80, max_size=80)


@pytest.mark.parametrize("examples", [8, pytest.param(600, marks=pytest.mark.soak)])
def test_what_is_given_up_leaves_nothing_behind(tmp_path: Path, examples: int) -> None:
    story_test(given_up_story, st.just(tmp_path), openings(EXACT), operations(), WHICH, examples=examples)


@pytest.mark.parametrize(
    ("owner", "name", "without"),
    [
        (WriteRequest, "undelivered", lambda self: []),  # pulls that nobody received are cancelled
        (
            WriteRequest,
            "left",
            property(lambda self: self.commands[len(self.replies) :]),
        ),  # what nobody waits for is not done
        (Writer, "_give_up", lambda self, job: None),  # who is cancelled says so
        (MemoryLedger, "_check_process", lambda self: None),  # memory refuses a fork
        (Writer, "_process", property(lambda self: os.getpid(), lambda self, value: None)),  # and so does a writer
    ],
    ids=["undelivered", "left", "give_up", "fork of memory", "fork of a writer"],
)
def test_without_what_was_mended_the_stories_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, without: Any
) -> None:
    """That the stories can find it."""
    monkeypatch.setattr(owner, name, without, raising=False)
    stories = st.just(tmp_path), openings(EXACT), operations(), WHICH
    with pytest.raises(AssertionError):
        story_test(given_up_story, *stories, examples=60)


# A story that fails leaves coroutines of closed loops behind, for the garbage collector to end in any order.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_without_counting_untold_pulls_the_twin_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "_note_untold", lambda state, index: None)
    little = openings(EXACT, reservation=None, first_pulls=1), operations(untold=True)
    with pytest.raises(AssertionError):
        story_test(check_twin, *little, examples=200)
