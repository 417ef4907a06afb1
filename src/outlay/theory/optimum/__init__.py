"""What can be reached at best: by one arm alone, by any policy, and how far the two are apart (Section 3)."""

from outlay.theory.optimum.dynamic import DynamicOptimum, optimal_policy
from outlay.theory.optimum.optimality import optimality
from outlay.theory.optimum.overshoot import GapConstant, gap_constant
from outlay.theory.optimum.static import Estimate, expected_pulls, expected_reward

__all__ = [
    "DynamicOptimum",
    "Estimate",
    "GapConstant",
    "expected_pulls",
    "expected_reward",
    "gap_constant",
    "optimal_policy",
    "optimality",
]
