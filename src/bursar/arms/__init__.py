"""The world: joint laws of an arm's cost and reward, and problems made of them."""

from bursar.arms import catalogue
from bursar.arms.bernoulli import Bernoulli
from bursar.arms.bounded import Beta, Uniform
from bursar.arms.coupled import Linear
from bursar.arms.discrete import Constant, Discrete
from bursar.arms.empirical import Empirical
from bursar.arms.gaussian import Gaussian
from bursar.arms.heavy_tailed import Lognormal, Pareto, StudentT
from bursar.arms.law import AnyLaw, Law, Moments, Support, Tails, support_of, tails_of
from bursar.arms.positive import Exponential, Gamma
from bursar.arms.problem import Problem

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
