"""Policies by problems: one number for each pair, and how dark its cell is."""

import math
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from outlay.checks import word
from outlay.errors import BadParameter
from outlay.report.numbers.curves import Floats
from outlay.results import RegretKind, Result, checked
from outlay.text import percent, shortened

Measure = Literal["lost", "ratio"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
_FADES = 1e4  # a cell this many times below the largest is blank


class HeatMap(NamedTuple):
    """A value for each policy and problem, nan where there is none; the smallest of each problem is marked."""

    policies: list[str]
    problems: list[str]
    title: str
    value: Floats  # [policy, problem]
    text: list[list[str]]
    shade: Floats  # from 0, blank, to 1
    smallest: NDArray[np.bool_]


def heat_map(results: Mapping[str, Result], measure: Measure = "lost", kind: RegretKind = "pseudo") -> HeatMap:
    """Regret at the largest budget of each result, on a scale that problems share.

    "lost" is its part of r*·B, what the best arm alone would earn, or of N·f(B/N) with requests; "ratio" compares with
    the best policy of the problem that lost anything. Where the scale is not above 0 there is no number.
    """
    if not isinstance(results, Mapping) or not results:  # type: ignore[redundant-expr]
        raise BadParameter("heatmap_figure", "results", "a dict from a problem's name to its result", results)
    word("heatmap_figure", "measure", measure, MEASURES)
    labels = list(
        dict.fromkeys(label for result in results.values() for label in checked("heatmap_figure", result).labels)
    )
    value = np.full((len(labels), len(results)), np.nan)
    for column, result in enumerate(results.values()):
        regret = dict(zip(result.labels, result.run_regret(kind)[:, :, -1].mean(axis=1).tolist(), strict=True))
        scale = float(result.attainable[-1]) if measure == "lost" else _smallest(regret.values())
        for label, mean in regret.items():
            value[labels.index(label), column] = mean / scale if scale > 0 else np.nan
    with np.errstate(invalid="ignore"):
        smallest = value == np.nanmin(np.where(np.isnan(value), np.inf, value), axis=0)
    served = any(result.requests is not None for result in results.values())
    whole = "can be earned" if served else "the best arm earns"
    title = f"Regret as a part of what {whole}" if measure == "lost" else "Regret by that of the best policy"
    text = [[_text(cell, measure) for cell in row] for row in value]
    names = [shortened(name) for name in results]
    return HeatMap([shortened(label) for label in labels], names, title, value, text, _shades(value), smallest)


def _smallest(regrets: Iterable[float]) -> float:
    """The smallest that is above 0, which an oracle's is not."""
    return min((value for value in regrets if value > 0), default=0.0)


def _shades(value: Floats) -> Floats:
    """Even steps in the logarithm, from the smallest value that is not blank to the largest."""
    known = value[np.isfinite(value) & (value > 0)]
    if known.size == 0:
        return np.zeros_like(value)
    top = float(known.max())
    bottom = max(float(known.min()), top / _FADES)
    if not top > bottom:
        return np.where(value > 0, 0.5, 0.0)
    clipped = np.clip(np.nan_to_num(value), bottom, top)
    return np.asarray(np.log(clipped / bottom) / math.log(top / bottom))


def _text(value: float, measure: Measure) -> str:
    if math.isnan(value):
        return "–"
    if measure == "ratio":
        return f"{value:.3g}×" if value < 1000 else f"{value:,.0f}×"
    return percent(value)
