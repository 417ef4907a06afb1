"""What can be proved about a problem: bounds on regret."""

from bursar.theory.lower_bound import divergence, lower_bound

__all__ = ["divergence", "lower_bound"]
