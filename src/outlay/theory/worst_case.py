"""Regret that no policy avoids on every problem, at any budget and without gaps: of the order √(K·B).

Take K arms that all have the law of the problem's best arm, and make one of them better by ε: a policy cannot know
which, and at small ε it does not find out before the budget is spent. docs/lower-bounds.md has the proof.
"""

import math
from collections.abc import Callable

from outlay.arms import Problem
from outlay.arms.problem import checked_problem
from outlay.checks import real
from outlay.errors import NotCovered
from outlay.extras import needed
from outlay.theory.arm_rates import rates
from outlay.theory.divergences import divergence

_PARTS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9999, 0.99999, 1.0)  # of B/μ, for n
_FIRST = 1e-9  # the first ε to try is at least this part of the rate: nearer to it, D would be rounding
_FINE = 1e-3  # precision of ε, relative: the peak is flat
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_FAR = 1e100  # a divergence that is as good as infinite


@needed("theory.worst_case_bound")
def worst_case_bound(problem: Problem, budget: float, *, model: str | None = None) -> float:
    """Regret that every policy has on some problem of K arms, all with the law of the best arm, one made better.

    With μ, Var(X) and r the mean cost, its variance and the rate of the best arm, D(ε) its divergence from rate r + ε
    in its model (`divergence`), n a whole number below B/μ (those of a grid are tried) and p = n·Var(X)/(B − nμ)²,

        max over n and ε ≤ max(|r|, √Var(R − rX)/μ) of  ε·μ·n·((1 − 1/K)·(1 − p) − √(n·D(ε)/(2K))),

    which is about ½(1 − 1/K)²·√(K·B·Var(R − rX)/μ) for large budgets. Regret is Σ_k E[T_k]μ_kΔ_k, as in `Result`.
    0 for a single arm, for a best arm that cannot be better within its model, for budgets of a pull or two, and for
    those so large (10²⁴ pulls) that rounding hides an ε as small as that.

    >>> from outlay.arms import Bernoulli, Gaussian, Problem
    >>> problem = Problem([Gaussian(1.0, 1.0, 0.0, 1.0), Gaussian(1.0, 0.9, 0.0, 1.0)])
    >>> round(worst_case_bound(problem, 1e4), 2), math.sqrt(2 * 1e4) / 8
    (17.68, 17.67766952966369)
    """
    budget = real("worst_case_bound", "budget", budget, above=0)
    found = rates(checked_problem("worst_case_bound", problem))
    law, arms = problem.arms[found.best], len(problem)
    mean, variance = float(found.mean_cost[found.best]), float(problem.second_moments()["var_cost"][found.best])
    sd = math.sqrt(float(found.sigma2[found.best]))
    if not math.isfinite(variance + sd):
        raise NotCovered(f"the worst case is for arms of finite variances; arm {problem.names[found.best]!r} has none")
    pulls, share = _pulls(budget, mean, variance, arms)
    if not pulls or arms == 1:
        return 0.0

    def gain(gap: float) -> float:
        distance = min(_FAR, divergence(law, found.best_rate + gap, model))
        return gap * (share - math.sqrt(pulls / (2.0 * arms) * distance))

    # Where D(ε) is (με)²/(2σ²), nothing is left at this ε, and half of it is best.
    rate, end = abs(found.best_rate), share * 2.0 * sd * math.sqrt(arms / pulls) / mean
    end, most = max(end, _FIRST * rate), max(rate, sd / mean)
    while end < most and gain(end) > 0:
        end *= 2.0
    end = min(end, most)
    return mean * pulls * _peak(gain, end)


def _peak(gain: Callable[[float], float], end: float) -> float:
    """The largest gain from 0 to `end`, where it rises to one peak: golden sections; 0 if nothing is above it."""
    low, high = 0.0, end
    one, other = end * (1.0 - _GOLDEN), end * _GOLDEN
    at_one, at_other = gain(one), gain(other)
    while high - low > _FINE * end:
        if at_one > at_other:
            high, other, at_other = other, one, at_one
            one = high - _GOLDEN * (high - low)
            at_one = gain(one)
        else:
            low, one, at_one = one, other, at_other
            other = low + _GOLDEN * (high - low)
            at_other = gain(other)
    return max(0.0, at_one, at_other)


def _pulls(budget: float, mean: float, variance: float, arms: int) -> tuple[int, float]:
    """The n, with its (1 − 1/K)(1 − p), for which n·((1 − 1/K)(1 − p))²/√n, which is what counts, is largest."""
    found = []
    for part in _PARTS:
        pulls = max(0, math.ceil(part * budget / mean) - 1)
        left = budget - pulls * mean
        late = pulls * variance / (left * left) if left * left > 0 else math.inf  # rounding may leave nothing
        share = (1.0 - 1.0 / arms) * max(0.0, 1.0 - late)
        found.append((math.sqrt(pulls) * share * share, pulls, share))
    return max(found)[1:]
