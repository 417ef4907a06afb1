"""What the samples of one arm say: their moments, kept one pull at a time, the slope and the residual variance.

Running sums of cost and reward, a row for each arm or for all of them, are what every memory of moments is made of. The
update is Welford's, on values shifted by the row's first sample: a large common offset (costs of 10⁸ that differ in the
third digit after the point) then costs no accuracy, and constant costs have variance exactly 0.

All but `empty` and `replace` runs in the interpreter and compiled, bit for bit alike.

References: Section 4.2 of Cayci, Eryilmaz, Srikant (2020) for slope and residual variance (LMMSE); B. P. Welford, "Note
on a method for calculating corrected sums of squares and products", Technometrics 4 (1962).
"""

import math
from typing import NamedTuple

import numpy as np

from outlay.checks import Vector

Sample = tuple[float, float]  # cost and reward
# The columns: pulls, the first sample (the shift), the means less the shift, and the sums of centred squares of cost,
# of reward, and of their product. Eight numbers: one cache line per row.
PULLS, FIRST_COST, FIRST_REWARD, MEAN_COST, MEAN_REWARD, SQUARES_COST, SQUARES_REWARD, SQUARES_CROSS = range(8)
COLUMNS = 8


class Belief(NamedTuple):
    """What the samples of one arm say: their number, means, biased (1/T) variances and covariance; zeros before any."""

    arm: int
    pulls: int
    mean_cost: float
    mean_reward: float
    var_cost: float
    var_reward: float
    cov: float


def slope(belief: Belief) -> float:
    """ω = Cov(X, R)/Var(X), the slope of the best linear guess of the reward from the cost; 0 when Var(X) = 0.

    >>> slope(Belief(0, 9, 1.0, 1.0, var_cost=4.0, var_reward=9.0, cov=2.0))
    0.5
    """
    if belief.var_cost > 0.0 and belief.cov != 0.0:  # a GPU divides 0 slowly
        return belief.cov / belief.var_cost
    return 0.0


def residual_variance(belief: Belief) -> float:
    """V = min over ω of Var(R − ωX) = Var(R) − ω²Var(X): what the cost cannot explain of the reward, at least 0.

    >>> residual_variance(Belief(0, 9, 1.0, 1.0, var_cost=4.0, var_reward=9.0, cov=2.0))
    8.0
    """
    # ω·Cov is ω²Var(X) with one rounding less, and does not overflow where ω² would.
    return max(0.0, belief.var_reward - slope(belief) * belief.cov)


