"""The chain of events: each carries the hash of the one before, so that none can be changed without all that follow.

Whoever keeps the head of a ledger, the hash of its last event, can tell later whether anything up to there was
rewritten, also where every row and every hash in the database was made to fit.
"""

from hashlib import sha256

import msgspec

from outlay.campaign.ledger.events import Opened, from_json, to_json

NOTHING = "0" * 64  # what comes before the first event


def link(before: str, seq: int, at: int, body: str) -> str:
    """The hash of an event, of which `body` is the text, where that of the one before it is `before`.

    It is a SHA-256 in hexadecimal digits. A campaign's name is what its store calls it, and may be another elsewhere:
    it is left out.

    >>> link(NOTHING, 2, 1_700_000_000_000_000, '{"kind":"paused"}')[:16]
    'fd71b9e9df570cd7'
    """
    text = f"{before} {seq} {at} {_nameless(body) if seq == 1 else body}"
    try:
        written = text.encode()
    except UnicodeEncodeError:
        written = text.encode(errors="surrogatepass")  # damaged, and to be exported as it is
    return sha256(written).hexdigest()


def _nameless(body: str) -> str:
    try:
        event = from_json(body)
    except (msgspec.DecodeError, UnicodeError):
        return body  # damaged: whatever its hash is, it is not that of a campaign's opening
    return to_json(msgspec.structs.replace(event, name="")) if isinstance(event, Opened) else body
