"""Arms on equal terms: over the whole log, at equal times, or on the same instances; what such advice is worth."""

import math
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.advice.summary import COST, MARK, PARTS, REWARD, Floats, Ints, Tallies
from outlay.logs import OTHER

WHOLE, TIMES, PAIRS = "the whole log", "equal times", "the same instances"
DRAWS = 2000  # bootstrap samples
MANY = 64  # arms, above which quantiles are Gaussian, with Bonferroni's correction, in place of the bootstrap
MOST = 1000  # groups of an arm
IN_BIN = 8  # or so many in each bin of time
NEEDED = 10  # rows of both arms in a stratum
FEW, ENOUGH = 100, 5  # with fewer rows than 100 of one arm, 5 are enough
MOST_BINS, FEWEST_BINS, _ROOM = 256, 64, 3072  # of time; how many there are follows from the number of arms
FEWEST = 10  # instances that all arms have
NEARLY = 0.9  # of the rows that a full table of instances × arms would have, for a column that nobody named
SPLITS = 200  # into halves at random
CLOSE = 0.05  # of the best arm's rate: an arm within it is as good as the best
_DUST = 1e-9  # of a rate: what a smaller standard error says is rounding


class Groups(NamedTuple):
    """The groups of one arm, those of a bin of time side by side."""

    sums: Floats  # [group, 3]: rows, their cost, their reward
    bins: Ints  # [group], rising


class Strata(NamedTuple):
    """Strata of bins for a pair of arms: from the first to before the last, with a weight each."""

    firsts: Ints
    lasts: Ints
    weights: Floats


class Versus(NamedTuple):
    """An arm against the best one, on equal terms."""

    difference: float  # of rates: its own less that of the best arm
    low: float  # of an interval for this difference alone, with the confidence asked for
    high: float
    chance: float  # of so low a difference if its rate were that of the best arm: one-sided, not corrected
    rows: int  # of the arm that this rests on, estimated where not all were kept


class Pairs(NamedTuple):
    """Estimates for pairs of arms, [i, j]: of arm i, where it is compared with j; nan where it cannot be."""

    strata: dict[tuple[int, int], Strata]  # for i ≤ j
    rates: Floats
    errors: Floats  # standard errors of the differences, symmetric


class Comparison(NamedTuple):
    """All arms, compared on equal terms."""

    basis: str  # the whole log, equal times, or the same instances
    best: int  # the arm that loses least clearly against any other
    below: NDArray[np.bool_]  # [i, j] whether arm i is below j beyond chance; the best arm is so in 5 % of logs at most
    versus: list[Versus | None]  # each arm against the best one; None for that one, and where the log cannot tell
    unseen: int  # pairs of arms that were never used at the same time
    pairs: Pairs


