"""What a batch brings for one campaign: the jobs of its callers, what others have left to be done, what it comes to."""

import time
from collections.abc import Sequence

from sqlalchemy.engine import Connection

from outlay.campaign.answers.replies import Reply
from outlay.campaign.ledger.commands import Ask, Command, Void
from outlay.campaign.ledger.events import Asked, Record, Told
from outlay.campaign.stores.batch import Done, settled_first, shown
from outlay.campaign.stores.db import errands, rows
from outlay.campaign.stores.db.errands import Errand, Name
from outlay.campaign.stores.db.locking import Found
from outlay.campaign.stores.writing.book import Book
from outlay.campaign.stores.writing.job import Job, Left
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
        self.by: list[str] = []  # for each event that is to be written, the transaction in which it was wanted
        self.helping = False  # whether it brings what others have left
        self.errands: list[Name] = []  # of others, that are done
        self.taken: list[tuple[Job, Sequence[Command]]] = []  # with what is decided of each
        self.error: BaseException | None = None

    def to_leave(self) -> str | None:
        """What may be left to others where they are many: one command, if there is nothing else to be done."""
        job, *more = self.jobs
        if self.book.crowd < errands.CROWD or self.book.state is None or self.voids or more or job.errand is not None:
            return None
        return errands.written(job.commands[0]) if len(job.commands) == 1 and job.left else None

    def left_as(self, name: Name) -> None:
        """Note the name under which its command is left: from now on others may decide it."""
        self.jobs[0].errand = Left(name, self.book.known().seq)

    def hear_of(self, connection: Connection, found: Found | None, by: str) -> None:
        """Fold in what others wrote, and take from it what they decided for us, if they did; nothing is locked."""
        job, state = self.jobs[0], self.book.known()
        if found is None or job.errand is None or str(job.errand.name) not in found.by:
            return
        if not found.continues(state.seq, state.head):
            return
        try:
            self.book.find(connection, found, by)
        except OutlayError as error:
            self.refuse(error)
            return
        named = zip(found.records, found.by, strict=True)
        reply = self._heard(job, [record for record, name in named if name == str(job.errand.name)])
        self.taken, self.done = [(job, job.commands)], Done(self.book.known(), [], [reply])

    def decide(
        self,
        connection: Connection,
        found: Found | None,
        by: str,
        seconds: float,
        others: Sequence[Errand] | None = None,
    ) -> None:
        """Decide for those who still wait; what is wrong with this campaign is its callers' affair alone.

        Where it is our turn among those who left errands, those of `others` come after our own commands.
        """
        self.error, self.done, self.by, self.errands, self.helping = None, None, [], [], bool(others)
        until = time.monotonic() + seconds
        try:
            self.book.find(connection, found, by)
            if others is None:
                self._call_back(connection)
            self.taken = [(job, job.left) for job in self.jobs if job.wanted]
            commands: list[Command] = [Void(number, UNRECEIVED) for number in self.voids]
            for _, part in self.taken:
                commands += part
            self.done = self.book.decide(connection, commands, until)
            self.by = [by] * len(self.done.records)
            self._help(connection, others or (), by, until)
        except OutlayError as error:
            self.refuse(error)

    def _help(self, connection: Connection, others: Sequence[Errand], by: str, until: float) -> None:
        """Decide what others have left, tells first. What makes no pull and settles none is left to who left it.

        Only after events of our own: by these it is known, where COMMIT is not answered, whether it came to pass.
        """
        done = self.done
        for name, command in sorted(others, key=lambda other: isinstance(other.command, Ask)):
            if done is None or not done.records or time.monotonic() > until:
                return
            records = self.book.decide(connection, [command], until).records
            settled = _settled(command, records) is not None
            done.records.extend(records)
            self.by += [str(name) if settled else by] * len(records)
            self.errands += [name] * settled

    def _call_back(self, connection: Connection) -> None:
        """Call back what was left to others and not heard of again, and take what they decided, if they did."""
        for job in self.jobs:
            if job.errand is not None:
                records = errands.call_back(connection, self.book.number, *job.errand)
                if records:
                    rows.recall(connection, self.book.number, self.book.known(), records)
                    job.replies = [self._heard(job, records)]

    def _heard(self, job: Job, records: Sequence[Record]) -> Reply:
        """The reply to the command that a job left, which led to these events."""
        (command,) = job.commands
        return shown(self.book.known(), command, _settled(command, records))

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


def _settled(command: Command, records: Sequence[Record]) -> int | None:
    """What `decide` replied to an ask or a tell that led to these events; None where it led to none of them."""
    kind = Asked if isinstance(command, Ask) else Told
    number = next((record.seq for record in records if isinstance(record.event, kind)), None)
    return number if number is None or kind is Asked else 0
