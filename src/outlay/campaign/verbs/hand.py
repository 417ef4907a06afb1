"""How a pull ends: told, void, charged; by the campaign or by the pull in hand, whose `with` block leaves none open."""

import asyncio
import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Literal, Self

from outlay.campaign import log
from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger.state import State
from outlay.campaign.records import Pull, PullStatus, Receipt
from outlay.campaign.samples import checked_reward
from outlay.campaign.settings import Amount
from outlay.campaign.stores.base import Store
from outlay.campaign.terms import label, micros
from outlay.campaign.verbs.steps import Steps, later, once, seconds_of, verb
from outlay.checks import whole, word
from outlay.errors import BadParameter, CampaignConflict
from outlay.text import listed

AnyPull = Pull | PullStatus | int  # as `ask` or `pulls` give it, or the number of its decision
OnError = Literal["charge", "void"]
Failure = type[BaseException] | None


class OpenPull(Pull):
    """A pull as `ask` returns it: a `Pull` that knows its campaign.

    In a `with` or `async with` statement it is settled when the block is left. After an exception, cancellation
    included, what was set aside is charged: the call may have cost that much. `with pull.on_error("void"):` says that
    what raises costs nothing. A block left without a tell is charged as well, and the log says so. What is charged
    counts until the pull is told after all.

    >>> from outlay.campaign import Campaign
    >>> campaign = Campaign({"a": 1.0}, budget=2.0)
    >>> for pull in campaign:
    ...     with pull:
    ...         receipt = pull.tell(cost=0.75, reward=True)
    >>> campaign.status().spent
    2.25
    """

    _campaign: "Settling"
    _settled: bool = False
    _on_error: OnError = "charge"

    @classmethod
    def of(cls, pull: Pull, campaign: "Settling") -> Self:
        """The pull in hand."""
        self = tuple.__new__(cls, pull)  # as the pull is: its fields need no second look
        self._campaign = campaign
        return self

    def on_error(self, choice: OnError) -> Self:
        """The same pull; what its `with` block does after an exception: "charge" what was set aside, or "void" it."""
        self._on_error = word("on_error", "choice", choice, ("charge", "void"))  # type: ignore[assignment]
        return self

    def tell(self, cost: Amount, reward: float) -> Receipt:
        """Record what it cost and earned."""
        return self._campaign.tell(self, cost, reward)

    async def atell(self, cost: Amount, reward: float) -> Receipt:
        """`tell` for asyncio."""
        return await self._campaign.atell(self, cost, reward)

    def void(self, reason: str = "") -> None:
        """Say that it was never made: nothing is charged and nothing learned."""
        self._campaign.void(self, reason)

    async def avoid(self, reason: str = "") -> None:
        """`void` for asyncio."""
        await self._campaign.avoid(self, reason)

    def charge(self) -> None:
        """Give it up, and charge what was set aside for it until it is told after all."""
        self._campaign.charge(self)

    async def acharge(self) -> None:
        """`charge` for asyncio."""
        await self._campaign.acharge(self)

    def extend(self, ttl: float) -> None:
        """Let it expire `ttl` seconds from now."""
        self._campaign.extend(self, ttl)

    async def aextend(self, ttl: float) -> None:
        """`extend` for asyncio."""
        await self._campaign.aextend(self, ttl)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Failure, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._settled:
            try:
                self.void(_reason(kind)) if self._voids(kind) else self.charge()
            except CampaignConflict:
                return  # it was settled by somebody who has another copy of it

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: Failure, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._settled:
            await asyncio.shield(self._aend(kind))  # a task that is cancelled again still leaves no pull open

    async def _aend(self, kind: Failure) -> None:
        try:
            await (self.avoid(_reason(kind)) if self._voids(kind) else self.acharge())
        except CampaignConflict:
            return

    def __reduce__(self) -> tuple[type[Pull], tuple[Any, ...]]:
        return Pull, tuple(self)  # what travels to another process is the pull, not the campaign

    def _voids(self, kind: Failure) -> bool:
        if kind is None:
            log.untold(self._campaign._state.name, self.decision)
        return kind is not None and self._on_error == "void"


class Settling:
    """A mix-in with the verbs that settle a pull, or put its end off."""

    _ledger: Store
    _state: State  # as it was when the campaign was opened, for what never changes: its name, unit and terms

    @verb
    def tell(self, pull: AnyPull, cost: Amount, reward: float, *, timeout: float | None = None) -> Steps[Receipt]:
        """Record what a pull cost and earned; a failed pull may have a cost, and has reward 0.

        Args:
            pull: as `ask` or `pulls` gave it, or the number of its decision.
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
    def void(self, pull: AnyPull, reason: str = "") -> Steps[None]:
        """Say that a pull was never made: nothing is charged and nothing learned."""
        yield c.Void(self._number("void", pull), _note("void", reason))
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

    atell, avoid, acharge = later(tell), later(void), later(charge)
    aextend, aamend = later(extend), later(amend)

    def _number(self, owner: str, pull: AnyPull) -> int:
        """The decision's number; decisions of other campaigns have the same numbers, so their pulls are refused."""
        if isinstance(pull, OpenPull) and pull._campaign is not self:
            theirs, ours = pull._campaign._state, self._state
            if theirs.name != ours.name:
                raise BadParameter(owner, "pull", f"one of campaign {ours.name!r}", f"one of campaign {theirs.name!r}")
            if (theirs.opened, theirs.since) != (ours.opened, ours.since):
                raise BadParameter(owner, "pull", "one of this campaign", "one of another campaign of the same name")
        return number_of(owner, pull)

    def _tell(self, pull: AnyPull, cost: Amount, reward: float) -> c.Tell:
        units, rounded = self._state.unit.measured("tell", "cost", cost)
        arm = pull.arm if isinstance(pull, Pull | PullStatus) else None
        return c.Tell(self._number("tell", pull), units, checked_reward("tell", reward), arm, rounded)


def forgotten(campaign: str, pulls: Sequence[Pull]) -> None:
    """Warn of pulls that a loop was given and that nobody has settled, while it waits for the next."""
    if pulls:
        names = listed([f"decision {pull.decision} ({pull.arm})" for pull in pulls])
        why = f"campaign {campaign!r} waits for a pull, and {names} of this loop was not told, voided or charged"
        warnings.warn(f"{why}: was that forgotten?", UserWarning, stacklevel=2)


def settled(pull: object) -> None:
    """It needs no end any more."""
    if isinstance(pull, OpenPull):
        pull._settled = True


def number_of(owner: str, pull: object) -> int:
    """A decision's number, from its pull or from the number itself."""
    if isinstance(pull, Pull | PullStatus):
        return pull.decision
    try:
        return whole(owner, "pull", pull, at_least=1, at_most=2**63 - 1)
    except BadParameter:
        if isinstance(pull, (int, float)) and not isinstance(pull, bool):
            raise
        raise BadParameter(owner, "pull", "a Pull, as ask returns it, or the number of a decision", pull) from None


def _reason(kind: Failure) -> str:
    return "" if kind is None else f"left with {kind.__name__}"[:200]


def _note(owner: str, reason: object) -> str:
    return label(owner, "reason", reason) if reason != "" else ""
