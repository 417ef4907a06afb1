"""Student's t arms of known covariance and tail: the location moves, as for Gaussians, at another price."""

import math

import numpy as np

from outlay.arms import Gaussian, StudentT
from outlay.theory.divergences.gaussian import known_covariance
from outlay.theory.divergences.quadrature import EXPONENTIAL, WEIGHTS


def known_spread(law: StudentT, rate: float, worth: float = 0.0) -> float:
    """KL between two t laws grows with the Mahalanobis distance of their means alone, so the nearest is the Gaussian's.

    With δ the distance by the scale matrix Σ(ν−2)/ν and κ = δ²/ν, the average of ln(1 + |T − δ|²/ν) over the direction
    of T leaves KL = (ν+2)/2 · E ln(½(A + κ + √((A−κ)² + 4κ))/A), A = U^(−2/ν) with U uniform. As ν → ∞ this is δ²/2,
    and for small δ it is (ν+2)/(ν+4) of that.

    >>> known_spread(StudentT(1.0, 0.5, 0.5, 0.5, tail=1e9), 1.0), known_covariance(Gaussian(1.0, 0.5, 0.5, 0.5), 1.0)
    (0.2499999..., 0.25)
    """
    gaussian = Gaussian(law.cost, law.reward, law.cost_sd, law.reward_sd, law.correlation)
    half = known_covariance(gaussian, rate, worth)
    kappa = 2 * half / (law.tail - 2)
    if kappa == math.inf:
        return math.inf
    if law.cost_sd == 0 or law.reward_sd == 0 or abs(law.correlation) == 1:
        return _on_a_line(law.tail, kappa)
    a = np.exp(EXPONENTIAL * (2 / law.tail))
    root = np.hypot(a - kappa, 2 * math.sqrt(kappa))
    rise = np.where(a > kappa, 2 * kappa / (root + np.abs(a - kappa)), 0.5 * (root + kappa - a))
    return (law.tail + 2) / 2 * float(WEIGHTS @ np.log1p(rise / a))


def _on_a_line(tail: float, kappa: float) -> float:
    """The same in one dimension: (ν+1)/2 · E ½ ln(((A−κ)² + 4κ)/A²), A = 1 + T²/ν, averaged over the sign of T."""
    from scipy.integrate import quad
    from scipy.special import stdtrit

    def integrand(u: float) -> float:
        a = 1 + float(stdtrit(tail, u)) ** 2 / tail
        return math.log1p(kappa * (kappa - 2 * a + 4) / a**2)

    mean, _ = quad(integrand, 0.0, 0.5, epsabs=0.0, epsrel=1e-9, limit=200)
    return (tail + 1) / 2 * mean
