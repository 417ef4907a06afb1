"""E[N(B)] of continuous costs between two sums on a grid: exact ends for small budgets, where expansions are not."""

import math

import numpy as np

from outlay.arms import AnyLaw, Beta, Gamma, Gaussian, Lognormal, Pareto, Uniform
from outlay.checks import Vector

_STEPS = 4096  # of the grid from 0 to B
_FARTHEST = 64.0  # mean costs; beyond, the expansion is closer than the grid


def distribution(law: AnyLaw, levels: Vector) -> Vector | None:
    """P(X ≤ x) of a continuous cost that is never negative, at rising levels x ≥ 0; None where it is not known here.

    >>> distribution(Uniform(0.0, 2.0, 0.0, 1.0), np.array([0.5, 1.0, 3.0]))
    array([0.25, 0.5 , 1.  ])
    """
    from scipy.special import betainc, gammainc, ndtr

    match law:
        case Uniform() if law.cost_high > law.cost_low >= 0:
            return np.clip((levels - law.cost_low) / (law.cost_high - law.cost_low), 0.0, 1.0)
        case Gamma():
            shape = (law.cost / law.cost_sd) ** 2
            return np.asarray(gammainc(shape, levels * shape / law.cost))
        case Lognormal() if law.cost_sigma > 0:
            with np.errstate(divide="ignore"):
                z = (np.log(levels / law.cost) + law.cost_sigma**2 / 2.0) / law.cost_sigma
            return np.asarray(ndtr(z))
        case Pareto():
            return np.asarray(-np.expm1(-law.cost_tail * np.log1p(levels / ((law.cost_tail - 1.0) * law.cost))))
        case Beta():
            share = law.cost / law.cost_bound
            size = share * (1.0 - share) * (law.cost_bound / law.cost_sd) ** 2 - 1.0
            return np.asarray(betainc(share * size, (1.0 - share) * size, np.minimum(levels / law.cost_bound, 1.0)))
    return None


def enclosed_pulls(law: AnyLaw, budget: float) -> tuple[float, float] | None:
    """Numbers that E[N(B)] lies between: costs rounded up to a grid spend the budget sooner, rounded down later.

    None where the law's distribution is not known here, or the budget is so large that the grid is coarse.

    >>> low, high = enclosed_pulls(Uniform(0.0, 2.0, 0.0, 1.0), 1.0)
    >>> low < math.exp(0.5) < high < low * 1.001
    True
    """
    from scipy.signal import lfilter

    if budget > _FARTHEST * law.moments()[0]:
        return None
    reached = distribution(law, np.linspace(0.0, budget * (1.0 + 1.0 / _STEPS), _STEPS + 2))
    if reached is None:
        return None
    chances, ends = np.diff(reached), []
    for steps in (np.append(0.0, chances[:-1]), chances):  # P(0), P(h), …, P(B), rounded up and down
        paid = 1.0 - steps[0]
        if paid <= 0:
            return None
        pulls = lfilter([1.0], np.append(1.0, -steps[1:] / paid), np.full(_STEPS + 1, 1.0 / paid))
        ends.append(float(pulls[-1]))
    return ends[0] * (1.0 - 1e-9), ends[1] * (1.0 + 1e-9)


def gaussian_sums(law: Gaussian, most: int) -> tuple[float, float] | None:
    """Σ_n E[S_n⁻]/n and E[N(0)] = exp Σ_n P(S_n ≤ 0)/n for S_n ~ N(nμ, nσ²) (Spitzer); None if too many terms matter.

    E[S_n⁻] = σ√n·φ(z) − nμ·Φ(−z) with z = μ√n/σ.
    """
    from scipy.special import ndtr

    ratio = law.cost_sd / law.cost
    terms = 100.0 * ratio * ratio  # beyond, z > 10
    if terms > most:
        return None
    n = np.arange(1.0, math.ceil(terms) + 1.0)
    z = law.cost * np.sqrt(n) / law.cost_sd
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    refunds = float(np.sum(law.cost_sd / np.sqrt(n) * density - law.cost * ndtr(-z)))
    return refunds, math.exp(float(np.sum(ndtr(-z) / n)))
