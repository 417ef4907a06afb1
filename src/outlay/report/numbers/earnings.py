"""What each arm brought, at the largest budget."""

from typing import NamedTuple

import numpy as np

from outlay.report.numbers.curves import Floats
from outlay.report.numbers.shares import Grouping, grouping
from outlay.results import Result, last_of
from outlay.text import shortened, tick


class Earnings(NamedTuple):
    """Per policy, the mean number of an arm's pulls times its mean reward, and the reward that came, both over runs."""

    policies: list[str]
    end: str  # the last budget, in words
    arms: Grouping
    expected: Floats  # [policy, what is shown]
    earned: Floats  # [policy]
    best: float  # what the best arm alone earned in the same runs; with requests, the most that can be earned
    line: str  # what that is called


def earnings(result: Result) -> Earnings:
    """The numbers of `reward_figure`."""
    arms = grouping(result)
    expected = result.pulls[:, :, -1].mean(axis=1) * result.problem.mean_rewards
    return Earnings(
        [shortened(label) for label in result.labels],
        last_of(result, tick),
        arms,
        arms.gathered(expected),
        np.asarray(result.reward[:, :, -1].mean(axis=1)),
        float(result.oracle_reward[:, -1].mean() if result.requests is None else result.attainable[-1]),
        "the best arm alone" if result.requests is None else "the most that can be earned",
    )
