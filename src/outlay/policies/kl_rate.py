"""Pull the leader, unless the evidence against some other arm is weaker than its spend calls for.

`KLRate` is the rule with a theorem; `Frugal`, which also trusts what looks Gaussian, needs no parameter.
"""

import math
from typing import Literal, get_args

from outlay.beliefs import Lead, PooledBelief, PooledMoments, price_of
from outlay.formulas.evidence import (
    are_one,
    best_weight,
    closed_evidence,
    exact_evidence,
    gaussian_evidence,
    largest_seen,
    own_spread,
    prior_spread,
    sample_evidence,
    usual_spread,
)
from outlay.parameters import Parameters, choice, derived, number

KEPT = 1000  # samples of an arm that are weighed one by one; an arm with more is judged by the closed form
KEPT_EXACTLY = 10_000  # the same for exact evidence, and an arm with more is never judged by less than what these say
Schedule = Literal["plus", "half", "one"]
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
PLUS, ONE = SCHEDULES.index("plus"), SCHEDULES.index("one")
Evidence = Literal["closed", "sample", "exact"]
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)
CLOSED, SAMPLE = EVIDENCE.index("closed"), EVIDENCE.index("sample")


class KLRate(Parameters):
    """Pull the arm with the largest rate so far, unless the evidence against one of the others is too weak.

    With r̂ the leader's rate and S_L its spend, an arm with T pulls and the spend S < S_L is pulled where
    T·D ≤ g(ln(S_L/S)), the one with the least T·D − g first. D is the evidence per pull that its rate is below r̂, that
    is, that Z = R − r̂X has a negative mean. With m = r̂X̄ − R̄, v the sample variance of Z and M a bound of Z:

        closed: D = the least of all laws with this mean, variance and bound (`closed_evidence`)
        sample: D = the largest mean of ln(1 − λ·min(Z_i, M)) over λ (`sample_evidence`), up to 1000 samples per arm
        exact: the same at the best λ itself (`exact_evidence`), up to 10 000 samples per arm, and never less than what
            these say: the rule of the theorem on regret
        M = min(R_max + r̂·(−X_min)⁺, √T·σ), with the extremes seen so far and σ² = (T·v + 4s²)/(T + 4); where r̂ < 0 the
            first is R_max + |r̂|·X_max, and where it is not positive only the second counts
        g(l) = ln(1 + e^l/K) (plus), max(l/2, l − 5) (half) or l (one)

    s² is the variance of R − r̂X over all pulls, in proportion to the size of the arm's rewards, so that a few samples
    that happen to be alike do not pass for certainty.

    Guarantee with `reward_bound` given, where M = reward_bound + r̂·(−X_min)⁺, and costs ≥ 0: for an arm whose rate is
    at least r ≥ 0, P(T·D ≥ u + ln(T + 1) at some T) ≤ e^(−u), D being the evidence against r; for all such r at once.
    No bound on costs and no moments are needed. If the best rate r* is above 0 and all laws are bounded, then with
    "exact" regret is at most `theory.upper_bound`. Its coefficient of ln B would be the least possible if all samples
    were kept; as 10 000 are, in the limit it is at most that of "closed" (docs/kl-rate-regret.md). With M learnt from
    the samples there is no guarantee. Scaling all costs changes no choice, nor does scaling all rewards together with
    `reward_bound`.

    Args:
        schedule: "plus", "half" or "one"; "one" explores most and has the fewest runs that go wrong.
        evidence: "closed", or "sample", which is sharper, slower, and keeps 16 kB of samples for each arm, or "exact",
            which is slower still, keeps 160 kB, and is for those who want the theorem.
        reward_bound: the largest possible reward, where known; a larger one that is seen replaces it.

    >>> KLRate()
    KLRate(schedule='plus', evidence='closed', reward_bound=None)

    Reference: docs/kl-rate.md; J. Honda and A. Takemura, "Non-asymptotic analysis of a new bandit algorithm for
    semi-bounded rewards", Journal of Machine Learning Research 16 (2015), for rewards without costs.
    """

    schedule: Schedule = choice(*SCHEDULES, default="plus")
    evidence: Evidence = choice(*EVIDENCE, default="closed")
    reward_bound: float | None = number(default=None, above=0)

    pace: int = derived(lambda given: SCHEDULES.index(given.schedule))
    form: int = derived(lambda given: EVIDENCE.index(given.evidence))
    known_bound: float = derived(lambda given: -math.inf if given.reward_bound is None else given.reward_bound)

    def memory(self, arms: int) -> PooledMoments:
        """Moments of each arm and of all together; the sample form keeps samples too."""
        return PooledMoments.empty(arms, (1, KEPT, KEPT_EXACTLY)[self.form])

    def excess(self, belief: PooledBelief, low: Lead, high: Lead) -> float:
        """Evidence against the arm less what is enough; where low and high differ, at most that of any lead between."""
        pulls = belief.pulls
        price = price_of(belief, low.cost_min, low.cost_max)
        ratio = high.spend / (pulls * price)
        if not ratio > 1.0:
            return math.inf
        enough = _enough(self.pace, ratio, low.arms)
        shortfall = low.rate * price - belief.mean_reward
        if not shortfall > 0.0:
            return -enough
        variance = own_spread(belief, low.rate, high.rate)
        bound = largest_seen(self.known_bound, low, high)
        if not bound > 0.0 and not are_one(low, high):
            return -math.inf  # it may be positive for some of the leads: nothing is certain
        if not (bound > 0.0 and self.known_bound > 0.0):
            usual = math.sqrt(pulls * ((pulls * variance + 4.0 * usual_spread(belief, low, high, 1.0)) / (pulls + 4)))
            bound = min(bound, usual) if bound > 0.0 else usual
        evidence = closed_evidence(shortfall, variance, bound)
        if evidence == math.inf:
            return evidence if pulls > 1 else -enough  # one sample is not proof
        excess = pulls * evidence - enough
        if self.form == CLOSED or excess > 0.0 or not are_one(low, high):
            return excess
        start = best_weight(shortfall, variance, bound)
        if self.form == SAMPLE:
            if pulls > len(belief.pairs):
                return excess
            evidence = sample_evidence(belief.pairs, pulls, low.rate, bound, start, enough / pulls)
            return max(excess, pulls * evidence - enough)
        kept = min(pulls, len(belief.pairs))
        return max(excess, kept * exact_evidence(belief.pairs, kept, low.rate, bound, start, enough / kept) - enough)


