"""What `Thrifty` weighs, where `budget` is what may be spent in all, or ∞: shrunken evidence, and when to open an arm.

These functions run in the interpreter and compiled.
"""

import math
from typing import NamedTuple

from outlay.beliefs import Belief, Lead, price_of
from outlay.formulas.between_leads import (
    are_one,
    largest_seen,
    least_own_spread,
    own_spread,
    seen_between,
    unpaid,
    usual_spread,
)
from outlay.formulas.evidence import closed_evidence, gaussian_evidence

RARE = 10.0  # arms among which one as good as the leader is looked for at first
COSTLY = 2.0  # mean costs that opening one more arm must leave for each arm and each unit of the logarithm of them
OPENING = 0.45  # the slope at which arms are opened where the budget is not known
GROWTH, SHORT = 0.04, 6.0  # of the slope, for each unit of the logarithm of the horizon, counted from this one on
NEGLIGIBLE = 1e-9  # of a rate: two that differ by less count as equal


def fresh_within(budget: float, low: Lead, high: Lead) -> float:
    """The excess of an arm that is not open; where low and high differ, at most that of any lead between."""
    if budget < math.inf:
        needed = to_open(COSTLY, low.usual_price, low.opened)
        return math.inf if budget - low.spent < needed else -math.inf
    if not differ(low.rate, high.usual_rate):
        return -math.inf
    ratio = high.spent / (2.0 * low.usual_price)
    return rarity(low) - OPENING * math.log(ratio) if ratio > 0.0 else math.inf


def to_open(costly: float, price: float, opened: float) -> float:
    """What must be left for one more arm to be opened, where a pull has this price."""
    return costly * price * (opened + 1.0) * math.log(opened + 1.0)


class Priced(NamedTuple):
    """What a pull of an arm is due: in money that is its mean cost; at least and at most, where two leads differ."""

    mean: float  # ≤ 0 where prices are stand-ins (`price_of`)
    cheap: float
    dear: float
    money: float  # what a unit of money counts for in that
    most_money: float


class Asked(NamedTuple):
    """What is asked of evidence; where two leads differ, the most of it."""

    slope: float  # how much is enough, for each unit of l: the logarithm of how much more the leader has had
    steady: float  # of the usual variance: an arm that varies less is not taken to look Gaussian
    unknown: float  # E₀, at least
    most_unknown: float  # E₀, at most


def asked(slope: float, steady: float, low: Lead, high: Lead) -> Asked:
    """What is asked with this slope and so much steadiness."""
    unknown = rarity(low)
    return Asked(slope, steady, unknown, unknown if high.opened == low.opened else rarity(high))


def excess_in_money(budget: float, slope: float, belief: Belief, low: Lead, high: Lead) -> float:
    """`excess_within` where a pull is due what it costs, and `budget` is what may be spent in all, or ∞."""
    price = price_of(belief, low.cost_min, low.cost_max)
    horizon = budget if budget < math.inf else high.spent
    steep = min(1.0, slope + GROWTH * length(horizon, low))
    due = Priced(belief.mean_cost, price, price, 1.0, 1.0)
    return excess_within(asked(steep, 0.0, low, high), budget - low.spent, belief, due, low, high)


def excess_within(of: Asked, rest: float, belief: Belief, due: Priced, low: Lead, high: Lead) -> float:
    """Evidence against the arm less what is enough; where low and high differ, at most that of any lead between.

    So it is for any price of the arm, and of money, from the least to the most that are `due`. `rest` is what is left
    to spend, at most.

    Against an arm that has paid and never cost anything there is none: its price stands in for one, so that its spend
    grows and it is not pulled for ever. Where rewards are skewed, an arm that varies little is not taken to look
    Gaussian: that is how a good arm looks which has not had its large ones yet.
    """
    pulls = belief.pulls
    ratio = min(high.spend, rest) / (pulls * due.cheap)
    if due.dear > low.price:
        dearer = due.dear / low.price
        ratio *= math.sqrt(dearer * math.sqrt(dearer))
    if not ratio > 1.0:
        return math.inf
    enough = of.slope * math.log(ratio)
    shortfall = low.rate * due.cheap - belief.mean_reward
    if not shortfall > 0.0 or pays_for_nothing(belief, due):
        return -enough
    one = are_one(low, high)
    bound = largest_seen(-math.inf, low, high)
    if not bound > 0.0 and not one:
        return -math.inf  # it may be positive for some of the leads: nothing is certain
    price, most_price = low.rate * due.money, high.rate * due.most_money  # of money, in rewards
    own = own_spread(belief, price, most_price)
    least_own = own if one else least_own_spread(belief, price, most_price)
    unseen = bound if bound > 0.0 else max(0.0, low.rate * low.price)  # or else what the leader pays on average
    variance = own + doubt(belief, low, high, unseen) / pulls
    evidence = closed_evidence(shortfall, variance, bound) if bound > 0.0 else 0.0
    if not (bound > 0.0 and least_own < of.steady * high.spread):
        evidence = max(evidence, gaussian_evidence(shortfall, variance))
    if evidence == math.inf:
        return evidence if pulls > 1 else -enough  # one sample is not proof
    least = variance
    if not one:
        least_bound, _ = seen_between(-math.inf, low, high)
        least = least_own + doubt(belief, high, low, least_bound) / pulls
    return shrunken(of, pulls * evidence, pulls, due, least, variance, low, high) - enough


