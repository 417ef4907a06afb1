"""Rates from samples and how far to trust them: the confidence bounds that policies share, and what they must be told.

- `upper_rate`, the paper's bound, Proposition 2 of Cayci, Eryilmaz, Srikant (2020): if cost and reward are known within
  radii η and ε, and η is below (λ−1)/λ of the mean cost, the rate is known within λ(ε + |r|η)/E[X]; λ is 1.28.
- `fieller_limit`, the largest rate that a bound on the mean of R − rX does not refute, in closed form.
- `catoni_limit`, the same for Catoni's bound, by false position.
- `wilson_upper` and `wilson_lower`, bounds of a mean in [0, 1] in a form without cancellation. With g = z²/n and
  A = p + g/2 + √(g·(p(1−p) + g/4)) the upper bound is A/(1+g). The lower bound has − before the root; the two have the
  product p²/(1+g), so it is p²/A: exactly 0 at p = 0, never negative, and falling as g grows.

Reference for Wilson's: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22
(1927).
"""

import math

import numpy as np

from outlay.beliefs import Belief, Moments, residual_variance, slope
from outlay.checks import Vector, real
from outlay.errors import BadParameter
from outlay.formulas.argmax import precedes
from outlay.parameters import Array, Draft, Parameters, array, number, parameter

STABLE = 0.21875  # (λ − 1)/λ with λ = 1.28
ROUNDING = 1.0 + 1e-9  # how far |cov| may exceed √(var_cost·var_reward), which only rounding can make it do
PRECISION = 1e-4  # of the limit, in units of the Gaussian radius
MOST = 200  # steps of a search
LARGE = 1e100  # product of factors whose logarithm is taken


def observed_rate(belief: Belief) -> float:
    """R̄/X̄; ∞ before the first pull, and while the mean cost is not positive."""
    if belief.pulls == 0 or belief.mean_cost <= 0.0:
        return math.inf
    return belief.mean_reward / belief.mean_cost


def best_rate(memory: Moments) -> int:
    """The arm with the largest observed rate; ties to the fewest pulls, then to the lowest index."""
    best, top, least = 0, -math.inf, 0
    for arm in range(len(memory.stats)):
        belief = memory.belief(arm)
        rate = observed_rate(belief)
        if arm == 0 or precedes(rate, belief.pulls, arm, top, least, best):
            best, top, least = arm, rate, belief.pulls
    return best


def upper_over_lower(reward: float, reward_radius: float, cost: float, cost_radius: float) -> float:
    """max(0, reward + its radius)/(cost − its radius); ∞ where that cost is not positive."""
    lower = cost - cost_radius
    return max(0.0, reward + reward_radius) / lower if lower > 0.0 else math.inf


def estimated_rate(mean_cost: float, mean_reward: float, min_cost: float) -> float:
    """r̂ = max(0, R̄)/max(b, X̄), with `min_cost` the paper's b > 0."""
    return max(0.0, mean_reward) / max(min_cost, mean_cost)


def upper_rate(
    rate: float, mean_cost: float, cost_radius: float, reward_radius: float, weight: float, factor: float
) -> float:
    """r̂ + factor·(ε + weight·η)/X̄ where the estimate is stable (η = 0 or η < 0.21875·X̄, X̄ > 0), else ∞.

    >>> upper_rate(rate=0.5, mean_cost=2.0, cost_radius=0.25, reward_radius=0.5, weight=2.0, factor=1.5)
    1.25
    >>> upper_rate(rate=0.5, mean_cost=1.0, cost_radius=0.25, reward_radius=0.5, weight=2.0, factor=1.5)
    inf
    """
    if not (mean_cost > 0.0 and (cost_radius == 0.0 or cost_radius < STABLE * mean_cost)):
        return math.inf
    score = rate + factor * (reward_radius + weight * cost_radius) / mean_cost
    # NaN (0·∞, ∞ − ∞) comes only from numbers that overflowed: nothing is known of the rate.
    return math.inf if math.isnan(score) else score


