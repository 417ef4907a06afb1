"""How large the regret of the paper's policies can be: α·ln(2B/μ_*)·Σ C_k + O(1) (Theorems 1, 2, 4 and 5)."""

import math
from typing import NamedTuple

from outlay.arms import Problem, support_of
from outlay.arms.problem import checked_problem
from outlay.checks import real
from outlay.errors import NotCovered
from outlay.policies import KLRate
from outlay.theory.arm_rates import rates
from outlay.theory.finite import finite
from outlay.theory.upper import assumptions
from outlay.theory.upper.kl_rate_bound import THEOREM, kl_rate_pulls
from outlay.theory.upper.pull_bounds import Arm, arms_with_a_gap, lemma


class Bound(NamedTuple):
    """A regret bound: its leading term, which theorem it is from, and what each arm adds.

    The theorems add an O(1) that does not grow with the budget and is not in `value`; `regret_from_pulls` bounds it.
    """

    value: float  # α·ln(2B/μ_*)·Σ C_k
    theorem: str
    terms: dict[str, float]  # α·ln(2B/μ_*)·C_k by the name of each arm with a gap; they add up to the value


def upper_bound(problem: Problem, policy: object, budget: float, constants: str = "printed") -> Bound:
    """The leading term of the theorem that covers `policy` on `problem`: α·ln(2B/μ_*)·Σ_{Δ_k > 0} C_k.

    Printed, with M_k = M_R + r_k·M_X and M_Z = M_R + ω̄·M_X:

        Theorem 1 (bounded)    C_k = 42σ_k²/(Δ_kμ_k) + 42M_k + 21M_XΔ_k
        Theorem 1 (Gaussian)   C_k = 11σ_k²/(Δ_kμ_k)
        Theorem 2              C_k = Δ_kμ_k × Lemma 3, the theorem itself leaving its constant open
        Theorem 4              Theorem 1 (bounded) + 21(M_X⁴Δ_kμ_k/Var(X)² + Var(X)Δ_k/μ_k)
        Theorem 5              Theorem 4 + 42(M_Z·M_X/√Var(X) + M_X⁴Δ_kμ_k/Var(X)²)

    Not all of these follow from the paper's proofs; docs/errata.md says which. "proved" takes C_k = Δ_kμ_k × the
    proved constant of `pull_bounds` instead. It asks Gaussian pairs for α·L > 1.741 (at the factor 1.4; below that
    regret can be a power of B), and UCB-B2C for costs of 0 and one other value. For Gaussian pairs C_k falls with the
    budget: of several splits into C_k and O(1), that of the least sum is taken.

    For `KLRate` with evidence="exact" and a reward_bound, whatever `constants` says, it is Theorem 2 of
    docs/kl-rate-regret.md: Σ Δ_kμ_k·E[T_k(N(B))] with all constants, proved, for bounded laws. For tables it is found
    from their outcomes; for Beta and Uniform from a quadrature grid, so that the value is approximate, not certified.

    Args:
        problem: the arms.
        policy: UCBB1, UCBM1, UCBB2, UCBB2C or KLRate; another raises `NotCovered`, and so does an assumption that
            fails.
        budget: B > μ_*/2.
        constants: "printed" or "proved".

    >>> from outlay.arms import Gaussian, Problem
    >>> from outlay.policies import UCBB1
    >>> problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)], names=["good", "bad"])
    >>> bound = upper_bound(problem, UCBB1(**problem.second_moments(), alpha=3.0), budget=500.0)
    >>> round(bound.value, 2), bound.theorem, list(bound.terms)  # 3·ln 1000·11·0.5/0.5
    (227.96, 'Theorem 1 (Gaussian)', ['bad'])
    """
    budget = real("upper_bound", "budget", budget, above=0)
    if type(policy) is KLRate:
        return _kl_rate(problem, policy, budget)
    theorem = assumptions.covering_theorem(problem, policy, constants, owner="upper_bound")
    known, least = assumptions.covered(policy), rates(problem).min_mean_cost
    if not budget > least / 2.0:
        raise NotCovered(
            f"the theorems need a budget above half of the smallest mean cost, {least / 2:g}; got {budget:g}"
        )
    log_n = math.log(budget) - math.log(least / 2.0)  # 2B may be too large
    terms = {}
    for k, arm in arms_with_a_gap(problem, known).items():
        terms[problem.names[k]] = known.alpha * log_n * _coefficient(theorem, known, arm, constants, log_n)
    return Bound(finite("upper_bound", lambda: sum(terms.values())), theorem, terms)


def _kl_rate(problem: Problem, policy: KLRate, budget: float) -> Bound:
    """Pulls become regret: the worst that their bounds allow together, all arms sharing B and one last cost."""
    pulls = kl_rate_pulls(checked_problem("upper_bound", problem), policy, budget)
    left, terms = budget + max(support_of(law).cost_high for law in problem.arms), {}
    for k in sorted(pulls, key=lambda arm: -problem.gaps[arm]):
        spend = min(float(problem.mean_costs[k]) * pulls[k], left)
        terms[problem.names[k]], left = float(problem.gaps[k]) * spend, left - spend
    return Bound(finite("upper_bound", lambda: sum(terms.values())), THEOREM, terms)


def _coefficient(theorem: str, policy: assumptions.Covered, arm: Arm, constants: str, log_n: float) -> float:
    """C_k."""
    if constants == "proved" or theorem == assumptions.HEAVY_TAILED:
        return finite("upper_bound", lambda: arm.loss * lemma(theorem, policy, arm, constants, log_n).coefficient)
    return finite("upper_bound", lambda: _printed(theorem, arm))


def _printed(theorem: str, a: Arm) -> float:
    """C_k as Theorems 1, 4 and 5 print it."""
    if theorem == assumptions.GAUSSIAN:
        return 11.0 * a.sigma2 / a.loss
    known = 42.0 * a.sigma2 / a.loss + 42.0 * a.rate_bound + 21.0 * a.cost_bound * a.gap
    if theorem == assumptions.BOUNDED:
        return known
    flat = a.cost_bound**4 * a.loss / a.var_cost**2
    variances = known + 21.0 * (flat + a.var_cost * a.gap / a.mean_cost)
    if theorem == assumptions.UNKNOWN_VARIANCES:
        return variances
    return variances + 42.0 * (a.residual_bound * a.cost_bound / math.sqrt(a.var_cost) + flat)
