"""How a pull ends: told, cancelled, charged."""

from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger.state import State
from outlay.campaign.pull import AnyPull, OpenPull, number_of, settled
from outlay.campaign.records import Pull, PullStatus, Receipt
from outlay.campaign.samples import checked_reward
from outlay.campaign.settings import Amount
from outlay.campaign.stores.base import Store
from outlay.campaign.terms import label, micros
from outlay.campaign.verbs.steps import Steps, later, once, seconds_of, verb
from outlay.errors import BadParameter


class Settling:
    """A mix-in with the verbs that settle a pull, or put its end off."""

    _ledger: Store
    _state: State  # as it was when the campaign was opened, for what never changes: its name, unit and terms

    @verb
    def tell(self, pull: AnyPull, cost: Amount, reward: float, *, timeout: float | None = None) -> Steps[Receipt]:
        """Record what a pull cost and earned; a failed pull may have a cost, and has reward 0.

        Args:
            pull: as `ask` or `pulls` gave it, or its number.
            cost: what it cost; rounded up to the campaign's unit, and then the receipt says `rounded`.
            reward: what it earned; True counts as 1, False as 0.
            timeout: seconds to wait for the store, if others hold it; then StoreBusy, and it may be told again.

        Telling the same outcome again changes nothing; telling a different one raises `CampaignConflict` (see `amend`).
        A pull that has expired can still be told.
        """
        receipt: Receipt = yield from once(self._tell(pull, cost, reward), seconds_of("tell", timeout))
        settled(pull)
        return receipt

    @verb
    def cancel(self, pull: AnyPull, reason: str = "") -> Steps[None]:
        """Say that a pull was never made: nothing is charged and nothing learned."""
        yield c.Void(self._number("cancel", pull), _note("cancel", reason))
        settled(pull)

    @verb
    def charge(self, pull: AnyPull) -> Steps[None]:
        """Give a pull up, and charge what was set aside for it until it is told after all.

        For calls that failed at an unknown cost: it stands as expired, as if its time were over.
        """
        yield c.Charge(self._number("charge", pull))
        settled(pull)

    @verb
    def extend(self, pull: AnyPull, ttl: float) -> Steps[None]:
        """Let a pull under way expire `ttl` seconds from now."""
        yield c.Extend(self._number("extend", pull), micros("extend", ttl))

    @verb
    def amend(
        self, pull: AnyPull, cost: Amount | None = None, reward: float | None = None, reason: str = ""
    ) -> Steps[Receipt]:
        """Correct what was told, cost or reward or both, on the record; the policy learns it if its memory can."""
        if cost is None and reward is None:
            raise BadParameter("amend", "cost", "given, or the reward, or both", None)
        units, rounded = (None, False) if cost is None else self._state.unit.measured("amend", "cost", cost)
        given = None if reward is None else checked_reward("amend", reward)
        receipt: Receipt = yield c.Amend(self._number("amend", pull), units, given, _note("amend", reason), rounded)
        return receipt

    atell, acancel, acharge = later(tell), later(cancel), later(charge)
    aextend, aamend = later(extend), later(amend)

    def _number(self, owner: str, pull: AnyPull) -> int:
        """The pull's number; pulls of other campaigns have the same numbers, so they are refused."""
        if isinstance(pull, OpenPull) and pull._owner is not self:
            theirs, ours = pull._owner._state, self._state
            if theirs.name != ours.name:
                raise BadParameter(owner, "pull", f"one of campaign {ours.name!r}", f"one of campaign {theirs.name!r}")
            if (theirs.opened, theirs.since) != (ours.opened, ours.since):
                raise BadParameter(owner, "pull", "one of this campaign", "one of another campaign of the same name")
        return number_of(owner, pull)

    def _tell(self, pull: AnyPull, cost: Amount, reward: float) -> c.Tell:
        units, rounded = self._state.unit.measured("tell", "cost", cost)
        arm = pull.arm if isinstance(pull, Pull | PullStatus) else None
        return c.Tell(self._number("tell", pull), units, checked_reward("tell", reward), arm, rounded)


def _note(owner: str, reason: object) -> str:
    return label(owner, "reason", reason) if reason != "" else ""
