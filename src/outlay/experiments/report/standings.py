"""Which policy is best where along a sweep: first in numbers, then in sentences for readers new to the subject."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from outlay.experiments.report.summary import loss
from outlay.experiments.setup.plan import Point, shown, title_of
from outlay.experiments.setup.sweep import Values
from outlay.report.findings import Finding, finding
from outlay.results import Result
from outlay.text import counted, listed


class Standing(NamedTuple):
    """The finding at one point; `level` where all arms are equally good, and nothing can be lost."""

    values: Values
    finding: Finding
    level: bool

    @property
    def title(self) -> str:
        """The values with their names."""
        return title_of(self.values)


def standing(point: Point, result: Result) -> Standing:
    """How the policies stand at a point."""
    return Standing(point.values, finding(result), result.requests is None and not np.any(result.gaps))


def sentences(standings: Sequence[Standing], runs: int) -> list[str]:
    """Who lost least where, as far as the runs can tell, whether the order changes, how much is lost."""
    single = len(standings[0].values) == 1
    along = sorted(standings, key=_position) if single else list(standings)
    lossy = [one for one in along if not one.level]
    if not lossy:
        return ["All arms are equally good at every point: whatever is pulled, nothing is lost."]
    said = []
    if len(lossy) < len(along):
        flat = listed([one.title for one in along if one.level], 3, "; ")
        said.append(f"At {flat} all arms are equally good, and nothing is lost.")
    if len(lossy[0].finding.order) > 1:
        unsure = f"{counted(runs, 'run')} cannot tell"
        every = "every value" if len(lossy) == len(along) else "every other value"
        said += _along_one(along, unsure, every) if single else _in_a_grid(lossy, unsure)
        if len(lossy) > 1:
            orders = {tuple(one.finding.order) for one in lossy}
            changes = "changes along" if len(orders) > 1 else "is the same all along"
            said.append(f"By mean regret, the order of the policies {changes} the sweep.")
    first = Counter(one.finding.winner for one in lossy).most_common(1)[0][0]
    lost = [float(one.finding.regret[one.finding.order.index(first)]) for one in lossy]
    least, most = int(np.argmin(lost)), int(np.argmax(lost))
    if loss(lost[least]) == loss(lost[most]):
        said.append(f"{first} lost {loss(lost[0])} on average{' at every point' * (1 < len(lossy) == len(along))}.")
    else:
        low, high = (f"{loss(lost[k])} (at {lossy[k].title})" for k in (least, most))
        said.append(f"{first} lost between {low} and {high} on average.")
    if runs >= 10:
        said += _carried(lossy)
    return said


def _along_one(along: Sequence[Standing], unsure: str, every: str) -> list[str]:
    """Of one sweep: who lost least at which values, and among whom that is open at the others."""
    [name] = along[0].values
    found: dict[tuple[str, ...], list[int]] = {}
    for position, one in enumerate(along):
        if one.level:
            continue
        found.setdefault(tuple(sorted([one.finding.winner, *one.finding.tied])), []).append(position)
    groups = sorted(found.items(), key=lambda group: (len(group[0]) > 1, -len(group[1])))
    parts = list[str]()
    for labels, positions in groups:
        where = ("" if parts else f"{name} = ") + _values(along, positions)
        where = f"{every} of {name}" if len(groups) == 1 and sum(not one.level for one in along) > 1 else where
        if len(labels) > 1:
            parts.append(f"{'at' if parts else 'At'} {where}, {unsure} {listed(labels, 3)} apart")
        else:
            parts.append(f"{labels[0]} {'' if parts else 'lost least '}at {where}")
    return ["; ".join(parts) + "."]


def _in_a_grid(points: Sequence[Standing], unsure: str) -> list[str]:
    """Of several sweeps: at how many points a policy lost least, and where that is open."""
    wins = Counter(one.finding.winner for one in points if not one.finding.tied).most_common()
    said = []
    if wins:
        (first, most), *rest = wins
        least = [f"{first} lost least at {most} of {len(points)} points", *(f"{name} at {n}" for name, n in rest)]
        said.append(", ".join(least) + ".")
    if tied := [one.title for one in points if one.finding.tied]:
        where = f"{counted(len(tied), 'point')} ({listed(tied, 3, '; ')})"
        said.append(f"At {where} {unsure} which policy lost least.")
    return said


def _carried(points: Sequence[Standing]) -> list[str]:
    """The policies whose mean is carried by a few runs."""
    counts = Counter(label for one in points for label in one.finding.carried)
    some = [f"{label} (at {count} of {len(points)} points)" for label, count in counts.most_common()]
    carry = "A few long runs carry the mean of"
    return [f"{carry} {listed(some, 3)}: the median there is less than half of it."] if some else []


def _values(along: Sequence[Standing], positions: Sequence[int]) -> str:
    """The values at these positions of one sweep; three numbers or more in a row are given as a range."""
    parts = list[str]()
    for _, group in groupby(enumerate(positions), key=lambda pair: pair[1] - pair[0]):
        values = [value for _, position in group for value in along[position].values.values()]
        words = list(map(shown, values))
        long = len(words) > 2 and not isinstance(values[0], str)
        parts += [f"{words[0]} to {words[-1]}"] if long else words
    return listed(parts, 6)


def _position(one: Standing) -> float:
    """Numbers in rising order; words in the order of the file, since sorting keeps equal keys in their order."""
    [value] = one.values.values()
    return 0.0 if isinstance(value, str) else float(value)
