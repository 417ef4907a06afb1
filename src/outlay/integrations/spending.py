"""What calls are paid from: a campaign in memory, in a file, in PostgreSQL or behind `outlay serve`, by one address."""

import asyncio
import json
import logging
import time
import unicodedata
from collections.abc import Container, Iterable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from outlay.campaign import Campaign
from outlay.campaign.context import RequestContext, agreed_kinds
from outlay.campaign.ledger.events import Amount, ContextKinds
from outlay.campaign.pull import AnyPull
from outlay.campaign.reasons import Reasons
from outlay.campaign.records import Pull, Receipt, Status
from outlay.errors import BadParameter, BudgetSpent, OutlayError, ServiceError
from outlay.integrations.prompts import PROMPT_CONTEXT, prompt_context

if TYPE_CHECKING:
    from outlay.client import AsyncClient, Client

REMOTE = ("http://", "https://")
SOON = 5.0  # seconds that a service has to say what requests it is told of
FRESH = 1.0  # seconds for which reasons that were found are told again
PER_REQUEST = 100  # tokens that a provider may add to a prompt
PER_MESSAGE = 16
PER_TOOL = 64
FORMATTED = 1000  # where there are tools at all, or a format of the answer
REFUSED = frozenset(range(400, 452)) - {408, 424}  # 408: it took too long; 424: something failed on the way
BILLED = ("content_filter", "content_policy_violation", "context_length_exceeded")  # refusals that Azure bills
_log = logging.getLogger("outlay.spending")


def campaign_at(
    store: "Campaign | Client | str | None",
    name: str = "default",
    arms: Any = None,
    budget: Amount | None = None,
    **terms: Any,
) -> "Campaign | Client":
    """The campaign at an address: made on these terms, or opened, where there is one of this name on the same.

    Args:
        store: None for this program's memory; "sqlite:///spend.db", "postgresql://…" or the "http://…" of a service; a
            campaign or client is given back as it is.
        name: its name there.
        arms: as `Campaign` takes them.
        budget: as `Campaign` takes it; None opens the campaign that is there, whatever its terms.
        terms: all others that `Campaign` takes.

    >>> campaign_at(None, "bill", ["small", "large"], 10, currency="USD")
    <Campaign 'bill': open, 0 of 10 USD spent in 0 pulls by Thrifty>
    """
    if store is not None and not isinstance(store, str):
        if not hasattr(store, "disconnect"):
            raise BadParameter("campaign_at", "store", "an address, a campaign, a client, or None", store)
        return store
    if store is None and budget is None:
        raise BadParameter("campaign_at", "budget", "given for a campaign in memory", budget)
    if store is not None and store.startswith(REMOTE):
        from outlay.client import Client

        client = Client(store, name)
        if budget is not None:
            client.create(arms, budget, **terms)
        return client
    if budget is not None:
        return Campaign(arms, budget, store=store, name=name, **terms)
    return Campaign.open(str(store), name)


def check_context(owner: str, campaign: "Campaign | Client", context: ContextKinds) -> None:
    """Refuse a context that is not the one the campaign was opened with.

    A campaign behind a service is asked about the context of prompts alone, and where the service does not answer,
    nothing is refused before the first ask.
    """
    kinds, prompts = agreed_kinds(context), agreed_kinds(PROMPT_CONTEXT)
    had = f"what campaign {campaign._named()!r} was opened with"
    if isinstance(campaign, Campaign):
        if campaign.context != kinds:
            shown = "prompt" if campaign.context == prompts else campaign.context
            raise BadParameter(owner, "context", f"{had}, {shown!r}", "prompt" if kinds == prompts else context)
    elif kinds == prompts:
        once = copy(campaign)
        once._retry_for, once._timeout = 0.0, SOON
        try:
            once.reasons(1, prompt_context(""))
        except ServiceError as error:
            if error.detail.startswith("context"):
                raise BadParameter(owner, "context", had, "prompt") from error
        except OutlayError:  # it cannot be reached, or the key may not read
            pass


def warn_without_requests(status: Status) -> None:
    """Say in the log that a campaign which is told of requests does not know how many there are."""
    if status.requests is None and status.expected is None:
        _log.warning(
            "campaign %r does not know how many requests there are, and may name nearly always the arm with the most "
            "reward per cost, whatever the request: say requests, or expect_requests",
            status.name,
        )


def tokens_at_most(request: str, messages: int, tools: int, formatted: bool) -> int:
    """How many tokens a prompt can have whose text is all in this request.

    A token is a byte at least, and some tokenizers rewrite the text before they count (NFKC), which may make it longer.

    >>> tokens_at_most("Why?", messages=1, tools=0, formatted=False)
    120
    """
    rewritten = request if request.isascii() else unicodedata.normalize("NFKC", request)
    size = max(len(text.encode(errors="surrogatepass")) for text in (request, rewritten))
    added = PER_REQUEST + PER_MESSAGE * messages + PER_TOOL * tools
    return size + added + (FORMATTED if tools or formatted else 0)


