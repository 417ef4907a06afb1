"""How small regret can be: no consistent policy stays below a coefficient times ln B (Theorem 3, Corollary 1).

    liminf Reg(B) / ln B  ≥  Σ_{Δ_k > 0} μ_k Δ_k / D_k*,     D_k* = min KL(P_k ‖ Q) over Q with rate ≥ r*.

The paper prints half of this: its proof looks only at the first √B pulls. N(B) grows in proportion to B, and the
classical argument over all of them gives the bound without the ½, here called sharp.
"""

import math

import numpy as np

from outlay.arms import AnyLaw, Problem
from outlay.arms.problem import checked_problem
from outlay.errors import BadParameter, NotCovered
from outlay.extras import needed
from outlay.theory.arm_rates import suboptimal
from outlay.theory.divergences import divergence, models


@needed("theory.lower_bound")
def lower_bound(problem: Problem, sharp: bool = True, *, model: str | None = None) -> float:
    """The coefficient of ln B below which no consistent policy's regret can stay.

    `sharp=False` gives the bound as printed in the paper, half the sharp one. An arm that could not be better within
    its model (D_k* = ∞) needs no exploring and adds nothing. `model` judges the arms that have a model of this name in
    it, the others in their default.

    Raises NotCovered for laws without a formula, or without a variance. The paper asks for a moment of the costs above
    the second. Pulls times μ_k Δ_k are regret up to r* times the mean overshoot of the budget, which costs of finite
    variance bound (`gap_constant`): the argument needs no more of the costs, and means alone of the rewards, but only
    arms with both variances are judged here.

    >>> from outlay.arms import Bernoulli, Gaussian, Problem
    >>> problem = Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Gaussian(1.0, 0.5, 0.5, 0.5)])
    >>> lower_bound(problem), lower_bound(problem, sharp=False)
    (2.0, 1.0)
    >>> lower_bound(problem, model="unknown covariance")
    2.466303462376...
    >>> round(lower_bound(Problem([Gaussian(1.0, 1.0, 0.5, 0.5), Bernoulli(cost=0.5, reward=0.25)])), 6)
    3.822278
    """
    rate = checked_problem("lower_bound", problem).rate
    if not isinstance(sharp, (bool, np.bool_)):
        raise BadParameter("lower_bound", "sharp", "True or False", sharp)
    if model is not None and not any(_has(law, model) for law in problem.arms):
        raise BadParameter("lower_bound", "model", "one that an arm has", model)
    moments = problem.second_moments()
    steady = np.isfinite(moments["var_cost"]) & np.isfinite(moments["var_reward"])
    if not steady.all():
        name = problem.names[int(np.argmin(steady))]
        raise NotCovered(f"no lower bound: it is for arms of finite variances, and arm {name!r} has none")
    total = 0.0
    for k in suboptimal(problem):
        law = problem.arms[k]
        try:
            needed = divergence(law, rate, model if model and _has(law, model) else None)
        except NotCovered as reason:
            raise NotCovered(f"no lower bound for arm {problem.names[k]!r}: {reason}") from None
        total += float(problem.mean_costs[k] * problem.gaps[k]) / needed if needed > 0 else math.inf
    return total if sharp else total / 2


def _has(law: AnyLaw, model: str) -> bool:
    return any(offered.name == model for offered in models(law))
