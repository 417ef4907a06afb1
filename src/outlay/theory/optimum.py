"""What can be reached at best: by one arm alone, by any policy, and how far the two are apart (Section 3, Appendix A).

One arm is pulled until the budget is passed: N(B) = inf{n : S_n > B}, and the pull that crosses B counts. By Wald's
equation E[S_N] = μ·E[N], so E[N(B)] is B/μ plus the mean overshoot E[S_N] − B over μ, and E[REW(B)] = E[N(B)]·E[R].

The paper proves that every policy's mean overshoot E[S_N] − B is below one constant G (Propositions 1 and 3); here G is
a formula, and with it r*B ≤ E[REW_π*(B)] ≤ E[REW_opt(B)] ≤ r*(B + G) for r* ≥ 0 and every budget.

The true optimum π^opt(B) is found by dynamic programming, where all costs lie on one lattice. The best static policy π*
never looks at what is left of the budget; π^opt does, and gains most near the end, where the pull that crosses the
budget is paid in full. Costs and budget are read as the decimal numbers they print as (0.1 is one tenth), and
everything until the step is found is exact rational arithmetic: a budget of 0.3 holds three costs of 0.1.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay import arms
from outlay.arms import AnyLaw, LawMoments, Problem, support_of, tails_of
from outlay.arms.law import check_law
from outlay.arms.problem import checked_problem
from outlay.checks import Vector, real
from outlay.errors import BadParameter, NotCovered, needed
from outlay.theory.arm_rates import cost_side, cost_table, rates

MOST_STATES = 1_000_000  # of a lattice that is solved
MOST_WORK = 1_000_000_000  # multiplications to solve it
MOST_PULLS = 1e300  # B/μ, beyond which the formulas overflow
ESCAPE = 1e-12  # probability of leaving the grid kept above the budget, where costs may be negative

_TIE = 1e-12  # relative difference of values below which the best static arm is kept
_ROUNDS = 100  # of policy iteration; a handful suffices, and `error` covers the rest

_STEPS = 4096  # of the grid from 0 to B
_FARTHEST = 64.0  # mean costs; beyond, the expansion is closer than the grid

WIDEST = 100_000  # steps between the smallest and the largest cost
_SLOWEST = 1e-6  # decay per step; slower ones are lost in rounding, and reach too far to be of use


class Estimate(NamedTuple):
    """A number, two that enclose it for certain, and how it was found."""

    value: float
    low: float
    high: float
    method: Literal["exact", "expansion", "bounds"]


class GapConstant(NamedTuple):
    """G, in units of cost, and where it comes from; None where it is not explicit."""

    value: float | None
    reason: str


class Optimality(NamedTuple):
    """Proposition 1 at one budget."""

    lower: float  # r*B
    static: Estimate  # E[REW_π*(B)]
    upper: float  # r*(B + G); ∞ without a G
    gap_constant: float | None  # G, in units of cost
    reason: str  # where G comes from, or why it is not explicit


class DynamicOptimum(NamedTuple):
    """What the optimal policy earns and pulls when a budget is left, for every budget on the lattice up to B."""

    budgets: Vector  # 0, h, 2h, …, ⌊B/h⌋h
    value: Vector  # E[REW_opt]
    arm: NDArray[np.int64]  # the optimal arm; among equals the best static arm, then the lowest index
    static_value: Vector  # E[REW_π*]
    error: float  # value and static_value are this close to the truth; 0 (rounding) if no cost is negative

    @property
    def gap(self) -> Vector:
        """What π* loses to the optimum: value − static_value, bounded in B (Proposition 1)."""
        return self.value - self.static_value


class Lattice(NamedTuple):
    """Laws whose costs are whole multiples of one step; costs and budgets counted in steps."""

    step: float
    low: int  # smallest cost of any law, or 0 if that is smaller
    high: int  # largest cost of any law
    chances: Vector  # [law, cost − low]: its probability
    budget: int  # ⌊B/step⌋: S_n > B exactly when S_n is at least one step more


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
    if isinstance(cost, arms.Exponential):
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
    elif isinstance(cost, arms.Gaussian) and (sums := _gaussian_sums(cost)) is not None:
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


def longest_rest(law: AnyLaw) -> float:
    """The largest E[X − y | X > y] over y ≥ 0: what a cost still adds, on average, once it has reached a level.

    Exact for tables, and for costs whose hazard rate is monotone: exponential, gamma, Gaussian, uniform and Betas with
    both shapes ≥ 1, of which it is the value at y = 0 (gammas of a shape below 1: the limit, their scale). The largest
    cost for other bounded laws, ∞ for heavy tails.
    """
    cost = cost_side(law)
    if (table := cost_table(cost)) is not None:
        costs, chances = table
        levels = np.unique(np.append(costs[costs >= 0], 0.0))[:-1]  # y is 0 or a cost, but not the largest one
        above = np.searchsorted(costs, levels, side="right")
        beyond, weighted = np.cumsum(chances[::-1])[::-1], np.cumsum((chances * costs)[::-1])[::-1]
        return float((weighted[above] / beyond[above] - levels).max())
    mean, _, variance, *_ = LawMoments(*cost.moments())
    match cost:
        case arms.Exponential():
            return mean
        case arms.Gamma():
            return max(mean, variance / mean)
        case arms.Gaussian():
            z = mean / cost.cost_sd
            mills = math.sqrt(2.0 / math.pi) * math.exp(-z * z / 2.0) / math.erfc(-z / math.sqrt(2.0))
            return mean + cost.cost_sd * mills
        case arms.Uniform():
            return mean if cost.cost_low >= 0 else cost.cost_high / 2.0
        case arms.Beta():
            share = mean / cost.cost_bound
            size = share * (1.0 - share) * cost.cost_bound**2 / variance - 1.0  # of both shapes together
            return mean if min(share, 1.0 - share) * size >= 1.0 else cost.cost_bound
    return support_of(cost).cost_high


def overshoot_bound(law: AnyLaw) -> float:
    """A bound on E[S_N] − B of one arm for every B: Lorden's E[(X⁺)²]/μ ≤ E[X²]/μ, or `longest_rest` if smaller."""
    mean, _, variance, *_ = LawMoments(*cost_side(law).moments())
    return min(mean + variance / mean, longest_rest(law))


