"""An experiment as a TOML file says it: a problem or a log, policies, budgets, sweeps."""

import math
import tomllib
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import tomli_w
from numpy.typing import NDArray

from outlay import policies
from outlay.arms import Empirical, LawMoments, Problem, catalogue
from outlay.arms.catalogue import find
from outlay.arms.problem import checked_problem
from outlay.checks import checked_path, line, reading, real, whole, word
from outlay.engine.limits import MODES, Mode, checked_limits
from outlay.engine.task import BACKENDS, Backend
from outlay.errors import BadFile, BadParameter, NotCovered, OutlayError
from outlay.logs import LogColumns, stretches
from outlay.parameters import Parameters, is_record, signature_of
from outlay.policies.protocol import Policy
from outlay.problem_policies import OWN_FACTS, fact, own_policy, policy_for, usual_policies
from outlay.text import listed, one_of
from outlay.usercode import YOURS, find_class, is_reference

FORMAT = 1
_TABLES = ("format", "experiment", "arms", "log", "policies", "sweep")
_KEYS = (
    "title", "problem", "budgets", "budget", "requests", "mode", "runs", "seed", "backend", "workers", "max_pulls",
)  # fmt: skip
MOST_ARMS = 10_000  # each is a law of its own
KNOWN = "known"
# What a problem can say about itself, by the names of the parameters that ask for it.
FACTS = (*OWN_FACTS, "cost_moment", "reward_moment", "slope_bound")
ALLOWED = (
    '"K", "arms.FIELD", "arms.NAME.FIELD", "policies.PARAMETER", "policies.LABEL.PARAMETER", "requests" or '
    '"budget_per_request"'
)
# Columns of sweep.csv that are there already.
TAKEN = ("policy", "budget", "mean", "stderr", "low", "high", "q10", "q50", "q90", "lower_bound")
Pairs = NDArray[np.float64]
Table = dict[str, Any]  # of TOML, or of a policy's parameters: what it holds is checked where it is read
Value = float | str  # of what is swept over
Values = dict[str, Value]  # at one point, by the name of the sweep


class PolicyEntry(NamedTuple):
    """A policy as the file describes it, before it is told about its problem.

    A parameter that the file leaves out, or gives as "known", is filled in as `outlay compare --policy` does it.
    """

    name: str
    label: str
    parameters: Table
    own: type | None = None  # the class, where the policy is the user's

    @property
    def kind(self) -> type:
        """The policy's class."""
        return policies.BY_NAME[self.name] if self.own is None else self.own

    @property
    def takes(self) -> list[str]:
        """The parameters that a file may give; the budget and the requests come from the run."""
        return [name for name in signature_of(self.kind) if name not in ("budget", "requests")]

    def on(self, problem: Problem) -> Policy:
        """The policy, told what it asks for; NotCovered where `problem` cannot say."""
        given = {name: value for name, value in self.parameters.items() if value != KNOWN}
        asked, known = self.parameters.keys() - given.keys(), dict[str, Any]()
        if self.own is None:
            try:
                usual = policy_for(problem, self.name)
                known = {name: value for name, value in usual.arguments().items() if name in FACTS}
            except NotCovered as error:  # all the same where the file gives every parameter itself
                needed = {name for name, p in signature_of(self.kind).items() if p.default is p.empty}
                if lacking := sorted(asked | needed - given.keys()):
                    why = "which the file must give, for the problem cannot tell it"
                    raise NotCovered(f"{self.name} lacks {listed(lacking, 8)}, {why}: {error}") from None
        known |= {name: fact(problem, name) for name in sorted(asked) if known.get(name) is None}
        if self.own is not None:
            return cast("Policy", own_policy(problem, self.own, {**known, **given}))
        return cast("Policy", self.kind(**{**known, **given}))


class Sweep(NamedTuple):
    """What is varied, the name it is shown under, and its values."""

    name: str
    over: tuple[str, ...]
    values: tuple[Value, ...]


class Experiment(NamedTuple):
    """What is to be played; `source` is the file that says so."""

    source: Path
    title: str
    problem: Problem
    players: tuple[PolicyEntry, ...]
    budgets: tuple[float, ...]
    runs: int
    seed: int
    backend: Backend
    workers: int | None
    max_pulls: int
    sweeps: tuple[Sweep, ...]
    requests: tuple[int, ...] | None = None  # one number for each budget
    mode: Mode = MODES[0]


