"""Moments of (cost, reward) that can be merged: reading a log in stretches loses nothing."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import Belief

Floats = NDArray[np.float64]


class Sums(NamedTuple):
    """Number, means and centred sums of products of pairs, less a shift that all parts share."""

    n: int
    mean: Floats  # of cost and of reward
    products: Floats  # 2 × 2

    def belief(self, arm: int, shift: Floats) -> Belief:
        """The moments as policies read them."""
        (var_cost, cov), (_, var_reward) = (self.products / self.n).tolist()
        mean_cost, mean_reward = (shift + self.mean).tolist()
        return Belief(arm, self.n, mean_cost, mean_reward, var_cost, var_reward, cov)


def sums_of(pairs: Floats) -> Sums:
    """The sums of some pairs, [cost or reward, row].

    >>> sums_of(np.array([[1.0, 3.0], [2.0, 6.0]])).products.tolist()
    [[2.0, 4.0], [4.0, 8.0]]
    """
    mean = pairs.mean(axis=1)
    centred = pairs - mean[:, None]
    return Sums(pairs.shape[1], mean, centred @ centred.T)


def merged(one: Sums, other: Sums) -> Sums:
    """The sums of both parts together.

    Reference: T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance: analysis and
    recommendations", The American Statistician 37 (1983), for the update by parts.
    """
    n = one.n + other.n
    step = other.mean - one.mean
    products = one.products + other.products + np.outer(step, step) * (one.n * (other.n / n))
    return Sums(n, one.mean + step * (other.n / n), products)
