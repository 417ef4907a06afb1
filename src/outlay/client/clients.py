"""`Client` and `AsyncClient`: a campaign that a service keeps, used like one of this process."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2

from outlay.campaign.ledger.events import Amount
from outlay.campaign.ledger.validation import label
from outlay.campaign.pull import AnyPull, AsyncClientPull, ClientPull, settled
from outlay.campaign.records import Pull, Receipt
from outlay.client import verbs
from outlay.client.patience import Attempts
from outlay.client.requests import Request, Requests, later, now, path_of
from outlay.client.spool import AT_ONCE, Spool
from outlay.errors import BadParameter, NoCampaign, ServiceError, StoreError, Unreachable

OUTAGE = 5.0  # seconds for which a service that could not be reached is not tried again for a tell that may wait


class _Base:
    """What both clients share: where the service is, who calls, and for how long to try."""

    def __init__(
        self,
        address: str,
        campaign: str = "default",
        *,
        key: str | None = None,
        patience: float = 60.0,
        timeout: float = 30.0,
        spool: str | Path | None = None,
    ) -> None:
        if not str(address).startswith(("http://", "https://")):
            raise BadParameter("Client", "address", "http://HOST:PORT or https://HOST", address)
        self.campaign = label("Client", "campaign", campaign)
        self._address, self._patience, self._timeout = address.rstrip("/"), patience, timeout
        self._spool = None if spool is None else Spool(spool)
        self._down_until = 0.0
        key = key or os.environ.get("OUTLAY_KEY")
        self._settings: dict[str, Any] = {
            "base_url": self._address,
            "verify": self._address.startswith("https"),  # without TLS there is nothing to load certificates for
            "headers": {"authorization": f"Bearer {key}"} if key else {},
        }
        self._connect()

    def _connect(self) -> None:
        """Be ready to send; no connection is made before the first request."""
        raise NotImplementedError

    def path(self, *parts: object) -> str:
        """The path of something in the campaign."""
        return path_of(self.campaign, *parts)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of campaign {self.campaign!r} at {self._address}>"

    def _tell(self, pull: AnyPull, cost: Amount, reward: float) -> Requests[Receipt]:
        """Tell; where there is a spool and the service is away, keep the tell there, to be delivered later."""
        if self._spool is None:
            return (yield from verbs.tell(self, pull, cost, reward))  # type: ignore[arg-type]
        if time.monotonic() >= self._down_until:
            try:
                yield from self._deliver()
                return (yield from verbs.tell(self, pull, cost, reward))  # type: ignore[arg-type]
            except NoCampaign:
                raise
            except (Unreachable, StoreError):
                self._down_until = time.monotonic() + OUTAGE
        tell = verbs.outcome("tell", pull, cost, reward)
        self._spool.add({"campaign": self.campaign, **tell})
        settled(pull)
        arm = pull.arm if isinstance(pull, Pull) else ""
        return Receipt(tell["pull"], arm, float(cost), tell["reward"], False, False, False)

    def _deliver(self) -> Requests[int]:
        """Deliver what waits in the spool; return how many tells that were.

        What the service will never take goes to the file of those that were refused: it must not keep others waiting.
        """
        done, most = 0, AT_ONCE
        while self._spool is not None and (some := self._spool.some(most)):
            campaign = some[0]["campaign"]
            tells = [*takewhile(lambda each, name=campaign: each["campaign"] == name, some)]  # type: ignore[misc]
            body = [{name: each[name] for name in ("pull", "cost", "reward")} for each in tells]
            try:
                results = (yield Request("POST", path_of(campaign, "tell"), body))["results"]
            except NoCampaign:
                results = [{"problem": {"code": "no_campaign"}}] * len(tells)
            except ServiceError as error:
                if error.code != "bad_request":
                    raise
                if len(tells) > 1:  # one of them is bad, and all were refused for it
                    most = 1
                    continue
                results = [{"problem": {"code": error.code, "detail": error.detail}}]
            self._spool.delivered(tells, results)
            done += len(tells)
        return done

    def _attempts(self, request: Request) -> Attempts:
        patience = min(self._patience, OUTAGE) if self._spool is not None else self._patience
        return Attempts(request, self._address, self.campaign, patience)


class Client(_Base):
    """A campaign of a service, with the verbs of `Campaign`. May be used from many threads.

    Every ask has a key before it is first sent, so whatever is lost on the way can be sent again, and is: for up to
    `patience` seconds, after pauses of random length, or as long as the service says.

    Args:
        address: of the service, as http://localhost:8700.
        campaign: its name.
        key: the key to use; OUTLAY_KEY in the environment if not given.
        patience: seconds for which a request is tried again where the service cannot be reached.
        timeout: seconds to wait for one answer.
        spool: a file for tells while the service cannot be reached: they are delivered with the next tell that gets
            through, or by `deliver`. The receipt of such a tell has an empty `head`.
    """

    def _connect(self) -> None:
        self._http = httpx2.Client(**self._settings)

    def held(self, pull: Pull) -> ClientPull:
        """A pull in hand."""
        return ClientPull.of(pull, self, self.campaign)

    def send(self, request: Request) -> Any:
        """Send a request until there is an answer."""
        attempts = self._attempts(request)
        while True:
            try:
                answer, pause = attempts.told(self._http.request(**attempts.arguments(self._timeout)))
            except httpx2.TransportError as error:
                answer, pause = None, attempts.failed(error)
            if pause is None:
                return answer
            time.sleep(pause)

    create, ask, ask_many, tell, tell_many = (
        now(verbs.create), now(verbs.ask), now(verbs.ask_many), now(_Base._tell), now(verbs.tell_many),
    )  # fmt: skip
    cancel, charge, extend, amend = now(verbs.cancel), now(verbs.charge), now(verbs.extend), now(verbs.amend)
    status, pulls, history = now(verbs.status), now(verbs.pulls), now(verbs.history)
    set_budget, set_requests, expect_requests = (
        now(verbs.set_budget), now(verbs.set_requests), now(verbs.expect_requests),
    )  # fmt: skip
    add_arm, disable_arm, enable_arm = now(verbs.add_arm), now(verbs.disable_arm), now(verbs.enable_arm)
    pause, resume, close = now(verbs.pause), now(verbs.resume), now(verbs.close)
    archive, restore = now(verbs.archive), now(verbs.restore)
    warm_start, deliver = now(verbs.warm_start), now(_Base._deliver)

    def disconnect(self) -> None:
        """Let the connections go; the campaign stays as it is."""
        self._http.close()
        if self._spool is not None:
            self._spool.close()

    def __iter__(self) -> Iterator[ClientPull]:
        """Pull after pull, waiting where none can be named at the moment, until the campaign ends."""
        while (pull := self.ask(wait=True)) is not None:
            yield pull

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.disconnect()


class AsyncClient(_Base):
    """`Client` for asyncio: the same verbs, awaited, and `async for pull in client`."""

    def _connect(self) -> None:
        self._http = httpx2.AsyncClient(**self._settings)

    def held(self, pull: Pull) -> AsyncClientPull:
        """A pull in hand."""
        return AsyncClientPull.of(pull, self, self.campaign)

    async def send(self, request: Request) -> Any:
        """Send a request until there is an answer."""
        attempts = self._attempts(request)
        while True:
            try:
                answer, pause = attempts.told(await self._http.request(**attempts.arguments(self._timeout)))
            except httpx2.TransportError as error:
                answer, pause = None, attempts.failed(error)
            if pause is None:
                return answer
            await asyncio.sleep(pause)

    create, ask, ask_many, tell, tell_many = (
        later(verbs.create), later(verbs.ask), later(verbs.ask_many), later(_Base._tell),
        later(verbs.tell_many),
    )  # fmt: skip
    cancel, charge, extend, amend = later(verbs.cancel), later(verbs.charge), later(verbs.extend), later(verbs.amend)
    status, pulls, history = later(verbs.status), later(verbs.pulls), later(verbs.history)
    set_budget, set_requests, expect_requests = (
        later(verbs.set_budget), later(verbs.set_requests), later(verbs.expect_requests),
    )  # fmt: skip
    add_arm, disable_arm, enable_arm = later(verbs.add_arm), later(verbs.disable_arm), later(verbs.enable_arm)
    pause, resume, close = later(verbs.pause), later(verbs.resume), later(verbs.close)
    archive, restore = later(verbs.archive), later(verbs.restore)
    warm_start, deliver = later(verbs.warm_start), later(_Base._deliver)

    async def disconnect(self) -> None:
        """Let the connections go; the campaign stays as it is."""
        await self._http.aclose()
        if self._spool is not None:
            self._spool.close()

    async def __aiter__(self) -> AsyncIterator[AsyncClientPull]:
        """Pull after pull, waiting where none can be named at the moment, until the campaign ends."""
        while (pull := await self.ask(wait=True)) is not None:
            yield pull

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.disconnect()
