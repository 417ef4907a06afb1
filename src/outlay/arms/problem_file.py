"""Problems as TOML text.

    format = 1

    [[arms]]
    name = "small"
    law = "Gaussian"
    cost = 1.0
    reward = 0.9
    cost_sd = 0.3
    reward_sd = 0.2
    correlation = 0.5

Where arms change there are `[[changes]]` tables besides, each with what was spent before, `start = 1000.0`, and with
the laws from then on, one `[[changes.arms]]` for each arm in the same order.

Each arm is the name of a law and its constructor's arguments; an argument that is itself a law is a sub-table with a
`law` of its own. Floats survive the round trip bit for bit. A law of the user's is `law = "module:Name"`; as it is
written, a sub-table `known` has its moments, support and tails, for whoever reads the file without the code.

Saved files are data: reading one imports nothing and runs nothing. A law whose code is not here is `Remembered`: it
knows its moments, its support and its tails, so that regret, tables and bounds are what they were; only `draw` needs
the code, which whoever loads the file can hand over.
"""

import tomllib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np
import tomli_w

from outlay.arms.bounded import Beta, Uniform
from outlay.arms.continuous import Exponential, Gamma, Gaussian, Linear, Lognormal, Pareto, StudentT
from outlay.arms.finite import Bernoulli, Constant, Discrete, Empirical
from outlay.arms.law import AnyLaw, Law, LawMoments, Support, Tails, check_law, support_of, tails_of
from outlay.errors import BadCode, BadFile, BadParameter, NotCovered, OutlayError
from outlay.parameters import Parameters, records_in, signature_of
from outlay.text import meant
from outlay.usercode import YOURS, is_reference, reference_of, short_name, what_failed

FORMAT = 1
_KNOWN = "known"
Resolve = Callable[[str], type | None]  # from what a file calls a law of the user's to its class, if it is there
LAWS: dict[str, type[Law]] = {
    law.__name__: law
    for law in (
        *(Gaussian, Bernoulli, Beta, Uniform, Discrete, Constant, Exponential, Gamma),
        *(Lognormal, Pareto, StudentT, Linear, Empirical),
    )
}


def written(pieces: Sequence[tuple[float, Sequence[AnyLaw]]], names: Sequence[str]) -> str:
    """The text of a problem, from the start and the laws of each piece.

    `BadFile` where a law of the user's has arguments that no file can hold.
    """
    (_, arms), *later = pieces
    tables = [{"name": name, **_table(law, name)} for law, name in zip(arms, names, strict=True)]
    changes = [
        {"start": start, "arms": [_table(law, name) for law, name in zip(laws, names, strict=True)]}
        for start, laws in later
    ]
    return tomli_w.dumps({"format": FORMAT, "arms": tables} | ({"changes": changes} if changes else {}))


def read(text: str, resolve: Resolve) -> tuple[list[tuple[float, list[AnyLaw]]], list[str]]:
    """The pieces and names in a problem's text; a law of the user's that `resolve` does not find is known by name."""
    try:
        content = tomllib.loads(text.removeprefix("\ufeff"))  # some editors begin a file with a mark
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        reason = "it is nested too deeply" if deep else " ".join(str(error).split())
        raise BadFile(f"this is not TOML: {reason}") from None
    version = content.pop("format", None)
    if type(version) is not int or version < 1:
        found = "none" if version is None else f"format = {version!r}"
        raise BadFile(f"a problem starts with the line `format = {FORMAT}`; this one has {found}")
    if version > FORMAT:
        raise BadFile(f"this problem has format {version}, written by a newer outlay; this one reads format {FORMAT}")
    tables, changes = content.pop("arms", None), content.pop("changes", [])
    if content:
        allowed = "`format`, `[[arms]]` and `[[changes]]` tables only"
        raise BadFile(f"a problem has {allowed}; this one also has {', '.join(content)}")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise BadFile("a problem has one `[[arms]]` table per arm; this one has none")
    names = [table.pop("name", f"arm {i}") for i, table in enumerate(tables)]
    pieces = [(0.0, _laws(tables, names, "", resolve))]
    if not isinstance(changes, list):
        raise BadFile("a problem has one `[[changes]]` table per change; this one has one `changes` for all")
    for i, change in enumerate(changes):
        given = change if isinstance(change, dict) else {}
        laws: Any = given.get("arms")
        stated = isinstance(laws, list) and len(laws) == len(names) and all(isinstance(law, dict) for law in laws)
        if given.keys() != {"start", "arms"} or not stated:
            raise BadFile(
                f"change {i} has a `start` and {len(names)} `[[changes.arms]]`, one for each arm, and no more"
            )
        pieces.append((given["start"], _laws(laws, names, f"change {i}, ", resolve)))
    return pieces, names


def _laws(tables: list[dict[str, Any]], names: list[str], where: str, resolve: Resolve) -> list[AnyLaw]:
    pairs = enumerate(zip(tables, names, strict=True))
    return [_law(table, f"{where}arm {i} ({name!r})", resolve) for i, (table, name) in pairs]