def gap_constant(problem: Problem) -> GapConstant:
    """G with E[S_N] ≤ B + G under every policy and for every B, and where it comes from; None if not explicit.

    The pull that crosses the budget with y ≥ 0 left exceeds it by E[X_k − y | X_k > y] on average, so G = max_k of
    `longest_rest` will do: it is at most the largest cost, and max μ_k for exponential costs. Where all costs have one
    law, S_n is its random walk whatever is pulled, and Lorden's inequality gives G = E[X²]/μ. Finite variances: with
    κ_k = E[X_k²]/μ_k, κ = max_k κ_k, s as below and D = (s + κ + √(κ² + 2sκ))/2,

        G = D                                   if no cost is negative,
        G = s/2 + D·(1 + max_k √(E[X_k²])/μ_k)/2    otherwise.

    s is Σ_k κ_k over the different costs. Costs of one family that differ in scale and spread alone (lognormal,
    Pareto, Student's t of one tail; equal laws) may count together, as max μ_k·(1 + max_k Var(X_k)/μ_k²) if that is
    less, so that G does not grow with arms that are alike.

    Proof, for g(y) = max_k E[(X_k − y)⁺]/μ_k, J(y) = ∫_y^∞ g and any c with g(c) < 1. Let w be 0 up to −c, then rise
    with slope g(0)/(1 − g(c)) up to 0 and with slope g(y) + g(c + y)·g(0)/(1 − g(c)) after: concave above −c. If y is
    left, a pull of arm k overshoots by E[(X_k − y)⁺] ≤ μ_k·g(y) on average and changes w by at most −μ_k·w'(y) (the
    tangent) plus w'(0)·E[(X_k − y − c)⁺] (the bend at −c): in sum nothing is gained, so the mean overshoot is at
    most w(∞) = J(0) + (c + J(c))·g(0)/(1 − g(c)). Then J(c) ≤ J(0) ≤ s/2, g(c) ≤ κ/(4c), g(0) = max_k E[X_k⁺]/μ_k ≤
    (1 + max_k √(E[X_k²])/μ_k)/2, and the best c give the second line. If no cost is negative, what is left only
    falls: μ_I summed over the pulls with at most y left has mean ≤ (y + c)/(1 − g(c)), and summing g over them gives
    (J(0) + c)/(1 − g(c)), the first line. J(0) ≤ s/2: ∫ E[(X − y)⁺]/μ dy over y ≥ 0 is E[(X⁺)²]/(2μ) ≤ κ/2, and
    within a family E[(X/μ − y)⁺] grows with the spread (each law is the conditional mean of a wider one), so one law
    with the largest mean and the largest spread bounds all. Lorden's max_k κ_k, true of one arm, is not enough when a
    policy adapts.

    >>> from outlay.arms import Exponential, Lognormal, Uniform
    >>> gap_constant(Problem([Exponential(1.0, 1.0), Exponential(2.0, 1.0)]))
    GapConstant(value=2.0, reason='what a cost adds beyond any level, on average')
    >>> gap_constant(Problem([Lognormal(1.0, 1.0, 1.0, 1.0), Uniform(1.0, 1.0, 0.0, 1.0)]))
    GapConstant(value=4.5, reason='second moments of costs that are never negative')
    """
    checked_problem("gap_constant", problem)
    costs = [cost_side(law) for law in problem.arms]
    boxes = [support_of(cost) for cost in costs]
    most, rest = max(box.cost_high for box in boxes), max(longest_rest(cost) for cost in costs)
    found = [(most, "no cost exceeds it"), (rest, "what a cost adds beyond any level, on average")]
    mean, variance = problem.mean_costs, problem.second_moments()["var_cost"]
    kappa = mean + variance / mean
    if len({_cost_law(cost) for cost in costs}) == 1:
        found.append((float(kappa[0]), "Lorden's inequality: all costs have one law"))
    families: dict[object, list[int]] = {}
    for k, cost in enumerate(costs):
        families.setdefault(_family(cost), []).append(k)
    total, largest = 0.0, float(kappa.max())  # s and κ
    for members in families.values():
        m, v = mean[members], variance[members]
        total += min(float((m + v / m).sum()), float(m.max() * (1.0 + (v / m**2).max())))
    settled = (total + largest + math.sqrt(largest * (largest + 2 * total))) / 2
    if min(box.cost_low for box in boxes) >= 0:
        found.append((settled, "second moments of costs that are never negative"))
    else:
        reach = (1 + float(np.sqrt(1 + variance / mean**2).max())) / 2
        found.append((total / 2 + reach * settled, "second moments of the costs"))
    least, reason = min(found, key=lambda candidate: candidate[0])
    if math.isfinite(least):
        return GapConstant(least, reason)
    wild = problem.names[int(np.argmax(~np.isfinite(variance)))]
    reason = f"the cost of arm {wild!r} is unbounded with infinite variance (Assumption 1)"
    return GapConstant(None, f"not explicit: {reason}")