def fieller_limit(mean_cost: float, mean_reward: float, moments: Belief, g: float) -> float:
    """The largest r with R̄ − rX̄ + √(g·Var(R − rX)) ≥ 0; ∞ if there is none such, X̄ ≤ 0 or X̄² ≤ g·Var(X).

    It is the larger root r = r̂ + δ of (R̄ − rX̄)² = g·(Var(R) − 2r·Cov + r²Var(X)), with r̂ = R̄/X̄. In the units
    c = Var(X)/X̄², v = Var(R − r̂X)/X̄² and with t = g/(1 − gc), k = c·(r̂ − ω):

        δ = t·k + √(t²k² + t·v)  where k ≥ 0,  δ = v/(√(k² + v/t) − k)  where k < 0

    Nothing cancels in this form, and each operation rises with g: so does the result, to the last bit. `moments` gives
    the variances and the covariance; its means are not read.

    >>> moments = Belief(0, 9, 0.0, 0.0, var_cost=0.25, var_reward=0.0, cov=0.0)
    >>> fieller_limit(1.0, 1.0, moments, g=1.0)  # 1 − r + r/2 = 0
    2.0
    >>> fieller_limit(1.0, 1.0, moments, g=4.0)
    inf
    """
    if not mean_cost > 0.0:
        return math.inf
    cost_sd = math.sqrt(moments.var_cost) / mean_cost
    c = cost_sd * cost_sd
    left = 1.0 - g * c
    if not left > 0.0:
        return math.inf
    rate = mean_reward / mean_cost
    beyond = rate - slope(moments)
    residual_sd = math.sqrt(residual_variance(moments)) / mean_cost
    v = residual_sd * residual_sd + c * beyond * beyond
    if not v < math.inf:  # numbers that overflowed: nothing is known of the rate
        return math.inf
    if g == 0.0 or v == 0.0:
        return rate
    t = g / left
    k = c * beyond
    if k >= 0.0:
        return rate + (t * k + math.sqrt(t * k * (t * k) + t * v))
    return rate + v / (math.sqrt(k * k + v / t) - k)


def fieller_interval(belief: Belief, coverage: float = 0.95) -> tuple[float, float]:
    """The rates that the samples of an arm do not rule out: Student's interval of R − rX, inverted (Fieller, 1954).

    >>> belief = Belief(arm=0, pulls=100, mean_cost=1.0, mean_reward=0.8, var_cost=0.04, var_reward=0.09, cov=0.03)
    >>> [round(end, 3) for end in fieller_interval(belief)]
    [0.748, 0.852]
    """
    if belief.pulls < 2:
        return -math.inf, math.inf
    from scipy.special import stdtrit

    quantile = float(stdtrit(belief.pulls - 1, 0.5 + coverage / 2.0))
    g = quantile * quantile / (belief.pulls - 1)
    mirrored = belief._replace(mean_reward=-belief.mean_reward, cov=-belief.cov)
    low, high = (fieller_limit(b.mean_cost, b.mean_reward, b, g) for b in (mirrored, belief))
    return -low, high


def wilson_upper(share: float, g: float) -> float:
    """Upper bound of a mean, at most 1."""
    return min(1.0, _sum_with_root(share, g) / (1.0 + g))


def wilson_lower(share: float, g: float) -> float:
    """Lower bound of a mean, at least 0."""
    return 0.0 if share <= 0.0 else share * (share / _sum_with_root(share, g))


def _sum_with_root(share: float, g: float) -> float:
    return share + 0.5 * g + math.sqrt(g * (share * (1.0 - share) + 0.25 * g))