class Moments(NamedTuple):
    """The memory of a policy that reads moments: 64 bytes per arm, changed in place.

    >>> memory = Moments.empty(2)
    >>> memory.observe(1, 2.0, 5.0)
    >>> memory.observe(1, 4.0, 9.0)
    >>> memory.belief(1)
    Belief(arm=1, pulls=2, mean_cost=3.0, mean_reward=7.0, var_cost=1.0, var_reward=4.0, cov=2.0)
    """

    stats: Vector  # a row of sums per arm

    @staticmethod
    def empty(arms: int) -> "Moments":
        """Make the memory before the first pull."""
        return Moments(empty_rows(arms))

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`."""
        take_in(self.stats, arm, cost, reward)

    def belief(self, arm: int) -> Belief:
        """What is known of `arm`."""
        return belief_of(self.stats, arm)

    def full(self) -> bool:
        """Never: moments take the same room whatever the number of pulls."""
        return False

    def add_expected(self, arm: int, count: int, cost: float, reward: float) -> None:
        """Take in `count` samples that are all alike."""
        take_in_many(self.stats, arm, count, cost, reward)

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:  # noqa: ARG002 (sums have no order)
        """Replace one sample of the arm by another."""
        replace(self.stats, arm, old, new)

    def with_new_arm(self) -> "Moments":
        """The same with one more arm."""
        return Moments(np.vstack([self.stats, empty_rows(1)]))


def empty_rows(rows: int) -> Vector:
    """So many rows before the first sample."""
    return np.zeros((rows, COLUMNS))


def take_in(s: Vector, row: int, cost: float, reward: float) -> None:
    """Take one sample into a row of sums."""
    pulls = float(s[row, PULLS]) + 1.0
    if pulls == 1.0:
        s[row, FIRST_COST] = cost
        s[row, FIRST_REWARD] = reward
    s[row, PULLS] = pulls
    mean_cost = float(s[row, MEAN_COST])
    mean_reward = float(s[row, MEAN_REWARD])
    step_cost = cost - float(s[row, FIRST_COST]) - mean_cost
    step_reward = reward - float(s[row, FIRST_REWARD]) - mean_reward
    weight = 1.0 / pulls
    s[row, MEAN_COST] = mean_cost + step_cost * weight
    s[row, MEAN_REWARD] = mean_reward + step_reward * weight
    rest = (pulls - 1.0) * weight
    s[row, SQUARES_COST] = float(s[row, SQUARES_COST]) + step_cost * step_cost * rest
    s[row, SQUARES_REWARD] = float(s[row, SQUARES_REWARD]) + step_reward * step_reward * rest
    s[row, SQUARES_CROSS] = float(s[row, SQUARES_CROSS]) + step_cost * step_reward * rest


def take_in_many(s: Vector, row: int, count: int, cost: float, reward: float) -> None:
    """Take `count` samples that are all alike into a row of sums."""
    pulls = float(s[row, PULLS])
    if pulls == 0.0:
        s[row, FIRST_COST] = cost
        s[row, FIRST_REWARD] = reward
    total = pulls + count
    step_cost = cost - float(s[row, FIRST_COST]) - float(s[row, MEAN_COST])
    step_reward = reward - float(s[row, FIRST_REWARD]) - float(s[row, MEAN_REWARD])
    weight = count / total
    s[row, PULLS] = total
    s[row, MEAN_COST] += step_cost * weight
    s[row, MEAN_REWARD] += step_reward * weight
    s[row, SQUARES_COST] += step_cost * step_cost * pulls * weight
    s[row, SQUARES_REWARD] += step_reward * step_reward * pulls * weight
    s[row, SQUARES_CROSS] += step_cost * step_reward * pulls * weight


def replace(s: Vector, row: int, old: Sample, new: Sample, weight: float = 1.0) -> None:
    """Replace one sample by another in a row of sums, in which it has this weight; exact but for rounding.

    With d the change of a value, w its weight and m the mean before, T·mean grows by w·d, and a sum of centred
    products, of values x and y, by w·(x' − m_x)(y' − m_y) − w·(x − m_x)(y − m_y) − w²·d_x·d_y/T.
    """
    pulls = float(s[row, PULLS])
    shift = s[row, FIRST_COST : FIRST_REWARD + 1]
    mean = s[row, MEAN_COST : MEAN_REWARD + 1]
    before, after = np.array(old) - shift - mean, np.array(new) - shift - mean
    step = weight * (after - before)
    mean += step / pulls
    grown = weight * (np.outer(after, after) - np.outer(before, before)) - np.outer(step, step) / pulls
    s[row, SQUARES_COST] = max(0.0, s[row, SQUARES_COST] + grown[0, 0])
    s[row, SQUARES_REWARD] = max(0.0, s[row, SQUARES_REWARD] + grown[1, 1])
    most = math.sqrt(s[row, SQUARES_COST] * s[row, SQUARES_REWARD])
    s[row, SQUARES_CROSS] = min(max(s[row, SQUARES_CROSS] + grown[0, 1], -most), most)


def belief_of(s: Vector, row: int) -> Belief:
    """What a row of sums says of the arm of that number."""
    pulls = float(s[row, PULLS])
    if pulls == 0.0:
        return Belief(row, 0, 0.0, 0.0, 0.0, 0.0, 0.0)
    return Belief(
        row,
        int(pulls),
        float(s[row, FIRST_COST]) + float(s[row, MEAN_COST]),
        float(s[row, FIRST_REWARD]) + float(s[row, MEAN_REWARD]),
        float(s[row, SQUARES_COST]) / pulls,
        float(s[row, SQUARES_REWARD]) / pulls,
        float(s[row, SQUARES_CROSS]) / pulls,
    )
