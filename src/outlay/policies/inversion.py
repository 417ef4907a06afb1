"""Upper confidence bounds of the rate by inverting one test, of a mean of R − rX that may yet be 0, for every rate r.

- `Fieller` learns everything: Student's bound; `FiellerKnown` knows the second moments: the Gaussian bound;
- `BernsteinRate` is for bounded pairs, variances and correlation unknown: the empirical Bernstein bound;
- `CatoniRate` is for heavy tails, second moments unknown or known: Catoni's bound;
- `MedianRate` is for heavy tails, second moments unknown: an order statistic of block means.

docs/test-inversion.md has the proofs and compares them with the paper's policies.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from outlay.beliefs import Belief, BlockBelief, Blocks, SampleBelief, Samples, block_rate
from outlay.beliefs.samples import LEVEL, MOST_PULLS, OF_SIZE, START
from outlay.checks import Vector
from outlay.errors import BadParameter
from outlay.formulas.confidence import KnownMoments, catoni_limit, check_length, fieller_limit, known, together
from outlay.parameters import Draft, Parameters, array, choice, derived, number
from outlay.policies.protocol import RisingScore

FEWEST = 5  # pulls before sample moments stand for the true ones
LARGEST = 600.0  # exponents above it are as good as infinite, and exp would overflow
STEPS = 4.0  # levels per unit of ℓ, for `CatoniRate`
UNKNOWN = np.array([np.inf])  # second moments that nobody has told
UNKNOWN.setflags(write=False)


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

    Reference: docs/test-inversion.md; E. C. Fieller, "Some problems in interval estimation", JRSS B 16 (1954).
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


class FiellerKnown(RisingScore, KnownMoments):
    """The largest rate r for which the mean of R − rX could still be 0, the second moments being known.

    With T pulls of the arm, X̄ and R̄ its means, ℓ = α·ln n, Var(R − rX) = Var(R) − 2r·Cov + r²Var(X):

        score = max{ r : R̄ − rX̄ + √(2·Var(R − rX)·ℓ/T) ≥ 0 }, in closed form; ∞ where X̄ ≤ √(2·Var(X)·ℓ/T)

    Guarantee: for Gaussian pairs with these moments, P(score < rate) ≤ ½·exp(−ℓ) at every T, whatever the correlation;
    for all others with these moments in the limit of large T. For α ≥ 1 and Gaussian pairs regret divided by ln B is in
    the limit at most α·Σ μΔ/min((μΔ)²/(2·Var(R − r*X)), μ²/(2·Var(X))) (docs/kl-rate-regret.md, Theorem 5).

    Args:
        var_cost, var_reward, cov: variances and covariance of (cost, reward), a number or one per arm.
        alpha: α > 0; larger explores more.

    >>> policy = FiellerKnown(var_cost=0.04, var_reward=0.09, cov=0.03)
    >>> belief = Belief(arm=0, pulls=100, mean_cost=1.0, mean_reward=0.8, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> round(policy.score(belief, log_n=5.0), 6)
    0.882585

    Reference: docs/test-inversion.md; E. C. Fieller, "Some problems in interval estimation", JRSS B 16 (1954).
    """

    alpha: float = number(default=1.0, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        moments = known(self.var_cost, self.var_reward, self.cov, belief.arm)
        return fieller_limit(belief.mean_cost, belief.mean_reward, moments, 2.0 * self.alpha * log_n / belief.pulls)


class BernsteinRate(RisingScore, Parameters):
    """The largest rate r for which the mean of R − rX could still be 0, by the empirical Bernstein bound.

    With T pulls of the arm, X̄ and R̄ its means, V̂(R − rX) = V̂(R) − 2r·Ĉov + r²V̂(X) its biased sample variance,
    ℓ = α·ln n; R − rX varies by at most M_R + |r|·M_X:

        score = max{ r : R̄ − rX̄ + √(2V̂(R − rX)·ℓ/T) + 3(M_R + |r|·M_X)·ℓ/T ≥ 0 }

    in closed form: Fieller's with R̄ + 3M_R·ℓ/T and X̄ − 3M_X·ℓ/T instead of the means (X̄ + 3M_X·ℓ/T where the
    score is negative); ∞ while T = 0 or the cost's lower bound is not above 0.

    Guarantee: P(score < rate) ≤ 3·exp(−ℓ) at every T, for any pairs of these bounds, whatever their correlation.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in an interval of length M_X, such as [0, M_X], rewards in one
            of length M_R.
        alpha: α > 0; larger explores more.

    >>> policy = BernsteinRate(cost_bound=1.0, reward_bound=1.0)
    >>> belief = Belief(0, pulls=1000, mean_cost=0.5, mean_reward=0.4, var_cost=0.04, var_reward=0.04, cov=0.03)
    >>> round(policy.score(belief, log_n=5.0), 6)
    0.883496

    Reference: docs/test-inversion.md; Audibert, Munos, Szepesvári, "Exploration–exploitation tradeoff using variance
    estimates in multi-armed bandits", Theoretical Computer Science 410 (2009), Theorem 1.
    """

    cost_bound: float = number(at_least=0)
    reward_bound: float = number(at_least=0)
    alpha: float = number(default=1.0, above=0)

    def score(self, belief: Belief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        level = self.alpha * log_n / belief.pulls
        margin = 3.0 * self.cost_bound * level
        reward = belief.mean_reward + 3.0 * self.reward_bound * level
        score = fieller_limit(belief.mean_cost - margin, reward, belief, 2.0 * level)
        if score < 0.0:
            return min(0.0, fieller_limit(belief.mean_cost + margin, reward, belief, 2.0 * level))
        return score


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
        if samples.arms[arm, OF_SIZE] != size or samples.arms[arm, LEVEL] != level:
            moments = known(self.known_var_cost, self.known_var_reward, self.known_cov, arm)
            start = int(samples.arms[arm, START])
            samples.remembered[arm] = catoni_limit(samples.pool, start, size, level / STEPS, moments)
            samples.arms[arm, OF_SIZE] = size
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


class MedianRate(Parameters):
    """A high quantile of the rates of blocks of samples: for heavy tails with unknown second moments.

    With p = 1 − 1/a, q = p/4, ℓ = α·ln n the arm's T samples form m = ⌊ℓ/kl(q, p)⌋ + 1 consecutive blocks of ⌊T/m⌋,
    the newest left over; a block's rate is R̄_j/X̄_j, or ∞ where X̄_j ≤ 0:

        score = the (⌊q·m⌋ + 1)-th largest rate of a block; ∞ while T < m

    R̄_j − rX̄_j ≥ 0 says no more than that r is at most the block's rate: this is an order statistic of means of R − rX,
    solved for r. With a = 2 (finite variances): p = ½, m = ⌊3.16·ℓ⌋ + 1 and the (⌊m/8⌋ + 1)-th largest.

    Guarantee: P(score < rate) ≤ exp(−ℓ) at every T for which each block has P(R̄_j ≥ rate·X̄_j) ≥ p. With p = ½ this
    holds if R − rate·X is symmetric about 0, whatever its tails. In the limit of large blocks it holds for all pairs
    with finite variances (p = ½), and for all whose sums have stable limits of an index ≥ a (p = 1 − 1/a).

    Args:
        alpha: α > 0; larger explores more.
        tail: a, 1 < a ≤ 2, the index of the heaviest tail: P(|cost| or |reward| > x) falls like x^(−a); 2 if the
            variances are finite.

    >>> policy = MedianRate()
    >>> memory = policy.memory(arms=1)
    >>> for reward in (1.0, 2.0, 6.0, 3.0, 5.0, 4.0, 0.0):
    ...     memory.observe(0, 2.0, reward)
    >>> policy.score(memory.belief(0), log_n=0.5)  # two blocks of three, the last sample waits
    2.0

    Reference: docs/test-inversion.md.
    """

    alpha: float = number(default=1.0, above=0)
    tail: float = number(default=2.0, above=1, at_most=2)

    share: float = derived(lambda given: (1.0 - 1.0 / given.tail) / 4.0)  # of the blocks, those that may have more
    information: float = derived(lambda given: _information(given.share, 1.0 - 1.0 / given.tail))

    def memory(self, arms: int) -> Blocks:
        """Prefix sums of all samples, with room for as many blocks as α can ask for."""
        return Blocks.empty(arms, groups=int(self.alpha * math.log(MOST_PULLS) / self.information) + 1)

    def score(self, belief: BlockBelief, log_n: float) -> float:
        """Upper confidence bound of the arm's rate, log_n = ln(pulls so far)."""
        blocks = self.alpha * log_n / self.information
        if blocks >= belief.pulls:  # T < m, said without the floor so that it holds for any log_n
            return math.inf
        groups = int(blocks) + 1
        return block_rate(belief, groups, int(self.share * groups) + 1)

    def phase(self, log_n: float) -> int:
        """Blocks but one, m − 1: between pulls of the arm the score changes with the number of blocks alone."""
        return int(self.alpha * log_n / self.information)


def _information(share: float, chance: float) -> float:
    """The divergence kl(q, p) of two coins, with q = p/4 the share and p the chance."""
    return share * math.log(0.25) + (1.0 - share) * math.log((1.0 - share) / (1.0 - chance))
