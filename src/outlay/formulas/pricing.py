"""Money and requests in one currency: what both are worth, what a pull is due, and which arms share what is left.

Each arm is a point (mean cost, mean reward), and so is a request that is not served: the origin. Requests can be shared
out among them, so all that a request can bring at a mean cost of c is f(c), the upper concave hull of the points, flat
to the right. At c it has a slope λ, the price of money, and an intercept ν, the worth of a request: f(c) = ν + λc, and
no arm lies above that line. On the first edge from the origin λ is the best rate and ν = 0, the paper's problem; on the
flat part λ = 0 and ν is the largest mean reward, the classical bandit. docs/requests.md has the problem and the proofs.

A pull that costs X takes λX + ν, its dues, from what is left. On the first edge of the hull ν is 0, and dues are costs:
the paper's problem, in its own units. Elsewhere they are in units of reward; then every arm of the edge earns 1 for
each unit of its dues, and no other arm as much. So the dues take the place of costs, and λ or 1 that of the best rate:
Z = R − λX − ν is R − r·(dues).

These functions run in the interpreter and compiled.
"""

import math
from typing import NamedTuple

from outlay.beliefs import Belief, HullMoments, Lead, price_of
from outlay.checks import Vector
from outlay.formulas.argmax import Now, leader_of, precedes
from outlay.formulas.evidence import GROWTH, Priced, RequiredEvidence, excess_within, log_horizon, required_evidence

TIE = 1e-12  # relative difference of two numbers that only rounding tells apart
NOTHING = -1  # in place of an arm: the origin, or no arm at all
RESERVE = 3.0  # what exploring is taken to need yet at first, as a multiple of what it has used
NEAR = 4.0  # variances of what is left: a mean cost that is nearer to the money for a request is not told from it
PLENTY = 4.0  # pulls of the cheapest arm: where four requests have the money for one, requests are scarce
STEEPER = 0.0125  # growth of the slope, beside Thrifty's, where requests are scarce: for each squared unit of length
STEADY = 0.5  # of the usual variance: an arm that varies less is not taken to look Gaussian there


class Prices(NamedTuple):
    """The edge of the hull over c, as a line and as the arms at its ends."""

    price: float  # λ ≥ 0
    worth: float  # ν ≥ 0
    low: int  # the arm at the left end, of cost ≤ c; NOTHING for the origin
    high: int  # the arm at the right end, of cost > c; NOTHING on the flat part


def prices(mean_costs: Vector, mean_rewards: Vector, per_request: float) -> Prices:
    """The price of money λ and the worth of a request ν at c = `per_request` ≥ 0, with the arms of the edge.

    At a vertex it is the edge to its right. Where both ends lie on one ray from the origin, but for rounding, it is the
    first edge, and ν is exactly 0: what theory asks of better laws depends on that. Free arms (mean cost 0) and
    refunding ones (below 0) are points like the others; one with a mean reward of −∞ takes no part.

    Start with the line from the origin to the largest reward; while some arm is above the line, let the one farthest
    above replace the end on its side of c. It lies between the ends (or is the first to replace the origin), because an
    arm that has replaced an end was the farthest above a line that was steeper (left) or less steep (right) than all
    that follow: so each step leaves fewer arms between the ends, and there are no more steps than arms.

    >>> import numpy as np
    >>> costs, rewards = np.array([0.1, 0.4, 1.0]), np.array([0.3, 0.6, 0.9])
    >>> found = prices(costs, rewards, 0.25)
    >>> round(found.price, 9), round(found.worth, 9), found.low, found.high
    (1.0, 0.2, 0, 1)
    >>> prices(costs, rewards, 2.0)
    Prices(price=0.0, worth=0.9, low=2, high=-1)
    """
    high = most_paid(mean_costs, mean_rewards)
    if high == NOTHING:
        return Prices(0.0, 0.0, NOTHING, NOTHING)
    if mean_costs[high] <= per_request:
        return Prices(0.0, float(mean_rewards[high]), high, NOTHING)
    low, least = NOTHING, -math.inf
    x, y = 0.0, 0.0  # the left end
    while True:
        price = (mean_rewards[high] - y) / (mean_costs[high] - x)
        above, farthest = NOTHING, 0.0
        for arm in range(len(mean_costs)):
            if least < mean_costs[arm] < mean_costs[high]:
                height = (mean_rewards[arm] - y) - price * (mean_costs[arm] - x)
                if height > farthest:
                    above, farthest = arm, height
        if above == NOTHING:
            rate = mean_rewards[high] / mean_costs[high]
            if abs(y - rate * x) <= TIE * abs(y):
                return Prices(float(rate), 0.0, NOTHING, high)
            return Prices(float(price), max(0.0, float(y - price * x)), low, high)
        if mean_costs[above] <= per_request:
            low, least, x, y = above, mean_costs[above], mean_costs[above], mean_rewards[above]
        else:
            high = above