def catoni_limit(pool: Vector, start: int, size: int, level: float, moments: Belief) -> float:
    """The rate above R̄/X̄ at which Catoni's sum over `pool[start : start + size]` (cost, reward) falls to −2·level.

    `moments` are the second moments, var_cost ∞ if unknown. ∞ if even Z = −X, the limit of R − rX for large r, is not
    refuted. The result is at most PRECISION too large, never too small.
    """
    cost = 0.0
    reward = 0.0
    for i in range(start, start + size):
        cost += float(pool[i, 0])
        reward += float(pool[i, 1])
    if not cost > 0.0:
        return math.inf
    rate = reward / cost
    # E[Z²] of Z = (R − rate·X) − δ·X is a − 2bδ + cδ².
    a, b, c = _known(moments, rate) if moments.var_cost < math.inf else _sampled(pool, start, size, rate)
    if not excess(pool, start, size, level, 0.0, 1.0, c) < 0.0:
        return math.inf
    radius = math.sqrt(2.0 * level * a * size) / cost
    if not 0.0 < radius < math.inf:
        return rate if radius == 0.0 else math.inf
    low, high = 0.0, 0.0
    at_low = excess(pool, start, size, level, 1.0, rate, a)
    at_high = at_low
    step = 1.5 * radius
    for _ in range(MOST):
        if at_low < 0.0:  # only where the moments are known, and the samples vary more than those say
            high, at_high = low, at_low
            low -= step
            at_low = excess(pool, start, size, level, 1.0, rate + low, a - 2.0 * b * low + c * low * low)
        elif not at_high < 0.0:
            low, at_low = high, at_high
            high += step
            at_high = excess(pool, start, size, level, 1.0, rate + high, a - 2.0 * b * high + c * high * high)
        else:
            break
        step *= 2.0
    if not (at_high < 0.0 <= at_low):
        return math.inf
    within = PRECISION * radius
    last = 0.0
    for _ in range(MOST):
        if high - low <= within:
            break
        middle = high - at_high * ((high - low) / (at_high - at_low))
        if not low < middle < high:  # NaN, too
            middle = 0.5 * low + 0.5 * high
        middle = min(max(middle, low + 0.4 * within), high - 0.4 * within)
        at = excess(pool, start, size, level, 1.0, rate + middle, a - 2.0 * b * middle + c * middle * middle)
        if at < 0.0:
            high, at_high = middle, at
            at_low *= 0.5 if last < 0.0 else 1.0  # twice on one side: the other end counts half (the Illinois rule)
        else:
            low, at_low = middle, at
            at_high *= 0.5 if last > 0.0 else 1.0
        last = at
    return rate + high


def excess(pool: Vector, start: int, size: int, level: float, p: float, q: float, moment: float) -> float:
    """Σ ψ(s·Z_i) + 2·level for Z = p·R − q·X, s² = 2·level/(size·E[Z²]): not negative while E[Z] ≥ 0 is not refuted."""
    scale = math.sqrt(2.0 * level / (size * moment)) if moment > 0.0 else LARGE  # a constant Z: its sign decides
    total, above, below = 0.0, 1.0, 1.0
    for i in range(start, start + size):
        x = scale * (p * float(pool[i, 1]) - q * float(pool[i, 0]))
        factor = 1.0 + abs(x) + 0.5 * x * x
        if x >= 0.0:
            above *= factor
        else:
            below *= factor
        if above > LARGE or below > LARGE:
            total += math.log(above) - math.log(below)
            above, below = 1.0, 1.0
    return total + math.log(above) - math.log(below) + 2.0 * level


def _known(moments: Belief, rate: float) -> tuple[float, float, float]:
    """Var(Z), Cov(Z, X) and Var(X) of Z = R − rate·X."""
    cross = moments.cov - rate * moments.var_cost
    return max(0.0, moments.var_reward - rate * (moments.cov + cross)), cross, moments.var_cost


def _sampled(pool: Vector, start: int, size: int, rate: float) -> tuple[float, float, float]:
    """The samples' means of Z², Z·X and X² with Z = R − rate·X."""
    a, b, c = 0.0, 0.0, 0.0
    for i in range(start, start + size):
        x = float(pool[i, 0])
        z = float(pool[i, 1]) - rate * x
        a += z * z
        b += z * x
        c += x * x
    return a / size, b / size, c / size


