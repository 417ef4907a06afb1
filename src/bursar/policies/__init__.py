"""What to pull next: one file a policy, one formula a file.

A policy is a tuple of parameters with one of four methods: `score(belief, log_n)` for each arm, `sample(belief, log_n,
rng)` for each arm with randomness, `excess(belief, low, high)` for each arm against the leader, or `choose(memory, now,
rng)` over all arms. docs/add-a-policy.md shows how to write one; docs/choose-a-policy.md which one to run.
"""

from bursar.policies import baselines
from bursar.policies.bernstein_rate import BernsteinRate
from bursar.policies.catoni_rate import CatoniRate
from bursar.policies.choose import Now, best_by_excess, best_by_sample, best_by_score
from bursar.policies.fieller import Fieller
from bursar.policies.fieller_known import FiellerKnown
from bursar.policies.fixed import Fixed
from bursar.policies.frugal import Frugal
from bursar.policies.kl_rate import KLRate
from bursar.policies.median_rate import MedianRate
from bursar.policies.recommend import Recommendation, default, recommend
from bursar.policies.ucb_b1 import UCBB1
from bursar.policies.ucb_b2 import UCBB2
from bursar.policies.ucb_b2c import UCBB2C
from bursar.policies.ucb_m1 import UCBM1
from bursar.policies.uniform import Uniform

BUILT_IN = {
    policy.__name__: policy
    for policy in (
        *(UCBB1, UCBM1, UCBB2, UCBB2C, Fixed, Uniform),
        *(FiellerKnown, Fieller, BernsteinRate, MedianRate, CatoniRate, KLRate, Frugal),
    )
}

BY_NAME = BUILT_IN | {name: getattr(baselines, name) for name in baselines.__all__}

__all__ = [
    "BUILT_IN",
    "BY_NAME",
    "UCBB1",
    "UCBB2",
    "UCBB2C",
    "UCBM1",
    "BernsteinRate",
    "CatoniRate",
    "Fieller",
    "FiellerKnown",
    "Fixed",
    "Frugal",
    "KLRate",
    "MedianRate",
    "Now",
    "Recommendation",
    "Uniform",
    "baselines",
    "best_by_excess",
    "best_by_sample",
    "best_by_score",
    "default",
    "recommend",
]
