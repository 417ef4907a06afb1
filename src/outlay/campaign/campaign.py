"""`Campaign`: a budget, arms, a policy and a ledger. `ask` names an arm, `tell` records what it cost and earned."""

import uuid
from collections.abc import Iterable
from types import FunctionType, TracebackType
from typing import Self, cast

from outlay.campaign import log
from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger.fold import stored_policy
from outlay.campaign.samples import checked_samples, in_parts, samples_of, triples
from outlay.campaign.settings import DEFAULT, Amount, Expiry, Mode, Settings, Window
from outlay.campaign.stores.base import Store
from outlay.campaign.stores.memory import MemoryLedger
from outlay.campaign.terms import (
    Arms,
    Costs,
    Limits,
    PolicyGiven,
    agreed,
    check_same,
    check_same_policy,
    chosen,
    label,
    positive,
    requests_of,
)
from outlay.campaign.verbs.asking import Asking, answers
from outlay.campaign.verbs.hand import Settling
from outlay.campaign.verbs.hooks import Hooks
from outlay.campaign.verbs.managing import Managing
from outlay.campaign.verbs.news import news_of
from outlay.campaign.verbs.reading import Reading
from outlay.campaign.verbs.steps import later, transact
from outlay.campaign.verbs.waiting import Line
from outlay.errors import BadParameter, CampaignConflict
from outlay.policies.protocol import Policy, wants_requests


