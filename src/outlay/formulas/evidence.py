"""How strongly an arm's samples speak against a rate, and how much of that is enough: natural units of evidence.

An arm has at least the rate r only if Z = R − rX has a mean of at least 0. If that is so and Z ≤ M, then for each λ in
[0, 1/M] the product of 1 − λZ_i is a non-negative supermartingale, which reaches e^u with a probability of at most
e^(−u). So the mean of ln(1 − λZ_i) is evidence against r, per pull. docs/kl-rate.md has the proofs.

`Thrifty` weighs such evidence, shrunken towards what is usual, against what is enough (`excess_within`, in which
`Ration` counts dues for costs), and decides when to open an arm (`excess_of_unopened`); docs/many-arms.md has the why.
What a comparison with the leader needs is bounded over all leads between two, and exact where the two are one.

These functions run in the interpreter and compiled.
"""

import math
from typing import NamedTuple

from outlay.beliefs import Belief, Lead, PooledBelief, price_of
from outlay.checks import Vector

STEPS = 4  # of Newton, to the best λ
HALVINGS = 200  # of the interval that holds the best λ, at most
NEAR = 1e-9  # natural units of evidence that `exact_evidence` may miss; and how near λ comes to 1/M, as a share of it
RARE = 10.0  # arms among which one as good as the leader is looked for at first
COSTLY = 2.0  # mean costs that opening one more arm must leave for each arm and each unit of the logarithm of them
OPENING = 0.45  # the slope at which arms are opened where the budget is not known
GROWTH, SHORT = 0.04, 6.0  # of the slope, for each unit of the logarithm of the horizon, counted from this one on
AMPLE = 10.0  # times what others pay and vary for their price: an arm is taken to do so much at most
TOLD = 4.0  # variances of a mean cost: where costs can be negative, it is told from 0 when its square is more
NEGLIGIBLE = 1e-9  # of a rate: two that differ by less count as equal


def closed_evidence(shortfall: float, variance: float, bound: float) -> float:
    """The least evidence that any law of Z with mean −shortfall, this variance and Z ≤ bound has against its mean ≥ 0.

    The law that has it is on two points, one of them the bound M: with m the shortfall, v the variance, q = v/(M + m),
    a = m + q and p = q/(M + a), it is p·ln(q/a) + (1 − p)·ln(1 + m/M). For small m that is about m²/(2v).

    >>> round(closed_evidence(0.1, 0.5, 1.0), 6)
    0.009298
    >>> closed_evidence(0.5, 0.0, 1.0) == math.log1p(0.5)
    True
    """
    if not shortfall > 0.0:
        return 0.0
    if not bound > 0.0:
        return math.inf
    whole = math.log1p(shortfall / bound)
    q = variance / (bound + shortfall)
    if not q > 0.0:
        return whole
    a = shortfall + q
    p = q / (bound + a)
    return max(0.0, whole - p * (math.log1p(shortfall / q) + whole))


def gaussian_evidence(shortfall: float, variance: float) -> float:
    """½·ln(1 + m²/v): what a Gaussian law of Z of unknown variance has against a mean ≥ 0, by its likelihood ratio."""
    if not shortfall > 0.0:
        return 0.0
    if not variance > 0.0:
        return math.inf
    ratio = shortfall / math.sqrt(variance)
    return 0.5 * math.log1p(ratio * ratio)


def best_weight(shortfall: float, variance: float, bound: float) -> float:
    """The λ with the largest mean of ln(1 − λZ) under the law of `closed_evidence`."""
    return shortfall / ((shortfall + variance / (bound + shortfall)) * bound)


def sample_evidence(pairs: Vector, pulls: int, rate: float, bound: float, start: float, enough: float) -> float:
    """The most evidence of the samples themselves: the largest mean of ln(1 − λ·min(Z_i, M)) over λ in [0, 1/M).

    From λ = `start`, STEPS of Newton's; any λ gives a valid value, and the largest one met is returned, or the first
    that is more than `enough`.
    """
    highest = (1.0 - NEAR) / bound
    weight = min(max(start, 0.0), highest)
    best = 0.0
    for _ in range(STEPS + 1):
        value, slope, curvature = _at_weight(pairs, pulls, rate, bound, weight)
        best = max(best, value / pulls)
        if best > enough or not curvature < 0.0:
            break
        weight = min(max(weight - slope / curvature, 0.0), highest)
    return best


