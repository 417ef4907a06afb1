"""What there is to see while a campaign runs, as numbers: the money left over time, and where each arm's rate lies."""

import math
from collections import deque
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from outlay.beliefs import Belief, Moments
from outlay.campaign.records import Entry, PullStatus, Status
from outlay.formulas.confidence import fieller_limit

if TYPE_CHECKING:
    from outlay.campaign.campaign import Campaign

MOST_POINTS = 4096  # of the money left over time; beyond, every second one goes
CERTAINTY = math.log(20.0)  # each end of an interval is wrong with probability ½·exp(−ln 20) = 1/40 at most


class Balance(NamedTuple):
    """How much was left at some moment, pulls under way aside, and how many requests were used."""

    at: datetime
    left: float
    used: int = 0


class RateInterval(NamedTuple):
    """Where a rate lies with a probability of 95 %, for costs and rewards that are Gaussian or many."""

    low: float
    high: float


UNKNOWN = RateInterval(-math.inf, math.inf)


class CampaignView(NamedTuple):
    """A campaign at one moment; `intervals` are those of the arms of `status`, in their order."""

    status: Status
    burn: tuple[Balance, ...]
    intervals: tuple[RateInterval, ...]
    under_way: tuple[PullStatus, ...]
    last: tuple[Entry, ...]


class CampaignMonitor:
    """Looks at a campaign again and again; each look reads only the events that are new.

    >>> from outlay.campaign import Campaign
    >>> campaign = Campaign({"a": 1}, budget=5)
    >>> watch = CampaignMonitor(campaign)
    >>> campaign.ask().tell(cost=0.5, reward=1)
    Receipt(...)
    >>> [point.left for point in watch.look().burn]
    [5.0, 4.5]
    """

    def __init__(self, campaign: "Campaign", pulls: int = 6, events: int = 8) -> None:
        self._campaign, self._most_pulls = campaign, pulls
        self.read = 0  # the last event that was read
        self.behind = False  # whether the last look left something unread
        self._budget, self._spent, self._used = 0.0, 0.0, 0
        self._burn: list[Balance] = []
        self._asked: dict[int, Entry] = {}  # pulls under way, the oldest first
        self._apart: set[int] = set()  # those of them that count against no budget, or an earlier window's
        self._renewed = 0  # the event with which this window began
        self._arms: dict[str, int] = {}
        self._memory = Moments.empty(0)
        self._last: deque[Entry] = deque(maxlen=events)

    def look(self, most: int | None = None) -> CampaignView:
        """The campaign as it is now; with `most`, no more events are read than that, and the rest at later looks."""
        before = self.read
        for entry in islice(self._campaign.history(self.read), most):
            self.read = entry.seq
            self._last.append(entry)
            self._take_in(entry)
        self.behind = most is not None and self.read - before >= most
        status = self._campaign.status()
        beliefs = [self.belief(arm.name) for arm in status.arms]
        intervals = tuple(UNKNOWN if belief is None else rate_interval(belief) for belief in beliefs)
        pulls = tuple(map(_under_way, islice(self._asked.values(), self._most_pulls)))
        return CampaignView(status, tuple(self._burn), intervals, pulls, tuple(self._last))

    def belief(self, arm: str) -> Belief | None:
        """What the outcomes so far say about an arm; None where there are none."""
        return self._memory.belief(self._arms[arm]) if arm in self._arms else None

    def _take_in(self, entry: Entry) -> None:
        arm, pull, more = entry.arm, entry.pull, entry.more
        apart = more.get("earlier", False) or more.get("fallback", False)
        if entry.kind == "asked":
            self._asked[entry.seq] = entry
            self._apart |= {entry.seq} if more.get("fallback") else set()
            self._used += 1
        elif entry.kind == "extended" and pull in self._asked:
            asked = self._asked[pull]
            self._asked[pull] = replace(asked, more={**asked.more, "expires": more["expires"]})
        elif entry.kind in ("told", "cancelled", "expired") and pull is not None:
            arm = self._asked.pop(pull, entry).arm  # that one expired does not say its arm
            apart |= pull in self._apart
            self._apart.discard(pull)
            if pull > self._renewed:
                self._used += more.get("was_cancelled", False) - (entry.kind == "cancelled")
        if entry.kind == "renewed":
            self._apart, self._spent, self._used, self._renewed = set(self._asked), 0.0, 0, entry.seq
        elif "budget" in more:
            self._budget = entry.more["budget"]
        elif entry.cost is None and entry.reward is None:
            return
        else:
            costs = self._count(str(arm), entry)
            self._spent += 0.0 if apart else costs
        self._burn.append(Balance(entry.at, self._budget - self._spent, self._used))
        if len(self._burn) > MOST_POINTS:
            del self._burn[1:-1:2]

    def _count(self, name: str, entry: Entry) -> float:
        """A pull that costs something, or something else than before: how much more it is."""
        if name not in self._arms:
            self._arms[name] = len(self._arms)
            self._memory = self._memory.with_new_arm()
        arm, instead = self._arms[name], entry.more.get("instead") or {"cost": 0.0, "reward": None}
        cost: float = instead["cost"] if entry.cost is None else entry.cost
        reward: float | None = instead["reward"] if entry.reward is None else entry.reward
        if instead["reward"] is not None and reward is not None:
            self._memory.revise(arm, 0, (instead["cost"], instead["reward"]), (cost, reward))
        elif reward is not None:
            self._memory.observe(arm, cost, reward)
        return cost - float(instead["cost"])


def _under_way(asked: Entry) -> PullStatus:
    more = asked.more
    return PullStatus(
        id=asked.seq, arm=str(asked.arm), status="open", asked=asked.at, expires=more.get("expires"),
        reserved=more["reserved"], cost=None, reward=None, late=False, overrun=False, amended=False,
        propensity=more.get("propensity"), key=more.get("key"), tags=tuple(more.get("tags", ())),
        metadata=more.get("metadata") or {}, context=tuple(more["context"]) if "context" in more else None,
    )  # fmt: skip


def rate_interval(belief: Belief) -> RateInterval:
    """Fieller's interval of the rate; (−∞, ∞) where nothing can be said, as after two pulls.

    >>> belief = Belief(0, 100, mean_cost=2.0, mean_reward=1.0, var_cost=0.25, var_reward=0.25, cov=0.0)
    >>> [round(end, 3) for end in rate_interval(belief)]
    [0.432, 0.572]
    """
    if belief.pulls < 3:
        return UNKNOWN
    g = math.expm1(2.0 * CERTAINTY / (belief.pulls - 2))
    mirrored = belief._replace(mean_reward=-belief.mean_reward, cov=-belief.cov)
    low, high = (fieller_limit(b.mean_cost, b.mean_reward, b, g) for b in (mirrored, belief))
    return RateInterval(-low, high)
