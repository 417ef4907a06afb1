"""Thrifty: the policy to run when nothing is known, for two arms or a hundred thousand; it opens arms one by one."""

import math
from typing import Literal

from outlay.beliefs import Belief, Lead, Opened, price_of
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
from outlay.parameters import Parameters, choice, derived, number
from outlay.policies.baselines.told_budget import budget_or_infinity

RARE = 10.0  # arms among which one as good as the leader is looked for at first
COSTLY = 2.0  # mean costs that opening one more arm must leave for each arm and each unit of the logarithm of them
OPENING = 0.45  # the slope at which arms are opened where the budget is not known
GROWTH, SHORT = 0.04, 6.0  # of the slope, for each unit of the logarithm of the horizon, counted from this one on
NEGLIGIBLE = 1e-9  # of a rate: two that differ by less count as equal


class Thrifty(Parameters):
    """Pull the arm with the largest rate so far, unless another may be better or a new one is worth opening.

    As with `Frugal`, the evidence E that an arm is worse than the leader is weighed against what is enough, g·l, with
    l = ln(S_L/S) + ¾·ln⁺(X̄/x_L): the leader's spend to the arm's, and how much dearer the arm is. The difference:

    - **Shrinkage.** With m arms opened, r̂ the leader's rate and r̄ the usual rate (the mean of the mean rewards by that
      of the mean costs), an arm of which nothing is known has the evidence E₀ = ln(1 + m/10) against it: of many arms
      few are better than the best so far. That weighs p = 2E₀/(r̂ − r̄)², the arm's own samples weigh q = T·X̄²/v: with
      w = p/(p + q) and `Frugal`'s evidence D per pull, E = (√(w·E₀) + √((1 − w)·T·D))². For Gaussian rates and
      outcomes that is the evidence of the posterior law.
    - **Opening.** Two arms are opened at first, the others one by one, in an order drawn at random for each run. Told
      the budget, it opens while what is left would buy 2(m + 1)·ln(m + 1) pulls at the usual price x̄. Not told, the
      next arm is a challenger with the evidence E₀ against it and l = ln(spent/(2x̄)), at the slope 0.45.
    - **Horizon.** The longer it is, the more a mistake costs: g = slope + 0.04·(ln(B/x̄) − ½·ln⁺(m/10) − 6)⁺, at most
      1, with what was spent so far in place of B where that is not known. And what is left is all that a discovery can
      pay back: told the budget, what is left stands for S_L in l where it is less.

    There is no guarantee, only the figures in docs/leaderboard.md; `Frugal` with a `reward_bound` has one. Scaling all
    costs together with the budget changes no choice, nor does scaling all rewards.

    Args:
        slope: of the evidence that is asked for; larger explores more and has fewer runs that go wrong (see `Wary`).
        horizon: "told", so that `simulate`, campaigns and `advise` tell it the budget, and a run is played for each
            budget; or "unknown", which one run serves for all budgets, for curves.
        budget: what may be spent in all; whoever plays it fills it in. While it is None, the horizon counts as unknown.

    >>> Thrifty()
    Thrifty(slope=0.33, horizon='told', budget=None)

    Reference: docs/many-arms.md.
    """

    slope: float = number(default=0.33, above=0, at_most=1)
    horizon: Literal["told", "unknown"] = choice("told", "unknown", default="told")
    budget: float | None = number(default=None, above=0)

    known_budget: float = derived(budget_or_infinity)

    def memory(self, arms: int) -> Opened:
        """Moments of the arms that are open, and the order in which the others will be."""
        return Opened.empty(arms)

    def fresh(self, low: Lead, high: Lead) -> float:
        """The excess of an arm that is not open; where low and high differ, at most that of any lead between."""
        if self.known_budget < math.inf:
            needed = COSTLY * low.usual_price * (low.opened + 1.0) * math.log(low.opened + 1.0)
            return math.inf if self.known_budget - low.spent < needed else -math.inf
        if not differ(low.rate, high.usual_rate):
            return -math.inf
        ratio = high.spent / (2.0 * low.usual_price)
        return rarity(low) - OPENING * math.log(ratio) if ratio > 0.0 else math.inf

    def excess(self, belief: Belief, low: Lead, high: Lead) -> float:
        """Evidence against the arm less what is enough; where low and high differ, at most that of any lead between."""
        pulls = belief.pulls
        price = price_of(belief, low.cost_min, low.cost_max)
        ratio = min(high.spend, self.known_budget - low.spent) / (pulls * price)
        if price > low.price:
            dearer = price / low.price
            ratio *= math.sqrt(dearer * math.sqrt(dearer))
        if not ratio > 1.0:
            return math.inf
        horizon = self.known_budget if self.known_budget < math.inf else high.spent
        enough = slope_at(self.slope, horizon, low) * math.log(ratio)
        shortfall = low.rate * price - belief.mean_reward
        if not shortfall > 0.0:
            return -enough
        bound = largest_seen(low.reward_max, low, high)
        if not bound > 0.0 and not are_one(low, high):
            return -math.inf  # it may be positive for some of the leads: nothing is certain
        variance = own_spread(belief, low, high) + doubt(belief, low, high, bound) / pulls
        evidence = gaussian_evidence(shortfall, variance)
        if bound > 0.0:
            evidence = max(evidence, closed_evidence(shortfall, variance, bound))
        if evidence == math.inf:
            return evidence if pulls > 1 else -enough  # one sample is not proof
        least = variance
        if not are_one(low, high):
            least_bound, _ = seen_between(low.reward_max, low, high)
            least = least_own_spread(belief, low, high) + doubt(belief, high, low, least_bound) / pulls
        return shrunken(pulls * evidence, pulls * price * price, least, variance, low, high) - enough


