"""A key: what it may do, on which campaigns, and until when. Only its SHA-256 is kept."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal, NamedTuple, get_args

from outlay.campaign.ledger.agreement import label
from outlay.checks import word
from outlay.errors import BadParameter

Scope = Literal["ask", "tell", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "out_"
BYTES = 32  # of randomness
MICROS = 1_000_000


class Key(NamedTuple):
    """What is known of a key; times are microseconds since 1970, and `campaigns` is empty where it may see all."""

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
        """Whether it may do that: an admin may do everything.

        >>> Key("1", "ci", "", frozenset({"ask"}), frozenset(), 0).allows("tell")
        False
        """
        return scope in self.scopes or "admin" in self.scopes

    def sees(self, campaign: str) -> bool:
        """Whether it may know of this campaign."""
        return not self.campaigns or campaign in self.campaigns

    def valid(self, now: int) -> bool:
        """Whether it may still be used, at this time."""
        return self.revoked is None and (self.expires is None or now < self.expires)


def from_micros(micros: int) -> datetime:
    """A time of a key or an act.

    >>> from_micros(0).year
    1970
    """
    return datetime.fromtimestamp(micros / MICROS, UTC)


def new_token() -> str:
    """A secret of 256 random bits, for its owner alone."""
    return PREFIX + secrets.token_urlsafe(BYTES)


def digest_of(token: str) -> str:
    """What is kept of it.

    >>> len(digest_of("out_example"))
    64
    """
    return hashlib.sha256(token.encode()).hexdigest()


def made(
    name: str, scopes: Iterable[str], campaigns: Iterable[str], now: int, days: float | None = None
) -> tuple[str, Key]:
    """A new token, and the key that is kept of it."""
    named = label("keys new", "name", name)
    wanted = frozenset(word("keys new", "scope", scope, SCOPES) for scope in scopes)
    if not wanted:
        raise BadParameter("keys new", "scope", f"at least one of {', '.join(SCOPES)}", ())
    only = frozenset(label("keys new", "campaign", campaign) for campaign in campaigns)
    if days is not None and not 0 < days < 36_525:
        raise BadParameter("keys new", "days", "> 0, and a century at most", days)
    expires = None if days is None else now + int(days * 86_400 * MICROS)
    token = new_token()
    return token, Key(secrets.token_hex(4), named, digest_of(token), wanted, only, now, expires)
