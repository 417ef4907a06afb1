"""How often the paper's policies pull an arm that is not best: E[T_k(n)] ≤ C·α·ln n + c (Lemmas 2, 3, 6, Appendix G).

The printed lemmas do not all follow from their proofs, and Lemma 3 is false for every small enough gap. The constants
called proved follow from the argument in docs/errata.md. With radii √(A·Var·ℓ/s) + c·ℓ/s after s pulls, ℓ = α ln n,
an arm is judged once they are below τ of its mean cost, and dropped once H of its rate's radius is below its gap:

    C = max( A·Var(X)/(τμ)² + 2c_X/(τμ),  A·H²S²/(Δμ)² + 2H·c_Z/(Δμ) )
    τ = (λ−1)/(2λ−1),  H = (1+κ)(1 + f(1+κ)),  κ = (λ−1)/λ,  S = √V + |r − ω|√Var(X),  f the factor of the score

UCB-B2C has S = √(2·Var(R − rX)) and H = (1+κ)(1 + f(1+√2κ)). UCB-B1 on Gaussian pairs has `gaussian_pulls`.
"""

import math
from typing import NamedTuple

from outlay.arms import Problem
from outlay.checks import whole
from outlay.errors import NotCovered
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1
from outlay.policies.ucb import FACTOR
from outlay.theory import assumptions
from outlay.theory.arm_rates import STRETCH, finite, rates, suboptimal
from outlay.theory.assumptions import Covered, GaussianMoments, gaussian_pulls

_KAPPA = (STRETCH - 1.0) / STRETCH
_TAU = (STRETCH - 1.0) / (2.0 * STRETCH - 1.0)
_ROOT = math.sqrt(2.0)


class ArmConstants(NamedTuple):
    """What the constants read of an arm with a gap, and of the policy's bounds."""

    own: GaussianMoments
    best: GaussianMoments  # of a best arm
    gap: float  # Δ
    sigma2: float  # σ²
    var_reward: float
    cost_bound: float  # M_X (0 for a policy without bounds)
    reward_bound: float  # M_R
    residual_bound: float  # M_Z = M_R + ω̄·M_X

    @property
    def loss(self) -> float:
        """Δμ, the regret of one pull."""
        return self.gap * self.own.mean_cost

    @property
    def rate_bound(self) -> float:
        """M_k = M_R + |r|·M_X."""
        return self.reward_bound + abs(self.own.rate) * self.cost_bound


class PullBound(NamedTuple):
    """E[T_k(n)] ≤ coefficient·α·ln n + constant; for Gaussian pairs, proved, at the n it was asked for."""

    coefficient: float
    constant: float


def pull_bound(problem: Problem, policy: object, arm: int, pulls: int, constants: str = "printed") -> float:
    """A bound on E[T_k(n)], the mean number of pulls of `arm` among the first n of `policy`.

    "printed": Lemma 2 (UCB-B1), Lemma 3 (UCB-M1), the lemma of Appendix F (UCB-B2), the display of Appendix G
    (UCB-B2C). "proved": the constants that follow from a complete proof. `NotCovered` if an assumption fails, or if
    the arm is a best one.

    Args:
        problem: the arms.
        policy: UCBB1, UCBM1, UCBB2 or UCBB2C.
        arm: index of an arm with a gap.
        pulls: n ≥ 1, over all arms.
        constants: "printed" or "proved".

    >>> from outlay.arms import Gaussian, Problem
    >>> problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)])
    >>> policy = UCBB1(**problem.second_moments(), alpha=3.0)
    >>> round(pull_bound(problem, policy, arm=1, pulls=1000), 2)  # 11·2·3·ln 1000 + 36
    491.91
    """
    level = math.log(whole("pull_bound", "pulls", pulls, at_least=1))
    coefficient, constant = pull_constants(problem, policy, arm, constants, level, owner="pull_bound")
    alpha = assumptions.covered(policy).alpha
    return finite("pull_bound", lambda: coefficient * alpha * level + constant)


