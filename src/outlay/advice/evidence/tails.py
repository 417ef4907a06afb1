"""How heavy a tail is: Hill's estimate from the largest values, and whether they were cut off at a limit."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SHARE = 0.1  # of the rows, whose costs are the tail
FEWEST = 20  # such rows, before an index is estimated
_CLEARLY = 5  # times as many rows at the largest value as at any just below it make it a limit
_SETTLED = 30  # rows at the limit, before the mean of what is cut off there is known well enough


class Tail(NamedTuple):
    """The tail of an arm's costs."""

    alpha: float | None  # the tail index α in P(cost > x) ~ x^−α; None where too few rows show it
    limit: float | None  # the value that costs seem to be cut off at, such as a timeout
    at_limit: int  # rows that have it, estimated where not all were kept

    @property
    def infinite_variance(self) -> bool:
        """Whether the variance looks infinite: an index below 2."""
        return self.alpha is not None and self.alpha < 2.0

    @property
    def unsettled(self) -> bool:
        """Whether rare costs larger than any so far may matter: the variance looks infinite, and no limit bounds it."""
        return self.infinite_variance and self.at_limit < _SETTLED


def tail_of(largest: NDArray[np.float64], sample: NDArray[np.float64], count: int) -> Tail:
    """The tail of `count` costs, from the largest of them in falling order, and from a uniform sample.

    With k = a tenth of the rows (or as many as are there), m of them below the limit: α = m/Σ ln(x_i/x_(k+1)), the sum
    over the k largest. Without a limit m = k, Hill's estimate; a cost at the limit only says that it would be larger.

    >>> costs = np.sort(1.0 + np.random.default_rng(0).pareto(1.5, size=20_000))[::-1]
    >>> round(tail_of(costs, costs, 20_000).alpha, 1)
    1.5

    Reference: B. M. Hill, "A simple general approach to inference about the tail of a distribution", Annals of
    Statistics 3 (1975).
    """
    limit, at_limit = _limit(sample, count)
    largest = largest[largest > 0.0]
    k = min(int(SHARE * count), len(largest) - 1)
    below = k if limit is None else int((largest[: max(k, 0)] < limit).sum())
    if below < FEWEST:
        return Tail(None, limit, at_limit)
    excess = float(np.log(largest[:k] / largest[k]).sum())
    return Tail(below / excess if excess > 0.0 else np.inf, limit, at_limit)


def _limit(sample: NDArray[np.float64], count: int) -> tuple[float | None, int]:
    """A largest value that stands out: many rows share it, and few any of the values next to it."""
    values, rows = np.unique(sample, return_counts=True)
    if values[-1] <= 0.0 or len(values) <= FEWEST or rows[-1] < _CLEARLY * rows[-1 - FEWEST : -1].max():
        return None, 0
    return float(values[-1]), round(int(rows[-1]) * count / len(sample))
