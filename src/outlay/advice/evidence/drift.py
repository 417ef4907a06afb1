"""Whether an arm's rows, in the order of time, look like draws in random order: a test on the means of blocks."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.advice.evidence.timing import PARTS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_BLOCKS = 128
FEWEST_BLOCKS = 16
FALSE_ALARM = 0.05  # chance that any of the tests raises an alarm where every arm's rows are independent and alike
_CLEARLY = 1.645  # standard errors: one-sided, 5 %


class Change(NamedTuple):
    """The most telling change along the rows, and how likely one as large is in random order."""

    chance: float  # the p-value
    at: float  # about which share of the arm's rows comes before the change
    before: float  # mean
    after: float


class Course(NamedTuple):
    """How the rate of an arm developed over the time of the log."""

    drifts: bool  # whether a change of its costs or rewards raises an alarm
    parts: tuple[float, ...]  # the rate in each eighth of the time; nan where it has no rows, or no cost above 0
    errors: tuple[float, ...]  # their standard errors; nan where they cannot be told

    def below(self, other: "Course") -> bool:
        """Whether it was below the other all along: always, where neither drifts.

        Else in every part that both have, of which one must be the last part that it has at all, and there by more than
        chance (one-sided, 5 %).

        >>> none = (0.1, 0.1, 0.1)
        >>> Course(True, (1.0, 1.0, 4.0), none).below(Course(False, (3.0, 3.0, 3.0), none))
        False
        """
        if not (self.drifts or other.drifts):
            return True
        ahead = [theirs - mine for mine, theirs in zip(self.parts, other.parts, strict=True)]
        errors = [math.hypot(*both) for both in zip(self.errors, other.errors, strict=True)]
        last = max((part for part, rate in enumerate(self.parts) if not math.isnan(rate)), default=-1)
        if last < 0 or math.isnan(ahead[last]):
            return False
        return all(by > 0.0 for by in ahead if not math.isnan(by)) and not ahead[last] <= _CLEARLY * errors[last]


def course_of(drifts: bool, pairs: Floats, parts: Ints) -> Course:
    """The course of an arm's rows, [cost or reward, row], that are in these parts of the time."""
    rates, errors = [], []
    for part in range(PARTS):
        costs, rewards = pairs[:, parts == part]
        rate = rewards.sum() / costs.sum() if costs.sum() > 0.0 else math.nan
        residuals = rewards - rate * costs
        rates.append(float(rate))
        few = len(costs) < 2 or math.isnan(rate)
        errors.append(math.nan if few else float(residuals.std(ddof=1) * math.sqrt(len(costs)) / costs.sum()))
    return Course(drifts, tuple(rates), tuple(errors))


def block_means(values: Floats) -> Floats:
    """Means of at most 128 equal blocks of consecutive values; a last part that fills no block is dropped.

    >>> block_means(np.arange(1000.0))[:2]
    array([ 3.5, 11.5])
    """
    size = 1
    while len(values) // size > MOST_BLOCKS:
        size *= 2
    count = len(values) // size
    means: Floats = values[: count * size].reshape(count, size).mean(axis=1)
    return means


def change_of(means: Floats) -> Change | None:
    """The largest excursion of the summed ranks of block means, against a Brownian bridge; None for few blocks.

    In random order the ranks are a random permutation, whatever the law of the rows, so the test needs no moments. It
    sees steps, trends and bumps; its p-value is that of the limit of many blocks, a little too large for few.

    >>> rng = np.random.default_rng(0)
    >>> found = change_of(np.append(rng.normal(size=40), 3.0 + rng.normal(size=60)))
    >>> round(found.at, 1), found.chance < 1e-6
    (0.4, True)

    Reference: A. N. Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28 (1979).
    """
    from scipy.special import kolmogorov
    from scipy.stats import rankdata

    count = len(means)
    if count < FEWEST_BLOCKS:
        return None
    scale = 1e-12 * float(np.abs(means).max())
    ranks = rankdata(np.round(means / scale) if scale > 0.0 else means) - (count + 1) / 2
    spread = float(np.sqrt((ranks @ ranks) / (count - 1) * count))
    path = np.abs(np.cumsum(ranks)[:-1])
    at = int(np.argmax(path)) + 1
    chance = float(kolmogorov(path[at - 1] / spread)) if spread > 0.0 else 1.0
    return Change(chance, at / count, float(means[:at].mean()), float(means[at:].mean()))


def alarms(changes: Sequence[Change | None]) -> list[bool]:
    """Which of the changes raise an alarm; the chance of any false alarm among them all is 5 % (Bonferroni).

    >>> alarms([Change(0.02, 0.5, 1.0, 2.0), None, Change(0.03, 0.5, 1.0, 2.0)])
    [True, False, False]
    """
    tests = sum(change is not None for change in changes)
    return [change is not None and change.chance * tests < FALSE_ALARM for change in changes]
