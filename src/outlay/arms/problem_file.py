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

Each arm is the name of a law and its constructor's arguments; an argument that is itself a law is a sub-table with a
`law` of its own. Floats survive the round trip bit for bit.
"""

import tomllib
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
import tomli_w

from outlay.arms.bernoulli import Bernoulli
from outlay.arms.bounded import Beta, Uniform
from outlay.arms.coupled import Linear
from outlay.arms.discrete import Constant, Discrete
from outlay.arms.empirical import Empirical
from outlay.arms.gaussian import Gaussian
from outlay.arms.heavy_tailed import Lognormal, Pareto, StudentT
from outlay.arms.law import AnyLaw, Law
from outlay.arms.positive import Exponential, Gamma
from outlay.errors import BadFile, BadParameter
from outlay.parameters import signature_of

FORMAT = 1

LAWS: dict[str, type[Law]] = {
    law.__name__: law
    for law in (
        *(Gaussian, Bernoulli, Beta, Uniform, Discrete, Constant, Exponential, Gamma),
        *(Lognormal, Pareto, StudentT, Linear, Empirical),
    )
}


def written(arms: Sequence[AnyLaw], names: Sequence[str]) -> str:
    """The text of a problem; `BadFile` where an arm's law is not of this package."""
    tables = [{"name": name, **_table(law, name)} for law, name in zip(arms, names, strict=True)]
    return tomli_w.dumps({"format": FORMAT, "arms": tables})


def read(text: str) -> tuple[list[AnyLaw], list[str]]:
    """The laws and names in a problem's text; `BadFile` where it is broken."""
    try:
        content = tomllib.loads(text.removeprefix("\ufeff"))  # some editors begin a file with a mark
    except (ValueError, RecursionError) as error:
        raise BadFile(f"this is not TOML: {_sentence(error)}") from None
    version = content.pop("format", None)
    if type(version) is not int or version < 1:
        raise BadFile(f"a problem starts with the line `format = {FORMAT}`; this one has {_found(version)}")
    if version > FORMAT:
        raise BadFile(f"this problem has format {version}, written by a newer outlay; this one reads format {FORMAT}")
    tables = content.pop("arms", None)
    if content:
        raise BadFile(f"a problem has `format` and `[[arms]]` tables only; this one also has {_listed(content)}")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise BadFile("a problem has one `[[arms]]` table per arm; this one has none")
    names = [table.pop("name", f"arm {i}") for i, table in enumerate(tables)]
    return [
        _law(table, f"arm {i} ({name!r})") for i, (table, name) in enumerate(zip(tables, names, strict=True))
    ], names


def _table(law: AnyLaw, arm: str) -> dict[str, Any]:
    name = type(law).__name__
    if not isinstance(law, Law) or LAWS.get(name) is not type(law):
        raise BadFile(f"arm {arm!r} has the user-defined law {name}, and only laws of outlay.arms can be saved")
    return {"law": name} | {key: _value(value, arm) for key, value in law.arguments().items()}


def _value(value: object, arm: str) -> object:
    if isinstance(value, tuple):
        return _table(cast(AnyLaw, value), arm)
    return value.tolist() if isinstance(value, np.ndarray) else value


def _law(table: dict[str, Any], where: str) -> AnyLaw:
    """The law that a table describes."""
    name = table.pop("law", None)
    if not isinstance(name, str) or name not in LAWS:
        said = "has no `law`" if name is None else f"has the unknown law {name!r}"
        raise BadFile(f"{where} {said}; the known laws are {_listed(LAWS)}")
    parameters = signature_of(LAWS[name])
    if unknown := table.keys() - parameters.keys():
        raise BadFile(f"{where}: {name} has no argument {_listed(sorted(unknown))}; it has {_listed(parameters)}")
    if missing := [key for key, p in parameters.items() if p.default is p.empty and key not in table]:
        raise BadFile(f"{where}: {name} lacks its argument {_listed(missing)}")
    arguments = {
        key: _law(value, f"{where}, {key}") if isinstance(value, dict) else value for key, value in table.items()
    }
    try:
        return LAWS[name](**arguments)  # type: ignore[return-value]
    except BadParameter as error:
        raise BadFile(f"{where}: {error}") from None


def _sentence(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())


def _found(version: object) -> str:
    return "none" if version is None else f"format = {version!r}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
