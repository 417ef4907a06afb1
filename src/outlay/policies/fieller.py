"""Fieller's limit of the rate with everything unknown: Student's bound on R − rX, inverted."""

import math
from typing import Literal

from outlay.beliefs import Belief
from outlay.formulas.fieller_limit import fieller_limit
from outlay.parameters import Parameters, choice, derived, number
from outlay.policies.protocol import RisingScore

FEWEST = 5  # pulls before sample moments stand for the true ones
LARGEST = 600.0  # exponents above it are as good as infinite, and exp would overflow


class Fieller(RisingScore, Parameters):
    """The largest rate r for which the mean of R − rX could still be 0, everything being learnt from the samples.

    With T pulls of the arm, X̄ and R̄ its means, V̂(R − rX) = V̂(R) − 2r·Ĉov + r²V̂(X) its biased sample variance,
    ℓ = α·ln n:

        score = max{ r : R̄ − rX̄ + √(g·V̂(R − rX)) ≥ 0 }, in closed form; ∞ where X̄ ≤ √(g·V̂(X))
        student: g = exp(2ℓ/(T − 2)) − 1, ∞ while T ≤ 2          plugin: g = 2ℓ/T, ∞ while T < 5

    Guarantee, student: for Gaussian pairs P(score < rate) ≤ ½·exp(−ℓ) at every T > 2, whatever the covariance. Both
    forms: the same for all pairs with finite variances, in the limit of large T. Plug-in explores less at first, and
    now and then a run stays with a wrong arm for a long time. Both are too sure of samples that lie on a line through
    the origin: where rewards are rare, an arm may be given up for ever after a few zeros. Scaling all costs or all
    rewards changes no choice.

    Args:
        alpha: α > 0; larger explores more.
        form: "student" or "plugin".

    >>> belief = Belief(arm=0, pulls=100, mean_cost=1.0, mean_reward=0.8, var_cost=0.04, var_reward=0.09, cov=0.03)
    >>> round(Fieller().score(belief, log_n=5.0), 6)
    0.885618
    >>> round(Fieller(form="plugin").score(belief, log_n=5.0), 6)
    0.882585

    Reference: docs/test-inversion.md; E. C. Fieller, "Some problems in interval estimation", Journal of the Royal
    Statistical Society B 16 (1954), for the limits of a ratio of means.
    """

    alpha: float = number(default=1.0, above=0)
    form: Literal["student", "plugin"] = choice("student", "plugin", default="student")

    plugin: bool = derived(lambda given: given.form == "plugin")

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        level = 2.0 * self.alpha * log_n
        if self.plugin:
            if belief.pulls < FEWEST:
                return math.inf
            return fieller_limit(belief.mean_cost, belief.mean_reward, belief, level / belief.pulls)
        if belief.pulls <= 2:
            return math.inf
        exponent = level / (belief.pulls - 2)
        if exponent > LARGEST:
            return math.inf
        return fieller_limit(belief.mean_cost, belief.mean_reward, belief, math.expm1(exponent))