def _table(law: AnyLaw, arm: str) -> dict[str, object]:
    name = type(law).__name__
    if isinstance(law, Law) and LAWS.get(name) is type(law):
        return {"law": name} | {key: _value(value, arm) for key, value in law.arguments().items()}
    if isinstance(law, Remembered):
        reference, given = law.reference, _thawed(law.given)
    else:
        record = cast(Any, law)
        given = record.arguments() if isinstance(law, Parameters) else record._asdict()
        given = {key: _value(value, arm, f"{key} of {name}") for key, value in given.items() if value is not None}
        reference = reference_of(type(law))
    facts = {"moments": law.moments(), "support": support_of(law), "tails": tails_of(law)}
    return {"law": reference, **given, _KNOWN: {key: [*map(float, values)] for key, values in facts.items()}}


def _value(value: object, arm: str, what: str = "a field") -> object:
    if isinstance(value, tuple) and callable(getattr(value, "draw", None)):
        return _table(cast(AnyLaw, value), arm)
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    numbers = value if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(each, (int, float, str)) for each in numbers):
        raise BadFile(f"arm {arm!r} cannot be saved: {what} is neither a number, a string, a law nor a list")
    return list(numbers) if isinstance(value, tuple) else value


def _law(table: dict[str, Any], where: str, resolve: Resolve) -> AnyLaw:
    name = table.pop("law", None)
    if is_reference(name):
        return _own(name, table, where, resolve)
    if not isinstance(name, str) or name not in LAWS:
        said = "has no `law`" if name is None else f"has the unknown law {name!r}"
        raise BadFile(f"{where} {said}; the known laws are {', '.join((*LAWS, YOURS))}{meant(name, LAWS)}")
    return _made(LAWS[name], name, table, where, resolve)


def _own(reference: str, table: dict[str, Any], where: str, resolve: Resolve) -> AnyLaw:
    """A law of the user's, or what the file remembers of it."""
    known = table.pop(_KNOWN) if isinstance(table.get(_KNOWN), dict) and "moments" in table[_KNOWN] else None
    try:
        cls = resolve(reference)
    except OutlayError as error:
        raise BadFile(f"{where}: {error}") from None
    name = short_name(reference)
    if cls is None and known is not None:
        try:
            moments, support, tails = (map(float, known[name]) for name in ("moments", "support", "tails"))
            return Remembered(reference, _frozen(table), LawMoments(*moments), Support(*support), Tails(*tails))
        except (KeyError, TypeError, ValueError):
            raise BadFile(f"{where}: what is known of its law {name} is damaged") from None
    if cls is None:
        raise BadFile(f"{where} has the law {reference!r}, which is yours: hand its class over, laws=[{name}]")
    lists = {key: np.array(value) if isinstance(value, list) else value for key, value in table.items()}
    law = _made(cls, name, lists, where, resolve)
    check_law(where, "law", law)
    if known is not None and not np.allclose(LawMoments(*law.moments()), known["moments"], rtol=1e-9, equal_nan=True):
        raise BadFile(f"{where}: the law {name} has other moments than when it was saved: its code has changed")
    return law


def _made(cls: type, name: str, table: dict[str, Any], where: str, resolve: Resolve) -> AnyLaw:
    parameters = signature_of(cls)
    if unknown := table.keys() - parameters.keys():
        raise BadFile(f"{where}: {name} has no argument {', '.join(sorted(unknown))}; it has {', '.join(parameters)}")
    if missing := [key for key, p in parameters.items() if p.default is p.empty and key not in table]:
        raise BadFile(f"{where}: {name} lacks its argument {', '.join(missing)}")
    given = {
        key: _law(value, f"{where}, {key}", resolve) if isinstance(value, dict) else value
        for key, value in table.items()
    }
    try:
        return cast(AnyLaw, cls(**given))
    except BadParameter as error:
        raise BadFile(f"{where}: {error}") from None
    except Exception as error:
        raise BadCode(f"{where}: {what_failed(error)}") from error


class Remembered(NamedTuple):
    """A law by its name and arguments, with what was known of it when it was saved."""

    reference: str  # module:Name
    given: "_Table"  # the arguments, as the file has them
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
        name = short_name(self.reference)
        return f"the law {name} is known by name only: hand its class over as it is loaded, load(path, laws=[{name}])"

    def __repr__(self) -> str:
        return f"{short_name(self.reference)}({', '.join(f'{name}={value!r}' for name, value in self.given)})"


def absent_laws(*laws: object) -> list[Remembered]:
    """Those among some laws, and among laws inside them, whose code is not here."""
    return [law for law in records_in(*laws) if isinstance(law, Remembered)]


def _frozen(value: object) -> Any:
    """Equal by value and never changed: lists and tables as tuples, the latter marked by being of pairs."""
    if isinstance(value, dict):
        return _Table((name, _frozen(part)) for name, part in value.items())
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _thawed(value: object) -> Any:
    if isinstance(value, _Table):
        return {name: _thawed(part) for name, part in value}
    return list(map(_thawed, value)) if isinstance(value, tuple) else value


class _Table(tuple[tuple[str, object], ...]):
    """A law within the law."""

    __slots__ = ()
