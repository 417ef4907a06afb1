"""Errands: what processes on one server leave for whoever has the campaign.

Of eight processes at work on a campaign, each would have to wait until seven others have locked it, decided one command
and reached the disk. Instead a process that finds it crowded writes its command down and stands in line. Whose turn it
is locks the campaign, and decides what the others have left together with its own, in one transaction. When their turn
comes they see that it is done, let the next one go ahead, and find the answer among the events.

An errand is done once at most: the transaction that writes its events, which has the campaign locked, crosses it out.
Who does not know what came of one, since the connection was lost, calls it back while he has the campaign locked. If
another has done it, its events carry its name. If not, nobody will do it any more, even where the server hears only now
that it was left.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from outlay.campaign.ledger.commands import Ask, Command, Tell
from outlay.campaign.ledger.events import Record
from outlay.campaign.stores.db import tables
from outlay.campaign.stores.db.driver import Talk
from outlay.campaign.stores.db.locking import LOCK, Found, Wanted, found_as, say_later
from outlay.campaign.stores.db.rows import LINE
from outlay.campaign.stores.db.typed import record

CROWD = 2  # others at work, from which on errands are left: of two processes, each is served sooner by itself
LINE_OF = 0x6F75746C  # of PostgreSQL's advisory locks, with a campaign's number: whose turn it is


class Name(NamedTuple):
    """An errand's name: the process that left it, and the number of its transaction."""

    process: str
    number: int

    def __str__(self) -> str:
        """As events carry it: no transaction is called so.

        >>> str(Name("1f", 10))
        '1f-a.errand'
        """
        return f"{self.process}-{self.number:x}.errand"


class Errand(NamedTuple):
    """A command that was left."""

    name: Name
    command: Command


class Left(NamedTuple):
    """An errand as its own process remembers it: with the last event that was known, and the hash of that."""

    name: Name
    command: Command
    seq: int
    head: str


class Turn(NamedTuple):
    """What became of an errand that was left."""

    mine: bool  # nobody has seen to it, and the campaign is locked; or else it is done
    found: Found | None  # the campaign, if there is something to be said of it
    errands: list[Errand]  # of others, for whose turn it is