def _family(cost: AnyLaw) -> object:
    """What two costs share if one of them, scaled, is a conditional mean of the other."""
    match cost:
        case arms.Lognormal() | arms.Pareto():
            return type(cost)
        case arms.StudentT():
            return type(cost), cost.tail
    return _cost_law(cost)


def _cost_law(cost: AnyLaw) -> object:
    """What two costs share if they have one law, whatever the rewards; laws that are not ours must be equal."""
    table = cost_table(cost)
    if table is not None:
        return tuple(map(tuple, table))
    if type(cost).__module__.startswith("outlay.arms."):
        mean, _, variance, *_ = cost.moments()
        return type(cost), mean, variance, support_of(cost)[:2], tails_of(cost).cost
    try:
        return hash(cost), cost
    except TypeError:
        return id(cost)


@needed("theory.optimality")
def optimality(problem: Problem, budget: float) -> Optimality:
    """Proposition 1's chain r*B ≤ E[REW_π*(B)] ≤ E[REW_opt(B)] ≤ r*(B + G), for r* ≥ 0.

    No policy, however it adapts, brings more than `upper`; pulling the best arm brings `static`.

    >>> from outlay.arms import Bernoulli, Problem
    >>> found = optimality(Problem([Bernoulli(0.5, 0.4), Bernoulli(0.25, 0.15)]), budget=100.0)
    >>> round(found.lower, 9), round(found.static.value, 9), round(found.upper, 9), found.gap_constant
    (80.0, 80.8, 80.8, 1.0)
    """
    limit = real("optimality", "budget", budget, above=0)
    best = rates(checked_problem("optimality", problem))
    if best.best_rate < 0:
        raise NotCovered(f"Proposition 1 needs a best rate r* ≥ 0; it is {best.best_rate:.6g}")
    static = expected_reward(problem.arms[best.best], limit)
    constant, reason = gap_constant(problem)
    upper = math.inf if constant is None else best.best_rate * (limit + constant)
    return Optimality(best.best_rate * limit, static, upper, constant, reason)


