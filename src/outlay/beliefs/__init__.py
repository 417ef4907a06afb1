"""What a learner knows of an arm: moments of its samples, their prefix sums for medians of means, or all of them."""

from outlay.beliefs.linear import LinearMoments
from outlay.beliefs.moments import Belief, Moments, Sample, residual_variance, slope
from outlay.beliefs.pooled import Lead, PooledBelief, PooledMoments, price_of
from outlay.beliefs.samples import BlockBelief, Blocks, SampleBelief, Samples, block_medians, block_rate
from outlay.beliefs.sequential import HullMoments, SequentialMoments

__all__ = [
    "Belief",
    "BlockBelief",
    "Blocks",
    "HullMoments",
    "Lead",
    "LinearMoments",
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
