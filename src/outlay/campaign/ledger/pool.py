"""A cap on the sum of several campaigns: what happens in one of them to its money happens in their pool as well.

A pool is a campaign in hard mode with one arm. For each pull of a member it has one of its own, with as much set aside,
which ends as that of the member ends, in the same transaction. So what is spent and set aside in the pool is the sum of
what is in its members, at every commit; its cap is theirs together, and its ledger is verified like any other.
"""

from collections.abc import Sequence

from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.allocate import NoRoom, retry_next_window
from outlay.campaign.ledger.decide import is_due, step
from outlay.campaign.ledger.state import PullState, State
from outlay.campaign.ledger.validation import OWNER
from outlay.errors import BadParameter, CampaignConflict, NotNow, OverBudget

LONGEST_MEMBER = 180  # characters of the name of a campaign with a pool: the keys in the pool have its name in them


class Pool:
    """The pool of one campaign, its `member`, while a batch of that one's commands is decided."""

    def __init__(self, state: State, member: str) -> None:
        self.state, self._member = state, member
        self.records: list[e.Record] = []  # what happened in it

    def expire(self, now: int) -> None:
        """Do what is due."""
        if is_due(self.state, now):
            self._take(e.ExpirePulls(), now)

    @property
    def room(self) -> int:
        """What a pull of a member may set aside; below 0 where the pool has ended or is paused."""
        state = self.state
        return -1 if state.ended or state.archived or state.paused else state.left

    def refusal(self, ask: e.Ask, least: int, now: int) -> tuple[NotNow | OverBudget | None, bool]:
        """Why an ask gets no pull although its campaign has room: `least` is more than there is room for here.

        None where it is the end; and whether there may be room again soon. An asker who said neither what a call can
        cost nor which arms can serve it has no smaller one.
        """
        try:
            self._take(e.Ask(most=least), now)
        except NotNow as later:
            return later, True
        except OverBudget as over:
            if ask.most is not None or ask.arms is not None:
                return over, False
        return retry_next_window(self.state, now, ended=not self.state.ended), False

    def follow(self, member: State, events: Sequence[e.AnyEvent], now: int) -> None:
        """Have happen what happens to a member; raises, before anything happened, where a pull does not fit."""
        for place, event in enumerate(events, 1):
            match event:
                case e.Asked(fallback=False):
                    self._set_aside(member.seq + place, event.reserved, now)
                case e.Told() | e.Amended():
                    self._settle(event.pull, event.cost, now)
                case e.Expired(charged=None) | e.Cancelled():
                    self._give_back(event.pull, now)
                case e.Expired():
                    if (pull := self.pull(event.pull)) and pull.status == "open":
                        self._take(e.Charge(pull.number), now)

    def key(self, number: int) -> str:
        """The key, in the pool, of a member's pull: one that no user can ask with."""
        return f"{e.SEPARATOR}{self._member}/{number}"

    def pull(self, number: int) -> PullState | None:
        """The pool's pull for a member's, if it is at hand; there is none for a fallback, which no budget pays for."""
        return self.state.pull_named(self.key(number))

    def _set_aside(self, number: int, amount: int, now: int) -> None:
        made = self._take(e.Ask(self.key(number), most=amount), now)
        if made is None:
            raise NoRoom(amount)
        if self.state.pulls[made].reserved != amount:
            raise CampaignConflict(f"pool {self.state.name!r} has arms with a maximum, and cannot be one")

    def _settle(self, number: int, cost: int, now: int) -> None:
        if pull := self.pull(number):
            told = pull.status == "told"
            self._take(e.Amend(pull.number, cost, None) if told else e.Tell(pull.number, cost, 0.0), now)

    def _give_back(self, number: int, now: int) -> None:
        pull = self.pull(number)
        if pull and pull.status == "open":
            self._take(e.Cancel(pull.number), now)
        elif pull and pull.status != "cancelled":  # its time was over here before it was there
            self._settle(number, 0, now)

    def _take(self, command: e.Command, now: int) -> int | None:
        self.state, records, reply = step(self.state, command, now)
        self.records += records
        return reply


def check_pool(pool: State, member: e.Open) -> None:
    """Refuse to open a campaign whose pool could not hold the cap."""
    terms, name = pool.terms, repr(pool.name)
    if len(member.name) > LONGEST_MEMBER:
        raise BadParameter(OWNER, "name", f"at most {LONGEST_MEMBER} characters with a pool", member.name)
    if terms.pool is not None or terms.fallback is not None or terms.mode != "hard":
        raise BadParameter(OWNER, "pool", "a campaign in hard mode, with neither a fallback nor a pool", pool.name)
    if terms.context is not None:
        raise BadParameter(OWNER, "pool", "a campaign without a context", pool.name)
    if len(pool.arms) != 1 or pool.arms[0].max_cost is not None:
        raise BadParameter(OWNER, "pool", "a campaign with one arm, which has no maximum", pool.name)
    if terms.unit != member.terms.unit:
        raise BadParameter(OWNER, "unit", f"{terms.unit}, that of its pool {name}", member.terms.unit)
    if member.terms.negative_costs and not terms.negative_costs:
        raise BadParameter(OWNER, "negative_costs", f"False, as in its pool {name}", True)