def doubt(belief: Belief, low: Lead, high: Lead, bound: float) -> float:
    """2s² + u·M²: what two samples more might add; the most of all leads between two, or with those swapped the least.

    s² is the usual variance in proportion to the size of the arm's rewards, and u is 1 for an arm that has paid nothing
    so far, as in `Frugal`.
    """
    return 2.0 * usual_spread(belief, low, high) + unpaid(belief, high) * bound * bound


def slope_at(least: float, horizon: float, low: Lead) -> float:
    """How much evidence is enough for each unit of l, where so much is spent in all."""
    ratio = horizon / low.usual_price
    if low.opened > RARE:
        ratio /= math.sqrt(low.opened / RARE)
    return min(1.0, least + GROWTH * max(0.0, math.log(ratio) - SHORT)) if ratio > 1.0 else least


def rarity(lead: Lead) -> float:
    """E₀: the evidence against an arm of which nothing is known."""
    return math.log1p(lead.opened / RARE)


def differ(rate: float, usual: float) -> bool:
    """Whether the leader's rate is above the usual one by more than rounding."""
    return rate - usual > NEGLIGIBLE * max(abs(rate), abs(usual))


def shrunken(evidence: float, precision: float, least: float, most: float, low: Lead, high: Lead) -> float:
    """E = (√(w·E₀) + √((1 − w)·T·D))², where `evidence` is T·D and q = `precision`/v, v from `least` to `most`.

    The root is concave in w, so between two weights it is least at one of them.
    """
    if not differ(high.rate, low.usual_rate):
        return evidence
    unknown = rarity(low)
    lightest = weight(unknown, high.rate - low.usual_rate, precision, least)
    heaviest = lightest
    if not are_one(low, high):
        if differ(low.rate, high.usual_rate):
            heaviest = weight(rarity(high), low.rate - high.usual_rate, precision, most)
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


class Wary(Thrifty):
    """Thrifty that explores more: to be preferred where one bad run costs more than a few good ones save.

    On the problems of docs/leaderboard.md its mean regret is larger, and fewer of its runs are far worse than its
    median one.

    Args:
        slope: of the evidence that is asked for.
        horizon: "told" or "unknown", as for `Thrifty`.
        budget: what may be spent in all; whoever plays it fills it in.

    >>> Wary()
    Wary(slope=0.7, horizon='told', budget=None)
    """

    slope: float = number(default=0.7, above=0, at_most=1)
