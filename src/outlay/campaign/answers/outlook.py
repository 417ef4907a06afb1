"""What is to be expected of a campaign whose requests are counted: the prices it plans with, and how it may end."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from outlay.campaign.ledger.state import Arm, State
from outlay.checks import Vector
from outlay.formulas.prices import NOTHING, prices

NORMAL = 1.959964  # standard deviations on either side of a mean that hold 95 %


class Outlook(NamedTuple):
    """What the rest of a campaign is worth, as far as its samples tell (docs/requests.md).

    `price` is what one more unit of money would bring, `worth` what one more request would. What is left is best spent
    on `low` and `high`, with the `share` of the requests that are left for `high`: None for an arm stands for serving
    nothing, or for the end of the hull. `reward` is expected at the end, in all, and `reward_low` to `reward_high` is a
    95 % interval by the normal law; None where an arm of the mix has one sample, or an older version opened the ledger.
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
    """The outlook, once an arm has been paid for; None where requests are neither limited nor forecast."""
    horizon = state.horizon
    known = [arm.pulls > 0 for arm in state.arms]
    if horizon is None or not any(known):
        return None
    amount = state.unit.amount
    costs = np.array([_mean_cost(arm.mean_cost, amount(arm.spent), arm.pulls) for arm in state.arms])
    rewards = np.array([arm.reward / arm.pulls if arm.pulls else -math.inf for arm in state.arms])
    left = max(horizon - state.used, 0 if state.ended else 1)  # one more, where more came than was expected
    money = max(0.0, amount(state.budget - state.spent - state.reserved))
    found = prices(costs, rewards, money / left if left else 0.0)
    mix = _mix(costs, found.low, found.high, money / left if left else 0.0)
    flying = sum(arm.in_flight * rewards[i] for i, arm in enumerate(state.arms) if arm.in_flight and known[i])
    ahead = left * sum(part * rewards[arm] for arm, part in mix.items())
    expected = float(state.reward + flying + ahead)
    spread = _spread(state.arms, mix, left)
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


def _mean_cost(told: float | None, spent: float, pulls: int) -> float:
    return told if told is not None else spent / pulls if pulls else 0.0


def _mix(costs: Vector, low: int, high: int, per_request: float) -> dict[int, float]:
    """Which share of the requests goes to which arm."""
    if high == NOTHING:
        return {} if low == NOTHING else {low: 1.0}
    start = 0.0 if low == NOTHING else float(costs[low])
    share = min(1.0, max(0.0, (per_request - start) / (float(costs[high]) - start)))
    return {high: share} if low == NOTHING else {low: 1.0 - share, high: share}


def _spread(arms: Sequence[Arm], mix: dict[int, float], left: int) -> float | None:
    """The standard deviation of what the rest brings: of its outcomes, and of the means that are not known better."""
    variance = 0.0
    for arm, part in ((arms[k], part) for k, part in mix.items()):
        if arm.pulls < 2 or arm.squares is None:
            return None
        one = max(0.0, arm.squares - arm.reward * arm.reward / arm.pulls) / (arm.pulls - 1)
        variance += left * part * one + (left * part) ** 2 * one / arm.pulls
    return math.sqrt(variance)
