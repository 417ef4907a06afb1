"""What a batch brings for one campaign: the jobs of its callers, what others have left to be done, what it comes to."""

import time
from collections.abc import Sequence

from sqlalchemy.engine import Connection

from outlay.campaign.ledger.commands import Ask, Command, Void
from outlay.campaign.ledger.events import Asked, Record, Told
from outlay.campaign.records import Reply
from outlay.campaign.stores.batch import Done, settled_first, shown
from outlay.campaign.stores.db import errands, rows
from outlay.campaign.stores.db.errands import Errand, Left, Name
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
        self.orphans: list[int] = []  # pulls that others made for callers who had been told of a failure
        self.done: Done | None = None
        self.by: list[str] = []  # for each event that is to be written, the transaction in which it was wanted
        self.helping = False  # whether it is about what others have left
        self.errands: list[Name] = []  # of others, that are done
        self.taken: list[tuple[Job, Sequence[Command]]] = []  # with what is decided of each
        self.error: BaseException | None = None

    def to_leave(self) -> str | None:
        """What may be left to others where they are many: one command, if there is nothing else to be done."""
        job, *more = self.jobs
        if self.book.crowd < errands.CROWD or self.book.state is None or more or job.errand is not None:
            return None
        alone = len(job.commands) == 1 and not self.voids and not self.book.unheard
        return errands.written(job.commands[0]) if alone and job.left else None

    def left_as(self, name: Name) -> None:
        """Note the name under which its command is left: from now on others may decide it."""
        state = self.book.known()
        self.jobs[0].errand = Left(name, self.jobs[0].commands[0], state.seq, state.head)

    def hear_of(self, connection: Connection, found: Found | None, by: str) -> None:
        """Fold in what others wrote, and take from it what they decided for us, if they did; nothing is locked."""
        job, state = self.jobs[0], self.book.known()
        if found is None or job.errand is None or str(job.errand.name) not in found.by:
            return
        if not found.continues(state.seq, state.head):
            return
        try:
            self.book.find(connection, found, by)
            named = zip(found.records, found.by, strict=True)
            mine = [record for record, name in named if name == str(job.errand.name)]
            reply = self._heard(connection, job.errand.command, mine)
            self.taken, self.done = [(job, job.commands)], Done(self.book.known(), [], [reply])
        except OutlayError as error:
            self.refuse(error)

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
        self.error, self.done, self.by, self.errands, self.helping = None, None, [], [], False
        until = time.monotonic() + seconds
        try:
            self.book.find(connection, found, by)
            if others is None and found is not None:
                self._call_back(connection, found)
            self.taken = [(job, job.left) for job in self.jobs if job.wanted]
            commands: list[Command] = [Void(number, UNRECEIVED) for number in (*self.voids, *self.orphans)]
            for _, part in self.taken:
                commands += part
            self.book.recall(connection, commands)
            self.done = self.book.decide(commands, until)
            self.by = [by] * len(self.done.records)
        except OutlayError as error:
            self.refuse(error)
            return
        if others and self.done.records:
            self._help(connection, self.done.records, others, by, until)

    def _help(
        self, connection: Connection, records: list[Record], others: Sequence[Errand], by: str, until: float
    ) -> None:
        """Decide what others have left, tells first. What makes no pull and settles none is left to who left it.

        Only after events of our own: by these it is known, where COMMIT is not answered, whether it came to pass.
        """
        self.helping = True  # what fails now is no fault of ours
        self.book.recall(connection, [command for _, command in others])
        for name, command in sorted(others, key=lambda other: isinstance(other.command, Ask)):
            if time.monotonic() > until:
                break
            more = self.book.decide([command], until).records
            settled = _settled(command, more) is not None
            records += more
            self.by += [str(name) if settled else by] * len(more)
            self.errands += [name] * settled
        self.helping = False

    def _call_back(self, connection: Connection, found: Found) -> None:
        """Call back what was left to others and not heard of again, and take what they decided, if they did.

        A pull whose asker was told that the store failed him is nobody's.
        """
        for job in self.jobs:
            if job.errand is not None and (records := errands.call_back(connection, found, job.errand)):
                job.replies = [self._heard(connection, job.errand.command, records)]
        self.orphans = []
        for left in self.book.unheard:
            number = _settled(left.command, errands.call_back(connection, found, left))
            if number is not None and isinstance(left.command, Ask) and left.command.key is None:
                self.orphans.append(number)

    def _heard(self, connection: Connection, command: Command, records: Sequence[Record]) -> Reply:
        """The reply to a command that was left, and led to these events."""
        state = self.book.known()
        rows.recall(connection, self.book.number, state, records)
        return shown(state, command, _settled(command, records))

    def answer(self) -> None:
        """Give each job its replies, now that they are kept."""
        assert self.done is not None  # noqa: S101 (it was decided)
        replies, start = self.done.replies, len(self.voids)
        del self.book.unwanted[: min(start, len(replies))]
        start += len(self.orphans)
        if start <= len(replies):
            self.book.unheard = []
        for job, part in self.taken:
            job.replies = [*job.replies, *replies[start : start + len(part)]]
            start += len(part)

    def refuse(self, error: BaseException) -> None:
        """Tell each job why nothing came of it; what it left to others is to be called back."""
        self.error = error
        self.book.forget()
        for job in self.jobs:
            job.error = error
            if job.errand is not None and job.errand not in self.book.unheard:
                self.book.unheard.append(job.errand)

    def try_again(self, job: Job) -> "Share":
        """One of its jobs by itself, which may be answered after all."""
        job.error = None
        self.book.unheard = [left for left in self.book.unheard if left is not job.errand]
        return Share(self.book, [job])


def _settled(command: Command, records: Sequence[Record]) -> int | None:
    """What `decide` replied to an ask or a tell that led to these events; None where it led to none of them."""
    kind = Asked if isinstance(command, Ask) else Told
    number = next((record.seq for record in records if isinstance(record.event, kind)), None)
    return number if number is None or kind is Asked else 0
