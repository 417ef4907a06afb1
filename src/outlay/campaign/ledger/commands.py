"""What can be asked of a campaign: plain records, already checked and in units, for `decide`."""

from typing import Any, NamedTuple

from outlay.campaign.ledger.agreement import SEPARATOR
from outlay.campaign.ledger.events import ArmTerms, Terms


class Open(NamedTuple):
    """Open the campaign."""

    name: str
    arms: tuple[ArmTerms, ...]
    budget: int
    terms: Terms
    requests: int | None = None


class Ask(NamedTuple):
    """Name an arm; the same key gives the same decision, with the tags and metadata it was first asked with."""

    key: str | None = None
    ttl: int | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None


def one_of_many(key: str, number: int) -> str:
    """The key of one of many asks; no ask by itself can have it.

    >>> one_of_many("job", 0) == "job/0"
    False
    """
    return f"{key}/{SEPARATOR}{number}"


class Tell(NamedTuple):
    """Settle what a decision cost and earned; `arm`, if the teller knows it, must be the decision's."""

    decision: int
    cost: int
    reward: float
    arm: str | None = None
    rounded: bool = False  # the cost, up to a whole unit


class Void(NamedTuple):
    """Say that the pull was never made."""

    decision: int
    reason: str = ""


class Charge(NamedTuple):
    """Give a pull up, and charge what was set aside for it until it is told after all."""

    decision: int


class Extend(NamedTuple):
    """Give a decision more time, from now."""

    decision: int
    ttl: int


class Amend(NamedTuple):
    """Correct what was told; None leaves the cost or the reward as it is."""

    decision: int
    cost: int | None
    reward: float | None
    reason: str = ""
    rounded: bool = False


class SetBudget(NamedTuple):
    """Change the budget."""

    budget: int


class SetRequests(NamedTuple):
    """Change how many pulls may be made in all."""

    requests: int


class Expect(NamedTuple):
    """Say how many requests are still to come."""

    requests: int


class AddArm(NamedTuple):
    """Open another arm."""

    arm: ArmTerms


class DisableArm(NamedTuple):
    """Stop pulling an arm."""

    arm: str


class EnableArm(NamedTuple):
    """Pull a disabled arm again."""

    arm: str


class Warm(NamedTuple):
    """Learn from samples made elsewhere."""

    arms: tuple[str, ...]
    costs: tuple[float, ...]
    rewards: tuple[float, ...]
    key: str
    source: str = ""


class Pause(NamedTuple):
    """Name no arm until further notice."""


class Resume(NamedTuple):
    """Name arms again."""


class Close(NamedTuple):
    """Name no arm any more."""


class Archive(NamedTuple):
    """Put the campaign away."""


class Restore(NamedTuple):
    """Bring it back."""


class Weigh(NamedTuple):
    """Say which arm would be named now, and what for; nothing happens."""


class Sweep(NamedTuple):
    """Let what is overdue expire, and a window that is over give way to the next."""


Command = (
    Open | Ask | Tell | Void | Charge | Extend | Amend | SetBudget | SetRequests | Expect | AddArm | DisableArm
    | EnableArm | Warm | Pause | Resume | Close | Archive | Restore | Weigh | Sweep
)  # fmt: skip
