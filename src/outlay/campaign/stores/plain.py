"""Commands made of plain values before they enter a ledger: what looks like a str, an int or a float becomes one.

numpy's strings and floats are such values; databases and JSON know them not, and one would fail a whole batch.
"""

from typing import Any

from outlay.campaign.ledger.commands import Command

_PLAIN = frozenset((str, int, float, bool, type(None)))


def plain(command: Command) -> Command:
    """The same command, of values that every store can keep.

    >>> from outlay.campaign.ledger.commands import Ask
    >>> class Word(str):
    ...     pass
    >>> type(plain(Ask(Word("k"))).key)
    <class 'str'>
    """
    for value in command:
        if type(value) not in _PLAIN:
            return type(command)(*map(_plain, command))
    return command


def _plain(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if type(value) is tuple:
        return value if _PLAIN.issuperset(map(type, value)) else tuple(map(_plain, value))
    for kind in (str, int, float):
        if isinstance(value, kind):
            return getattr(kind, f"__{kind.__name__}__")(value)  # its own, whatever a subclass makes of it
    return value
