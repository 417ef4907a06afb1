"""`Campaign`: a budget, arms, a policy and a ledger. `ask` names an arm, `tell` settles what it cost and gave."""

import asyncio
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from outlay.campaign.history import Entry, entries
from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger.decide import MOST_REWARD, unknown_arm
from outlay.campaign.ledger.state import State
from outlay.campaign.replies import Pull, Receipt, Status
from outlay.campaign.stores.memory import MemoryLedger
from outlay.campaign.terms import agreed, arm_term, check_policy, check_same, chosen, label, micros, positive
from outlay.checks import real, whole
from outlay.errors import BadParameter, NotNow, StoreError

HOUR = 3600.0
MOST_AT_ONCE = 10_000  # asks or tells in one call
ROWS = 10_000  # samples of a warm start in one event


class Campaign:
    """Spend a budget for real: from many threads and processes, through crashes, never a cent lost.

    The same call on the same store and name opens the campaign again; other terms raise `CampaignConflict`. All
    methods may be called from any thread. Used with `with`, it lets its store go at the end; the campaign goes on.

    Args:
        arms: names, or a mapping from name to the most that a pull can cost (None where that is not known).
        budget: what may be spent, in whatever the costs are in.
        policy: a policy, its name, or {"name": …, "parameters": {…}}; None for `policies.default()`, or for the one
            that a campaign which is there already runs.
        store: None keeps the ledger in memory; "sqlite:///spend.db" and "postgresql://…" keep it for good.
        name: several campaigns can share a store.
        mode: "until_exceeded": ask until the budget is crossed, as in the paper; "hard": never cross it, as long as no
            pull costs more than was set aside for it.
        unit: the smallest amount, a decimal number; costs are rounded to it.
        seed: of the policy's random numbers, if it uses any.
        ttl: seconds after which an untold pull expires; None for never.
        expiry: "charge" what was set aside for an expired pull, until it is told after all; or "release" it.
        reservation: what to set aside for an arm of which neither `max_cost` nor a pull is known.
        default_reward: what an expired pull that is charged counts as having given.
        max_in_flight: the most pulls under way at once.
        negative_costs: whether a pull can bring money back.
        propensity_draws: fresh draws from which the probability of a random choice is estimated; 0 for none.

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
        arms: Sequence[str] | Mapping[str, Any],
        budget: Any,
        policy: Any = None,
        store: str | None = None,
        *,
        name: str = "default",
        mode: str = "until_exceeded",
        unit: Any = "1e-9",
        seed: int = 0,
        ttl: float | None = HOUR,
        expiry: str = "charge",
        reservation: Any = None,
        default_reward: float = 0.0,
        max_in_flight: int | None = None,
        negative_costs: bool = True,
        propensity_draws: int = 100,
    ) -> None:
        given = None if policy is None else chosen(policy)
        opening = agreed(
            arms, budget, chosen(given), name=name, mode=mode, unit=unit, seed=seed, ttl=ttl, expiry=expiry,
            reservation=reservation, default_reward=default_reward, max_in_flight=max_in_flight,
            negative_costs=negative_costs, propensity_draws=propensity_draws,
        )  # fmt: skip
        self._ledger = _ledger(store, opening.name, opening, given)
        try:
            self._begin()
            check_same(self._state, opening, any_policy=given is None)
        except BaseException:
            self._ledger.close()
            raise

    @classmethod
    def open(cls, store: str, name: str = "default", policy: Any = None) -> Self:
        """Open a campaign that is there; a policy that is not built in must be given again."""
        self = cls.__new__(cls)
        policy = None if policy is None else chosen(policy)
        self._ledger = _ledger(store, label("Campaign", "name", name), None, policy)
        try:
            self._begin()
            if policy is not None:
                check_policy(self._state.opened, policy)
        except BaseException:
            self._ledger.close()
            raise
        return self

    def ask(self, key: str | None = None, ttl: float | None = None) -> Pull | None:
        """The next pull, or None when the campaign has ended.

        Args:
            key: a name for this ask; asking again with it gives the same pull, whatever became of the first answer.
            ttl: seconds after which the pull expires, instead of the campaign's.

        Raises NotNow where no pull can be named at the moment, with `retry_after` seconds.
        """
        return _one(self._ledger.transact([_ask(key, ttl)]))  # type: ignore[no-any-return]

    def tell(self, pull: Pull | int, cost: Any, reward: float) -> Receipt:
        """Settle what a pull cost and gave; a failed one cost something and gave 0.

        Telling the same again changes nothing; telling otherwise raises `CampaignConflict` (see `amend`). A pull that
        has expired can still be told.
        """
        return _one(self._ledger.transact([self._tell(pull, cost, reward)]))  # type: ignore[no-any-return]

    async def aask(self, key: str | None = None, ttl: float | None = None) -> Pull | None:
        """`ask` for asyncio."""
        return _one(await asyncio.wrap_future(self._ledger.submit([_ask(key, ttl)])))  # type: ignore[no-any-return]

    async def atell(self, pull: Pull | int, cost: Any, reward: float) -> Receipt:
        """`tell` for asyncio."""
        return _one(await asyncio.wrap_future(self._ledger.submit([self._tell(pull, cost, reward)])))  # type: ignore[no-any-return]

    def ask_many(self, n: int, key: str | None = None, ttl: float | None = None) -> list[Pull]:
        """Up to `n` pulls at once; fewer where the budget or `max_in_flight` admits fewer, none at the end.

        Raises NotNow where there would be none, and the campaign has not ended; CampaignConflict for a key that was
        used with another ttl.
        """
        n = whole("ask_many", "n", n, at_least=1, at_most=MOST_AT_ONCE)
        if key is not None:
            label("ask_many", "key", f"{key}/{n}")
        asks = [_ask(None if key is None else f"{key}/{i}", ttl) for i in range(n)]
        replies = self._ledger.transact(asks)
        pulls = [reply for reply in replies if isinstance(reply, Pull)]
        for reply in replies:
            if isinstance(reply, Exception) and not (pulls and isinstance(reply, NotNow)):
                raise reply
        return pulls

    def tell_many(self, outcomes: Iterable[tuple[Pull | int, Any, float]]) -> list[Receipt]:
        """Settle many pulls, each a (pull, cost, reward); where one is refused, the others count, and it raises."""
        tells = [self._tell(*row) for row in _rows("tell_many", "outcomes", outcomes)]
        whole("tell_many", "outcomes", len(tells), at_most=MOST_AT_ONCE)
        return self._do(*tells)

    def void(self, pull: Pull | int, reason: str = "") -> None:
        """Say that a pull was never made: nothing is charged and nothing learned."""
        self._do(c.Void(_number("void", pull), _note("void", reason)))

    def extend(self, pull: Pull | int, ttl: float) -> None:
        """Give a pull under way `ttl` seconds from now."""
        self._do(c.Extend(_number("extend", pull), micros("extend", ttl)))

    def amend(self, pull: Pull | int, cost: Any, reward: float, reason: str = "") -> None:
        """Correct what was told, on the record; the policy learns the correction where its memory can."""
        units = self._state.unit.units("amend", "cost", cost)
        self._do(c.Amend(_number("amend", pull), units, _reward("amend", reward), _note("amend", reason)))

    def set_budget(self, budget: Any) -> None:
        """Set the budget anew; more of it reopens a campaign that was exhausted."""
        self._do(c.SetBudget(positive(self._state.unit, "set_budget", "budget", budget)))

    def add_arm(self, name: str, max_cost: Any = None) -> None:
        """Open another arm."""
        self._do(c.AddArm(arm_term(self._state.unit, "add_arm", name, max_cost)))

    def disable_arm(self, name: str) -> None:
        """Pull an arm no more; what is under way can be told."""
        self._do(c.DisableArm(name))

    def enable_arm(self, name: str) -> None:
        """Pull a disabled arm again."""
        self._do(c.EnableArm(name))

    def warm_start(self, samples: "Iterable[tuple[str, Any, float]] | Campaign", key: str | None = None) -> int:
        """Let the policy learn from elsewhere, at no cost: (arm, cost, reward) of a log, or another campaign's pulls.

        Args:
            samples: in the order in which they are to be learned; a campaign gives those that were told.
            key: a name for this log; the same is learned only once.

        Returns how many samples were learned: none where the key is known.
        """
        name = label("warm_start", "key", key if key is not None else uuid.uuid4().hex)
        source = f"campaign {samples.name}" if isinstance(samples, Campaign) else "log"
        rows = _outcomes(samples) if isinstance(samples, Campaign) else _rows("warm_start", "samples", samples)
        state = self._ledger.standing()
        checked = list(_checked(state, rows))  # all of them before the first is learned
        parts = [checked[i : i + ROWS] for i in range(0, len(checked), ROWS)]
        return sum(self._do(*(_warm(part, f"{name}/{i}", source) for i, part in enumerate(parts))))

    def pause(self) -> None:
        """Name no arm until `resume`; tells are taken."""
        self._do(c.Pause())

    def resume(self) -> None:
        """Name arms again."""
        self._do(c.Resume())

    def close(self) -> None:
        """End the campaign for good: `ask` returns None; what is under way can be told."""
        self._do(c.Close())

    def status(self) -> Status:
        """How the campaign stands."""
        return self._ledger.status()

    def history(self, after: int = 0) -> Iterator[Entry]:
        """The events in order, those after number `after`."""
        after = whole("history", "after", after, at_least=0)
        state = self._ledger.standing()
        return entries(self._ledger.records(after), state.unit, [arm.name for arm in state.arms])

    def disconnect(self) -> None:
        """Let the store go; the campaign stays as it is, and can be opened again."""
        self._ledger.close()

    @property
    def name(self) -> str:
        """Its name in the store."""
        return self._state.name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.disconnect()

    def __repr__(self) -> str:
        try:
            s = self.status()
        except StoreError as error:
            return f"<Campaign {self.name!r}: {error}>"
        return f"<Campaign {s.name!r}: {s.phase}, {s.spent:g} of {s.budget:g} spent in {s.pulls} pulls by {s.policy}>"

    def _repr_html_(self) -> str | None:
        try:
            return self.status()._repr_html_()
        except StoreError:
            return None  # a notebook shows the repr

    def _begin(self) -> None:
        self._state = self._ledger.standing()

    def _tell(self, pull: Pull | int, cost: Any, reward: float) -> c.Tell:
        units = self._state.unit.units("tell", "cost", cost)
        arm = pull.arm if isinstance(pull, Pull) else None
        return c.Tell(_number("tell", pull), units, _reward("tell", reward), arm)

    def _do(self, *commands: c.Command) -> list[Any]:
        replies = self._ledger.transact(commands) if commands else []
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return replies


class _Ledger(Protocol):
    """What a campaign needs of a store."""

    def transact(self, commands: Sequence[c.Command]) -> list[Any]: ...
    def submit(self, commands: Sequence[c.Command]) -> Any: ...
    def standing(self) -> State: ...
    def status(self) -> Status: ...
    def records(self, after: int = 0) -> Iterator[Any]: ...
    def close(self) -> None: ...


def _ledger(store: str | None, name: str, opening: c.Open | None, policy: Any) -> _Ledger:
    if store is None and opening is not None:
        return MemoryLedger(opening, policy)
    from outlay.campaign.stores.sql import SqlLedger

    return SqlLedger(store, name, opening, policy)  # type: ignore[arg-type]


def _one(replies: list[Any]) -> Any:
    (reply,) = replies
    if isinstance(reply, Exception):
        raise reply
    return reply


def _ask(key: str | None, ttl: float | None) -> c.Ask:
    return c.Ask(None if key is None else label("ask", "key", key), None if ttl is None else micros("ask", ttl))


def _warm(samples: list[tuple[str, float, float]], key: str, source: str) -> c.Warm:
    arms, costs, rewards = zip(*samples, strict=True)
    return c.Warm(arms, costs, rewards, key, source)


def _number(owner: str, pull: object) -> int:
    """A decision's number, from its pull or as such."""
    if isinstance(pull, Pull):
        return pull.decision
    return whole(owner, "pull", pull, at_least=1, at_most=2**63 - 1)