@needed("theory.optimal_policy")
def optimal_policy(problem: Problem, budget: float, headroom: float | None = None) -> DynamicOptimum:
    """E[REW_opt(b)] and the optimal arm for every budget b up to `budget`, the maximum over all policies (Section 2).

    v(b) = max_k E[R_k] + Σ_x P(X_k = x)·v(b − x), and v = 0 below 0: the pull that crosses the budget still pays. Costs
    must lie on a common lattice (Constant, Bernoulli, Discrete, Empirical; the rewards may have any law).

    Without negative costs b = 0, h, 2h, … are solved in turn; an arm that may cost nothing is repeated until it costs
    something, (E[R] + Σ_{x>0} P(X=x)·v(b−x))/(1 − P(X=0)). With negative costs, policy iteration on a grid that ends
    `headroom` above the budget, by default where refunds reach with probability at most 1e-12. Beyond it v lies between
    r*(b + h) and r*(b + M), M the largest cost (Proposition 1), and their middle is used; `error` is half their
    distance times that probability, plus what the residual of the equation can amount to.

    >>> from outlay.arms import Constant, Problem
    >>> found = optimal_policy(Problem([Constant(1.0, 1.0), Constant(3.0, 2.0)]), budget=4.0)
    >>> found.value, found.arm, found.static_value
    (array([2., 3., 4., 5., 6.]), array([1, 0, 0, 0, 0]), array([1., 2., 3., 4., 5.]))
    """
    limit = real("optimal_policy", "budget", budget, above=0)
    lattice = find_lattice(checked_problem("optimal_policy", problem).arms, limit)
    if lattice is None:
        raise BadParameter("optimal_policy", "problem", "made of arms with costs on a common lattice", problem)
    if lattice.low == 0 or headroom is None:
        above = safe_headroom(lattice)
    else:
        steps = real("optimal_policy", "headroom", headroom, at_least=0) / lattice.step
        above = math.ceil(min(MOST_STATES, steps))
    if not solvable(lattice, above):
        most = f"{MOST_STATES:,} steps of {lattice.step:g} with headroom, fewer for costs of many steps"
        if not solvable(lattice, 0):
            raise BadParameter("optimal_policy", "budget", f"small enough for {most}", limit)
        if headroom is not None:
            raise BadParameter("optimal_policy", "headroom", f"small enough for {most}", headroom)
        raise BadParameter("optimal_policy", "headroom", "given, where refunds lead too far above the budget", None)
    best = rates(problem).best
    pulls, static_error = lattice_pulls(lattice, best, above)
    reward = problem.mean_rewards
    if lattice.low == 0:
        value, arm, unsolved = *_forward(lattice, reward, best), 0.0
    else:
        value, arm, unsolved = _iterated(lattice, reward, best, above)
    budgets = lattice.step * np.arange(lattice.budget + 1.0)
    error = abs(float(reward[best])) * static_error + unsolved  # beyond the grid both are known equally well
    return DynamicOptimum(budgets, value, arm, float(reward[best]) * pulls, error)


def _forward(lattice: Lattice, reward: Vector, best: int) -> tuple[Vector, NDArray[np.int64]]:
    """Values from small budgets to large ones: a pull that costs anything leaves less."""
    states, moves = lattice.budget + 1, 1.0 - lattice.chances[:, 0]
    gain, chances = reward / moves, np.ascontiguousarray(lattice.chances[:, states:0:-1]) / moves[:, None]
    width = chances.shape[1]
    value, arm = np.zeros(width + states), np.empty(states, dtype=np.int64)
    for j in range(states):
        each = gain + chances @ value[j : j + width]
        k = each.argmax()
        value[width + j] = each[k]
        arm[j] = best if each[best] >= each[k] - _TIE * abs(each[k]) else k
    return value[width:], arm


