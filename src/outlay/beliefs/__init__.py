"""What a learner knows of an arm: moments of its samples, their prefix sums for medians of means, or all of them."""

from outlay.beliefs.belief import Belief, Sample, residual_variance, slope
from outlay.beliefs.block_rates import block_rate
from outlay.beliefs.blocks import BlockBelief, Blocks, block_medians
from outlay.beliefs.moments import Moments
from outlay.beliefs.opened import SequentialMoments
from outlay.beliefs.points import HullMoments
from outlay.beliefs.pooled import Lead, PooledBelief, PooledMoments, price_of
from outlay.beliefs.samples import SampleBelief, Samples

__all__ = [
    "Belief",
    "BlockBelief",
    "Blocks",
    "HullMoments",
    "Lead",
    "Moments",
    "PooledBelief",
    "PooledMoments",
    "Sample",
    "SampleBelief",
    "Samples",
    "SequentialMoments",
    "block_medians",
    "block_rate",
    "price_of",
    "residual_variance",
    "slope",
]
