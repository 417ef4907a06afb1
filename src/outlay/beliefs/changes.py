"""Where an arm's means have changed: marks along its samples, a test at each of them, and what is forgotten then.

After every 8 samples of an arm its sums are marked as they stand; from 4096 samples on after every 16, from 8192 on
after every 32, and so on (`pace`). What lies between two marks is a bucket of 8, 16, 32 … samples: of more than `ALIKE`
buckets of one size the two oldest become one, by dropping the mark between. So there are about 16 marks at most,
however many samples, and the newest samples have the finest ones.

Each mark parts the samples in an older part, (n₁, m₁, v₁) of its mean and variance, and a newer one, (n₂, m₂, v₂). With
no variance below that of all the samples, and μ the mean of both weighted by n/v, the evidence that the mean changed is

    e = ½·n₁·ln(1 + (m₁ − μ)²/v₁) + ½·n₂·ln(1 + (m₂ − μ)²/v₂)

for the cost and for the reward. Where the largest e is above 5 + ln n, what is older than that mark is forgotten. As
ln(1 + z) ≤ z, no logarithm is needed where (m₁ − m₂)²·n₁n₂/n is less than 2·(5 + ln n) of the variance: nearly always.

All but `empty` and what campaigns ask for runs in the interpreter and compiled, bit for bit alike.

Reference: docs/drift.md. Exponential histograms: M. Datar, A. Gionis, P. Indyk, R. Motwani, "Maintaining stream
statistics over sliding windows", SIAM J. Computing 31 (2002).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs.moments import (
    COLUMNS,
    MEAN_COST,
    MEAN_REWARD,
    PULLS,
    SQUARES_COST,
    SQUARES_CROSS,
    SQUARES_REWARD,
    Sample,
    replace,
)
from outlay.checks import Vector

EVERY = 8  # samples of an arm from one mark to the next, at first; a power of 2
FINE = 256  # an arm with twice as many steps as this, from one mark to the next, doubles the step
ALIKE = 2  # buckets of one size
MARKS = 20  # of an arm; where there are more, which outcomes that were corrected can bring about, the oldest is dropped
WATCHED = 64  # arms that are watched, at most: the first to have `EVERY` samples
CERTAIN = 5.0  # evidence that is asked for, and ln n more


class Past(NamedTuple):
    """The marks along the samples of the arms that are watched, and how many of the samples were forgotten.

    >>> from outlay.beliefs import SequentialMoments
    >>> memory = SequentialMoments.empty(1, watched=True)
    >>> for n in range(64):
    ...     memory.observe(0, cost=1.0, reward=float(n < 48))
    >>> memory.belief(0).pulls, memory.belief(0).mean_reward, int(memory.past.forgotten[0])
    (16, 0.0, 48)
    """

    sums: Vector  # [place, mark, column]: the arm's row of sums as it stood, the oldest mark first
    marks: NDArray[np.int64]  # [place]: how many there are
    place: NDArray[np.int64]  # [arm]: of its marks, or −1
    forgotten: NDArray[np.int64]  # [arm]: samples
    free: NDArray[np.int64]  # [1]: places that no arm has taken

    @staticmethod
    def empty(arms: int, watched: bool) -> "Past":
        """Make it before the first sample; where no arm is watched there is no room for marks."""
        places = min(arms, WATCHED) if watched else 0
        return Past(
            np.zeros((max(1, places), MARKS if watched else 1, COLUMNS)),
            np.zeros(max(1, places), np.int64),
            np.full(arms, -1),
            np.zeros(arms, np.int64),
            np.array([places]),
        )

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> bool:
        """Replace the arm's `place`-th sample in its marks; whether the sample is still remembered."""
        nth = place - int(self.forgotten[arm])
        if nth >= 0 and self.place[arm] >= 0:
            mine = self.sums[self.place[arm]]
            for mark in range(self.marks[self.place[arm]]):
                if nth < mine[mark, PULLS]:
                    replace(mine, mark, old, new)
        return nth >= 0

    def unmark(self, arm: int) -> None:
        """Drop the arm's marks: a change is looked for in what comes from now on, next to all that was before."""
        if self.place[arm] >= 0:
            self.marks[self.place[arm]] = 0

    def with_new_arm(self) -> "Past":
        """The same with one more arm, which is watched if there is room or fewer than `WATCHED` are."""
        sums, marks, free = self.sums, self.marks, self.free.copy()
        if sums.shape[1] == MARKS and len(sums) < WATCHED:
            sums, marks = np.concatenate([sums, np.zeros((1, MARKS, COLUMNS))]), np.append(marks, 0)
            free += 1
        return Past(sums.copy(), marks.copy(), np.append(self.place, -1), np.append(self.forgotten, 0), free)


def watch(past: Past, s: Vector, arm: int) -> None:
    """Where a mark is due, look for a change, forget what is older, mark the sums."""
    pulls = int(s[arm, PULLS])
    if pulls & (EVERY - 1) != 0 or pulls & (pace(pulls) - 1) != 0:
        return
    place = int(past.place[arm])
    if place < 0:
        if past.free[0] == 0:
            return
        past.free[0] -= 1
        place = len(past.marks) - 1 - int(past.free[0])
        past.place[arm] = place
    mark = changed_at(past, s, arm, place)
    if mark >= 0:
        forget_before(past, s, arm, place, mark)
    add_mark(past, s, arm, place)


def pace(pulls: int) -> int:
    """The samples from one mark to the next, where there are so many.

    >>> pace(100), pace(4095), pace(4096), pace(100_000)
    (8, 8, 16, 256)
    """
    step = EVERY
    while FINE * 2 * step <= pulls:
        step *= 2
    return step


