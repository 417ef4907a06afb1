"""Ration: the policy to run with a budget and a number of requests; `Thrifty` where requests have no limit."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from outlay.beliefs import Belief, Lead, Points, price_of
from outlay.beliefs.points import points_among
from outlay.checks import Vector, vector
from outlay.errors import BadParameter
from outlay.formulas.choices.choose import AT_ONCE, Counts, Now, leader_of, leads
from outlay.formulas.choices.choose import number as comparable
from outlay.formulas.requests.dues import Dues, due, dues, in_dues, lead_in_dues
from outlay.formulas.requests.edges import RESERVE, after_exploring, edge_in_use, on_edge, per_request
from outlay.formulas.requests.prices import Prices
from outlay.formulas.thrift import COSTLY, GROWTH, excess_within, fresh_within, length, to_open
from outlay.parameters import Parameters, derived, number, parameter
from outlay.policies.baselines.told_budget import budget_or_infinity, requests_or_infinity

UNKNOWN = np.full(1, math.nan)  # no list of costs; an empty array is not for GPUs
PLENTY = 4.0  # pulls of the cheapest arm: where four requests have the money for one, requests are scarce
LESS_COSTLY = 1.25  # by how much the factor of opening is less then
FREE_AFTER = 20  # pulls that cost nothing, from which on an arm is taken to be free
STEEPER = 0.0125  # growth of the slope then, beside Thrifty's, for each squared unit of the logarithm of the horizon
STEADY = 0.5  # of the usual variance: an arm that varies less is not taken to look Gaussian then


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
    the price of money λ and the worth of a request ν (`prices.py`). A pull is due λX + ν. That is the currency in
    which `Thrifty` compares arms here: evidence, what is enough, shrinkage and opening are its own, with dues for
    costs, both ends of the edge for the leader, and λB + νN for the budget. What differs:

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

    known_costs: Vector = derived(lambda given: UNKNOWN if given.costs is None else given.costs)
    known_bound: float = derived(lambda given: -math.inf if given.reward_bound is None else given.reward_bound)
    known_budget: float = derived(budget_or_infinity)
    known_requests: float = derived(requests_or_infinity)

    def check(self, arms: int) -> None:
        """Refuse a list of costs that is not one for each arm."""
        if self.costs is not None and len(self.known_costs) != arms:
            raise BadParameter("Ration", "costs", f"one for each of {arms} arms", self.costs)

    def memory(self, arms: int) -> Points:
        """The arms' points, and the order in which those that are not open will be."""
        return Points.empty(arms, () if self.costs is None else self.known_costs, FREE_AFTER)

    def choose(self, memory: Points, now: Now, rng: np.random.Generator) -> int:
        """Open an arm, pull one that may be better, or one of the edge."""
        if memory.opened() < len(memory.pulls):
            memory.shuffle(rng)
        fresh, opened = memory.unopened(), memory.opened()
        if opened == 0 or (opened < AT_ONCE and fresh < len(memory.pulls) and math.isnan(memory.told[fresh])):
            return fresh
        at = bearings(self.slope, self.known_budget, self.known_requests, memory, now)
        wanted = math.inf
        if fresh < len(memory.pulls):
            wanted = fresh_excess(memory, fresh, at)
            if not math.isnan(memory.told[fresh]):  # what it would leave, with the reserve that it would need
                rest = per_request(max(0.0, at.money - RESERVE * memory.told[fresh]), max(1.0, at.left - RESERVE))
                then = edge_in_use(memory, rest, at.best, at.leader.usual_price)
                if then.price * memory.told[fresh] + then.worth >= max(self.known_bound, at.leader.reward_max) > 0.0:
                    wanted = math.inf
        if wanted == -math.inf:
            return fresh
        arm, excess = least_in_dues(memory, at)
        if wanted <= 0.0 and wanted <= excess:
            return fresh
        return arm if excess <= 0.0 else on_edge(memory, at.edge, at.per_request, at.left)

    def choose_among(self, memory: Points, arms: Counts, now: Now, rng: np.random.Generator) -> int:
        """Choose where only these arms may be pulled: what is left is shared out among them."""
        if memory.opened() < len(memory.pulls):
            memory.shuffle(rng)
        return int(arms[self.choose(points_among(memory, arms), now, rng)])


