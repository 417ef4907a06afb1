"""Experiment files: TOML, loaded as an `Experiment`; every mistake is one sentence that says where it is."""

import math
import tomllib
from pathlib import Path
from typing import NamedTuple, cast

import tomli_w

from outlay.arms import Problem, catalogue
from outlay.arms.catalogue import find
from outlay.checks import checked_path, line, reading, whole, word
from outlay.engine.limits import MODES, Mode, checked_limits
from outlay.engine.task import BACKENDS, Backend
from outlay.errors import BadFile, BadParameter, OutlayError
from outlay.experiments.setup.log import problem_of
from outlay.experiments.setup.players import Player, Table, player
from outlay.experiments.setup.sweep import TAKEN, Sweep
from outlay.knowledge import usual_policies
from outlay.logs import LogColumns

FORMAT = 1
_TABLES = ("format", "experiment", "arms", "log", "policies", "sweep")
_KEYS = (
    "title", "problem", "budgets", "budget", "requests", "mode", "runs", "seed", "backend", "workers", "max_pulls",
)  # fmt: skip


class Experiment(NamedTuple):
    """What is to be played; `source` is the file that says so."""

    source: Path
    title: str
    problem: Problem
    players: tuple[Player, ...]
    budgets: tuple[float, ...]
    runs: int
    seed: int
    backend: Backend
    workers: int | None
    max_pulls: int
    sweeps: tuple[Sweep, ...]
    requests: tuple[int, ...] | None = None  # one number for each budget
    mode: Mode = MODES[0]


def is_experiment(text: str) -> bool:
    """Whether `text` names a TOML file that describes an experiment: one with more than `format` and `[[arms]]`.

    A file that is not valid TOML counts as an experiment where it has the line `[experiment]`.
    """
    if text in catalogue.names():
        return False
    try:
        written = checked_path("compare", text).read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        return False  # whoever reads it as a problem will say what is wrong with it
    try:
        content = tomllib.loads(written)
    except (ValueError, RecursionError):
        return "[experiment]" in written
    return not content.keys().isdisjoint(_TABLES[1:2] + _TABLES[3:])


