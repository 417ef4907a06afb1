"""`Campaign`: a budget, arms, a policy and a ledger. `ask` names an arm, `tell` records what it cost and earned."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, Self, cast, get_args

from outlay.campaign import settings, waiting
from outlay.campaign.context import RequestContext, encoded
from outlay.campaign.ledger import events as c
from outlay.campaign.ledger.apply import stored_policy
from outlay.campaign.ledger.events import (
    DEFAULT,
    MOST_AT_ONCE,
    Amount,
    ContextKinds,
    Expiry,
    Features,
    Kinds,
    Mode,
    Settings,
    Window,
)
from outlay.campaign.ledger.state import PullPhase
from outlay.campaign.ledger.validation import label
from outlay.campaign.pull import AnyPull, Failure, OpenPull, forgotten, name_of, settled
from outlay.campaign.reasons import MOST, Explanation, Reasons, reasons_of
from outlay.campaign.records import (
    Entry,
    Listed,
    Pull,
    PullFilter,
    PullStatus,
    Receipt,
    Reply,
    Rows,
    Segment,
    Status,
    entries,
    log_columns,
    log_row,
    pull_status,
    segments_of,
)
from outlay.campaign.shadow import Shadow, shadow_of
from outlay.campaign.spends import SpendingFunctions
from outlay.campaign.stores.base import Store
from outlay.campaign.stores.memory import MemoryLedger
from outlay.campaign.waiting import WithTimeout, log
from outlay.checks import real, whole, word
from outlay.errors import BadParameter, CampaignConflict, NotNow, PullOver, StoreBusy, StoreError
from outlay.policies.protocol import Policy, wants_requests
from outlay.sansio import Steps, as_async, sync
from outlay.text import in_currency

FORGOTTEN = 5.0  # seconds that a loop waits for a pull before it asks itself why
MOST_NUMBER = 2**63 - 1

Outcomes = Iterable[tuple[AnyPull, Amount, float | None]]
Most = Amount | Mapping[str, Amount] | None  # what a call can cost: on any arm, or on each that is named


class Campaign(SpendingFunctions):
    """Spend a real budget: from many threads and processes, through crashes, without losing a cent.

    The same call on the same store and name opens the campaign again; other terms raise `CampaignConflict`. All methods
    may be called from any thread. Used in a `with` statement, it releases its store at the end; the campaign itself
    continues.

    Args:
        arms: names, or a mapping from name to the most that a pull can cost (None where that is not known).
        budget: what may be spent, in whatever the costs are in; rounded down to the unit.
        policy: a policy, its name, or {"name": …, "parameters": {…}}; None for `policies.default()`, or for the policy
            that an existing campaign already runs.
        store: None keeps the ledger in memory; "sqlite:///spend.db" and "postgresql://…" keep it permanently.
        name: several campaigns can share a store.
        requests: how many pulls may be made in all; None for any number. With it the policy shares the budget out among
            them: None then stands for `policies.Ration`.
        costs: from each arm to what it costs on average, where that is known of all, as from a price list.
        mode: "until_exceeded": ask until the budget is crossed, as in the paper; "hard": never cross it, as long as no
            pull costs more than was set aside for it.
        unit: the smallest amount, a decimal number; costs are rounded up to it.
        seed: of the policy's random numbers, if it uses any.
        ttl: seconds after which an untold pull expires, or a time such as "15m"; None for never.
        expiry: "charge" what was set aside for an expired pull, until it is told after all; or "release" it.
        reservation: what to set aside for an arm that has neither a `max_cost` nor a pull so far.
        default_reward: the reward that an expired pull counts for while it is charged.
        max_in_flight: the most pulls under way at once.
        negative_costs: whether a pull can bring money back.
        propensity_draws: fresh draws from which the probability of a random choice is estimated, where the policy
            cannot say it; with 0 none is recorded.
        first_pulls: the most pulls under way at once of an arm whose cost is not known: it has no `max_cost`, no pull
            of it has cost anything so far, and there is no `reservation`; None for any number.
        window: "day", "week" or "month": budget and requests begin anew with each, and what is left over is forfeited.
            A pull counts in the window in which it was asked for. None: they are for good.
        timezone: where days begin, such as "Europe/Berlin"; weeks begin on Mondays.
        fallback: the arm to name once the budget is spent, instead of none: outside the budget, and on record.
        reward_within: seconds, or a time such as "1h", that a reward may take after the cost of its pull was told; None
            for any time. Until it comes, the pull counts as made, with what is expected of it.
        missing_reward: what counts as the reward that did not come by then; "unknown" for nothing: the pull is paid
            for, and nothing is learned from it. A reward that comes later still takes its place.
        currency: in which costs are, such as "USD": shown wherever money is.
        pool: another campaign of the store, with a hard cap on the sum of all campaigns that have it as their pool.
        context: what is told of each request, from which the policy chooses the arm for it: a mapping from names to
            "number", "number:500" (divided by 500), a list of categories, "hashed:8", or the length of a vector; names
            alone, for numbers; or the length of one vector. The policy is then `policies.LinearRation`; without
            `requests` or `expect_requests` it looks for the most reward per cost, and names nearly always one arm.

    >>> campaign = Campaign(arms=["small", "large"], budget=10.0)
    >>> while (pull := campaign.ask()) is not None:
    ...     price, answer = (1.0, 0.2) if pull.arm == "small" else (2.0, 1.0)
    ...     receipt = campaign.tell(pull, cost=price, reward=answer)
    >>> status = campaign.status()
    >>> status.phase, status.spent, [(arm.name, arm.pulls) for arm in status.arms]
    ('closed', 11.0, [('small', 1), ('large', 5)])
    """

    def __init__(
        self,
        arms: settings.Arms,
        budget: Amount,
        policy: settings.PolicyGiven = None,
        store: str | None = None,
        *,
        name: str = "default",
        requests: int | None = None,
        costs: settings.Costs | None = None,
        mode: Mode = DEFAULT.mode,
        unit: str | Amount = DEFAULT.unit,
        seed: int = DEFAULT.seed,
        ttl: float | str | None = DEFAULT.ttl,
        expiry: Expiry = DEFAULT.expiry,
        reservation: Amount | None = DEFAULT.reservation,
        default_reward: float = DEFAULT.default_reward,
        max_in_flight: int | None = DEFAULT.max_in_flight,
        negative_costs: bool = DEFAULT.negative_costs,
        propensity_draws: int = DEFAULT.propensity_draws,
        first_pulls: int | None = DEFAULT.first_pulls,
        window: Window | None = DEFAULT.window,
        timezone: str = DEFAULT.timezone,
        fallback: str | None = DEFAULT.fallback,
        reward_within: float | str | None = DEFAULT.reward_within,
        missing_reward: float | Literal["unknown"] = DEFAULT.missing_reward,
        currency: str | None = DEFAULT.currency,
        pool: str | None = DEFAULT.pool,
        context: ContextKinds | None = DEFAULT.context,
    ) -> None:
        terms = Settings(
            *(mode, unit, seed, ttl, expiry, reservation, default_reward, max_in_flight, negative_costs),
            *(propensity_draws, first_pulls, window, timezone, fallback, reward_within, missing_reward, currency),
            *(pool, context),
        )
        given = settings.chosen(policy, context)
        opening = settings.agreed(arms, budget, given, name, terms, requests, costs)
        self._start(store, opening.name, opening, given)
        self._log_rounded("Campaign", budget, opening.budget)

    @classmethod
    def open(
        cls, store: str, name: str = "default", policy: settings.PolicyGiven = None, *, like: "Campaign | None" = None
    ) -> Self:
        """Open an existing campaign; a policy that is not built in must be passed again.

        Where there is none of this name, one is made on the terms that the campaign `like` has now, if that is given.
        """
        self = cls.__new__(cls)
        named = label("Campaign", "name", name)
        opening = None if like is None else settings.like(like._ledger.state(), named)
        self._start(store, named, opening, settings.chosen(policy), agreed=like is None)
        return self

    @sync
    def ask(
        self,
        key: str | None = None,
        ttl: float | str | None = None,
        *,
        most: Most = None,
        arms: Iterable[str] | None = None,
        wait: bool | float = False,
        timeout: float | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        context: RequestContext | None = None,
    ) -> Steps[OpenPull | None]:
        """The next pull, or None when the campaign has ended.

        Args:
            key: a name for this ask; asking again with the same key gives the same pull, even if the first answer was
                lost, and raises `PullOver` once that pull is over.
            ttl: seconds after which the pull expires, instead of the campaign's.
            most: what this call can cost at most, on any arm or on each that is named: so much is set aside for it, and
                in hard mode arms that do not fit with it are not named. OverBudget, where it fits none and never will.
            arms: those that can serve this call; all, if not given.
            wait: where no pull can be named at the moment, wait until one can; otherwise NotNow is raised. A number is
                the seconds to wait at most: then the fallback is named, if there is one, else NotNow is raised.
            timeout: seconds to wait at most, for a pull or for a store that others hold.
            tags: a few words to find the pull by, see `pulls`.
            metadata: a small JSON object that is kept with it.
            context: what is known of the request, as agreed: a value for each name, or the vector.

        Raises NotNow, with `retry_after` in seconds, if no pull can be named at the moment; StoreBusy, if the store did
        not answer in time. A pull whose asker gave up, by a timeout or Ctrl-C, is cancelled, unless it has a key, by
        which it can be asked for again.
        """
        features = self._features("ask", context)
        command = settings.asked("ask", key, ttl, tags, metadata, self._ceiling("ask", most), arms, features)
        seconds = settings.seconds_of("ask", timeout)
        if wait is True:
            pull = yield from self._queue.ask(command, seconds)
        elif wait is False:
            pull = yield WithTimeout(command, seconds)
        else:
            within = real("ask", "wait", wait, at_least=0, at_most=settings.LONGEST_WAIT)
            pull = yield from self._queue.ask_within(command, within, seconds)
        return None if pull is None else OpenPull.of(pull, self, self._state.name)

    @sync
    def ask_many(
        self,
        n: int,
        key: str | None = None,
        ttl: float | str | None = None,
        *,
        most: Most = None,
        arms: Iterable[str] | None = None,
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        context: RequestContext | None = None,
    ) -> Steps[list[OpenPull]]:
        """Up to `n` pulls at once; fewer if the budget or `max_in_flight` allows fewer, none at the end.

        Raises NotNow if there is none although the campaign has not ended; CampaignConflict for a key that was used
        with another ttl. Asking again with the same key leaves out those that are over; `PullOver` if all are.
        """
        n = whole("ask_many", "n", n, at_least=1, at_most=MOST_AT_ONCE)
        if key is not None:
            key = label("ask_many", "key", f"{key}//{n}").rpartition("//")[0]
        features = self._features("ask_many", context)
        one = settings.asked("ask_many", None, ttl, tags, metadata, self._ceiling("ask_many", most), arms, features)
        keys = [None if key is None else c.one_of_many(key, i) for i in range(n)]
        replies: list[Reply] = yield [one._replace(key=key) for key in keys]
        pulls = [OpenPull.of(reply, self, self._state.name) for reply in replies if isinstance(reply, Pull)]
        for reply in replies:
            if isinstance(reply, Exception) and not (pulls and isinstance(reply, (NotNow, PullOver))):
                if pulls and key is None:  # a policy that raised, half way: nobody hears of these
                    yield [c.Cancel(pull.id, "the call for many pulls failed") for pull in pulls]
                raise reply
        return pulls

    def __iter__(self) -> Iterator[OpenPull]:
        """Pull after pull, waiting where none can be named at the moment, until the campaign ends.

        Where it waits for long, and pulls of this loop are still under way, a warning names them.
        """
        given: list[OpenPull] = []
        while (pull := self._next(given)) is not None:
            yield pull

    async def __aiter__(self) -> AsyncIterator[OpenPull]:
        """The same for asyncio."""
        given: list[OpenPull] = []
        while (pull := await self._anext(given)) is not None:
            yield pull

    @sync
    def tell(
        self, pull: AnyPull, cost: Amount, reward: float | None = None, *, timeout: float | None = None
    ) -> Steps[Receipt]:
        """Record what a pull cost and earned; a failed pull may have a cost, and has reward 0.

        Args:
            pull: as `ask` or `pulls` gave it, or its number, or the key it was asked for with.
            cost: what it cost; rounded up to the campaign's unit, and then the receipt says `rounded`.
            reward: what it earned; True counts as 1, False as 0. None: it comes later, by `reward`.
            timeout: seconds to wait for the store, if others hold it; then StoreBusy, and it may be told again.

        Telling the same outcome again changes nothing; telling a different one raises `CampaignConflict` (see `amend`).
        A pull that has expired can still be told.
        """
        receipt: Receipt = yield WithTimeout(self._tell(pull, cost, reward), settings.seconds_of("tell", timeout))
        settled(pull)
        return receipt

    @sync
    def reward(self, pull: AnyPull, value: float) -> Steps[Receipt]:
        """Record what a pull earned whose cost was told before: minutes or days later, from any process.

        The same reward again changes nothing; another raises `CampaignConflict` (see `amend`). One that comes after
        `reward_within` still counts, in place of the one that was missing.

        >>> campaign = Campaign(["a"], 5)
        >>> pull = campaign.ask(key="request 17")
        >>> campaign.tell(pull, cost=0.5).reward is None
        True
        >>> campaign.reward("request 17", 1).reward
        1.0
        """
        receipt: Receipt = yield c.Reward(self._name("reward", pull), settings.checked_reward("reward", value))
        return receipt

    @sync
    def reward_each(self, rewards: Iterable[tuple[AnyPull, float]]) -> Steps[list[Receipt | Exception]]:
        """Record many rewards, each (pull, value); for each its receipt, or why the ledger refused it."""
        commands: list[c.Command] = [
            c.Reward(self._name("reward_each", pull), settings.checked_reward("reward_each", value))
            for pull, value in settings.rows_of("reward_each", "rewards", rewards, ("pull", "reward"))
        ]
        whole("reward_each", "rewards", len(commands), at_most=MOST_AT_ONCE)
        return (yield commands) if commands else []

    @sync
    def tell_many(self, outcomes: Outcomes) -> Steps[list[Receipt]]:
        """Record many outcomes, each (pull, cost, reward), in one transaction.

        All are checked before any is told: for one that cannot be a tell, such as a cost that is no number,
        BadParameter is raised, and none is told. Where the ledger refuses some (told before with another outcome, or no
        pull of this campaign), the others are told, and the first refusal is raised. To tell all of them again is
        harmless.
        """
        return cast("list[Receipt]", waiting.answers([*(yield from self._tell_each("tell_many", outcomes))]))

    @sync
    def tell_each(self, outcomes: Outcomes) -> Steps[list[Receipt | Exception]]:
        """The same, but for each outcome its receipt, or why the ledger refused it."""
        return (yield from self._tell_each("tell_each", outcomes))

    @sync
    def cancel(self, pull: AnyPull, reason: str = "") -> Steps[None]:
        """Say that a pull was never made: nothing is charged and nothing learned."""
        yield c.Cancel(self._name("cancel", pull), settings.note_of("cancel", reason))
        settled(pull)

    @sync
    def charge(self, pull: AnyPull) -> Steps[None]:
        """Give a pull up, and charge what was set aside for it until it is told after all.

        For calls that failed at an unknown cost: it stands as expired, as if its time were over.
        """
        yield c.Charge(self._name("charge", pull))
        settled(pull)

    @sync
    def extend(self, pull: AnyPull, ttl: float | str) -> Steps[None]:
        """Let a pull under way expire `ttl` seconds from now."""
        yield c.Extend(self._name("extend", pull), settings.micros("extend", ttl))

    @sync
    def amend(
        self, pull: AnyPull, cost: Amount | None = None, reward: float | None = None, reason: str = ""
    ) -> Steps[Receipt]:
        """Correct what was told, cost or reward or both, on the record; the policy learns it if its memory can."""
        if cost is None and reward is None:
            raise BadParameter("amend", "cost", "given, or the reward, or both", None)
        units, rounded = (None, False) if cost is None else self._state.unit.measured("amend", "cost", cost)
        given = None if reward is None else settings.checked_reward("amend", reward)
        note = settings.note_of("amend", reason)
        receipt: Receipt = yield c.Amend(self._name("amend", pull), units, given, note, rounded)
        return receipt

    aask, aask_many = as_async(ask), as_async(ask_many)
    atell, areward, areward_each = as_async(tell), as_async(reward), as_async(reward_each)
    atell_many, atell_each = as_async(tell_many), as_async(tell_each)
    acancel, acharge, aextend, aamend = as_async(cancel), as_async(charge), as_async(extend), as_async(amend)

    @sync
    def add_arm(self, name: str, max_cost: Amount | None = None, cost: float | None = None) -> Steps[None]:
        """Add another arm; `max_cost` is the most that a pull costs, `cost` what it costs on average, if known."""
        yield c.AddArm(settings.arm_term(self._state.unit, "add_arm", name, max_cost, cost))

    @sync
    def disable_arm(self, name: str) -> Steps[None]:
        """Stop pulling an arm; pulls under way can still be told."""
        yield c.DisableArm(label("disable_arm", "arm", name))

    @sync
    def enable_arm(self, name: str) -> Steps[None]:
        """Pull a disabled arm again."""
        yield c.EnableArm(label("enable_arm", "arm", name))

    @sync
    def pause(self) -> Steps[None]:
        """Name no arm until `resume`; tells are still accepted."""
        yield c.Pause()

    @sync
    def resume(self) -> Steps[None]:
        """Name arms again."""
        yield c.Resume()

    @sync
    def close(self) -> Steps[None]:
        """End the campaign for good: `ask` returns None; pulls under way can still be told."""
        yield c.Close()

    @sync
    def archive(self) -> Steps[None]:
        """Put the campaign away: it is listed no more and names no arm; pulls under way can still be told."""
        yield c.Archive()

    @sync
    def restore(self) -> Steps[None]:
        """Bring back a campaign that was archived, as it was."""
        yield c.Restore()

    def set_budget(self, budget: Amount) -> None:
        """Change the budget; a larger one reopens a campaign that was exhausted."""
        units = settings.positive(self._state.unit, "set_budget", "budget", budget)
        self._limit(c.SetBudget(units))
        self._log_rounded("set_budget", budget, units)

    def set_requests(self, requests: int) -> None:
        """Change how many pulls may be made in all; a larger number reopens a campaign that was exhausted."""
        self._limit(c.SetRequests(settings.requests_of("set_requests", requests)))

    def expect_requests(self, requests: int) -> None:
        """Say how many requests are still to come, as far as anybody knows: it may be said again at any time.

        The policy paces its spending by it. Nothing is refused for it: what is a limit is set by `set_requests`.
        """
        number = settings.requests_of("expect_requests", requests, least=0)
        if self._policy is not None and not wants_requests(self._policy):
            name = type(self._policy).__name__
            raise CampaignConflict(
                f"{name} paces itself by no forecast: open the campaign with requests, or with Ration"
            )
        self._perform(c.Expect(number))

    def warm_start(self, samples: "Iterable[tuple[str, Amount, float]] | Campaign", key: str | None = None) -> int:
        """Let the policy learn from samples made elsewhere, at no cost: rows of a log, or another campaign.

        Args:
            samples: (arm, cost, reward), in the order in which they are to be learned; or a campaign, for its told
                pulls.
            key: a name for this log; a log with the same key is learned only once.

        Returns how many samples were learned: none if the key is known already.
        """
        key = label("warm_start", "key", key if key is not None else uuid.uuid4().hex)
        if isinstance(samples, Campaign):
            if samples is self:
                raise BadParameter("warm_start", "samples", "those of another campaign: its own it knows", samples)
            source, rows = f"campaign {samples.name}", iter(settings.samples_of(samples.history()))
        else:
            source, rows = "log", settings.triples("warm_start", "samples", samples)
        parts: list[c.Command] = [*settings.warm_starts(self._ledger.state(), rows, key, source)]
        return sum(waiting.answers(self._perform(parts))) if parts else 0

    def disconnect(self) -> None:
        """Release the store; the campaign stays as it is, and can be opened again."""
        self._hooks.stop()
        self._ledger.close()
        self._notifier.announce()  # who waits for a pull looks again, and hears of it

    aadd_arm, adisable_arm, aenable_arm = as_async(add_arm), as_async(disable_arm), as_async(enable_arm)
    apause, aresume, aclose = as_async(pause), as_async(resume), as_async(close)
    aarchive, arestore = as_async(archive), as_async(restore)
    aset_budget, aset_requests = as_async(set_budget), as_async(set_requests)
    aexpect_requests, awarm_start = as_async(expect_requests), as_async(warm_start)
    adisconnect = as_async(disconnect)

    def status(self) -> Status:
        """How the campaign stands."""
        return self._ledger.status()

    def history(self, after: int = 0) -> Rows[Entry]:
        """The events in order, starting after event number `after`; `.frame()` makes them a DataFrame.

        What is returned can be looped over more than once, and has a length.
        """
        after = whole("history", "after", after, at_least=0, at_most=MOST_NUMBER)
        ledger, state = self._ledger, self._ledger.state()
        names = [arm.name for arm in state.arms]
        return Rows(Entry, lambda: entries(ledger.records(after), state.unit, [*names]))

    def pulls(
        self,
        status: PullPhase | None = None,
        tag: str | None = None,
        key: str | None = None,
        after: int = 0,
        limit: int | None = None,
    ) -> Rows[PullStatus]:
        """The pulls in the order in which they were asked for, those that fit; `.frame()` makes them a DataFrame.

        Args:
            status: only those that are "open", "paid", "told", "cancelled" or "expired".
            tag: only those that were asked for with this tag.
            key: only the one that was asked for with this key, or those of the `ask_many` with this key.
            after: only those after the pull of this number.
            limit: at most so many.

        >>> from outlay import Campaign
        >>> campaign = Campaign(["a"], 5)
        >>> pull = campaign.ask(tags=["nightly"], metadata={"user": 17})
        >>> [(each.arm, each.status, each.metadata) for each in campaign.pulls(tag="nightly")]
        [('a', 'open', {'user': 17})]
        """
        wanted = PullFilter(
            None if status is None else cast("PullPhase", word("pulls", "status", status, get_args(PullPhase))),
            None if tag is None else settings.tag_of("pulls", tag),
            None if key is None else label("pulls", "key", key),
            whole("pulls", "after", after, at_least=0, at_most=MOST_NUMBER),
            None if limit is None else whole("pulls", "limit", limit, at_least=0, at_most=MOST_NUMBER),
        )
        ledger = self._ledger
        ledger.state()  # a fork, or a file that cannot be read, is refused here and not in a loop

        def read() -> Iterator[PullStatus]:
            found, state = ledger.find(wanted), ledger.state()
            names = [arm.name for arm in state.arms]
            return (pull_status(each, state.unit, names) for each in found)

        return Rows(PullStatus, read)

    def log(self) -> tuple[dict[str, type], Iterator[list[Any]]]:
        """The pulls as a log that `advise` reads: columns, by what is in them, and rows.

        As `pulls`, without tags and metadata: "context.NAME" has each number and each category of the context,
        "context.NAME.1" and so on the features of words and vectors. Where nothing was left to chance, propensity is 1.

        >>> from outlay import Campaign
        >>> campaign = Campaign(["a"], 5, context={"tenant": ["x", "y"]})
        >>> pull = campaign.ask(context={"tenant": "y"})
        >>> columns, rows = campaign.log()
        >>> row = dict(zip(columns, next(rows)))
        >>> row["arm"], row["propensity"], row["context.tenant"]
        ('a', 1.0, 'y')
        """
        terms = self._ledger.state().terms
        return log_columns(terms), (log_row(pull, terms) for pull in self.pulls())

    def segments(self, name: str) -> Listed[Segment]:
        """Pulls, spend and reward by the categories that the context has under this name; reads all pulls.

        >>> from outlay import Campaign
        >>> campaign = Campaign(["a"], 5, context={"tenant": ["x", "y"]})
        >>> for tenant in ("x", "y", "x"):
        ...     receipt = campaign.tell(campaign.ask(context={"tenant": tenant}), cost=0.5, reward=1)
        >>> [(each.category, each.pulls, each.spent, each.reward) for each in campaign.segments("tenant")]
        [('x', 2, 1.0, 2.0), ('y', 1, 0.5, 1.0)]
        """
        return segments_of(self._ledger.find(PullFilter()), self._ledger.state(), name)

    def shadow(self, policy: settings.PolicyGiven = None) -> Shadow:
        """What another policy would have earned with the requests so far; reads the ledger, and changes nothing.

        It learns from what was pulled, and spends from a budget of its own. `words` say what the estimate rests on.

        Args:
            policy: as a campaign takes it; the default for such a campaign, if None.

        >>> from outlay import Campaign
        >>> campaign = Campaign(["a", "b"], 100, "Frugal", context={"tenant": ["x", "y"]})
        >>> for n in range(80):
        ...     tenant = "xxy"[n % 3]
        ...     pull = campaign.ask(context={"tenant": tenant})
        ...     receipt = campaign.tell(pull, cost=1.0, reward=float((pull.arm == "a") == (tenant == "x")))
        >>> found = campaign.shadow("LinearRation")
        >>> found.requests, found.basis, found.other_reward > found.reward
        (80, 'model', True)
        """
        state = self._ledger.state()
        terms = state.terms
        other = settings.other_policy(policy, terms.context, state.requests, len(state.arms))
        return shadow_of(self._ledger.records(), self._policy, other)

    def on(self, kind: str, hook: waiting.Hook) -> Callable[[], None]:
        """Have `hook(entry)` called with every event of this kind from now on; return what ends that.

        Args:
            kind: of event, as `history` names it: "told", "expired", "exhausted", …; "*" for all.
            hook: called in a thread of its own, in the order of the ledger, after the event was committed, whoever
                wrote it; those of other processes within a second. What it raises is logged, and harms nobody.
        """
        return self._hooks.add(kind, hook)

    @sync
    def reasons(self, most: int = MOST, context: RequestContext | None = None) -> Steps[Reasons]:
        """Which arm an ask would name now, and why: what its policy weighs, for up to `most` arms. Nothing changes.

        Where requests have a `context`, it is that of the last ask if none is given.

        >>> from outlay import Campaign
        >>> campaign = Campaign(["a", "b"], 100, "Frugal")
        >>> for _ in range(20):
        ...     pull = campaign.ask()
        ...     receipt = campaign.tell(pull, cost=1.0, reward=0.9 if pull.arm == "a" else 0.1)
        >>> found = campaign.reasons()
        >>> found.arm, found.words
        ('a', 'a has the best rate so far, and the evidence against every other arm is enough for now.')
        """
        most = whole("reasons", "most", most, at_least=1)
        features = None if context is None else self._features("reasons", context)
        explanation: Explanation = yield c.Explain(features)
        return reasons_of(explanation, most)

    astatus, areasons = as_async(status), as_async(reasons)
    asegments, ashadow = as_async(segments), as_async(shadow)

    async def alog(self) -> tuple[dict[str, type], list[list[Any]]]:
        """`log` for asyncio. All rows, in a list."""
        columns, rows = await asyncio.to_thread(self.log)
        return columns, await asyncio.to_thread(list, rows)

    async def ahistory(self, after: int = 0) -> Listed[Entry]:
        """`history` for asyncio. All of it, in a list."""
        return await asyncio.to_thread(lambda: self.history(after).listed())

    async def apulls(
        self,
        status: PullPhase | None = None,
        tag: str | None = None,
        key: str | None = None,
        after: int = 0,
        limit: int | None = None,
    ) -> Listed[PullStatus]:
        """`pulls` for asyncio. All of them, in a list."""
        return await asyncio.to_thread(lambda: self.pulls(status, tag, key, after, limit).listed())

    @property
    def name(self) -> str:
        """Its name in the store."""
        return self._state.name

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of its arms, including those added or disabled since it was opened."""
        return tuple(arm.name for arm in self._ledger.state().arms)

    @property
    def budget(self) -> float:
        """The budget as it is now."""
        state = self._ledger.state()
        return state.unit.amount(state.budget)

    @property
    def pool(self) -> str | None:
        """The campaign that is its pool, if it has one."""
        return self._state.terms.pool

    @property
    def context(self) -> Kinds | None:
        """What is told of each request, as the terms have it."""
        return self._state.terms.context

    @property
    def policy(self) -> Policy | None:
        """The policy that chooses; None if it is not built in and was not passed when the campaign was opened."""
        return self._policy

    def __repr__(self) -> str:
        try:
            s = self.status()
        except StoreError as error:
            return f"<Campaign {self.name!r}: {error}>"
        spent = f"{s.spent:g} of {in_currency(f'{s.budget:g}', s.currency)} spent"
        return f"<Campaign {s.name!r}: {s.phase}, {spent} in {s.pulls} pulls by {s.policy}>"

    def _repr_html_(self) -> str | None:
        try:
            return self.status()._repr_html_()
        except StoreError:
            return None  # a notebook shows the repr

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Failure, error: BaseException | None, at: TracebackType | None) -> None:
        self.disconnect()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: Failure, error: BaseException | None, at: TracebackType | None) -> None:
        await self.adisconnect()

    @sync
    def _next(self, given: list[OpenPull]) -> Steps[OpenPull | None]:
        """The next pull of a loop, which is added to those that it was `given` and has not settled."""
        try:
            pull = yield from self._queue.ask(c.Ask(), FORGOTTEN)
        except (NotNow, StoreBusy):
            mine = [each for each in given if not each._settled]
            under_way = {found.number for found, _ in self._ledger.find(PullFilter("open"))} if mine else set()
            forgotten(self._state.name, [each for each in mine if each.id in under_way])  # here and elsewhere
            pull = yield from self._queue.ask(c.Ask(), None)
        if pull is None:
            return None
        given[:] = [*(each for each in given if not each._settled), OpenPull.of(pull, self, self._state.name)]
        return given[-1]

    _anext = as_async(_next)

    def _tell_each(self, owner: str, outcomes: Outcomes) -> Steps[list[Receipt | Exception]]:
        rows = list(settings.triples(owner, "outcomes", outcomes))
        tells = [self._tell(*row) for row in rows]
        whole(owner, "outcomes", len(tells), at_most=MOST_AT_ONCE)
        replies: list[Receipt | Exception] = (yield [*tells]) if tells else []
        for (pull, _, _), reply in zip(rows, replies, strict=True):
            if isinstance(reply, Receipt):
                settled(pull)
        return replies

    def _features(self, owner: str, context: RequestContext | None) -> Features | None:
        return encoded(owner, self._state.terms.context, context)

    def _ceiling(self, owner: str, most: Most) -> c.Ceiling | None:
        return settings.ceiling_of(self._state.unit, owner, most)

    def _name(self, owner: str, pull: AnyPull) -> c.PullName:
        """The pull's number or key; pulls of other campaigns have the same numbers, so they are refused."""
        if isinstance(pull, OpenPull) and pull._owner is not self:
            theirs, ours = pull._owner._state, self._state
            if theirs.name != ours.name:
                raise BadParameter(owner, "pull", f"one of campaign {ours.name!r}", f"one of campaign {theirs.name!r}")
            if (theirs.opened, theirs.since) != (ours.opened, ours.since):
                raise BadParameter(owner, "pull", "one of this campaign", "one of another campaign of the same name")
        return name_of(owner, pull)

    def _tell(self, pull: AnyPull, cost: Amount, reward: float | None) -> c.Tell:
        units, rounded = self._state.unit.measured("tell", "cost", cost)
        arm = pull.arm if isinstance(pull, Pull | PullStatus) else None
        given = None if reward is None else settings.checked_reward("tell", reward)
        return c.Tell(self._name("tell", pull), units, given, arm, rounded)

    def _limit(self, command: c.Command) -> None:
        """Change a limit, and log where that reopens the campaign."""
        ended = self._ledger.state().ended
        self._perform(command)
        state = self._ledger.state()
        if ended and not state.ended:
            served = "" if state.requests is None else f" and {state.requests:,} requests"
            budget = state.unit.amount(state.budget)
            log(logging.INFO, self.name, "reopened, with a budget of %g%s", budget, served)

    def _start(
        self, store: str | None, name: str, opening: c.Open | None, given: Policy | None, agreed: bool = True
    ) -> None:
        """Open the ledger, and see that it is the one that was meant."""
        self._notifier = waiting.notifier_of(store, name)
        self._queue = waiting.WaitQueue(self._notifier)
        if store is None and opening is not None:
            if opening.terms.pool is not None:
                raise BadParameter("Campaign", "pool", "given with a store, which has both", opening.terms.pool)
            self._ledger: Store = MemoryLedger(opening, given)
        else:
            from outlay.campaign.stores.transaction import SqlLedger

            self._ledger = SqlLedger(store, name, opening, given)
        self._ledger.listen(self._notifier.hear)
        self._hooks = waiting.Hooks(self._ledger, name, self._notifier)
        try:
            state = self._state = self._ledger.state()
            self._policy = stored_policy(state.terms) if given is None else given
            if opening is not None and agreed:
                settings.check_same(state, opening, any_policy=given is None)
            elif given is not None:
                settings.check_same_policy(state.opened, given)
        except BaseException:
            self._ledger.close()
            raise
        spent, budget = state.unit.amount(state.spent), state.unit.amount(state.budget)
        said = "opened, with %g of %g spent, run by %s"
        log(logging.INFO, state.name, said, spent, budget, state.terms.policy["name"])

    def _log_rounded(self, owner: str, given: Amount, units: int) -> None:
        """A budget that is no whole number of units became less; whoever reads the log hears of it."""
        unit = self._state.unit
        if unit.measured(owner, "budget", given, up=False)[1]:
            said = "has a budget of %.15g: %s is no whole number of units of %s"
            log(logging.WARNING, self._state.name, said, unit.amount(units), given, unit.size)

    def _named(self) -> str:
        return self.name

    def _verbs(self, is_async: bool) -> Callable[[str], Callable[..., Any]]:
        return lambda verb: getattr(self, f"a{verb}" if is_async else verb)

    def _perform(self, step: waiting.Step) -> Any:
        return waiting.perform(self._ledger, self._state.name, step)

    async def _aperform(self, step: waiting.Step) -> Any:
        return await waiting.aperform(self._ledger, self._state.name, step)