class Bearings(NamedTuple):
    """What arms are compared with: the edge in use and the one after exploring, the currency, and the lead in it."""

    money: float  # that is left
    left: float  # requests
    per_request: float
    best: int  # the arm with the best rate
    leader: Lead  # its lead
    edge: Prices
    ahead: Prices
    currency: Dues
    lead: Lead
    total: float  # all that may be used, in dues
    slope: float
    steady: float
    scarce: float


def bearings(slope: float, budget: float, requests: float, memory: Points, now: Now) -> Bearings:
    """Where a run with this budget and so many requests stands."""
    money, left = max(0.0, budget - now.spent), max(1.0, requests - now.pulls)
    c = per_request(money, left)
    best, _ = leader_of(memory, memory.pulls)
    leader = memory.lead(best)
    edge = edge_in_use(memory, c, best, leader.usual_price)
    later = after_exploring(memory, edge, money, left, float(now.pulls))
    ahead = edge_in_use(memory, later, best, leader.usual_price)
    price = price_of(memory.belief(best), leader.cost_min, leader.cost_max)
    currency = dues(ahead, memory.rewards[best] / price)
    lead = lead_in_dues(memory, leader, ahead, currency, now)
    total = due(currency, budget, requests)
    scarce = scarcity(memory, c, ahead.worth)
    steep = steepness(slope, scarce, length(total if total < math.inf else lead.spent, lead))
    steady = STEADY if scarce == 1.0 else 0.0
    return Bearings(money, left, c, best, leader, edge, ahead, currency, lead, total, steep, steady, scarce)


def scarcity(memory: Points, per_request: float, worth: float) -> float:
    """How far requests are scarce, from 0, where money alone is, to 1: by what they have for the cheapest arm."""
    cheapest = math.inf
    for arm in range(len(memory.pulls)):
        if memory.pulls[arm] > 0 and memory.costs[arm] > 0.0:
            cheapest = min(cheapest, float(memory.costs[arm]))
    return min(1.0, PLENTY * per_request / cheapest) if worth == 0.0 and cheapest < math.inf else 1.0


def steepness(slope: float, scarce: float, length: float) -> float:
    """How much evidence is enough for each unit of l, over so long a horizon: `Thrifty`'s where only money is scarce.

    >>> [round(steepness(0.33, 1.0, math.log(n) - 6.0), 2) for n in (1e3, 1e4, 1e5, 1e6)]
    [0.38, 0.59, 0.93, 1.0]
    """
    return min(max(1.0, 2.0 * slope * scarce), slope + (GROWTH + scarce * STEEPER * length) * length)


def fresh_excess(memory: Points, fresh: int, at: Bearings) -> float:
    """The excess of the arm to be opened next; −∞ comes before everything."""
    if at.total == math.inf:
        return fresh_within(at.total, at.lead, at.lead)
    told = memory.told[fresh]
    price = at.lead.usual_price if math.isnan(told) else at.currency.money * told + at.currency.request
    costly = COSTLY - LESS_COSTLY * at.scarce
    return math.inf if at.total - at.lead.spent < to_open(costly, price, at.lead.opened) else -math.inf


def least_in_dues(memory: Points, at: Bearings) -> tuple[int, float]:
    """The arm with the least excess of those on neither edge, ties to the least dues; no arm has an excess of ∞."""
    best, least, spend = 0, math.inf, math.inf
    edge, ahead, lead = at.edge, at.ahead, at.lead
    for arm in range(len(memory.pulls)):
        if memory.pulls[arm] == 0 or arm in (edge.low, edge.high, ahead.low, ahead.high):
            continue
        belief = in_dues(known_cost(memory, arm), at.currency)
        excess = -comparable(-excess_at(belief, at))
        mine = belief.pulls * price_of(belief, lead.cost_min, lead.cost_max)
        if leads(-excess, mine, memory.pulls[arm], -least, spend, memory.pulls[best]):
            best, least, spend = arm, excess, mine
    return best, least


def excess_at(belief: Belief, at: Bearings) -> float:
    """Evidence against an arm less what is enough; what is known of it is in dues."""
    return excess_within(at.total, at.slope, at.steady, belief, at.lead, at.lead)


def known_cost(memory: Points, arm: int) -> Belief:
    """What is known of an arm, with a cost that does not vary where its mean was told: only rewards are in doubt."""
    belief = memory.belief(arm)
    if math.isnan(memory.told[arm]):
        return belief
    return Belief(arm, belief.pulls, belief.mean_cost, belief.mean_reward, 0.0, belief.var_reward, 0.0)
