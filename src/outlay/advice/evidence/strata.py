"""Strata of time in which two arms can be compared, and what they earn there on common weights."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.advice.evidence.groups import Groups

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEEDED = 10  # rows of both arms in a stratum
FEW, ENOUGH = 100, 5  # with fewer rows than 100 of one arm, 5 are enough
MOST_BINS, FEWEST_BINS, _ROOM = 256, 64, 3072  # of time; how many there are follows from the number of arms


class Strata(NamedTuple):
    """Strata of bins for a pair of arms: from the first to before the last, with a weight each."""

    firsts: Ints
    lasts: Ints
    weights: Floats


def bins_for(arms: int) -> int:
    """Into how many bins time is cut, of which strata are made: fewer where there are many arms."""
    return max(FEWEST_BINS, min(MOST_BINS, 1 << ((_ROOM // arms).bit_length() - 1)))


def strata_of(mine: Sequence[float], theirs: Sequence[float]) -> Strata:
    """The strata of two arms, from their rows in each bin: as short as they can be with 10 rows of both.

    They are short so that an arm that takes over from another is not compared with it at other times: what comes before
    the first bin that a stratum needs is left out, and rows of one arm that all come before those of the other make no
    stratum. A stratum's weight is n·m/(n + m): with it the difference of two
    means varies least if it is the same in all strata. One bin is one stratum.

    >>> strata_of([40, 40, 5, 10, 90], [0, 0, 5, 5, 90]).firsts.tolist()
    [2, 4]
    >>> strata_of([40, 40, 0, 0], [0, 0, 40, 40]).firsts.tolist()
    []

    Reference: F. Li, K. L. Morgan, A. M. Zaslavsky, "Balancing covariates via propensity score weighting", Journal of
    the American Statistical Association 113 (2018), for overlap weights.
    """
    if len(mine) == 1:
        return Strata(np.zeros(1, np.int64), np.ones(1, np.int64), np.ones(1))
    needed = NEEDED if min(sum(mine), sum(theirs)) >= FEW else ENOUGH
    firsts, lasts, weights = [], [], []
    first, n, m = 0, 0.0, 0.0
    for last, (more, others) in enumerate(zip(mine, theirs, strict=True), 1):
        n, m = n + more, m + others
        if n < needed or m < needed:
            continue
        while first < last - 1 and n - mine[first] >= needed and m - theirs[first] >= needed:
            n, m, first = n - mine[first], m - theirs[first], first + 1
        if not _mixed(mine[first:last], theirs[first:last]):
            continue
        firsts.append(first)
        lasts.append(last)
        weights.append(n * m / (n + m))
        first, n, m = last, 0.0, 0.0
    return Strata(np.array(firsts, np.int64), np.array(lasts, np.int64), np.array(weights))


def _mixed(mine: Sequence[float], theirs: Sequence[float]) -> bool:
    """Whether the bins of the one do not all come before those of the other."""
    here, there = ([place for place, rows in enumerate(arm) if rows] for arm in (mine, theirs))
    return here[0] <= there[-1] and there[0] <= here[-1]


def rates_in(strata: Strata, sums: Floats) -> Floats:
    """The rate of the weighted means of an arm under each draw, from its running sums; nan where there is none."""
    here = sums[:, strata.lasts] - sums[:, strata.firsts]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(here[..., 0] > 0.0, strata.weights / here[..., 0], 0.0)
        costs, rewards = (share * here[..., 1]).sum(axis=1), (share * here[..., 2]).sum(axis=1)
        return np.where(costs > 0.0, rewards / costs, np.nan)


def noise_in(strata: Strata, groups: Groups, rate: float) -> float:
    """The variance of that rate, by the delta method; nan where a stratum has a single group of rows."""
    count = len(strata.weights)
    where = np.searchsorted(strata.firsts, groups.bins, side="right") - 1
    used = (where >= 0) & (groups.bins < strata.lasts[where]) if count else np.zeros(len(where), bool)
    where, own = where[used], groups.sums[used]
    number = np.bincount(where, minlength=count)
    if not count or number.min() < 2:
        return math.nan
    rows = np.bincount(where, own[:, 0], count)
    share = strata.weights / rows
    costs = float((share * np.bincount(where, own[:, 1], count)).sum())
    if not costs > 0.0:
        return math.nan
    residuals = own[:, 2] - rate * own[:, 1]
    residuals -= own[:, 0] * (np.bincount(where, residuals, count) / rows)[where]
    residuals *= (share / costs)[where]
    return float((np.bincount(where, residuals * residuals, count) * number / (number - 1)).sum())
