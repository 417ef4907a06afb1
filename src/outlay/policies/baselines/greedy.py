"""Greedy: the best rate so far, no exploration."""

from outlay.beliefs import Belief
from outlay.formulas.rates import observed_rate
from outlay.parameters import Parameters
from outlay.policies.protocol import RisingScore


class Greedy(RisingScore, Parameters):
    """Pull the arm with the largest R̄/X̄ so far; it locks onto a wrong arm in many runs: the floor for any learner.

    An arm whose mean cost is not positive yet has score ∞.

    >>> Greedy().score(Belief(0, 3, mean_cost=2.0, mean_reward=1.0, var_cost=0.0, var_reward=0.0, cov=0.0), log_n=2.0)
    0.5
    """

    def score(self, belief: Belief, log_n: float) -> float:  # noqa: ARG002 (time does not matter)
        """The arm's observed rate."""
        return observed_rate(belief)
