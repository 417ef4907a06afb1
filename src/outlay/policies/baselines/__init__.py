"""What other papers play: rival policies under the same protocol; docs/baselines.md lists them.

Each pulls every arm once first, except `RootGreedy` and `UCBAIR`, which are for hundreds of arms. Those for costs and
rewards in [0, 1] divide by the bounds they are told.
"""

from outlay.policies.baselines.changing import CUSUMUCB, GLRKLUCB, SWUCB, DiscountedThompson
from outlay.policies.baselines.greedy import BTS, BGreedy, EpsilonFirst, GaussianThompson, Greedy, RootGreedy
from outlay.policies.baselines.knapsack import (
    KUBE,
    LPUCB,
    FractionalKUBE,
    LPEpsilonFirst,
    LPGreedy,
    LPThompson,
    PDBwK,
    PDBwKRequests,
)
from outlay.policies.baselines.paced_linear import LinTS, LinUCB
from outlay.policies.baselines.robust import RobustUCBMedian, RobustUCBTruncated
from outlay.policies.baselines.ucb_rivals import (
    BKLUCB,
    CUCB,
    IUCB,
    KLUCBSC,
    MUCB,
    UCBAIR,
    UCBBV1,
    UCBBV2,
    BudgetUCB,
    OmegaStarUCB,
    OmegaUCB,
    UCBSCPlus,
)

__all__ = [
    "BKLUCB",
    "BTS",
    "CUCB",
    "CUSUMUCB",
    "GLRKLUCB",
    "IUCB",
    "KLUCBSC",
    "KUBE",
    "LPUCB",
    "MUCB",
    "SWUCB",
    "UCBAIR",
    "UCBBV1",
    "UCBBV2",
    "BGreedy",
    "BudgetUCB",
    "DiscountedThompson",
    "EpsilonFirst",
    "FractionalKUBE",
    "GaussianThompson",
    "Greedy",
    "LPEpsilonFirst",
    "LPGreedy",
    "LPThompson",
    "LinTS",
    "LinUCB",
    "OmegaStarUCB",
    "OmegaUCB",
    "PDBwK",
    "PDBwKRequests",
    "RobustUCBMedian",
    "RobustUCBTruncated",
    "RootGreedy",
    "UCBSCPlus",
]
