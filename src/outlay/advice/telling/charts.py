"""The numbers of the figures on a page of advice: dots with intervals, one per line."""

import math
from typing import NamedTuple

from outlay.advice.evidence.rates import BEST, DOUBTFUL, FREE, OPEN, OUT
from outlay.advice.records import Findings
from outlay.advice.rehearsal import Rehearsal
from outlay.advice.telling.units import per, unit
from outlay.text import number, shortened

MOST_DOTS = 24
RUNNER, REFERENCE = "policy", "reference"
KINDS = (BEST, OPEN, DOUBTFUL, OUT, RUNNER, REFERENCE)


class Dot(NamedTuple):
    """A line of the chart."""

    label: str
    value: float
    low: float
    high: float
    kind: str  # one of KINDS, which has a colour


class Dots(NamedTuple):
    """A chart of dots, the first on top; `view` are the ends of its axis."""

    title: str
    axis: str
    dots: list[Dot]
    view: tuple[float, float]


def rate_dots(advice: Findings) -> Dots:
    """The arms' rates with their intervals, the best first; an interval may extend beyond the view."""
    ranked = sorted((arm for arm in advice.arms if arm.verdict != FREE), key=lambda arm: -(arm.rate or 0.0))
    cost = per(advice)
    dots = [
        Dot(shortened(arm.name), (arm.rate or 0.0) * cost, low * cost, high * cost, arm.verdict)
        for arm in ranked[:MOST_DOTS]
        for low, high in [arm.interval]
    ]
    title = f"Rates with intervals, {advice.confidence:.0%} for all arms together"
    low, high = view = _view(dots)
    further = any(dot.low < low or dot.high > high for dot in dots)
    return Dots(title, unit(advice) + "; an arrow: the interval goes on" * further, dots, view)


def reward_dots(played: Rehearsal) -> Dots:
    """What the policies earned, with 95 % intervals of the mean, below what the best arm alone would earn."""
    rows = [(f"{played.best} alone", played.best_reward, played.best_stderr, REFERENCE)]
    rows += [(one.label, one.reward, one.stderr, RUNNER) for one in played.candidates]
    halves = [1.96 * (error if math.isfinite(error) else 0.0) for _, _, error, _ in rows]
    dots = [
        Dot(shortened(label), value, value - by, value + by, kind)
        for (label, value, _, kind), by in zip(rows, halves, strict=True)
    ]
    low, high = _view(dots)
    return Dots(f"Earned with {number(played.budget)}, from scratch", "reward", dots, (min(0.0, low), high))


def _view(dots: list[Dot]) -> tuple[float, float]:
    """Room for every dot and every finite interval, unless one is so long that it would squeeze the others."""
    values = [dot.value for dot in dots]
    middle = max(map(abs, values)) or 1.0
    ends = [end for dot in dots for end in (dot.low, dot.high) if abs(end) <= 10.0 * middle]
    low, high = min(values + ends), max(values + ends)
    margin = 0.05 * (high - low or abs(high) or 1.0)
    return low - margin, high + margin
