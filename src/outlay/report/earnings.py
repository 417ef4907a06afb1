"""What each arm brought, at the largest budget."""

from typing import NamedTuple

import numpy as np

from outlay.engine.result import Result
from outlay.report.curves import Floats, shortened
from outlay.report.shares import Grouping, grouping


class Earnings(NamedTuple):
    """Per policy, the mean number of an arm's pulls times its mean reward, and the reward that came, both over runs."""

    policies: list[str]
    budget: float
    arms: Grouping
    expected: Floats  # [policy, what is shown]
    earned: Floats  # [policy]
    best: float  # what the best arm alone earned in the same runs


def earnings(result: Result) -> Earnings:
    """The numbers of `reward_figure`."""
    arms = grouping(result)
    expected = result.pulls[:, :, -1].mean(axis=1) * result.problem.mean_rewards
    return Earnings(
        [shortened(label) for label in result.labels],
        float(result.budgets[-1]),
        arms,
        arms.gathered(expected),
        np.asarray(result.reward[:, :, -1].mean(axis=1)),
        float(result.oracle_reward[:, -1].mean()),
    )
