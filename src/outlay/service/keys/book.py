"""Where keys are kept: two tables in the campaigns' own database, made with the first key."""

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from outlay.campaign.stores.engines import connect, read_snapshot, translated_errors
from outlay.errors import NoCampaign, OutlayError
from outlay.service.keys.key import MICROS, Key, made

metadata = sa.MetaData()
_Big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

api_key = sa.Table(
    "api_key",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("scopes", sa.Text, nullable=False),  # JSON, as the next
    sa.Column("campaigns", sa.Text, nullable=False),
    sa.Column("created", _Big, nullable=False),
    sa.Column("expires", _Big),
    sa.Column("revoked", _Big),
    sa.Column("used", _Big),
)
audit = sa.Table(
    "audit",
    metadata,
    sa.Column("seq", _Big, primary_key=True, autoincrement=True),
    sa.Column("at", _Big, nullable=False),
    sa.Column("key", sa.String(16), nullable=False),
    sa.Column("act", sa.String(200), nullable=False),
    sa.Column("campaign", sa.String(200)),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("request", sa.String(64), nullable=False),
)


class NoKey(OutlayError):
    """There is no key of this id."""


class Act(NamedTuple):
    """Something that an admin did: which key, what, on which campaign, what came of it, in which request."""

    at: int
    key: str
    act: str
    campaign: str | None
    status: int
    request: str
    seq: int = 0  # its number in the log


def now() -> int:
    """The time, in microseconds."""
    return int(time.time() * MICROS)


class KeyBook:
    """The keys of one store."""

    def __init__(self, store: str) -> None:
        self._engine: Engine | None = None
        self._store = store

    def new(
        self, name: str, scopes: Iterable[str], campaigns: Iterable[str] = (), days: float | None = None
    ) -> tuple[str, Key]:
        """Make a key, and return its token, which nobody will see again."""
        token, key = made(name, scopes, campaigns, now(), days)
        self._connected(new=True)
        with self._writing() as connection:
            metadata.create_all(connection)
            row = key._asdict() | {
                "scopes": json.dumps(sorted(key.scopes)),
                "campaigns": json.dumps(sorted(key.campaigns)),
            }
            connection.execute(sa.insert(api_key).values(row))
        return token, key

    def all(self) -> list[Key]:
        """Every key that was ever made, the oldest first."""
        try:
            engine = self._connected()
        except NoCampaign:  # there is no store yet
            return []
        with translated_errors(engine), read_snapshot(engine) as connection:
            if not sa.inspect(connection).has_table("api_key"):
                return []
            rows = connection.execute(sa.select(api_key).order_by(api_key.c.created, api_key.c.id)).mappings().all()
        return [
            Key(**{**row, **{field: frozenset(json.loads(row[field])) for field in ("scopes", "campaigns")}})
            for row in rows
        ]

    def revoke(self, key: str) -> None:
        """Let a key be used no more; again, nothing happens."""
        if key not in {each.id for each in self.all()}:
            raise NoKey(f"there is no key {key}: `outlay keys list` shows them")
        with self._writing() as connection:
            query = sa.update(api_key).where(api_key.c.id == key, api_key.c.revoked.is_(None))
            connection.execute(query.values(revoked=now()))

    def note_use(self, key: str, at: int) -> None:
        """Remember when a key was last used."""
        with self._writing() as connection:
            connection.execute(sa.update(api_key).where(api_key.c.id == key).values(used=at))

    def note_act(self, act: Act) -> None:
        """Add to the log of what admins did."""
        with self._writing() as connection:
            connection.execute(sa.insert(audit).values({k: v for k, v in act._asdict().items() if k != "seq"}))

    def acts(self, limit: int = 100, before: int | None = None, campaigns: Iterable[str] = ()) -> list[Act]:
        """What admins did last, the newest first: before the act of this number, and on these campaigns, if any."""
        try:
            engine = self._connected()
        except NoCampaign:  # there is no store yet
            return []
        wanted = sa.select(*(audit.c[name] for name in Act._fields)).order_by(audit.c.seq.desc()).limit(limit)
        if before is not None:
            wanted = wanted.where(audit.c.seq < before)
        if only := list(campaigns):
            wanted = wanted.where(audit.c.campaign.in_(only))
        with translated_errors(engine), read_snapshot(engine) as connection:
            if not sa.inspect(connection).has_table("audit"):
                return []
            return [Act(*row) for row in connection.execute(wanted).all()]

    def close(self) -> None:
        """Let the database go."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def _connected(self, new: bool = False) -> Engine:
        if self._engine is None:
            self._engine = connect(self._store, new=new, owner="keys")
        return self._engine

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        engine = self._connected()
        with translated_errors(engine), engine.begin() as connection:
            yield connection
