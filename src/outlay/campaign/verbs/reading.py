"""How a campaign is read: what it is, how it stands, its events, its pulls, and hooks on what happens."""

from collections.abc import Callable, Iterator
from typing import cast, get_args

from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger.state import PullPhase, State
from outlay.campaign.notes import tag_of
from outlay.campaign.reasons import MOST, Reasons, Weighed, reasons_of
from outlay.campaign.records import Entry, PullFilter, PullStatus, Rows, Status, entries, pull_status
from outlay.campaign.stores.base import Store
from outlay.campaign.terms import label
from outlay.campaign.verbs.hooks import Hook, Hooks
from outlay.campaign.verbs.steps import Steps, later, listed, verb
from outlay.checks import whole, word
from outlay.errors import StoreError
from outlay.policies.protocol import Policy


class Reading:
    """A mix-in with what changes nothing."""

    _ledger: Store
    _state: State  # as it was when the campaign was opened, for what never changes: its name, unit and terms
    _policy: Policy | None
    _hooks: Hooks

    def status(self) -> Status:
        """How the campaign stands."""
        return self._ledger.status()

    def history(self, after: int = 0) -> Rows[Entry]:
        """The events in order, starting after event number `after`; `.frame()` makes them a DataFrame.

        What is returned can be looped over more than once, and has a length.
        """
        after = whole("history", "after", after, at_least=0, at_most=2**63 - 1)
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
            status: only those that are "open", "told", "cancelled" or "expired".
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
            None if tag is None else tag_of("pulls", tag),
            None if key is None else label("pulls", "key", key),
            whole("pulls", "after", after, at_least=0, at_most=2**63 - 1),
            None if limit is None else whole("pulls", "limit", limit, at_least=0, at_most=2**63 - 1),
        )
        ledger = self._ledger
        ledger.state()  # a fork, or a file that cannot be read, is refused here and not in a loop

        def read() -> Iterator[PullStatus]:
            found, state = ledger.find(wanted), ledger.state()
            names = [arm.name for arm in state.arms]
            return (pull_status(each, state.unit, names) for each in found)

        return Rows(PullStatus, read)

    def on(self, kind: str, hook: Hook) -> Callable[[], None]:
        """Have `hook(entry)` called with every event of this kind from now on; return what ends that.

        Args:
            kind: of event, as `history` names it: "told", "expired", "exhausted", …; "*" for all.
            hook: called in a thread of its own, in the order of the ledger, after the event was committed, whoever
                wrote it; those of other processes within a second. What it raises is logged, and harms nobody.
        """
        return self._hooks.add(kind, hook)

    @verb
    def reasons(self, most: int = MOST) -> Steps[Reasons]:
        """Which arm an ask would name now, and why: what its policy weighs, for up to `most` arms. Nothing changes.

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
        weighed: Weighed = yield c.Weigh()
        return reasons_of(weighed, most)

    ahistory, apulls, astatus = later(listed(history)), later(listed(pulls)), later(status)
    areasons = later(reasons)

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
    def policy(self) -> Policy | None:
        """The policy that chooses; None if it is not built in and was not passed when the campaign was opened."""
        return self._policy

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