def _enough(schedule: int, ratio: float, arms: float) -> float:
    """The evidence that is enough where the leader has had `ratio` times the arm's spend."""
    if schedule == PLUS:
        return math.log1p(ratio / arms)
    ahead = math.log(ratio)
    return ahead if schedule == ONE else max(0.5 * ahead, ahead - 5.0)


class Frugal(Parameters):
    """Pull the arm with the largest rate so far, unless the evidence against another is too weak; needs no parameter.

    With r̂ the leader's rate, S_L its spend and x_L its mean cost, an arm with T pulls, the spend S and the mean cost
    X̄ is pulled where T·D ≤ max(slope·l, l − delay), l = ln(S_L/S) + ¾·ln⁺(X̄/x_L), the one with the least excess
    first: a more expensive arm is looked at sooner than its spend alone would suggest. D is the evidence per pull that
    Z = R − r̂X has a negative mean. With m = r̂X̄ − R̄, v̂ the sample variance of Z and v = v̂ + (2s² + u·M²)/T:

        D = max(closed_evidence(m, v, M), ½·ln(1 + m²/v)),  M = R_max + r̂·(−X_min)⁺

    s² is the variance of R − r̂X over all pulls, in proportion to the size of the arm's rewards: as if two more samples
    had been seen. u is 1 for an arm that has paid nothing so far, else 0: it may yet pay as much as any has. A large
    cost can only lower Z, which the first term takes into account and the second does not; the second is the larger
    where cost and reward are correlated and Z varies little. Where M is not positive the second counts alone.

    Guarantee with `reward_bound` given and costs ≥ 0, where D is the first term alone with M = reward_bound: that of
    `KLRate`; and where costs are bounded and stay away from 0, regret grows like ln B, with the constant of the closed
    form (docs/kl-rate-regret.md, Theorem 4). Without it mean regret can grow like B, and there are only the figures in
    docs/leaderboard.md. Scaling all costs changes no choice, nor does scaling all rewards together with `reward_bound`.

    Args:
        slope: of the evidence that is asked for; larger explores more and has fewer runs that go wrong.
        delay: how much less than l is ever enough; l seldom exceeds 12 with budgets of 10⁵ mean costs.
        reward_bound: the largest possible reward, where known and a guarantee is worth more than the mean; a larger one
            that is seen replaces it.

    >>> Frugal()
    Frugal(slope=0.3, delay=7.0, reward_bound=None)

    Reference: docs/kl-rate.md.
    """

    slope: float = number(default=0.3, above=0, at_most=1)
    delay: float = number(default=7.0, at_least=0)
    reward_bound: float | None = number(default=None, above=0)

    known_bound: float = derived(lambda given: -math.inf if given.reward_bound is None else given.reward_bound)

    def memory(self, arms: int) -> PooledMoments:
        """Moments of each arm and of all together."""
        return PooledMoments.empty(arms)

    def excess(self, belief: PooledBelief, low: Lead, high: Lead) -> float:
        """Evidence against the arm less what is enough; where low and high differ, at most that of any lead between."""
        pulls = belief.pulls
        price = price_of(belief, low.cost_min, low.cost_max)
        ratio = high.spend / (pulls * price)
        if price > low.price:
            dearer = price / low.price
            ratio *= math.sqrt(dearer * math.sqrt(dearer))
        if not ratio > 1.0:
            return math.inf
        ahead = math.log(ratio)
        enough = max(self.slope * ahead, ahead - self.delay)
        shortfall = low.rate * price - belief.mean_reward
        if not shortfall > 0.0:
            return -enough
        bound = largest_seen(self.known_bound, low, high)
        if not bound > 0.0 and not are_one(low, high):
            return -math.inf  # it may be positive for some of the leads: nothing is certain
        variance = own_spread(belief, low.rate, high.rate) + prior_spread(belief, low, high, bound, 1.0) / pulls
        evidence = closed_evidence(shortfall, variance, bound) if bound > 0.0 else 0.0
        if not (bound > 0.0 and self.known_bound > 0.0):
            evidence = max(evidence, gaussian_evidence(shortfall, variance))
        if evidence == math.inf:
            return evidence if pulls > 1 else -enough  # one sample is not proof
        return pulls * evidence - enough
