"""How regret is spread over runs at the largest budget: every run, since a mean of two humps describes neither."""

from typing import NamedTuple

import numpy as np

from outlay.report.numbers.curves import Axis, Curve, Floats, regret_axis
from outlay.results import RegretKind, Result, last_of
from outlay.text import shortened, tick

MOST_DOTS = 300  # of a policy; of more runs, as many that are evenly spaced in rank, the first and the last among them
_GOLDEN = 0.6180339887498949


class Strip(NamedTuple):
    """One policy: a dot per run, from the smallest regret to the largest, each with a height so that few overlap."""

    label: str
    regret: Floats  # rising
    height: Floats  # in [−½, ½]
    mean: float
    median: float
    runs: int  # of which these are some or all


class Distribution(NamedTuple):
    """Every policy's strip, and the axis that they share."""

    end: str  # the last budget, in words
    strips: list[Strip]
    axis: Axis


def distribution(result: Result, kind: RegretKind = "pseudo") -> Distribution:
    """The numbers of `distribution_figure`."""
    runs = result.run_regret(kind)[:, :, -1]
    strips = [strip(label, values) for label, values in zip(result.labels, runs, strict=True)]
    axis = _axis(strips)
    return Distribution(last_of(result, tick), [_placed(one, axis) for one in strips], axis)


def strip(label: str, values: Floats) -> Strip:
    """A policy's runs as dots."""
    ranked = np.sort(values)
    if ranked.size > MOST_DOTS:
        ranked = ranked[np.linspace(0, ranked.size - 1, MOST_DOTS).round().astype(int)]
    height = np.asarray(np.arange(ranked.size) * _GOLDEN % 1.0 - 0.5, dtype=np.float64)
    return Strip(shortened(label), ranked, height, float(values.mean()), float(np.median(values)), values.size)


def _axis(strips: list[Strip]) -> Axis:
    """As for the curves, with room for every dot."""
    ends = [Curve(one.label, np.ones(1), np.array([one.mean]), one.regret[:1], one.regret[-1:]) for one in strips]
    axis = regret_axis(ends, [])
    if axis.scale == "linear":
        return axis
    dots = np.concatenate([one.regret for one in strips])
    return axis._replace(bottom=float(dots[dots > 0].min()) / 1.5)


def _placed(one: Strip, axis: Axis) -> Strip:
    """On a logarithmic axis, what is not above 0 stands at its left end."""
    if axis.scale == "linear":
        return one
    least = axis.bottom
    return one._replace(regret=np.maximum(one.regret, least), mean=max(one.mean, least), median=max(one.median, least))
