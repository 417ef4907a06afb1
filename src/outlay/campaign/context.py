"""What a campaign is told of each request, by name, and the features that its policy sees instead.

What is told is part of the terms: a mapping from names to kinds, or the length of one vector without names.

    "number"      a number as it is, True and False being 1 and 0; "number:500" divides it by 500
    ["a", "b"]    one of these words: a feature for each of them, 1 or 0
    "hashed:8"    any word, or several: 8 features, by hashes
    16            a vector of 16 numbers

Features should be about as large as if they had variance 1, so numbers are divided by about as much as they differ as a
rule; what their mean is makes no difference. Nothing is learned for this: the same words and numbers give the same
features wherever and whenever they are encoded.
"""

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from math import sqrt
from typing import Any

import numpy as np

from outlay.campaign.ledger.events import Features, Kind, Kinds
from outlay.checks import real, whole
from outlay.errors import BadParameter
from outlay.text import listed

RequestContext = Mapping[str, Any] | Iterable[float]  # what is told of one request

MOST_FEATURES = 64
LARGEST = 1e6  # a feature, either sign
LEAST_SCALE = 1e-100
MOST_WORDS = 10_000  # that are hashed
LONGEST = 200  # characters of a name or a category
OWNER = "Campaign"
_KINDS = '"number", "number:SCALE", "hashed:N", the N of a vector, or a list of categories'
_WORD = re.compile(r"number(:(?P<scale>[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?))?|hashed:(?P<width>[0-9]{1,9})", re.ASCII)
_CONTEXT = f"names of numbers, a mapping from names to kinds, or the length of a vector from 1 to {MOST_FEATURES}"


