"""Which theorem covers a policy on a problem, and whether each of its assumptions holds there.

The paper's theorems are told apart by the type and the parameters of the policy. What all of them need: mean rewards
≥ 0 (the estimate max(0, R̄)/max(b, X̄) cannot show a negative rate) and b ≤ μ_k/2; α > 2 the policies check themselves.
The assumption ω_k ≤ r_k, made "for simplicity" in Section 4.2, is needed by the printed constants, which have
(r* − ω_k)² where the score has (r_k − ω_k)². The score of UCB-B2C hides slopes above the rate in (r̂ − ω̂)⁺: what is
proved of it is for costs that leave no room for them.

UCB-B1 on Gaussian pairs: E[T_k(n)] ≤ C·a·ln n + c for every a = α·L > 2/c_f².

docs/errata.md has the proof. With κ = (λ−1)/λ, f the factor of the score and c_f = f/(1+fκ), the best arm's score is
rarely below r* − γΔ:

    P(after j pulls in all it is below) ≤ K/(j^e·ln j),   e = a·c_f²/2 > 1,  K = 3/(2em²),  m as in `_lost`

The worse arm's is below it after more than C·a·ln n pulls, unless a mean of its own is off by β of its radius then:

    C = max( Var(X)/(τμ)²,  (H·S/((1−γ)Δμ))² ),   τ = κ/(1+κβ),  H = (1+κβ)(β + f(1+κβ)),  S = √V + |r−ω|√Var(X)

Every β and γ between 0 and 1 give a bound; the least of a grid is taken.
"""

import math
from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from outlay.arms import Problem, support_of, tails_of
from outlay.arms.continuous import is_gaussian
from outlay.arms.problem import checked_problem
from outlay.checks import Vector
from outlay.errors import BadParameter, NotCovered
from outlay.formulas.confidence import STABLE
from outlay.policies import UCBB1, UCBB2, UCBB2C, UCBM1
from outlay.theory.arm_rates import cost_table, rates

Bounded = UCBB1 | UCBB2 | UCBB2C  # policies that are told bounds on costs and rewards
Covered = Bounded | UCBM1

BOUNDED, GAUSSIAN = "Theorem 1 (bounded)", "Theorem 1 (Gaussian)"
HEAVY_TAILED, UNKNOWN_VARIANCES, UNKNOWN_CORRELATION = "Theorem 2", "Theorem 4", "Theorem 5"

_ROUNDING = 1e-9  # relative size below which a difference of second moments is rounding
_TEXT, _APPENDIX = 1.4, 1.28 / (2.0 - 1.28)  # the factor of the score in the text and in Appendix C

_GAUSSIAN_DEVIATIONS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)  # β
_SHARES = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)  # γ
_SUMMED = 100_000  # terms of the sum over j; the others are below an integral
_NEVER, _NODES = 745.0, 200  # where e^(−x) is 0; of the rule by which that is integrated


class GaussianMoments(NamedTuple):
    """What the proof reads of an arm, in the paper's letters: μ, r, ω, V, Var(X)."""

    mean_cost: float
    rate: float
    slope: float
    residual_variance: float
    var_cost: float

    def spread(self, weight: float) -> float:
        """√V + weight·√Var(X)."""
        return math.sqrt(self.residual_variance) + weight * math.sqrt(self.var_cost)


def covering_theorem(problem: Problem, policy: object, constants: str, owner: str = "covering_theorem") -> str:
    """The theorem that covers `policy` on `problem`; `NotCovered` names the first assumption that fails.

    `constants` is "printed" or "proved": the proofs of `pull_bounds` need less in some places, more in others.
    `owner` is named where a parameter is bad.
    """
    checked_problem(owner, problem)
    require_constants(owner, constants)
    known, proved = covered(policy), constants == "proved"
    match known:
        case UCBB1():
            return _ucb_b1(known, problem, proved)
        case UCBM1():
            tails = np.array([tails_of(law).cost for law in problem.arms])
            need = "Theorem 2 needs costs with a moment of order above 2; {} has moments of order below {} only"
            _require(problem, tails <= 2.0, need, tails)
            wild = ~np.isfinite(problem.second_moments()["var_reward"])
            _require(problem, wild, "Theorem 2 needs Var(R) < ∞; {} has ∞")
            _require_told(problem, HEAVY_TAILED, known)
            _require_common(problem, HEAVY_TAILED, known, proved)
            return HEAVY_TAILED
        case UCBB2():
            theorem = UNKNOWN_VARIANCES
            _require_bounds(problem, theorem, known, low=(0.0, 0.0))
            if not proved:
                moments = problem.second_moments()
                scale, cov = np.sqrt(moments["var_cost"]) * np.sqrt(moments["var_reward"]), moments["cov"]
                correlated = np.abs(cov) > _ROUNDING * scale
                _require(
                    problem, correlated, theorem + " needs uncorrelated pairs; those of {} have covariance {:g}", cov
                )
        case UCBB2C():
            theorem = UNKNOWN_CORRELATION
            _require_bounds(problem, theorem, known, low=(0.0, 0.0))
            if proved:  # costs of 0 and one other value c: no sample slope exceeds ω̄ ≥ M_R/c, or the sample's own rate
                tables = [cost_table(law) for law in problem.arms]
                values = [np.ones(2) if table is None else table[0][table[0] > 0] for table in tables]
                many = np.array([len(value) > 1 for value in values])
                need = "costs of 0 and one other value; those of {} are others"
                _require(problem, many, f"the proof for UCBB2C needs {need}")
                needed = known.reward_bound / np.array([value[0] for value in values])
                low = known.slope_bound < needed * (1.0 - _ROUNDING)
                need = f"slope_bound ≥ reward_bound/cost; it is {known.slope_bound:g}, and that of {{}} is {{:g}}"
                _require(problem, low, f"the proof for UCBB2C needs {need}", needed)
            else:
                slope = np.abs(rates(problem).slope)
                steep = slope > known.slope_bound * (1.0 + _ROUNDING)
                need = f"{theorem} needs slope_bound ≥ |ω_k|; it is {known.slope_bound:g}, and that of {{}} is {{:g}}"
                _require(problem, steep, need, slope)
    if not proved:  # Var(X_k) > 0 where the constants divide by it
        constant = (problem.second_moments()["var_cost"] == 0) & (problem.gaps > 0)
        _require(problem, constant, theorem + " needs Var(X) > 0; the cost of {} is constant")
    _require_common(problem, theorem, known, proved)
    return theorem


