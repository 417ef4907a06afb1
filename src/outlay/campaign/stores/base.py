"""What a campaign needs of a store, and what every store does: decide commands in turn, and know what time it is."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from outlay.campaign.ledger.allocate import NoRoom, retry_next_window
from outlay.campaign.ledger.decide import is_due, step
from outlay.campaign.ledger.events import Amend, Ask, Command, ExpirePulls, Explain, Record, Reward, Tell
from outlay.campaign.ledger.pool import Pool
from outlay.campaign.ledger.state import State
from outlay.campaign.reasons import explanation_of
from outlay.campaign.records import Found, PullFilter, Reply, Status, pull_of, receipt_of
from outlay.errors import PullOver
from outlay.policies.protocol import Policy

FORKED = "a campaign cannot be used in a forked process: open it after forking"
CATCHING_UP = 10  # of so much time that goes by, one part more while the wall clock is ahead
Listener = Callable[[Sequence[Record]], None]
# A steady clock, which counts the time that a laptop sleeps, where there is such a one.
_since_boot = partial(time.clock_gettime_ns, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@runtime_checkable
class Store(Protocol):
    """One campaign's ledger. Every method may be called from any thread; `StoreContract` tests an implementation.

    The rules are not a store's affair: it hands commands to `outlay.campaign.stores.base.run` with the time, keeps the
    records that come back, and answers when they are kept.
    """

    def transact(self, commands: Sequence[Command], timeout: float | None = None) -> list[Reply]:
        """Each command's reply, or the error that it met, once what it changed is kept.

        StoreBusy where that takes more than `timeout` seconds. A pull whose asker gave up, here or below, is cancelled
        unless it has a key, by which it can be asked for again.
        """

    async def atransact(self, commands: Sequence[Command]) -> list[Reply]:
        """The same for asyncio; a task that is cancelled has given up."""

    def listen(self, listener: Listener, /) -> None:
        """Have a function called with the events that are kept from now on, as they become known to this process.

        It runs in the thread that writes, the store's own or a caller's, and must be quick.
        """

    def state(self) -> State:
        """Where the campaign stands; pulls and what the policy knows may be missing."""

    def status(self) -> Status:
        """The same for users, as of one moment."""

    def records(self, after: int = 0) -> Iterator[Record]:
        """The events after the first `after`, in order."""

    def find(self, wanted: PullFilter) -> Iterator[Found]:
        """The pulls that are wanted, each with the event that made it, in order."""

    def close(self) -> None:
        """Write what waits and let go of everything; again, nothing happens."""


class Done(NamedTuple):
    """The state after a batch, what is to be written, and for each command that was taken its reply or error."""

    state: State | None
    records: list[Record]
    replies: list[Reply]


def run(
    state: State | None,
    commands: Sequence[Command],
    now: int,
    policy: Policy | None = None,
    until: float = math.inf,
    pool: Pool | None = None,
) -> Done:
    """Decide each command in turn. What is overdue expires first; a command that is refused writes nothing.

    When the steady clock has passed `until`, the rest is left for another batch; one command is always taken. Where
    the campaign has a `pool`, the caller has what happened in it written as well.
    """
    records: list[Record] = []
    replies: list[Reply] = []
    for command in commands:
        if pool is not None:
            pool.expire(now)
        if state is not None and is_due(state, now):
            state, more, _ = step(state, ExpirePulls(), now, None, pool)
            records += more
        if pool is not None and isinstance(command, Ask):
            command = command._replace(room=pool.room)
        before = _mark(state, pool)
        try:
            state, more, reply = _step(state, command, now, policy, pool)
        except _NoneNamed as none:
            replies.append(none.reply)
        except PullOver as over:
            over.pull = pull_of(state, over.id) if state else None
            replies.append(over)
        except Exception as error:  # whatever it was, a user's policy included, belongs to who asked
            if _mark(state, pool) != before:
                raise  # it came in the middle of a change: the store must fold its events anew
            replies.append(error)
        else:
            records += more
            replies.append(_shown(state, command, reply, now, pool))
        if time.monotonic() > until:
            break
    return Done(state, records, replies)


class _NoneNamed(Exception):
    """The pool has no room for an ask, and this is the reply to it."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self.reply = reply


