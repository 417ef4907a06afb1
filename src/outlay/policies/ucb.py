"""The paper's policies: upper confidence bounds of the reward rate.

- UCB-B1 knows second moments, for light tails (Section 4.2, Theorem 1);
- UCB-B2 knows bounds of uncorrelated cost and reward, whose variances it learns (Section 6.1, Theorem 4);
- UCB-B2C knows bounds and learns everything else, the correlation too (Section 6.2, Theorem 5);
- UCB-M1 knows second moments, for heavy tails (Section 4.3, Theorem 2).

Reference: Cayci, Eryilmaz, Srikant, "Budget-Constrained Bandits over General Cost and Reward Distributions", AISTATS
2020.
"""

import math

from outlay.beliefs import Belief, BlockBelief, Blocks, block_medians, residual_variance, slope
from outlay.beliefs.samples import MOST_PULLS
from outlay.formulas.confidence import KnownBounds, KnownMoments, estimated_rate, known, upper_rate
from outlay.parameters import derived, number
from outlay.policies.protocol import RisingScore

FACTOR = 2.0 * math.sqrt(2.0)  # of UCB-M1's bound


class UCBB1(RisingScore, KnownMoments):
    """UCB-B1: upper confidence bound of the reward rate from known second moments, for light tails.

    With T pulls of the arm, X̄ and R̄ its means, ω = Cov/Var(X), V = Var(R) − ω²Var(X), r̂ = max(0, R̄)/max(b, X̄):

        ε = 2α·M_R·ln n/(3T) + √(L·α·V·ln n/T)
        η = 2α·M_X·ln n/(3T) + √(L·α·Var(X)·ln n/T)
        score = r̂ + 1.4·(ε + |r̂ − ω|·η)/X̄      where η < 0.21875·X̄, else ∞ (also while T = 0)

    The paper prints r̂ − ω and assumes ω ≤ r; Proposition 2 needs the absolute value, which differs where r̂ < ω.
    L = ½ is the paper's value for Gaussian pairs, and too small for α < 3.48: regret is known to be O(ln B) where
    α·L ≥ 1.742, and can be a power of B where it is below 1.741 (docs/errata.md). For bounded pairs ε has the range of
    R as in the text (the appendix has that of R − ωX). Taken literally the stability condition forces many pulls on
    every arm before any is judged: a reference point more than a recommendation.

    Args:
        var_cost, var_reward, cov: variances and covariance of (cost, reward), a number or one per arm.
        alpha: α > 2; larger explores more.
        min_cost: b > 0, at most half of the smallest mean cost.
        cost_bound, reward_bound: M_X ≥ |cost| and M_R ≥ |reward|; 0 for Gaussian pairs.
        variance_factor: L; by default (None) ½ when both bounds are 0, else 2. `chosen_factor` is the value used.
        factor: the paper's 1.4 (its appendix has 1.78).

    >>> policy = UCBB1(var_cost=0.04, var_reward=0.09, cov=0.03)
    >>> belief = Belief(arm=0, pulls=100, mean_cost=1.0, mean_reward=0.8, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(policy.score(belief, log_n=5.0), 6)
    0.886549

    Reference: Cayci, Eryilmaz, Srikant, AISTATS 2020, Section 4.2.
    """

    alpha: float = number(default=2.1, above=2)
    min_cost: float = number(default=1e-12, above=0)
    cost_bound: float = number(default=0.0, at_least=0)
    reward_bound: float = number(default=0.0, at_least=0)
    variance_factor: float | None = number(default=None, above=0)
    factor: float = number(default=1.4, above=0)

    chosen_factor: float = derived(
        lambda given: given.variance_factor or (0.5 if given.cost_bound == given.reward_bound == 0 else 2.0)
    )

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        moments = known(self.var_cost, self.var_reward, self.cov, belief.arm)
        level = self.alpha * log_n / belief.pulls
        spread = self.chosen_factor * level
        reward_radius = math.sqrt(residual_variance(moments) * spread)
        cost_radius = math.sqrt(moments.var_cost * spread)
        if self.reward_bound > 0.0:  # a GPU divides 0 slowly
            reward_radius = 2.0 * self.reward_bound * level / 3.0 + reward_radius
        if self.cost_bound > 0.0:
            cost_radius = 2.0 * self.cost_bound * level / 3.0 + cost_radius
        rate = estimated_rate(belief.mean_cost, belief.mean_reward, self.min_cost)
        return upper_rate(rate, belief.mean_cost, cost_radius, reward_radius, abs(rate - slope(moments)), self.factor)