def _iterated(lattice: Lattice, reward: Vector, best: int, above: int) -> tuple[Vector, NDArray[np.int64], float]:
    """Policy iteration: the value of a policy, then in every state the arm that is best before that value.

    And what the residual of the equation can amount to over (B + M)/μ_* pulls, the most a policy makes on average.
    """
    states, low, high = lattice.budget + 1 + above, lattice.low, lattice.high
    means = lattice.chances @ np.arange(low, high + 1)
    rate = float(reward[best] / means[best])
    beyond = rate * (states + np.arange(-low, dtype=np.float64) + (1 + high) / 2)
    policy = np.full(states, best)
    for _ in range(_ROUNDS):
        value = policy_value(lattice.chances[policy], low, reward[policy], beyond)
        around = np.concatenate([np.zeros(high), value, beyond])
        each = reward[:, None] + np.array([np.convolve(around, row, "valid") for row in lattice.chances])
        better = each.max(axis=0) > value + _TIE * np.abs(value)
        if not better.any():
            break
        policy = np.where(better, each.argmax(axis=0), policy)
    residual = float(np.abs(each.max(axis=0) - value).max())
    unsolved = residual * (lattice.budget + high) / float(means.min())
    return value[: lattice.budget + 1], policy[: lattice.budget + 1], unsolved


def _distribution(law: AnyLaw, levels: Vector) -> Vector | None:
    """P(X ≤ x) of a continuous cost that is never negative, at rising levels x ≥ 0; None where it is not known here."""
    from scipy.special import betainc, gammainc, ndtr

    match law:
        case arms.Uniform() if law.cost_high > law.cost_low >= 0:
            return np.clip((levels - law.cost_low) / (law.cost_high - law.cost_low), 0.0, 1.0)
        case arms.Gamma():
            shape = (law.cost / law.cost_sd) ** 2
            return np.asarray(gammainc(shape, levels * shape / law.cost))
        case arms.Lognormal() if law.cost_sigma > 0:
            with np.errstate(divide="ignore"):
                z = (np.log(levels / law.cost) + law.cost_sigma**2 / 2.0) / law.cost_sigma
            return np.asarray(ndtr(z))
        case arms.Pareto():
            return np.asarray(-np.expm1(-law.cost_tail * np.log1p(levels / ((law.cost_tail - 1.0) * law.cost))))
        case arms.Beta():
            share = law.cost / law.cost_bound
            size = share * (1.0 - share) * (law.cost_bound / law.cost_sd) ** 2 - 1.0
            return np.asarray(betainc(share * size, (1.0 - share) * size, np.minimum(levels / law.cost_bound, 1.0)))
    return None


def enclosed_pulls(law: AnyLaw, budget: float) -> tuple[float, float] | None:
    """Numbers that E[N(B)] lies between: costs rounded up to a grid spend the budget sooner, rounded down later.

    None where the law's distribution is not known here, or the budget is so large that the grid is coarse.
    """
    from scipy.signal import lfilter

    if budget > _FARTHEST * law.moments()[0]:
        return None
    reached = _distribution(law, np.linspace(0.0, budget * (1.0 + 1.0 / _STEPS), _STEPS + 2))
    if reached is None:
        return None
    chances, ends = np.diff(reached), []
    for steps in (np.append(0.0, chances[:-1]), chances):  # P(0), P(h), …, P(B), rounded up and down
        paid = 1.0 - steps[0]
        if paid <= 0:
            return None
        pulls = lfilter([1.0], np.append(1.0, -steps[1:] / paid), np.full(_STEPS + 1, 1.0 / paid))
        ends.append(float(pulls[-1]))
    return ends[0] * (1.0 - 1e-9), ends[1] * (1.0 + 1e-9)


