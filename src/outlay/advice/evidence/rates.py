"""What a log says of the arms' rates: Fieller's interval for each, and the verdict on each."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from outlay.advice.evidence.drift import Course
from outlay.beliefs import Belief
from outlay.formulas.confidence import fieller_interval

BEST, OPEN, OUT, DOUBTFUL, FREE = "best so far", "open", "ruled out", "behind", "free"


class Interval(NamedTuple):
    """Where a rate lies, with the confidence that was asked for."""

    low: float
    high: float


def rate_interval(belief: Belief, confidence: float, lowest: float, highest: float) -> Interval:
    """Fieller's interval of E[R]/E[X] with Student's quantile; (−∞, ∞) where the mean cost could be 0.

    The set of r for which the mean of R − rX may be 0 given its sample variance. Exact for Gaussian pairs, else in the
    limit of many rows with finite variances. Rewards that were all the same say little about those that never
    came: one that comes with probability q is missed by n rows with probability (1 − q)^n, so the mean is moved by such
    a q toward the lowest and the highest reward of the log.

    >>> belief = Belief(0, 100, mean_cost=2.0, mean_reward=1.0, var_cost=0.25, var_reward=0.25, cov=0.0)
    >>> low, high = rate_interval(belief, 0.95, 0.0, 2.0)
    >>> round(low, 3), round(high, 3)
    (0.445, 0.557)
    """
    if belief.pulls < 2:
        return Interval(-math.inf, math.inf)
    mean, unseen = belief.mean_reward, _unseen(belief, confidence)
    least, most = (mean + unseen * (end - mean) for end in (lowest, highest))
    low, _ = fieller_interval(belief._replace(mean_reward=least), confidence)
    _, high = fieller_interval(belief._replace(mean_reward=most), confidence)
    return Interval(low, high)


def verdicts(best: int, below: Sequence[Sequence[int]], heavy: Sequence[bool], courses: Sequence[Course]) -> list[str]:
    """The verdict on each arm: best so far, ruled out, behind, or open; `below` are the arms that each is below.

    Behind: below others, but in doubt. The reason can be that the costs of all those others are `heavy`: their variance
    looks infinite, so that less is certain than it seems. Or those others were not ahead all along, so that the order
    may have changed by now.
    """
    found = []
    for arm, above in enumerate(below):
        if arm == best:
            found.append(BEST)
        elif any(not heavy[k] and courses[arm].below(courses[k]) for k in above):
            found.append(OUT)
        else:
            found.append(DOUBTFUL if above else OPEN)
    return found


def slack_of(belief: Belief, confidence: float, lowest: float, highest: float) -> tuple[float, float]:
    """By how much a rate may be higher and lower because rewards that were all the same may yet differ; else 0.

    >>> slack_of(Belief(0, 100, 1.0, 0.0, 0.0, 0.0, 0.0), 0.95, 0.0, 1.0)
    (0.036..., 0.0)
    """
    unseen = _unseen(belief, confidence) / belief.mean_cost if belief.mean_cost > 0.0 else 0.0
    return unseen * (highest - belief.mean_reward), unseen * (belief.mean_reward - lowest)


def _unseen(belief: Belief, confidence: float) -> float:
    """The largest chance of a reward that n rows may well have missed, where all of theirs are the same; else 0."""
    return -math.expm1(math.log(0.5 - confidence / 2.0) / belief.pulls) if belief.var_reward == 0.0 else 0.0
