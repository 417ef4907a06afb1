"""D* of arms whose means alone move: Gaussian, Student's t, lines, positive laws up to scale, exponential families.

For Gaussian arms it is the distance from the mean to the cone of better means, with the covariance known or not; for
Student's t of known covariance and tail the location moves likewise, at another price.

Positive arms (exponential, gamma, lognormal, Pareto) are known up to the scales of cost and reward. Means are
proportional to scales, and divergences convex in their logarithms. If the cost's rises by u, E[R] ≥ rE[X] + ν asks the
reward's to rise by w(u) = ln((rXeᵘ + ν)/R), which is convex, too: D* is a search over one number. A mean cost > 0 asks
for nothing. Where a request is worth nothing (ν = 0), w(u) − u is the constant ln(r/r_k).
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from outlay.arms import Exponential, Gamma, Gaussian, Linear, Lognormal, Pareto, StudentT
from outlay.checks import Vector, real, vector
from outlay.errors import BadParameter, NotCovered, needed
from outlay.theory.divergence_bounded import binary_kl, log_remainder

_Kl = Callable[[float], float]  # by how much a logarithmic scale moves

_ROUNDING = 1e-12  # relative difference of two products that are equal

_PRECISION = 1e-9  # of the minimiser; the minimum is then right to the square of that
_SINGULAR = 1e-28  # relative size of a variance that only rounding tells from 0
_LARGEST_EXPONENT = 700.0  # of exp

RATES = {"at_least": -1e100, "at_most": 1e100}  # beyond them squares of the means may overflow
_STEPS = 10  # from the arm's own means to those asked for; each solution starts the next search
_DIFFERENCE = 1e-5  # relative step of the second differences that scale the search
_CONSTRAINT_PRECISION = 1e-7  # of the constraints at the end, relative to a standard deviation
_NONE = "the search for the nearest better law of its exponential family found none"

# Expectations over a standard exponential: E f(T) = Σ weights·f(nodes), T = eˢ on an even grid of s. The integrand
# eˢ exp(−eˢ) f(eˢ) vanishes fast at both ends, where such sums are as exact as rounding allows for f smooth in ln T.
_LOG = np.arange(-40.0, 6.5, 1.0 / 16.0)
EXPONENTIAL = np.exp(_LOG)
WEIGHTS = np.exp(_LOG - EXPONENTIAL) / 16.0
EXPONENTIAL.setflags(write=False)
WEIGHTS.setflags(write=False)


def known_covariance(law: Gaussian, rate: float, worth: float = 0.0) -> float:
    """D* = (rX + ν − R)²/(2 Var(R − rX)) at the means (Corollary 1, where ν = 0), or the distance to the origin.

    The squared Mahalanobis distance from the mean to the half-plane {reward ≥ r·cost + ν}, halved: that is all where a
    request has a worth ν. Where it has none, means are in the cone {cost ≥ 0, reward ≥ r·cost}. If the nearest point of
    the half-plane has a negative cost, no point on a single edge of the cone is nearest (the mean's own cost is
    positive), which leaves the corner: no law's mean, but laws come arbitrarily near it. Not so for a singular
    covariance, whose means lie on a line: ∞ unless it meets the cone beside the corner.
    """
    shortfall = rate * law.cost + worth - law.reward
    covariance = law.correlation * law.cost_sd * law.reward_sd
    uncorrelated = 1 - law.correlation**2
    variance = (law.reward_sd - rate * law.correlation * law.cost_sd) ** 2 + uncorrelated * (rate * law.cost_sd) ** 2
    if variance == 0:
        return math.inf
    halved = shortfall**2 / (2 * variance)
    if law.cost_sd == 0 or worth > 0 or law.cost <= 0:
        return halved
    if law.reward_sd == 0 or uncorrelated == 0:
        return halved if _line_reaches(law, rate) else math.inf
    # The projected cost times the variance, without the terms that cancel.
    projected = law.cost * (law.reward_sd**2 - rate * covariance) + law.reward * (rate * law.cost_sd**2 - covariance)
    if projected >= 0:
        return halved
    x, y = law.cost / law.cost_sd, law.reward / law.reward_sd
    return (x**2 - 2 * law.correlation * x * y + y**2) / (2 * uncorrelated)


def _line_reaches(law: Gaussian, rate: float) -> bool:
    """Whether (cost, reward) + t·(cost_sd, ±reward_sd) meets reward = rate·cost at a cost above 0.

    That cost is (±cost·reward_sd − reward·cost_sd)/(±reward_sd − rate·cost_sd); 0 if the line goes through the origin.
    """
    slope = law.correlation * law.reward_sd
    one, other = law.cost * slope, law.reward * law.cost_sd
    if abs(one - other) <= _ROUNDING * (abs(one) + abs(other)):
        return False
    return (one > other) == (slope > rate * law.cost_sd)


def unknown_covariance(law: Gaussian, rate: float, worth: float = 0.0) -> float:
    """D* = ½ ln(1 + 2D), D as with the covariance known: ½ ln(1 + (rX + ν − R)²/Var(R − rX)) away from the corner.

    For a mean at distance d the cheapest covariance is Σ + ddᵀ, and leaves KL = ½ ln(1 + dᵀΣ⁻¹d), which grows with the
    Mahalanobis distance: the nearest mean is the same. A singular covariance keeps its line, and D = ∞ stays ∞.
    """
    return 0.5 * math.log1p(2 * known_covariance(law, rate, worth))


def known_spread(law: StudentT, rate: float, worth: float = 0.0) -> float:
    """KL between two t laws grows with the Mahalanobis distance of their means alone, so the nearest is the Gaussian's.

    With δ the distance by the scale matrix Σ(ν−2)/ν and κ = δ²/ν, the average of ln(1 + |T − δ|²/ν) over the direction
    of T leaves KL = (ν+2)/2 · E ln(½(A + κ + √((A−κ)² + 4κ))/A), A = U^(−2/ν) with U uniform. As ν → ∞ this is δ²/2,
    and for small δ it is (ν+2)/(ν+4) of that.
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


