"""Commands made of plain values before they enter a ledger: what looks like a str, an int or a float becomes one.

numpy's strings and floats are such values; databases and JSON know them not, and one would fail a whole batch.
"""

from typing import Any

import msgspec

from outlay.campaign.ledger.commands import Command
from outlay.errors import BadParameter

_PLAIN = frozenset((str, int, float, bool, type(None)))


def plain(command: Command) -> Command:
    """The same command, of values that every store can keep; BadParameter where there is another.

    >>> from outlay.campaign.ledger.commands import Ask
    >>> class Word(str):
    ...     pass
    >>> type(plain(Ask(Word("k"))).key)
    <class 'str'>
    """
    for value in command:
        if type(value) not in _PLAIN and value != ():
            owner = type(command).__name__
            fields = [_plain(owner, name, value) for name, value in zip(command._fields, command, strict=True)]
            return type(command)(*fields)
    return command


def _plain(owner: str, name: str, value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if type(value) is tuple:
        return value if _PLAIN.issuperset(map(type, value)) else tuple(_plain(owner, name, part) for part in value)
    if isinstance(value, msgspec.Struct):
        parts = {
            part: _plain(owner, part, getattr(value, part)) for part in value.__struct_fields__ if part != "policy"
        }
        return msgspec.structs.replace(value, **parts)
    if type(value) is dict:  # of what was noted about a pull: made plain when it was checked
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return getattr(kind, f"__{kind.__name__}__")(value)  # its own, whatever a subclass makes of it
    raise BadParameter(owner, name, "text, a number or None", value)