def changed_at(past: Past, s: Vector, arm: int, place: int) -> int:
    """The mark with the most evidence that the arm changed there, if that is enough; or −1."""
    sums, pulls = past.sums, float(s[arm, PULLS])
    enough = CERTAIN + math.log(pulls)
    level = 2.0 * enough / (pulls * pulls)
    found, most = -1, enough
    for mark in range(past.marks[place]):
        older = float(sums[place, mark, PULLS])
        asked = level * ((pulls - older) / older)
        cost = float(s[arm, MEAN_COST]) - float(sums[place, mark, MEAN_COST])
        reward = float(s[arm, MEAN_REWARD]) - float(sums[place, mark, MEAN_REWARD])
        if cost * cost > asked * float(s[arm, SQUARES_COST]) > 0.0:  # 0: all alike, but for rounding
            evidence = evidence_of_change(past, s, arm, place, mark, MEAN_COST, SQUARES_COST)
            if evidence > most:
                found, most = mark, evidence
        if reward * reward > asked * float(s[arm, SQUARES_REWARD]) > 0.0:
            evidence = evidence_of_change(past, s, arm, place, mark, MEAN_REWARD, SQUARES_REWARD)
            if evidence > most:
                found, most = mark, evidence
    return found


def evidence_of_change(past: Past, s: Vector, arm: int, place: int, mark: int, mean: int, squares: int) -> float:
    """Evidence that the cost, or the reward, changed at a mark."""
    pulls, older = float(s[arm, PULLS]), float(past.sums[place, mark, PULLS])
    newer = pulls - older
    usual = float(s[arm, squares]) / pulls
    step = float(s[arm, mean]) - float(past.sums[place, mark, mean])
    squares_before = float(past.sums[place, mark, squares])
    squares_since = float(s[arm, squares]) - squares_before - step * step * (older * pulls / newer)
    before, since = max(usual, squares_before / older), max(usual, squares_since / newer)
    gap = step * pulls / newer  # m₂ − m₁
    weight_before, weight_since = older / before, newer / since
    share = weight_since / (weight_before + weight_since)
    off_before, off_since = share * gap, (1.0 - share) * gap
    return 0.5 * (
        older * math.log1p(off_before * off_before / before) + newer * math.log1p(off_since * off_since / since)
    )


def forget_before(past: Past, s: Vector, arm: int, place: int, mark: int) -> None:
    """Take the samples before a mark out of the arm's sums and of the marks since, and drop the marks up to it."""
    sums, kept = past.sums, int(past.marks[place]) - mark - 1
    past.forgotten[arm] += int(sums[place, mark, PULLS])
    older = sums[place, mark]
    take_out(s[arm], older)
    for later in range(mark + 1, mark + 1 + kept):
        take_out(sums[place, later], older)
    for later in range(kept):
        copy_row(sums[place, mark + 1 + later], sums[place, later])
    past.marks[place] = kept


def take_out(row: Vector, older: Vector) -> None:
    """Take the first samples, of which `older` has the sums, out of a row of sums."""
    pulls, before = float(row[PULLS]), float(older[PULLS])
    rest = pulls - before
    step_cost, step_reward = row[MEAN_COST] - older[MEAN_COST], row[MEAN_REWARD] - older[MEAN_REWARD]
    ratio, weight = before / rest, before * pulls / rest
    row[PULLS] = rest
    row[MEAN_COST] += step_cost * ratio
    row[MEAN_REWARD] += step_reward * ratio
    row[SQUARES_COST] = max(0.0, row[SQUARES_COST] - older[SQUARES_COST] - step_cost * step_cost * weight)
    row[SQUARES_REWARD] = max(0.0, row[SQUARES_REWARD] - older[SQUARES_REWARD] - step_reward * step_reward * weight)
    most = math.sqrt(row[SQUARES_COST] * row[SQUARES_REWARD])  # what is left may be rounding alone
    cross = row[SQUARES_CROSS] - (older[SQUARES_CROSS] + step_cost * step_reward * weight)
    row[SQUARES_CROSS] = min(max(cross, -most), most)


def add_mark(past: Past, s: Vector, arm: int, place: int) -> None:
    """Mark the sums as they stand; of too many buckets of one size make the two oldest one, and so on."""
    sums, step = past.sums, pace(int(s[arm, PULLS]))
    if past.marks[place] == sums.shape[1]:
        drop_mark(past, place, 0)
    copy_row(s[arm], sums[place, past.marks[place]])
    past.marks[place] += 1
    if past.marks[place] > 1 and bucket(sums, place, past.marks[place] - 1) < step:  # the first of a longer pace
        drop_mark(past, place, past.marks[place] - 2)
    last, size, alike = int(past.marks[place]) - 1, float(step), 0
    while True:
        first = last
        while first >= 0 and bucket(sums, place, first) == size:
            first -= 1
        alike = last - first
        if alike <= ALIKE:
            return
        drop_mark(past, place, first + 1)
        last, size = first + 1, 2.0 * size


def bucket(sums: Vector, place: int, mark: int) -> float:
    """The samples between a mark and the one before it."""
    before = float(sums[place, mark - 1, PULLS]) if mark > 0 else 0.0
    return float(sums[place, mark, PULLS]) - before


def drop_mark(past: Past, place: int, mark: int) -> None:
    """Leave out one mark."""
    past.marks[place] -= 1
    for later in range(mark, past.marks[place]):
        copy_row(past.sums[place, later + 1], past.sums[place, later])


def copy_row(source: Vector, target: Vector) -> None:
    """Copy a row of sums."""
    for column in range(COLUMNS):
        target[column] = source[column]
