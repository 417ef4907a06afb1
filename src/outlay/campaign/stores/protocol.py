"""The seam between `Campaign` and the places where ledgers live: all that a campaign needs of a store."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Protocol, runtime_checkable

from outlay.campaign.ledger.commands import Command
from outlay.campaign.ledger.events import Record
from outlay.campaign.ledger.state import State
from outlay.campaign.records import Found, PullFilter, Reply, Status

FORKED = "a campaign cannot be used in a forked process: open it after forking"


@runtime_checkable
class Store(Protocol):
    """One campaign's ledger. Every method may be called from any thread; `StoreContract` tests an implementation.

    The rules are not a store's affair: it hands commands to `outlay.campaign.stores.batch.run` with the time, keeps the
    records that come back, and answers when they are kept.
    """

    def transact(self, commands: Sequence[Command], timeout: float | None = None) -> list[Reply]:
        """Each command's reply, or the error that it met, once what it changed is kept.

        StoreBusy where that takes more than `timeout` seconds. A pull whose asker gave up, here or below, is voided
        unless it has a key, by which it can be asked for again.
        """

    def submit(self, commands: Sequence[Command]) -> Future[list[Reply]]:
        """The same, later; a future that is cancelled has given up."""

    async def atransact(self, commands: Sequence[Command]) -> list[Reply]:
        """The same for asyncio; a task that is cancelled has given up."""

    def listen(self, listener: Callable[[Sequence[Record]], None], /) -> Callable[[], None]:
        """Have a function called with the events that are kept from now on, as they become known to this process.

        It runs in the thread that writes, the store's own or a caller's, and must be quick. Call what is returned to
        end that.
        """

    def state(self) -> State:
        """Where the campaign stands; decisions and what the policy knows may be missing."""

    def status(self) -> Status:
        """The same for users, as of one moment."""

    def records(self, after: int = 0) -> Iterator[Record]:
        """The events after the first `after`, in order."""

    def find(self, wanted: PullFilter) -> Iterator[Found]:
        """The decisions that are wanted, each with the event that made it, in order."""

    def close(self) -> None:
        """Write what waits and let go of everything; again, nothing happens."""
