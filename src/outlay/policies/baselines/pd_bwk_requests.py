"""PD-BwK for two knapsacks: money and requests."""

import math

import numpy as np

from outlay.beliefs import HullMoments
from outlay.formulas.choices.choose import Now, precedes
from outlay.formulas.unit import share
from outlay.parameters import number
from outlay.policies.baselines.pd_bwk import knapsack_radius
from outlay.policies.baselines.two_budgets import TwoBudgets


class PDBwKRequests(TwoBudgets):
    """PD-BwK with prices of money and of requests that grow as each is used up.

    With budgets scaled to one number, b = min(B/M_X, N), a pull uses b·c̄·M_X/B of the one and b/N of the other, c̄ and
    r̄ being the means as shares of their bounds. At ε = √(ln 2/b) and prices (1 + ε) to the power of what was used:

        score = min(r̄ + rad(r̄), 1)/(price·(c̄ − rad(c̄))⁺·b·M_X/B + price·b/N),  rad(x) = √(C·x/T) + C/T

    ∞ while T = 0. In the paper the lower bounds of what was used are summed up, here what was used; C = ln(2KN) is of
    the order that it asks for.

    Args:
        budget: B; `simulate` fills it in. While it is unknown (None) only requests have a price.
        requests: N, likewise. With neither, the arms are pulled in turn.
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> policy = PDBwKRequests(budget=50.0, requests=100)
    >>> policy.choose(policy.memory(3), Now(pulls=0, log_n=0.0, spent=0.0), np.random.default_rng(0))
    0

    Reference: Badanidiyuru, Kleinberg, Slivkins, "Bandits with knapsacks", FOCS 2013, arXiv 1305.2545.
    """

    cost_bound: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)

    def choose(self, memory: HullMoments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (nothing is random)
        """Return the arm with the largest score."""
        arms, rounds, size = len(memory.pulls), self.known_requests, self.known_budget / self.cost_bound
        least = min(size, rounds)
        if least == math.inf:
            return now.pulls % arms
        level = math.log(2.0 * arms * max(1.0, rounds if rounds < math.inf else size))
        growth = math.log1p(math.sqrt(math.log(2.0) / least))
        money, request = (least / size if size < math.inf else 0.0), (least / rounds if rounds < math.inf else 0.0)
        money_price = money * math.exp(growth * money * max(0.0, now.spent) / self.cost_bound)
        request_price = request * math.exp(growth * request * now.pulls)
        best, top = 0, -math.inf
        for arm in range(arms):
            score, pulls = math.inf, memory.pulls[arm]
            if pulls > 0:
                cost, reward = share(memory.costs[arm], self.cost_bound), share(memory.rewards[arm], self.reward_bound)
                low = max(0.0, cost - knapsack_radius(cost, pulls, level))
                due = money_price * low + request_price
                high = min(1.0, reward + knapsack_radius(reward, pulls, level))
                score = high / due if due > 0.0 else math.inf
            if arm == 0 or precedes(score, pulls, arm, top, memory.pulls[best], best):
                best, top = arm, score
        return best
