"""What to pull next: one file for each family of policies, each formula once.

A policy is a tuple of parameters with one of four methods: `score(belief, log_n)` for each arm, `sample(belief, log_n,
rng)` for each arm with randomness, `excess(belief, low, high)` for each arm against the leader, or `choose(memory, now,
rng)` over all arms. docs/add-a-policy.md shows how to write one; docs/choose-a-policy.md which one to run.
"""

from typing import Any

from outlay.formulas.argmax import Now, best_by_excess, best_by_sample, best_by_score
from outlay.policies import baselines
from outlay.policies.forgetful import Forgetful
from outlay.policies.inversion import BernsteinRate, CatoniRate, Fieller, FiellerKnown, MedianRate
from outlay.policies.kl_rate import Frugal, KLRate
from outlay.policies.linear_ration import LinearRation
from outlay.policies.protocol import Chooser, Compared, Memory, Opening, Policy, Sampled, Scored
from outlay.policies.ration import Ration
from outlay.policies.recommend import Recommendation, default, recommend
from outlay.policies.simple import Fixed, RoundRobin
from outlay.policies.thrifty import Thrifty, Wary
from outlay.policies.ucb import UCBB1, UCBB2, UCBB2C, UCBM1

BUILT_IN: dict[str, type[Any]] = {
    policy.__name__: policy
    for policy in (
        *(UCBB1, UCBM1, UCBB2, UCBB2C, Fixed, RoundRobin),
        *(FiellerKnown, Fieller, BernsteinRate, MedianRate, CatoniRate, KLRate),
        *(Frugal, Thrifty, Wary, Ration, Forgetful, LinearRation),
    )
}

BY_NAME = BUILT_IN | {name: getattr(baselines, name) for name in baselines.__all__}


def named(name: object) -> type[Any] | None:
    """The policy of this name; None if there is none.

    >>> named("Frugal"), named("Nobody")
    (<class 'outlay.policies.kl_rate.Frugal'>, None)
    """
    return BY_NAME.get(name) if isinstance(name, str) else None


__all__ = [
    "BUILT_IN",
    "BY_NAME",
    "UCBB1",
    "UCBB2",
    "UCBB2C",
    "UCBM1",
    "BernsteinRate",
    "CatoniRate",
    "Chooser",
    "Compared",
    "Fieller",
    "FiellerKnown",
    "Fixed",
    "Forgetful",
    "Frugal",
    "KLRate",
    "LinearRation",
    "MedianRate",
    "Memory",
    "Now",
    "Opening",
    "Policy",
    "Ration",
    "Recommendation",
    "RoundRobin",
    "Sampled",
    "Scored",
    "Thrifty",
    "Wary",
    "baselines",
    "best_by_excess",
    "best_by_sample",
    "best_by_score",
    "default",
    "named",
    "recommend",
]