def costs_nothing(status: int, content: bytes, not_billed: Container[int] = ()) -> bool:
    """Whether a provider that answered with this error certainly bills nothing.

    A status from 400 to 451 says that the request was refused before any work was done. After 408, 424, 499 and 5xx, of
    which some providers bill some, it may have been done; so too where a filter or a limit has refused what was read.

    Args:
        status: of the answer.
        content: its body.
        not_billed: statuses of which the user knows better.

    >>> costs_nothing(429, b""), costs_nothing(500, b""), costs_nothing(500, b"", not_billed=[500])
    (True, False, True)
    >>> costs_nothing(400, b'{"error": {"code": "content_filter"}}')
    False
    """
    if status in not_billed or status not in REFUSED:
        return status in not_billed
    try:
        return json.loads(content)["error"]["code"] not in BILLED
    except (ValueError, LookupError, TypeError, RecursionError):
        return True


class Spending:
    """The verbs of a campaign for asyncio, the same wherever it is, and from any event loop.

    >>> async def one_call():
    ...     async with Spending(campaign_at(None, "bill", ["small"], 10)) as spending:
    ...         pull = await spending.ask(most=0.5)
    ...         receipt = await spending.tell(pull, 0.25, 1)
    ...         return (await spending.status()).spent
    >>> asyncio.run(one_call())
    0.25
    """

    def __init__(self, campaign: "Campaign | Client") -> None:
        self.campaign = campaign
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncClient] = WeakKeyDictionary()
        self._reasons: Reasons | None = None
        self._reasons_at = -FRESH
        self._looking: asyncio.Task[None] | None = None
        self._requests_differ = False

    async def ask(
        self,
        key: str | None = None,
        ttl: float | None = None,
        *,
        most: Amount | Mapping[str, Amount] | None = None,
        arms: Iterable[str] | None = None,
        wait: bool | float = False,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        context: RequestContext | None = None,
    ) -> Pull:
        """The next pull, as `Campaign.ask` names it; BudgetSpent where that has ended."""
        given = {"most": most, "arms": arms, "wait": wait, "tags": tags, "metadata": metadata, "context": context}
        self._requests_differ = context is not None
        pull: Pull | None = await self._verb("ask")(key, ttl, **given)
        if pull is None:
            raise BudgetSpent(self.campaign._named())
        return pull

    async def tell(self, pull: AnyPull, cost: Amount, reward: float | None = None) -> Receipt:
        """`Campaign.tell`."""
        return await self._verb("tell")(pull, cost, reward)  # type: ignore[no-any-return]

    async def reward(self, pull: AnyPull, value: float) -> Receipt:
        """`Campaign.reward`."""
        return await self._verb("reward")(pull, value)  # type: ignore[no-any-return]

    async def cancel(self, pull: AnyPull, reason: str = "") -> None:
        """`Campaign.cancel`."""
        await self._verb("cancel")(pull, reason)

    async def charge(self, pull: AnyPull) -> None:
        """`Campaign.charge`."""
        await self._verb("charge")(pull)

    async def status(self) -> Status:
        """`Campaign.status`."""
        return await self._verb("status")()  # type: ignore[no-any-return]

    def reason(self, pull: Pull) -> str | None:
        """Why this arm, in a sentence, by what was known at a call before, so that none waits; None if not known.

        None, too, where requests have a context: each has reasons of its own, and these take longer than an ask.
        """
        if pull.fallback:
            return "The budget is spent, and this is the fallback."
        if self._requests_differ:
            return None
        if time.monotonic() - self._reasons_at >= FRESH and (self._looking is None or self._looking.done()):
            self._looking = asyncio.ensure_future(self._look())
        if self._reasons is None:
            return None
        about = {arm.name: arm.words for arm in self._reasons.arms}
        return self._reasons.words if pull.arm == self._reasons.arm else about.get(pull.arm)

    async def _look(self) -> None:
        try:
            self._reasons = await self._verb("reasons")()
        except OutlayError:  # a policy of the user's that explains nothing, or a key that may not read
            self._reasons = None
        self._reasons_at = time.monotonic()

    def _verb(self, name: str) -> Any:
        if isinstance(self.campaign, Campaign):
            return getattr(self.campaign, f"a{name}")
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = self.campaign.for_asyncio()
        return getattr(self._clients[loop], name)

    async def disconnect(self) -> None:
        """Let the store, or the connections of this event loop, go; the campaign stays as it is."""
        loop = asyncio.get_running_loop()
        if self._looking is not None and self._looking.get_loop() is loop:
            self._looking.cancel()  # it would connect anew
        if client := self._clients.pop(loop, None):
            await client.disconnect()
        await asyncio.to_thread(self.campaign.disconnect)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.disconnect()
