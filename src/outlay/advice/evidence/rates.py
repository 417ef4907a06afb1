"""What a log says of the arms' rates: Fieller's interval for each, and which arms are out of the race."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from outlay.advice.evidence.drift import Course
from outlay.beliefs import Belief
from outlay.formulas.fieller_limit import fieller_interval

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
    mean, unseen = belief.mean_reward, 0.0
    if belief.var_reward == 0.0:
        unseen = -math.expm1(math.log(0.5 - confidence / 2.0) / belief.pulls)
    least, most = (mean + unseen * (end - mean) for end in (lowest, highest))
    low, _ = fieller_interval(belief._replace(mean_reward=least), confidence)
    _, high = fieller_interval(belief._replace(mean_reward=most), confidence)
    return Interval(low, high)


def verdicts(
    beliefs: Sequence[Belief], intervals: Sequence[Interval], heavy: Sequence[bool], courses: Sequence[Course]
) -> list[str]:
    """The verdict on each arm: best so far, ruled out, behind, open, or free where its mean cost is not above 0.

    Ruled out: even the upper end of its rate is below the lower end of another's. Behind: the same, but in doubt. The
    reason can be that the costs of all those others are `heavy`: their variance looks infinite, so their intervals are
    too short. Or those others were not ahead all along the file, so that the order may have changed by now.
    """
    rates = [b.mean_reward / b.mean_cost if b.mean_cost > 0.0 else -math.inf for b in beliefs]
    found = []
    for belief, rate, interval, course in zip(beliefs, rates, intervals, courses, strict=True):
        above = [k for k, other in enumerate(intervals) if interval.high < other.low]
        if not belief.mean_cost > 0.0:
            found.append(FREE)
        elif rate == max(rates) and BEST not in found:
            found.append(BEST)
        elif any(not heavy[k] and course.below(courses[k]) for k in above):
            found.append(OUT)
        else:
            found.append(DOUBTFUL if above else OPEN)
    return found