def exact_evidence(pairs: Vector, pulls: int, rate: float, bound: float, start: float, enough: float) -> float:
    """`sample_evidence` at the best λ itself, found by Newton's steps and halving, or the first mean above `enough`.

    The sum of ln(1 − λZ_i) is concave in λ, so where it rises by s at λ and falls from λ' on, no λ gives more than
    s·(λ' − λ) above its value at λ. The search ends where that is `NEAR` or less; stopping short of 1/M misses `NEAR`
    per sample at most.
    """
    low, high = 0.0, (1.0 - NEAR) / bound
    weight, untried = min(max(start, low), high), True
    best = 0.0
    for _ in range(HALVINGS):
        value, slope, curvature = _at_weight(pairs, pulls, rate, bound, weight)
        best = max(best, value / pulls)
        left = slope * (high - weight) if slope > 0.0 else slope * (low - weight)
        if best > enough or left <= NEAR:
            break
        if slope > 0.0:
            low = weight
        else:
            high = weight
        weight -= slope / curvature
        if weight >= high and untried:
            weight, untried = high, False  # the best λ is often the largest
        elif not low < weight < high:
            weight = low + 0.5 * (high - low)
    return best


def _at_weight(pairs: Vector, pulls: int, rate: float, bound: float, weight: float) -> tuple[float, float, float]:
    """The sum of ln(1 − λ·min(Z_i, M)) at one λ, its slope and its curvature."""
    value, slope, curvature = 0.0, 0.0, 0.0
    for i in range(pulls):
        z = min(float(pairs[i, 1]) - rate * float(pairs[i, 0]), bound)
        rest = 1.0 - weight * z
        value += math.log(rest)
        share = z / rest
        slope -= share
        curvature -= share * share
    return value, slope, curvature


class Priced(NamedTuple):
    """What a pull of an arm is due: in money that is its mean cost."""

    mean: float  # ≤ 0 where `price_of` gives a stand-in
    price: float
    money: float  # what a unit of money counts for


class RequiredEvidence(NamedTuple):
    """What is asked of evidence; where two leads differ, the most of it."""

    slope: float  # how much is enough, for each unit of l: the logarithm of how much more the leader has had
    steady: float  # of the usual variance: an arm that varies less is not taken to look Gaussian
    free_pulls: int  # that an arm has which has cost and paid nothing, before there is evidence against it
    unknown: float  # E₀, at least
    most_unknown: float  # E₀, at most


def required_evidence(slope: float, steady: float, free_pulls: int, low: Lead, high: Lead) -> RequiredEvidence:
    """What is asked with this slope, so much steadiness and so many free pulls."""
    least = prior_evidence(low)
    most = least if high.opened == low.opened else prior_evidence(high)
    return RequiredEvidence(slope, steady, free_pulls, least, most)


def excess_of_unopened(budget: float, low: Lead, high: Lead) -> float:
    """The excess of an arm that is not open; where low and high differ, at most that of any lead between."""
    if budget < math.inf:
        needed = to_open(COSTLY, low.usual_price, low.opened)
        return math.inf if budget - low.spent < needed else -math.inf
    if not differ(low.rate, high.usual_rate):
        return -math.inf
    ratio = high.spent / (2.0 * low.usual_price)
    return prior_evidence(low) - OPENING * math.log(ratio) if ratio > 0.0 else math.inf


def to_open(costly: float, price: float, opened: float) -> float:
    """What must be left for one more arm to be opened, where a pull has this price."""
    return costly * price * (opened + 1.0) * math.log(opened + 1.0)


def excess_in_money(budget: float, slope: float, free_pulls: int, belief: Belief, low: Lead, high: Lead) -> float:
    """`excess_within` where a pull is due what it costs, and `budget` is what may be spent in all, or ∞."""
    price = price_of(belief, low.cost_min, low.cost_max)
    horizon = budget if budget < math.inf else high.spent
    steep = min(1.0, slope + GROWTH * log_horizon(horizon, low))
    due = Priced(belief.mean_cost, price, 1.0)
    asked = required_evidence(steep, 0.0, free_pulls, low, high)
    return excess_within(asked, budget - low.spent, belief, due, low, high)


