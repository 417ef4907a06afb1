"""A result in a notebook: a row for each policy, with its regret over the budget as a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from outlay.results.endings import axis_of, beside, best_heading, last_of
from outlay.tables import Table
from outlay.text import aligned, sparkline

if TYPE_CHECKING:
    from outlay.results.result import Result

_HEADINGS = ("policy", "regret", "± stderr", "median")


def result_html(result: Result) -> str:
    """The table at the largest budget; the lines share their scale, logarithmic both ways, and its ends."""
    frame = result.regret()
    shape = (len(result.labels), len(result.budgets))
    mean, stderr, median = (frame[name].to_numpy().reshape(shape) for name in ("mean", "stderr", "q50"))
    pulls = result.pulls[:, :, -1].sum(axis=1)
    best = pulls[:, np.asarray(result.gaps) <= 0].sum(axis=1) / np.maximum(pulls.sum(axis=1), 1)
    positive = mean[mean > 0]
    least = float(positive.min()) if positive.size else 1.0
    heights = np.log(np.maximum(mean, least))
    ends = float(heights.min()), float(heights.max())
    _, values = axis_of(result)
    first, last = (f"{values[i]:,g}" for i in (0, -1))
    columns = (
        *(aligned(values[:, -1].tolist(), 3) for values in (mean, stderr, median)),
        [f"{share:.1%}" for share in best],
        aligned(mean[:, 0].tolist(), 3),
        [sparkline(line, *ends) for line in heights],
    )
    headings = (*_HEADINGS, best_heading(result), f"regret at {first}", f"from {first} to {last}")
    where = last_of(result) + beside(result.mode)
    made = f"{result.runs:,} runs, {len(result.problem):,} arms, seed {result.seed}"
    return Table(headings, list(zip(result.labels, *columns, strict=True)), f"Regret at {where}: {made}").html()
