"""Any exponential family: D* by a search of its natural parameters, for laws of your own."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from outlay.checks import Vector, real, vector
from outlay.errors import BadParameter, NotCovered
from outlay.extras import needed

RATES = {"at_least": -1e100, "at_most": 1e100}  # beyond them squares of the means may overflow
_STEPS = 10  # from the arm's own means to those asked for; each solution starts the next search
_DIFFERENCE = 1e-5  # relative step of the second differences that scale the search
_PRECISION = 1e-7  # of the constraints at the end, relative to a standard deviation
_NONE = "the search for the nearest better law of its exponential family found none"


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
    if not (beyond(eta, worth) > -_PRECISION).all():
        raise NotCovered(_NONE)
    return distance(eta)


def _covariance(natural: Vector, means: Callable[[Vector], Vector]) -> Vector:
    """The covariance of the statistics: ∇²A, by central differences of ∇A."""
    step = _DIFFERENCE * (1.0 + np.abs(natural))
    rows = np.array([np.subtract(means(natural + h), means(natural - h)) / (2 * h.sum()) for h in np.diag(step)])
    covariance: Vector = (rows + rows.T) / 2
    return covariance
