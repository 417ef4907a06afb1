"""What a learner knows of an arm: moments of its samples, or their prefix sums for medians of means."""

from bursar.beliefs.blocks import BlockBelief, Blocks, block_medians
from bursar.beliefs.moments import Belief, Moments, residual_variance, slope

__all__ = ["Belief", "BlockBelief", "Blocks", "Moments", "block_medians", "residual_variance", "slope"]
