"""Ration: the policy to run with a budget and a number of requests; `Thrifty` where requests have no limit."""

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from outlay.beliefs import HullMoments
from outlay.beliefs.sequential import points_among
from outlay.checks import Vector, vector
from outlay.errors import BadParameter
from outlay.formulas.argmax import OPENED_FIRST, Counts, Now, leads
from outlay.formulas.argmax import number as comparable
from outlay.formulas.confidence import budget_or_infinity, requests_or_infinity
from outlay.formulas.evidence import COSTLY, excess_of_unopened, to_open
from outlay.formulas.pricing import (
    RESERVE,
    HullPosition,
    edge_in_use,
    excess_in_dues,
    hull_position,
    known_cost,
    on_edge,
    per_request,
    required_in_dues,
)
from outlay.parameters import Parameters, choice, derived, number, parameter

UNKNOWN = np.full(1, math.nan)  # no list of costs; an empty array is not for GPUs
LESS_COSTLY = 1.25  # by how much the factor of opening is less where requests are scarce
FREE_AFTER = 20  # pulls that cost nothing, from which on an arm is taken to be free


def mean_costs(owner: str, name: str, values: ArrayLike) -> Vector:
    """A list of mean costs; names are refused, as a policy knows its arms by their places alone."""
    if isinstance(values, Mapping):
        allowed = (
            "a sequence of numbers, in the order of the arms (only a campaign takes names: Campaign(…, costs={…}))"
        )
        raise BadParameter(owner, name, allowed, values)
    return vector(owner, name, values)


class Ration(Parameters):
    """Serve N requests with a budget B: pull an arm of the edge in use, unless another may be better or a new one pays.

    With b money and n requests left, the hull of the points (mean cost, mean reward) so far has an edge over b/n, with
    the price of money λ and the worth of a request ν (`formulas.pricing`). A pull is due λX + ν. In that currency arms
    are compared as by `Thrifty`: evidence, what is enough, shrinkage and opening are its own, with dues for costs, both
    ends of the edge for the leader, and λB + νN for the budget. What differs:

    - **A reserve.** Arms that are not on the edge have used E money and F requests; three times as much, in proportion
      to the requests that are left, is kept for exploring yet to come: λ and ν are those of (b − 3E·n/N)/(n − 3F·n/N),
      where that is less than b/n.
    - **Scarce requests.** Requests are scarce by s = min(1, 4b/(n·x)), x the least mean cost above 0 so far, and s = 1
      where a request is worth something (ν > 0): there is money for a good part of them.
    - **Opening.** `Thrifty` wants to have left what buys 2(m + 1)·ln(m + 1) pulls at the usual price. Here the 2 is
      2 − 1¼·s: where requests are scarce, an arm that is cheap and good would serve them all.
    - **What is enough.** Where requests are scarce, the slope grows with the logarithm of the horizon, x, by
      0.04·x + 0.0125·s·x² instead of 0.04·x: with more to lose, fewer runs may go wrong.
    - **Skewed rewards.** A good arm that has not had its large rewards yet pays little and varies little: taken to be
      Gaussian, it would be dropped for long. So where s = 1, evidence is that of bounded laws alone
      (`closed_evidence`) for an arm that varies less than half as much as all pulls together.
    - **The mix.** On the edge the two arms are pulled in the proportion that uses up money and requests together; one
      whose mean cost is b/n, as far as chance in what is left allows to tell, is pulled alone.
    - **Free at first.** Fewer than 20 pulls that cost nothing do not make an arm free: T of them count as if one more
      had cost as much as the dearest pull of all.

    Without a limit to requests (None), or with a huge one, it chooses as `Thrifty` does as long as every arm tried has
    cost something. Without a budget it is a policy for the classical bandit. There is no guarantee. But for rounding,
    scaling all costs together with the budget changes no choice, nor does scaling all rewards together with
    `reward_bound`.

    Args:
        costs: the mean cost of each arm, where known, as price lists give it: arms are then opened cheapest first, and
            none whose dues would be as much as the largest reward.
        reward_bound: the largest possible reward, where known; a larger one that is seen replaces it. It is used with
            `costs` only.
        slope: of the evidence that is asked for, as for `Thrifty`: with 0.7, where requests have no limit, it chooses
            as `Wary` does. Larger explores more, and has fewer runs that go wrong; over a long horizon it grows to 1,
            or to twice this where that is more and requests are scarce.
        budget: B, what may be spent in all; whoever plays it fills it in. None: no limit.
        requests: N, the pulls that may be made in all, likewise.
        changes: "noticed" or "ignored", as for `Thrifty`.

    >>> policy = Ration(budget=20.0, requests=100)
    >>> memory, rng = policy.memory(arms=2), np.random.default_rng(0)
    >>> for _ in range(10):
    ...     memory.observe(0, cost=0.1, reward=0.3)
    ...     memory.observe(1, cost=0.4, reward=0.6)
    >>> policy.choose(memory, Now(pulls=20, log_n=2.996, spent=5.0), rng)  # 0.19 for each request: more of arm 0
    0

    Reference: docs/requests.md.
    """

    costs: ArrayLike | None = parameter(mean_costs, default=None)
    reward_bound: float | None = number(default=None, above=0)
    slope: float = number(default=0.33, above=0, at_most=1)
    budget: float | None = number(default=None, above=0)
    requests: float | None = number(default=None, above=0)
    changes: Literal["noticed", "ignored"] = choice("noticed", "ignored", default="noticed")

    known_costs: Vector = derived(lambda given: UNKNOWN if given.costs is None else given.costs)
    known_bound: float = derived(lambda given: -math.inf if given.reward_bound is None else given.reward_bound)
    known_budget: float = derived(budget_or_infinity)
    known_requests: float = derived(requests_or_infinity)

    def check(self, arms: int) -> None:
        """Refuse a list of costs that is not one for each arm."""
        if self.costs is not None and len(self.known_costs) != arms:
            raise BadParameter("Ration", "costs", f"one for each of {arms} arms", self.costs)

    def memory(self, arms: int) -> HullMoments:
        """The arms' points, and the order in which those that are not open will be."""
        costs = () if self.costs is None else self.known_costs
        return HullMoments.empty(arms, costs, FREE_AFTER, watched=self.changes == "noticed")

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:
        """Open an arm, pull one that may be better, or one of the edge."""
        arms, opened = len(memory.pulls), int(memory.opened())
        if opened < arms:
            memory.shuffle(rng)
        fresh = int(memory.unopened())
        if opened == 0 or (opened < OPENED_FIRST and fresh < arms and math.isnan(memory.told[fresh])):
            return fresh
        at = hull_position(self.known_budget, self.known_requests, memory, now)
        wanted = math.inf
        if fresh < arms:
            wanted = fresh_excess(memory, fresh, at)
            if wanted < math.inf and cannot_pay(memory, fresh, self.known_bound, at):
                wanted = math.inf
        if wanted == -math.inf:
            return fresh
        arm, excess = least_in_dues(self.slope, memory, at)
        if wanted <= 0.0 and wanted <= excess:
            return fresh
        return arm if excess <= 0.0 else on_edge(memory, at.edge, at.per_request, at.left)

    def choose_among(self, memory: HullMoments, arms: Counts, now: Now, rng: np.random.Generator) -> int:
        """Choose where only these arms may be pulled: what is left is shared out among them."""
        if memory.opened() < len(memory.pulls):
            memory.shuffle(rng)
        return int(arms[self.choose(points_among(memory, arms), now, rng)])


