"""How far estimates of a rate, a slope and a variance can be off (Propositions 5 and 6, Appendix F).

Each function gives a radius that is exceeded with at most the stated chance, or raises `NotCovered` when there are
too few samples for it to hold. Two conditions differ from the printed ones, which fail (docs/errata.md shows how):
Proposition 5 needs Var(X)/E[X]², not Var(X); Proposition 6 needs M_Z ≥ M_R + |ω|M_X, not M_R + ωM_X.
"""

import math

from outlay.checks import real, whole
from outlay.errors import BadParameter, NotCovered
from outlay.theory.finite import finite
from outlay.theory.rate_estimation import STRETCH

SLOPE_STRETCH = 1.0 + 0.5 / math.sqrt(2.0)  # λ of Proposition 6
_ROUNDING = 1e-9  # relative


def blocks(chance: float) -> int:
    """The number m = ⌊3.5·ln(1/δ)⌋ + 1 of blocks whose median Proposition 5 takes.

    >>> blocks(0.01)
    17
    """
    return int(3.5 * _log_inverse("blocks", chance)) + 1


def median_rate_radius(
    samples: int,
    chance: float,
    mean_cost: float,
    var_cost: float,
    rate_variance: float,
    stretch: float = STRETCH,
) -> float:
    """Radius of the median over blocks of the blocks' rates: exceeded with chance at most 1.4δ (Proposition 5).

    |r̄ − r| ≤ 22λ·√(σ²·ln(1/δ)/s)/E[X], once s ≥ 135·(λ/(λ−1))²·Var(X)/E[X]²·ln(1.4/δ) and every block has a sample.
    The printed condition lacks E[X]²: it changes with the unit of the cost.

    Args:
        samples: s, in m = ⌊3.5·ln(1/δ)⌋ + 1 blocks of ⌊s/m⌋.
        chance: δ in (0, 1).
        mean_cost: E[X] > 0.
        var_cost: Var(X).
        rate_variance: σ² ≥ Var(R − rX), r the arm's own rate; the paper's σ_k² is such a bound where ω_k ≤ r_k.
        stretch: λ > 1.

    >>> median_rate_radius(samples=20_000, chance=0.01, mean_cost=1.0, var_cost=0.25, rate_variance=0.04)
    0.0854...
    >>> median_rate_radius(samples=1_000, chance=0.01, mean_cost=1.0, var_cost=0.25, rate_variance=0.04)
    Traceback (most recent call last):
    outlay.errors.NotCovered: Proposition 5 needs samples ≥ 3486; got 1000
    """
    owner = "median_rate_radius"
    log = _log_inverse(owner, chance)
    mean_cost = real(owner, "mean_cost", mean_cost, above=0)
    var_cost = real(owner, "var_cost", var_cost, at_least=0)
    stretch = real(owner, "stretch", stretch, above=1)
    rate_variance = real(owner, "rate_variance", rate_variance, at_least=0)
    relative = stretch / (stretch - 1.0) * math.sqrt(var_cost) / mean_cost
    needed = max(135.0 * relative * relative * (log + math.log(1.4)), blocks(chance))
    samples = _enough(owner, "Proposition 5", samples, needed)
    return finite(owner, lambda: 22.0 * stretch / mean_cost * math.sqrt(rate_variance * log / samples))


def variance_radius(samples: int, chance: float, bound: float) -> float:
    """ν(X) of Appendix F: a sample variance (1/s) is this far below the true one with chance at most 3δ.

    Var(X) ≤ V̂ + M²·(√(ln(1/δ)/(2s)) + 7·ln(1/δ)/(6s)) for values in an interval of width M: V̂ is the mean of (X − μ)²
    less (X̄ − μ)², and Hoeffding's inequality bounds both (ln(1/δ)/(2s) would do for the second).

    Args:
        samples: s.
        chance: δ in (0, 1).
        bound: M.

    >>> variance_radius(samples=10_000, chance=0.01, bound=1.0)
    0.01571...
    """
    owner = "variance_radius"
    share = _log_inverse(owner, chance) / whole(owner, "samples", samples, at_least=1)
    bound = real(owner, "bound", bound, above=0)
    return finite(owner, lambda: bound**2 * (math.sqrt(share / 2.0) + 7.0 / 6.0 * share))