def agreed_kinds(given: object) -> Kinds | None:
    """The context of a campaign as its terms hold it.

    >>> agreed_kinds(["length", "depth"])
    {'length': 'number', 'depth': 'number'}
    >>> agreed_kinds({"length": "number:500", "tenant": ["a", "b"], "embedding": 16})
    {'length': 'number:500', 'tenant': ('a', 'b'), 'embedding': 16}
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        kinds: Kinds = {_plain(name): _kind(name, kind) for name, kind in given.items()}
    elif isinstance(given, Iterable) and not isinstance(given, (str, bytes, set, frozenset)):
        names = [*given]
        kinds = {_plain(name): "number" for name in names}
        if len(kinds) < len(names):
            raise BadParameter(OWNER, "context", "different names", names)
    else:
        try:
            kinds = whole(OWNER, "context", given)
        except BadParameter:
            raise BadParameter(OWNER, "context", _CONTEXT, given) from None
    check_kinds(kinds)
    return kinds


def check_kinds(kinds: Kinds) -> None:
    """Refuse a context that cannot be encoded."""
    if isinstance(kinds, dict):
        for name, kind in kinds.items():
            if not _printable(name):
                raise BadParameter(OWNER, "context", f"names of 1 to {LONGEST} printable characters", name)
            _width(name, kind)
        cells = sum(1 if isinstance(kind, tuple) else _width(name, kind) for name, kind in kinds.items())
        if len(columns(kinds)) < cells:  # of a log
            raise BadParameter(OWNER, "context", "names that no feature of a vector has, as v has v.1", [*kinds])
    if not 1 <= (count := features_of(kinds)) <= MOST_FEATURES:
        raise BadParameter(OWNER, "context", f"1 to {MOST_FEATURES} features in all", count)


def features_of(kinds: Kinds) -> int:
    """How many features a context has.

    >>> features_of({"length": "number", "tenant": ("a", "b"), "url": "hashed:8", "embedding": 16})
    27
    """
    return kinds if isinstance(kinds, int) else sum(_width(name, kind) for name, kind in kinds.items())


def encoded(owner: str, kinds: Kinds | None, given: object) -> Features | None:
    """What a user said of a request, as features; BadParameter where that is not what was agreed.

    >>> encoded("ask", {"length": "number:500", "tenant": ("a", "b")}, {"tenant": "b", "length": 250})
    (0.5, 0.0, 1.0)
    """
    if kinds is None:
        if given is not None:
            raise BadParameter(owner, "context", "left out: the campaign was opened without one", given)
        return None
    if isinstance(kinds, int):
        return _vector(owner, "context", given, kinds)
    if not isinstance(given, Mapping):
        raise BadParameter(owner, "context", f"a mapping with {listed([*kinds])}", given)
    for name in given:
        if name not in kinds:
            raise BadParameter(owner, "context", f"a mapping with {listed([*kinds])}, and no other name", name)
    features: Features = ()
    for name, kind in kinds.items():
        features += _encoded(owner, f"context[{name!r}]", kind, given.get(name))
    return features


def categories(kinds: Kinds | None, features: Features) -> dict[str, str]:
    """The category that a request was of, for each name that has categories.

    >>> categories({"length": "number", "tenant": ("a", "b")}, (0.5, 0.0, 1.0))
    {'tenant': 'b'}
    """
    named = named_categories(kinds)
    return {name: words[features.index(1.0, place, place + len(words)) - place] for name, words, place in named}


def named_categories(kinds: Kinds | None) -> list[tuple[str, tuple[str, ...], int]]:
    """The names that have categories, with these, and the place of the first one's feature.

    >>> named_categories({"length": "number", "tenant": ("a", "b")})
    [('tenant', ('a', 'b'), 1)]
    """
    found, place = [], 0
    for name, kind in kinds.items() if isinstance(kinds, dict) else ():
        if isinstance(kind, tuple):
            found.append((name, kind, place))
        place += _width(name, kind)
    return found


def columns(kinds: Kinds | None) -> dict[str, type]:
    """The columns of a table that has a column for each number and each category, and what is in them.

    >>> list(columns({"length": "number", "tenant": ("a", "b"), "place": 2}))
    ['context.length', 'context.tenant', 'context.place.1', 'context.place.2']
    """
    if not isinstance(kinds, dict):
        return {f"context.{place}": float for place in range(1, (kinds or 0) + 1)}
    found: dict[str, type] = {}
    for name, kind in kinds.items():
        if isinstance(kind, tuple):
            found[f"context.{name}"] = str
        elif isinstance(kind, str) and kind.startswith("number"):
            found[f"context.{name}"] = float
        else:
            found |= {f"context.{name}.{place}": float for place in range(1, _width(name, kind) + 1)}
    return found


def cells(kinds: Kinds | None, features: Features | None) -> list[float | str | None]:
    """The features of a request in these columns.

    >>> cells({"length": "number", "tenant": ("a", "b"), "place": 2}, (0.5, 0.0, 1.0, 3.0, 4.0))
    [0.5, 'b', 3.0, 4.0]
    """
    if features is None:
        return [None] * len(columns(kinds))
    if not isinstance(kinds, dict):
        return [*features]
    words, found, place = categories(kinds, features), list[float | str | None](), 0
    for name, kind in kinds.items():
        width = _width(name, kind)
        found += [words[name]] if name in words else features[place : place + width]
        place += width
    return found


def _kind(name: object, given: Any) -> Kind:
    """A kind as the terms hold it; `_width` has yet to see that it is one."""
    if isinstance(given, str):
        return str.__str__(given)
    if isinstance(given, Iterable) and not isinstance(given, (bytes, set, frozenset, Mapping)):
        return tuple(str.__str__(each) if isinstance(each, str) else each for each in given)
    try:
        return whole(OWNER, "context", given)
    except BadParameter:
        raise BadParameter(OWNER, f"context[{name!r}]", _KINDS, given) from None


def _width(name: str, kind: Kind) -> int:
    """The number of its features; BadParameter where it is no kind."""
    title = f"context[{name!r}]"
    if isinstance(kind, int):
        return whole(OWNER, title, kind, at_least=1, at_most=MOST_FEATURES)
    if isinstance(kind, tuple):
        if not kind or len(set(kind)) < len(kind) or not all(map(_printable, kind)):
            allowed = f"a list of different categories, each of 1 to {LONGEST} printable characters"
            raise BadParameter(OWNER, title, allowed, list(kind))
        return len(kind)
    parts = _WORD.fullmatch(kind)
    if parts is None:
        raise BadParameter(OWNER, title, _KINDS, kind)
    if parts["width"] is None:
        real(OWNER, f"the scale of {title}", float(parts["scale"] or 1), at_least=LEAST_SCALE, at_most=1 / LEAST_SCALE)
        return 1
    return whole(OWNER, f"the number of features of {title}", int(parts["width"]), at_least=1, at_most=MOST_FEATURES)


def _encoded(owner: str, title: str, kind: Kind, given: Any) -> Features:
    """What was said under one name, as features."""
    if isinstance(kind, int):
        return _vector(owner, title, given, kind)
    if isinstance(kind, tuple):
        if not isinstance(given, str) or given not in kind:
            raise BadParameter(owner, title, f"one of {', '.join(kind)}", given)
        return tuple(float(given == each) for each in kind)
    word, _, number = kind.partition(":")
    if word == "number":
        return (_feature(owner, title, given, float(number or 1)),)
    words: list[Any] = [given] if isinstance(given, str) else [*given] if isinstance(given, (list, tuple)) else [None]
    if not all(isinstance(each, str) for each in words) or len(words) > MOST_WORDS:
        raise BadParameter(owner, title, f"a word, or a list of at most {MOST_WORDS} words", given)
    return _hashed(words, int(number))


def _hashed(words: list[str], width: int) -> Features:
    """Each word adds or takes 1/√(number of words) at a place that its hash names."""
    found = [0.0] * width
    for word in words:
        digest = sha256(word.encode(errors="surrogatepass")).digest()
        sign = 1.0 if digest[8] % 2 else -1.0
        found[int.from_bytes(digest[:8]) % width] += sign / sqrt(len(words))
    return tuple(found)


def _vector(owner: str, title: str, given: Any, length: int) -> Features:
    allowed = f"a vector of {length} numbers"
    unordered = isinstance(given, (str, bytes, Mapping, set, frozenset))
    if unordered or not hasattr(given, "__len__") or getattr(given, "shape", None) == ():
        raise BadParameter(owner, title, allowed, given)
    if len(given) != length:
        raise BadParameter(owner, title, allowed, f"{len(given)} of them")
    return tuple(_feature(owner, f"{title}, number {place}", value) for place, value in enumerate(given, 1))


def _feature(owner: str, title: str, value: Any, scale: float = 1.0) -> float:
    number = int(value) if isinstance(value, (bool, np.bool_)) else value
    return real(owner, title, number, at_least=-LARGEST * scale, at_most=LARGEST * scale) / scale + 0.0


def _plain(name: object) -> str:
    if not isinstance(name, str):
        raise BadParameter(OWNER, "context", _CONTEXT, name)
    return str.__str__(name)


def _printable(word: object) -> bool:
    return isinstance(word, str) and 0 < len(word) <= LONGEST and word.isprintable()
