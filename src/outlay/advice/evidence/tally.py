"""What is kept of each arm while a log is read: bounded memory, however many rows there are."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.advice.evidence.kept import Kept
from outlay.advice.evidence.moments import Sums, merged, sums_of
from outlay.beliefs import Belief
from outlay.errors import BadFile
from outlay.logs import Stretch

Floats = NDArray[np.float64]

MOST_ARMS = 1000
SAMPLE, LARGEST = 50_000, 10_000  # rows kept of an arm: drawn at random, and with the largest costs
ROOM = 2_000_000  # rows drawn at random of all arms together
SPREAD = 1000  # groups that the rows of an arm are dealt out to, at random
COST, REWARD, TIME, MARK = range(4)  # the rows of a sample; its columns are the rows of the log


class Tally:
    """One arm: moments, extremes, counts of odd costs, sums of random groups, a uniform sample, the largest costs."""

    def __init__(self, room: int, first: Floats) -> None:
        self.shift = first
        self.sums = Sums(0, np.zeros(2), np.zeros((2, 2)))
        self.low, self.high = first, first
        self.zero_costs = self.negative_costs = 0
        self.spread: Floats = np.zeros((SPREAD, 3))  # rows, cost and reward of each group
        self.sample = Kept(room)
        self.largest = Kept(LARGEST)

    def add(self, rows: Floats, keys: Floats) -> None:
        """Add rows, [cost, reward, time, marks …; row], with random keys."""
        pairs = rows[:TIME]
        self.sums = merged(self.sums, sums_of(pairs - self.shift[:, None]))
        self.low = np.minimum(self.low, pairs.min(axis=1))
        self.high = np.maximum(self.high, pairs.max(axis=1))
        self.zero_costs += int((pairs[0] == 0.0).sum())
        self.negative_costs += int((pairs[0] < 0.0).sum())
        groups = (SPREAD * keys).astype(np.int64)
        for column, weights in enumerate((None, *pairs)):
            self.spread[:, column] += np.bincount(groups, weights, SPREAD)
        self.sample.add(keys, rows)
        self.largest.add(-pairs[0], pairs[:1])

    def belief(self, arm: int) -> Belief:
        """Its moments."""
        return self.sums.belief(arm, self.shift)

    @property
    def whole(self) -> bool:
        """Whether every row is in the sample."""
        return bool(self.sample.rows().shape[1] == self.sums.n)


class Tallies(NamedTuple):
    """The arms of a log in the order of their names, and its rows."""

    arms: dict[str, Tally]
    rows: int
    left_out: int
    timed: bool = False  # whether times come from a column; else they are the order of the rows
    dated: str | None = None  # that column, where nobody named it
    by_arm: bool = False  # whether all rows of an arm stand together, so that their order is not that of time
    marks: tuple[str, ...] = ()  # what the samples have beside the time: columns that may name instances


def tally(
    stretches: Iterable[Stretch], where: str, seed: int, report: Callable[[float], None] | None = None
) -> Tallies:
    """Read a log to its end; `report` is called with the part that is done, from 0 to 1.

    The sample depends on the rows and the seed, not on how the log was cut into stretches. Where a column names the
    instances, an instance is kept of every arm or of none. A column that sounds like times, and has a date in every
    row, takes the place of their order.
    """
    rng = np.random.default_rng(seed)
    arms: dict[str, Tally] = {}
    rows = left_out = changes = 0
    marks: tuple[str, ...] | None = None
    dates = dict[str, bool]()  # columns that may say when, and whether they have a date in every row so far
    timed, before = False, ""
    for stretch in stretches:
        if marks is None:
            marks, dates = tuple(stretch.marks), dict.fromkeys(stretch.dates, True)
        timed = timed or stretch.times is not None
        found = _rows(stretch, marks, [*dates], rows)
        for place, name in enumerate(dates, MARK + len(marks)):
            dates[name] = dates[name] and not bool(np.isnan(found[place]).any())
        rows, left_out = rows + len(stretch.codes) + len(stretch.left_out), left_out + len(stretch.left_out)
        keys = rng.random(len(stretch.codes))
        if marks == ("instance",):
            keys = np.where(np.isnan(found[MARK]), keys, np.mod(found[MARK] / 2.0**52 + seed * _GOLDEN, 1.0))
        if len(stretch.codes):
            changes += int((np.diff(stretch.codes) != 0).sum()) + (stretch.names[stretch.codes[0]] != before)
            before = stretch.names[stretch.codes[-1]]
        order = np.argsort(stretch.codes.astype(np.int32), kind="stable")
        found, keys = found[:, order], keys[order]
        counts = np.bincount(stretch.codes, minlength=len(stretch.names))
        ends = np.cumsum(counts)
        for name, start, end in zip(stretch.names, ends - counts, ends, strict=True):
            if start == end:
                continue
            if name not in arms:
                arms[name] = Tally(_make_room(arms, where), found[:TIME, start].copy())
            arms[name].add(found[:, start:end], keys[start:end])
        if report is not None:
            report(stretch.done)
    if not arms:
        raise BadFile(f"no row of {where} has an arm, a cost and a reward")
    dated = _dated(arms, dates, MARK + len(marks or ()))
    timed = timed or dated is not None
    by_arm = not timed and changes == len(arms)
    return Tallies(dict(sorted(arms.items())), rows, left_out, timed, dated, by_arm, marks or ())


_GOLDEN = 0.6180339887498949  # spreads the seeds over (0, 1)


def _dated(arms: dict[str, Tally], dates: dict[str, bool], first: int) -> str | None:
    """Take times from the first column of dates, if any; one that never changes within an arm is about arms."""
    for place, (name, whole) in enumerate(dates.items(), first):
        if whole and any(float(np.ptp(own.sample.rows()[place])) > 0.0 for own in arms.values()):
            for own in arms.values():
                own.sample.replace(TIME, place)
            return name
    return None


def _rows(stretch: Stretch, marks: tuple[str, ...], dates: Sequence[str], before: int) -> Floats:
    """What is kept of each row: cost, reward, time (its place in the file where there is no other), marks, dates."""
    count = len(stretch.codes)
    times = before + np.arange(count, dtype=np.float64) if stretch.times is None else stretch.times
    missing = np.full(count, np.nan)
    more = [
        *(stretch.marks.get(name, missing) for name in marks),
        *(stretch.dates.get(name, missing) for name in dates),
    ]
    return np.stack([stretch.costs, stretch.rewards, times, *more])


def _make_room(arms: dict[str, Tally], where: str) -> int:
    """The size of each arm's sample once there is one more arm; the others shrink to it."""
    if len(arms) >= MOST_ARMS:
        raise BadFile(f"{where} has more than {MOST_ARMS:,} arms: does its column of arms hold something else?")
    room = min(SAMPLE, ROOM // (len(arms) + 1))
    for arm in arms.values():
        arm.sample.room = room
    return room
