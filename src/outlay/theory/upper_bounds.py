"""How large the regret of the paper's policies can be: α·ln(2B/μ_*)·Σ C_k + O(1) (Theorems 1, 2, 4 and 5).

From pulls to regret: the budget is nearly always spent within 2B/μ_* pulls (Appendix B: Proposition 4, Lemma 1).
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from outlay.arms import LawMoments, Problem, support_of, tails_of
from outlay.arms.continuous import is_gaussian
from outlay.arms.problem import checked_problem
from outlay.checks import real, vector
from outlay.errors import BadParameter, NotCovered
from outlay.policies import KLRate
from outlay.theory import assumptions
from outlay.theory.arm_rates import finite, rates
from outlay.theory.assumptions import require_constants
from outlay.theory.kl_rate_bound import THEOREM, kl_rate_pulls
from outlay.theory.optimum import gap_constant
from outlay.theory.pull_bounds import ArmConstants, arms_with_a_gap, lemma

_ROUNDING = 1e-9  # relative


class Bound(NamedTuple):
    """A regret bound: its leading term, which theorem it is from, and what each arm adds.

    The theorems add an O(1) that does not grow with the budget and is not in `value`; `regret_from_pulls` bounds it.
    """

    value: float  # α·ln(2B/μ_*)·Σ C_k
    theorem: str
    terms: dict[str, float]  # α·ln(2B/μ_*)·C_k by the name of each arm with a gap; they add up to the value


class RegretBound(NamedTuple):
    """Reg(B) ≤ pulls + residual + optimality_gap."""

    value: float
    pulls: float  # Σ_k E[T_k(n₀)]·Δ_kμ_k
    residual: float  # for runs that last longer than n₀ pulls
    optimality_gap: float  # G*


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
    terms = {}
    if type(policy) is KLRate:
        pulls = kl_rate_pulls(checked_problem("upper_bound", problem), policy, budget)
        # Pulls become regret: the worst that their bounds allow together, all arms sharing B and one last cost.
        left = budget + max(support_of(law).cost_high for law in problem.arms)
        for k in sorted(pulls, key=lambda arm: -problem.gaps[arm]):
            spend = min(float(problem.mean_costs[k]) * pulls[k], left)
            terms[problem.names[k]], left = float(problem.gaps[k]) * spend, left - spend
        return Bound(finite("upper_bound", lambda: sum(terms.values())), THEOREM, terms)
    theorem = assumptions.covering_theorem(problem, policy, constants, owner="upper_bound")
    known, least = assumptions.covered(policy), rates(problem).min_mean_cost
    if not budget > least / 2.0:
        need = f"a budget above half of the smallest mean cost, {least / 2:g}"
        raise NotCovered(f"the theorems need {need}; got {budget:g}")
    log_n = math.log(budget) - math.log(least / 2.0)  # 2B may be too large
    for k, arm in arms_with_a_gap(problem, known).items():
        coefficient = finite("upper_bound", partial(_coefficient, theorem, known, arm, constants, log_n))
        terms[problem.names[k]] = known.alpha * log_n * coefficient
    return Bound(finite("upper_bound", lambda: sum(terms.values())), theorem, terms)


def _coefficient(theorem: str, policy: assumptions.Covered, a: ArmConstants, constants: str, log_n: float) -> float:
    """C_k, from the lemma or as Theorems 1, 4 and 5 print it."""
    if constants == "proved" or theorem == assumptions.HEAVY_TAILED:
        return a.loss * lemma(theorem, policy, a, constants, log_n).coefficient
    if theorem == assumptions.GAUSSIAN:
        return 11.0 * a.sigma2 / a.loss
    known = 42.0 * a.sigma2 / a.loss + 42.0 * a.rate_bound + 21.0 * a.cost_bound * a.gap
    if theorem == assumptions.BOUNDED:
        return known
    flat = a.cost_bound**4 * a.loss / a.own.var_cost**2
    variances = known + 21.0 * (flat + a.own.var_cost * a.gap / a.own.mean_cost)
    if theorem == assumptions.UNKNOWN_VARIANCES:
        return variances
    return variances + 42.0 * (a.residual_bound * a.cost_bound / math.sqrt(a.own.var_cost) + flat)


def horizon(problem: Problem, budget: float) -> int:
    """n₀ = ⌈2B/μ_*⌉, the pulls within which the budget is nearly always spent (Lemma 1).

    >>> from outlay.arms import Constant, Problem
    >>> horizon(Problem([Constant(0.5, 1.0), Constant(2.0, 1.0)]), budget=10.0)
    40
    """
    budget, mean = real("horizon", "budget", budget, above=0), rates(checked_problem("horizon", problem)).min_mean_cost
    return math.ceil(finite("horizon", lambda: 2.0 * budget / mean))


def late_passage(pulls: float, mean_cost: float, order: float, central_moment: float) -> float:
    """A bound on the chance that n ≥ 2B/μ pulls have not spent the budget B (Lemma 1); above 1 it says nothing.

    P(max_{i ≤ n} S_i ≤ B) ≤ (2p²/(p−1))^p·u / (μ^p·n^(p/2))

    Args:
        pulls: n.
        mean_cost: μ > 0, which every conditional mean of the costs reaches.
        order: p > 2.
        central_moment: u ≥ E|X − E[X]|^p of every cost.

    >>> late_passage(pulls=10_000, mean_cost=1.0, order=4.0, central_moment=0.001)
    1.2945...e-07
    """
    pulls = real("late_passage", "pulls", pulls, above=0)
    mean_cost = real("late_passage", "mean_cost", mean_cost, above=0)
    order = real("late_passage", "order", order, above=2)
    u = real("late_passage", "central_moment", central_moment, at_least=0)
    if u == 0:
        return 0.0
    level = _log_spread(order) + math.log(u) - order * math.log(mean_cost) - order / 2.0 * math.log(pulls)
    return finite("late_passage", lambda: math.exp(level))


def regret_from_pulls(
    problem: Problem,
    pulls: Sequence[float],
    budget: float,
    order: float,
    central_moment: float | None = None,
    optimality_gap: float | None = None,
    constants: str = "proved",
) -> RegretBound:
    """Turn bounds on pulls into a bound on regret (Proposition 4).

    Reg(B) ≤ Σ_k E[T_k(n₀)]·Δ_kμ_k + (2p²/(p−1))^p·u / ((p/2−1)·D)·Σ_k Δ_kμ_k + G*,  n₀ = ⌈2B/μ_*⌉

    with D = (2B−μ_*)^(p/2−1)·μ_*^(p/2+1), the sum of Lemma 1 over n ≥ n₀; printed is (2B−μ_*)^(p/2)·μ_*^(p/2), too
    large by 2B/μ_* − 1. The proof in the paper adds c = r*·E[X²]/E[X] of the best arm, which can be spared:
    E[reward] = r*·E[S_N] − Σ E[T_k]Δ_kμ_k with S_N > B, and no policy earns more than r*B + G*.

    Args:
        problem: the arms; r* ≥ 0, and costs with a moment of order p.
        pulls: bounds on E[T_k(n₀)], one per arm, from `pull_bound` at `horizon(problem, budget)`; 0 for best arms.
        budget: B > μ_*/2.
        order: p > 2.
        central_moment: u ≥ E|X_k − μ_k|^p of every arm; None takes w^(p−2)·Var for costs in an interval of width w,
            the exact moment for Gaussian ones, and asks for it for others.
        optimality_gap: G* of Proposition 1, what the optimal policy earns above r*B at most; None takes r*·G with the
            G of `optimality`.
        constants: "proved" or "printed".

    >>> from outlay.arms import Gaussian, Problem
    >>> problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)])
    >>> bound = regret_from_pulls(problem, [0.0, 300.0], 1e6, order=4.0)
    >>> bound.pulls, round(bound.residual, 6)
    (150.0, 0.000607)
    """
    owner = "regret_from_pulls"
    checked_problem(owner, problem)
    require_constants(owner, constants)
    budget = real(owner, "budget", budget, above=0)
    order = real(owner, "order", order, above=2)
    bounds = vector(owner, "pulls", pulls, at_least=0)
    if len(bounds) != len(problem):
        raise BadParameter(owner, "pulls", f"{len(problem)} numbers, one per arm", pulls)
    found = rates(problem)
    mean = found.min_mean_cost
    if found.best_rate < 0:
        raise NotCovered(f"Proposition 4 needs a best rate r* ≥ 0; it is {found.best_rate:g}")
    if not budget > mean / 2.0:
        need = f"a budget above half of the smallest mean cost, {mean / 2:g}"
        raise NotCovered(f"Proposition 4 needs {need}; got {budget:g}")
    u = _moment(problem, order, central_moment)
    if optimality_gap is None:
        constant, reason = gap_constant(problem)
        if constant is None:
            raise NotCovered(f"Proposition 4 needs an optimality_gap, and G is {reason}")
        gap = problem.rate * constant
    else:
        gap = real(owner, "optimality_gap", optimality_gap, at_least=0)
    losses = found.gap * found.mean_cost
    residual = 0.0
    if u > 0 and losses.any():
        half, room = order / 2.0, math.log(2.0) + math.log(budget - mean / 2.0)  # ln(2B − μ_*)
        level = _log_spread(order) + math.log(u) - (half - 1.0) * room - (half + 1.0) * math.log(mean)
        if constants == "printed":
            level -= room - math.log(mean)
        residual = finite(owner, lambda: math.exp(level) / (half - 1.0) * float(losses.sum()))
    pulled = sum(float(loss) * float(count) for loss, count in zip(losses, bounds, strict=True))
    return RegretBound(finite(owner, lambda: pulled + residual + gap), pulled, residual, gap)


def _moment(problem: Problem, order: float, given: float | None) -> float:
    """u: what is given if it can be a moment of that order, else the largest of the arms'."""
    for name, law in zip(problem.names, problem.arms, strict=True):
        tail = tails_of(law).cost
        if order >= tail:
            need = f"costs with a moment of order {order:g}; {name!r} has moments of order below {tail:g} only"
            raise NotCovered(f"Proposition 4 needs {need}")
    if given is None:
        return max(_moment_of(problem, k, order) for k in range(len(problem)))
    u = real("regret_from_pulls", "central_moment", given, at_least=0)
    spread = math.sqrt(problem.second_moments()["var_cost"].max())
    if u ** (1.0 / order) < spread * (1.0 - _ROUNDING):
        need = f"≥ {spread:g}^{order:g}: E|X − μ|^p ≥ Var(X)^(p/2), and a cost has standard deviation {spread:g}"
        raise BadParameter("regret_from_pulls", "central_moment", need, given)
    return u


def _moment_of(problem: Problem, arm: int, order: float) -> float:
    """A bound on E|X − μ|^p of an arm's cost."""
    law = problem.arms[arm]
    variance, box = LawMoments(*law.moments()).var_cost, support_of(law)
    width = box.cost_high - box.cost_low
    if variance == 0:
        return 0.0
    if math.isfinite(width):
        return finite("central_moment", lambda: variance * math.pow(width, order - 2.0))
    if is_gaussian(law):
        level = order / 2.0 * math.log(2.0 * variance) + math.lgamma((order + 1.0) / 2.0) - math.log(math.pi) / 2.0
        return finite("central_moment", lambda: math.exp(level))
    name = problem.names[arm]
    raise NotCovered(f"the central moment is known for bounded and for Gaussian costs; give one that covers {name!r}")


def _log_spread(order: float) -> float:
    return order * (math.log(2.0 * order) + math.log(order / (order - 1.0)))
