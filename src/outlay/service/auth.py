"""Who may do what: keys with scopes, sessions of browsers, and a log of what admins did.

Of a key only its SHA-256 is kept, in two tables in the campaigns' own database, made with the first key. Whether keys
are needed is decided by whether one was ever made: revoking the last does not open the door.
"""

import asyncio
import hashlib
import hmac
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import sqlalchemy as sa
from msgspec.structs import asdict
from sqlalchemy.engine import Engine

from outlay.campaign.ledger.validation import label
from outlay.campaign.stores.engines import connect, read_snapshot, translated_errors
from outlay.checks import word
from outlay.errors import BadParameter, NoCampaign, OutlayError, StoreError
from outlay.service.problems import Refused
from outlay.service.schemas import AuditEntry

Scope = Literal["ask", "tell", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
MICROS = 1_000_000
COOKIE, HOURS = "outlay_key", 12  # of a session
CSRF = "x-csrf-token"
FRESH = 1.0  # seconds after which keys are read again
USED = 60 * MICROS  # microseconds between two updates of when a key was used
MOST_FAILURES, WINDOW = 20, 60.0  # of one address, in so many seconds
MOST_ADDRESSES = 10_000  # whose failures are counted

T = TypeVar("T")
_log = logging.getLogger("outlay.service")


class Key(NamedTuple):
    """What is known of a key; times are microseconds since 1970; empty `campaigns` means all."""

    id: str
    name: str
    digest: str
    scopes: frozenset[str]
    campaigns: frozenset[str]
    created: int
    expires: int | None = None
    revoked: int | None = None
    used: int | None = None

    def allows(self, scope: Scope) -> bool:
        """Whether it has this scope; an admin key has all."""
        return scope in self.scopes or "admin" in self.scopes

    def sees(self, campaign: str) -> bool:
        """Whether it may see this campaign: TEMPLATE/* stands for all campaigns of a template.

        >>> key = Key("1", "gateway", "", frozenset({"ask"}), frozenset({"free/*"}), 0)
        >>> key.sees("free/jane"), key.sees("paid/jane"), key.sees("free")
        (True, False, False)
        """
        template, slash, _ = campaign.partition("/")
        return not self.campaigns or bool(self.campaigns & {campaign, f"{template}/*" if slash else campaign})

    def valid(self, now: int) -> bool:
        """Whether it is neither revoked nor expired at this time."""
        return self.revoked is None and (self.expires is None or now < self.expires)


ANYBODY = Key("", "no keys", "", frozenset(SCOPES), frozenset(), 0)  # as long as no key was ever made


class KeyStore:
    """The keys of one store."""

    def __init__(self, store: str) -> None:
        self._engine: Engine | None = None
        self._store = store

    def new(
        self, name: str, scopes: Iterable[str], campaigns: Iterable[str] = (), days: float | None = None
    ) -> tuple[str, Key]:
        """Make a key; return it and its token, a secret of 256 random bits that is not stored."""
        named = label("keys new", "name", name)
        wanted = frozenset(word("keys new", "scope", scope, SCOPES) for scope in scopes)
        if not wanted:
            raise BadParameter("keys new", "scope", f"at least one of {', '.join(SCOPES)}", ())
        only = frozenset(label("keys new", "campaign", campaign) for campaign in campaigns)
        if days is not None and not 0 < days < 36_525:
            raise BadParameter("keys new", "days", "> 0, and a century at most", days)
        created = now()
        expires = None if days is None else created + int(days * 86_400 * MICROS)
        token = "out_" + secrets.token_urlsafe(32)
        key = Key(secrets.token_hex(4), named, digest_of(token), wanted, only, created, expires)
        engine = self._connected(new=True)
        with translated_errors(engine):
            metadata.create_all(engine)
        lists = {"scopes": sorted(wanted), "campaigns": sorted(only)}
        self._execute(sa.insert(api_key).values(key._asdict() | lists))
        return token, key

    def all(self) -> list[Key]:
        """Every key that was ever made, the oldest first."""
        rows = self._rows(sa.select(api_key).order_by(api_key.c.created, api_key.c.id), api_key)
        return [
            Key(**{**row, "scopes": frozenset(row["scopes"]), "campaigns": frozenset(row["campaigns"])}) for row in rows
        ]

    def revoke(self, key: str) -> None:
        """Revoke a key; doing it twice changes nothing."""
        if key not in {each.id for each in self.all()}:
            raise OutlayError(f"there is no key {key}: `outlay keys list` shows them")
        query = sa.update(api_key).where(api_key.c.id == key, api_key.c.revoked.is_(None))
        self._execute(query.values(revoked=now()))

    def note_use(self, key: str, at: int) -> None:
        """Store when a key was last used."""
        self._execute(sa.update(api_key).where(api_key.c.id == key).values(used=at))

    def record(self, entry: AuditEntry) -> None:
        """Add an entry to the audit log."""
        fields = asdict(entry) | {"at": round(entry.at.timestamp() * MICROS)}
        del fields["seq"]  # assigned by the database
        self._execute(sa.insert(audit).values(fields))

    def entries(self, limit: int = 100, before: int | None = None, campaigns: Iterable[str] = ()) -> list[AuditEntry]:
        """The audit log, newest first: entries before this number, and of these campaigns, if any are given."""
        wanted = sa.select(audit).order_by(audit.c.seq.desc()).limit(limit)
        if before is not None:
            wanted = wanted.where(audit.c.seq < before)
        if only := list(campaigns):
            wanted = wanted.where(audit.c.campaign.in_(only))
        rows = self._rows(wanted, audit)
        return [AuditEntry(**{**row, "at": datetime.fromtimestamp(row["at"] / MICROS, UTC)}) for row in rows]

    def close(self) -> None:
        """Close the connections."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def _connected(self, new: bool = False) -> Engine:
        if self._engine is None:
            self._engine = connect(self._store, new=new, owner="keys")
        return self._engine

    def _rows(self, query: sa.Select[Any], table: sa.Table) -> Sequence[sa.RowMapping]:
        """The rows of a query; none if there is no store or no such table yet."""
        try:
            engine = self._connected()
        except NoCampaign:
            return []
        with read_snapshot(engine) as connection:
            if not sa.inspect(connection).has_table(table.name):
                return []
            return connection.execute(query).mappings().all()

    def _execute(self, statement: sa.Executable) -> None:
        engine = self._connected()
        with translated_errors(engine), engine.begin() as connection:
            connection.execute(statement)


class KeyCache:
    """The keys of a store in memory, for one event loop: read again every second; counts failed attempts."""

    def __init__(self, store: str) -> None:
        self._store = KeyStore(store)
        self._keys: dict[str, Key] = {}
        self._used: dict[str, int] = {}
        self._read = -FRESH
        self._lock = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "outlay-keys")  # so that keys are read while other threads are busy
        self._failures: OrderedDict[str, tuple[float, int]] = OrderedDict()

    async def authenticate(self, token: str, address: str) -> Key:
        """The key of a token; Refused if there is none, or it is no longer valid."""
        await self.refresh()
        if not self._keys:
            return ANYBODY
        digest = digest_of(token)
        key = self._keys.get(digest)
        if key is None or not hmac.compare_digest(key.digest, digest) or not key.valid(at := now()):
            raise self.failed(address)
        if at - self._used.get(key.id, key.used or 0) > USED:
            self._used[key.id] = at
            await self._write(lambda: self._store.note_use(key.id, at))
        return key

    async def still_valid(self, key: Key) -> bool:
        """Whether a key that was accepted would still be accepted."""
        await self.refresh()
        found = self._keys.get(key.digest)
        return not self._keys if found is None else found.valid(now())

    @property
    def needed(self) -> bool:
        """Whether requests need a key."""
        return bool(self._keys)

    async def refresh(self) -> None:
        """Read the keys where they are no longer fresh, once for all requests that wait for them."""
        async with self._lock:
            if time.monotonic() - self._read > FRESH:
                self._keys = {key.digest: key for key in await self._off_the_loop(self._store.all)}
                self._read = time.monotonic()

    async def record(self, entry: AuditEntry) -> None:
        """Record what an admin did: in the log, and in the table if there are keys."""
        _log.info("audit", extra={"said": {name: value for name, value in asdict(entry).items() if name != "at"}})
        if self._keys:
            await self._write(lambda: self._store.record(entry))

    async def entries(self, key: Key, limit: int, before: int | None) -> list[AuditEntry]:
        """The audit log, as far as this key may see the campaigns."""
        return await self._off_the_loop(lambda: self._store.entries(limit, before, key.campaigns))

    def close(self) -> None:
        """Close the connections."""
        self._thread.shutdown()
        self._store.close()

    async def _off_the_loop(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _write(self, work: Callable[[], None]) -> None:
        """Write to the store; a failure is logged and does not fail the request."""
        try:
            await self._off_the_loop(work)
        except StoreError as error:
            _log.error("the audit log, or when a key was used, cannot be written: %s", error)

    def failed(self, address: str) -> Refused:
        """Count a failure of this caller; after too many the refusal says when to try again."""
        at = time.monotonic()
        since, count = self._failures.pop(address, (at, 0))
        if at - since > WINDOW:
            since, count = at, 0
        self._failures[address] = since, count + 1
        while len(self._failures) > MOST_ADDRESSES:
            self._failures.popitem(last=False)
        if count >= MOST_FAILURES:
            return Refused("too_many_failures", retry_after=max(1.0, since + WINDOW - at))
        return Refused("no_key")


def csrf_of(key: Key) -> str:
    """The token that pages must send with a request that changes something."""
    return hmac.new(key.digest.encode(), b"outlay csrf", hashlib.sha256).hexdigest()


def digest_of(token: str) -> str:
    """The SHA-256 of a token, which is stored in its place."""
    return hashlib.sha256(token.encode()).hexdigest()


def now() -> int:
    """The time, in microseconds."""
    return int(time.time() * MICROS)


metadata = sa.MetaData()
_Big = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

api_key = sa.Table(
    "api_key",
    metadata,
    sa.Column("id", sa.String(16), primary_key=True),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("scopes", sa.JSON, nullable=False),
    sa.Column("campaigns", sa.JSON, nullable=False),
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