def fresh_excess(memory: HullMoments, fresh: int, at: HullPosition) -> float:
    """The excess of the arm to be opened next; −∞ comes before everything."""
    if at.total == math.inf:
        return excess_of_unopened(at.total, at.lead, at.lead)
    told = memory.told[fresh]
    price = at.lead.usual_price if math.isnan(told) else at.currency.money * told + at.currency.request
    costly = COSTLY - LESS_COSTLY * at.scarce
    return math.inf if at.total - at.lead.spent < to_open(costly, price, at.lead.opened) else -math.inf


def cannot_pay(memory: HullMoments, fresh: int, bound: float, at: HullPosition) -> bool:
    """Whether an arm of known cost would be due as much as any reward, at the prices after it was opened."""
    told = memory.told[fresh]
    if math.isnan(told):
        return False
    left = per_request(max(0.0, at.money - RESERVE * told), max(1.0, at.left - RESERVE))
    then = edge_in_use(memory, left, at.usual.usual_price)
    return bool(then.price * told + then.worth >= max(bound, at.usual.reward_max) > 0.0)


def least_in_dues(slope: float, memory: HullMoments, at: HullPosition) -> tuple[int, float]:
    """The arm with the least excess of those on neither edge, ties to the least dues; no arm has an excess of ∞."""
    best, least, spend = 0, math.inf, math.inf
    edge, ahead, asked = at.edge, at.ahead, required_in_dues(slope, at)
    for arm in range(len(memory.pulls)):
        if memory.pulls[arm] == 0 or arm in (edge.low, edge.high, ahead.low, ahead.high):
            continue
        belief = known_cost(memory, arm)
        excess = -comparable(-excess_in_dues(asked, belief, at))
        mine = belief.pulls * (at.currency.money * belief.mean_cost + at.currency.request)
        if leads(-excess, mine, memory.pulls[arm], arm, -least, spend, memory.pulls[best], best):
            best, least, spend = arm, excess, mine
    return best, least
