"""Which columns of a log are the arm, the cost and the reward."""

from typing import NamedTuple

from outlay.errors import BadFile, BadParameter

_MOST_LISTED = 20


class NoColumn(BadFile):
    """A log has no column for some of the `roles` arm, cost and reward."""

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
        found = {role: _matches(role, name, present, owner) for role, name in self._asdict().items()}
        more = len(present) - _MOST_LISTED
        it_has = f"it has {', '.join(present[:_MOST_LISTED])}" + f" and {more} more" * (more > 0)
        if missing := [role for role, group in found.items() if not group]:
            none = " and no ".join(repr(getattr(self, role)) for role in missing)
            wanted = "the one" if len(missing) == 1 else "those"
            name = f"name {wanted} for the {' and the '.join(missing)}"
            raise NoColumn(f"{where} has no column {none}; {it_has}: {name}", missing)
        for role, group in found.items():
            if len(group) > 1:
                raise BadFile(f"{where} has {len(group)} columns for the {role}, {', '.join(group)}; {it_has}")
        chosen = Columns(*(group[0] for group in found.values()))
        if len(set(chosen)) < len(chosen):
            raise BadParameter(owner, "arm, cost and reward", "three different columns", ", ".join(chosen))
        return chosen


def _matches(role: str, name: object, present: list[str], owner: str) -> list[str]:
    """The columns of exactly this name, else those that differ in spaces and capitals only."""
    if not isinstance(name, str):
        raise BadParameter(owner, role, "the name of a column", name)
    alike = [there for there in present if there.strip().lower() == name.strip().lower()]
    return [there for there in alike if there == name] or alike
