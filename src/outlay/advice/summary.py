"""One pass over a log: sums of each arm, samples of its rows, times; then rates with intervals, tails and drift."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import Belief
from outlay.errors import BadFile
from outlay.formulas.confidence import fieller_interval
from outlay.logs import Stretch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BEST, OPEN, OUT, DOUBTFUL, FREE = "best so far", "open", "ruled out", "behind", "free"
UNRANKED = "too few rows"
RANKED = 20  # rows of an arm, below which it is not ranked beside arms that have as many
MOST_ARMS = 1000
SAMPLE, LARGEST = 50_000, 10_000  # rows kept of an arm: drawn at random, and with the largest costs
ROOM = 2_000_000  # rows drawn at random of all arms together
SPREAD = 1000  # groups that the rows of an arm are dealt out to, at random
COST, REWARD, TIME, MARK = range(4)  # the rows of a sample; its columns are the rows of the log
PARTS = 8  # of the log's time, with as many rows each
FALSE_ALARM = 0.05  # chance of an alarm where every row's arm was chosen without regard to the time
DRIFT_FALSE_ALARM = 0.05  # chance that any test raises an alarm where every arm's rows are independent and alike
MOST_BLOCKS = 128
FEWEST_BLOCKS = 16
SHARE = 0.1  # of the rows, whose costs are the tail
FEWEST = 20  # such rows, before an index is estimated
_GOLDEN = 0.6180339887498949  # spreads the seeds over (0, 1)
_EXPECTED = 5  # rows of an arm in a part, below which it takes no part in the test
_CLEARLY_BELOW = 1.645  # standard errors: one-sided, 5 %
_CLEARLY = 5  # times as many rows at the largest value as at any just below it make it a limit
_SETTLED = 30  # rows at the limit, before the mean of what is cut off there is known well enough


class Sums(NamedTuple):
    """Number, means and centred sums of products of pairs, less a shift that all parts share."""

    n: int
    mean: Floats  # of cost and of reward
    products: Floats  # 2 × 2

    def belief(self, arm: int, shift: Floats) -> Belief:
        """The moments as policies read them."""
        (var_cost, cov), (_, var_reward) = (self.products / self.n).tolist()
        mean_cost, mean_reward = (shift + self.mean).tolist()
        return Belief(arm, self.n, mean_cost, mean_reward, var_cost, var_reward, cov)


class Reservoir:
    """The `room` rows with the smallest keys.

    With random keys the rows are a uniform sample without replacement; with a value's negative as the key, they are the
    rows with the largest values. The result does not depend on how the rows were cut into parts, and `room` may be
    lowered on the way.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self._parts: list[tuple[Floats, Floats]] = []
        self._held = 0
        self._limit = np.inf  # only keys below it can be among the smallest

    def add(self, keys: Floats, rows: Floats) -> None:
        """Add rows, [column, row], with their keys."""
        near = keys < self._limit
        if not near.any():
            return
        self._parts.append((keys[near], rows[:, near]))
        self._held += int(near.sum())
        if self._held > 2 * self.room:
            self._cut()

    def rows(self) -> Floats:
        """The rows that are kept, in the order of their keys."""
        self._cut()
        keys, rows = self._parts[0]
        return rows[:, np.argsort(keys, kind="stable")]

    def replace(self, column: int, by: int) -> None:
        """Put one column of all rows in place of another."""
        for _, rows in self._parts:
            rows[column] = rows[by]

    def _cut(self) -> None:
        keys = np.concatenate([part for part, _ in self._parts])
        rows = np.concatenate([part for _, part in self._parts], axis=1)
        if len(keys) > self.room:
            chosen = np.argpartition(keys, self.room - 1)[: self.room]
            keys, rows = keys[chosen], rows[:, chosen]
            self._limit = float(keys.max())
        self._parts, self._held = [(keys, rows)], len(keys)