def covered(policy: object) -> Covered:
    """The policy, if it is one of the paper's; a subclass may score differently and is none."""
    if type(policy) not in (UCBB1, UCBM1, UCBB2, UCBB2C):
        raise NotCovered(f"no theorem of the paper covers {type(policy).__name__}")
    return cast(Covered, policy)


def require_constants(owner: str, constants: object) -> None:
    """`BadParameter` unless it is the name of a set of constants."""
    if constants not in ("printed", "proved"):
        raise BadParameter(owner, "constants", "'printed' or 'proved'", constants)


def _ucb_b1(policy: UCBB1, problem: Problem, proved: bool) -> str:
    gaussian = policy.cost_bound == policy.reward_bound == 0
    theorem = GAUSSIAN if gaussian else BOUNDED
    if gaussian:
        strange = np.array([not is_gaussian(law) for law in problem.arms])
        _require(problem, strange, "with both bounds 0 Theorem 1 needs jointly Gaussian pairs; the law of {} is not")
    else:
        _require_bounds(problem, theorem, policy, low=(-policy.cost_bound, -policy.reward_bound))
    _require_told(problem, theorem, policy)
    _require_common(problem, theorem, policy, proved)
    wanted = 0.5 if gaussian else 2.0
    if proved:
        least = least_level(policy.factor) if gaussian else 4.0
        if policy.alpha * (policy.chosen_factor if gaussian else min(2.0, policy.chosen_factor)) <= least:
            need = f"α·L > {least:.4g}; α = {policy.alpha:g}, L = {policy.chosen_factor:g}"
            raise NotCovered(f"the proof needs tails that can be summed, {need}")
        if not gaussian:
            wide = _residual_reach(problem) > 2.0 * policy.reward_bound * (1.0 + _ROUNDING)
            _require(problem, wide, "the proof needs |R − ωX − E[R − ωX]| ≤ 2·reward_bound; for {} it can be more")
    elif policy.chosen_factor != wanted:
        raise NotCovered(f"{theorem} needs variance_factor = {wanted:g}; got {policy.chosen_factor:g}")
    return theorem


def _require(problem: Problem, fails: NDArray[np.bool_], words: str, *values: Vector) -> None:
    """Raise `NotCovered` for the first arm of `fails`, with its name and its values put into `words`."""
    if fails.any():
        first = int(np.argmax(fails))
        raise NotCovered(words.format(repr(problem.names[first]), *(float(value[first]) for value in values)))


def _require_bounds(problem: Problem, theorem: str, policy: Bounded, low: tuple[float, float]) -> None:
    boxes = np.array([support_of(law) for law in problem.arms])
    for name, least, most, box in (
        ("cost", low[0], policy.cost_bound, boxes[:, :2]),
        ("reward", low[1], policy.reward_bound, boxes[:, 2:]),
    ):
        outside = (box[:, 0] < least) | (box[:, 1] > most)
        need = f"{theorem} needs {name}s in [{least:g}, {most:g}] by its {name}_bound"
        _require(problem, outside, need + "; those of {} are in [{:g}, {:g}]", *box.T)


def _require_told(problem: Problem, theorem: str, policy: UCBB1 | UCBM1) -> None:
    """The second moments the policy was told are the problem's."""
    policy.check(len(problem))
    true = problem.second_moments()
    var_cost, var_reward, cov = true["var_cost"], true["var_reward"], true["cov"]
    for name, values, given, scale in (
        ("var_cost", var_cost, policy.var_cost, var_cost),
        ("var_reward", var_reward, policy.var_reward, var_reward),
        ("cov", cov, policy.cov, np.sqrt(var_cost) * np.sqrt(var_reward)),
    ):
        told = np.broadcast_to(given, len(problem))
        differ = np.abs(told - values) > _ROUNDING * scale
        need = f"{theorem} needs the true second moments; {name} of {{}} is {{:g}} and the policy was told {{:g}}"
        _require(problem, differ, need, values, told)


