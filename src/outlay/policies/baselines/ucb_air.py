"""UCB-AIR: UCB-V on a number of arms that grows with a power of the pulls."""

import math

from outlay.beliefs import Belief
from outlay.formulas.log_time import log_after
from outlay.parameters import Draft, Parameters, derived, number
from outlay.policies.protocol import RisingScore


def power_of(given: Draft) -> float:
    """The power of t that the number of open arms follows; β/2 is for a best mean that is below the largest reward."""
    beta = float(given.beta)
    return 0.5 * beta if beta < 1.0 else beta / (beta + 1.0)


class UCBAIR(RisingScore, Parameters):
    """UCB-AIR: open another arm while fewer than t^p are open, else pull the open arm with the largest UCB-V score.

    t is the pull to come; p = β/2 if β < 1, else β/(β + 1), where a new arm is within ε of the best with a chance of
    the order ε^β. Arms are opened in the order in which they are listed, so arm k, from 0, may be pulled once k < t^p.
    With r̂ = R̄/X̄, v the sample variance of R − r̂X and E = explore·ln n:

        score = r̂ + (√(2v·E/T) + 3b·E/T)/X̄      ∞ while T = 0 or X̄ ≤ 0, or T = 1 and b = 0

    and −∞ while T = 0 and k ≥ t^p. The paper has rewards in [0, 1] and no costs: there v is the variance of R, b and X̄
    are 1, and E is any sequence between 2·ln(10·ln t) and ln t. R − r̂X in place of R is our adaptation: to first order
    it is what moves R̄/X̄, as X̄ times the error of the rate. The last term guards against a v that is too small, and
    needs a bound; without one an arm is pulled twice before it is judged. A best mean of 1, for which the paper has
    p = β/(β + 1) whatever β, has no counterpart: nobody knows the largest possible rate.

    The order must say nothing about the arms: shuffle them where it might, for some may never be pulled.

    Args:
        beta: β > 0; larger opens more arms. 1 is for rates that are uniform near the best.
        explore: above 0; larger explores more.
        bound: b ≥ 0, the largest |R − r̂X|, where known; 0 leaves its term out.

    >>> belief = Belief(0, pulls=8, mean_cost=2.0, mean_reward=1.0, var_cost=1.0, var_reward=1.0, cov=0.25)
    >>> UCBAIR(bound=0.5).score(belief, log_n=4.0)
    1.375

    Reference: Wang, Audibert, Munos, "Algorithms for infinitely many-armed bandits", NeurIPS 2008; UCB-V: Audibert,
    Munos, Szepesvári, "Exploration-exploitation tradeoff using variance estimates in multi-armed bandits",
    Theoretical Computer Science 410 (2009).
    """

    beta: float = number(default=1.0, above=0)
    explore: float = number(default=1.0, above=0)
    bound: float = number(default=0.0, at_least=0)

    power: float = derived(power_of)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, if it may be pulled yet; log_n = ln(pulls so far)."""
        pulls = belief.pulls
        if pulls == 0:
            opens = belief.arm == 0 or math.log(belief.arm) < self.power * log_after(log_n, 1.0)
            return math.inf if opens else -math.inf
        if belief.mean_cost <= 0.0 or (pulls == 1 and self.bound == 0.0):
            return math.inf
        rate = belief.mean_reward / belief.mean_cost
        variance = max(0.0, belief.var_reward - rate * (2.0 * belief.cov - rate * belief.var_cost))
        level = self.explore * log_n / pulls
        score = rate + (math.sqrt(2.0 * variance * level) + 3.0 * self.bound * level) / belief.mean_cost
        return math.inf if math.isnan(score) else score  # from a cost so small that the rate overflows