def slope_radius(samples: int, chance: float, var_cost: float, cost_bound: float, residual_bound: float) -> float:
    """Radius of the sample slope ω̂ = Ĉov/V̂(X): exceeded with chance at most 12δ (Proposition 6).

    |ω̂ − ω| ≤ λ·M_Z·M_X/Var(X)·√(ln(1/δ)/s), λ = 1 + 1/(2√2), once s ≥ 63·M_X⁴·ln(1/δ)/Var(X)².

    Args:
        samples: s, of pairs in [0, M_X] × [0, M_R].
        chance: δ in (0, 1).
        var_cost: Var(X) > 0; costs in [0, M_X] have at most M_X²/4.
        cost_bound: M_X.
        residual_bound: M_Z ≥ M_R + |ω|M_X.

    >>> slope_radius(samples=10_000, chance=0.01, var_cost=0.25, cost_bound=1.0, residual_bound=1.9)
    0.2207...
    """
    log, samples, var_cost, cost_bound, residual_bound = _slope_checked(
        "slope_radius", samples, chance, var_cost, cost_bound, residual_bound
    )
    radius = SLOPE_STRETCH * (residual_bound * (cost_bound / var_cost)) * math.sqrt(log / samples)
    return finite("slope_radius", lambda: radius)


def residual_variance_radius(
    samples: int, chance: float, var_cost: float, cost_bound: float, residual_bound: float
) -> float:
    """Radius of L̂ = V̂(R) − ω̂²V̂(X), the sample residual variance: exceeded with chance at most 18δ (Proposition 6).

    |L̂ − V| ≤ M_Z²·√(2·ln(1/δ)/s), under the condition and with the parameters of `slope_radius`.

    >>> residual_variance_radius(samples=10_000, chance=0.01, var_cost=0.25, cost_bound=1.0, residual_bound=1.9)
    0.1095...
    """
    log, samples, _, _, residual_bound = _slope_checked(
        "residual_variance_radius", samples, chance, var_cost, cost_bound, residual_bound
    )
    return finite("residual_variance_radius", lambda: residual_bound**2 * math.sqrt(2.0 * log / samples))


def _slope_checked(
    owner: str, samples: int, chance: float, var_cost: float, cost_bound: float, residual_bound: float
) -> tuple[float, int, float, float, float]:
    log = _log_inverse(owner, chance)
    var_cost = real(owner, "var_cost", var_cost, above=0)
    cost_bound = real(owner, "cost_bound", cost_bound, above=0)
    residual_bound = real(owner, "residual_bound", residual_bound, above=0)
    if math.sqrt(var_cost) > cost_bound / 2.0 * (1.0 + _ROUNDING):
        raise BadParameter(owner, "var_cost", f"at most cost_bound²/4, with cost_bound = {cost_bound:g}", var_cost)
    ratio = cost_bound / var_cost * cost_bound
    samples = _enough(owner, "Proposition 6", samples, 63.0 * ratio * ratio * log)
    return log, samples, var_cost, cost_bound, residual_bound


def _log_inverse(owner: str, chance: float) -> float:
    return -math.log(real(owner, "chance", chance, above=0, below=1))


def _enough(owner: str, proposition: str, samples: int, needed: float) -> int:
    samples = whole(owner, "samples", samples, at_least=1)
    if needed == math.inf:
        raise NotCovered(f"{proposition} needs more samples than a floating-point number can count; got {samples}")
    if samples < needed:
        raise NotCovered(f"{proposition} needs samples ≥ {math.ceil(needed)}; got {samples}")
    return samples
