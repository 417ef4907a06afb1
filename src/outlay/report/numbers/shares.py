"""Which arms the pulls went to, over the budget, and which arms there is room to show."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.report.numbers.curves import Floats
from outlay.results import Result, axis_of
from outlay.text import shortened

MOST_ARMS = 6  # shown by name
LEAST_SEEN = 0.01  # of a policy's pulls


class Grouping(NamedTuple):
    """The arms that a figure shows by name, best first, and one name for all others, if there are any."""

    named: list[int]
    rest: NDArray[np.int64]
    labels: list[str]

    def gathered(self, values: Floats) -> Floats:
        """Values over arms (the last axis) as values over what is shown."""
        shown = values[..., self.named]
        if not self.rest.size:
            return shown
        return np.concatenate([shown, values[..., self.rest].sum(axis=-1, keepdims=True)], axis=-1)


class Shares(NamedTuple):
    """Per policy, how its pulls up to each budget were divided: they add up to 1 over the arms."""

    policies: list[str]
    axis: str  # "budget", or "requests" where it is these that grow
    budgets: Floats
    arms: Grouping
    share: Floats  # [policy, budget, what is shown]


def grouping(result: Result, most: int = MOST_ARMS) -> Grouping:
    """The best arm and those pulled most, ordered by their gaps; the others together, unless there is just one.

    Of many arms, one that no policy gave a share that can be seen is among the others.
    """
    problem, count, gaps = result.problem, len(result.problem), result.gaps
    best = int(np.argmin(gaps))
    pulls = result.pulls[:, :, -1].sum(axis=1)
    seen = (pulls / np.maximum(pulls.sum(axis=1, keepdims=True), 1)).max(axis=0) >= LEAST_SEEN
    order = np.lexsort((-pulls.sum(axis=0), np.arange(count) != best)).tolist()
    chosen = order if count <= most + 1 else [k for k in order if seen[k] or k == best][:most]
    named = sorted(chosen, key=lambda k: (gaps[k], k != best, k))
    labels = [shortened(problem.names[k]) for k in named]
    rest = np.setdiff1d(np.arange(count), named)
    return Grouping(named, rest, [*labels, f"{rest.size:,} more arms"] if rest.size else labels)


def shares(result: Result) -> Shares:
    """The shares of all pulls, over runs."""
    pulls = result.pulls.sum(axis=1).astype(np.float64)
    arms = grouping(result)
    share = arms.gathered(pulls) / np.maximum(pulls.sum(axis=-1, keepdims=True), 1.0)  # in hard mode there may be none
    name, values = axis_of(result)
    return Shares([shortened(label) for label in result.labels], name, values.astype(np.float64), arms, share)
