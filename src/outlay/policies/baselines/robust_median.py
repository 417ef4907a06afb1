"""Robust UCB with medians of means, adapted to rates."""

import math

from outlay.beliefs import BlockBelief, Blocks, block_medians
from outlay.beliefs.blocks import MOST_PULLS
from outlay.formulas.rates import upper_over_lower
from outlay.parameters import Parameters, number

ALONE = 2.0**600  # a least cost that makes the rate of a block its reward, in an exact unit of its own


class RobustUCBMedian(Parameters):
    """Robust UCB, medians of means: for heavy tails, with known bounds of the variances.

    The arm's T samples form m = min(⌊1 + 16·ln n⌋, ⌊T/2⌋) consecutive blocks of ⌊T/m⌋ (one block while T = 1). With x̃
    and r̃ the medians of the block means of cost and reward (block means of reward below 0 count as 0):

        ε = √(12·var_reward·(2 + 32·ln n)/T),  η = √(12·var_cost·(2 + 32·ln n)/T)
        score = (r̃ + ε)/(x̃ − η)      where x̃ > η, else ∞ (also while T = 0)

    The intervals are the paper's, for means, at confidence 1 − 1/n² and with two moments; it has no costs, and putting
    one over the other is our adaptation.

    Args:
        var_cost, var_reward: above 0; no arm's cost and reward have larger variances.

    >>> policy = RobustUCBMedian(var_cost=1e-4, var_reward=1e-4)
    >>> memory = policy.memory(arms=1)
    >>> for _ in range(200):
    ...     memory.observe(0, 2.0, 1.0)
    >>> round(policy.score(memory.belief(0), log_n=6.0), 6)
    0.526032

    Reference: Bubeck, Cesa-Bianchi, Lugosi, "Bandits with heavy tail", IEEE Trans. Information Theory 59 (2013).
    """

    var_cost: float = number(above=0)
    var_reward: float = number(above=0)

    def memory(self, arms: int) -> Blocks:
        """Prefix sums of all samples, with room for as many blocks as can be asked for."""
        return Blocks.empty(arms, groups=int(1.0 + 16.0 * math.log(MOST_PULLS)))

    def score(self, belief: BlockBelief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        half = max(1, belief.pulls // 2)
        blocks = 1.0 + 16.0 * log_n
        reward, cost = block_medians(belief, half if blocks >= half else int(blocks), ALONE)
        level = 12.0 * (2.0 + 32.0 * log_n) / belief.pulls
        return upper_over_lower(
            reward * ALONE, math.sqrt(self.var_reward * level), cost, math.sqrt(self.var_cost * level)
        )

    def phase(self, log_n: float) -> int:
        """Blocks: between pulls of the arm the score falls only when their number changes."""
        return int(1.0 + 16.0 * log_n)
