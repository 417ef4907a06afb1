"""The world: joint laws of an arm's cost and reward, and problems made of them."""

from outlay.arms import catalogue
from outlay.arms.bounded import Beta, Uniform
from outlay.arms.contextual import ContextualProblem
from outlay.arms.continuous import Exponential, Gamma, Gaussian, Linear, Lognormal, Pareto, StudentT
from outlay.arms.finite import Bernoulli, Constant, Discrete, Empirical
from outlay.arms.law import AnyLaw, HasSupport, HasTails, Law, LawMoments, Support, Tails, support_of, tails_of
from outlay.arms.problem import Problem

__all__ = [
    "AnyLaw",
    "Bernoulli",
    "Beta",
    "Constant",
    "ContextualProblem",
    "Discrete",
    "Empirical",
    "Exponential",
    "Gamma",
    "Gaussian",
    "HasSupport",
    "HasTails",
    "Law",
    "LawMoments",
    "Linear",
    "Lognormal",
    "Pareto",
    "Problem",
    "StudentT",
    "Support",
    "Tails",
    "Uniform",
    "catalogue",
    "support_of",
    "tails_of",
]
