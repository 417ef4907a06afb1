"""What a caller hands to a store's writer, and how it hears of the outcome: in a thread, by a future, in a loop."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future

from outlay.campaign.ledger.commands import Ask, Command
from outlay.campaign.records import Pull, Reply
from outlay.campaign.stores.writing.book import Book
from outlay.campaign.stores.writing.gate import Gate


class Job:
    """One caller's commands for one campaign; threads wait at the gate of the batch that it is in."""

    __slots__ = (
        "answered", "book", "commands", "error", "future", "gate", "given_up", "leaving", "promise", "replies",
    )  # fmt: skip

    def __init__(self, book: Book, commands: Sequence[Command], *, leaving: bool = False) -> None:
        self.book, self.commands, self.leaving = book, commands, leaving
        self.gate: Gate | None = None
        self.future: asyncio.Future[list[Reply]] | None = None  # of a caller in an event loop
        self.promise: Future[list[Reply]] | None = None
        self.replies: list[Reply] = []
        self.error: BaseException | None = None
        self.answered = False
        self.given_up = False

    @property
    def wanted(self) -> bool:
        """Whether somebody still waits for the outcome."""
        return not self.given_up and not (self.promise is not None and self.promise.cancelled())

    @property
    def left(self) -> Sequence[Command]:
        """What is still to be done of it."""
        if self.error is not None or not self.wanted:
            return ()
        return self.commands[len(self.replies) :] if self.replies else self.commands

    def outcome(self) -> list[Reply]:
        """The replies, or the error that kept the commands from being tried."""
        if self.error is not None:
            raise self.error
        return self.replies

    def unreceived(self) -> list[int]:
        """The pulls that only the caller could have known of: one with a key can be asked for again, by anybody."""
        answers = zip(self.commands, self.replies, strict=False)
        return [
            reply.id
            for command, reply in answers
            if isinstance(command, Ask) and command.key is None and isinstance(reply, Pull)
        ]

    def settle(self) -> None:
        """In the caller's event loop: tell it, if it still waits."""
        future = self.future
        if future is None or future.done():
            return
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result(self.replies)

    def keep_promise(self) -> bool:
        """Tell who holds the future; False where it was cancelled."""
        if self.promise is None:
            return True
        if not self.promise.set_running_or_notify_cancel():
            return False
        if self.error is not None:
            self.promise.set_exception(self.error)
        else:
            self.promise.set_result(self.replies)
        return True


def settle_all(jobs: Sequence[Job]) -> None:
    """The same for all callers of one event loop."""
    for job in jobs:
        job.settle()
