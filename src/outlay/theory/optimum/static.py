"""What one arm brings when it is pulled until the budget is passed: renewal theory (Section 3, Appendix A).

N(B) = inf{n : S_n > B}, and the pull that crosses B counts. By Wald's equation E[S_N] = μ·E[N], so E[N(B)] is B/μ plus
the mean overshoot E[S_N] − B over μ, and E[REW(B)] = E[N(B)]·E[R].
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from outlay.arms import AnyLaw, Exponential, Gaussian, LawMoments, support_of
from outlay.arms.law import check_law
from outlay.checks import Vector, real
from outlay.errors import BadParameter
from outlay.extras import needed
from outlay.theory.optimum.lattice import Lattice, cost_side, decay, find_lattice, policy_value
from outlay.theory.optimum.overshoot import overshoot_bound
from outlay.theory.optimum.renewal import enclosed_pulls, gaussian_sums

MOST_STATES = 1_000_000  # of a lattice that is solved
MOST_WORK = 1_000_000_000  # multiplications to solve it
MOST_PULLS = 1e300  # B/μ, beyond which the formulas overflow
ESCAPE = 1e-12  # probability of leaving the grid kept above the budget, where costs may be negative


class Estimate(NamedTuple):
    """A number, two that enclose it for certain, and how it was found."""

    value: float
    low: float
    high: float
    method: Literal["exact", "expansion", "bounds"]


@needed("theory.expected_pulls")
def expected_pulls(law: AnyLaw, budget: float) -> Estimate:
    """E[N(B)], the expected number of pulls until the total cost first exceeds the budget.

    exact: exponential costs, 1 + B/μ; costs on a lattice, the recursion m(b) = 1 + Σ_x P(X=x)·m(b−x), solved on a
        grid somewhat above the budget where costs may be negative (low and high then differ by its error).
    expansion: non-negative costs, B/μ + E[X²]/(2μ²) + o(1), with ⌊B/h⌋h + h/2 for B on a lattice of step h too long
        to solve; Gaussian costs, (B + ρ)/μ + o(1) with ρ = E[X²]/(2μ) − Σ_n E[S_n⁻]/n (Spitzer).
    bounds: any other costs, those without a variance among them; the middle of low and high, or low if high is ∞.

    low and high of the latter two are Wald's B/μ ≤ E[N(B)] (Appendix A) and (B + G)/μ with the G of
    `overshoot_bound`; ∞ if that is. Budgets below 64 mean costs, where o(1) may be large, get closer ones from
    `enclosed_pulls` (uniform, Beta, gamma, lognormal and Pareto costs), Gaussian costs E[N(0)] ≤ E[N(B)]; the
    expansion is kept between them.

    >>> from outlay.arms import Bernoulli, Exponential, Gamma
    >>> expected_pulls(Bernoulli(cost=0.5, reward=0.8), budget=10.0)
    Estimate(value=22.0, low=22.0, high=22.0, method='exact')
    >>> expected_pulls(Exponential(cost=2.0, reward=1.0), budget=10.0).value
    6.0
    >>> expected_pulls(Gamma(cost=2.0, reward=1.0, cost_sd=1.0, reward_sd=1.0), budget=10.0)
    Estimate(value=5.625, low=5.62..., high=5.62..., method='expansion')
    """
    limit = real("expected_pulls", "budget", budget, above=0)
    cost = cost_side(check_law("expected_pulls", "law", law))
    mean, _, variance, *_ = LawMoments(*cost.moments())
    if not 0 < mean < math.inf:
        raise BadParameter("expected_pulls", "the mean cost of the law", "a finite number > 0", mean)
    if limit / mean > MOST_PULLS:
        raise BadParameter("expected_pulls", "budget", f"≤ {MOST_PULLS:g} mean costs", limit)
    if isinstance(cost, Exponential):
        return _exact(1.0 + limit / mean)
    lattice = find_lattice([cost], limit)
    if lattice is not None and (lattice.low, lattice.high) == (0, 1):  # nothing or one step
        return _exact((lattice.budget + 1) / float(lattice.chances[0, 1]))
    if lattice is not None and solvable(lattice):
        pulls, error = lattice_pulls(lattice, 0)
        return _exact(float(pulls[-1]), error)
    low, high = max(1.0, limit / mean), (limit + overshoot_bound(cost)) / mean
    overshoot = mean / 2 + variance / (2 * mean)  # E[X²]/(2μ)
    if (ends := enclosed_pulls(cost, limit)) is not None:
        low, high = max(low, ends[0]), min(high, ends[1])
    if support_of(cost).cost_low >= 0 and math.isfinite(variance):
        at = limit if lattice is None else (lattice.budget + 0.5) * lattice.step
    elif isinstance(cost, Gaussian) and (sums := gaussian_sums(cost, MOST_STATES)) is not None:
        at, low = limit - sums[0], max(low, sums[1])
    else:
        return Estimate((low + high) / 2 if math.isfinite(high) else low, low, high, "bounds")
    return Estimate(min(max((at + overshoot) / mean, low), high), low, high, "expansion")


@needed("theory.expected_reward")
def expected_reward(law: AnyLaw, budget: float) -> Estimate:
    """E[REW(B)] = E[N(B)]·E[R], what the arm alone brings (Wald's equation, Appendix A).

    >>> from outlay.arms import Bernoulli
    >>> expected_reward(Bernoulli(cost=0.5, reward=0.25), budget=10.0).value
    5.5
    """
    pulls, reward = expected_pulls(law, budget), LawMoments(*law.moments()).mean_reward
    if reward == 0:
        return Estimate(0.0, 0.0, 0.0, pulls.method)
    ends = sorted((pulls.low * reward, pulls.high * reward))
    return Estimate(pulls.value * reward, ends[0], ends[1], pulls.method)


def solvable(lattice: Lattice, above: int | None = None) -> bool:
    """Whether the equations on 0, …, B + `above` steps are few enough to solve."""
    states = lattice.budget + 1 + (safe_headroom(lattice) if above is None else above)
    width = min(states, lattice.high) - lattice.low
    return states <= MOST_STATES and states * width * (1 if lattice.low == 0 else width) <= MOST_WORK


def safe_headroom(lattice: Lattice) -> int:
    """Steps to keep above the budget: refunds lead beyond them with probability ≤ `ESCAPE`; if none, too many."""
    theta = decay(lattice)
    return math.ceil(-math.log(ESCAPE) / theta) if theta > 0 else MOST_STATES


def lattice_pulls(lattice: Lattice, law: int, above: int | None = None) -> tuple[Vector, float]:
    """E[N] of one law for budgets of 0, 1, …, B steps, and a bound on its error.

    Non-negative costs: m(j) = (1 + Σ_{x>0} P(X=x)·m(j−x)) / (1 − P(X=0)), no error but rounding. Else the equations
    of m are solved on 0, …, B + `above`; beyond, j/μ < m(j) ≤ (j + M)/μ gives m within (M−1)/(2μ), M the largest cost.
    """
    from scipy.signal import lfilter

    chances, states = lattice.chances[law], lattice.budget + 1
    if lattice.low == 0:
        gain, steps = np.full(states, 1.0 / (1.0 - chances[0])), chances[1:states] / (1.0 - chances[0])
        return np.asarray(lfilter([1.0], np.concatenate([[1.0], -steps]), gain)), 0.0
    above = safe_headroom(lattice) if above is None else above
    mean = float(chances @ np.arange(lattice.low, lattice.high + 1))
    beyond = states + above + np.arange(-lattice.low, dtype=np.float64) + (1 + lattice.high) / 2
    everywhere = np.broadcast_to(chances, (states + above, len(chances)))
    pulls = policy_value(everywhere, lattice.low, np.ones(states + above), beyond / mean)
    return pulls[:states], (lattice.high - 1) / (2 * mean) * math.exp(-decay(lattice) * (above + 1))


def _exact(value: float, error: float = 0.0) -> Estimate:
    return Estimate(value, value - error, value + error, "exact")
