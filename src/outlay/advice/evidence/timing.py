"""When the arms of a log were used: parts of its time, and whether the arms are spread over them alike."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PARTS = 8  # of the log's time, with as many rows each
FALSE_ALARM = 0.05  # chance of an alarm where every row's arm was chosen without regard to the time
_EXPECTED = 5  # rows of an arm in a part, below which it takes no part in the test


class Timing(NamedTuple):
    """How the arms are spread over the time of the log."""

    counts: Ints  # [arm, part] rows of the sample
    chance: float | None  # of arms spread as unevenly by accident (the p-value); None where it cannot be tested

    @property
    def apart(self) -> bool:
        """Whether the arms were used at different times."""
        return self.chance is not None and self.chance < FALSE_ALARM


def edges_of(times: Sequence[Floats], weights: Sequence[float], count: int) -> Floats:
    """The times between `count` parts with as many rows each; a row of arm k stands for `weights[k]` of them.

    >>> edges_of([np.array([1.0, 2.0]), np.array([3.0, 4.0])], [1.0, 1.0], 2)
    array([2.])
    """
    pooled = np.concatenate(list(times))
    order = np.argsort(pooled, kind="stable")
    share = np.cumsum(np.concatenate([np.full(len(t), w) for t, w in zip(times, weights, strict=True)])[order])
    wanted = share[-1] * np.arange(1, count) / count
    found: Floats = pooled[order][np.searchsorted(share, wanted * (1.0 - 1e-12))]
    return found


def parts_of(times: Floats, edges: Floats) -> Ints:
    """The part that each time is in, from 0; a time at an edge is in the part before it."""
    return np.searchsorted(edges, times, side="left").astype(np.int64)


def timing_of(parts: Sequence[Ints]) -> Timing:
    """The spread of the arms over parts of the time, with a χ² test that arm and part are independent.

    >>> even, late = np.arange(800) % 8, np.full(100, 7)
    >>> timing_of([even, even]).apart, timing_of([even, late]).apart
    (False, True)
    """
    from scipy.stats import chi2_contingency

    counts = np.stack([np.bincount(part, minlength=PARTS) for part in parts])
    tested = counts[counts.sum(axis=1) >= PARTS * _EXPECTED]
    tested = tested[:, tested.sum(axis=0) > 0]
    if min(tested.shape) < 2:
        return Timing(counts, None)
    return Timing(counts, float(chi2_contingency(tested, correction=False).pvalue))
