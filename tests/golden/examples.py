"""A few arms of every law and a policy of every class, with its parameters given and left out."""

from typing import Any

from outlay import arms, policies
from outlay.policies import baselines

LAWS: dict[str, tuple[Any, Any, Any]] = {
    "Gaussian": (
        arms.Gaussian(1.0, 0.9, 0.3, 0.2, 0.5),
        arms.Gaussian(0.5, 0.7, 0.25, 0.5, -1.0),
        arms.Gaussian(1.5, 1.1, 0.0, 0.2),
    ),
    "Bernoulli": (arms.Bernoulli(0.3, 0.6, 0.4), arms.Bernoulli(0.25, 0.45), arms.Bernoulli(0.8, 0.7, -0.3)),
    "Beta": (
        arms.Beta(0.4, 0.3, 0.2, 0.1, 0.6),
        arms.Beta(0.5, 0.1, 0.2, 0.05, -0.2, cost_bound=4.0),
        arms.Beta(0.9, 0.7, 0.01, 0.2, 0.1, reward_bound=10.0),
    ),
    "Uniform": (
        arms.Uniform(-1.0, 2.0, 0.0, 0.5, -0.7),
        arms.Uniform(0.5, 1.0, 0.0, 1.0),
        arms.Uniform(1.0, 1.0, 0.0, 2.0),
    ),
    "Discrete": (
        arms.Discrete([1.0, 2.0, 4.0, 9.0], [0.0, 3.0, -1.0, 2.0], [0.2, 0.5, 0.3, 0.0]),
        arms.Discrete([1.0, 2.0], [1.0, 0.5], [0.5, 0.5]),
        arms.Discrete([0.0, 2.0], [0.4, 1.0], [0.5, 0.5]),
    ),
    "Constant": (arms.Constant(2.0, 1.0), arms.Constant(1.0, 0.7), arms.Constant(0.5, 0.2)),
    "Exponential": (arms.Exponential(2.0, 0.5, 0.6), arms.Exponential(2.0, 0.5), arms.Exponential(1.0, 0.4, 0.2)),
    "Gamma": (arms.Gamma(1.0, 3.0, 0.5, 2.0, 0.4), arms.Gamma(1.0, 3.0, 2.0, 6.0, 1.0), arms.Gamma(0.5, 0.7, 0.3, 0.6)),
    "Lognormal": (
        arms.Lognormal(1.0, 2.0, 0.4, 0.6, -0.5),
        arms.Lognormal(1.0, 2.0, 0.0, 0.6),
        arms.Lognormal(0.7, 1.0, 2.0, 0.6, 0.1),
    ),
    "Pareto": (arms.Pareto(2.0, 0.5, 12.0, 15.0), arms.Pareto(1.0, 0.5, 1.5, 2.5), arms.Pareto(0.5, 0.2, 3.0, 4.0)),
    "StudentT": (
        arms.StudentT(1.0, -0.5, 0.5, 2.0, 12.0, 0.7),
        arms.StudentT(1.0, 0.5, 0.5, 2.0, 3.0, 0.2),
        arms.StudentT(0.5, 0.2, 0.1, 0.2, 2.5),
    ),
    "Linear": (
        arms.Linear(arms.Gamma(1.0, 3.0, 0.5, 2.0, 0.4), -0.5, 2.0, 0.3),
        arms.Linear(arms.Linear(arms.Uniform(0.0, 2.0, 0.0, 1.0), 1.0), 2.0),
        arms.Linear(arms.Gaussian(1.0, 0.0, 0.5, 0.0), 0.4, 0.1, 0.2),
    ),
    "Empirical": (
        arms.Empirical([1.0, 2.0, 4.0], [0.5, -1.0, 2.0]),
        arms.Empirical([0.5, 0.2, 0.4, 0.1], [0.5, 0.1, 0.2, 0.0]),
        arms.Empirical([1.0], [0.3]),
    ),
}
MIXED = {name: laws[i % 3] for i, (name, laws) in enumerate(LAWS.items())}

