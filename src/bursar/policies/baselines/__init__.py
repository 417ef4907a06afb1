"""What other papers play: rival policies under the same protocol, one file each; docs/baselines.md lists them.

Each pulls every arm once first. Those for costs and rewards in [0, 1] divide by the bounds they are told.
"""

from bursar.policies.baselines.b_greedy import BGreedy
from bursar.policies.baselines.b_kl_ucb import BKLUCB
from bursar.policies.baselines.bts import BTS
from bursar.policies.baselines.budget_ucb import BudgetUCB
from bursar.policies.baselines.c_ucb import CUCB
from bursar.policies.baselines.epsilon_first import EpsilonFirst
from bursar.policies.baselines.fractional_kube import FractionalKUBE
from bursar.policies.baselines.gaussian_thompson import GaussianThompson
from bursar.policies.baselines.greedy import Greedy
from bursar.policies.baselines.i_ucb import IUCB
from bursar.policies.baselines.kube import KUBE
from bursar.policies.baselines.m_ucb import MUCB
from bursar.policies.baselines.omega_star_ucb import OmegaStarUCB
from bursar.policies.baselines.omega_ucb import OmegaUCB
from bursar.policies.baselines.pd_bwk import PDBwK
from bursar.policies.baselines.robust_median import RobustUCBMedian
from bursar.policies.baselines.robust_truncated import RobustUCBTruncated
from bursar.policies.baselines.ucb_bv1 import UCBBV1
from bursar.policies.baselines.ucb_bv2 import UCBBV2
from bursar.policies.baselines.ucb_sc import UCBSCPlus

__all__ = [
    "BKLUCB",
    "BTS",
    "CUCB",
    "IUCB",
    "KUBE",
    "MUCB",
    "UCBBV1",
    "UCBBV2",
    "BGreedy",
    "BudgetUCB",
    "EpsilonFirst",
    "FractionalKUBE",
    "GaussianThompson",
    "Greedy",
    "OmegaStarUCB",
    "OmegaUCB",
    "PDBwK",
    "RobustUCBMedian",
    "RobustUCBTruncated",
    "UCBSCPlus",
]
