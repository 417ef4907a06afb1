"""What a learner knows of an arm: moments of its samples, their prefix sums for medians of means, or all of them."""

from outlay.beliefs.belief import Belief, Sample, residual_variance, slope
from outlay.beliefs.block_rates import block_rate
from outlay.beliefs.blocks import BlockBelief, Blocks, block_medians
from outlay.beliefs.moments import Moments
from outlay.beliefs.opened import Opened
from outlay.beliefs.points import Points
from outlay.beliefs.pooled import Lead, Pooled, PooledBelief, price_of
from outlay.beliefs.samples import SampleBelief, Samples

__all__ = [
    "Belief",
    "BlockBelief",
    "Blocks",
    "Lead",
    "Moments",
    "Opened",
    "Points",
    "Pooled",
    "PooledBelief",
    "Sample",
    "SampleBelief",
    "Samples",
    "block_medians",
    "block_rate",
    "price_of",
    "residual_variance",
    "slope",
]
