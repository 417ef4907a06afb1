"""The world: joint laws of an arm's cost and reward, and problems made of them."""

from outlay.arms import catalogue
from outlay.arms.bernoulli import Bernoulli
from outlay.arms.bounded import Beta, Uniform
from outlay.arms.coupled import Linear
from outlay.arms.discrete import Constant, Discrete
from outlay.arms.empirical import Empirical
from outlay.arms.gaussian import Gaussian
from outlay.arms.heavy_tailed import Lognormal, Pareto, StudentT
from outlay.arms.law import AnyLaw, Law, Moments, Support, Tails, support_of, tails_of
from outlay.arms.positive import Exponential, Gamma
from outlay.arms.problem import Problem

__all__ = [
    "AnyLaw",
    "Bernoulli",
    "Beta",
    "Constant",
    "Discrete",
    "Empirical",
    "Exponential",
    "Gamma",
    "Gaussian",
    "Law",
    "Linear",
    "Lognormal",
    "Moments",
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