class KnownMoments(Parameters):
    """The parameters of a policy that is told the second moments: each a number for every arm, or one per arm."""

    var_cost: Array = array(at_least=0)
    var_reward: Array = array(at_least=0)
    cov: Array = array()

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Bring the three to one length; refuse a covariance that no correlation allows."""
        given.var_cost, given.var_reward, given.cov = together(
            cls.__name__, var_cost=given.var_cost, var_reward=given.var_reward, cov=given.cov
        )

    def check(self, arms: int) -> None:
        """Refuse a number of arms that the second moments were not given for."""
        check_length(type(self).__name__, "var_cost", self.var_cost, arms)


def known(var_cost: Vector, var_reward: Vector, cov: Vector, arm: int) -> Belief:
    """Return the known second moments of `arm`, its means left 0; arrays of length 1 apply to every arm."""
    row = arm if len(var_cost) > 1 else 0
    return Belief(arm, 0, 0.0, 0.0, float(var_cost[row]), float(var_reward[row]), float(cov[row]))


def together(owner: str, *, var_cost: Vector, var_reward: Vector, cov: Vector) -> tuple[Vector, Vector, Vector]:
    """Three read-only arrays of one length, if they can be second moments."""
    given = {"var_cost": var_cost, "var_reward": var_reward, "cov": cov}
    arms = max(map(len, given.values()))
    for name, values in given.items():
        check_length(owner, name, values, arms)
        if len(values) < arms:
            given[name] = np.full(arms, values[0])
            given[name].setflags(write=False)
    costs, rewards, covs = given.values()
    most = np.sqrt(costs) * np.sqrt(rewards)
    good = np.abs(covs) <= most * ROUNDING
    if not good.all():
        first = int(np.argmin(good))
        where = f" at position {first}" if arms > 1 else ""
        allowed = f"within ±√(var_cost·var_reward) = ±{most[first]:.6g}"
        raise BadParameter(owner, "cov" + where, allowed, float(covs[first]))
    return costs, rewards, covs


def check_length(owner: str, name: str, values: Vector, arms: int) -> None:
    """Refuse an array that is neither one number nor one per arm."""
    if len(values) not in (1, arms):
        raise BadParameter(owner, name, f"one number or {_Numbers(arms)!r}, one per arm", _Numbers(len(values)))


class _Numbers(int):
    """How many numbers there are, printed with the word."""

    def __repr__(self) -> str:
        return f"{int(self)} number{'' if self == 1 else 's'}"


class KnownBounds(Parameters):
    """The parameters of a policy for costs in [0, `cost_bound`] and rewards in [0, `reward_bound`]."""

    cost_bound: float = number(above=0)
    reward_bound: float = number(above=0)


class UnitBounds(KnownBounds):
    """The same, both bounds being 1 where they are not given."""

    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)


class LeastCost(Parameters):
    """The parameters of a policy that is told, besides the bounds, a lower bound of the mean costs."""

    min_cost: float = parameter(lambda _owner, _name, value: value)  # checked in `complete`, by the bound of costs
    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)

    @classmethod
    def complete(cls, given: Draft) -> None:
        """Refuse a lower bound that is above the upper one."""
        given.min_cost = real(cls.__name__, "min_cost", given.min_cost, above=0, at_most=given.cost_bound)


def share(mean: float, bound: float) -> float:
    """The mean as a share of its bound; outside [0, 1] it counts as the nearer end.

    >>> share(1.0, 4.0), share(-1.0, 4.0), share(5.0, 4.0)
    (0.25, 0.0, 1.0)
    """
    return min(1.0, max(0.0, mean / bound))


def budget_or_infinity(given: Draft) -> float:
    """The parameter `budget`; ∞ while it is None, that is, until `simulate` or a campaign fills it in."""
    return math.inf if given.budget is None else float(given.budget)


def requests_or_infinity(given: Draft) -> float:
    """The parameter `requests`, likewise."""
    return math.inf if given.requests is None else float(given.requests)
