"""LinearRation: a budget and a number of requests that differ by features; `Ration` where requests are all alike."""

import math

import numpy as np
from numpy.typing import ArrayLike

from outlay.beliefs import LinearMoments
from outlay.beliefs.linear import (
    ARRIVED,
    COST,
    ERRORS,
    GUESSES,
    LARGEST,
    PRICE,
    RECENT,
    REWARD,
    Array,
    dearer,
    uncertainty,
)
from outlay.checks import Vector
from outlay.errors import BadParameter
from outlay.formulas.argmax import Counts, Now
from outlay.formulas.confidence import budget_or_infinity, requests_or_infinity
from outlay.formulas.pacing import either, paced, price_index
from outlay.formulas.pricing import per_request
from outlay.parameters import Parameters, derived, integer, number, parameter
from outlay.policies.ration import UNKNOWN, mean_costs

MOST_FEATURES = 64


class LinearRation(Parameters):
    """Serve N requests with a budget B, each by the arm that is best for it at the price of money.

    Cost x̂ and reward r̂ of each arm are linear in the features of a request (`beliefs.linear`): features that say
    nothing are found out, and count little. With b money and n requests left, λ is the price of money at which the last
    128 requests would cost b/n on average (less, as far as pulls have cost more than was expected of them), each served
    by the arm with the largest u − λx̂ (`formulas.pacing`), where

        u = min(r̂ + alpha·σ/√T, the largest reward so far)

    with T the arm's pulls and σ the standard error of a guess. This request is served likewise, with q in place of 1/T:
    q = 1/T + zᵀ(S + P)⁻¹z, z the request less the mean of the arm's, S their squares and products, P the penalty.

    With a budget and no number of requests there is always another one to spend on, and λ is the best rate: the most
    reward for its cost of any rule that serves the last 128 requests. Then one arm, as a rule the cheapest, is named
    nearly always, and where fewer requests come than there is money for, money is left: say how many there are.

    What makes a request hard for one arm is expected to make it hard for the others. Where arms are each other's
    opposite it often stays with one of them, and `LinUCB` does not (docs/contexts.md).

    Every arm is pulled once first, unless mean costs are told: then an arm that was never pulled is taken to bring the
    largest reward so far at its mean cost, and one that is too dear even so is never pulled. While nothing has paid,
    the arm is pulled that has used the least money.

    Args:
        features: d, the numbers that come with each request, from 1 to 64; about as large as if they had variance 1.
        costs: the mean cost of each arm over all requests, where known, as price lists give it.
        reward_bound: the largest possible reward, where known; a larger one that is seen replaces it.
        alpha: how much is explored; 0 takes means as they are.
        budget: B, what may be spent in all; whoever plays it fills it in. None: no limit.
        requests: N, the pulls that may be made in all, likewise. None: no limit, and money alone is scarce.

    >>> policy = LinearRation(features=1, budget=300.0, requests=400)
    >>> memory, rng = policy.memory(arms=2), np.random.default_rng(0)
    >>> for n in range(200):  # the dear arm is better where the feature is 1
    ...     x = (-1.0, 1.0)[n % 2]
    ...     memory.arrive(np.array([x]))
    ...     memory.observe(0, cost=0.2, reward=0.5)
    ...     memory.observe(1, cost=1.0, reward=0.7 + 0.2 * x)
    >>> chosen = []
    >>> for x in (-1.0, 1.0):
    ...     memory.arrive(np.array([x]))
    ...     chosen.append(policy.choose(memory, Now(pulls=200, log_n=5.3, spent=180.0), rng))
    >>> chosen
    [0, 1]

    Reference: docs/contexts.md.
    """

    features: int = integer(at_least=1, at_most=MOST_FEATURES)
    costs: ArrayLike | None = parameter(mean_costs, default=None)
    reward_bound: float | None = number(default=None, above=0)
    alpha: float = number(default=0.75, at_least=0)
    budget: float | None = number(default=None, above=0)
    requests: float | None = number(default=None, above=0)

    known_costs: Vector = derived(lambda given: UNKNOWN if given.costs is None else given.costs)
    known_bound: float = derived(lambda given: -math.inf if given.reward_bound is None else given.reward_bound)
    known_budget: float = derived(budget_or_infinity)
    known_requests: float = derived(requests_or_infinity)

    def check(self, arms: int) -> None:
        """Refuse a list of costs that is not one for each arm."""
        if self.costs is not None and len(self.known_costs) != arms:
            raise BadParameter("LinearRation", "costs", f"one for each of {arms} arms", self.costs)

    def memory(self, arms: int) -> LinearMoments:
        """What is known of the arms, and the last requests."""
        return LinearMoments.empty(arms, self.features, () if self.costs is None else self.known_costs)

    def choose(self, memory: LinearMoments, now: Now, rng: np.random.Generator) -> int:
        """The arm for the request that arrived last."""
        return self.choose_among(memory, np.arange(len(memory.told)), now, rng)

    def choose_among(self, memory: LinearMoments, arms: Counts, now: Now, rng: np.random.Generator) -> int:
        """The same where only these arms may be pulled."""
        largest = max(self.known_bound, memory.noise[LARGEST])
        first = arm_to_try(memory, arms, largest)
        if first >= 0:
            return first
        money = max(0.0, self.known_budget - now.spent)
        hopes, costs, here, left = priced(memory, arms, money, self.known_requests - now.pulls, self.alpha, largest)
        return int(arms[paced(hopes, costs, here, money, left, memory.marks[PRICE], rng)])

    def chances(self, memory: LinearMoments, arms: Counts, now: Now) -> Vector:
        """With which chance each of these arms is named for the request that arrived last."""
        largest, found = max(self.known_bound, memory.noise[LARGEST]), np.zeros(len(arms))
        first = arm_to_try(memory, arms, largest)
        if first >= 0:
            return np.where(arms == first, 1.0, 0.0)
        money = max(0.0, self.known_budget - now.spent)
        hopes, costs, here, left = priced(memory, arms, money, self.known_requests - now.pulls, self.alpha, largest)
        arm, other, more, span = either(hopes, costs, here, money, left, memory.marks[PRICE])
        found[other] = min(1.0, more / span) if more >= 0.0 and span > 0.0 else float(more > 0.0)
        found[arm] = 1.0 - found[other] if arm != other else 1.0
        return found