def load(path: str | Path) -> Experiment:
    """The experiment in a file; BadFile says in one sentence what is wrong with it."""
    source = checked_path("load", path)
    try:
        with reading(source):
            content = tomllib.loads(source.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFile(f"{source} is not TOML: {' '.join(str(error).split())}") from None
    try:
        return experiment_of(content, source)
    except OutlayError as error:
        raise BadFile(f"{source}: {error}") from None


def experiment_of(content: Table, source: Path) -> Experiment:
    """The experiment that a file's content describes; files that it names are looked for next to `source`."""
    version = content.get("format")
    if type(version) is not int or version < 1:
        raise BadFile(f"an experiment starts with the line `format = {FORMAT}`; this one has format = {version!r}")
    if version > FORMAT:
        raise BadFile(f"this experiment has format {version}, of a newer outlay; this one reads format {FORMAT}")
    _known_keys("the file", content, _TABLES)
    if not isinstance(content.get("experiment"), dict):
        raise BadFile("an experiment has an [experiment] table; this one has none")
    table = content["experiment"]
    _known_keys("[experiment]", table, _KEYS)
    problem = _problem(content, source.parent)
    backend = table.get("backend", BACKENDS[0])
    if backend not in BACKENDS:
        raise BadParameter("[experiment]", "backend", f"one of {', '.join(BACKENDS)}", backend)
    title = line("[experiment]", "title", table["title"]) if "title" in table else printable(source.stem)
    workers = table.get("workers")
    sweeps = _sweeps(content)
    budgets, requests = _limits(table, sweeps)
    rationed = requests is not None or any({"requests", "budget_per_request"} & set(sweep.over) for sweep in sweeps)
    return Experiment(
        source=source,
        title=title,
        problem=problem,
        players=_players(content, problem, rationed, source.parent),
        budgets=budgets,
        runs=whole("[experiment]", "runs", table.get("runs", 100), at_least=1),
        seed=whole("[experiment]", "seed", table.get("seed", 0), at_least=0),
        backend=backend,
        workers=None if workers is None else whole("[experiment]", "workers", workers, at_least=1),
        max_pulls=whole("[experiment]", "max_pulls", table.get("max_pulls", 10**9), at_least=1, at_most=2**62),
        sweeps=sweeps,
        requests=requests,
        mode=cast("Mode", word("[experiment]", "mode", table.get("mode", MODES[0]), MODES)),
    )


def _problem(content: Table, folder: Path) -> Problem:
    """From [[arms]], from [log], or by the name of a catalogue problem or a file: exactly one of them."""
    name = content["experiment"].get("problem")
    given = [name is not None, "arms" in content, "log" in content]
    if sum(given) != 1:
        raise BadFile("an experiment has a problem in [experiment], [[arms]] or [log], one of the three")
    if "arms" in content:
        return Problem._resolved(tomli_w.dumps({"format": 1, "arms": content["arms"]}), catalogue.beside(folder))
    if "log" in content:
        table = dict(_table("[log]", content["log"]))
        _known_keys("[log]", table, ("file", *LogColumns._fields))
        for key, value in {"file": None, **table}.items():
            if not isinstance(value, str) or not value:
                raise BadParameter("[log]", key, "a string that is not empty", value)
        return problem_of(folder / table.pop("file"), LogColumns(**table))
    if not isinstance(name, str) or not name.strip():
        raise BadParameter("[experiment]", "problem", "a name from the catalogue or a file", name)
    return find(name if name in catalogue.names() else str(folder / name), "[experiment]")


def _players(content: Table, problem: Problem, requests: bool, folder: Path) -> tuple[Player, ...]:
    """The policies of the file, or those that `outlay compare` plays by default."""
    if "policies" not in content:
        return tuple(Player(name, name, {}) for name in usual_policies(problem, requests))
    tables = _tables("policies", content["policies"])
    players = tuple(player(table, i, folder) for i, table in enumerate(tables, start=1))
    _all_different("policy", "label", [one.label for one in players])
    return players


def _limits(table: Table, sweeps: tuple[Sweep, ...]) -> tuple[tuple[float, ...], tuple[int, ...] | None]:
    """Budgets, and the requests beside them; a sweep that sets the budgets needs none here."""
    if table.keys().isdisjoint(("budgets", "budget")) and any("budget_per_request" in sweep.over for sweep in sweeps):
        if "requests" not in table:
            return (math.inf,), None  # they are swept over, or the sweep says that they are missing
        table = {**table, "budgets": [math.inf]}
    if ("budgets" in table) == ("budget" in table):
        got = {key: table[key] for key in ("budgets", "budget") if key in table}
        raise BadParameter("[experiment]", "budgets or budget", "given, and not both", got)
    if "budgets" in table and not isinstance(table["budgets"], list):
        raise BadParameter("[experiment]", "budgets", "a list; `budget` is one number", table["budgets"])
    given = (table.get(key) for key in ("budgets", "budget", "requests"))
    budgets, requests = checked_limits("[experiment]", *given)
    return tuple(budgets.tolist()), None if requests is None else tuple(requests.tolist())


def _sweeps(content: Table) -> tuple[Sweep, ...]:
    tables = _tables("sweep", content.get("sweep", []), least=0)
    sweeps = tuple(_sweep(table, f"sweep {i}") for i, table in enumerate(tables, start=1))
    _all_different("sweep", "name", [sweep.name for sweep in sweeps])
    return sweeps


def _sweep(table: Table, where: str) -> Sweep:
    _known_keys(where, table, Sweep._fields)
    over = table.get("over")
    over = [over] if isinstance(over, str) else over
    if not isinstance(over, list) or not over or not all(isinstance(target, str) for target in over):
        raise BadParameter(where, "over", "a string or a list of strings", table.get("over"))
    values = table.get("values")
    if not isinstance(values, list) or not values or not all(type(value) in (int, float, str) for value in values):
        raise BadParameter(where, "values", "a list of numbers or of strings, not empty", values)
    if len({type(value) is str for value in values}) > 1 or len(set(values)) < len(values):
        raise BadParameter(where, "values", "all numbers or all strings, each once", values)
    for value in values:
        if isinstance(value, str):
            line(where, "a value", value)
    name = line(where, "name", table.get("name", over[0].rpartition(".")[2]))
    if name in TAKEN:
        raise BadParameter(where, "name", f"unlike the other columns of the table ({', '.join(TAKEN)})", name)
    return Sweep(name, tuple(over), tuple(values))


def printable(name: str) -> str:
    """A file's name on one line, with a replacement for what cannot be printed."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)


def _known_keys(where: str, table: Table, known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise BadParameter(where, "a key", f"one of {', '.join(known)}", key)


def _tables(name: str, value: object, least: int = 1) -> list[Table]:
    if not isinstance(value, list) or len(value) < least or not all(isinstance(table, dict) for table in value):
        raise BadParameter("the file", name, f"a list of tables, [[{name}]]", value)
    return value


def _table(where: str, value: object) -> Table:
    if not isinstance(value, dict):
        raise BadParameter("the file", where, "a table", value)
    return value


def _all_different(where: str, key: str, names: list[str]) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise BadParameter(f"{where} {i + 1}", key, "unlike the others", name)