class Tally:
    """One arm: moments, extremes, counts of odd costs, sums of random groups, a uniform sample, the largest costs."""

    def __init__(self, room: int, first: Floats) -> None:
        self.shift = first
        self.sums = Sums(0, np.zeros(2), np.zeros((2, 2)))
        self.low, self.high = first, first
        self.zero_costs = self.negative_costs = 0
        self.spread: Floats = np.zeros((SPREAD, 3))  # rows, cost and reward of each group
        self.sample = Reservoir(room)
        self.largest = Reservoir(LARGEST)

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
    money: tuple[str, ...] = ()  # an example of each column whose cells were read as amounts of money
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
    timed, before, money = False, "", tuple[str, ...]()
    for stretch in stretches:
        money = stretch.money
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
                if len(arms) >= MOST_ARMS:
                    has = f"{where} has more than {MOST_ARMS:,} arms"
                    raise BadFile(f"{has}: does its column of arms hold something else?")
                room = min(SAMPLE, ROOM // (len(arms) + 1))
                for arm in arms.values():
                    arm.sample.room = room  # the others' samples shrink
                arms[name] = Tally(room, found[:TIME, start].copy())
            arms[name].add(found[:, start:end], keys[start:end])
        if report is not None:
            report(stretch.done)
    if not arms:
        raise BadFile(f"no row of {where} has an arm, a cost and a reward")
    dated = None
    for place, (name, whole) in enumerate(dates.items(), MARK + len(marks or ())):
        # A column that never changes within an arm is about arms, not times.
        if whole and any(float(np.ptp(own.sample.rows()[place])) > 0.0 for own in arms.values()):
            for own in arms.values():
                own.sample.replace(TIME, place)
            dated = name
            break
    timed = timed or dated is not None
    by_arm = not timed and changes == len(arms)
    return Tallies(dict(sorted(arms.items())), rows, left_out, timed, dated, by_arm, money, marks or ())


def _rows(stretch: Stretch, marks: tuple[str, ...], dates: Sequence[str], before: int) -> Floats:
    """What is kept of each row: cost, reward, time (its place in the file where there is no other), marks, dates."""
    count = len(stretch.codes)
    times = before + np.arange(count, dtype=np.float64) if stretch.times is None else stretch.times
    missing = np.full(count, np.nan)
    marked = [stretch.marks.get(name, missing) for name in marks]
    dated = [stretch.dates.get(name, missing) for name in dates]
    return np.stack([stretch.costs, stretch.rewards, times, *marked, *dated])


def sums_of(pairs: Floats) -> Sums:
    """The sums of some pairs, [cost or reward, row]."""
    mean = pairs.mean(axis=1)
    centred = pairs - mean[:, None]
    return Sums(pairs.shape[1], mean, centred @ centred.T)


def merged(one: Sums, other: Sums) -> Sums:
    """The sums of both parts together.

    Reference: T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance: analysis and
    recommendations", The American Statistician 37 (1983), for the update by parts.
    """
    n = one.n + other.n
    step = other.mean - one.mean
    products = one.products + other.products + np.outer(step, step) * (one.n * (other.n / n))
    return Sums(n, one.mean + step * (other.n / n), products)


def apart_chance(parts: Sequence[Ints]) -> float | None:
    """The p-value of a χ² test that the arms are spread evenly over parts of the time; None where it cannot be made."""
    from scipy.stats import chi2_contingency

    counts = np.stack([np.bincount(part, minlength=PARTS) for part in parts])
    tested = counts[counts.sum(axis=1) >= PARTS * _EXPECTED]
    tested = tested[:, tested.sum(axis=0) > 0]
    if min(tested.shape) < 2:
        return None
    return float(chi2_contingency(tested, correction=False).pvalue)


def edges_of(times: Sequence[Floats], weights: Sequence[float], count: int) -> Floats:
    """The times between `count` parts with as many rows each; a row of arm k stands for `weights[k]` of them."""
    pooled = np.concatenate(list(times))
    order = np.argsort(pooled, kind="stable")
    share = np.cumsum(np.concatenate([np.full(len(t), w) for t, w in zip(times, weights, strict=True)])[order])
    wanted = share[-1] * np.arange(1, count) / count
    found: Floats = pooled[order][np.searchsorted(share, wanted * (1.0 - 1e-12))]
    return found


def parts_of(times: Floats, edges: Floats) -> Ints:
    """The part that each time is in, from 0; a time at an edge is in the part before it."""
    return np.searchsorted(edges, times, side="left").astype(np.int64)


class Interval(NamedTuple):
    """Where a rate lies, with the confidence that was asked for."""

    low: float
    high: float


def rate_interval(belief: Belief, confidence: float, lowest: float, highest: float) -> Interval:
    """Fieller's interval of E[R]/E[X] with Student's quantile; (−∞, ∞) where the mean cost could be 0.

    The set of r for which the mean of R − rX may be 0 given its sample variance. Exact for Gaussian pairs, else in the
    limit of many rows with finite variances. Rewards that were all the same say little about those that never
    came: one that comes with probability q is missed by n rows with probability (1 − q)^n, so the mean is moved by such
    a q toward the lowest and the highest reward of the log.
    """
    if belief.pulls < 2:
        return Interval(-math.inf, math.inf)
    mean, unseen = belief.mean_reward, _unseen(belief, confidence)
    least, most = (mean + unseen * (end - mean) for end in (lowest, highest))
    low, _ = fieller_interval(belief._replace(mean_reward=least), confidence)
    _, high = fieller_interval(belief._replace(mean_reward=most), confidence)
    return Interval(low, high)


def slack_of(belief: Belief, confidence: float, lowest: float, highest: float) -> tuple[float, float]:
    """By how much a rate may be higher and lower because rewards that were all the same may yet differ; else 0."""
    unseen = _unseen(belief, confidence) / belief.mean_cost if belief.mean_cost > 0.0 else 0.0
    return unseen * (highest - belief.mean_reward), unseen * (belief.mean_reward - lowest)


def _unseen(belief: Belief, confidence: float) -> float:
    """The largest chance of a reward that n rows may well have missed, where all of theirs are the same; else 0."""
    return -math.expm1(math.log(0.5 - confidence / 2.0) / belief.pulls) if belief.var_reward == 0.0 else 0.0


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


def tail_of(largest: Floats, sample: Floats, count: int) -> Tail:
    """The tail of `count` costs, from the largest of them in falling order, and from a uniform sample.

    With k = a tenth of the rows (or as many as are there), m of them below the limit: α = m/Σ ln(x_i/x_(k+1)), the sum
    over the k largest. Without a limit m = k, Hill's estimate; a cost at the limit only says that it would be larger.

    Reference: B. M. Hill, "A simple general approach to inference about the tail of a distribution", Annals of
    Statistics 3 (1975).
    """
    values, rows = np.unique(sample, return_counts=True)
    limit, at_limit = None, 0
    beside = rows[-1 - FEWEST : -1].max(initial=0)  # of any of the values next to the largest
    if values[-1] > 0.0 and len(values) > FEWEST and rows[-1] >= _CLEARLY * beside:
        limit, at_limit = float(values[-1]), round(int(rows[-1]) * count / len(sample))
    largest = largest[largest > 0.0]
    k = min(int(SHARE * count), len(largest) - 1)
    below = k if limit is None else int((largest[: max(k, 0)] < limit).sum())
    if below < FEWEST:
        return Tail(None, limit, at_limit)
    excess = float(np.log(largest[:k] / largest[k]).sum())
    return Tail(below / excess if excess > 0.0 else np.inf, limit, at_limit)


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
        """
        if not (self.drifts or other.drifts):
            return True
        ahead = [theirs - mine for mine, theirs in zip(self.parts, other.parts, strict=True)]
        errors = [math.hypot(*both) for both in zip(self.errors, other.errors, strict=True)]
        last = max((part for part, rate in enumerate(self.parts) if not math.isnan(rate)), default=-1)
        if last < 0 or math.isnan(ahead[last]):
            return False
        return all(by > 0.0 for by in ahead if not math.isnan(by)) and not ahead[last] <= _CLEARLY_BELOW * errors[last]


def change_of(means: Floats) -> Change | None:
    """The largest excursion of the summed ranks of block means, against a Brownian bridge; None for few blocks.

    In random order the ranks are a random permutation, whatever the law of the rows, so the test needs no moments. It
    sees steps, trends and bumps; its p-value is that of the limit of many blocks, a little too large for few.

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


def block_means(values: Floats) -> Floats:
    """Means of at most 128 equal blocks of consecutive values; a last part that fills no block is dropped."""
    size = 1
    while len(values) // size > MOST_BLOCKS:
        size *= 2
    count = len(values) // size
    means: Floats = values[: count * size].reshape(count, size).mean(axis=1)
    return means


def alarms(changes: Sequence[Change | None]) -> list[bool]:
    """Which of the changes raise an alarm; the chance of any false alarm among them all is 5 % (Bonferroni)."""
    tests = sum(change is not None for change in changes)
    return [change is not None and change.chance * tests < DRIFT_FALSE_ALARM for change in changes]


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


def verdicts(best: int, below: Sequence[Sequence[int]], heavy: Sequence[bool], courses: Sequence[Course]) -> list[str]:
    """The verdict on each arm: best so far, ruled out, behind, or open; `below` are the arms that each is below.

    Behind: below others, but in doubt. The reason can be that the costs of all those others are `heavy`: their variance
    looks infinite, so that less is certain than it seems. Or those others were not ahead all along, so that the order
    may have changed by now.
    """
    found = []
    for arm, above in enumerate(below):
        if arm == best:
            found.append(BEST)
        elif any(not heavy[k] and courses[arm].below(courses[k]) for k in above):
            found.append(OUT)
        else:
            found.append(DOUBTFUL if above else OPEN)
    return found