def known_cost(law: Linear, rate: float, worth: float = 0.0) -> float:
    """D* = (rμ + ν − E[R])²/(2 noise_sd²): cost law and noise known, the line unknown; it is cheapest to raise it.

    Moving intercept and slope by a and b costs E(a + bX)²/(2 noise_sd²), at least (a + bμ)²/(2 noise_sd²).
    """
    cost, reward, *_ = law.moments()
    return (rate * cost + worth - reward) ** 2 / (2 * law.noise_sd**2) if law.noise_sd > 0 else math.inf


def as_gaussian(law: Linear) -> Gaussian:
    """The same law, for a Gaussian or constant cost, by its means, standard deviations and correlation."""
    cost, reward, var_cost, var_reward, cov = law.moments()
    spread = math.sqrt(var_cost) * math.sqrt(var_reward)
    correlation = max(-1.0, min(1.0, cov / spread)) if spread > 0 else 0.0
    if spread > 0 and law.noise_sd == 0:
        correlation = math.copysign(1.0, law.slope)
    return Gaussian(cost, reward, math.sqrt(var_cost), math.sqrt(var_reward), correlation)


def exponentials(law: Exponential, rate: float, worth: float = 0.0) -> float:
    """Independent exponentials; where ν = 0, D* = ln((1 + s)²/(4s)), s = r_k/r."""
    return _nearest(law, rate, worth, partial(gamma_kl, 1.0), partial(gamma_kl, 1.0))


def known_shapes(law: Gamma, rate: float, worth: float = 0.0) -> float:
    """Independent gammas of known shapes a and b; where ν = 0, D* = (a+b) ln((a + bs)/(a+b)) − b ln s, s = r_k/r."""
    a, b = (law.cost / law.cost_sd) ** 2, (law.reward / law.reward_sd) ** 2
    return _nearest(law, rate, worth, partial(gamma_kl, a), partial(gamma_kl, b))


def known_tails(law: Pareto, rate: float, worth: float = 0.0) -> float:
    """Independent Paretos of known tail indices."""
    return _nearest(law, rate, worth, partial(pareto_kl, law.cost_tail), partial(pareto_kl, law.reward_tail))