def most_paid(mean_costs: Vector, mean_rewards: Vector) -> int:
    """The arm with the largest mean reward, the cheapest of several; NOTHING where none is above 0."""
    best = NOTHING
    for arm in range(len(mean_costs)):
        if not mean_rewards[arm] > 0.0:
            continue
        if (
            best == NOTHING
            or mean_rewards[arm] > mean_rewards[best]
            or (mean_rewards[arm] == mean_rewards[best] and mean_costs[arm] < mean_costs[best])
        ):
            best = arm
    return best


class UnitPrices(NamedTuple):
    """What money and a request count for in the currency of dues, and what the arms of the edge earn for one of it."""

    money: float
    request: float
    rate: float
    worth: float  # ν


def unit_prices(memory: HullMoments, edge: Prices, usual: Lead) -> UnitPrices:
    """The currency at the prices of an edge; `usual` has the extreme costs.

    While nothing has paid it is requests alone where the edge has a low end, that is, there is money for usual pulls.
    """
    if edge.worth > 0.0:
        return UnitPrices(edge.price, edge.worth, 1.0, edge.worth)
    if edge.low != NOTHING:
        return UnitPrices(0.0, 1.0, 0.0, 0.0)
    price = price_of(memory.belief(edge.high), usual.cost_min, usual.cost_max)
    return UnitPrices(1.0, 0.0, float(memory.rewards[edge.high]) / price, 0.0)


def due(currency: UnitPrices, money: float, requests: float) -> float:
    """So much money and so many requests, either of which may be infinite where it counts for nothing."""
    first = currency.money * money if currency.money > 0.0 else 0.0
    return first + currency.request * requests if currency.request > 0.0 else first


class HullPosition(NamedTuple):
    """Where a run stands: the edges of the hull that matter, the currency, and what arms are compared with in it."""

    money: float  # that is left
    left: float  # requests
    per_request: float
    usual: Lead  # what all arms are like, in money
    edge: Prices  # in use
    ahead: Prices  # the one after exploring
    currency: UnitPrices
    lead: Lead  # both ends of `ahead` together, in dues
    total: float  # all that may be used, in dues
    scarce: float  # how far requests are


def hull_position(budget: float, requests: float, memory: HullMoments, now: Now) -> HullPosition:
    """Where a run with this budget and so many requests stands."""
    money, left = max(0.0, budget - now.spent), max(1.0, requests - now.pulls)
    c, usual = per_request(money, left), memory.lead(0)
    edge = edge_in_use(memory, c, usual.usual_price)
    later = money_after_exploring(memory, edge, money, left, float(now.pulls))
    ahead = edge_in_use(memory, later, usual.usual_price)
    currency = unit_prices(memory, ahead, usual)
    spent = currency.money * now.spent + currency.request * now.pulls
    lead = lead_in_dues(memory, usual, ahead, currency, spent)
    total, scarce = due(currency, budget, requests), scarcity(memory, c, currency.worth)
    return HullPosition(money, left, c, usual, edge, ahead, currency, lead, total, scarce)


def per_request(money: float, requests: float) -> float:
    """The money that is left for each request that is left; 0 where requests have no limit."""
    return money / requests if requests < math.inf else 0.0


def edge_in_use(memory: HullMoments, per_request: float, usual_price: float) -> Prices:
    """The edge over so much money for each request, of the arms' points so far; it always has an arm.

    On the first edge that is the arm with the best rate. While nothing has paid it is that arm, too, or the one with
    the largest mean reward, ties to the fewest pulls, where there is enough money for usual pulls.
    """
    found = prices(memory.costs, memory.rewards, per_request)
    if found.low != NOTHING:
        return found
    if found.high == NOTHING and usual_price <= per_request:
        best = 0
        for arm in range(len(memory.pulls)):
            if precedes(memory.rewards[arm], memory.pulls[arm], arm, memory.rewards[best], memory.pulls[best], best):
                best = arm
        return Prices(0.0, 0.0, best, NOTHING)
    leader, _ = leader_of(memory, memory.pulls)
    return Prices(found.price, 0.0, NOTHING, leader)


