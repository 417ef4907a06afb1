"""UCB-M1: known second moments, heavy tails (Section 4.3, Theorem 2)."""

import math

from outlay.beliefs import BlockBelief, Blocks, block_medians, residual_variance, slope
from outlay.beliefs.blocks import MOST_PULLS
from outlay.formulas.known_moments import KnownMoments, known
from outlay.formulas.upper_rate import upper_rate
from outlay.parameters import number

FACTOR = 2.0 * math.sqrt(2.0)


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

    Reference: Cayci, Eryilmaz, Srikant, "Budget-Constrained Bandits over General Cost and Reward Distributions",
    AISTATS 2020, Section 4.3.
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
