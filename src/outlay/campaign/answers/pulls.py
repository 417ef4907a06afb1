"""The pulls of a campaign as a table: one row per decision, what became of it, and what its asker noted about it."""

from datetime import datetime
from typing import Any, NamedTuple

from outlay.campaign.answers.replies import arm_name, when
from outlay.campaign.ledger.agreement import SEPARATOR, plain_key, spellings
from outlay.campaign.ledger.events import Asked
from outlay.campaign.ledger.money import Unit
from outlay.campaign.ledger.state import Decision, Said, Standing, said

_STANDINGS: tuple[Standing, ...] = ("pending", "told", "voided", "expired")
IN_THE_LEDGER: dict[str, Standing] = {said(standing): standing for standing in _STANDINGS}

Found = tuple[Decision, Asked]  # a decision as it stands, and the event that made it


class Wanted(NamedTuple):
    """Which decisions to find: those that agree with all that is given, at most `limit`, after the number `after`."""

    standing: Standing | None = None
    tag: str | None = None
    key: str | None = None
    after: int = 0
    limit: int | None = None

    def fits(self, decision: Decision, asked: Asked) -> bool:
        """Whether it is one of those, `limit` aside."""
        return (
            decision.number > self.after
            and self.standing in (None, decision.standing)
            and (self.key is None or self._has_key(decision.key))
            and (self.tag is None or self.tag in asked.tags)
        )

    def _has_key(self, key: str | None) -> bool:
        """Whether that is the key, or the key of one of many that were asked for with it."""
        return key is not None and (key in spellings(self.key or "") or key.startswith(f"{self.key}/{SEPARATOR}"))


class PullStatus(NamedTuple):
    """How one pull stands: "open" (under way), "told", "void", or "expired" (given up, or not told in time).

    `cost` and `reward` are what it counts for now: as it was told, charged or amended; None if it counts for nothing.
    """

    decision: int
    arm: str
    standing: Said
    asked: datetime
    expires: datetime | None
    reserved: float
    cost: float | None
    reward: float | None
    late: bool
    overrun: bool
    amended: bool
    propensity: float | None
    key: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    fallback: bool = False


def pull_status(found: Found, unit: Unit, names: list[str]) -> PullStatus:
    """A decision as users see it; `names` are those of the arms."""
    decision, event = found
    asked = when(decision.asked)
    assert asked is not None  # noqa: S101 (every decision has its time)
    return PullStatus(
        decision=decision.number,
        arm=arm_name(names, decision.arm),
        standing=said(decision.standing),
        asked=asked,
        expires=when(decision.expires),
        reserved=unit.amount(decision.reserved),
        cost=None if decision.cost is None else unit.amount(decision.cost),
        reward=decision.reward,
        late=decision.late,
        overrun=decision.overrun,
        amended=decision.amended,
        propensity=decision.propensity,
        key=None if decision.key is None else plain_key(decision.key),
        tags=event.tags,
        metadata=event.metadata or {},
        fallback=decision.fallback,
    )