def excess_within(of: RequiredEvidence, rest: float, belief: Belief, due: Priced, low: Lead, high: Lead) -> float:
    """Evidence against the arm less what is enough; where low and high differ, at most that of any lead between.

    `rest` is what is left to spend, at most.

    Against an arm that has paid and whose mean cost is not told from 0, there is none. For costs ≥ 0 that is one that
    never cost anything: its price stands in for one, so that its spend grows and it is not pulled for ever. Where a
    negative cost was seen, a mean cost is told from 0 by two standard errors, and by its size if it has few samples:
    by chance it is often one above 0, and then the arm would wait long for its next pull.

    Where rewards are skewed, an arm that varies little is not taken to look Gaussian: that is how a good arm looks
    which has not had its large ones yet. The steadier an arm has paid little, the less may it yet pay.
    """
    pulls = belief.pulls
    ratio = min(high.spend, rest) / (pulls * due.price)
    if due.price > low.price:
        dearer = due.price / low.price
        ratio *= math.sqrt(dearer * math.sqrt(dearer))
    if not ratio > 1.0:
        return math.inf
    enough = of.slope * math.log(ratio)
    shortfall = low.rate * due.price - belief.mean_reward
    told = min(TOLD, float(pulls)) if low.cost_min < 0.0 else 1.0
    without_price = pulls * (due.mean * due.mean) <= told * (due.money * due.money * belief.var_cost)
    paid = belief.mean_reward
    if not shortfall > 0.0 or (without_price and (paid > 0.0 or (paid == 0.0 and pulls < of.free_pulls))):
        return -enough
    one = are_one(low, high)
    relative = due.price / low.price
    bound = largest_seen(-math.inf, low, high) * ample(relative)
    if not bound > 0.0 and not one:
        return -math.inf  # it may be positive for some of the leads: nothing is certain
    price, most_price = low.rate * due.money, high.rate * due.money  # of money, in rewards
    own = own_spread(belief, price, most_price)
    least_own = own if one else least_own_spread(belief, price, most_price)
    unseen = bound if bound > 0.0 else max(0.0, low.rate * low.price)  # or else what the leader pays on average
    unsteady = math.sqrt(varying_share(belief))
    unseen *= unsteady
    variance = own + prior_spread(belief, low, high, unseen, relative) / pulls
    evidence = closed_evidence(shortfall, variance, bound) if bound > 0.0 else 0.0
    if not (bound > 0.0 and least_own < of.steady * high.spread):
        evidence = max(evidence, gaussian_evidence(shortfall, variance))
    if evidence == math.inf:
        return evidence if pulls > 1 else -enough  # one sample is not proof
    least = variance
    if not one:
        least_bound, _ = seen_between(-math.inf, low, high)
        relative = due.price / high.price
        least_unseen = least_bound * ample(relative) * unsteady
        least = least_own + prior_spread(belief, high, low, least_unseen, relative) / pulls
    return shrunken_evidence(of, pulls * evidence, pulls * due.price * due.price, least, variance, low, high) - enough


def prior_spread(
    belief: Belief | PooledBelief, low: Lead, high: Lead, bound: float, relative: float
) -> float:  # fmt: skip
    """2s² + u·M²: what two samples more might add; the most of all leads between two, or with those swapped the least.

    s² is the usual variance in proportion to the size of the arm's rewards, and u is 1 for an arm that has paid nothing
    so far, as in `Frugal`; `relative` is the arm's price by the leader's, or 1 for all arms.
    """
    return 2.0 * usual_spread(belief, low, high, relative) + unpaid(belief, high, relative) * bound * bound


def log_horizon(horizon: float, low: Lead) -> float:
    """The logarithm of the pulls that are made in all where so much is spent, counted from `SHORT` on; or 0.

    Where many arms are open it is less: each has fewer of them.
    """
    ratio = horizon / low.usual_price
    if low.opened > RARE:
        ratio /= math.sqrt(low.opened / RARE)
    return max(0.0, math.log(ratio) - SHORT) if ratio > 1.0 else 0.0


def prior_evidence(lead: Lead) -> float:
    """E₀: the evidence against an arm of which nothing is known."""
    return math.log1p(lead.opened / RARE)


def differ(rate: float, usual: float) -> bool:
    """Whether the leader's rate is above the usual one by more than rounding."""
    return rate - usual > NEGLIGIBLE * max(abs(rate), abs(usual))


def shrunken_evidence(
    of: RequiredEvidence, evidence: float, precision: float, least: float, most: float, low: Lead, high: Lead
) -> float:  # fmt: skip
    """E = (√(w·E₀) + √((1 − w)·T·D))², where `evidence` is T·D and q is `precision`/v, v from `least` to `most`.

    The root is concave in w, so between two weights it is least at one of them.
    """
    if not differ(high.rate, low.usual_rate):
        return evidence
    unknown = of.unknown
    lightest = shrinkage_weight(unknown, high.rate - low.usual_rate, precision, least)
    heaviest = lightest
    if not are_one(low, high):
        if differ(low.rate, high.usual_rate):
            heaviest = shrinkage_weight(of.most_unknown, low.rate - high.usual_rate, precision, most)
        else:
            lightest, heaviest = 0.0, 1.0
    root = min(mixed(lightest, unknown, evidence), mixed(heaviest, unknown, evidence))
    return root * root


