"""Which policy is best where along a sweep: in numbers, and in sentences that a stranger understands."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from outlay.experiments.report.summary import number
from outlay.experiments.setup.plan import Point, shown, title_of
from outlay.report.verdict import Verdict, verdict
from outlay.results.result import Result


class Standing(NamedTuple):
    """The verdict at one point; `level` where all arms are equally good, and nothing can be lost."""

    values: dict[str, Any]
    verdict: Verdict
    level: bool

    @property
    def title(self) -> str:
        """The values with their names."""
        return title_of(self.values)


def standing(point: Point, result: Result) -> Standing:
    """How the policies stand at a point."""
    return Standing(point.values, verdict(result), not np.any(result.problem.gaps))


def sentences(standings: Sequence[Standing], runs: int) -> list[str]:
    """Who lost least where, as far as the runs can tell, whether the order changes, how much is lost."""
    single = len(standings[0].values) == 1
    along = sorted(standings, key=_place) if single else list(standings)
    lossy = [one for one in along if not one.level]
    if not lossy:
        return ["All arms are equally good at every point: whatever is pulled, nothing is lost."]
    said = []
    if len(lossy) < len(along):
        flat = _some([one.title for one in along if one.level], "; ", 3)
        said.append(f"At {flat} all arms are equally good, and nothing is lost.")
    if len(lossy[0].verdict.order) > 1:
        told = f"{runs} run{'s' * (runs > 1)} cannot tell"
        every = "every value" if len(lossy) == len(along) else "every other value"
        said += _along_one(along, told, every) if single else _in_a_grid(lossy, told)
        if len(lossy) > 1:
            orders = {tuple(one.verdict.order) for one in lossy}
            changes = "changes along" if len(orders) > 1 else "is the same all along"
            said.append(f"By mean regret, the order of the policies {changes} the sweep.")
    first = Counter(one.verdict.winner for one in lossy).most_common(1)[0][0]
    lost = [float(one.verdict.regret[one.verdict.order.index(first)]) for one in lossy]
    least, most = int(np.argmin(lost)), int(np.argmax(lost))
    if number(lost[least]) == number(lost[most]):
        said.append(f"{first} lost {number(lost[0])} on average{' at every point' * (1 < len(lossy) == len(along))}.")
    else:
        low, high = (f"{number(lost[k])} (at {lossy[k].title})" for k in (least, most))
        said.append(f"{first} lost between {low} and {high} on average.")
    if runs >= 10:
        said += _carried(lossy)
    return said


def _along_one(along: Sequence[Standing], told: str, every: str) -> list[str]:
    """Of one sweep: who lost least at which values, and among whom that is open at the others."""
    [name] = along[0].values
    found: dict[tuple[str, ...], list[int]] = {}
    for place, one in enumerate(along):
        if one.level:
            continue
        found.setdefault(tuple(sorted([one.verdict.winner, *one.verdict.tied])), []).append(place)
    groups = sorted(found.items(), key=lambda group: (len(group[0]) > 1, -len(group[1])))
    parts = list[str]()
    for labels, places in groups:
        where = ("" if parts else f"{name} = ") + _values(along, places)
        where = f"{every} of {name}" if len(groups) == 1 and sum(not one.level for one in along) > 1 else where
        if len(labels) > 1:
            parts.append(f"{'at' if parts else 'At'} {where}, {told} {_some(labels, ', ', 3)} apart")
        else:
            parts.append(f"{labels[0]} {'' if parts else 'lost least '}at {where}")
    return ["; ".join(parts) + "."]


def _in_a_grid(points: Sequence[Standing], told: str) -> list[str]:
    """Of several sweeps: at how many points a policy lost least, and where that is open."""
    wins = Counter(one.verdict.winner for one in points if not one.verdict.tied).most_common()
    said = []
    if wins:
        (first, most), *rest = wins
        least = [f"{first} lost least at {most} of {len(points)} points", *(f"{name} at {n}" for name, n in rest)]
        said.append(", ".join(least) + ".")
    if unsure := [one.title for one in points if one.verdict.tied]:
        where = f"{len(unsure)} point{'s' * (len(unsure) > 1)}"
        said.append(f"At {where} ({_some(unsure, '; ', 3)}) {told} which policy lost least.")
    return said


def _carried(points: Sequence[Standing]) -> list[str]:
    """Which means a few runs make."""
    counts = Counter(label for one in points for label in one.verdict.carried)
    some = [f"{label} (at {count} of {len(points)} points)" for label, count in counts.most_common()]
    carry = "A few long runs carry the mean of"
    return [f"{carry} {_some(some, ', ', 3)}: the median there is less than half of it."] if some else []


def _values(along: Sequence[Standing], places: Sequence[int]) -> str:
    """The values at these places of one sweep; three numbers or more in a row are a stretch."""
    parts = list[str]()
    for _, group in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0]):
        values = [value for _, place in group for value in along[place].values.values()]
        words = list(map(shown, values))
        long = len(words) > 2 and not isinstance(values[0], str)
        parts += [f"{words[0]} to {words[-1]}"] if long else words
    return _some(parts, ", ", 6)


def _some(words: Sequence[str], between: str, most: int) -> str:
    """The first ones, and how many there are besides."""
    if len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    last = between.strip(", ")  # nothing after a comma
    return f"{between.join(words[:-1])}{last} and {words[-1]}" if len(words) > 1 else words[0]


def _place(one: Standing) -> float:
    """Numbers in rising order; words as the file has them, since sorting keeps what is equal in its place."""
    [value] = one.values.values()
    return 0.0 if isinstance(value, str) else float(value)
