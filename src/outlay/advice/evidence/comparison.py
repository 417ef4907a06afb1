"""Which arms are below another, on equal terms: over the whole log, at equal times, or on the same instances.

Of each pair of arms the difference of rates is estimated on weights that both share, and divided by its standard error.
Arm i is below arm j where that quotient is below the 5 % quantile, over bootstrap samples, of the least such quotient
(less its mean) of i against all others. The best arm is below none, so that is wrong about it in 5 % of logs, however
many arms there are: the only arm whose exclusion is a mistake is the best one, and it is compared with all others at
once. Intervals that must hold for all arms together (Bonferroni) and must not overlap ask for far more.

Reference: J. C. Hsu, "Multiple Comparisons: Theory and Methods" (1996), chapter 4, for comparisons with the best.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.advice.evidence.groups import Groups, drawn, running
from outlay.advice.evidence.strata import Strata, noise_in, rates_in, strata_of

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]

WHOLE, TIMES, PAIRS = "the whole log", "equal times", "the same instances"
DRAWS = 2000  # bootstrap samples
MANY = 64  # arms, above which quantiles are Gaussian, with Bonferroni's correction, in place of the bootstrap
_DUST = 1e-9  # of a rate: what a smaller standard error says is rounding


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
    below: Truths  # [i, j] whether arm i is below arm j beyond chance; the best arm is so in at most 5 % of logs
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

    >>> rng = np.random.default_rng(0)
    >>> reward = rng.random(200)
    >>> arms = [np.stack([np.ones(200), np.ones(200), reward + more], axis=1) for more in (0.0, 0.02)]
    >>> same = [Groups(sums, np.zeros(200, np.int64)) for sums in arms]
    >>> compare(same, PAIRS).below.tolist(), compare(same, WHOLE).below.tolist()
    ([[False, True], [False, False]], [[False, False], [False, False]])
    """
    pairs = estimates(groups, bins, shared=basis == PAIRS)
    difference = pairs.rates - pairs.rates.T
    up, down = np.zeros((2, len(groups))) if slack is None else slack
    judged = _quotients(difference, pairs.errors)
    allowed = _quotients(difference + up[:, None] + down[None, :], pairs.errors)
    judged = np.where(difference < 0.0, np.minimum(allowed, 0.0), judged)
    best = leader(judged, np.array([own[:, 2].sum() / max(own[:, 1].sum(), 1e-300) for own, _ in groups]))
    below, versus = np.zeros(difference.shape, bool), list[Versus | None]()
    for arm, (stars, few) in enumerate(_against(groups, bins, pairs, basis == PAIRS, seed)):
        noise = _noise(stars, arm, best, 1.0 - confidence, len(groups))
        wider = _student(few, 1.0 - confidence)
        below[arm] = judged[arm] < noise.limit * wider
        if arm == best or math.isnan(difference[arm, best]):
            versus.append(None)
            continue
        own, error = float(difference[arm, best]), float(pairs.errors[arm, best]) * wider
        rows = _rows_in(groups[arm], pairs.strata[min(arm, best), max(arm, best)])
        chance = noise.tail(float(judged[arm, best]) / wider)
        versus.append(Versus(own, own - noise.high * error, own - noise.low * error, chance, rows))
    unseen = sum(not len(strata.weights) for strata in pairs.strata.values())
    return Comparison(basis, best, below, versus, unseen, pairs)


class _Noise(NamedTuple):
    """How far chance moves the quotients of an arm."""

    limit: float  # of the least against all others
    low: float  # of the one against the best arm
    high: float
    stars: Floats | None  # bootstrap quotients against the best arm; None for Gauss's law

    def tail(self, quotient: float) -> float:
        """The chance of one as low against the best arm."""
        from scipy.special import ndtr

        if self.stars is None:
            return float(ndtr(quotient))
        return float((1 + (self.stars <= quotient).sum()) / (1 + len(self.stars)))


def _noise(stars: Floats | None, arm: int, best: int, level: float, arms: int) -> _Noise:
    """Quantiles of the bootstrap, or Gauss's with Bonferroni's correction where there are too many arms for it."""
    from scipy.special import ndtri

    if stars is None:
        half = float(ndtri(1.0 - level / 2.0))
        return _Noise(float(ndtri(level / (arms - 1))), -half, half, None)
    least = np.delete(stars, arm, axis=0).min(axis=0, initial=math.inf)
    low, high = np.quantile(stars[best], [level / 2.0, 1.0 - level / 2.0]).tolist()
    return _Noise(float(np.quantile(least, level)) if arms > 1 else 0.0, low, high, stars[best])


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


def _against(
    groups: Sequence[Groups], bins: int, pairs: Pairs, shared: bool, seed: int
) -> Iterator[tuple[Floats | None, int]]:
    """For each arm, bootstrap quotients of its differences to all arms less their means; and its number of groups."""
    rng, count = np.random.default_rng(seed), len(groups)
    fewest = [len(own.sums) for own in groups]
    if count > MANY:
        yield from ((None, few) for few in fewest)
        return
    draws = DRAWS if count <= MANY // 2 or bins == 1 else DRAWS // 2  # for want of room
    weights = repeat(drawn(fewest[0], draws, rng)) if shared else (drawn(few, draws, rng) for few in fewest)
    rates = rates_under(groups, bins, pairs, weights)
    for arm in range(count):
        moved = rates[arm] - rates[:, arm] - (pairs.rates[arm] - pairs.rates[:, arm])[:, None]
        errors = pairs.errors[arm][:, None]
        yield np.nan_to_num(np.where(errors == 0.0, 0.0, _quotients(moved, errors))), fewest[arm]


def _rows_in(groups: Groups, strata: Strata) -> int:
    """The rows of an arm that the strata have."""
    first, last = np.searchsorted(groups.bins, np.stack([strata.firsts, strata.lasts]))
    before = np.append(0.0, np.cumsum(groups.sums[:, 0]))
    return int((before[last] - before[first]).sum())


def _quotients(differences: Floats, errors: Floats) -> Floats:
    """In standard errors; without any error, ±∞ or 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = differences / errors
    return np.where((errors == 0.0) & (differences == 0.0), 0.0, found)


def _student(groups: int, level: float) -> float:
    """How much wider Student's interval is than the Gaussian one."""
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(groups - 1, level) / ndtri(level)) if groups > 1 else math.inf