def compare(
    groups: Sequence[Groups],
    basis: str,
    *,
    bins: int = 1,
    slack: Floats | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare arms by their groups of rows; on the same instances, group g of every arm is about the same ones.

    `slack`, [2, arm]: by how much each rate may be higher and lower for reasons that the rows cannot show.
    """
    from scipy.special import ndtr, ndtri, stdtrit

    level = 1.0 - confidence
    pairs = estimates(groups, bins, shared=basis == PAIRS)
    difference = pairs.rates - pairs.rates.T
    up, down = np.zeros((2, len(groups))) if slack is None else slack
    judged = _quotients(difference, pairs.errors)
    allowed = _quotients(difference + up[:, None] + down[None, :], pairs.errors)
    judged = np.where(difference < 0.0, np.minimum(allowed, 0.0), judged)
    best = leader(judged, np.array([own[:, 2].sum() / max(own[:, 1].sum(), 1e-300) for own, _ in groups]))
    below, versus = np.zeros(difference.shape, bool), list[Versus | None]()
    for arm, stars in enumerate(_against(groups, bins, pairs, basis == PAIRS, seed)):
        count = len(groups[arm].sums)  # of groups: by so much is Student's interval wider than the Gaussian one
        wider = float(stdtrit(count - 1, level) / ndtri(level)) if count > 1 else math.inf
        if stars is None:  # too many arms for the bootstrap: Gauss's quantiles with Bonferroni's correction
            limit, high = float(ndtri(level / (len(groups) - 1))), float(ndtri(1.0 - level / 2.0))
            low = -high
        else:
            least = np.delete(stars, arm, axis=0).min(axis=0, initial=math.inf)
            limit = float(np.quantile(least, level)) if len(groups) > 1 else 0.0
            low, high = np.quantile(stars[best], [level / 2.0, 1.0 - level / 2.0]).tolist()
        below[arm] = judged[arm] < limit * wider
        if arm == best or math.isnan(difference[arm, best]):
            versus.append(None)
            continue
        own, error = float(difference[arm, best]), float(pairs.errors[arm, best]) * wider
        strata, before = pairs.strata[min(arm, best), max(arm, best)], np.append(0.0, np.cumsum(groups[arm].sums[:, 0]))
        first, last = np.searchsorted(groups[arm].bins, np.stack([strata.firsts, strata.lasts]))
        rows = int((before[last] - before[first]).sum())
        quotient = float(judged[arm, best]) / wider
        as_low = ndtr(quotient) if stars is None else (1 + (stars[best] <= quotient).sum()) / (1 + stars.shape[1])
        versus.append(Versus(own, own - high * error, own - low * error, float(as_low), rows))
    unseen = sum(not len(strata.weights) for strata in pairs.strata.values())
    return Comparison(basis, best, below, versus, unseen, pairs)


def estimates(groups: Sequence[Groups], bins: int = 1, shared: bool = False) -> Pairs:
    """Rates on common weights, and the standard errors of their differences.

    At equal times many arms are compared only with those of the highest rates: pairs take their time.
    """
    count = len(groups)
    totals = [own.sums.sum(axis=0) for own in groups]
    ranked = np.argsort([-reward / cost if cost > 0.0 else math.inf for _, cost, reward in totals], kind="stable")
    rivals = set(ranked[:MANY].tolist())
    rows = [np.bincount(own.bins, own.sums[:, 0], bins).tolist() for own in groups]
    sums = [running(own, bins, np.ones((1, len(own.sums)))) for own in groups]
    strata: dict[tuple[int, int], Strata] = {}
    rates, noise = np.full((count, count), np.nan), np.full((count, count), np.nan)
    for one in range(count):
        for other in range(one, count):
            if bins == 1 and other > one:  # all rows: the same for every pair
                strata[one, other] = strata[one, one]
                continue
            if bins > 1 and one not in rivals and other not in rivals:
                continue
            found = strata[one, other] = strata_of(rows[one], rows[other])
            for mine, its in {(one, other), (other, one)}:
                rates[mine, its] = rates_in(found, sums[mine])[0]
                noise[mine, its] = noise_in(found, groups[mine], float(rates[mine, its]))
    if bins == 1:
        rates, noise = (np.repeat(np.diag(values)[:, None], count, axis=1) for values in (rates, noise))
    variance = noise + noise.T
    if shared:
        effects = effects_of(groups)
        number = effects.shape[1]
        products = effects @ effects.T * (number / (number - 1)) if number > 1 else np.full(rates.shape, np.nan)
        variance = np.diag(products)[:, None] + np.diag(products)[None, :] - 2.0 * products
    errors = np.sqrt(np.maximum(variance, 0.0))
    least = _DUST * np.maximum(np.abs(rates), np.abs(rates.T))
    return Pairs(strata, rates, np.where(errors <= least, 0.0, errors))


def effects_of(groups: Sequence[Groups]) -> Floats:
    """How far each group moves its arm's rate, [arm, group]: (reward − rate·cost) ÷ all costs."""
    found = []
    for sums, _ in groups:
        _, cost, reward = sums.sum(axis=0)
        found.append((sums[:, 2] - reward / cost * sums[:, 1]) / cost if cost > 0.0 else np.full(len(sums), np.nan))
    return np.stack(found)


def rates_under(groups: Sequence[Groups], bins: int, pairs: Pairs, weights: Iterator[Floats]) -> Floats:
    """The rate of each arm against each other one under each draw, [i, j, draw]; `weights` has those of each arm."""
    sums = [running(own, bins, drawn_now) for own, drawn_now in zip(groups, weights, strict=False)]
    count, draws = len(groups), len(sums[0])
    rates = np.empty((count, count, draws))
    for arm in range(count):
        if bins == 1:
            rates[arm] = rates_in(pairs.strata[arm, arm], sums[arm])
            continue
        for other in range(count):
            rates[arm, other] = rates_in(pairs.strata[min(arm, other), max(arm, other)], sums[arm])
    return rates


def leader(quotients: Floats, rates: Floats) -> int:
    """The arm whose worst quotient against any other is the largest; pairs that were never compared count as even."""
    worst = np.nan_to_num(np.where(np.eye(len(rates), dtype=bool), math.inf, quotients), nan=0.0, posinf=math.inf)
    return int(np.lexsort((rates, worst.min(axis=1)))[-1])


def _against(groups: Sequence[Groups], bins: int, pairs: Pairs, shared: bool, seed: int) -> Iterator[Floats | None]:
    """For each arm, bootstrap quotients of its differences to all arms less their means."""
    rng, count = np.random.default_rng(seed), len(groups)
    if count > MANY:
        yield from repeat(None, count)
        return
    fewest = [len(own.sums) for own in groups]
    draws = DRAWS if count <= MANY // 2 or bins == 1 else DRAWS // 2  # for want of room
    weights = repeat(drawn(fewest[0], draws, rng)) if shared else (drawn(few, draws, rng) for few in fewest)
    rates = rates_under(groups, bins, pairs, weights)
    for arm in range(count):
        moved = rates[arm] - rates[:, arm] - (pairs.rates[arm] - pairs.rates[:, arm])[:, None]
        errors = pairs.errors[arm][:, None]
        yield np.nan_to_num(np.where(errors == 0.0, 0.0, _quotients(moved, errors)))


def _quotients(differences: Floats, errors: Floats) -> Floats:
    """In standard errors; without any error, ±∞ or 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = differences / errors
    return np.where((errors == 0.0) & (differences == 0.0), 0.0, found)


def groups_of(pairs: Floats, bins: Ints, rng: np.random.Generator, most: int = MOST) -> Groups:
    """Rows, [cost or reward, row], dealt out to about `most` groups, each in one bin."""
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
    """Rows, cost and reward before each bin, [draw, bin, 3], under each row of weights, [draw, group]."""
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


# 2¹⁶ values of the Poisson law of mean 1, as often as it has them.
_ENDS = np.rint(np.cumsum([math.exp(-1.0) / math.factorial(k) for k in range(10)]) * 2**16).astype(int)
_POISSON: Floats = np.searchsorted(_ENDS, np.arange(2**16), side="right").astype(np.float64)


def bins_for(arms: int) -> int:
    """Into how many bins time is cut, of which strata are made: fewer where there are many arms."""
    return max(FEWEST_BINS, min(MOST_BINS, 1 << ((_ROOM // arms).bit_length() - 1)))


def strata_of(mine: Sequence[float], theirs: Sequence[float]) -> Strata:
    """The strata of two arms, from their rows in each bin: as short as they can be with 10 rows of both.

    Short, so that an arm that takes over from another is not compared with it at other times: what comes before the
    first bin that a stratum needs is left out, and rows of one arm that all come before those of the other make none.
    A stratum's weight is n·m/(n + m), with which the difference of two means varies least if it is the same in all.

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
        here, there = ([place for place, rows in enumerate(arm[first:last]) if rows] for arm in (mine, theirs))
        if here[0] > there[-1] or there[0] > here[-1]:  # the bins of one all come before those of the other
            continue
        firsts.append(first)
        lasts.append(last)
        weights.append(n * m / (n + m))
        first, n, m = last, 0.0, 0.0
    return Strata(np.array(firsts, np.int64), np.array(lasts, np.int64), np.array(weights))


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


class Instances(NamedTuple):
    """The instances that all arms were tried on."""

    column: str  # that names them
    shared: int
    total: int  # that any arm was tried on
    sums: Floats  # [arm, instance, 3]: rows, their cost, their reward
    once: bool  # whether every arm was tried on each once


def instances_of(tallies: Tallies, arms: Sequence[str]) -> Instances | None:
    """The instances of a column that was named, or of one whose every value occurs once with nearly every arm.

    None where there is no such column, or where all arms share fewer than 10 instances, or fewer than half of them. A
    column that nobody named is tried only if all rows were kept.
    """
    if len(arms) < 2:
        return None
    samples = [tallies.arms[name].sample.rows() for name in arms]
    named = tallies.marks == ("instance",)
    if not named and not all(tallies.arms[name].whole for name in arms):
        return None
    for place, name in enumerate(tallies.marks, MARK):
        found = _side_by_side(name.removeprefix(OTHER), samples, place)
        full = found.shared >= FEWEST and found.shared >= found.total / 2
        if full and (named or (found.once and found.sums.shape[1] >= NEARLY * found.total)):
            return found
    return None


def correlation(groups: Sequence[Groups], arm: int) -> float | None:
    """The median correlation of an arm with the others in what moves their rates; None where nothing varies."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.atleast_2d(np.corrcoef(effects_of(groups)))[arm]
    found = np.delete(found, arm)
    return float(np.median(found[~np.isnan(found)])) if (~np.isnan(found)).any() else None


def _side_by_side(column: str, samples: Sequence[Floats], place: int) -> Instances:
    """The sums of every arm over the instances that all arms have."""
    marks = [sample[place] for sample in samples]
    known = [np.unique(own[~np.isnan(own)], return_counts=True) for own in marks]
    values, arms = np.unique(np.concatenate([own for own, _ in known]), return_counts=True)
    shared = values[arms == len(samples)]
    sums = np.empty((len(samples), len(shared), 3))
    for arm, (sample, own) in enumerate(zip(samples, marks, strict=True)):
        here = np.isin(own, shared)
        where = np.searchsorted(shared, own[here])
        for part, weights in enumerate((None, sample[COST, here], sample[REWARD, here])):
            sums[arm, :, part] = np.bincount(where, weights, len(shared))
    once = all(bool((counts == 1).all()) for _, counts in known)
    return Instances(column, len(shared), len(values), sums, once)


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
    before, after = (
        estimates(
            [Groups(own.sums[here], own.bins[here] * apart) for own, here in zip(parts, rows, strict=True)],
            PARTS if apart else 1,  # by the part that rows are in, or all together
        )
        for rows in (earlier, [~own for own in earlier])
    )
    known = ~np.isnan(before.rates)
    np.fill_diagonal(known, False)
    if not known.any():
        return None
    [best] = _leaders(before.rates[:, :, None], before.errors)
    short = _shortfall(after.rates, best)
    return None if np.isnan(short) else short <= CLOSE
