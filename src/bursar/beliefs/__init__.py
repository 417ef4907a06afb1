"""What a learner knows of an arm: moments of its samples, their prefix sums for medians of means, or all of them."""

from bursar.beliefs.block_rates import block_rate
from bursar.beliefs.blocks import BlockBelief, Blocks, block_medians
from bursar.beliefs.moments import Belief, Moments, residual_variance, slope
from bursar.beliefs.pooled import Lead, Pooled, PooledBelief, price_of
from bursar.beliefs.samples import SampleBelief, Samples

__all__ = [
    "Belief",
    "BlockBelief",
    "Blocks",
    "Lead",
    "Moments",
    "Pooled",
    "PooledBelief",
    "SampleBelief",
    "Samples",
    "block_medians",
    "block_rate",
    "price_of",
    "residual_variance",
    "slope",
]
