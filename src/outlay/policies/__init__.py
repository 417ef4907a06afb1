"""What to pull next: one file a policy, one formula a file.

A policy is a tuple of parameters with one of four methods: `score(belief, log_n)` for each arm, `sample(belief, log_n,
rng)` for each arm with randomness, `excess(belief, low, high)` for each arm against the leader, or `choose(memory, now,
rng)` over all arms. docs/add-a-policy.md shows how to write one; docs/choose-a-policy.md which one to run.
"""

from outlay.formulas.choose import Now, best_by_excess, best_by_sample, best_by_score
from outlay.policies import baselines
from outlay.policies.bernstein_rate import BernsteinRate
from outlay.policies.catoni_rate import CatoniRate
from outlay.policies.fieller import Fieller
from outlay.policies.fieller_known import FiellerKnown
from outlay.policies.fixed import Fixed
from outlay.policies.frugal import Frugal
from outlay.policies.kl_rate import KLRate
from outlay.policies.median_rate import MedianRate
from outlay.policies.protocol import Chooser, Compared, Memory, Policy, Sampled, Scored
from outlay.policies.recommend import Recommendation, default, recommend
from outlay.policies.ucb_b1 import UCBB1
from outlay.policies.ucb_b2 import UCBB2
from outlay.policies.ucb_b2c import UCBB2C
from outlay.policies.ucb_m1 import UCBM1
from outlay.policies.uniform import Uniform

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
    "Chooser",
    "Compared",
    "Fieller",
    "FiellerKnown",
    "Fixed",
    "Frugal",
    "KLRate",
    "MedianRate",
    "Memory",
    "Now",
    "Policy",
    "Recommendation",
    "Sampled",
    "Scored",
    "Uniform",
    "baselines",
    "best_by_excess",
    "best_by_sample",
    "best_by_score",
    "default",
    "recommend",
]