def shrinkage_weight(unknown: float, gap: float, precision: float, variance: float) -> float:
    """The weight w = p/(p + q) with p = 2E₀/gap² and q = precision/variance."""
    prior = 2.0 * unknown * variance
    if not prior > 0.0:
        return 0.0
    return prior / (prior + precision * gap * gap) if prior < math.inf else 1.0


def mixed(weight: float, unknown: float, evidence: float) -> float:
    """√(w·E₀) + √((1 − w)·T·D)."""
    return math.sqrt(weight * unknown) + math.sqrt((1.0 - weight) * evidence)


def are_one(low: Lead, high: Lead) -> bool:
    """Whether two leads are one, so that a comparison is exact."""
    return (
        low.spend == high.spend
        and low.rate == high.rate
        and low.price == high.price
        and low.spread == high.spread
        and low.size == high.size
        and low.opened == high.opened
        and low.usual_price == high.usual_price
        and low.usual_rate == high.usual_rate
    )


def largest_seen(known: float, low: Lead, high: Lead) -> float:
    """M: no R − rX is larger, by the largest reward and the extreme costs that have been seen; 0 if that is ≤ 0.

    `known` is the largest possible reward, or −∞; a larger one that was seen replaces it. Between two leads, M is 0
    also where it is ≤ 0 for one of those between.
    """
    least, most = seen_between(known, low, high)
    return most if least > 0.0 else 0.0


def seen_between(known: float, low: Lead, high: Lead) -> tuple[float, float]:
    """The least and the largest that M is for any lead between the two, each with its extremes."""
    least, most = math.inf, 0.0
    for lead in (low, high):
        reward = max(known, lead.reward_max)
        if low.rate < 0.0 < high.rate:
            least = min(least, reward)
        for rate in (low.rate, high.rate):
            bound = reward + (rate * max(0.0, -lead.cost_min) if rate >= 0.0 else -rate * max(0.0, lead.cost_max))
            least, most = min(least, bound), max(most, bound)
    return least, most


def own_spread(belief: Belief | PooledBelief, low: float, high: float) -> float:
    """The sample variance, 1/T, of the arm's R − rX, r being the leader's rate: the larger at the two rates."""
    most = 0.0
    for rate in (low, high):
        most = max(most, belief.var_reward - 2.0 * rate * belief.cov + rate * rate * belief.var_cost)
    return most


def least_own_spread(belief: Belief | PooledBelief, low: float, high: float) -> float:
    """The least sample variance of the arm's R − rX for any rate r between the two."""
    rate = low
    if belief.var_cost > 0.0:
        rate = min(max(belief.cov / belief.var_cost, low), high)
    return max(0.0, belief.var_reward - 2.0 * rate * belief.cov + rate * rate * belief.var_cost)


def ample(relative: float) -> float:
    """What share of the usual reward an arm is taken to pay at most, `relative` being its price by the leader's."""
    return min(1.0, AMPLE * relative)


def usual_spread(belief: Belief | PooledBelief, low: Lead, high: Lead, relative: float) -> float:
    """s²: the variance of R − rX over all pulls, in proportion to the size of the arm's rewards.

    The size is the mean square of the arm's rewards and of one more that is like all others, or that is `ample` for an
    arm much cheaper than the leader. If the arm is dearer, s² grows with the fourth root of its price.
    """
    own, share = belief.mean_reward * belief.mean_reward + belief.var_reward, ample(relative)
    sizes = belief.pulls * (own / low.size) if own > 0.0 and low.size > 0.0 else 0.0
    spread = high.spread
    if relative > 1.0:
        spread *= math.sqrt(math.sqrt(relative))
    return spread * (sizes + share * share) / (belief.pulls + 1)


def unpaid(belief: Belief | PooledBelief, high: Lead, relative: float) -> float:
    """1 for an arm that has paid nothing so far, 0 for one whose mean square reward is 1 % of the usual or more.

    For an arm much cheaper than the leader the usual is what is `ample`.
    """
    own, share = belief.mean_reward * belief.mean_reward + belief.var_reward, ample(relative)
    usual = high.size * (share * share)
    return max(0.0, 1.0 - 100.0 * (own / usual)) if own > 0.0 and usual > 0.0 else 1.0


def varying_share(belief: Belief | PooledBelief) -> float:
    """What share of an arm's mean square reward is its variance, one pull more counted as one that varies.

    1 for an arm that has paid nothing so far; less for one that pays little but steadily, which hides nothing.
    """
    own = belief.mean_reward * belief.mean_reward + belief.var_reward
    return (belief.pulls * (belief.var_reward / own) + 1.0) / (belief.pulls + 1) if 0.0 < own < math.inf else 1.0
