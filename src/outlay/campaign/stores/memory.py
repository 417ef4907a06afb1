"""A ledger in memory: gone with the process, and as strict as the others."""

import os
import threading
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from outlay.campaign.ledger.apply import apply
from outlay.campaign.ledger.decide import step
from outlay.campaign.ledger.events import Asked, Command, ExpirePulls, Open, Record
from outlay.campaign.ledger.state import State
from outlay.campaign.ledger.windows import renewal
from outlay.campaign.records import Found, PullFilter, Reply, Status, status_of
from outlay.campaign.stores.base import FORKED, Clock, Done, Listener, announce, run
from outlay.errors import StoreBusy, StoreError
from outlay.policies.protocol import Policy


class MemoryLedger:
    """One campaign; commands are taken one at a time, under a lock."""

    def __init__(self, opening: Open, policy: Policy | None = None, clock: Clock | None = None) -> None:
        self._lock = threading.Lock()
        self._process, self._closed = os.getpid(), False
        self._listeners: list[Listener] = []
        self._clock, self._policy = clock or Clock(), policy
        self._state, self._records, _ = step(None, opening, self._clock.now(), policy)

    def transact(self, commands: Sequence[Command], timeout: float | None = None) -> list[Reply]:
        """Each command's reply, or the error that it met; where it is cut short, nothing happened."""
        self._check_process()
        if timeout is None:
            with self._lock:  # this form alone lets the lock go wherever Ctrl-C comes
                done = self._done(commands)
        elif not self._lock.acquire(timeout=timeout):
            raise StoreBusy(f"campaign {self._state.name!r} did not answer within {timeout:g} s")
        else:
            try:
                done = self._done(commands)
            finally:
                self._lock.release()
        announce(self._state.name, self._listeners, done.records)
        return done.replies

    def _done(self, commands: Sequence[Command]) -> Done:
        if self._closed:
            raise StoreError("the campaign was disconnected, and was in memory: it is gone")
        before = len(self._records)
        try:
            done = run(self._state, commands, self._clock.now(at_least=self._state.at))
            self._records += done.records
        except BaseException:
            del self._records[before:]
            state: State | None = None
            for record in self._records:
                state = apply(state, record, self._policy)
            assert state is not None  # noqa: S101 (the first record opens)
            self._state = state
            raise
        return done

    async def atransact(self, commands: Sequence[Command]) -> list[Reply]:
        """The same for asyncio: it does not wait, and so cannot be cancelled half-way."""
        return self.transact(commands)

    def listen(self, listener: Listener) -> None:
        """Have a function called with what is recorded from now on."""
        self._listeners.append(listener)

    def state(self) -> State:
        """Where the campaign stands; to be read at once."""
        self._check_process()
        return self._state

    def status(self) -> Status:
        """The same for users."""
        self._check_process()
        with self._lock:
            if not self._closed and renewal(self._state, self._clock.now(at_least=self._state.at)):
                self._done([ExpirePulls()])  # the window is over, and the next has begun
            return status_of(self._state)

    def records(self, after: int = 0) -> Iterator[Record]:
        """The events after the first `after`."""
        self._check_process()
        yield from self._records[after:]

    def find(self, wanted: PullFilter) -> Iterator[Found]:
        """The pulls that are wanted, as they stand now."""
        self._check_process()
        with self._lock:
            pulls = [msgspec.structs.replace(pull) for pull in self._state.pulls.values()]
        asks = ((pull, self._records[pull.number - 1].event) for pull in pulls)
        fitting = ((pull, asked) for pull, asked in asks if isinstance(asked, Asked) and wanted.fits(pull, asked))
        return islice(fitting, wanted.limit)

    def close(self) -> None:
        """Take no more commands; what happened can still be read."""
        self._closed = True

    def _check_process(self) -> None:
        """Refuse a fork: the budget would be spent twice, and a thread that is gone may hold the lock."""
        if os.getpid() != self._process:
            raise StoreError(FORKED)