_KNOWN: Any = {"var_cost": 0.25, "var_reward": 0.3, "cov": 0.05}
_BOUNDS: Any = {"cost_bound": 2.0, "reward_bound": 3.0}
_CHOSEN: tuple[Any, ...] = (
    *(policies.UCBB1(**_KNOWN), policies.UCBB1([0.25], [0.3], [0.05], **_BOUNDS, variance_factor=1.5)),
    *(policies.UCBM1(**_KNOWN), policies.UCBB2(**_BOUNDS), policies.UCBB2C(**_BOUNDS, slope_bound=1.0)),
    *(policies.Fixed(1), policies.RoundRobin(), policies.FiellerKnown(**_KNOWN)),
    *(policies.Fieller(), policies.Fieller(0.25, "plugin"), policies.BernsteinRate(**_BOUNDS)),
    *(policies.MedianRate(), policies.MedianRate(0.5, 1.5), policies.CatoniRate(), policies.CatoniRate(**_KNOWN)),
    *(policies.KLRate(), policies.KLRate("half"), policies.KLRate("one", "sample")),
    *(policies.KLRate("plus", "sample", 3.0), policies.Frugal(), policies.Frugal(0.5, 3.0, 4.0)),
    *(baselines.Greedy(), baselines.FractionalKUBE(), baselines.UCBBV1(0.25), baselines.UCBBV1(0.5, **_BOUNDS)),
    *(baselines.BudgetUCB(0.25), baselines.IUCB(), baselines.CUCB(), baselines.MUCB(), baselines.MUCB(1.0, **_BOUNDS)),
    *(baselines.UCBSCPlus(), baselines.OmegaUCB(), baselines.OmegaUCB(rho=1.0, **_BOUNDS)),
    *(baselines.OmegaStarUCB(), baselines.OmegaStarUCB(rho=1.0, wait=0, **_BOUNDS), baselines.BKLUCB(0.5)),
    *(baselines.RobustUCBMedian(1e-3, 1e-3), baselines.RobustUCBTruncated(1.0, 1.0), baselines.GaussianThompson()),
    *(baselines.EpsilonFirst(), baselines.EpsilonFirst(0.2), baselines.KUBE(), baselines.KUBE(reward_bound=2.0)),
    *(baselines.UCBBV2(), baselines.UCBBV2(2.0, 3.0), baselines.BTS(), baselines.BTS(2.0, 3.0)),
    *(baselines.BGreedy(), baselines.BGreedy(explore=5.0), baselines.PDBwK(), baselines.PDBwK(2.0, 3.0, factor=0.5)),
)
PLAYERS = {
    f"{i:02d} {name}": policy for i, (name, policy) in enumerate((type(policy).__name__, policy) for policy in _CHOSEN)
}
# What came later than those above: their labels stay as they are.
NEWER: dict[str, Any] = {
    "Thrifty": policies.Thrifty(),
    "Thrifty, unknown": policies.Thrifty(horizon="unknown"),
    "Wary": policies.Wary(0.5),
    "Ration": policies.Ration(),
    "KLUCBSC": baselines.KLUCBSC(loglog=0.0),
    "RootGreedy": baselines.RootGreedy(),
    "UCBAIR": baselines.UCBAIR(bound=0.5),
}
LIMITED: dict[str, Any] = {
    "Ration, bounded": policies.Ration(reward_bound=3.0, slope=0.7),
    "LPEpsilonFirst": baselines.LPEpsilonFirst(epsilon=0.2),
    "LPGreedy": baselines.LPGreedy(),
    "LPThompson": baselines.LPThompson(0.5),
    "LPUCB": baselines.LPUCB(),
    "PDBwKRequests": baselines.PDBwKRequests(reward_bound=2.0),
}

EXPERIMENT = """
format = 1

[experiment]
title = "two arms"
budgets = [20, 50]
runs = 4
seed = 3

[[arms]]
name = "good"
law = "Gaussian"
cost = 1.0
reward = 1.0
cost_sd = 0.5
reward_sd = 0.5

[[arms]]
name = "worse"
law = "Gaussian"
cost = 1.0
reward = 0.5
cost_sd = 0.5
reward_sd = 0.5

[[policies]]
name = "Thrifty"

[[policies]]
name = "RoundRobin"

[[policies]]
name = "Fixed"
label = "stubborn"
arm = 1

[[sweep]]
over = "arms.correlation"
values = [-0.5, 0.5]
"""
