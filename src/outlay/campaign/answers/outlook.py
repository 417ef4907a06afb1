"""What is to be expected of a campaign whose requests are counted: the prices it plans with, and how it may end."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from outlay.campaign.ledger.state import Arm, State
from outlay.checks import Vector
from outlay.formulas.requests.prices import NOTHING, prices

Variances = list[tuple[float | None, float | None]]  # of R − λX and of R, for each arm
NORMAL = 1.959964  # standard deviations on either side of a mean that hold 95 %


class Outlook(NamedTuple):
    """What the rest of a campaign is worth if the best mix is played from now on, as far as its samples tell.

    `price` is what one more unit of money would bring, `worth` what one more request would. What is left is best spent
    on `low` and `high`, with the `share` of the requests that are left for `high`: None for an arm stands for serving
    nothing, or for the end of the hull. `reward` is what the campaign then brings in all, and `reward_low` to
    `reward_high` hold it with 95 % probability by the normal law; None where an arm of the mix has one sample, or an
    older version opened the ledger. What exploring still costs is not in it: early on it is too hopeful.
    """

    price: float
    worth: float
    low: str | None
    high: str | None
    share: float
    reward: float
    reward_low: float | None
    reward_high: float | None


def outlook_of(state: State) -> Outlook | None:
    """The outlook once an arm has been paid for; None where requests are not limited nor forecast, and at the end."""
    horizon, arms, amount = state.horizon, state.arms, state.unit.amount
    if horizon is None or state.ended or not any(arm.pulls for arm in arms):
        return None
    spent = [amount(arm.spent) for arm in arms]
    costs = np.array([_mean_cost(arm, cost) for arm, cost in zip(arms, spent, strict=True)])
    rewards = np.array([arm.reward / arm.pulls if arm.pulls else -math.inf for arm in arms])
    flying = {i: arm.in_flight for i, arm in enumerate(arms) if arm.in_flight and arm.pulls}
    left = max(horizon - state.used_now, 1)  # one more, where more came than was expected
    money = max(0.0, amount(state.budget - state.counted) - sum(n * float(costs[i]) for i, n in flying.items()))
    found = prices(costs, rewards, money / left)
    mix = _mix(costs, found.low, found.high, money / left)
    coming = [*flying.items(), *((arm, left * part) for arm, part in mix.items())]
    expected = float(state.reward + sum(pulls * rewards[arm] for arm, pulls in coming))
    variances = [
        (_variance(arm, cost, found.price), _variance(arm, cost, 0.0)) for arm, cost in zip(arms, spent, strict=True)
    ]
    spread = _spread(arms, variances, mix, left, flying)
    name = [arm.name for arm in state.arms]
    return Outlook(
        found.price,
        found.worth,
        None if found.low == NOTHING else name[found.low],
        None if found.high == NOTHING else name[found.high],
        mix.get(found.high, 0.0),
        expected,
        None if spread is None else expected - NORMAL * spread,
        None if spread is None else expected + NORMAL * spread,
    )


def _mean_cost(arm: Arm, spent: float) -> float:
    return arm.mean_cost if arm.mean_cost is not None else spent / arm.pulls if arm.pulls else 0.0


def _mix(costs: Vector, low: int, high: int, per_request: float) -> dict[int, float]:
    """Which share of the requests goes to which arm."""
    if high == NOTHING:
        return {} if low == NOTHING else {low: 1.0}
    start = 0.0 if low == NOTHING else float(costs[low])
    share = min(1.0, max(0.0, (per_request - start) / (float(costs[high]) - start)))
    return {high: share} if low == NOTHING else {low: 1.0 - share, high: share}


def _spread(
    arms: Sequence[Arm], variances: Variances, mix: dict[int, float], left: int, flying: dict[int, int]
) -> float | None:
    """The standard deviation of what is still to come.

    A pull of the mix that costs more than its mean leaves less for the others, at the price of money: so what varies is
    R − λX, by chance in each outcome and in the means that are not known better. Of pulls under way R alone does.
    """
    variance = 0.0
    for k in sorted(mix.keys() | flying.keys()):
        net, reward = variances[k]
        if net is None or reward is None:
            return None
        part = left * mix.get(k, 0.0)
        variance += part * net + part * part * net / arms[k].pulls + flying.get(k, 0) * reward
    return math.sqrt(variance)


def _variance(arm: Arm, spent: float, price: float) -> float | None:
    """Of R − λX, from the sums of an arm; None where they do not say."""
    n = arm.pulls
    if n < 2:
        return None
    rewards = arm.squares - arm.reward * arm.reward / n
    costs = arm.cost_squares - spent * spent / n
    both = arm.products - spent * arm.reward / n
    return max(0.0, rewards - 2.0 * price * both + price * price * costs) / (n - 1)
