"""What a log says about each arm, and on which terms arms are compared."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.advice.evidence.comparison import PAIRS, TIMES, WHOLE, Comparison, compare
from outlay.advice.evidence.drift import Course, alarms, block_means, change_of, course_of
from outlay.advice.evidence.groups import IN_BIN, MOST, Groups, groups_of, merged_groups
from outlay.advice.evidence.instances import Instances, correlation, instances_of
from outlay.advice.evidence.merit import merit_of
from outlay.advice.evidence.moments import sums_of
from outlay.advice.evidence.rates import FREE, Interval, rate_interval, slack_of, verdicts
from outlay.advice.evidence.strata import bins_for
from outlay.advice.evidence.tails import tail_of
from outlay.advice.evidence.tally import TIME, Tallies, Tally
from outlay.advice.evidence.timing import PARTS, Timing, edges_of, parts_of, timing_of
from outlay.advice.records import ArmAdvice, Latest, Terms
from outlay.beliefs import Belief

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEW_LATELY = 20  # rows in the last eighth, below which an arm has no rate there


class Judged(NamedTuple):
    """The arms and the terms, and what they rest on."""

    arms: list[ArmAdvice]
    terms: Terms
    priced: list[str]  # the arms with a mean cost above 0, which were compared
    groups: list[Groups]  # of each of those
    bins: int  # of time, that groups are in
    instances: Instances | None


def judge(tallies: Tallies, confidence: float, seed: int = 0) -> Judged:
    """Look at each arm, then compare those that cost something, of which there must be one."""
    names, found = list(tallies.arms), list(tallies.arms.values())
    beliefs = [tally.belief(arm) for arm, tally in enumerate(found)]
    samples = [_in_time(tally) for tally in found]
    edges = _edges(found, samples, PARTS)
    parts = [parts_of(sample[TIME], edges) for sample in samples]
    changes = [[change_of(block_means(values)) for values in sample[:TIME]] for sample in samples]
    raised = alarms([change for both in changes for change in both])
    drifts = [cost or reward for cost, reward in zip(raised[::2], raised[1::2], strict=True)]
    courses = [course_of(*given) for given in zip(drifts, [own[:TIME] for own in samples], parts, strict=True)]
    priced = [arm for arm, belief in enumerate(beliefs) if belief.mean_cost > 0.0]
    ground = _ground(tallies, [names[arm] for arm in priced], [samples[arm] for arm in priced], seed)
    ordered = tallies.timed or not (tallies.by_arm or ground.basis == PAIRS)
    if not ordered:  # in the order of instances nothing drifts; in that of arms, time may explain all if any arm does
        some = ground.basis != PAIRS and any(drifts)
        courses = [course._replace(drifts=some) for course in courses]
    scale = _Scale(
        confidence, len(found), float(min(own.low[1] for own in found)), float(max(own.high[1] for own in found))
    )
    slack = np.array([slack_of(beliefs[arm], scale.each, scale.lowest, scale.highest) for arm in priced]).T
    compared = compare(ground.groups, ground.basis, bins=ground.bins, slack=slack, confidence=confidence, seed=seed)
    arms = []
    for arm, (name, tally, belief) in enumerate(zip(names, found, beliefs, strict=True)):
        cost, reward = changes[arm]
        latest = _latest(samples[arm][:TIME, parts[arm] == PARTS - 1], scale) if ordered else None
        looked_at = _looked_at(name, tally, belief, scale)
        arms.append(looked_at._replace(cost_change=cost, reward_change=reward, course=courses[arm], latest=latest))
    heavy = [arm.tail.unsettled for arm in arms]
    for arm, standing in _standing(compared, priced, names, heavy, courses).items():
        arms[arm] = arms[arm]._replace(**standing)
    by_part = [_part_groups(samples[arm], parts[arm]) for arm in priced]
    terms = _terms(tallies, ground, compared, [] if tallies.by_arm else by_part, seed)
    return Judged(arms, terms, [names[arm] for arm in priced], ground.groups, ground.bins, ground.instances)


class _Scale(NamedTuple):
    """What the intervals of all arms share."""

    confidence: float
    arms: int
    lowest: float  # reward of the log
    highest: float

    @property
    def each(self) -> float:
        """The confidence of each interval, for all to hold together (Bonferroni)."""
        return 1.0 - (1.0 - self.confidence) / self.arms


def _looked_at(name: str, tally: Tally, belief: Belief, scale: _Scale) -> ArmAdvice:
    """An arm by itself; what it is beside others comes later."""
    return ArmAdvice(
        name=name,
        belief=belief,
        rate=belief.mean_reward / belief.mean_cost if belief.mean_cost > 0.0 else None,
        interval=rate_interval(belief, scale.each, scale.lowest, scale.highest),
        correlation=_correlation(belief),
        tail=tail_of(tally.largest.rows()[0], tally.sample.rows()[0], tally.sums.n),
        cost_change=None,
        reward_change=None,
        course=Course(False, (), ()),
        latest=None,
        versus=None,
        below=[],
        verdict=FREE,
        costs=Interval(float(tally.low[0]), float(tally.high[0])),
        rewards=Interval(float(tally.low[1]), float(tally.high[1])),
        zero_costs=tally.zero_costs,
        negative_costs=tally.negative_costs,
    )


class _Ground(NamedTuple):
    """On what the arms are compared."""

    basis: str
    groups: list[Groups]
    bins: int
    timing: Timing | None
    instances: Instances | None


def _ground(tallies: Tallies, priced: Sequence[str], samples: Sequence[Floats], seed: int) -> _Ground:
    """The same instances where there are such; equal times where arms were used at different ones; else all rows."""
    rng = np.random.default_rng(seed)
    found = [tallies.arms[name] for name in priced]
    if (instances := instances_of(tallies, priced)) is not None and (instances.sums[..., 1].sum(axis=1) > 0.0).all():
        return _Ground(PAIRS, merged_groups(instances.sums, rng), 1, None, instances)
    timing = None
    if len(priced) > 1 and not tallies.by_arm:
        edges = _edges(found, samples, PARTS)
        timing = timing_of([parts_of(sample[TIME], edges) for sample in samples])
    if timing is not None and timing.apart:
        bins = bins_for(len(priced))
        most = max(MOST, IN_BIN * bins)
        edges = _edges(found, samples, bins)
        groups = [groups_of(sample[:TIME], parts_of(sample[TIME], edges), rng, most) for sample in samples]
        return _Ground(TIMES, groups, bins, timing, None)
    return _Ground(WHOLE, [_all_rows(tally, rng) for tally in found], 1, timing, None)


def _all_rows(tally: Tally, rng: np.random.Generator) -> Groups:
    """Groups of all rows; of a long log, those that they were dealt out to while it was read."""
    if tally.whole:
        rows = tally.sample.rows()
        return groups_of(rows[:TIME], np.zeros(rows.shape[1], np.int64), rng)
    used = tally.spread[tally.spread[:, 0] > 0.0]
    return Groups(used, np.zeros(len(used), np.int64))


def _in_time(tally: Tally) -> Floats:
    """The rows that were kept, in the order of time."""
    rows = tally.sample.rows()
    return rows[:, np.argsort(rows[TIME], kind="stable")]


def _edges(found: Sequence[Tally], samples: Sequence[Floats], count: int) -> Floats:
    weights = [tally.sums.n / sample.shape[1] for tally, sample in zip(found, samples, strict=True)]
    return edges_of([sample[TIME] for sample in samples], weights, count)


def _part_groups(sample: Floats, parts: Ints) -> Groups:
    """Rows as groups of their own, by the eighths of the log."""
    return Groups(np.column_stack([np.ones(sample.shape[1]), *sample[:TIME]]), parts)


def _standing(
    compared: Comparison,
    priced: Sequence[int],
    names: Sequence[str],
    heavy: Sequence[bool],
    courses: Sequence[Course],
) -> dict[int, dict[str, Any]]:
    """Of each arm that was compared: its difference to the best, which arms it is below, and the verdict."""
    below = [np.flatnonzero(row).tolist() for row in compared.below]
    says = verdicts(compared.best, below, [heavy[arm] for arm in priced], [courses[arm] for arm in priced])
    return {
        arm: {"versus": versus, "below": [names[priced[k]] for k in above], "verdict": verdict}
        for arm, versus, above, verdict in zip(priced, compared.versus, below, says, strict=True)
    }


def _latest(pairs: Floats, scale: _Scale) -> Latest | None:
    """The rate in the last part of the log."""
    if pairs.shape[1] < FEW_LATELY or not pairs[0].mean() > 0.0:
        return None
    belief = sums_of(pairs).belief(0, np.zeros(2))
    interval = rate_interval(belief, scale.confidence, scale.lowest, scale.highest)
    return Latest(belief.mean_reward / belief.mean_cost, interval, belief.pulls)


def _terms(tallies: Tallies, ground: _Ground, compared: Comparison, parts: Sequence[Groups], seed: int) -> Terms:
    shared, instances, timing = ground.basis == PAIRS, ground.instances, ground.timing
    apart = ground.basis == TIMES
    return Terms(
        basis=ground.basis,
        apart=apart,
        apart_chance=None if timing is None else timing.chance,
        timed=tallies.timed,
        dated=tallies.dated,
        by_arm=tallies.by_arm,
        bins=ground.bins,
        never_together=compared.unseen,
        instance=None if instances is None else instances.column,
        instances=0 if instances is None else instances.shared,
        all_instances=0 if instances is None else instances.total,
        correlation=correlation(ground.groups, compared.best) if shared else None,
        merit=merit_of(ground.groups, ground.bins, compared.pairs, parts, shared=shared, seed=seed),
    )


def _correlation(belief: Belief) -> float | None:
    spread = math.sqrt(belief.var_cost) * math.sqrt(belief.var_reward)
    return min(1.0, max(-1.0, belief.cov / spread)) if spread > 0.0 else None