def load(path: str | Path) -> Experiment:
    """The experiment in a file; BadFile says in one sentence what is wrong with it."""
    source = checked_path("load", path)
    try:
        with reading(source):
            content = tomllib.loads(source.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFile(f"{source} is not TOML: {' '.join(str(error).split())}") from None
    try:
        return _experiment(content, source)
    except OutlayError as error:
        raise BadFile(f"{source}: {error}") from None


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


def _experiment(content: Table, source: Path) -> Experiment:
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
    tables = _tables("sweep", content.get("sweep", []), least=0)
    sweeps = tuple(_sweep(table, f"sweep {i}") for i, table in enumerate(tables, start=1))
    _all_different("sweep", "name", [sweep.name for sweep in sweeps])
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


def _known_keys(where: str, table: Table, known: tuple[str, ...]) -> None:
    for key in table:
        if key not in known:
            raise BadParameter(where, "a key", f"one of {', '.join(known)}", key)


def _tables(name: str, value: object, least: int = 1) -> list[Table]:
    if not isinstance(value, list) or len(value) < least or not all(isinstance(table, dict) for table in value):
        raise BadParameter("the file", name, f"a list of tables, [[{name}]]", value)
    return value


def _all_different(where: str, key: str, names: list[str]) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise BadParameter(f"{where} {i + 1}", key, "unlike the others", name)


def printable(name: str) -> str:
    """A file's name on one line, with a replacement for what cannot be printed."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)


def _problem(content: Table, folder: Path) -> Problem:
    """From [[arms]], from [log], or by the name of a catalogue problem or a file: exactly one of them."""
    name = content["experiment"].get("problem")
    given = [name is not None, "arms" in content, "log" in content]
    if sum(given) != 1:
        raise BadFile("an experiment has a problem in [experiment], [[arms]] or [log], one of the three")
    if "arms" in content:
        return Problem._resolved(tomli_w.dumps({"format": 1, "arms": content["arms"]}), catalogue.beside(folder))
    if "log" in content:
        if not isinstance(content["log"], dict):
            raise BadParameter("the file", "[log]", "a table", content["log"])
        table = dict(content["log"])
        _known_keys("[log]", table, ("file", *LogColumns._fields))
        for key, value in {"file": None, **table}.items():
            if not isinstance(value, str) or not value:
                raise BadParameter("[log]", key, "a string that is not empty", value)
        return problem_of(folder / table.pop("file"), LogColumns(**table))
    if not isinstance(name, str) or not name.strip():
        raise BadParameter("[experiment]", "problem", "a name from the catalogue or a file", name)
    return find(name if name in catalogue.names() else str(folder / name), "[experiment]")


def problem_of(path: Path, columns: LogColumns) -> Problem:
    """The empirical problem of a CSV or Parquet file without empty cells, its arms in the order of their first row."""
    parts: dict[str, list[Pairs]] = {}
    for rows in stretches(path, columns, "[log]"):
        if len(rows.left_out):
            raise BadFile(f"{path} has an empty cell in row {rows.left_out[0]:,}; every row must have all three")
        order = np.argsort(rows.codes, kind="stable")
        codes, starts = np.unique(rows.codes[order], return_index=True)
        pairs = np.split(np.stack([rows.costs, rows.rewards])[:, order], starts[1:], axis=1)
        for index in np.argsort(order[starts]):  # in the order of the arms' first rows
            parts.setdefault(rows.names[codes[index]], []).append(pairs[index])
        if len(parts) > MOST_ARMS:
            raise BadFile(f"{path} has more than {MOST_ARMS:,} arms: does its column of arms hold something else?")
    return Problem([Empirical(*np.hstack(pairs)) for pairs in parts.values()], list(parts))


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


def _players(content: Table, problem: Problem, requests: bool, folder: Path) -> tuple[PolicyEntry, ...]:
    """The policies of the file, or those that `outlay compare` plays by default."""
    if "policies" not in content:
        return tuple(PolicyEntry(name, name, {}) for name in usual_policies(problem, requests))
    tables = _tables("policies", content["policies"])
    players = tuple(player(table, i, folder) for i, table in enumerate(tables, start=1))
    _all_different("policy", "label", [one.label for one in players])
    return players


def player(table: Table, number: int, folder: Path | None = None) -> PolicyEntry:
    """The policy that a `[[policies]]` table describes, the first of which has number 1; yours are in `folder`."""
    where = f"policy {number}"
    values = dict(table)
    name = values.pop("name", None)
    own = find_class(where, "name", name, folder or Path()) if is_reference(name) else None
    kind = own or policies.named(name)
    if kind is None:
        raise BadParameter(where, "name", one_of((*policies.BY_NAME, YOURS), name), name)
    made = PolicyEntry(kind.__name__, line(where, "label", values.pop("label", kind.__name__)), values, own)
    for key, value in values.items():
        check(made, key, value)
    return made


def check(one: PolicyEntry, name: str, value: object) -> None:
    """Refuse a parameter that the policy does not have, or that no problem can know."""
    if name not in one.takes:
        takes = ", ".join(one.takes)
        allowed = f"one of name, label, {takes}" if takes else "name or label: it has no parameters"
        raise BadParameter(f"policy {one.label!r}, {one.name},", "a key", allowed, name)
    if value == KNOWN and name not in FACTS:
        facts = [fact for fact in one.takes if fact in FACTS]
        allowed = "a value: a problem knows " + (", ".join(facts) if facts else "nothing that it asks for")
        raise BadParameter(f"policy {one.label!r}, {one.name},", name, allowed, value)


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


def moved(setup: Experiment, target: str, value: Value) -> Experiment:
    """The experiment with one target of a sweep at a value, such as arms.correlation at 0.9."""
    if target == "requests":
        count = whole("a sweep over requests", "values", value, at_least=1)
        return setup._replace(requests=(count,) * len(setup.budgets))
    if target == "budget_per_request":
        per_request = real("a sweep over budget_per_request", "values", value, above=0)
        if setup.requests is None:
            raise BadParameter("a sweep over budget_per_request", "requests", "in [experiment], or swept before", None)
        counts = tuple(sorted(set(setup.requests)))
        return setup._replace(budgets=tuple(per_request * count for count in counts), requests=counts)
    if target == "K":
        return setup._replace(problem=_of_size(setup.problem, value))
    part, _, rest = target.partition(".")
    if part == "arms" and rest:
        return setup._replace(problem=_with_arms(setup.problem, rest, value))
    if part == "policies" and rest:
        return setup._replace(players=_with_players(setup.players, rest, value))
    raise BadParameter("a sweep", "over", ALLOWED, target)


def _of_size(problem: Problem, value: object) -> Problem:
    """As many arms as asked for: the best one, then the others in their order, again and again."""
    checked_problem("a sweep over K", problem, free=True)
    count = whole("a sweep over K", "values", value, at_least=1)
    others = [k for k in range(len(problem)) if k != problem.best]
    if not others and count > 1:
        raise BadParameter("a sweep over K", "the problem", "of two arms or more", problem)
    chosen = [problem.best, *islice(cycle(others), count - 1)]
    first, copies = sorted(chosen[: len(problem)]), chosen[len(problem) :]
    names = [problem.names[k] for k in first]
    names += [f"{problem.names[k]} ({2 + i // len(others)})" for i, k in enumerate(copies)]
    return Problem([problem.arms[k] for k in first + copies], names)


def _with_arms(problem: Problem, path: str, value: Value) -> Problem:
    checked_problem("a sweep over arms", problem, free=True)
    chosen, field = _split(path, problem.names)
    if field == "gap":
        # Mean rewards move so that rates are this far below the best one, which stays.
        gap, others = real("a sweep", "the gap", value, at_least=0), chosen - {problem.best}
        if not others:
            raise BadParameter("a sweep", "over", "about an arm that is not the best one", problem.names[problem.best])
        laws = list(problem.arms)
        for k in others:
            laws[k] = _with_mean_reward(laws[k], (problem.rate - gap) * float(problem.mean_costs[k]))
    else:
        names = field.split(".")
        having = {k for k in chosen if _has(problem.arms[k], names)}
        laws = [_with(law, names, value) if k in having else law for k, law in enumerate(problem.arms)]
        if not having:
            fields = dict.fromkeys(name for k in chosen for name in _arguments(problem.arms[k]))
            raise BadParameter("a sweep", "over", f"a field of the arms ({', '.join(fields)}) or gap", f"arms.{path}")
    return Problem(laws, problem.names)


def _with_players(players: tuple[PolicyEntry, ...], path: str, value: Value) -> tuple[PolicyEntry, ...]:
    chosen, name = _split(path, [one.label for one in players])
    having = {k for k in chosen if name in players[k].takes}
    if not having:
        takes = dict.fromkeys(name for k in chosen for name in players[k].takes)
        allowed = f"a parameter of the policies ({', '.join(takes)})" if takes else "a parameter, and they have none"
        raise BadParameter("a sweep", "over", allowed, f"policies.{path}")
    for k in having:
        check(players[k], name, value)
    return tuple(
        one._replace(parameters={**one.parameters, name: value}) if k in having else one
        for k, one in enumerate(players)
    )


def _split(path: str, names: Sequence[str]) -> tuple[set[int], str]:
    """Which of the names a path is about, and the field: all unless it begins with a name, which may have dots."""
    found = max((name for name in names if path.startswith(f"{name}.")), key=len, default=None)
    if found is None:
        return set(range(len(names))), path
    return {list(names).index(found)}, path.removeprefix(f"{found}.")


def _arguments(law: object) -> dict[str, Any]:
    """The law's parameters by name; none for what has no parameters, such as a number."""
    if isinstance(law, Parameters):
        return law.arguments()
    return dict(law._asdict()) if is_record(law) else {}  # type: ignore[attr-defined]


def _has(law: object, path: Sequence[str]) -> bool:
    found = _arguments(law).get(path[0])
    return found is not None and (len(path) == 1 or _has(found, path[1:]))


def _with(law: Any, path: Sequence[str], value: Value) -> Any:
    """The law with one field changed; a path leads into a law inside the law."""
    inner = value if len(path) == 1 else _with(_arguments(law)[path[0]], path[1:], value)
    return law._replace(**{path[0]: inner})


def _with_mean_reward(law: Any, wanted: float) -> Any:
    """The law with another mean reward: by its parameter of that name, or all rewards shifted alike."""
    shift = wanted - LawMoments(*law.moments()).mean_reward
    given, ways = _arguments(law), (("reward",), ("noise",), ("rewards",), ("reward_low", "reward_high"))
    names = next((names for names in ways if names[0] in given), None)
    if names is None:
        known = ", ".join(names[0] for names in ways)
        raise NotCovered(f"a sweep over gaps moves a law by its parameter {known}, and {type(law).__name__} has none")
    return law._replace(**{name: wanted if name == "reward" else given[name] + shift for name in names})
