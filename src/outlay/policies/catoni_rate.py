"""Catoni's bound on R − rX, inverted: heavy tails, second moments unknown or known."""

import math

import numpy as np
from numpy.typing import ArrayLike

from outlay.beliefs import SampleBelief, Samples
from outlay.beliefs.samples import LEVEL, SIZE, START
from outlay.checks import Vector
from outlay.errors import BadParameter
from outlay.formulas.catoni_limit import catoni_limit
from outlay.formulas.known_moments import check_length, known, together
from outlay.parameters import Draft, Parameters, array, derived, number

STEPS = 4.0  # levels per unit of ℓ
UNKNOWN = np.array([np.inf])
UNKNOWN.setflags(write=False)


class CatoniRate(Parameters):
    """The largest rate r for which the mean of Z = R − rX could still be 0, by Catoni's influence function.

    With the arm's first T' samples, ψ(x) = ±ln(1 + |x| + x²/2) of the sign of x, ℓ = α·ln n rounded up to quarters and
    v = Σ Z_i²/T', or Var(R) − 2r·Cov + r²Var(X) where the second moments are given:

        score = the r at which Σ ψ(Z_i·√(2ℓ/(T'·v))) falls to −2ℓ; ∞ if at none, or while T' ≤ 2α·ln n

    T' is T with all but its three leading binary digits set to 0 (at most a fifth of the samples wait), so that a score
    is found anew only when T' or ℓ moves: O(1) work per pull, on average. A large sample counts by its logarithm.

    Guarantee: P(score < rate) ≤ exp(−ℓ) at every T for all pairs with R − rate·X symmetric about 0, whatever its tails;
    with second moments given, for all pairs that have them, or lesser ones. Else, with finite variances, ≤ ½·exp(−ℓ) in
    the limit of large T. All of it supposes that the sum falls through −2ℓ once only, which was always so in tests,
    except with given moments that the samples contradict.

    Args:
        alpha: α > 0; larger explores more.
        var_cost, var_reward, cov: variances and covariance of (cost, reward), a number or one per arm; None, the
            default, if they are unknown.

    >>> policy = CatoniRate()
    >>> memory = policy.memory(arms=1)
    >>> for i in range(20):
    ...     memory.observe(0, 2.0, 1.0 + 0.1 * (-1) ** i)
    >>> round(policy.score(memory.belief(0), log_n=2.0), 4)
    0.5292

    Reference: docs/test-inversion.md; O. Catoni, "Challenging the empirical mean and empirical variance: a deviation
    study", Annales de l'Institut Henri Poincaré, Probabilités et Statistiques 48 (2012), for ψ and the bound.
    """

    alpha: float = number(default=1.0, above=0)
    var_cost: ArrayLike | None = array(default=None, at_least=0)
    var_reward: ArrayLike | None = array(default=None, at_least=0)
    cov: ArrayLike | None = array(default=None)

    known_var_cost: Vector = derived(lambda given: UNKNOWN if given.var_cost is None else given.var_cost)
    known_var_reward: Vector = derived(lambda given: UNKNOWN if given.var_reward is None else given.var_reward)
    known_cov: Vector = derived(lambda given: UNKNOWN if given.cov is None else given.cov)

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Bring the second moments to one length, if there are any; refuse a part of them."""
        moments = {name: getattr(given, name) for name in ("var_cost", "var_reward", "cov")}
        missing = [name for name, values in moments.items() if values is None]
        if len(missing) == len(moments):
            return
        if missing:
            raise BadParameter(cls.__name__, missing[0], "given where other second moments are", None)
        given.var_cost, given.var_reward, given.cov = together(cls.__name__, **moments)

    def check(self, arms: int) -> None:
        """Refuse a number of arms that the second moments were not given for."""
        check_length(type(self).__name__, "var_cost", self.known_var_cost, arms)

    def memory(self, arms: int) -> Samples:
        """All samples."""
        return Samples.empty(arms)

    def score(self, belief: SampleBelief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        arm, samples = belief.arm, belief.samples
        steps = STEPS * self.alpha * log_n
        size = leading_digits(belief.pulls)
        if 2.0 * steps >= STEPS * size:
            return math.inf
        level = int(steps) + 1
        if samples.arms[arm, SIZE] != size or samples.arms[arm, LEVEL] != level:
            moments = known(self.known_var_cost, self.known_var_reward, self.known_cov, arm)
            start = int(samples.arms[arm, START])
            samples.remembered[arm] = catoni_limit(samples.pool, start, size, level / STEPS, moments)
            samples.arms[arm, SIZE] = size
            samples.arms[arm, LEVEL] = level
        return float(samples.remembered[arm])

    def phase(self, log_n: float) -> int:
        """ℓ in quarters, rounded: between pulls of the arm the score changes with it alone."""
        return int(STEPS * self.alpha * log_n)


def leading_digits(number: int) -> int:
    """`number` with all but its three leading binary digits set to 0.

    >>> [leading_digits(number) for number in (0, 7, 8, 9, 10, 31, 32)]
    [0, 7, 8, 8, 10, 28, 32]
    """
    unit = 1
    while number >= 8 * unit:
        unit *= 2
    return number // unit * unit
