"""A policy as an experiment file names it: which one, under which label, with which parameters."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, cast

from outlay import policies
from outlay.arms import Problem
from outlay.checks import line
from outlay.errors import BadParameter, NotCovered
from outlay.parameters import signature_of
from outlay.policies.protocol import Policy
from outlay.problem_policies import OWN_FACTS, fact, own_policy, policy_for
from outlay.text import one_of
from outlay.usercode import YOURS, found, is_reference

Table = dict[str, Any]  # of TOML, or of a policy's parameters: what it holds is checked where it is read

KNOWN = "known"
# What a problem can say about itself, by the names of the parameters that ask for it.
FACTS = (*OWN_FACTS, "cost_moment", "reward_moment", "slope_bound")


class Player(NamedTuple):
    """A policy as the file describes it, before it is told about its problem.

    A parameter that the file leaves out, or gives as "known", is filled in as `outlay compare --policy` does it.

    >>> from outlay.arms import catalogue
    >>> Player("UCBB2", "UCB-B2", {"alpha": 3.0}).on(catalogue.load("H"))
    UCBB2(cost_bound=1.0, reward_bound=1.0, alpha=3.0, min_cost=0.125, factor=1.4)
    """

    name: str
    label: str
    parameters: Table
    own: type | None = None  # the class, where the policy is the user's

    @property
    def kind(self) -> Callable[..., Policy]:
        """The policy's class."""
        return policies.BY_NAME[self.name] if self.own is None else self.own

    @property
    def takes(self) -> list[str]:
        """The parameters that a file may give; the budget and the requests come from the run."""
        return [name for name in signature_of(cast("type", self.kind)) if name not in ("budget", "requests")]

    def on(self, problem: Problem) -> Policy:
        """The policy, told what it asks for; NotCovered where `problem` cannot say."""
        given = {name: value for name, value in self.parameters.items() if value != KNOWN}
        asked = self.parameters.keys() - given.keys()
        known = self._known(problem, given)
        known |= {name: fact(problem, name) for name in sorted(asked) if known.get(name) is None}
        if self.own is not None:
            return cast("Policy", own_policy(problem, self.own, {**known, **given}))
        return self.kind(**{**known, **given})

    def _known(self, problem: Problem, given: Table) -> Table:
        """What the policy is told by default; nothing where the file gives every parameter itself."""
        if self.own is not None:
            return {}
        try:
            usual = policy_for(problem, self.name)
        except NotCovered:
            needed = [name for name, p in signature_of(cast("type", self.kind)).items() if p.default is p.empty]
            if given.keys() >= set(needed) and len(given) == len(self.parameters):
                return {}
            raise
        return {name: value for name, value in usual.arguments().items() if name in FACTS}


def player(table: Table, number: int, folder: Path | None = None) -> Player:
    """The policy that a `[[policies]]` table describes, the first of which has number 1; yours are in `folder`."""
    where = f"policy {number}"
    values = dict(table)
    name = values.pop("name", None)
    own = found(where, "name", name, folder or Path()) if is_reference(name) else None
    kind = own or policies.named(name)
    if kind is None:
        raise BadParameter(where, "name", one_of((*policies.BY_NAME, YOURS), name), name)
    made = Player(kind.__name__, line(where, "label", values.pop("label", kind.__name__)), values, own)
    for key, value in values.items():
        check(made, key, value)
    return made


def check(one: Player, name: str, value: object) -> None:
    """Refuse a parameter that the policy does not have, or that no problem can know."""
    if name not in one.takes:
        takes = ", ".join(one.takes)
        allowed = f"one of name, label, {takes}" if takes else "name or label: it has no parameters"
        raise BadParameter(f"policy {one.label!r}, {one.name},", "a key", allowed, name)
    if value == KNOWN and name not in FACTS:
        facts = [fact for fact in one.takes if fact in FACTS]
        allowed = "a value: a problem knows " + (", ".join(facts) if facts else "nothing that it asks for")
        raise BadParameter(f"policy {one.label!r}, {one.name},", name, allowed, value)
