"""An order statistic of block means of R − rX, inverted: heavy tails, second moments unknown."""

import math

from outlay.beliefs import BlockBelief, Blocks, block_rate
from outlay.beliefs.blocks import MOST_PULLS
from outlay.parameters import Draft, Parameters, derived, number


class MedianRate(Parameters):
    """A high quantile of the rates of blocks of samples: for heavy tails with unknown second moments.

    With p = 1 − 1/a, q = p/4, ℓ = α·ln n the arm's T samples form m = ⌊ℓ/kl(q, p)⌋ + 1 consecutive blocks of ⌊T/m⌋,
    the newest left over; a block's rate is R̄_j/X̄_j, or ∞ where X̄_j ≤ 0:

        score = the (⌊q·m⌋ + 1)-th largest rate of a block; ∞ while T < m

    R̄_j − rX̄_j ≥ 0 says no more than that r is at most the block's rate: this is an order statistic of means of R − rX,
    solved for r. With a = 2 (finite variances): p = ½, m = ⌊3.16·ℓ⌋ + 1 and the (⌊m/8⌋ + 1)-th largest.

    Guarantee: P(score < rate) ≤ exp(−ℓ) at every T for which each block has P(R̄_j ≥ rate·X̄_j) ≥ p. With p = ½ this
    holds if R − rate·X is symmetric about 0, whatever its tails. In the limit of large blocks it holds for all pairs
    with finite variances (p = ½), and for all whose sums have stable limits of an index ≥ a (p = 1 − 1/a).

    Args:
        alpha: α > 0; larger explores more.
        tail: a, 1 < a ≤ 2, the index of the heaviest tail: P(|cost| or |reward| > x) falls like x^(−a); 2 if the
            variances are finite.

    >>> policy = MedianRate()
    >>> memory = policy.memory(arms=1)
    >>> for reward in (1.0, 2.0, 6.0, 3.0, 5.0, 4.0, 0.0):
    ...     memory.observe(0, 2.0, reward)
    >>> policy.score(memory.belief(0), log_n=0.5)  # two blocks of three, the last sample waits
    2.0

    Reference: docs/test-inversion.md.
    """

    alpha: float = number(default=1.0, above=0)
    tail: float = number(default=2.0, above=1, at_most=2)

    share: float = derived(lambda given: _chance(given) / 4.0)  # of the blocks, those whose rates may exceed the score
    information: float = derived(lambda given: _information(given.share, _chance(given)))

    def memory(self, arms: int) -> Blocks:
        """Prefix sums of all samples, with room for as many blocks as α can ask for."""
        return Blocks.empty(arms, groups=int(self.alpha * math.log(MOST_PULLS) / self.information) + 1)

    def score(self, belief: BlockBelief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        blocks = self.alpha * log_n / self.information
        if blocks >= belief.pulls:  # T < m, said without the floor so that it holds for any log_n
            return math.inf
        groups = int(blocks) + 1
        return block_rate(belief, groups, int(self.share * groups) + 1)

    def phase(self, log_n: float) -> int:
        """Blocks but one, m − 1: between pulls of the arm the score changes with the number of blocks alone."""
        return int(self.alpha * log_n / self.information)


def _chance(given: Draft) -> float:
    """The p = 1 − 1/a of the class: how often, at least, a block has a rate that is not below the true one."""
    return float(1.0 - 1.0 / given.tail)


def _information(share: float, chance: float) -> float:
    """The divergence kl(q, p) of two coins, with q = p/4 the share and p the chance."""
    return share * math.log(0.25) + (1.0 - share) * math.log((1.0 - share) / (1.0 - chance))
