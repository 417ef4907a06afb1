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
    best, top, few = 0, -math.inf, int(pulls[0])
    for arm in range(len(pulls)):
        score = float(policy.score(memory.belief(arm), log_n))
        best, top, few = better(best, top, few, arm, score, int(pulls[arm]))
    return best


def best_by_sample(policy: Any, memory: Any, pulls: Counts, log_n: float, rng: np.random.Generator) -> int:
    """Find the arm with the largest `policy.sample`, drawn in the order of the arms; ties as above."""
    best, top, few = 0, -math.inf, int(pulls[0])
    for arm in range(len(pulls)):
        score = float(policy.sample(memory.belief(arm), log_n, rng))
        best, top, few = better(best, top, few, arm, score, int(pulls[arm]))
    return best


def better(best: int, top: float, few: int, arm: int, score: float, pulls: int) -> tuple[int, float, int]:
    """Tell the leader (arm, score, pulls) once one more arm is seen: the rule, in one place. NaN counts as −∞."""
    if math.isnan(score):
        score = -math.inf
    if score > top or (score == top and pulls < few):
        return arm, score, pulls
    return best, top, few
