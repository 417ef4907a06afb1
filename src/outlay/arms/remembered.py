"""A law of the user's whose code is not here: what a saved problem says of it, by name.

Saved files are data: reading one imports nothing and runs nothing. Such a law knows its moments, its support and its
tails, so that regret, tables and bounds are what they were; only `draw` needs the code, which whoever loads the file
can hand over.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn, cast

from outlay.arms.law import LawMoments, Support, Tails
from outlay.errors import NotCovered
from outlay.parameters import is_record
from outlay.usercode import short


class Remembered(NamedTuple):
    """A law by its name and arguments, with what was known of it when it was saved."""

    reference: str  # module:Name
    given: tuple[tuple[str, object], ...]  # the arguments, as the file has them
    known_moments: LawMoments
    known_support: Support
    known_tails: Tails

    def moments(self) -> LawMoments:
        """As they were."""
        return self.known_moments

    def support(self) -> Support:
        """As it was."""
        return self.known_support

    def tails(self) -> Tails:
        """As they were."""
        return self.known_tails

    def draw(self, rng: object) -> NoReturn:  # noqa: ARG002 (whoever calls it gives one)
        """Refuse: the code is elsewhere."""
        raise NotCovered(self.absent())

    def absent(self) -> str:
        """What to do to get the law itself."""
        name = short(self.reference)
        return f"the law {name} is known by name only: hand its class over as it is loaded, load(path, laws=[{name}])"

    def __repr__(self) -> str:
        return f"{short(self.reference)}({', '.join(f'{name}={value!r}' for name, value in self.given)})"


def remembered(reference: str, given: Mapping[str, object], known: Mapping[str, Any]) -> Remembered:
    """The law that a file describes; TypeError or KeyError where it is damaged."""
    moments, support, tails = (map(float, known[name]) for name in ("moments", "support", "tails"))
    frozen = tuple((name, _frozen(value)) for name, value in given.items())
    return Remembered(reference, frozen, LawMoments(*moments), Support(*support), Tails(*tails))


def absent_laws(*laws: object) -> list[Remembered]:
    """Those among some laws, and among laws inside them, whose code is not here."""
    found: list[Remembered] = []
    for law in laws:
        if isinstance(law, Remembered):
            found.append(law)
        elif is_record(law):
            found += absent_laws(*cast(tuple[object, ...], law))
    return found


def arguments(law: Remembered) -> dict[str, object]:
    """The law's arguments again, as TOML has them."""
    return {name: _thawed(value) for name, value in law.given}


def _frozen(value: object) -> object:
    """Equal by value and never changed: lists and tables as tuples, the latter marked by being of pairs."""
    if isinstance(value, dict):
        return _Table((name, _frozen(part)) for name, part in value.items())
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _thawed(value: object) -> object:
    if isinstance(value, _Table):
        return {name: _thawed(part) for name, part in value}
    return list(map(_thawed, value)) if isinstance(value, tuple) else value


class _Table(tuple[tuple[str, object], ...]):
    """A law within the law."""

    __slots__ = ()
