"""What can be proved about a problem, in the order of the paper.

    rates                      rates, gaps, slopes and variances of every arm                    Sections 2 to 4
    expected_pulls             how often one arm can be pulled until the budget is passed        Appendix A
    expected_reward            what it brings
    optimality                 how close the best arm alone comes to the optimum                 Proposition 1
    gap_constant               by how much any policy exceeds the budget, on average             Proposition 3
    optimal_policy             the optimum itself, for costs on a lattice                        Section 3

    rate_deviation, stable     how far a ratio of estimates can be off, and when that is known   Proposition 2
    rate_box                   the same as a picture: `report.rate_box_figure`                   Figure 1
    median_rate_radius         a median of block rates: its radius                               Proposition 5
    slope_radius               a sample slope: its radius                                        Proposition 6
    residual_variance_radius   a sample residual variance: its radius
    variance_radius            a sample variance: its radius                                     Appendix F

    lower_bound                regret that no policy avoids, as a coefficient of ln B            Theorem 3
    worst_case_bound           regret that no policy avoids everywhere, at any budget: √(K·B)   docs/lower-bounds.md
    finite_bound               the same on a problem or one next to it: `FiniteBound`
    divergence                 D*, how far a law is from a better one of its model
    models, model_of           which models a law can be judged in
    exponential_family         D* for laws of your own
    kl_inf                     the same of outcomes on a support: `Points` and `Edge`

    fluid                      a budget and requests: what they can bring, and at which prices   docs/requests.md
    request_gaps               what a pull loses then
    fluid_regret               where regret comes from: requests, money, pulls
    fluid_loss                 what knowing the means does not save

    upper_bound                regret that the paper's policies do not exceed: `Bound`           Theorems 1, 2, 4, 5
                               and KLRate with exact evidence                                    docs/kl-rate-regret.md
    pull_bound                 pulls of an arm that is not best                                  Lemmas 2, 3, 6
    outlasting                 arms that UCB-M1 pulls more often than Lemma 3 says               docs/errata.md
    regret_from_pulls          from pulls to regret                                              Proposition 4
    horizon, late_passage      the pulls within which a budget is nearly always spent            Lemma 1

Whatever a result does not cover is refused with `outlay.errors.NotCovered`, which names the assumption that fails.
"""

from outlay.theory.arm_rates import (
    median_rate_radius,
    rate_box,
    rate_deviation,
    rates,
    residual_variance_radius,
    slope_radius,
    stable,
    variance_radius,
)
from outlay.theory.divergence_bounded import Edge, Points, kl_inf
from outlay.theory.divergence_gaussian import exponential_family
from outlay.theory.divergence_models import divergence, model_of, models
from outlay.theory.fluid_optimum import fluid, fluid_loss, fluid_regret, request_gaps
from outlay.theory.lower_bounds import FiniteBound, finite_bound, lower_bound, worst_case_bound
from outlay.theory.optimum import expected_pulls, expected_reward, gap_constant, optimal_policy, optimality
from outlay.theory.pull_bounds import outlasting, pull_bound
from outlay.theory.upper_bounds import Bound, horizon, late_passage, regret_from_pulls, upper_bound

__all__ = [
    "Bound",
    "Edge",
    "FiniteBound",
    "Points",
    "divergence",
    "expected_pulls",
    "expected_reward",
    "exponential_family",
    "finite_bound",
    "fluid",
    "fluid_loss",
    "fluid_regret",
    "gap_constant",
    "horizon",
    "kl_inf",
    "late_passage",
    "lower_bound",
    "median_rate_radius",
    "model_of",
    "models",
    "optimal_policy",
    "optimality",
    "outlasting",
    "pull_bound",
    "rate_box",
    "rate_deviation",
    "rates",
    "regret_from_pulls",
    "request_gaps",
    "residual_variance_radius",
    "slope_radius",
    "stable",
    "upper_bound",
    "variance_radius",
    "worst_case_bound",
]
