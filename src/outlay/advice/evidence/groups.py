"""Rows dealt out to small groups at random: what is drawn again and again to see how far chance moves a rate.

A bootstrap over rows would draw as many numbers as there are rows, thousands of times. Sums over random groups of rows
are independent and alike as the rows are, so drawing groups says the same, at a cost that does not grow with the log.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST = 1000  # groups of an arm
IN_BIN = 8  # or so many in each bin of time


class Groups(NamedTuple):
    """The groups of one arm, those of a bin of time side by side."""

    sums: Floats  # [group, 3]: rows, their cost, their reward
    bins: Ints  # [group], rising


def groups_of(pairs: Floats, bins: Ints, rng: np.random.Generator, most: int = MOST) -> Groups:
    """Rows, [cost or reward, row], dealt out to about `most` groups, each in one bin.

    >>> found = groups_of(np.ones((2, 5)), np.array([1, 0, 1, 0, 0]), np.random.default_rng(0))
    >>> found.bins.tolist(), found.sums[0].tolist()
    ([0, 0, 0, 1, 1], [1.0, 1.0, 1.0])
    """
    size = math.ceil(pairs.shape[1] / most)
    order = np.lexsort(np.stack([rng.random(bins.shape), bins]))
    bins, pairs = bins[order], pairs[:, order]
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    within = np.arange(len(bins)) - np.repeat(starts, np.diff(np.append(starts, len(bins))))
    firsts = np.flatnonzero(within % size == 0)
    rows = np.diff(np.append(firsts, len(bins))).astype(np.float64)
    return Groups(np.column_stack([rows, *np.add.reduceat(pairs, firsts, axis=1)]), bins[firsts])


def merged_groups(sums: Floats, rng: np.random.Generator) -> list[Groups]:
    """The sums of each arm over each instance, [arm, instance, 3], over at most 1000 groups of the same instances."""
    count = sums.shape[1]
    firsts = np.arange(0, count, math.ceil(count / MOST))
    dealt = np.add.reduceat(sums[:, rng.permutation(count)], firsts, axis=1)
    return [Groups(own, np.zeros(len(firsts), np.int64)) for own in dealt]


def running(groups: Groups, bins: int, weights: Floats) -> Floats:
    """Rows, cost and reward before each bin, [draw, bin, 3], under each row of weights, [draw, group].

    >>> groups = Groups(np.ones((3, 3)), np.array([0, 1, 1]))
    >>> running(groups, 2, np.array([[1.0, 1.0, 0.0]]))[0, :, 0].tolist()
    [0.0, 1.0, 2.0]
    """
    found = np.zeros((len(weights), bins + 1, 3))
    ends = np.searchsorted(groups.bins, np.arange(bins), side="right").tolist()
    start = 0
    for this, end in enumerate(ends):
        found[:, this + 1] = found[:, this] + weights[:, start:end] @ groups.sums[start:end]
        start = end
    return found


def drawn(count: int, draws: int, rng: np.random.Generator) -> Floats:
    """How often each of `count` groups is drawn in each of `draws` bootstrap samples: Poisson of mean 1, independent.

    Reference: N. Chamandy, O. Muralidharan, A. Najmi, S. Naidu, "Estimating uncertainty for massive data streams"
    (2012), for the Poisson bootstrap.
    """
    found: Floats = _POISSON[rng.integers(0, len(_POISSON), (draws, count), np.uint16)]
    return found


def _table() -> Floats:
    """2¹⁶ values of the Poisson law of mean 1, as often as it has them."""
    chances = np.array([math.exp(-1.0) / math.factorial(k) for k in range(10)])
    ends = np.rint(np.cumsum(chances) * 2**16).astype(int)
    return np.searchsorted(ends, np.arange(2**16), side="right").astype(np.float64)


_POISSON = _table()