def pull_constants(
    problem: Problem,
    policy: object,
    arm: int,
    constants: str = "printed",
    log_n: float = math.log(1e6),
    owner: str = "pull_constants",
) -> PullBound:
    """The constants of `pull_bound`, at n = 10⁶ where they depend on it; `owner` is named where a parameter is bad."""
    theorem = assumptions.covering_theorem(problem, policy, constants, owner)
    known = assumptions.covered(policy)
    arm = whole(owner, "arm", arm, at_least=0, below=len(problem))
    arms = arms_with_a_gap(problem, known)
    if arm not in arms:
        raise NotCovered(f"the lemmas bound the pulls of arms with a gap, and {problem.names[arm]!r} is a best arm")
    try:
        return lemma(theorem, known, arms[arm], constants, log_n)
    except (OverflowError, ZeroDivisionError):
        raise NotCovered(f"the value of {owner} is too large for a floating-point number") from None


def outlasting(problem: Problem, policy: object) -> list[str]:
    """The arms that UCB-M1 pulls more often than Lemma 3 allows, for large budgets; none for other policies.

    Even with exact estimates an arm is kept until 2√2·11·S√(ℓ/T)/μ is below its gap, and until its blocks are full: for
    max(968·S²/(Δμ)², 3.5)·ℓ pulls, where Lemma 3 has 484λ²σ²/(Δμ)²·ℓ + 135(λ/(λ−1))²·Var(X)/μ²·ℓ (docs/errata.md).

    >>> from outlay.arms import catalogue
    >>> problem = catalogue.load("G")
    >>> outlasting(problem, UCBM1(**problem.second_moments()))
    ['arm 1']
    """
    known = assumptions.covered(policy)
    if not isinstance(known, UCBM1):
        return []
    found = []
    for k, a in arms_with_a_gap(problem, known).items():
        kept = max(121.0 * (FACTOR * a.own.spread(abs(a.own.rate - a.own.slope)) / a.loss) ** 2, 3.5)
        if kept > _printed(assumptions.HEAVY_TAILED, a, known.alpha).coefficient:
            found.append(problem.names[k])
    return found


def lemma(theorem: str, policy: Covered, arm: ArmConstants, constants: str, log_n: float) -> PullBound:
    """The lemma behind `theorem`, whose assumptions have been checked."""
    if constants == "proved":
        return _proved(theorem, policy, arm, log_n)
    return _printed(theorem, arm, policy.alpha)


def arms_with_a_gap(problem: Problem, policy: Covered) -> dict[int, ArmConstants]:
    """What the constants read of every arm with a gap, by its index."""
    found, moments = rates(problem), problem.second_moments()
    cost_bound, reward_bound = (0.0, 0.0) if isinstance(policy, UCBM1) else (policy.cost_bound, policy.reward_bound)
    slope_bound = policy.slope_bound if isinstance(policy, UCBB2C) else 0.0
    columns = (found.mean_cost, found.rate, found.slope, found.residual_variance, moments["var_cost"])
    arms = [GaussianMoments(*map(float, values)) for values in zip(*columns, strict=True)]
    return {
        k: ArmConstants(
            own=arms[k],
            best=arms[found.best],
            gap=float(found.gap[k]),
            sigma2=float(found.sigma2[k]),
            var_reward=float(moments["var_reward"][k]),
            cost_bound=cost_bound,
            reward_bound=reward_bound,
            residual_bound=reward_bound + slope_bound * cost_bound,
        )
        for k in suboptimal(problem)
    }


