"""What other papers play: rival policies under the same protocol, one file each; docs/baselines.md lists them.

Each pulls every arm once first, except `RootGreedy` and `UCBAIR`, which are for hundreds of arms. Those for costs and
rewards in [0, 1] divide by the bounds they are told.
"""

from outlay.policies.baselines.b_greedy import BGreedy
from outlay.policies.baselines.b_kl_ucb import BKLUCB
from outlay.policies.baselines.bts import BTS
from outlay.policies.baselines.budget_ucb import BudgetUCB
from outlay.policies.baselines.c_ucb import CUCB
from outlay.policies.baselines.epsilon_first import EpsilonFirst
from outlay.policies.baselines.fractional_kube import FractionalKUBE
from outlay.policies.baselines.gaussian_thompson import GaussianThompson
from outlay.policies.baselines.greedy import Greedy
from outlay.policies.baselines.i_ucb import IUCB
from outlay.policies.baselines.kl_ucb_sc import KLUCBSC
from outlay.policies.baselines.kube import KUBE
from outlay.policies.baselines.lp_epsilon_first import LPEpsilonFirst
from outlay.policies.baselines.lp_greedy import LPGreedy
from outlay.policies.baselines.lp_thompson import LPThompson
from outlay.policies.baselines.lp_ucb import LPUCB
from outlay.policies.baselines.m_ucb import MUCB
from outlay.policies.baselines.omega_star_ucb import OmegaStarUCB
from outlay.policies.baselines.omega_ucb import OmegaUCB
from outlay.policies.baselines.pd_bwk import PDBwK
from outlay.policies.baselines.pd_bwk_requests import PDBwKRequests
from outlay.policies.baselines.robust_median import RobustUCBMedian
from outlay.policies.baselines.robust_truncated import RobustUCBTruncated
from outlay.policies.baselines.root_greedy import RootGreedy
from outlay.policies.baselines.ucb_air import UCBAIR
from outlay.policies.baselines.ucb_bv1 import UCBBV1
from outlay.policies.baselines.ucb_bv2 import UCBBV2
from outlay.policies.baselines.ucb_sc import UCBSCPlus

__all__ = [
    "BKLUCB",
    "BTS",
    "CUCB",
    "IUCB",
    "KLUCBSC",
    "KUBE",
    "LPUCB",
    "MUCB",
    "UCBAIR",
    "UCBBV1",
    "UCBBV2",
    "BGreedy",
    "BudgetUCB",
    "EpsilonFirst",
    "FractionalKUBE",
    "GaussianThompson",
    "Greedy",
    "LPEpsilonFirst",
    "LPGreedy",
    "LPThompson",
    "OmegaStarUCB",
    "OmegaUCB",
    "PDBwK",
    "PDBwKRequests",
    "RobustUCBMedian",
    "RobustUCBTruncated",
    "RootGreedy",
    "UCBSCPlus",
]
