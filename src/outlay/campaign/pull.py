"""A pull in hand: it can be told, cancelled, charged and extended, and its `with` block leaves none open."""

import asyncio
import logging
import warnings
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, ClassVar, Literal, Self, get_args

from msgspec.structs import astuple

from outlay.campaign.ledger.events import Amount, PullName
from outlay.campaign.ledger.validation import label
from outlay.campaign.records import Pull, PullStatus, Receipt
from outlay.campaign.waiting import log
from outlay.checks import whole, word
from outlay.errors import BadParameter, CampaignConflict
from outlay.text import listed

AnyPull = Pull | PullStatus | int | str  # as `ask` or `pulls` give it, or its number, or the key it was asked with
OnError = Literal["charge", "cancel"]
Failure = type[BaseException] | None


class PullInHand(Pull, frozen=True, dict=True):
    """A `Pull` that knows the campaign or the client it came from.

    In a `with` or `async with` statement it is settled when the block is left. After an exception, cancellation
    included, what was set aside is charged: the call may have cost that much. `with pull.on_error("cancel"):` says that
    what raises costs nothing. A block left without a tell is charged as well, and the log says so. What is charged
    counts until the pull is told after all.
    """

    # Attributes of a pull, and no fields of the record.
    _owner: ClassVar[Any]  # which has the same verbs
    _campaign: ClassVar[str]
    _settled: ClassVar[bool] = False
    _on_error: ClassVar[OnError] = "charge"

    @classmethod
    def of(cls, pull: Pull, owner: object, campaign: str) -> Self:
        """The pull in the hands of whoever asked for it."""
        self = cls(*astuple(pull))
        vars(self).update(_owner=owner, _campaign=campaign)
        return self

    def on_error(self, choice: OnError) -> Self:
        """The same pull; what its `with` block does after an exception: "charge" what was set aside, or "cancel" it."""
        vars(self)["_on_error"] = word("on_error", "choice", choice, get_args(OnError))
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pull) and astuple(self) == astuple(other)

    def __hash__(self) -> int:
        return hash(Pull(*astuple(self)))

    def __reduce__(self) -> tuple[type[Pull], tuple[Any, ...]]:
        return Pull, astuple(self)  # what travels to another process is the pull, not the campaign

    def _reason_to_cancel(self, kind: Failure) -> str | None:
        """Why its `with` block, left untold, cancels it; None where it is charged."""
        if kind is None:
            message = "pull %d was left without a tell: what was set aside is charged"
            log(logging.WARNING, self._campaign, message, self.id)
            return None
        return f"left with {kind.__name__}"[:200] if self._on_error == "cancel" else None


class ClientPull(PullInHand, frozen=True, dict=True):
    """A pull whose verbs wait, as a `Client` gives it."""

    def tell(self, cost: Amount, reward: float | None = None) -> Receipt:
        """Record what it cost and earned; without a reward, `reward` gives it later."""
        return self._owner.tell(self, cost, reward)  # type: ignore[no-any-return]

    def reward(self, value: float) -> Receipt:
        """Record what it earned, after its cost was told."""
        return self._owner.reward(self, value)  # type: ignore[no-any-return]

    def cancel(self, reason: str = "") -> None:
        """Say that it was never made: nothing is charged and nothing learned."""
        self._owner.cancel(self, reason)

    def charge(self) -> None:
        """Give it up, and charge what was set aside for it until it is told after all."""
        self._owner.charge(self)

    def extend(self, ttl: float) -> None:
        """Let it expire `ttl` seconds from now."""
        self._owner.extend(self, ttl)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Failure, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._settled:
            reason = self._reason_to_cancel(kind)
            with suppress(CampaignConflict):  # it was settled by somebody who has another copy of it
                self.charge() if reason is None else self.cancel(reason)


class OpenPull(ClientPull, frozen=True, dict=True):
    """A pull as `Campaign.ask` returns it: each of its verbs has a form for asyncio.

    >>> from outlay.campaign import Campaign
    >>> campaign = Campaign({"a": 1.0}, budget=2.0)
    >>> for pull in campaign:
    ...     with pull:
    ...         receipt = pull.tell(cost=0.75, reward=True)
    >>> campaign.status().spent
    2.25
    """

    async def atell(self, cost: Amount, reward: float | None = None) -> Receipt:
        """`tell` for asyncio."""
        return await self._owner.atell(self, cost, reward)  # type: ignore[no-any-return]

    async def areward(self, value: float) -> Receipt:
        """`reward` for asyncio."""
        return await self._owner.areward(self, value)  # type: ignore[no-any-return]

    async def acancel(self, reason: str = "") -> None:
        """`cancel` for asyncio."""
        await self._owner.acancel(self, reason)

    async def acharge(self) -> None:
        """`charge` for asyncio."""
        await self._owner.acharge(self)

    async def aextend(self, ttl: float) -> None:
        """`extend` for asyncio."""
        await self._owner.aextend(self, ttl)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: Failure, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._settled:
            reason = self._reason_to_cancel(kind)
            end = self.acharge() if reason is None else self.acancel(reason)
            await asyncio.shield(_unless_settled(end))  # a task that is cancelled again still leaves no pull open


class AsyncClientPull(PullInHand, frozen=True, dict=True):
    """A pull as an `AsyncClient` gives it: everything is awaited."""

    async def tell(self, cost: Amount, reward: float | None = None) -> Receipt:
        """Record what it cost and earned; without a reward, `reward` gives it later."""
        return await self._owner.tell(self, cost, reward)  # type: ignore[no-any-return]

    async def reward(self, value: float) -> Receipt:
        """Record what it earned, after its cost was told."""
        return await self._owner.reward(self, value)  # type: ignore[no-any-return]

    async def cancel(self, reason: str = "") -> None:
        """Say that it was never made: nothing is charged and nothing learned."""
        await self._owner.cancel(self, reason)

    async def charge(self) -> None:
        """Give it up, and charge what was set aside for it until it is told after all."""
        await self._owner.charge(self)

    async def extend(self, ttl: float) -> None:
        """Let it expire `ttl` seconds from now."""
        await self._owner.extend(self, ttl)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: Failure, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._settled:
            reason = self._reason_to_cancel(kind)
            await asyncio.shield(_unless_settled(self.charge() if reason is None else self.cancel(reason)))


def forgotten(campaign: str, pulls: Sequence[Pull]) -> None:
    """Warn of pulls that a loop was given and that nobody has settled, while it waits for the next."""
    if pulls:
        names = listed([f"pull {pull.id} ({pull.arm})" for pull in pulls])
        why = f"campaign {campaign!r} waits for a pull, and {names} of this loop was not told, cancelled or charged"
        warnings.warn(f"{why}: was that forgotten?", UserWarning, stacklevel=2)


def settled(pull: object) -> None:
    """It needs no end any more."""
    if isinstance(pull, PullInHand):
        vars(pull)["_settled"] = True


def name_of(owner: str, pull: object) -> PullName:
    """A pull's number, from the pull or from the number itself; or its key."""
    if isinstance(pull, Pull | PullStatus):
        return int(pull.id)
    if isinstance(pull, str):
        return label(owner, "pull", pull)
    try:
        return whole(owner, "pull", pull, at_least=1, at_most=2**63 - 1)
    except BadParameter:
        if isinstance(pull, (int, float)) and not isinstance(pull, bool):
            raise
        raise BadParameter(owner, "pull", "a Pull, as ask returns it, its number or its key", pull) from None


async def _unless_settled(end: Coroutine[Any, Any, None]) -> None:
    with suppress(CampaignConflict):  # it was settled by somebody who has another copy of it
        await end
