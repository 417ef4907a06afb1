"""An order statistic of the rates of blocks of samples."""

import math

from outlay.beliefs.blocks import GROUPS, MEDIAN_RATE, MIN_COST, SIZE, BlockBelief, number, write_means
from outlay.beliefs.select import select


def block_rate(belief: BlockBelief, groups: int, rank: int) -> float:
    """The `rank`-th largest of the blocks' rates R̄_j/X̄_j, ∞ where X̄_j ≤ 0; blocks as in `block_medians`.

    It is ∞ when there are fewer samples than groups, and remembered like the medians.

    >>> from outlay.beliefs import Blocks
    >>> memory = Blocks.empty(1)
    >>> for reward in (1.0, 2.0, 3.0):
    ...     memory.observe(0, 2.0, reward)
    >>> block_rate(memory.belief(0), groups=3, rank=1), block_rate(memory.belief(0), groups=3, rank=2)
    (1.5, 1.0)
    """
    arm, blocks = belief.arm, belief.blocks
    index, sums, scratch = blocks.arms, blocks.sums, blocks.scratch
    if groups < 1 or groups > belief.pulls or groups > scratch.shape[1]:
        return math.inf
    size = belief.pulls // groups
    if index[arm, GROUPS] != groups or index[arm, SIZE] != size or sums[arm, MIN_COST] != -rank:
        write_means(belief, groups, size)
        for j in range(groups):
            cost = float(scratch[1, j])
            scratch[0, j] = number(float(scratch[0, j]) / cost) if cost > 0.0 else math.inf
        sums[arm, MEDIAN_RATE] = select(scratch, 0, groups, groups - rank)
        sums[arm, MIN_COST] = -rank
        index[arm, GROUPS] = groups
        index[arm, SIZE] = size
    return float(sums[arm, MEDIAN_RATE])