def pays_for_nothing(belief: Belief, due: Priced) -> bool:
    """Whether the arm has paid and never cost anything: its price then is a stand-in, which is not evidence.

    >>> belief = Belief(0, 30, 0.0, 0.5, var_cost=0.0, var_reward=0.25, cov=0.0)
    >>> pays_for_nothing(belief, Priced(0.0, 0.1, 0.1, 1.0, 1.0))
    True
    """
    return due.mean == 0.0 and belief.var_cost == 0.0 and belief.mean_reward > 0.0


def doubt(belief: Belief, low: Lead, high: Lead, bound: float) -> float:
    """2s² + u·M²: what two samples more might add; the most of all leads between two, or with those swapped the least.

    s² is the usual variance in proportion to the size of the arm's rewards, and u is 1 for an arm that has paid nothing
    so far, as in `Frugal`.
    """
    return 2.0 * usual_spread(belief, low, high) + unpaid(belief, high) * bound * bound


def length(horizon: float, low: Lead) -> float:
    """The logarithm of the pulls that are made in all where so much is spent, counted from `SHORT` on; or 0.

    Where many arms are open it is less: each has fewer of them.
    """
    ratio = horizon / low.usual_price
    if low.opened > RARE:
        ratio /= math.sqrt(low.opened / RARE)
    return max(0.0, math.log(ratio) - SHORT) if ratio > 1.0 else 0.0


def rarity(lead: Lead) -> float:
    """E₀: the evidence against an arm of which nothing is known."""
    return math.log1p(lead.opened / RARE)


def differ(rate: float, usual: float) -> bool:
    """Whether the leader's rate is above the usual one by more than rounding."""
    return rate - usual > NEGLIGIBLE * max(abs(rate), abs(usual))


def shrunken(
    of: Asked, evidence: float, pulls: float, due: Priced, least: float, most: float, low: Lead, high: Lead
) -> float:  # fmt: skip
    """E = (√(w·E₀) + √((1 − w)·T·D))², where `evidence` is T·D and q = T·price²/v, v from `least` to `most`.

    The root is concave in w, so between two weights it is least at one of them.
    """
    if not differ(high.rate, low.usual_rate):
        return evidence
    unknown = of.unknown
    lightest = weight(unknown, high.rate - low.usual_rate, pulls * due.dear * due.dear, least)
    heaviest = lightest
    if not are_one(low, high):
        if differ(low.rate, high.usual_rate):
            precision = pulls * due.cheap * due.cheap
            heaviest = weight(of.most_unknown, low.rate - high.usual_rate, precision, most)
        else:
            lightest, heaviest = 0.0, 1.0
    root = min(mixed(lightest, unknown, evidence), mixed(heaviest, unknown, evidence))
    return root * root


def weight(unknown: float, gap: float, precision: float, variance: float) -> float:
    """The weight w = p/(p + q) with p = 2E₀/gap² and q = precision/variance."""
    prior = 2.0 * unknown * variance
    if not prior > 0.0:
        return 0.0
    return prior / (prior + precision * gap * gap) if prior < math.inf else 1.0


def mixed(weight: float, unknown: float, evidence: float) -> float:
    """√(w·E₀) + √((1 − w)·T·D)."""
    return math.sqrt(weight * unknown) + math.sqrt((1.0 - weight) * evidence)