class Campaign(Asking, Managing, Reading):
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
        ttl: seconds after which an untold pull expires; None for never.
        expiry: "charge" what was set aside for an expired pull, until it is told after all; or "release" it.
        reservation: what to set aside for an arm that has neither a `max_cost` nor a pull so far.
        default_reward: the reward that an expired pull counts for while it is charged.
        max_in_flight: the most pulls under way at once.
        negative_costs: whether a pull can bring money back.
        propensity_draws: fresh draws from which the probability of a random choice is estimated; 0 for none.
        first_pulls: the most pulls under way at once of an arm whose cost is not known: it has no `max_cost`, no pull
            of it has cost anything so far, and there is no `reservation`; None for any number.
        window: "day", "week" or "month": budget and requests begin anew with each, and what is left over is forfeited.
            A pull counts in the window in which it was asked for. None: they are for good.
        timezone: where days begin, such as "Europe/Berlin"; weeks begin on Mondays.
        fallback: the arm to name once the budget is spent, instead of none: outside the budget, and on record.

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
        arms: Arms,
        budget: Amount,
        policy: PolicyGiven = None,
        store: str | None = None,
        *,
        name: str = "default",
        requests: int | None = None,
        costs: Costs | None = None,
        mode: Mode = DEFAULT.mode,
        unit: str | Amount = DEFAULT.unit,
        seed: int = DEFAULT.seed,
        ttl: float | None = DEFAULT.ttl,
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
    ) -> None:
        settings = Settings(
            *(mode, unit, seed, ttl, expiry, reservation, default_reward, max_in_flight, negative_costs),
            *(propensity_draws, first_pulls, window, timezone, fallback),
        )
        given, limits = None if policy is None else chosen(policy), Limits(budget, requests, costs)
        opening = agreed(arms, limits, chosen(given, limits), name, settings)
        self._connect(store, opening.name, opening, given)
        try:
            self._begin(given)
            check_same(self._state, opening, any_policy=given is None)
            self._say_rounded("Campaign", budget, opening.budget)
        except BaseException:
            self._ledger.close()
            raise

    @classmethod
    def open(cls, store: str, name: str = "default", policy: PolicyGiven = None) -> Self:
        """Open an existing campaign; a policy that is not built in must be passed again."""
        self = cls.__new__(cls)
        given = None if policy is None else chosen(policy)
        self._connect(store, label("Campaign", "name", name), None, given)
        try:
            self._begin(given)
            if given is not None:
                check_same_policy(self._state.opened, given)
        except BaseException:
            self._ledger.close()
            raise
        return self

    def set_budget(self, budget: Amount) -> None:
        """Change the budget; a larger one reopens a campaign that was exhausted."""
        units = positive(self._state.unit, "set_budget", "budget", budget)
        self._limit(c.SetBudget(units))
        self._say_rounded("set_budget", budget, units)

    def set_requests(self, requests: int) -> None:
        """Change how many pulls may be made in all; a larger number reopens a campaign that was exhausted."""
        self._limit(c.SetRequests(requests_of("set_requests", requests)))

    def expect_requests(self, requests: int) -> None:
        """Say how many requests are still to come, as far as anybody knows: it may be said again at any time.

        The policy paces its spending by it. Nothing is refused for it: what is a limit is set by `set_requests`.
        """
        number = requests_of("expect_requests", requests, least=0)
        if self._policy is not None and not wants_requests(self._policy):
            name = type(self._policy).__name__
            raise CampaignConflict(
                f"{name} paces itself by no forecast: open the campaign with requests, or with Ration"
            )
        answers(transact(self, [c.Expect(number)]))

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
            source, rows = f"campaign {samples.name}", iter(samples_of(samples.history()))
        else:
            source, rows = "log", triples("warm_start", "samples", samples)
        checked = list(checked_samples(self._ledger.state(), rows))  # all of them before the first is learned
        parts = list(in_parts(checked, key, source))
        return sum(cast("list[int]", answers(transact(self, parts))) if parts else ())

    def disconnect(self) -> None:
        """Release the store; the campaign stays as it is, and can be opened again."""
        self._hooks.stop()
        self._ledger.close()
        self._news.settled.announce()  # who waits for a pull looks again, and hears of it

    aset_budget, aset_requests, aexpect_requests = later(set_budget), later(set_requests), later(expect_requests)
    awarm_start = later(warm_start)
    adisconnect = later(disconnect)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.disconnect()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.adisconnect()

    def _limit(self, command: c.Command) -> None:
        """Change a limit, and log where that reopens the campaign."""
        ended = self._ledger.state().ended
        answers(transact(self, [command]))
        state = self._ledger.state()
        if ended and not state.ended:
            log.reopened(self.name, state.unit.amount(state.budget), state.requests)

    def _connect(self, store: str | None, name: str, opening: c.Open | None, given: Policy | None) -> None:
        self._line, self._news = Line(), news_of(store, name)
        self._ledger = _store(store, name, opening, given)
        self._ledger.listen(self._news.hear)
        self._hooks = Hooks(self._ledger, name, self._news)

    def _say_rounded(self, owner: str, given: Amount, units: int) -> None:
        """A budget that is no whole number of units became less; whoever reads the log hears of it."""
        unit = self._state.unit
        if unit.measured(owner, "budget", given, up=False)[1]:
            log.rounded(self._state.name, given, unit.amount(units), unit.size)

    def _begin(self, given: Policy | None) -> None:
        state = self._state = self._ledger.state()
        self._policy = stored_policy(state.terms) if given is None else given
        amount = state.unit.amount
        log.opened(state.name, state.terms.policy["name"], amount(state.spent), amount(state.budget))


def _own(kind: type) -> None:
    """Have the methods of a mix-in say whose they are to users: `Campaign.ask() got an unexpected keyword argument`."""
    for name, method in vars(kind).items():
        for function in (method, getattr(method, "__wrapped__", None)):
            if isinstance(function, FunctionType):
                function.__qualname__ = f"Campaign.{name}"


for mixed_in in (Settling, Asking, Managing, Reading):
    _own(mixed_in)


def _store(address: str | None, name: str, opening: c.Open | None, policy: Policy | None) -> Store:
    if address is None and opening is not None:
        return MemoryLedger(opening, policy)
    from outlay.campaign.stores.transaction import SqlLedger

    return SqlLedger(address, name, opening, policy)
