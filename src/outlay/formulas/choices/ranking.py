"""Who leads, by a tree of winners: a pull changes one leaf, so that the new leader is found in ln K comparisons.

Node i has the children 2i and 2i + 1, and arm k is leaf K + k; a node holds the arm that `choose.leader_of` would name
of those below. Everything here runs in the interpreter and compiled.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import Belief, PooledBelief
from outlay.formulas.choices.choose import Counts, leads

NOBODY = -1


class Ranking(NamedTuple):
    """The rates of the arms that have been pulled, and the tree: scratch space for one run at a time."""

    rates: NDArray[np.float64]  # [arm]
    spends: NDArray[np.float64]  # [arm]
    winners: NDArray[np.int64]  # [node]

    @staticmethod
    def start(arms: int) -> "Ranking":
        """Room for this many arms."""
        return Ranking(np.zeros(arms), np.zeros(arms), np.zeros(2 * arms, np.int64))


def rank_all(ranking: Ranking, memory: Any, pulls: Counts) -> bool:
    """Rank every arm that was pulled; False, and nothing is ranked, if one of them has cost nothing in all."""
    arms = len(pulls)
    for arm in range(arms):
        ranking.winners[arms + arm] = NOBODY
        if pulls[arm] > 0:
            belief = memory.belief(arm)
            if not belief.mean_cost > 0.0:
                return False
            ranking.winners[arms + arm] = arm
            note(ranking, arm, belief)
    for node in range(arms - 1, 0, -1):
        decide_node(ranking, pulls, node)
    return True


def note(ranking: Ranking, arm: int, belief: Belief | PooledBelief) -> None:
    """Write down what an arm's rate and spend are; the tree is as before."""
    ranking.rates[arm] = belief.mean_reward / belief.mean_cost
    ranking.spends[arm] = belief.pulls * belief.mean_cost


def rank(ranking: Ranking, pulls: Counts, arm: int) -> int:
    """Set the tree right after an arm was noted; returns the leader."""
    node = len(pulls) + arm
    ranking.winners[node] = arm
    while node > 1:
        node //= 2
        decide_node(ranking, pulls, node)
    return int(ranking.winners[1])


def decide_node(ranking: Ranking, pulls: Counts, node: int) -> None:
    """Let the better of two win."""
    one, other = ranking.winners[2 * node], ranking.winners[2 * node + 1]
    ranking.winners[node] = other if one == NOBODY or (other != NOBODY and beats(ranking, pulls, other, one)) else one


def beats(ranking: Ranking, pulls: Counts, one: int, other: int) -> bool:
    """Whether an arm leads rather than another: by rate, least spend, fewest pulls, lowest index."""
    rates, spends = ranking.rates, ranking.spends
    if rates[one] == rates[other] and spends[one] == spends[other] and pulls[one] == pulls[other]:
        return one < other
    return leads(rates[one], spends[one], pulls[one], rates[other], spends[other], pulls[other])


def runner_up(ranking: Ranking, leader: int) -> float:
    """The largest rate of the others, −∞ if there are none: that of one who lost to the leader directly."""
    node, most = len(ranking.rates) + leader, -math.inf
    while node > 1:
        beaten = ranking.winners[node ^ 1]
        if beaten != NOBODY:
            most = max(most, float(ranking.rates[beaten]))
        node //= 2
    return most
