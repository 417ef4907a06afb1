"""Rivals that look at a request's features: a regression for each arm, and a price of money that follows the spending.

Reward and cost of each arm are regressed on the features by ridge regression with an intercept, penalty 1. An arm is
worth its reward, by an upper bound or a draw, less λ·(its cost), with

    λ = (M_R·N/B)/(1 + exp(−s)),  s = pace·√(ln 2/N)·(N·S/B − n)

after n requests that have cost S: exponentiated gradients, the step of the paper where `pace` is 1.
"""

import math

import numpy as np

from outlay.beliefs import LinearMoments
from outlay.beliefs.linear import COST, REWARD, combined, product, uncertainty
from outlay.formulas.argmax import Counts, Now
from outlay.formulas.confidence import budget_or_infinity, requests_or_infinity
from outlay.parameters import Parameters, derived, integer, number

PENALTY = 1.0


class PacedLinear(Parameters):
    """The parameters of a policy with regressions for each arm and a price of money that follows the spending."""

    features: int = integer(at_least=1, at_most=64)
    alpha: float = number(default=0.25, at_least=0)
    reward_bound: float = number(default=1.0, above=0)
    pace: float = number(default=4.0, above=0)
    budget: float | None = number(default=None, above=0)
    requests: float | None = number(default=None, above=0)

    known_budget: float = derived(budget_or_infinity)
    known_requests: float = derived(requests_or_infinity)

    def memory(self, arms: int) -> LinearMoments:
        """Sums of products with the features."""
        return LinearMoments.empty(arms, self.features, own=PENALTY)

    def choose(self, memory: LinearMoments, now: Now, rng: np.random.Generator) -> int:
        """The arm for the request that arrived last."""
        return self.choose_among(memory, np.arange(len(memory.told)), now, rng)

    def choose_among(self, memory: LinearMoments, arms: Counts, now: Now, rng: np.random.Generator) -> int:
        """The same where only these arms may be pulled."""
        raise NotImplementedError


class LinUCB(PacedLinear):
    """LinUCB with pacing: the arm with the largest min(r̂ + α·M_R·√q, M_R) − λ·x̂, q = 1/T + zᵀ(Σzzᵀ + I)⁻¹z.

    z is the request less the mean of the arm's requests. Every arm is pulled once first.

    Args:
        features: d, the numbers that come with each request, from 1 to 64.
        alpha: how wide the bounds are, as a multiple of M_R.
        reward_bound: M_R; rewards lie in [0, M_R].
        pace: how fast the price of money follows the spending; 1 is the paper's.
        budget: B; `simulate` fills it in. While it, or N, is unknown (None), money has no price.
        requests: N, likewise.

    >>> policy, rng = LinUCB(features=1), np.random.default_rng(0)
    >>> memory = policy.memory(arms=2)
    >>> memory.observe(0, cost=1.0, reward=0.5)
    >>> policy.choose(memory, Now(pulls=1, log_n=0.0, spent=1.0), rng)
    1

    Reference: Li, Chu, Langford, Schapire, "A contextual-bandit approach to personalized news article recommendation",
    WWW 2010, with the prices of Agrawal, Devanur, "Linear contextual bandits with knapsacks", NIPS 2016.
    """

    def choose_among(self, memory: LinearMoments, arms: Counts, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002
        """The arm of these that is worth most."""
        price = following(self.known_budget, self.known_requests, self.reward_bound, self.pace, now)
        best, top = int(arms[0]), -math.inf
        for arm in arms:
            if memory.belief(arm).pulls == 0:
                return int(arm)
            reward, cost, spread = guessed(memory, arm)
            worth = min(reward + self.alpha * self.reward_bound * spread, self.reward_bound) - price * cost
            if worth > top:
                best, top = int(arm), worth
        return best


class LinTS(PacedLinear):
    """Linear Thompson sampling with pacing: as `LinUCB`, with a Gaussian draw around r̂, deviation α·M_R·√q.

    Args:
        features: d, the numbers that come with each request, from 1 to 64.
        alpha: how far draws spread, as a multiple of M_R.
        reward_bound: M_R; rewards lie in [0, M_R].
        pace: how fast the price of money follows the spending; 1 is the paper's.
        budget: B; `simulate` fills it in. While it, or N, is unknown (None), money has no price.
        requests: N, likewise.

    >>> policy, rng = LinTS(features=1), np.random.default_rng(0)
    >>> memory = policy.memory(arms=2)
    >>> memory.observe(0, cost=1.0, reward=0.5)
    >>> policy.choose(memory, Now(pulls=1, log_n=0.0, spent=1.0), rng)
    1

    Reference: Agrawal, Goyal, "Thompson sampling for contextual bandits with linear payoffs", ICML 2013, with prices as
    for `LinUCB`.
    """

    def choose_among(self, memory: LinearMoments, arms: Counts, now: Now, rng: np.random.Generator) -> int:
        """The arm of these that is worth most, by a draw of each."""
        price = following(self.known_budget, self.known_requests, self.reward_bound, self.pace, now)
        best, top = int(arms[0]), -math.inf
        for arm in arms:
            if memory.belief(arm).pulls == 0:
                return int(arm)
            reward, cost, spread = guessed(memory, arm)
            worth = reward + self.alpha * self.reward_bound * spread * rng.standard_normal() - price * cost
            if worth > top:
                best, top = int(arm), worth
        return best


def guessed(memory: LinearMoments, arm: int) -> tuple[float, float, float]:
    """What an arm would bring and cost for the request that arrived last, and √q."""
    belief = memory.belief(arm)
    away = memory.current - memory.centres[arm]
    weights = combined(memory.inverse[arm], away)
    reward = belief.mean_reward + product(weights, memory.sums[arm, REWARD])
    cost = belief.mean_cost + product(weights, memory.sums[arm, COST])
    return reward, max(cost, float(memory.least[arm])), uncertainty(memory, arm)


def following(budget: float, requests: float, reward_bound: float, pace: float, now: Now) -> float:
    """The price of money after so much was spent.

    >>> following(50.0, 100.0, 1.0, 1.0, Now(pulls=10, log_n=2.3, spent=5.0))
    1.0
    """
    if budget == math.inf or requests == math.inf:
        return 0.0
    ahead = pace * math.sqrt(math.log(2.0) / requests) * (now.spent * requests / budget - now.pulls)
    return reward_bound * requests / budget / (1.0 + math.exp(-min(max(ahead, -700.0), 700.0)))
