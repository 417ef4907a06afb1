"""From scores to an arm: the largest score, ties to the arm with the fewest pulls, then to the lowest index.

Ties matter most at +∞, where every policy of the paper starts: if the lowest index won them, arm 0 would be pulled
until its confidence interval is stable, whatever it costs, and the result would depend on the order of the arms.

These functions run in the interpreter and compiled.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


class Now(NamedTuple):
    """Where a run stands: pulls made so far, ln of that (0.0 before the first), and cost spent."""

    pulls: int
    log_n: float
    spent: float


def best_by_score(policy: Any, memory: Any, pulls: Counts, log_n: float) -> int:
    """Find the arm with the largest `policy.score`; `pulls` counts the pulls of each arm."""
    best, top = 0, -math.inf
    for arm in range(len(pulls)):
        score = number(policy.score(memory.belief(arm), log_n))
        if precedes(score, pulls[arm], arm, top, pulls[best], best):
            best, top = arm, score
    return best


def best_by_sample(policy: Any, memory: Any, pulls: Counts, log_n: float, rng: np.random.Generator) -> int:
    """Find the arm with the largest `policy.sample`, drawn in the order of the arms; ties as above."""
    best, top = 0, -math.inf
    for arm in range(len(pulls)):
        score = number(policy.sample(memory.belief(arm), log_n, rng))
        if precedes(score, pulls[arm], arm, top, pulls[best], best):
            best, top = arm, score
    return best


def number(score: float) -> float:
    """The score as a float that can be compared: NaN counts as −∞."""
    return -math.inf if math.isnan(score) else float(score)


def precedes(score: float, pulls: int, arm: int, other_score: float, other_pulls: int, other: int) -> bool:
    """Whether an arm is to be pulled rather than another: the rule, in one place.

    >>> precedes(math.inf, 3, 1, math.inf, 4, 0)
    True
    """
    if score != other_score:
        return score > other_score
    return pulls < other_pulls or (pulls == other_pulls and arm < other)


def log_of(pulls: int) -> float:
    """The logarithm of a number of pulls; 0.0 before the first."""
    return math.log(pulls) if pulls > 0 else 0.0
