"""The models that laws are judged in: what a policy is taken to know of an arm, and D* among the laws that remain.

D* is the distance to the nearest law with E[R − rX] ≥ ν, r being the price of money and ν the worth of a request: 0 in
the paper's problem, where requests have no end.

A larger model has a nearer better law, hence a smaller D* and a larger lower bound: it asks more of a policy to do well
on all of it. The first model of a law is the one that `lower_bound` uses.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple, Protocol, runtime_checkable

from outlay import arms
from outlay.arms import AnyLaw
from outlay.arms.continuous import is_gaussian
from outlay.arms.law import check_law
from outlay.arms.problem_file import Remembered
from outlay.checks import real
from outlay.errors import BadParameter, NotCovered, needed
from outlay.theory.divergence_bounded import independent, on_its_box, on_its_outcomes
from outlay.theory.divergence_gamma import cherian, downton
from outlay.theory.divergence_gaussian import (
    RATES,
    as_gaussian,
    exponentials,
    known_cost,
    known_covariance,
    known_log_covariance,
    known_shapes,
    known_spread,
    known_tails,
    unknown_covariance,
)


@runtime_checkable
class HasDivergence(Protocol):
    """A law of your own that brings its own D*; if it takes `worth` beside `rate`, also where requests have one."""

    def divergence(self, rate: float, /) -> float:
        """Return D* against this rate, which is above the law's own."""


class Model(NamedTuple):
    """A set of laws to judge an arm in: name, one sentence, D* by (law, rate, worth), whether a law belongs to it."""

    name: str
    sentence: str
    formula: Callable[[Any, float, float], float]  # Any: each model has laws of its own
    holds: Callable[[Any], bool] = lambda _: True


def _uncorrelated(law: arms.Bernoulli | arms.Exponential | arms.Gamma) -> bool:
    return law.correlation == 0


def _correlated(law: arms.Exponential | arms.Gamma) -> bool:
    return law.correlation > 0


def _brought(law: HasDivergence, rate: float, worth: float) -> float:
    """What the law says itself; one that knows of no worth can be asked only where requests have none."""
    if worth == 0:
        return law.divergence(rate)
    if "worth" not in signature(law.divergence).parameters:
        raise NotCovered(f"its law is {type(law).__name__}, whose divergence(rate) takes no worth of a request")
    return law.divergence(rate, worth=worth)  # type: ignore[call-arg]


_OWN = Model("its own", "The model of the law's own method divergence(rate).", _brought)
_BOX = Model("bounded", "Any law on the smallest box that holds every pair.", on_its_box)
_OUTCOMES = Model("its outcomes", "Any law on the pairs of its table.", on_its_outcomes)
_KNOWN = Model("known covariance", "Gaussian; the means are unknown, the covariance is known.", known_covariance)
_UNKNOWN = Model("unknown covariance", "Gaussian; the means and the covariance are unknown.", unknown_covariance)

_MODELS: dict[type, tuple[Model, ...]] = {
    arms.Gaussian: (_KNOWN, _UNKNOWN),
    arms.Bernoulli: (
        Model("joint table", "A 2×2 table; its four probabilities are unknown.", on_its_outcomes),
        Model("independent", "Two independent coins; their probabilities are unknown.", independent, _uncorrelated),
    ),
    arms.Discrete: (_OUTCOMES, _BOX),
    arms.Empirical: (_BOX, _OUTCOMES),
    arms.Beta: (_BOX,),
    arms.Uniform: (_BOX,),
    arms.Constant: (_BOX,),
    arms.Exponential: (
        Model("independent", "Independent exponentials; the means are unknown.", exponentials, _uncorrelated),
        Model("known correlation", "Exponentials of a known correlation; the means are unknown.", downton, _correlated),
    ),
    arms.Gamma: (
        Model("known shapes", "Independent gammas of known shapes; means unknown.", known_shapes, _uncorrelated),
        Model("known correlation", "Gammas with a common part, of known shapes and correlation; means unknown.",
              cherian, _correlated),
    ),
    arms.Lognormal: (
        Model("known log-covariance", "Lognormal; the means are unknown, the covariance of the logarithms is known.",
              known_log_covariance),
    ),
    arms.Pareto: (
        Model("known tails", "Independent Paretos; the means are unknown, the tail indices known.", known_tails),
    ),
    arms.StudentT: (
        Model("known covariance", "Student's t; the means are unknown, covariance and tail are known.", known_spread),
    ),
    arms.Linear: (
        _KNOWN._replace(formula=lambda law, *at: known_covariance(as_gaussian(law), *at), holds=is_gaussian),
        _UNKNOWN._replace(formula=lambda law, *at: unknown_covariance(as_gaussian(law), *at), holds=is_gaussian),
        Model("known cost", "A line plus Gaussian noise; the line is unknown, cost and noise are known.", known_cost),
    ),
}  # fmt: skip


