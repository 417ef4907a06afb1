"""The world: joint laws of an arm's cost and reward, and problems made of them."""

from typing import TYPE_CHECKING

from outlay.arms import catalogue
from outlay.arms.bounded import Beta, Uniform
from outlay.arms.continuous import Exponential, Gamma, Gaussian, Linear, Lognormal, Pareto, StudentT
from outlay.arms.finite import Bernoulli, Constant, Discrete, Empirical
from outlay.arms.law import AnyLaw, HasSupport, HasTails, Law, LawMoments, Support, Tails, support_of, tails_of
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

if not TYPE_CHECKING:  # a module's __getattr__ would have type checkers believe in any name

    def __getattr__(name: str) -> type[LawMoments]:
        """`Moments`, as 0.1.0 called `LawMoments`; the word now means a memory only, that of `outlay.beliefs`."""
        if name == "Moments":
            return LawMoments
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
