"""Pulls in the hands of whoever asked for them: each knows its client, and a `with` block leaves none open."""

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from outlay.campaign.records import Pull, Receipt
from outlay.campaign.settings import Amount
from outlay.errors import CampaignConflict

if TYPE_CHECKING:
    from outlay.client.clients import AsyncClient, Client

Failure = type[BaseException] | None


class HeldPull(Pull):
    """A pull of a `Client`. Left untold, or by an exception, its `with` block charges what was set aside."""

    _client: "Client"
    _settled = False

    @classmethod
    def of(cls, pull: Pull, client: "Client") -> Self:
        """The pull in hand."""
        self = tuple.__new__(cls, pull)
        self._client = client
        return self

    def tell(self, cost: Amount, reward: float) -> Receipt:
        """Record what it cost and earned."""
        receipt = self._client.tell(self, cost, reward)
        self._settled = True
        return receipt

    def void(self, reason: str = "") -> None:
        """Say that it was never made."""
        self._client.void(self, reason)
        self._settled = True

    def charge(self) -> None:
        """Give it up, and charge what was set aside for it until it is told after all."""
        self._client.charge(self)
        self._settled = True

    def extend(self, ttl: float) -> None:
        """Let it expire `ttl` seconds from now."""
        self._client.extend(self, ttl)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Failure, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._settled:
            try:
                self.charge()
            except CampaignConflict:
                return  # somebody who has another copy of it has settled it

    def __reduce__(self) -> tuple[type[Pull], tuple[Any, ...]]:
        return Pull, tuple(self)


class AsyncHeldPull(Pull):
    """The same of an `AsyncClient`: everything is awaited."""

    _client: "AsyncClient"
    _settled = False

    @classmethod
    def of(cls, pull: Pull, client: "AsyncClient") -> Self:
        """The pull in hand."""
        self = tuple.__new__(cls, pull)
        self._client = client
        return self

    async def tell(self, cost: Amount, reward: float) -> Receipt:
        """Record what it cost and earned."""
        receipt = await self._client.tell(self, cost, reward)
        self._settled = True
        return receipt

    async def void(self, reason: str = "") -> None:
        """Say that it was never made."""
        await self._client.void(self, reason)
        self._settled = True

    async def charge(self) -> None:
        """Give it up, and charge what was set aside for it until it is told after all."""
        await self._client.charge(self)
        self._settled = True

    async def extend(self, ttl: float) -> None:
        """Let it expire `ttl` seconds from now."""
        await self._client.extend(self, ttl)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: Failure, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._settled:
            try:
                await self.charge()
            except CampaignConflict:
                return

    def __reduce__(self) -> tuple[type[Pull], tuple[Any, ...]]:
        return Pull, tuple(self)
