"""How large the regret of the paper's policies can be: assumptions, pulls, regret (Theorems 1, 2, 4 and 5)."""

from outlay.theory.upper.from_pulls_to_regret import horizon, late_passage, regret_from_pulls
from outlay.theory.upper.pull_bounds import outlasting, pull_bound
from outlay.theory.upper.upper_bounds import Bound, upper_bound

__all__ = ["Bound", "horizon", "late_passage", "outlasting", "pull_bound", "regret_from_pulls", "upper_bound"]
