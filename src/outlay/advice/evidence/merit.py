"""A figure of merit: how good the arm that one part of the log speaks for is in the other part."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.advice.evidence.comparison import MANY, Pairs, estimates, rates_under
from outlay.advice.evidence.groups import Groups
from outlay.advice.evidence.timing import PARTS

Floats = NDArray[np.float64]

SPLITS = 200  # into halves at random
CLOSE = 0.05  # of the best arm's rate: an arm within it is as good as the best


class Merit(NamedTuple):
    """How often the arm that was best in one part of the log was within 5 % of the best in the other."""

    at_random: float | None  # share of splits into halves at random; None where there is nothing to compare
    shortfall: float | None  # how far it was below the best, on average, as a share of its rate
    splits: int
    later: int  # how often what was best up to some time was within 5 % of the best after it
    cuts: int  # of how many times, the borders of the eighths of the log


def merit_of(
    groups: Sequence[Groups], bins: int, pairs: Pairs, parts: Sequence[Groups], *, shared: bool, seed: int
) -> Merit:
    """Judge the way the best arm is found on parts of the log that it was not found on.

    `parts` are the rows of each arm by the eighths of the log, none where there is no order of time.
    """
    if len(groups) < 2 or len(groups) > MANY:
        return Merit(None, None, 0, 0, 0)
    later = [good for cut in range(1, PARTS) if parts and (good := _later(parts, cut, bins > 1)) is not None]
    rng = np.random.default_rng(seed)
    same = _halves(len(groups[0].sums), rng)
    halves = [same if shared else _halves(len(own.sums), rng) for own in groups]
    learned = rates_under(groups, bins, pairs, iter(halves))
    judged = rates_under(groups, bins, pairs, iter([1.0 - half for half in halves]))
    chosen = _leaders(learned, pairs.errors)
    short = np.array([_shortfall(judged[:, :, split], arm) for split, arm in enumerate(chosen)])
    short = short[~np.isnan(short)]
    if not len(short):
        return Merit(None, None, 0, sum(later), len(later))
    return Merit(float((short <= CLOSE).mean()), float(short.mean()), len(short), sum(later), len(later))


def _halves(count: int, rng: np.random.Generator) -> Floats:
    """Half of the groups, at random, in each split."""
    return (rng.random((SPLITS, count)).argsort(axis=1) < (count + 1) // 2).astype(np.float64)


def _leaders(rates: Floats, errors: Floats) -> list[int]:
    """The arm that loses least clearly against any other, in each split."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = np.nan_to_num((rates - rates.transpose(1, 0, 2)) / errors[:, :, None])
    quotients[np.arange(len(rates)), np.arange(len(rates))] = np.inf
    leaders: list[int] = quotients.min(axis=1).argmax(axis=0).tolist()
    return leaders


def _shortfall(rates: Floats, arm: int) -> float:
    """How far an arm is below the best, on equal terms, as a share of the best rate; nan where nothing is known."""
    others = np.delete(rates[:, arm] - rates[arm], arm)
    best = np.delete(rates[:, arm], arm)
    good = ~np.isnan(others) & (best > 0.0)
    return float(np.maximum(others[good] / best[good], 0.0).max()) if good.any() else np.nan


def _later(parts: Sequence[Groups], cut: int, apart: bool) -> bool | None:
    """Whether what was best before a part of the log is good from there on; None where arms have no rows in one."""
    earlier = [own.bins < cut for own in parts]
    before, after = (_estimates(parts, rows, apart) for rows in (earlier, [~own for own in earlier]))
    known = ~np.isnan(before.rates)
    np.fill_diagonal(known, False)
    if not known.any():
        return None
    [best] = _leaders(before.rates[:, :, None], before.errors)
    short = _shortfall(after.rates, best)
    return None if np.isnan(short) else short <= CLOSE


def _estimates(parts: Sequence[Groups], rows: Sequence[NDArray[np.bool_]], apart: bool) -> Pairs:
    """The estimates from some of the rows; all together, or by the part that they are in."""
    some = [Groups(own.sums[here], own.bins[here] * apart) for own, here in zip(parts, rows, strict=True)]
    return estimates(some, PARTS if apart else 1)
