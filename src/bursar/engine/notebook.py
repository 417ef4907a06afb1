"""A result in a notebook: a row for each policy, with its regret over the budget as a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bursar.markup import html_table, sparkline

if TYPE_CHECKING:
    from bursar.engine.result import Result

_HEADINGS = ("policy", "regret", "± stderr", "median", "best arm", "regret over the budget")


def result_html(result: Result) -> str:
    """The table at the largest budget; the lines share their scale, logarithmic both ways, and its ends."""
    frame = result.regret()
    shape = (len(result.labels), len(result.budgets))
    mean, stderr, median = (frame[name].to_numpy().reshape(shape) for name in ("mean", "stderr", "q50"))
    pulls = result.pulls[:, :, -1].sum(axis=1)
    best = pulls[:, np.asarray(result.problem.gaps) <= 0].sum(axis=1) / pulls.sum(axis=1)
    positive = mean[mean > 0]
    least = float(positive.min()) if positive.size else 1.0
    heights = np.log(np.maximum(mean, least))
    ends = float(heights.min()), float(heights.max())
    rows = [
        (
            label,
            *map(_number, (mean[i, -1], stderr[i, -1], median[i, -1])),
            f"{best[i]:.1%}",
            sparkline(heights[i], *ends),
        )
        for i, label in enumerate(result.labels)
    ]
    made = f"{result.runs:,} runs, {len(result.problem):,} arms, seed {result.seed}"
    return html_table(_HEADINGS, rows, f"Regret at budget {result.budgets[-1]:,g}: {made}")


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