class _Body(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """What can be left to others: what nearly every caller does all the time."""

    ask: Ask | None = None
    tell: Tell | None = None


def written(command: Command) -> str | None:
    """A command as it is left; None for one that is not. What users note about a pull is written by their own process.

    >>> written(Tell(7, 100, 0.5)), written(Ask(metadata={"size": 2**70}))
    ('{"tell":[7,100,0.5,null,false]}', None)
    """
    try:
        if isinstance(command, Ask) and command.metadata is None:
            return msgspec.json.encode(_Body(ask=command)).decode()
        return msgspec.json.encode(_Body(tell=command)).decode() if isinstance(command, Tell) else None
    except UnicodeError:  # which its own process refuses in plain words
        return None


def _read(name: Name, body: str) -> Iterable[Errand]:
    """The errand; none where another version wrote what this one cannot read: it is for who left it to see to."""
    try:
        said = msgspec.json.decode(body, type=_Body)
    except (msgspec.DecodeError, RecursionError):
        return
    command = said.ask or said.tell
    if command is not None:
        yield Errand(name, command)


def leave(talking: Talk, one: Wanted, campaign: int, name: Name, body: str) -> Turn:
    """Leave an errand, and wait until it is done or it is one's turn."""
    talking.begin()
    talking.say(_LEAVE, (campaign, *name, body))
    talking.commit()
    talking.begin()
    talking.say(_STAND_IN_LINE, (campaign,))
    turn = talking.say(_LOOK, (campaign, *name, campaign))
    locked = talking.say(_LOCK_IN_TURN, (one.name,))
    later = say_later(talking, one)
    others = talking.say(_OTHERS, (campaign, name.process))
    talking.hear()
    mine, lines = turn()[0][0] == "mine", later()
    row = next(iter(locked()), None) if mine else [campaign, lines[-1][0], None, None] if lines else None
    found = None if row is None else found_as(talking, one, row, lines)
    return Turn(mine, found, [errand for *other, text in others() for errand in _read(Name(*other), text)])


def cross_out(talking: Talk, campaign: int, names: Iterable[Name]) -> None:
    """Cross out errands that are done."""
    talking.say(_CROSS_OUT, (campaign, f"{{{','.join(f'{process}-{number}' for process, number in names)}}}"))


def let_go_ahead(talking: Talk, campaign: int) -> None:
    """Let the next one have its turn, after COMMIT."""
    talking.say(_NEXT, (campaign,))


def sweep(connection: Connection, campaign: int) -> None:
    """Delete what processes left behind that are long gone."""
    if connection.dialect.name != "sqlite":
        connection.execute(_SWEEP, {"campaign_": campaign})


def call_back(connection: Connection, found: Found, left: Left) -> list[Record]:
    """What came of an errand in a campaign, which is locked; if nothing did, nothing will.

    It is looked for among all events only where these do not continue those that were known: where rows were set back.
    """
    connection.execute(_CALL_BACK, {"campaign": found.id, **left.name._asdict()})
    if (found.seq, found.head) == (left.seq, left.head):
        return []
    event = tables.event
    since = sa.select(event.c.before).where(event.c.campaign == found.id, event.c.seq == left.seq + 1)
    after = left.seq if connection.execute(since).scalar() == left.head else 0
    wanted = sa.select(*LINE).where(event.c.campaign == found.id, event.c.seq > after, event.c.batch == str(left.name))
    return [record(connection, *row) for row in connection.execute(wanted.order_by(event.c.seq))]


_ERRAND = tables.errand.c
_OF_CAMPAIGN = _ERRAND.campaign == sa.bindparam("campaign_")
_OPEN = _ERRAND.body.is_not(None)
_IN_TURN = sa.text("current_setting('outlay.turn') = 'mine'")
# What comes late, from a connection that was given up, does not undo what was left since, or called back.
_LEAVE = sa.text(
    "INSERT INTO errand (campaign, process, number, body) VALUES (:campaign, :process, :number, :body)"
    " ON CONFLICT (campaign, process) DO UPDATE SET number = excluded.number, body = excluded.body, at = excluded.at"
    " WHERE errand.number < excluded.number"
)
_CALL_BACK = sa.text(
    "INSERT INTO errand (campaign, process, number) VALUES (:campaign, :process, :number)"
    " ON CONFLICT (campaign, process) DO UPDATE"
    " SET number = GREATEST(errand.number, excluded.number), body = NULL, at = excluded.at"
)
# A session holds this lock, and not a transaction, which could let go of it at its end only. But it is let go in one
# piece with COMMIT: from a worker that falls asleep before, the server takes it with the connection.
_LINE: Any = sa.literal_column(str(LINE_OF)), sa.bindparam("line", type_=sa.Integer)
_STAND_IN_LINE = sa.select(sa.func.pg_advisory_lock(*_LINE))
_NEXT = sa.select(sa.func.pg_advisory_unlock(*_LINE))
_MINE = (_ERRAND.process == sa.bindparam("process_"), _ERRAND.number == sa.bindparam("number_"), _OPEN)
_LOOK = sa.select(
    sa.func.set_config(
        sa.literal_column("'outlay.turn'"),
        sa.case(
            (sa.exists().where(_OF_CAMPAIGN, *_MINE), sa.literal_column("'mine'")),
            (sa.func.pg_advisory_unlock(*_LINE), sa.literal_column("''")),
        ),
        sa.literal_column("true"),
    )
)
_LOCK_IN_TURN = LOCK.where(_IN_TURN)
# Who left one a while ago sees to it himself, or has gone: a process that ends in order waits longer than that for what
# it has under way (AT_THE_END in writer.py).
_OTHERS = (
    sa.select(_ERRAND.process, _ERRAND.number, _ERRAND.body)
    .where(_IN_TURN, _OF_CAMPAIGN, _ERRAND.process != sa.bindparam("process_"), _OPEN)
    .where(sa.text("at > clock_timestamp() - interval '1 s'"))
    .order_by(_ERRAND.at)
    .limit(sa.literal_column("256"))
)
_NAMES: Any = sa.bindparam("names", type_=sa.ARRAY(sa.String))
_CROSS_OUT = (
    sa.update(tables.errand)
    .where(_OF_CAMPAIGN, sa.literal_column("process || '-' || number") == sa.any_(_NAMES))
    .values(body=sa.literal_column("NULL"))
)
_SWEEP = sa.delete(tables.errand).where(_OF_CAMPAIGN, sa.text("at < clock_timestamp() - interval '1 hour'"))
