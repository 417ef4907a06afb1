"""What a batch brings for one campaign: the jobs of its callers, and what it comes to."""

import time
from collections.abc import Sequence

from sqlalchemy.engine import Connection

from outlay.campaign.ledger.commands import Command, Void
from outlay.campaign.stores.batch import Done, settled_first
from outlay.campaign.stores.db.locking import Found
from outlay.campaign.stores.writing.book import Book
from outlay.campaign.stores.writing.job import Job
from outlay.errors import OutlayError

UNRECEIVED = "nobody received it"  # why such a pull is voided


class Share:
    """One campaign's part of a transaction."""

    def __init__(self, book: Book, jobs: list[Job]) -> None:
        self.book = book
        self.jobs = jobs
        if len(jobs) > 1:
            in_order = [jobs[i] for i in settled_first([job.commands for job in jobs])]
            self.jobs = sorted(in_order, key=lambda job: bool(job.replies))  # who was served in part comes last
        self.voids = list(book.unwanted)
        self.done: Done | None = None
        self.taken: list[tuple[Job, Sequence[Command]]] = []  # with what is decided of each
        self.error: BaseException | None = None

    def decide(self, connection: Connection, found: Found | None, by: str, seconds: float) -> None:
        """Decide for those who still wait; what is wrong with this campaign is its callers' affair alone."""
        self.error, self.done = None, None
        until = time.monotonic() + seconds
        try:
            self.book.find(connection, found, by)
            self.taken = [(job, job.left) for job in self.jobs if job.wanted]
            commands: list[Command] = [Void(number, UNRECEIVED) for number in self.voids]
            for _, part in self.taken:
                commands += part
            self.book.recall(connection, commands)
            self.done = self.book.decide(commands, until)
        except OutlayError as error:
            self.refuse(error)

    def answer(self) -> None:
        """Give each job its replies, now that they are kept."""
        assert self.done is not None  # noqa: S101 (it was decided)
        replies, start = self.done.replies, len(self.voids)
        del self.book.unwanted[: min(start, len(replies))]
        for job, part in self.taken:
            job.replies = [*job.replies, *replies[start : start + len(part)]]
            start += len(part)

    def refuse(self, error: BaseException) -> None:
        """Tell each job why nothing came of it."""
        self.error = error
        self.book.forget()
        for job in self.jobs:
            job.error = error