def known_log_covariance(law: Lognormal, rate: float, worth: float = 0.0) -> float:
    """Jointly normal logarithms of known covariance; where ν = 0, D* = ln²(r/r_k)/(2 Var(ln R − ln X)).

    The pairs (u, w) of better laws are a convex set, so its distance is that of the farthest half-plane that holds it.
    At the slope p of w, the share of rX in rX + ν, that is w − pu ≥ w(0) − kl(p, p₀), p₀ = rX/(rX + ν), hence
    D* = max_p (w(0) − kl(p, p₀))²/(2 Var(ln R − p ln X)): a concave over a convex function, which has one peak.
    """
    from scipy.optimize import brentq, minimize_scalar

    s, t, c = law.cost_sigma, law.reward_sigma, law.log_correlation
    rise, share = rise_of(law, rate, worth, 0.0), rate * law.cost / (rate * law.cost + worth)

    def offset(p: float) -> float:
        return rise - binary_kl(p, share - p)

    def distance(p: float) -> float:
        variance = (t - p * c * s) ** 2 + (1.0 - c) * (1.0 + c) * (p * s) ** 2
        return offset(p) ** 2 / (2 * variance) if variance > _SINGULAR * (t * t + s * s) else math.inf

    if share in (0.0, 1.0):
        return distance(share)
    low, high = (end if offset(end) >= 0 else float(brentq(offset, share, end)) for end in (0.0, 1.0))
    flattest = min(max(c * t / s, low), high) if s > 0 else low
    if distance(flattest) == math.inf and offset(flattest) > 0:
        return math.inf
    width = _PRECISION * (high - low)
    return -float(minimize_scalar(lambda p: -distance(p), bounds=(low, high), options={"xatol": width}).fun)


def rise_of(law: Exponential | Gamma | Lognormal | Pareto, rate: float, worth: float, u: float) -> float:
    """w(u), exact where it is small and where it is large."""
    shortfall = rate * law.cost + worth - law.reward
    if shortfall > law.reward:
        return math.log(rate * law.cost * math.exp(u) + worth) - math.log(law.reward)
    return math.log1p((shortfall + rate * law.cost * math.expm1(u)) / law.reward)


def _nearest(law: Exponential | Gamma | Pareto, rate: float, worth: float, cost_kl: _Kl, reward_kl: _Kl) -> float:
    """The least of cost_kl(u) + reward_kl(w(u)) over u ≤ 0, which is convex in u; a reward need not fall."""
    from scipy.optimize import minimize_scalar

    rise, dues = rise_of(law, rate, worth, 0.0), rate * law.cost
    shortfall = dues + worth - law.reward
    most = 1.0 if worth == 0 else math.inf  # the −u/rise at which the reward need not rise at all
    if worth > 0 and shortfall < dues:
        most = -math.log1p(-shortfall / dues) / rise

    def both(share: float) -> float:
        u = -share * rise
        return cost_kl(u) + reward_kl(max(0.0, rise_of(law, rate, worth, u)))

    if rate == 0:
        return both(0.0)
    end = min(1.0, most)
    while both(end) > both(0.0):
        end /= 2.0
    while both(2.0 * end) < both(end):
        end *= 2.0
    last = min(2.0 * end, most)  # convex: the least is not beyond
    close = _PRECISION * last
    return float(minimize_scalar(both, bounds=(0.0, last), method="bounded", options={"xatol": close}).fun)


def gamma_kl(shape: float, log_scale: float) -> float:
    """KL from a gamma law to one whose scale is larger by the factor exp(log_scale): a(u + e⁻ᵘ − 1)."""
    if log_scale < -_LARGEST_EXPONENT:
        return math.inf
    if abs(log_scale) > 1.0:
        return shape * (log_scale + math.expm1(-log_scale))
    return -shape * float(log_remainder(-math.expm1(-log_scale)))


def pareto_kl(tail: float, log_scale: float) -> float:
    """KL from a Pareto (Lomax) law to one whose scale is larger by the factor exp(log_scale).

    u − (a+1) E ln((1 + X)/(1 + X e⁻ᵘ)) = −L(g) + (a+1) E L(gY), with L(x) = ln(1 − x) + x, g = 1 − e⁻ᵘ and
    Y = X/(1 + X) = 1 − exp(−T/a), T a standard exponential: the terms of first order in u cancel.
    """
    if abs(log_scale) > 5.0:  # the linear terms would cancel; 1 − gY = 1 − Y + Y e⁻ᵘ
        log_y = np.log(-np.expm1(-EXPONENTIAL / tail))
        return log_scale + (tail + 1.0) * float(WEIGHTS @ np.logaddexp(-EXPONENTIAL / tail, log_y - log_scale))
    g = -math.expm1(-log_scale)
    inner = float(WEIGHTS @ log_remainder(-g * np.expm1(-EXPONENTIAL / tail)))
    return (tail + 1.0) * inner - float(log_remainder(g))


