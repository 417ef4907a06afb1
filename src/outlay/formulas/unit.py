"""Costs and rewards on [0, 1]: what many policies assume, reached by dividing by known bounds."""

from outlay.checks import real


def share(mean: float, bound: float) -> float:
    """The mean as a share of its bound; outside [0, 1] it counts as the nearer end.

    >>> share(1.0, 4.0), share(-1.0, 4.0), share(5.0, 4.0)
    (0.25, 0.0, 1.0)
    """
    return min(1.0, max(0.0, mean / bound))


def checked_bounds(owner: str, cost_bound: float, reward_bound: float) -> tuple[float, float]:
    """Two positive numbers."""
    return real(owner, "cost_bound", cost_bound, above=0), real(owner, "reward_bound", reward_bound, above=0)