def _printed(theorem: str, a: ArmConstants, alpha: float) -> PullBound:
    """The lemmas as printed; their additive constants are 12, 48 and 64 times α/(α−2)."""
    tail = alpha / (alpha - 2.0)
    distinct = a.sigma2 / a.loss**2
    if theorem == assumptions.GAUSSIAN:  # Lemma 2, second part
        return PullBound(11.0 * distinct, 12.0 * tail)
    if theorem == assumptions.HEAVY_TAILED:  # Lemma 3
        stable = 135.0 * (a.own.var_cost / a.own.mean_cost**2) / _KAPPA**2
        return PullBound(484.0 * STRETCH**2 * distinct + stable, 48.0 * tail)
    bounded = a.rate_bound / a.loss
    if theorem == assumptions.BOUNDED:  # Lemma 2, first part
        return PullBound(42.0 * (distinct + bounded + a.cost_bound / a.own.mean_cost), 12.0 * tail)
    flat = a.cost_bound**4 / a.own.var_cost**2
    stable = 2.0 * a.cost_bound / a.own.mean_cost + 3.0 * a.own.var_cost / a.own.mean_cost**2
    if theorem == assumptions.UNKNOWN_VARIANCES:  # the lemma of Appendix F
        return PullBound(21.0 * (flat + stable) + 42.0 * (distinct + bounded), 48.0 * tail)
    learned = a.cost_bound * a.residual_bound / math.sqrt(a.own.var_cost) / a.loss  # the display of Appendix G
    return PullBound(21.0 * (3.0 * flat + stable) + 42.0 * (distinct + bounded + learned), 64.0 * tail)


def _proved(theorem: str, policy: Covered, a: ArmConstants, log_n: float) -> PullBound:
    """The constants of docs/errata.md: A, c_X and c_Z of the radii, and how many tail events a pull is charged with."""
    weight = abs(a.own.rate - a.own.slope)
    spread = a.own.spread(weight)
    match policy:
        case UCBB1() if theorem == assumptions.GAUSSIAN:
            level = policy.alpha * policy.chosen_factor
            coefficient, constant = gaussian_pulls(a.own, a.best, level, policy.factor, log_n)
            return PullBound(policy.chosen_factor * coefficient, constant)
        case UCBB1():
            linear, residual = 2.0 / 3.0 * a.cost_bound, 2.0 / 3.0 * (a.reward_bound + weight * a.cost_bound)
            constant = 1.0 + 8.0 * _summed(policy.alpha * min(1.0, policy.chosen_factor / 2.0))
            return PullBound(_pulls(a, policy.chosen_factor, linear, residual, spread, _reach(policy.factor)), constant)
        case UCBM1():
            coefficient = max(_pulls(a, 121.0, 0.0, 0.0, spread, _reach(FACTOR)), 3.5)  # 3.5ℓ + 1 pulls fill the blocks
            return PullBound(coefficient, 2.0 + 2.0 * _summed(policy.alpha))
        case UCBB2():
            spread = math.sqrt(a.var_reward) + a.own.rate * math.sqrt(a.own.var_cost)
            linear = 4.0 * a.rate_bound
        case UCBB2C():
            spread = math.sqrt(2.0 * (a.own.residual_variance + weight**2 * a.own.var_cost))
            linear = (3.0 + _ROOT) * a.rate_bound + 6.0 * (a.residual_bound - a.reward_bound)
    reach = _reach(policy.factor, _ROOT if isinstance(policy, UCBB2C) else 1.0)
    coefficient = _pulls(a, 2.0, 4.0 * a.cost_bound, linear, spread, reach)
    return PullBound(coefficient, 1.0 + 14.0 * _summed(policy.alpha))


def _pulls(a: ArmConstants, variance: float, cost_linear: float, linear: float, spread: float, reach: float) -> float:
    """C of the module's formula, the radii being √(variance·Var·ℓ/s) + linear·ℓ/s and H the reach."""
    stable = _TAU * a.own.mean_cost
    judged = variance * a.own.var_cost / stable**2 + 2.0 * cost_linear / stable
    dropped = variance * (reach * spread / a.loss) ** 2 + 2.0 * reach * linear / a.loss
    return max(judged, dropped)


def _reach(factor: float, share: float = 1.0) -> float:
    """H: how many radii of its rate a judged arm's score is above it, at most."""
    return (1.0 + _KAPPA) * (1.0 + factor * (1.0 + share * _KAPPA))


def _summed(exponent: float) -> float:
    """Σ t^(1−e) ≤ (e−1)/(e−2): a union bound over t ≤ n and over the pulls of the arm until then."""
    return (exponent - 1.0) / (exponent - 2.0)