def priced(
    memory: LinearMoments, arms: Counts, money: float, requests: float, alpha: float, largest: float
) -> tuple[Array, Array, int, float]:
    """What each arm may bring for the last requests, and cost; which is to be served; the money for each request.

    The price of money is noted where the next search begins.
    """
    left = money_for_each(memory, money, requests)
    hopes, costs, here = prospects(memory, arms, alpha * noise(memory), largest)
    memory.marks[PRICE] = price_index(hopes, costs, left, memory.marks[PRICE])
    return hopes, costs, here, left


def money_for_each(memory: LinearMoments, money: float, requests: float) -> float:
    """What is left for each request that is left, less as far as pulls have cost more than was expected of them."""
    left = per_request(money, max(1.0, requests)) if money < math.inf else math.inf
    return left / dearer(memory)


def prospects(memory: LinearMoments, arms: Counts, wide: float, largest: float) -> tuple[Array, Array, int]:
    """What each arm may bring for the last requests, and cost: [arm, request], and which of these is to be served."""
    seen, here = max(1, min(memory.marks[ARRIVED], RECENT)), max(0, memory.marks[ARRIVED] - 1) % RECENT
    hopes, costs = np.empty((len(arms), seen)), np.empty((len(arms), seen))
    for place in range(len(arms)):
        arm = arms[place]
        pulls = memory.belief(arm).pulls
        margin = wide / math.sqrt(pulls) if pulls > 0 else math.inf
        costs[place] = memory.expected[COST, arm, :seen]
        hopes[place] = np.minimum(memory.expected[REWARD, arm, :seen] + margin, largest)
        if pulls > 0:
            hopes[place, here] = min(memory.expected[REWARD, arm, here] + wide * uncertainty(memory, arm), largest)
    return hopes, costs, here


def arm_to_try(memory: LinearMoments, arms: Counts, largest: float) -> int:
    """The first arm that has neither a sample nor a known cost; while nothing has paid, the one least spent on; or −1.

    That is the least (T + 1)·x̄, so that of arms of known cost the cheapest comes first.
    """
    best, least = -1, math.inf
    for arm in arms:
        belief = memory.belief(arm)
        told = not math.isnan(memory.told[arm])
        if belief.pulls == 0 and not told:
            return int(arm)
        spent = (belief.pulls + 1) * (memory.told[arm] if told else belief.mean_cost)
        if largest <= 0.0 and spent < least:
            best, least = int(arm), spent
    return best


def noise(memory: LinearMoments) -> float:
    """σ, the standard error of a guess; the variance of all rewards counts as the square of one more error."""
    errors = memory.noise[ERRORS] + memory.belief(len(memory.told)).var_reward
    return math.sqrt(errors / (1.0 + memory.noise[GUESSES]))