def _note(owner: str, reason: object) -> str:
    return label(owner, "reason", reason) if reason != "" else ""


def _reward(owner: str, value: object, **limits: float) -> float:
    """A reward; -0.0 is 0.0, for SQLite knows no other."""
    return real(owner, "reward", value, **limits) + 0.0


def _checked(state: State, samples: Iterable[tuple[Any, Any, Any]]) -> Iterator[tuple[str, float, float]]:
    """Samples to learn from, their costs as this campaign rounds them."""
    owner, unit, names = "warm_start", state.unit, {arm.name for arm in state.arms}
    for arm, cost, reward in samples:
        if not isinstance(arm, str) or arm not in names:
            raise unknown_arm(state, owner, arm)
        value = _reward(owner, reward, at_least=-MOST_REWARD, at_most=MOST_REWARD)
        units = unit.units(owner, "cost", cost)
        if units < 0 and not state.terms.negative_costs:
            raise BadParameter(owner, "cost", "≥ 0 in this campaign", cost)
        yield arm, unit.amount(units), value


def _rows(owner: str, name: str, rows: Any) -> Iterator[tuple[Any, Any, Any]]:
    if not isinstance(rows, Iterable):
        raise BadParameter(owner, name, "many of three values each: arm or pull, cost, reward", rows)
    return map(_three, rows)


def _three(sample: Any) -> tuple[Any, Any, Any]:
    try:
        one, two, three = sample
    except (TypeError, ValueError):
        raise BadParameter("Campaign", "a sample", "three values: arm or pull, cost, reward", sample) from None
    return one, two, three


def _outcomes(campaign: Campaign) -> Iterator[tuple[str, float, float]]:
    """What the pulls of a campaign cost and gave, corrections included, in the order of the first tell."""
    told: dict[int, tuple[str, float, float]] = {}
    for entry in campaign.history():
        if entry.kind in ("told", "amended") and entry.decision is not None:
            told[entry.decision] = str(entry.arm), float(entry.cost or 0.0), float(entry.reward or 0.0)
    yield from told.values()
