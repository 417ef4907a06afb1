"""Which columns of a log are the arm, the cost and the reward, and where wanted the time and the instance."""

import re
from typing import NamedTuple

from outlay.errors import BadFile, BadParameter

_MOST_LISTED = 20
OTHER = "other "  # before the name of a column that nobody asked for
MOST_OTHERS = 4
_TIMES = ("time", "timestamp", "ts", "date", "datetime", "day", "when", "created", "logged", "started")
_INSTANCES = ("instance", "task", "question", "problem", "query", "prompt", "issue", "item", "case", "request", "id")


class NoColumn(BadFile):
    """A log has no column for some of the `roles` arm, cost, reward, time and instance."""

    def __init__(self, sentence: str, roles: list[str]) -> None:
        super().__init__(sentence)
        self.roles = roles


class Columns(NamedTuple):
    """The names of the three columns in the log."""

    arm: str = "arm"
    cost: str = "cost"
    reward: str = "reward"

    def found(self, present: list[str], where: str, owner: str) -> "Columns":
        """The columns as the log spells them: spaces around a name and capitals do not matter.

        `where` is what the log is called, `owner` whose parameters the names are.

        >>> Columns(cost="usd").found(["id", "Arm", "USD", "reward"], "log.csv", "advise")
        Columns(arm='Arm', cost='USD', reward='reward')
        >>> Columns().found(["arm", "price", "reward"], "log.csv", "advise")
        Traceback (most recent call last):
        outlay.logs.columns.NoColumn: log.csv has no column 'cost'; it has arm, price, reward: name the one for the cost
        """
        chosen = Columns(**_present(self._asdict(), present, where, owner))
        if len(set(chosen)) < len(chosen):
            raise BadParameter(owner, "arm, cost and reward", "three different columns", ", ".join(chosen))
        return chosen


class More(NamedTuple):
    """Other columns of interest: when a row was logged, and on what (a task, a question) the arm was tried."""

    time: str | None = None
    instance: str | None = None
    others: bool = False  # whether further columns, which may turn out to be one of these, are read as well

    def found(self, taken: Columns, present: list[str], where: str, owner: str) -> dict[str, str]:
        """What to call each further column, and how the log spells it.

        >>> taken = Columns("model", "usd", "solved")
        >>> More(time="day", others=True).found(taken, ["Day", "model", "usd", "solved", "task"], "log.csv", "advise")
        {'time': 'Day', 'other task': 'task'}
        """
        asked = {role: name for role, name in (("time", self.time), ("instance", self.instance)) if name is not None}
        found = _present(asked, present, where, owner)
        for role, name in found.items():
            if name in taken:
                raise BadParameter(owner, role, "a column other than those of the arm, the cost and the reward", name)
        if self.others and self.instance is None:
            rest = [name for name in dict.fromkeys(present) if name not in taken and name not in found.values()]
            rest = [name for name in rest if present.count(name) == 1]
            likely = sorted(rest, key=lambda name: not any(word in name.lower() for word in _INSTANCES))
            timely = [name for name in likely if self.time is None and sounds_like_time(name)][:1]
            found |= {f"{OTHER}{name}": name for name in dict.fromkeys(likely[:MOST_OTHERS] + timely)}
        return found


def sounds_like_time(name: str) -> bool:
    """Whether a column of this name may say when a row was logged, if its cells are dates.

    >>> [name for name in ("created_at", "requestTime", "Date", "release_date", "format") if sounds_like_time(name)]
    ['created_at', 'requestTime', 'Date']
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s-]+", "_", name.strip()).lower()
    return words in _TIMES or words.endswith(("_at", "_time", "_timestamp"))


def _present(asked: dict[str, str], present: list[str], where: str, owner: str) -> dict[str, str]:
    """Each column as the log spells it; NoColumn names those that are missing."""
    found = {role: _matches(role, name, present, owner) for role, name in asked.items()}
    more = len(present) - _MOST_LISTED
    it_has = f"it has {', '.join(present[:_MOST_LISTED])}" + f" and {more} more" * (more > 0)
    if missing := [role for role, group in found.items() if not group]:
        none = " and no ".join(repr(asked[role]) for role in missing)
        wanted = "the one" if len(missing) == 1 else "those"
        name = f"name {wanted} for the {' and the '.join(missing)}"
        raise NoColumn(f"{where} has no column {none}; {it_has}: {name}", missing)
    for role, group in found.items():
        if len(group) > 1:
            raise BadFile(f"{where} has {len(group)} columns for the {role}, {', '.join(group)}; {it_has}")
    return {role: group[0] for role, group in found.items()}


def _matches(role: str, name: object, present: list[str], owner: str) -> list[str]:
    """The columns of exactly this name, else those that differ in spaces and capitals only."""
    if not isinstance(name, str):
        raise BadParameter(owner, role, "the name of a column", name)
    alike = [there for there in present if there.strip().lower() == name.strip().lower()]
    return [there for there in alike if there == name] or alike
