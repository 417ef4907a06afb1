"""Frugal: the policy to run when nothing is known; KL-rate that also trusts what looks Gaussian."""

import math

from outlay.beliefs import Lead, PooledBelief, PooledMoments, price_of
from outlay.formulas.between_leads import are_one, largest_seen, own_spread, unpaid, usual_spread
from outlay.formulas.evidence import closed_evidence, gaussian_evidence
from outlay.parameters import Parameters, derived, number


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
        doubt = 2.0 * usual_spread(belief, low, high) + unpaid(belief, high) * bound * bound
        variance = own_spread(belief, low.rate, high.rate) + doubt / pulls
        evidence = closed_evidence(shortfall, variance, bound) if bound > 0.0 else 0.0
        if not (bound > 0.0 and self.known_bound > 0.0):
            evidence = max(evidence, gaussian_evidence(shortfall, variance))
        if evidence == math.inf:
            return evidence if pulls > 1 else -enough  # one sample is not proof
        return pulls * evidence - enough
