"""Sweeps: a field of the arms, the gap, the number of arms or a policy's parameter takes one value after another.

| `over` | what takes the value |
|---|---|
| `arms.FIELD`, `arms.NAME.FIELD` | that field of every arm that has it, or of one arm (`arms.heavy.cost_tail`) |
| `arms.gap`, `arms.NAME.gap` | how far the rate of every arm but the best, or of one arm, is below the best one's |
| `K` | the number of arms: the best one, then the others, again and again |
| `policies.PARAMETER`, `policies.LABEL.PARAMETER` | that parameter of every policy that has it, or of one |
| `requests` | how many requests there are, at every budget |
| `budget_per_request` | B/N: the budget is so many times the requests |
"""

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any, NamedTuple

from outlay.arms import AnyLaw, LawMoments, Problem
from outlay.checks import real, whole
from outlay.errors import BadParameter, NotCovered
from outlay.experiments.setup.players import Player, check
from outlay.parameters import Parameters, is_record

ALLOWED = (
    '"K", "arms.FIELD", "arms.NAME.FIELD", "policies.PARAMETER", "policies.LABEL.PARAMETER", "requests" or '
    '"budget_per_request"'
)

# Columns of sweep.csv that are there already.
TAKEN = ("policy", "budget", "mean", "stderr", "low", "high", "q10", "q50", "q90", "lower_bound")


Value = float | str  # of what is swept over
Values = dict[str, Value]  # at one point, by the name of the sweep


class Sweep(NamedTuple):
    """What is varied, the name it is shown under, and its values."""

    name: str
    over: tuple[str, ...]
    values: tuple[Value, ...]


class Setup(NamedTuple):
    """A problem, those who play it, and for how long."""

    problem: Problem
    players: tuple[Player, ...]
    budgets: tuple[float, ...] = ()
    requests: tuple[int, ...] | None = None


def moved(setup: Setup, target: str, value: Value) -> Setup:
    """The setup with `target` at `value`.

    >>> from outlay.arms import catalogue
    >>> start = Setup(catalogue.load("G"), (Player("Frugal", "Frugal", {}),))
    >>> moved(start, "arms.correlation", 0.9).problem.arms[2].correlation
    0.9
    >>> moved(start, "arms.gap", 0.1).problem.rates
    array([1.5, 1.4, 1.4])
    >>> moved(start, "K", 5).problem.names
    ('arm 0', 'arm 1', 'arm 2', 'arm 1 (2)', 'arm 2 (2)')
    >>> moved(start, "policies.slope", 0.5).players[0].parameters
    {'slope': 0.5}
    >>> moved(start._replace(requests=(200,)), "budget_per_request", 0.5).budgets
    (100.0,)
    """
    if target == "requests":
        count = whole("a sweep over requests", "values", value, at_least=1)
        return setup._replace(requests=(count,) * len(setup.budgets))
    if target == "budget_per_request":
        return _with_budgets(setup, real("a sweep over budget_per_request", "values", value, above=0))
    if target == "K":
        return setup._replace(problem=_of_size(setup.problem, value))
    part, _, rest = target.partition(".")
    if part == "arms" and rest:
        return setup._replace(problem=_with_arms(setup.problem, rest, value))
    if part == "policies" and rest:
        return setup._replace(players=_with_players(setup.players, rest, value))
    raise BadParameter("a sweep", "over", ALLOWED, target)


def _with_budgets(setup: Setup, per_request: float) -> Setup:
    """A budget for each number of requests."""
    if setup.requests is None:
        raise BadParameter("a sweep over budget_per_request", "requests", "in [experiment], or swept before", None)
    requests = tuple(sorted(set(setup.requests)))
    return setup._replace(budgets=tuple(per_request * count for count in requests), requests=requests)


def _of_size(problem: Problem, value: object) -> Problem:
    """As many arms as asked for: the best one, then the others in their order, again and again."""
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
    chosen, field = _split(path, problem.names)
    if field == "gap":
        laws = _with_gap(problem, chosen, real("a sweep", "the gap", value, at_least=0))
    else:
        laws = [_with(law, field.split("."), value) if k in chosen else law for k, law in enumerate(problem.arms)]
        if laws == list(problem.arms) and not any(_has(problem.arms[k], field.split(".")) for k in chosen):
            fields = dict.fromkeys(name for k in chosen for name in _arguments(problem.arms[k]))
            raise BadParameter("a sweep", "over", f"a field of the arms ({', '.join(fields)}) or gap", f"arms.{path}")
    return Problem(laws, problem.names)


def _with_players(players: tuple[Player, ...], path: str, value: Value) -> tuple[Player, ...]:
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
    """The law with one field changed, or itself where it has no such field; a path leads into a law inside the law."""
    if not _has(law, path):
        return law
    inner = value if len(path) == 1 else _with(_arguments(law)[path[0]], path[1:], value)
    return law._replace(**{path[0]: inner})


def _with_gap(problem: Problem, chosen: set[int], gap: float) -> list[AnyLaw]:
    """The arms with their mean rewards moved so that the rates are `gap` below the best one; the best one stays."""
    others = chosen - {problem.best}
    if not others:
        raise BadParameter("a sweep", "over", "about an arm that is not the best one", problem.names[problem.best])
    laws = list(problem.arms)
    for k in others:
        laws[k] = _with_mean_reward(laws[k], (problem.rate - gap) * float(problem.mean_costs[k]))
    return laws


def _with_mean_reward(law: Any, wanted: float) -> Any:
    """The law with another mean reward: by its parameter of that name, or all rewards shifted alike."""
    shift = wanted - LawMoments(*law.moments()).mean_reward
    given, ways = _arguments(law), (("reward",), ("noise",), ("rewards",), ("reward_low", "reward_high"))
    names = next((names for names in ways if names[0] in given), None)
    if names is None:
        known = ", ".join(names[0] for names in ways)
        raise NotCovered(f"a sweep over gaps moves a law by its parameter {known}, and {type(law).__name__} has none")
    return law._replace(**{name: wanted if name == "reward" else given[name] + shift for name in names})