def _step(
    state: State | None, command: Command, now: int, policy: Policy | None, pool: Pool | None
) -> tuple[State, list[Record], int | None]:
    """As `step`; where the pool has no room, the fallback is named if waiting will not help, or was ruled out."""
    try:
        return step(state, command, now, policy, pool)
    except NoRoom as full:
        assert state is not None and pool is not None and isinstance(command, Ask)  # noqa: S101, PT018 (who else asks?)
        reply, soon = pool.refusal(command, full.least, now)
        if soon or state.fallback is None:
            raise _NoneNamed(reply) from full
        return step(state, command._replace(or_fallback=True, room=pool.room), now, policy, pool)


def _mark(state: State | None, pool: Pool | None = None) -> tuple[int, ...]:
    """What no command leaves as it was that has changed anything."""
    if state is None:
        return ()
    marks = (state.seq, state.spent, state.reserved, len(state.pending), state.budget)
    return marks if pool is None else (*marks, *_mark(pool.state))


def _shown(state: State, command: Command, reply: int | None, now: int, pool: Pool | None = None) -> Reply:
    """What `decide` replied, as its user sees it; `now` matters to an ask that gets no pull."""
    if isinstance(command, Ask):
        return retry_next_window(state, now) if reply is None else pull_of(state, reply)
    if isinstance(command, Tell | Reward | Amend):
        pull = state.pull_named(command.pull)
        assert pull is not None  # noqa: S101 (it was found)
        receipt = receipt_of(state, pull, bool(reply), getattr(command, "rounded", False))
        if pool is not None and (there := pool.pull(pull.number)) and there.overrun:
            return msgspec.structs.replace(receipt, overrun=True)
        return receipt
    if isinstance(command, Explain):
        return explanation_of(state, reply, command.context)
    return reply


def announce(campaign: str, listeners: Iterable[Listener], news: Sequence[Record]) -> None:
    """Call each listener with the news, if there is any; an exception is logged, and must not harm the ledger."""
    for listener in listeners if news else ():
        try:
            listener(news)
        except Exception:  # it is a user's code, and may raise anything
            logging.getLogger("outlay.campaign").exception("a listener of campaign %r failed", campaign)


class Clock:
    """Microseconds since 1970 that never fall and never stand still, whatever is done to the wall clock.

    The wall clock is believed once, at the start; from then on a steady one counts, which knows of sleep. A wall clock
    that was set back changes nothing. One that was set ahead, by mistake or by a correction, is followed by running a
    tenth faster until it is caught up with: a leap of an hour must not let every pull under way expire at once.

    >>> wall, steady = iter([1000, 5000, 2000]), iter([0, 100, 300])
    >>> clock = Clock(lambda: next(wall) * 1000, lambda: next(steady) * 1000)
    >>> clock.now(), clock.now(), clock.now()
    (1000, 1110, 1330)
    """

    def __init__(self, wall: Callable[[], int] = time.time_ns, steady: Callable[[], int] = _since_boot) -> None:
        self._wall, self._steady = wall, steady
        self._last = 0
        self._mark: int | None = None

    def now(self, wall: int | None = None, at_least: int = 0) -> int:
        """The time; `wall` is what another clock says, such as the database's, in microseconds."""
        wall = self._wall() // 1000 if wall is None else wall
        mark = self._steady() // 1000
        if self._mark is None:
            self._last = wall
        else:
            since = mark - self._mark
            ahead = wall - self._last - since
            self._last += since + max(0, min(ahead, since // CATCHING_UP))
        self._last, self._mark = max(self._last, at_least), mark
        return self._last