def _require_common(problem: Problem, theorem: str, policy: Covered, proved: bool) -> None:
    """What every theorem needs: rewards ≥ 0, a small b, the paper's factor, (printed) ω_k ≤ r_k."""
    found = rates(problem)
    rewards = problem.mean_rewards
    _require(problem, rewards < 0, theorem + " needs mean rewards ≥ 0; that of {} is {:g}", rewards)
    costly = policy.min_cost > found.mean_cost / 2.0
    need = f"min_cost ≤ half of every mean cost; it is {policy.min_cost:g}, and {{}} has mean cost {{:g}}"
    _require(problem, costly, f"{theorem} needs {need}", found.mean_cost)
    if not proved:
        steep = found.slope > found.rate + _ROUNDING * np.abs(found.rate)
        need = theorem + " needs slopes ω_k ≤ r_k; the slope of {} is {:g} and its rate {:g}"
        _require(problem, steep, need, found.slope, found.rate)
    if not isinstance(policy, UCBM1) and not _TEXT <= policy.factor <= _APPENDIX * (1.0 + _ROUNDING):
        need = "a factor from 1.4 (the paper's text) to 1.78 (its appendix)"
        raise NotCovered(f"{theorem} needs {need}; got {policy.factor:g}")


def _residual_reach(problem: Problem) -> NDArray[np.float64]:
    """The largest |Z − E[Z]| that the support of each arm allows, Z = R − ωX."""
    x_low, x_high, r_low, r_high = np.array([support_of(law) for law in problem.arms]).T
    slope = rates(problem).slope
    low = r_low - np.maximum(slope * x_low, slope * x_high)
    high = r_high - np.minimum(slope * x_low, slope * x_high)
    mean = problem.mean_rewards - slope * problem.mean_costs
    reach: NDArray[np.float64] = np.maximum(high - mean, mean - low)
    return reach


def least_level(factor: float) -> float:
    """2/c_f², above which α·L must be: where it is less, regret can be a power of B."""
    return 2.0 * ((1.0 + factor * STABLE) / factor) ** 2


def gaussian_pulls(
    arm: GaussianMoments, best: GaussianMoments, level: float, factor: float, log_n: float
) -> tuple[float, float]:
    """C and c of the bound at ln n = `log_n`, with the β and γ for which it is least there; `level` is a = α·L."""
    exponent = level / least_level(factor)
    found = []
    for share in _SHARES:
        lost = _lost(best, share * (best.rate - arm.rate), factor, exponent)
        for off in _GAUSSIAN_DEVIATIONS:
            enough = _enough(arm, (1.0 - share) * (best.rate - arm.rate), factor, off)
            missed = 0.0
            if enough > 0:
                missed = 2.0 * math.exp(-(off**2) * level * log_n / 2.0) / -math.expm1(-(off**2) / (2.0 * enough))
            found.append((enough * level * log_n + missed + lost, enough, 1.0 + missed + lost))
    return min(found)[1:]


def _enough(arm: GaussianMoments, gap: float, factor: float, off: float) -> float:
    """C, with `gap` for (1−γ)Δ and `off` for β."""
    stretch = 1.0 + STABLE * off
    reach = stretch * (off + factor * stretch)
    judged = arm.var_cost * (stretch / (STABLE * arm.mean_cost)) ** 2
    return max(judged, (reach * arm.spread(abs(arm.rate - arm.slope)) / (gap * arm.mean_cost)) ** 2)


def _lost(best: GaussianMoments, below: float, factor: float, exponent: float) -> float:
    """How often the best arm's score is below r* − `below`, on average: Σ min(1, K/(j^e·ln j)) over j ≥ 2."""
    rate = best.rate - below
    if rate <= 0:
        return 0.0  # no score is negative
    spread = best.spread(max(abs(best.slope), abs(rate - best.slope)))
    wide = max(spread / below, 2.0 * math.sqrt(best.var_cost)) * (1.0 + factor * STABLE) / best.mean_cost  # 1/m
    most = 1.5 * wide * wide / exponent
    logs, nodes, weights = _grids()
    terms = np.minimum(1.0, most * np.exp(-exponent * logs) / logs)
    # The rest: ∫ dx/(x^e·ln x) from the last j on is E₁(z) = ∫ exp(−e^t) dt from ln z on, z = (e−1)·ln j.
    low, high = math.log((exponent - 1.0) * math.log(_SUMMED)), math.log(_NEVER)
    half = 0.5 * max(0.0, high - low)
    tail = float(half * (weights @ np.exp(-np.exp(low + half * (1.0 + nodes)))))
    return float(terms.sum()) + most * tail


@lru_cache(maxsize=1)
def _grids() -> tuple[Vector, Vector, Vector]:
    """The logarithms of the j that are summed; nodes and weights of Gauss and Legendre for the rest."""
    return np.log(np.arange(2.0, _SUMMED + 1.0)), *np.polynomial.legendre.leggauss(_NODES)