@needed("theory.exponential_family")
def exponential_family(
    natural: ArrayLike,
    log_partition: Callable[[Vector], float],
    means: Callable[[Vector], Vector],
    rate: float,
    worth: float = 0.0,
) -> float:
    """D* = min A(η') − A(η) − (η' − η)·∇A(η) over η' with ∇A(η')₂ ≥ r·∇A(η')₁ + ν, and ∇A(η')₁ ≥ 0 where ν = 0.

    The divergence is convex in η' but the constraint on the means is not, so no dual gives D*. The minimum is followed
    from the arm's own means, where it is η itself: what is found is a local minimum, connected to it.

    Args:
        natural: η, inside the family's domain.
        log_partition: A, `math.inf` outside the domain.
        means: ∇A, the means of the statistics, of which the first two are the cost and the reward.
        rate: r, the price of money; above the arm's own rate where `worth` is 0.
        worth: ν ≥ 0, the worth of a request.

    Two independent Poisson counts of means 1 and ½, against the rate 1 (both means become ¾):

    >>> eta = np.log([1.0, 0.5])
    >>> D = exponential_family(eta, lambda eta: np.exp(eta).sum(), np.exp, rate=1.0)
    >>> round(D, 9), round(math.log(4 / 3) + math.log(2 / 3) / 2, 9)
    (0.084949518, 0.084949518)
    """
    from scipy.optimize import minimize

    start = vector("exponential_family", "natural", natural)
    rate = real("exponential_family", "rate", rate, **RATES)
    worth = real("exponential_family", "worth", worth, at_least=0)
    for name, given in (("log_partition", log_partition), ("means", means)):
        if not callable(given):
            raise BadParameter("exponential_family", name, "a function of the natural parameters", given)
    if len(start) < 2:
        raise BadParameter("exponential_family", "natural", "at least two numbers", natural)
    at_start, mean = log_partition(start), np.asarray(means(start))
    cost_sd, reward_sd = np.sqrt(np.diag(_covariance(start, means))[:2])

    def distance(eta: Vector) -> float:
        value = float(log_partition(eta) - at_start - (eta - start) @ mean)
        return value if math.isfinite(value) else math.inf

    # What the means must have a product with of at least a level and 0: reward − r·cost and cost, in their spreads.
    spreads = np.array([reward_sd + abs(rate) * cost_sd, cost_sd])
    rows = np.zeros((2 if worth == 0 and mean[0] > 0 else 1, len(start)))
    rows[:, :2] = np.array([[-rate, 1.0], [1.0, 0.0]])[: len(rows)] / spreads[: len(rows), None]

    def beyond(eta: Vector, level: float) -> Vector:
        least: Vector = rows @ means(eta)
        least[0] -= level / spreads[0]
        return least

    def step(centre: Vector, level: float) -> Vector:
        """The nearest parameter of this level, searched from `centre` in steps of its standard deviations."""
        try:
            spread = np.linalg.cholesky(np.linalg.inv(_covariance(centre, means)))
        except np.linalg.LinAlgError:  # the search has gone to the end of the domain
            raise NotCovered(_NONE) from None
        better = {
            "type": "ineq",
            "fun": lambda y: np.nan_to_num(beyond(centre + spread @ y, level)),
            "jac": lambda y: rows @ _covariance(centre + spread @ y, means) @ spread,
        }
        found = minimize(  # type: ignore[call-overload]
            lambda y: distance(centre + spread @ y),
            np.zeros_like(centre),
            jac=lambda y: (means(centre + spread @ y) - mean) @ spread,
            constraints=better,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 300},
        )
        return centre + spread @ found.x  # type: ignore[no-any-return]

    eta = start
    for level in np.linspace(mean[1] - rate * mean[0], worth, _STEPS + 1)[1:]:
        eta = step(eta, level)
    if not (beyond(eta, worth) > -_CONSTRAINT_PRECISION).all():
        raise NotCovered(_NONE)
    return distance(eta)


def _covariance(natural: Vector, means: Callable[[Vector], Vector]) -> Vector:
    """The covariance of the statistics: ∇²A, by central differences of ∇A."""
    step = _DIFFERENCE * (1.0 + np.abs(natural))
    rows = np.array([np.subtract(means(natural + h), means(natural - h)) / (2 * h.sum()) for h in np.diag(step)])
    covariance: Vector = (rows + rows.T) / 2
    return covariance