class UCBB2(RisingScore, KnownBounds):
    """UCB-B2: upper confidence bound of the reward rate from sample variances, for bounded, uncorrelated pairs.

    With T pulls of the arm, X̄ and R̄ its means, V̂ its biased sample variances, r̂ = max(0, R̄)/max(b, X̄), ℓ = α·ln n:

        ε = √(2V̂(R)·ℓ/T) + 3M_R·ℓ/T,  η = √(2V̂(X)·ℓ/T) + 3M_X·ℓ/T
        score = r̂ + 1.4·(ε + r̂·η)/X̄      where η < 0.21875·X̄, else ∞ (also while T = 0)

    Taken literally the stability condition forces thousands of pulls on every arm before any is judged (1755 at
    n = 20 000, M = 1, Bernoulli cost ½): a reference point more than a recommendation.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].
        alpha: α > 2; larger explores more.
        min_cost: b > 0, at most half of the smallest mean cost.
        factor: the paper's 1.4 (its appendix has 1.78).

    >>> policy = UCBB2(cost_bound=1.0, reward_bound=1.0)
    >>> belief = Belief(0, pulls=1000, mean_cost=0.5, mean_reward=0.4, var_cost=0.04, var_reward=0.04, cov=0.0)
    >>> round(policy.score(belief, log_n=5.0), 6)
    1.104833

    Reference: Cayci, Eryilmaz, Srikant, AISTATS 2020, Section 6.1; the radii are the empirical Bernstein bound of
    Audibert, Munos, Szepesvári (2009).
    """

    alpha: float = number(default=2.1, above=2)
    min_cost: float = number(default=1e-12, above=0)
    factor: float = number(default=1.4, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        level = self.alpha * log_n / belief.pulls
        reward_radius = math.sqrt(2.0 * belief.var_reward * level) + 3.0 * self.reward_bound * level
        cost_radius = math.sqrt(2.0 * belief.var_cost * level) + 3.0 * self.cost_bound * level
        rate = estimated_rate(belief.mean_cost, belief.mean_reward, self.min_cost)
        return upper_rate(rate, belief.mean_cost, cost_radius, reward_radius, rate, self.factor)


class UCBB2C(RisingScore, KnownBounds):
    """UCB-B2C: upper confidence bound of the reward rate that learns the correlation, for bounded pairs.

    With T pulls of the arm, X̄ and R̄ its means, V̂ and Ĉov its biased sample moments, ω̂ = Ĉov/V̂(X),
    L̂ = max(0, V̂(R) − ω̂²V̂(X)), M_Z = M_R + ω̄·M_X, r̂ = max(0, R̄)/max(b, X̄), ℓ = α·ln n:

        ε = √(2L̂·ℓ/T) + 3M_Z·ℓ/T,  η = √(2V̂(X)·ℓ/T) + 3M_X·ℓ/T
        score = r̂ + 1.4·(ε + (r̂ − ω̂)⁺·η)/X̄      where η < 0.21875·X̄, else ∞ (also while T = 0)

    Like the paper's printed score it leaves out the sample spread of ω̂ and L̂. The paper bounds ω_k from above only;
    with negative slopes the range of R − ωX needs ω̄ ≥ |ω_k|. Taken literally the stability condition forces thousands
    of pulls on every arm before any is judged: a reference point more than a recommendation.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].
        slope_bound: ω̄ ≥ |ω_k| for every arm.
        alpha: α > 2; larger explores more.
        min_cost: b > 0, at most half of the smallest mean cost.
        factor: the paper's 1.4 (its appendix has 1.78).

    >>> policy = UCBB2C(cost_bound=1.0, reward_bound=1.0, slope_bound=1.0)
    >>> belief = Belief(0, pulls=1000, mean_cost=0.5, mean_reward=0.4, var_cost=0.04, var_reward=0.04, cov=0.03)
    >>> round(policy.score(belief, log_n=5.0), 6)
    1.038544

    Reference: Cayci, Eryilmaz, Srikant, AISTATS 2020, Section 6.2.
    """

    slope_bound: float = number(at_least=0)
    alpha: float = number(default=2.1, above=2)
    min_cost: float = number(default=1e-12, above=0)
    factor: float = number(default=1.4, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        level = self.alpha * log_n / belief.pulls
        residual_bound = self.reward_bound + self.slope_bound * self.cost_bound
        reward_radius = math.sqrt(2.0 * residual_variance(belief) * level) + 3.0 * residual_bound * level
        cost_radius = math.sqrt(2.0 * belief.var_cost * level) + 3.0 * self.cost_bound * level
        rate = estimated_rate(belief.mean_cost, belief.mean_reward, self.min_cost)
        weight = max(0.0, rate - slope(belief))
        return upper_rate(rate, belief.mean_cost, cost_radius, reward_radius, weight, self.factor)


class UCBM1(KnownMoments):
    """UCB-M1: upper confidence bound of the reward rate from medians of block means, for heavy tails.

    The arm's T samples form m = ⌊3.5·α·ln n⌋ + 1 consecutive blocks of ⌊T/m⌋, the newest left over; r̄ is the median
    over the blocks of max(0, R̄_j)/max(b, X̄_j), x̄ the median of X̄_j; ω = Cov/Var(X), V = Var(R) − ω²Var(X):

        ε = 11·√(α·V·ln n/T),  η = 11·√(α·Var(X)·ln n/T)
        score = r̄ + 2√2·(ε + |r̄ − ω|·η)/x̄      where η < 0.21875·x̄, else ∞ (also while T < m)

    The paper prints its stability condition with median X̄_j instead of η, a slip, and r̄ − ω, assuming ω ≤ r.
    Taken literally the condition forces thousands of pulls on every arm before any is judged (about 12 600 at
    Var(X) = ¼, mean cost 1): a reference point more than a recommendation. The score falls when m grows.

    Args:
        var_cost, var_reward, cov: variances and covariance of (cost, reward), a number or one per arm.
        alpha: α > 2; larger explores more.
        min_cost: b > 0, at most half of the smallest mean cost.

    >>> policy = UCBM1(var_cost=0.0, var_reward=0.01, cov=0.0)
    >>> memory = policy.memory(arms=1)
    >>> for _ in range(36):
    ...     memory.observe(0, 2.0, 1.0)
    >>> round(policy.score(memory.belief(0), log_n=4.0), 6)
    1.251443

    Reference: Cayci, Eryilmaz, Srikant, AISTATS 2020, Section 4.3.
    """

    alpha: float = number(default=2.1, above=2)
    min_cost: float = number(default=1e-12, above=0)

    def memory(self, arms: int) -> Blocks:
        """Prefix sums of all samples, with room for as many blocks as α can ask for."""
        return Blocks.empty(arms, groups=int(3.5 * self.alpha * math.log(MOST_PULLS)) + 1)

    def score(self, belief: BlockBelief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        blocks = 3.5 * self.alpha * log_n
        if blocks >= belief.pulls:  # T < m, said without the floor so that it holds for any log_n
            return math.inf
        rate, mean_cost = block_medians(belief, int(blocks) + 1, self.min_cost)
        moments = known(self.var_cost, self.var_reward, self.cov, belief.arm)
        level = self.alpha * log_n / belief.pulls
        reward_radius = 11.0 * math.sqrt(residual_variance(moments) * level)
        cost_radius = 11.0 * math.sqrt(moments.var_cost * level)
        return upper_rate(rate, mean_cost, cost_radius, reward_radius, abs(rate - slope(moments)), FACTOR)

    def phase(self, log_n: float) -> int:
        """Blocks but one, m − 1: between pulls of the arm the score falls only when the number of blocks changes."""
        return int(3.5 * self.alpha * log_n)
