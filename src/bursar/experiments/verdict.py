"""Which policy is best where along a sweep: in numbers, and in sentences that a stranger understands."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from bursar.engine.result import Result
from bursar.experiments.plan import Point, shown
from bursar.experiments.summary import number
from bursar.report.verdict import Verdict, listed, verdict


class Standing(NamedTuple):
    """The verdict at one point; `level` where all arms are equally good, and nothing can be lost."""

    values: dict[str, Any]
    verdict: Verdict
    level: bool

    @property
    def words(self) -> str:
        """The values without their names."""
        return ", ".join(map(shown, self.values.values()))


def standing(point: Point, result: Result) -> Standing:
    """How the policies stand at a point."""
    return Standing(point.values, verdict(result), not np.any(result.problem.gaps))


def sentences(standings: Sequence[Standing], runs: int) -> list[str]:
    """Who lost least where, whether the order changes, how much is lost: the summary of a sweep."""
    names = " and ".join(standings[0].values)
    along = sorted(standings, key=_place) if len(standings[0].values) == 1 else list(standings)
    lossy = [one for one in along if not one.level]
    if not lossy:
        return ["All arms are equally good at every point: whatever is pulled, nothing is lost."]
    said = []
    orders = {tuple(one.verdict.order) for one in lossy}
    if len(lossy[0].verdict.order) > 1:
        said.append(_winners(lossy, names))
        if unsure := [one.words for one in lossy if one.verdict.tied]:
            where = "At every point" if len(unsure) == len(lossy) else f"At {names} = {_some(unsure)}"
            said.append(f"{where}, {runs} run{'s' * (runs > 1)} cannot tell the first from the next.")
        changes = "changes along" if len(orders) > 1 else "is the same all along"
        said.append(f"By mean regret, the order of the policies {changes} the sweep.")
    first = _most_often(lossy)
    lost = [float(one.verdict.regret[one.verdict.order.index(first)]) for one in lossy]
    least, most = int(np.argmin(lost)), int(np.argmax(lost))
    if lost[least] == lost[most]:
        said.append(f"{first} lost {number(lost[0])} on average at every point.")
    else:
        low, high = (f"{number(lost[k])} (at {names} = {lossy[k].words})" for k in (least, most))
        said.append(f"{first} lost between {low} and {high} on average.")
    if len(lossy) < len(along):
        flat = _some([one.words for one in along if one.level])
        said.append(f"At {names} = {flat} all arms are equally good, and nothing is lost.")
    return said


def _winners(along: Sequence[Standing], names: str) -> str:
    """Who lost least where: everywhere, over stretches of one sweep, or at so many points of a grid."""
    stretches = [(winner, list(group)) for winner, group in groupby(along, key=lambda one: one.verdict.winner)]
    if len(stretches) == 1:
        return f"{stretches[0][0]} lost least at every value of {names}."
    winners = list(dict.fromkeys(winner for winner, _ in stretches))
    parts = []
    for winner in winners:
        mine = [group for name, group in stretches if name == winner]
        if len(along[0].values) > 1:
            parts.append((winner, f"{sum(map(len, mine))} of {len(along)} points"))
        else:
            parts.append((winner, ("" if parts else f"{names} = ") + _some([_stretch(group) for group in mine])))
    (first, where), *rest = parts
    return "; ".join([f"{first} lost least at {where}", *(f"{winner} at {where}" for winner, where in rest)]) + "."


def _stretch(group: Sequence[Standing]) -> str:
    first, last = group[0].words, group[-1].words
    return first if len(group) == 1 else f"{first} to {last}" if len(group) > 2 else f"{first} and {last}"


def _some(words: Sequence[str], most: int = 6) -> str:
    return listed(list(words)) if len(words) <= most else f"{', '.join(words[:most])} and {len(words) - most} more"


def _most_often(along: Sequence[Standing]) -> str:
    """Who lost least at most points."""
    winners = [one.verdict.winner for one in along]
    return max(dict.fromkeys(winners), key=winners.count)


def _place(one: Standing) -> float:
    """Numbers in rising order; words as the file has them, since sorting keeps what is equal in its place."""
    [value] = one.values.values()
    return 0.0 if isinstance(value, str) else float(value)
