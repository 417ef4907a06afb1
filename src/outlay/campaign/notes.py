"""What a user may note about a pull: a few tags, and a small JSON object; checked, and made plain."""

import json
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from outlay.errors import BadParameter

MOST_TAGS, LONGEST_TAG = 8, 64
MOST_BYTES, MOST_KEYS, DEEPEST = 2048, 32, 4
_METADATA = f"a JSON object of at most {MOST_BYTES} bytes, {MOST_KEYS} keys and {DEEPEST} levels"


def tags_of(owner: str, tags: object) -> tuple[str, ...]:
    """The tags, each once, in their order.

    >>> tags_of("ask", ["batch 7", "nightly"])
    ('batch 7', 'nightly')
    """
    if tags == ():
        return ()
    allowed = f"at most {MOST_TAGS} strings of 1 to {LONGEST_TAG} printable characters"
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise BadParameter(owner, "tags", allowed, tags)
    plain = tuple(dict.fromkeys(tag_of(owner, tag, "tags", allowed) for tag in tags))
    if len(plain) > MOST_TAGS:
        raise BadParameter(owner, "tags", allowed, tags)
    return plain


def tag_of(owner: str, tag: object, name: str = "tag", allowed: str = "") -> str:
    """One tag, as a plain string."""
    plain = str.__str__(tag) if isinstance(tag, str) else ""  # its own text, whatever a subclass prints
    if plain.strip() and len(plain) <= LONGEST_TAG and plain.isprintable():
        return plain
    raise BadParameter(owner, name, allowed or f"a string of 1 to {LONGEST_TAG} printable characters", tag)


def metadata_of(owner: str, metadata: object) -> dict[str, Any] | None:
    """The object, made of plain strings, numbers, truth values, lists and objects; None where it is empty.

    >>> metadata_of("ask", {"user": 17, "route": ("eu", 2)})
    {'user': 17, 'route': ['eu', 2]}
    """
    if metadata is None:
        return None
    if not isinstance(metadata, Mapping):
        raise BadParameter(owner, "metadata", _METADATA, metadata)
    try:
        plain = _Plain().made(metadata, 1)
        size = len(json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode())
    except (TypeError, ValueError, OverflowError):
        raise BadParameter(owner, "metadata", _METADATA, metadata) from None
    if size > MOST_BYTES:
        raise BadParameter(owner, "metadata", f"{_METADATA} (this one has {size} bytes)", metadata)
    return plain or None


class _Plain:
    """Makes plain copies, and counts keys on the way, so that what is too large is not copied."""

    def __init__(self) -> None:
        self._keys = 0

    def made(self, value: Any, depth: int) -> Any:
        """ValueError for what JSON cannot say, or what is too much."""
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            if len(value) > MOST_BYTES:
                raise ValueError("too long")
            return str.__str__(value)
        if isinstance(value, float):
            if not math.isfinite(value):
                raise ValueError("not finite")
            return float(value)
        if isinstance(value, (Mapping, Sequence)) and not isinstance(value, (bytes, bytearray, memoryview)):
            return self._container(value, depth)
        whole = operator.index(value)  # of any kind; TypeError for what is no number
        if abs(whole) >= 2**63:
            raise ValueError("too large")
        return whole

    def _container(self, value: Mapping[Any, Any] | Sequence[Any], depth: int) -> Any:
        if depth > DEEPEST or len(value) > MOST_BYTES:
            raise ValueError("too deep or too long")
        if not isinstance(value, Mapping):
            return [self.made(part, depth + 1) for part in value]
        self._keys += len(value)
        if self._keys > MOST_KEYS or not all(isinstance(key, str) for key in value):
            raise ValueError("too many keys, or keys that are no strings")
        return {str.__str__(key): self.made(part, depth + 1) for key, part in value.items()}