def _gaussian_sums(law: arms.Gaussian) -> tuple[float, float] | None:
    """Σ_n E[S_n⁻]/n and E[N(0)] = exp Σ_n P(S_n ≤ 0)/n for S_n ~ N(nμ, nσ²) (Spitzer); None if too many terms matter.

    E[S_n⁻] = σ√n·φ(z) − nμ·Φ(−z) with z = μ√n/σ.
    """
    from scipy.special import ndtr

    ratio = law.cost_sd / law.cost
    terms = 100.0 * ratio * ratio  # beyond, z > 10
    if terms > MOST_STATES:
        return None
    n = np.arange(1.0, math.ceil(terms) + 1.0)
    z = law.cost * np.sqrt(n) / law.cost_sd
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    refunds = float(np.sum(law.cost_sd / np.sqrt(n) * density - law.cost * ndtr(-z)))
    return refunds, math.exp(float(np.sum(ndtr(-z) / n)))


def find_lattice(laws: Sequence[AnyLaw], budget: float) -> Lattice | None:
    """The coarsest lattice that holds every cost of the laws; None if there is none with at most `WIDEST` steps.

    The step is the greatest common divisor of all costs, each as the fraction its decimal digits say.
    """
    tables = [table for law in laws if (table := cost_table(law)) is not None]
    if len(tables) < len(laws):
        return None
    columns = [[Fraction(repr(float(cost))) for cost in costs] for costs, _ in tables]
    smallest, largest = min(Fraction(0), *(column[0] for column in columns)), max(column[-1] for column in columns)
    step = Fraction(0)
    for cost in {cost for column in columns for cost in column}:
        common = math.gcd(step.numerator * cost.denominator, cost.numerator * step.denominator)
        step = Fraction(common, step.denominator * cost.denominator)
        if largest - smallest > WIDEST * step > 0:
            return None
    low, high = int(smallest / step), int(largest / step)
    chances = np.zeros((len(laws), high - low + 1))
    for row, column, (_, probabilities) in zip(chances, columns, tables, strict=True):
        row[[int(cost / step) - low for cost in column]] = probabilities
    return Lattice(float(step), low, high, chances, Fraction(repr(budget)) // step)


def decay(lattice: Lattice) -> float:
    """The largest θ with E[e^(−θX)] ≤ 1 for every law, cost X in steps; ∞ if no cost is negative, 0 if it is too small.

    e^(−θS_n) then is a supermartingale under every policy, so refunds ever exceed costs by d steps with probability at
    most e^(−θd) (Lundberg's inequality).
    """
    from scipy.optimize import brentq

    costs = np.arange(lattice.low, lattice.high + 1)
    found = math.inf
    for chances in lattice.chances:
        possible = chances > 0
        x, log_p = costs[possible], np.log(chances[possible])
        if x[0] >= 0:
            continue

        def excess(theta: float, x: Vector = x, log_p: Vector = log_p) -> float:
            return float(np.logaddexp.reduce(log_p - theta * x))

        above = log_p[0] / x[0] + 1e-9  # the smallest cost alone already gives 1 there
        below = above / 2
        while excess(below) >= 0:
            below /= 2
            if below < _SLOWEST:
                return 0.0
        found = min(found, float(brentq(excess, below, above)) * (1 - 1e-9))
    return found


def policy_value(chances: Vector, low: int, gain: Vector, beyond: Vector) -> Vector:
    """Expected gain until the budget is passed, from every state 0, …, n−1 = steps left, of a policy fixed per state.

    Solves v(j) = gain(j) + Σ_x chances[j, x − low]·v(j − x), where v is 0 below 0 and `beyond` from state n on.
    """
    from scipy.linalg import solve_banded

    states = len(gain)
    chances = chances[:, : states - low]  # a larger cost passes the budget from every state
    width = chances.shape[1]
    diagonals = np.zeros((width, states))
    known = gain.copy()
    for x in range(low, low + width):
        first, last = max(0, x), max(0, min(states, states + x))  # the states whose successor is one too
        diagonals[x - low, max(0, -x) : max(0, -x) + last - first] = -chances[first:last, x - low]
        known[last:] += chances[last:, x - low] * beyond[last - x - states : -x]
    diagonals[-low] += 1.0
    return np.asarray(solve_banded((low + width - 1, -low), diagonals, known))
