"""Which policy to run, from what is known: docs/choose-a-policy.md in code."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, overload

from numpy.typing import ArrayLike

from outlay.beliefs import Belief
from outlay.checks import real, word
from outlay.errors import BadParameter
from outlay.policies.inversion import BernsteinRate, CatoniRate, FiellerKnown
from outlay.policies.kl_rate import Frugal
from outlay.policies.ration import Ration
from outlay.policies.thrifty import Thrifty

Tails = Literal["light", "heavy"]

_FIRST = "it needs to know nothing but the budget, for two arms or a hundred thousand"


class Recommendation(NamedTuple):
    """A policy to run, and why, in a sentence."""

    policy: Any
    reason: str


@overload
def default(requests: None = None) -> Thrifty: ...
@overload
def default(requests: float) -> Ration: ...
def default(requests: float | None = None) -> Thrifty | Ration:
    """The policy to run when nothing is known: it has no parameter that must be chosen.

    `simulate`, campaigns and `advise` tell it the budget.

    Args:
        requests: how many requests there are, where they are limited as well as the budget. That limits nothing by
            itself: pass it to `simulate` or `Campaign`, too.

    >>> default()
    Thrifty(slope=0.33, horizon='told', budget=None, changes='noticed', free_pulls=0)
    >>> default(requests=10_000)
    Ration(costs=None, reward_bound=None, slope=0.33, budget=None, requests=10000.0, changes='noticed')
    """
    return Thrifty() if requests is None else Ration(requests=requests)


def recommend(
    beliefs: Iterable[Belief] = (),
    *,
    guarantee: bool = False,
    costs_can_be_negative: bool = False,
    cost_bound: float | None = None,
    reward_bound: float | None = None,
    second_moments: Mapping[str, Any] | None = None,
    tails: Tails | None = None,
    requests: float | None = None,
    costs: ArrayLike | None = None,
) -> Recommendation:
    """Recommend a policy, with the reason in a sentence.

    Args:
        beliefs: what a log says about the arms, if there is one; it may contradict what is said to be known.
        guarantee: whether a proof that holds from the first pull is worth more than the smallest mean regret.
        costs_can_be_negative: whether a pull can refund money.
        cost_bound: the largest |cost| that is possible, where known.
        reward_bound: the largest |reward| that is possible, where known.
        second_moments: var_cost, var_reward and cov of the arms, where truly known, not estimated.
        tails: "light" for costs and rewards close to Gaussian, "heavy" where a few pulls carry most of the sum.
        requests: how many requests there are, where they are limited as well as the budget.
        costs: the mean cost of each arm, where a price list says so; with `requests` only.

    >>> recommend().policy
    Thrifty(slope=0.33, horizon='told', budget=None, changes='noticed', free_pulls=0)
    >>> print(recommend(guarantee=True, reward_bound=1.0).reason)
    rewards are at most 1 and no cost is negative: its bound then holds for costs of any size and tail
    """
    _check(guarantee, costs_can_be_negative, second_moments, tails)
    cost_bound, reward_bound = (
        None if bound is None else real("recommend", name, bound, above=0)
        for name, bound in (("cost_bound", cost_bound), ("reward_bound", reward_bound))
    )
    for belief in _checked(beliefs):
        _agree(belief, costs_can_be_negative, cost_bound, reward_bound)
    if requests is not None:
        requests = real("recommend", "requests", requests, above=0)
        ration = Ration(requests=requests, costs=costs, reward_bound=None if costs is None else reward_bound)
        missing = "no policy has a bound with requests beside a budget: " if guarantee else ""
        cheapest = "" if costs is None else "; knowing mean costs, it opens the cheapest arms first"
        shares = f"it shares out the budget and {requests:g} requests, and needs to know nothing else{cheapest}"
        return Recommendation(ration, missing + shares)
    if costs is not None:
        raise BadParameter("recommend", "costs", "None where requests have no limit", costs)
    if not guarantee and second_moments is not None and tails == "light":
        known = "the second moments are known and the tails light"
        return Recommendation(FiellerKnown(**second_moments), f"{known}: it comes close to the sharp lower bound")
    if not guarantee:
        return Recommendation(default(), _FIRST)
    if reward_bound is not None and not costs_can_be_negative:
        known = f"rewards are at most {reward_bound:g} and no cost is negative"
        bound = "its bound then holds for costs of any size and tail"
        return Recommendation(Frugal(reward_bound=reward_bound), f"{known}: {bound}")
    if cost_bound is not None and reward_bound is not None:
        widths = BernsteinRate(2.0 * cost_bound, 2.0 * reward_bound)
        return Recommendation(
            widths, "costs and rewards are bounded: its bound needs nothing else, not even their signs"
        )
    if second_moments is not None:
        bound = "its bound is for laws that have them, whatever the tails"
        return Recommendation(CatoniRate(**second_moments), f"the second moments are known: {bound}")
    missing = "no bound can be proved from what is known: give reward_bound with costs ≥ 0, or second_moments"
    return Recommendation(default(), f"{missing}; {_FIRST}")


def _check(guarantee: object, costs_can_be_negative: object, second_moments: object, tails: object) -> None:
    for name, flag in (("guarantee", guarantee), ("costs_can_be_negative", costs_can_be_negative)):
        if not isinstance(flag, bool):
            raise BadParameter("recommend", name, "True or False", flag)
    if tails is not None:
        word("recommend", "tails", tails, ("light", "heavy"))
    moments = {"var_cost", "var_reward", "cov"}
    if second_moments is not None and not (isinstance(second_moments, Mapping) and set(second_moments) == moments):
        allowed = "None or a dict of var_cost, var_reward and cov"
        raise BadParameter("recommend", "second_moments", allowed, second_moments)


def _checked(beliefs: object) -> list[Belief]:
    given = list(beliefs) if isinstance(beliefs, Iterable) and not isinstance(beliefs, Belief) else [None]
    found = [belief for belief in given if isinstance(belief, Belief)]
    if len(found) < len(given):
        raise BadParameter("recommend", "beliefs", "a sequence of Belief, one for each arm", beliefs)
    return found


def _agree(belief: Belief, negative: bool, cost_bound: float | None, reward_bound: float | None) -> None:
    """Refuse what the samples of an arm contradict."""
    arm = f"at least what arm {belief.arm} has had on average"
    for name, bound, mean in (
        ("cost_bound", cost_bound, belief.mean_cost),
        ("reward_bound", reward_bound, belief.mean_reward),
    ):
        if bound is not None and abs(mean) > bound:
            raise BadParameter("recommend", name, f"{arm}, {abs(mean):g}", bound)
    if belief.pulls > 0 and belief.mean_cost < 0.0 and not negative:
        allowed = f"True: arm {belief.arm} has cost {belief.mean_cost:g} on average"
        raise BadParameter("recommend", "costs_can_be_negative", allowed, negative)