def money_after_exploring(memory: HullMoments, edge: Prices, money: float, requests: float, made: float) -> float:
    """The money for each request that arms on the edge will have, if exploring goes on for a while: at most now's.

    What is kept for that is in proportion to the requests that are left of all: near the end nearly nothing, or else
    all money would seem to be spoken for, and arms would be compared as if requests were worth nothing.
    """
    used_money, used_requests = 0.0, 0.0
    for arm in range(len(memory.pulls)):
        if memory.pulls[arm] > 0 and arm != edge.low and arm != edge.high:
            used_money += memory.pulls[arm] * memory.costs[arm]
            used_requests += memory.pulls[arm]
    reserve = RESERVE * requests / (requests + made) if requests < math.inf else RESERVE
    then = per_request(max(0.0, money - reserve * used_money), max(1.0, requests - reserve * used_requests))
    return min(per_request(money, requests), then)


def lead_in_dues(memory: HullMoments, usual: Lead, edge: Prices, currency: UnitPrices, spent: float) -> Lead:
    """The lead of both ends of the edge together, in dues; `usual` is what all arms are like, in money."""
    everything = memory.arms.belief(len(memory.pulls))
    spend, pulls = 0.0, 0
    for arm in (edge.low, edge.high):
        if arm != NOTHING:
            spend += memory.pulls[arm] * (currency.money * memory.costs[arm] + currency.request)
            pulls += memory.pulls[arm]
    usual_price = currency.money * usual.usual_price + currency.request
    price = currency.rate * currency.money  # λ
    spread = everything.var_reward - 2.0 * price * everything.cov + price * price * everything.var_cost
    return Lead(
        currency.rate,
        float(spend),
        float(spend) / pulls if spend > 0.0 else usual_price,
        0.0,
        usual.reward_max - currency.worth,  # so that no R − λX − ν is larger than `largest_seen` says
        currency.money * usual.cost_min,
        currency.money * usual.cost_max,
        max(0.0, spread),
        usual.size,
        usual.opened,
        usual_price,
        usual.usual_rate * usual.usual_price / usual_price,
        spent,
    )


def scarcity(memory: HullMoments, per_request: float, worth: float) -> float:
    """How far requests are scarce, from 0, where money alone is, to 1: by what each has for the cheapest arm so far."""
    least = math.inf
    for arm in range(len(memory.pulls)):
        if memory.pulls[arm] > 0 and memory.costs[arm] > 0.0:
            least = min(least, float(memory.costs[arm]))
    return min(1.0, PLENTY * per_request / least) if worth == 0.0 and least < math.inf else 1.0


def required_in_dues(slope: float, at: HullPosition) -> RequiredEvidence:
    """What is asked of the evidence against an arm; the slope is `Thrifty`'s where only money is scarce."""
    length = log_horizon(at.total if at.total < math.inf else at.lead.spent, at.lead)
    steep = min(max(1.0, 2.0 * slope * at.scarce), slope + (GROWTH + at.scarce * STEEPER * length) * length)
    return required_evidence(steep, STEADY if at.scarce == 1.0 else 0.0, 0, at.lead, at.lead)


def excess_in_dues(of: RequiredEvidence, belief: Belief, at: HullPosition) -> float:
    """How an arm compares with the edge: evidence against it less what is enough, `Thrifty`'s excess, in dues."""
    money = at.currency.money
    mean = money * belief.mean_cost + at.currency.request
    in_dues = Belief(0, belief.pulls, mean, 0.0, 0.0, 0.0, 0.0)
    price = price_of(in_dues, at.lead.cost_min, at.lead.cost_max)
    return excess_within(of, at.total - at.lead.spent, belief, Priced(mean, price, money), at.lead, at.lead)


def known_cost(memory: HullMoments, arm: int) -> Belief:
    """What is known of an arm, with a cost that does not vary where its mean was told: only rewards are in doubt."""
    belief = memory.belief(arm)
    if math.isnan(memory.told[arm]):
        return belief
    return Belief(arm, belief.pulls, belief.mean_cost, belief.mean_reward, 0.0, belief.var_reward, 0.0)


def on_edge(memory: HullMoments, edge: Prices, per_request: float, requests: float) -> int:
    """The end of the edge to pull: the two in the proportion that uses up money and requests together.

    Near a vertex, where chance moves the money for a request more than that, the arm at the vertex is pulled alone.
    """
    low, high = edge.low, edge.high
    if low == NOTHING or high == NOTHING:
        return high if low == NOTHING else low
    above, below = memory.costs[high] - per_request, per_request - memory.costs[low]
    near, distance = (high, above) if above < below else (low, below)
    if distance <= 0.0 or distance * distance * requests <= NEAR * memory.belief(near).var_cost:
        return near
    return high if memory.pulls[high] * above <= memory.pulls[low] * below else low
