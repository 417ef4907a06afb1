"""How a browser stays logged in: a cookie that scripts cannot read, and a token that other sites cannot guess."""

import hashlib
import hmac
from collections.abc import Mapping

from outlay.service.keys.key import Key
from outlay.service.problems import Refused

COOKIE = "outlay_key"
CSRF = b"x-csrf-token"
HOURS = 12


def csrf_of(key: Key) -> str:
    """What pages of the service must send with whatever changes something.

    >>> len(csrf_of(Key("1", "me", "ab", frozenset(), frozenset(), 0)))
    64
    """
    return hmac.new(key.digest.encode(), b"outlay csrf", hashlib.sha256).hexdigest()


def checked_csrf(key: Key, headers: Mapping[bytes, bytes]) -> None:
    """Refuse what a browser sent on behalf of another site."""
    if not hmac.compare_digest(headers.get(CSRF, b""), csrf_of(key).encode()):
        raise Refused("bad_origin", "a browser must send the token of its session")


def cookie(token: str, *, secure: bool, end: bool = False) -> bytes:
    """The header that begins a session, or ends it.

    >>> cookie("out_x", secure=False)
    b'outlay_key=out_x; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict'
    """
    parts = [
        f"{COOKIE}={'' if end else token}",
        "Path=/",
        f"Max-Age={0 if end else HOURS * 3600}",
        "HttpOnly",
        "SameSite=Strict",
    ]
    return "; ".join([*parts, *["Secure"] * secure]).encode("latin-1")
