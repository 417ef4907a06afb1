"""Which policies are rehearsed, what they are told, and which of them to run."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

from outlay import policies
from outlay.advice.records import ArmAdvice
from outlay.advice.rehearsal import Candidate, Rehearsal
from outlay.policies import Recommendation
from outlay.policies.protocol import Policy
from outlay.text import measured, number

CLEARLY = 3.0  # standard errors by which a policy must earn more than the default to be preferred
WORTHWHILE = 0.01  # and by how much of the default's reward


class Known(NamedTuple):
    """Bounds for the policies that need them: the user's, or the largest values seen where those are larger."""

    cost_bound: float
    reward_bound: float
    negative_costs: bool

    @classmethod
    def of(cls, arms: Sequence[ArmAdvice], cost_bound: float | None, reward_bound: float | None) -> Self:
        """What a log and the user say together."""
        cost = max(abs(end) for arm in arms for end in arm.costs)
        reward = max(abs(end) for arm in arms for end in arm.rewards)
        negative = any(arm.negative_costs for arm in arms)
        return cls(max(cost, cost_bound or 0.0), max(reward, reward_bound or 0.0), negative)


def contenders(arms: Sequence[ArmAdvice], known: Known) -> dict[str, Policy]:
    """The policies to compare, the default first; RoundRobin shows what learning is worth.

    The default is told nothing but the budget, by `simulate`. UCBB1, the paper's, is told the log's second moments, the
    bounds, and b = half of the smallest mean cost.
    """
    default = policies.default()
    found: dict[str, Policy] = {type(default).__name__: default}
    if known.reward_bound > 0.0 and not known.negative_costs:
        found[f"Frugal, rewards ≤ {number(known.reward_bound)}"] = policies.Frugal(reward_bound=known.reward_bound)
    found |= {"KLRate": policies.KLRate(), "Fieller": policies.Fieller()}
    beliefs = [arm.belief for arm in arms]
    most = [math.sqrt(belief.var_cost) * math.sqrt(belief.var_reward) for belief in beliefs]
    found["UCBB1"] = policies.UCBB1(
        var_cost=[belief.var_cost for belief in beliefs],
        var_reward=[belief.var_reward for belief in beliefs],
        cov=[max(-top, min(top, belief.cov)) for belief, top in zip(beliefs, most, strict=True)],
        min_cost=min(belief.mean_cost for belief in beliefs) / 2.0,
        cost_bound=known.cost_bound,
        reward_bound=known.reward_bound,
    )
    return found | {"RoundRobin": policies.RoundRobin()}


def chosen(arms: Sequence[ArmAdvice], known: Known, played: Rehearsal | None, guarantee: bool) -> Recommendation:
    """The policy for a campaign with these arms: what `policies.recommend` says, or one that clearly earned more.

    Clearly more means: by three standard errors over the same runs, and by one percent.
    """
    if guarantee:
        return policies.recommend(
            [arm.belief for arm in arms],
            guarantee=True,
            costs_can_be_negative=known.negative_costs,
            cost_bound=known.cost_bound,
            reward_bound=known.reward_bound or None,
        )
    if len(arms) == 1:
        return Recommendation(policies.default(), f"{arms[0].name} is the only arm left, so any policy will do")
    default = policies.recommend([arm.belief for arm in arms], costs_can_be_negative=known.negative_costs)
    better = [] if played is None else [one for one in played.candidates if _better(one, played.candidates[0])]
    if not better:
        said = "" if played is None else "nothing clearly earned more in the rehearsal, and "
        return Recommendation(default.policy, said + default.reason)
    best = max(better, key=lambda one: one.edge)
    more = f"it earned {measured(best.edge, best.edge_stderr)} more than {type(default.policy).__name__}"
    return Recommendation(contenders(arms, known)[best.label], f"{more} in the rehearsal")


def _better(one: Candidate, first: Candidate) -> bool:
    return one.edge > CLEARLY * one.edge_stderr and one.edge > WORTHWHILE * abs(first.reward)
