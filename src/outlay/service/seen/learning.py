"""What learning has cost so far, and about how little any policy that learns could have lost.

With λ the price of money and ν the worth of a request, what was used would have brought λ·spent + ν·pulls at the best
arm or, where requests count, at the best mix: λ is the best rate and ν = 0 where they do not. No policy that learns
loses less than Σ Δ/D·ln n in n pulls as n grows (Theorem 3; docs/requests.md), where Δ = ν + λ·(mean cost) − (mean
reward) is what a pull of an arm loses and D how far its law is from one that loses nothing, here among Gaussians.
"""

import math
from collections.abc import Sequence

from outlay.arms import Gaussian
from outlay.beliefs import Belief
from outlay.campaign.monitor import rate_interval
from outlay.campaign.records import Status
from outlay.service.wire.views import Learning
from outlay.theory import divergence

FEW = 10  # pulls, below which an arm's rate says little
CLEARLY = 3.0  # standard errors by which an arm must be worse to count


def learning(status: Status, beliefs: Sequence[Belief]) -> Learning | None:
    """The cost and the bound as far as is known now; None while too little is. `beliefs` are those of the arms."""
    prices = _prices(status, beliefs)
    if prices is None:
        return None
    price, worth = prices
    spent = math.fsum(arm.spent for arm in status.arms)  # in all windows
    cost = price * spent + worth * status.pulls - status.reward
    lost = [loss for belief in beliefs if (loss := _lost(belief, price, worth)) is not None]
    bound = math.log(status.pulls) * math.fsum(lost) if lost else None
    return Learning(max(0.0, cost), bound)


def _prices(status: Status, beliefs: Sequence[Belief]) -> tuple[float, float] | None:
    """λ and ν as known now.

    The best arm is the one whose interval has the highest lower end: of many arms, the one with the largest rate so far
    has mostly been lucky.
    """
    if status.requests is not None or status.expected is not None:
        return None if status.outlook is None else (status.outlook.price, status.outlook.worth)
    known = [belief for belief in beliefs if belief.pulls >= FEW and belief.mean_cost > 0.0]
    if not known:
        return None
    best = max(known, key=lambda belief: rate_interval(belief).low)
    rate = best.mean_reward / best.mean_cost
    return (rate, 0.0) if rate > 0.0 else None


def _lost(belief: Belief, price: float, worth: float) -> float | None:
    """Δ/D, what an arm adds to the bound; None for one that is not clearly worse.

    >>> round(_lost(Belief(0, 400, 1.0, 0.5, 0.25, 0.25, 0.0), 1.0, 0.0), 3)
    2.0
    """
    if belief.pulls < FEW:
        return None
    gap = worth + price * belief.mean_cost - belief.mean_reward
    variance = belief.var_reward - 2.0 * price * belief.cov + price * price * belief.var_cost
    if not gap > CLEARLY * math.sqrt(max(0.0, variance) / belief.pulls):
        return None
    sds = math.sqrt(belief.var_cost), math.sqrt(belief.var_reward)
    product = sds[0] * sds[1]
    correlation = max(-1.0, min(1.0, belief.cov / product)) if product > 0.0 else 0.0
    distance = divergence(Gaussian(belief.mean_cost, belief.mean_reward, *sds, correlation), price, worth=worth)
    return gap / distance if distance > 0.0 else None
