"""A policy of your own in ten lines: compiled for simulations, and used as it is in a campaign.

ε-greedy by rates: mostly the arm with the largest reward per cost so far, and now and then, ever more rarely, any arm.
"""

import sys
from typing import Any, NamedTuple

import numpy as np

import outlay
from outlay import policies
from outlay.arms import catalogue


class Curious(NamedTuple):
    """A sample is the arm's rate, or luck with probability min(1, tries/√n)."""

    tries: float = 1.0

    def sample(self, belief: outlay.Belief, log_n: float, rng: np.random.Generator) -> float:
        """The arm with the largest sample is pulled."""
        if belief.pulls == 0 or rng.random() < self.tries * np.exp(-0.5 * log_n):
            return 1e9 * (1.0 + rng.random())
        return belief.mean_reward / max(1e-9, belief.mean_cost)


def main(budget: float = 10_000.0) -> None:
    """Compare it with the default, then let it spend a budget."""
    problem = catalogue.load("G")
    players: dict[str, Any] = {"curious": Curious(), "default": policies.default()}
    result = outlay.simulate(problem, players, budgets=[budget / 10, budget], runs=50, seed=0)
    print(result.regret()[["policy", "budget", "mean", "stderr", "q90"]].round(1).to_string(index=False))

    campaign = outlay.Campaign(list(problem.names), budget=100, policy=Curious(tries=2.0))
    rng = np.random.default_rng(0)
    while (pull := campaign.ask()) is not None:
        cost, reward = problem.arms[problem.names.index(pull.arm)].draw(rng)
        campaign.tell(pull, cost=cost, reward=reward)
    print(campaign, {arm.name: arm.pulls for arm in campaign.status().arms})


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