def models(law: AnyLaw) -> tuple[Model, ...]:
    """The models that `law` can be judged in, its default first; none where there is no formula.

    >>> [model.name for model in models(arms.Gaussian(1.0, 0.5, 0.5, 0.5))]
    ['known covariance', 'unknown covariance']
    """
    if type(law) not in _MODELS and isinstance(law, HasDivergence):  # ours have none, and protocols take their time
        return (_OWN,)
    known = next((_MODELS[kind] for kind in type(law).__mro__ if kind in _MODELS), ())
    return tuple(model for model in known if model.holds(law))


def model_of(law: AnyLaw, model: str | None = None) -> str:
    """One sentence on the model that `law` is judged in.

    >>> model_of(arms.Gaussian(1.0, 0.5, 0.5, 0.5))
    'Gaussian; the means are unknown, the covariance is known.'
    """
    return _chosen(law, model).sentence


@needed("theory.divergence")
def divergence(law: AnyLaw, rate: float, model: str | None = None, *, worth: float = 0.0) -> float:
    """D* = min KL(P ‖ Q) over laws Q of the model with a mean cost > 0 and rate ≥ `rate` (Theorem 3).

    Where a request has a `worth`, ν, and `rate` is the price of money, over those with E[R] ≥ rate·E[X] + ν, whatever
    they cost. At ν = 0 a law that has itself no mean cost > 0 is judged so, too.

    Zero where the law is that good itself; ∞ where no law of the model is. `model` names another of the law's models
    than its default. Raises NotCovered for laws without a formula; a law of your own may bring one as a method
    `divergence(rate)`, or `divergence(rate, worth)`.

    >>> law = arms.Gaussian(1.0, 0.5, 0.5, 0.5)
    >>> divergence(law, 1.0), divergence(law, 1.0, model="unknown covariance"), divergence(law, 0.5, worth=0.5)
    (0.25, 0.202732554054..., 0.4)
    """
    rate = real("divergence", "rate", rate, **RATES)
    worth = real("divergence", "worth", worth, at_least=0, at_most=1e100)
    if worth > 0 > rate:
        raise BadParameter("divergence", "rate", "≥ 0 where a request has a worth", rate)
    formula = _chosen(law, model).formula
    cost, reward, *_ = law.moments()
    if rate * cost + worth <= reward:
        return 0.0
    found = formula(law, rate, worth)
    if not found >= 0:
        raise BadParameter(type(law).__name__, f"divergence at the rate {rate:g}", "≥ 0", found)
    return float(found)


def _chosen(law: AnyLaw, name: str | None) -> Model:
    offered = models(check_law("divergence", "law", law))
    if not offered:
        if isinstance(law, Remembered):
            raise NotCovered(f"its law {law} is known by name only, and its code would have to say")
        reason = "has no formula here and no divergence(rate) of its own"
        raise NotCovered(f"its law is {type(law).__name__}, which {reason}")
    if name is None:
        return offered[0]
    for model in offered:
        if model.name == name:
            return model
    raise BadParameter("divergence", "model", " or ".join(repr(model.name) for model in offered), name)
