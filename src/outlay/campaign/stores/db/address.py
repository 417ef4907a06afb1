"""The addresses of stores, as users write them: what they may say, and how to name one without its password."""

import re

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from outlay.errors import BadParameter

_ALLOWED = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"
# How SQLAlchemy names drivers of the databases that we know; whichever is named, we use our own.
_DRIVERS = {
    **dict.fromkeys(["sqlite", "sqlite+pysqlite", "sqlite+aiosqlite"], "sqlite"),
    **dict.fromkeys(["postgres", "postgresql"], "postgresql+psycopg"),
    **{f"postgresql+{name}": "postgresql+psycopg" for name in ("psycopg", "psycopg2", "asyncpg", "pg8000")},
}


def parsed(store: object, owner: str = "Campaign") -> URL:
    """The address of a store, or BadParameter, in which there is no password; `owner` is who was given it."""
    try:
        url = make_url(store) if isinstance(store, str) and store.isprintable() else None
    except (sa.exc.ArgumentError, ValueError):
        url = None
    driver = None if url is None else _DRIVERS.get(url.drivername)
    if url is None or driver is None or not _clean(url):
        allowed = f"None or {_ALLOWED}" if owner == "Campaign" else _ALLOWED
        raise BadParameter(owner, "store", allowed, without_password(store))
    if driver != "sqlite":
        if "@" in (url.host or ""):
            allowed = "written with %40 for an @ in the password"
            raise BadParameter(owner, "store", allowed, without_password(store))
        return url.set(drivername=driver)
    if url.database in (None, "", ":memory:"):
        allowed = "None for a campaign in memory, or sqlite:///FILE" if owner == "Campaign" else _ALLOWED
        raise BadParameter(owner, "store", allowed, store)
    if url.query:
        allowed = f"sqlite:///FILE, without options ({', '.join(url.query)})"
        raise BadParameter(owner, "store", allowed, without_password(store))
    if url.host:
        raise BadParameter(owner, "store", "sqlite:///FILE, with three slashes", without_password(store))
    return url.set(drivername=driver)


def without_password(store: object) -> object:
    """An address for messages: nothing that stands before an @, and no options, one of which may be a password.

    >>> without_password("postgresql:me:secret@there/db")
    'postgresql:…@there/db'
    """
    if not isinstance(store, str):
        return store
    shown = store.partition("?")[0]
    scheme = re.match(r"[a-z0-9+]*:/*", shown, re.IGNORECASE)
    start = scheme.group() if scheme else ""
    if "@" in shown:
        return f"{start}…@{shown.rpartition('@')[2]}"
    return start + re.split("password", shown[len(start) :], maxsplit=1, flags=re.IGNORECASE)[0]


def _clean(url: URL) -> bool:
    """Whether there is no NUL in it, once %-escapes are read: C programs end a text there."""
    parts = [url.username, url.password, url.host, url.database, *url.query, *url.query.values()]
    return not any("\0" in part for part in parts if part is not None)
