"""Who plays: a line for each policy, with what it is told about a problem.

A policy that is told nothing, bounds or the budget (with the number of requests, where there is one) can be run by
anyone who knows those; true means, variances and slopes of the arms are known to nobody, so whoever is told them is
shown beside the others and never counts as the best. Nor does who is told the mean costs, as price lists give them: the
others are not told as much. Who is told all means has no part in ratios. How often arms
change is known to nobody either, but one may have an idea of it, as of bounds: who is told that may be the best.

Left out, though the library has them: KUBE, whose knapsack takes time in the square of the arms at every pull, and
RobustUCBTruncated, which is RobustUCBMedian's twin.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from benchmarks.leaderboard.fixed import BestFixed
from outlay import Problem, policies
from outlay.arms import support_of
from outlay.policies import baselines
from outlay.policies.kl_rate import SCHEDULES
from outlay.problem_policies import paper_policies

Told = Literal["nothing", "bounds", "budget", "changes", "costs", "means", "moments"]


class Contender(NamedTuple):
    """What a policy is told, and the policy for a problem: None where the problem violates its assumptions."""

    told: Told
    make: Callable[[Problem], Any]
    reserve: bool = False  # slow, or far behind on its home ground: it plays only where it is asked for by name
    many: bool = False  # whether it plays the problems with many arms, too, without being asked for
    requests: bool = False  # and those with a number of requests
    drift: bool = False  # and those whose arms change
    contexts: bool = False  # and those whose requests carry features

    @property
    def where(self) -> str:
        """Where it plays if nobody asks for it, unless that is on all problems with few arms only."""
        played = {
            "with many arms": self.many,
            "with requests": self.requests,
            "where arms change": self.drift,
            "with features": self.contexts,
        }
        more = " and ".join(name for name, plays in played.items() if plays)
        if self.reserve:
            return f"only {more}" if more else "reserve: only by name"
        return f"also {more}" if more else ""


def of_the_paper(name: str) -> Callable[[Problem], Any]:
    """A policy of the paper, told what its theorem needs."""
    return lambda problem: paper_policies(problem).get(name)


def always(policy: Any) -> Callable[[Problem], Any]:
    """A policy that plays any problem as it is."""
    return lambda _: policy


def with_bounds(policy: Callable[..., Any], **parameters: Any) -> Callable[[Problem], Any]:
    """A policy for costs and rewards in [0, bound], told the true bounds."""
    return lambda problem: policy(**problem.bounds(), **parameters) if _boxed(problem) else None


def with_bounds_and_least(policy: Callable[..., Any]) -> Callable[[Problem], Any]:
    """The same, told the smallest mean cost too."""
    return lambda problem: with_bounds(policy, min_cost=float(problem.mean_costs.min()))(problem)


def with_reward_bound(policy: Callable[..., Any], **parameters: Any) -> Callable[[Problem], Any]:
    """A policy for rewards up to a bound and costs of any size that are not negative, told the bound."""

    def make(problem: Problem) -> Any:
        boxes = [support_of(law) for law in problem.arms]
        most = max(box.reward_high for box in boxes)
        played = np.isfinite(most) and most > 0 and all(box.cost_low >= 0 and box.reward_low >= 0 for box in boxes)
        return policy(reward_bound=most, **parameters) if played else None

    return make


def with_moments(policy: Callable[..., Any], **parameters: Any) -> Callable[[Problem], Any]:
    """A policy that is told the true second moments of every arm, where they are finite."""

    def make(problem: Problem) -> Any:
        moments: dict[str, Any] = {**problem.second_moments()}
        return policy(**moments, **parameters) if np.isfinite([*moments.values()]).all() else None

    return make


def with_largest_variances(problem: Problem) -> Any:
    """Medians of means, told the largest variances."""
    largest = [float(problem.second_moments()[side].max()) for side in ("var_cost", "var_reward")]
    return baselines.RobustUCBMedian(*largest) if np.isfinite(largest).all() and min(largest) > 0 else None


def with_mean_costs(problem: Problem) -> Any:
    """KL-UCB over the mean costs, told them."""
    return with_reward_bound(baselines.BKLUCB, costs=problem.mean_costs)(problem)


def with_price_list(problem: Problem) -> Any:
    """Ration, told the mean costs, and the largest reward where there is one."""
    most = max(support_of(law).reward_high for law in problem.arms)
    return policies.Ration(costs=problem.mean_costs, reward_bound=most if 0 < most < np.inf else None)


def best_alone(problem: Problem) -> Any:
    """The best fixed arm, told all means."""
    return BestFixed(problem.mean_costs, problem.mean_rewards)


def elsewhere(_: Problem) -> None:
    """None of those that are made for each problem of a group."""


def _boxed(problem: Problem) -> bool:
    """Whether nothing is negative or without bound."""
    boxes = np.array([support_of(law) for law in problem.arms])
    return bool(np.isfinite(boxes).all() and (boxes >= 0).all())


CONTENDERS: dict[str, Contender] = {
    # the paper's
    "UCBB1": Contender("moments", of_the_paper("UCBB1")),
    "UCBM1": Contender("moments", of_the_paper("UCBM1")),
    "UCBB2": Contender("bounds", of_the_paper("UCBB2")),
    "UCBB2C": Contender("moments", of_the_paper("UCBB2C")),
    # outlay's
    "FiellerKnown": Contender("moments", with_moments(policies.FiellerKnown)),
    "Fieller": Contender("nothing", always(policies.Fieller())),
    "Fieller:0.25": Contender("nothing", always(policies.Fieller(alpha=0.25))),
    "Fieller:plugin:0.25": Contender("nothing", always(policies.Fieller(form="plugin", alpha=0.25)), many=True),
    "MedianRate": Contender("nothing", always(policies.MedianRate())),
    "CatoniRate": Contender("nothing", always(policies.CatoniRate()), reserve=True),
    "BernsteinRate": Contender("bounds", with_bounds(policies.BernsteinRate), reserve=True),
    **{
        f"KLRate:{name}": Contender("nothing", always(policies.KLRate(name)), many=name == "plus") for name in SCHEDULES
    },
    **{
        f"KLRate:{name}:sample": Contender("nothing", always(policies.KLRate(name, "sample")), True)
        for name in SCHEDULES
    },
    "Thrifty": Contender("budget", always(policies.Thrifty()), many=True, requests=True, drift=True),
    "Thrifty:unknown": Contender("nothing", always(policies.Thrifty(horizon="unknown")), many=True),
    "Wary": Contender("budget", always(policies.Wary()), many=True, drift=True),
    "Frugal": Contender("nothing", always(policies.Frugal()), many=True),
    "Frugal:0.5": Contender("nothing", always(policies.Frugal(slope=0.5)), many=True),
    "Frugal:bound": Contender("bounds", with_reward_bound(policies.Frugal)),
    # other papers'
    "OmegaUCB:0.25": Contender("bounds", with_bounds(baselines.OmegaUCB, rho=0.25)),
    "OmegaStarUCB:0.25": Contender("bounds", with_bounds(baselines.OmegaStarUCB, rho=0.25)),
    "OmegaStarUCB:0.25:0": Contender("bounds", with_bounds(baselines.OmegaStarUCB, rho=0.25, wait=0)),
    "BTS": Contender("bounds", with_bounds(baselines.BTS)),
    "GaussianThompson": Contender("nothing", always(baselines.GaussianThompson())),
    "UCBSCPlus": Contender("bounds", with_bounds(baselines.UCBSCPlus)),
    "BGreedy": Contender("nothing", always(baselines.BGreedy())),
    "Greedy": Contender("nothing", always(baselines.Greedy()), reserve=True, many=True),
    "RootGreedy": Contender("nothing", always(baselines.RootGreedy()), reserve=True, many=True),
    "UCBAIR": Contender("nothing", always(baselines.UCBAIR()), reserve=True, many=True),
    "UCBAIR:0.25": Contender("nothing", always(baselines.UCBAIR(explore=0.25)), reserve=True, many=True),
    "OmegaUCB:1": Contender("bounds", with_bounds(baselines.OmegaUCB, rho=1.0), reserve=True),
    "BudgetUCB": Contender("bounds", with_bounds_and_least(baselines.BudgetUCB), reserve=True),
    "UCBBV1": Contender("bounds", with_bounds_and_least(baselines.UCBBV1), reserve=True),
    "UCBBV2": Contender("bounds", with_bounds(baselines.UCBBV2), reserve=True),
    "CUCB": Contender("bounds", with_bounds(baselines.CUCB), reserve=True),
    "IUCB": Contender("bounds", with_bounds(baselines.IUCB), reserve=True),
    "MUCB": Contender("bounds", with_bounds(baselines.MUCB), reserve=True),
    "FractionalKUBE": Contender("bounds", with_reward_bound(baselines.FractionalKUBE), reserve=True),
    "PDBwK": Contender("budget", with_bounds(baselines.PDBwK), reserve=True),
    "EpsilonFirst": Contender("budget", always(baselines.EpsilonFirst()), reserve=True),
    "BKLUCB": Contender("moments", with_mean_costs, reserve=True),
    "RobustUCBMedian": Contender("moments", with_largest_variances, reserve=True),
    "RoundRobin": Contender("nothing", always(policies.RoundRobin()), requests=True),
    # with a number of requests
    "Ration": Contender("budget", always(policies.Ration()), reserve=True, requests=True, contexts=True),
    "Ration:costs": Contender("costs", with_price_list, reserve=True, requests=True),
    "LPUCB": Contender("budget", always(baselines.LPUCB()), reserve=True, requests=True),
    "LPThompson": Contender("budget", always(baselines.LPThompson()), reserve=True, requests=True),
    "LPThompson:0.5": Contender("budget", always(baselines.LPThompson(scale=0.5)), reserve=True, requests=True),
    "LPGreedy": Contender("budget", always(baselines.LPGreedy()), reserve=True, requests=True),
    "LPEpsilonFirst": Contender("budget", always(baselines.LPEpsilonFirst()), reserve=True, requests=True),
    "PDBwKRequests": Contender("bounds", with_bounds(baselines.PDBwKRequests), reserve=True, requests=True),
    "BestFixed": Contender("means", best_alone, reserve=True, requests=True),
    # where arms change: `drift.py` makes them for each problem
    "Thrifty:ignored": Contender("budget", elsewhere, reserve=True, drift=True),
    **{
        name: Contender("changes", elsewhere, reserve=True, drift=True)
        for name in ("Forgetful", "GLRKLUCB", "CUSUMUCB", "SWUCB", "DiscountedThompson")
    },
    # where requests carry features: `contexts.py` does
    **{
        name: Contender("budget", elsewhere, reserve=True, contexts=True)
        for name in ("LinearRation", "LinUCB", "LinTS")
    },
}
