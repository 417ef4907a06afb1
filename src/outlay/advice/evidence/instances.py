"""Logs in which every arm was tried on the same instances: found, and put side by side."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.advice.evidence.comparison import effects_of
from outlay.advice.evidence.groups import Groups
from outlay.advice.evidence.tally import COST, MARK, REWARD, Tallies
from outlay.logs import OTHER

Floats = NDArray[np.float64]

FEWEST = 10  # instances that all arms have
NEARLY = 0.9  # of the rows that a full table of instances × arms would have, for a column that nobody named


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


def aligned(arms: Sequence[str], found: Instances) -> dict[str, Floats]:
    """The rows of each arm, [cost or reward, instance], in one order of the instances, where all have each once."""
    return {name: own[:, 1:].T for name, own in zip(arms, found.sums, strict=True)}


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
