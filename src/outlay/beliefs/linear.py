"""What samples say of requests that carry features: for each arm, how its cost and its reward depend on them.

Within each arm, reward and cost are regressed on the features less the arm's mean of them, so that a regression goes
through the arm's mean cost and reward. Two penalties: all arms together have *common* slopes (penalty 1; of costs, as
shares of the arm's mean cost), and each arm has its *own* deviation from these (penalty d/4, at least 1: many features
are not expected to say more together than a few). Features that say nothing would still have deviations, by chance. So
these count only as far as they have been right: before each sample it is guessed, and the deviations are multiplied by
twice the slope of what came on what was guessed, from 0 to 1. A slope of ½ is where guesses begin to be better than
none.

A sample takes O(d²), by rank one: the inverse of each arm's matrix is kept, its own slopes are found anew, and another
arm's in turn, since the common slopes have moved. What the last requests would bring with each arm is kept beside it,
as prices of money are found from that.

Sums are taken in one order, without a library of linear algebra: interpreted and compiled code agree bit for bit.
"""

import math
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs.moments import PULLS, Belief, belief_of, empty_rows, take_in, take_in_many
from outlay.checks import Vector

RECENT = 128  # requests that are kept
COMMON = 1.0  # penalty of the common slopes
OWN = 0.25  # penalty of an arm's deviations from them, for each feature, but at least 1 in all
REWARD, COST = 0, 1  # places in arrays
GUESSED, CAME = 0, 1  # of `trust`: Σ guess², Σ guess·(what came)
# Of `noise`: Σ (reward less guess)², how many, the largest reward; Σ cost of these pulls, and of what was expected.
ERRORS, GUESSES, LARGEST, PAID, FORESEEN = range(5)
ARRIVED, TURN, PRICE = 0, 1, 2  # of `marks`

Array = NDArray[np.float64]


class LinearMoments(NamedTuple):
    """The memory of a policy that decides by the features of a request: the one that `arrive` was told last.

    >>> memory = LinearMoments.empty(arms=2, features=1)
    >>> for x in (-1.0, 1.0) * 500:
    ...     memory.arrive(np.array([x]))
    ...     memory.observe(0, cost=1.0, reward=0.5 + 0.3 * x)
    ...     memory.observe(1, cost=2.0, reward=0.5 - 0.3 * x)
    >>> memory.expected[REWARD, :, :2].round(1).tolist()  # of each arm, for requests with −1 and with 1
    [[0.2, 0.8], [0.8, 0.2]]
    """

    stats: Vector  # a row of sums per arm, and one of all pulls (`moments`)
    least: Vector  # [arm]: the smallest cost of a pull
    told: Vector  # [arm]: its mean cost, where it was told; else nan
    centres: Array  # [arm + 1, feature]: means over the arm's pulls; last, over all requests
    inverse: Array  # [arm + 1, feature, feature]: of squares and products less the centre, plus the penalty
    sums: Array  # [arm + 1, 2, feature]: products with reward and with cost; last, of all arms
    slopes: Array  # [arm + 1, 2, feature]: an arm's deviations; last, the common slopes
    trust: Array  # [2, 2]: how far deviations of reward and of cost were right
    noise: Vector  # [5]
    penalty: Vector  # [1]: of deviations
    lines: Array  # [feature, 2, arm]: the slopes in use
    levels: Array  # [2, arm]: what they start from where all features are 0
    recent: Array  # [feature, place]: the last requests
    expected: Array  # [2, arm, place]: what each arm would bring for them
    current: Vector  # the request that is to be served
    marks: NDArray[np.int64]  # [3]: requests so far, the arm whose turn it is, where the search for a price starts

    @staticmethod
    def empty(
        arms: int, features: int, told: Vector | tuple[float, ...] = (), own: float | None = None
    ) -> "LinearMoments":
        """Before the first pull; `own` is the penalty of deviations."""
        own = max(1.0, OWN * features) if own is None else own
        inverse = np.repeat(np.eye(features)[None] / own, arms + 1, axis=0)
        inverse[arms] *= own / COMMON
        memory = LinearMoments(
            empty_rows(arms + 1), np.zeros(arms), np.full(arms, math.nan), np.zeros((arms + 1, features)), inverse,
            np.zeros((arms + 1, 2, features)), np.zeros((arms + 1, 2, features)), np.zeros((2, 2)), np.zeros(5),
            np.array([own]), np.zeros((features, 2, arms)), np.zeros((2, arms)), np.zeros((features, RECENT)),
            np.zeros((2, arms, RECENT)), np.zeros(features), np.zeros(3, np.int64),
        )  # fmt: skip
        for arm, cost in enumerate(told):
            memory.know_cost(arm, cost)
        return memory

    def arrive(self, features: Vector) -> None:
        """A request is to be served: what is observed and chosen next is for it, unless it says otherwise."""
        place = self.marks[ARRIVED] % RECENT
        self.marks[ARRIVED] += 1
        mean = self.centres[len(self.told)]
        for j in range(len(features)):
            self.current[j] = self.recent[j, place] = features[j]
            mean[j] += (features[j] - mean[j]) / self.marks[ARRIVED]
        values = self.levels + combined(self.lines, features)
        for arm in range(len(self.told)):
            self.expected[REWARD, arm, place] = values[REWARD, arm]
            self.expected[COST, arm, place] = max(values[COST, arm], self.least[arm])

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of an arm, for the request that arrived last."""
        learn(self, self.current, arm, cost, reward)

    def observe_with(self, features: Vector, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of an arm, for a request with these features."""
        learn(self, features, arm, cost, reward)

    def belief(self, arm: int) -> Belief:
        """What is known of an arm, whatever the request."""
        return belief_of(self.stats, arm)

    def full(self) -> bool:
        """Never: it takes the same room whatever the number of pulls."""
        return False

    def add_expected(self, arm: int, count: int, cost: float, reward: float) -> None:
        """Take in `count` pulls under way: they change no regression."""
        take_in_many(self.stats, arm, count, cost, reward)

    def know_cost(self, arm: int, cost: float) -> None:
        """Take it for the arm's mean cost over all requests, whatever its samples say."""
        self.told[arm] = cost
        draw_line(self, arm)

    def with_new_arm(self) -> "LinearMoments":
        """The same with one more arm."""
        arms, features = len(self.told), len(self.current)
        blank = LinearMoments.empty(1, features, own=float(self.penalty[0]))
        rows = {
            name: np.insert(getattr(self, name), arms, getattr(blank, name)[0], axis=0)
            for name in ("stats", "least", "told", "centres", "inverse", "sums", "slopes")
        }
        columns = {
            name: np.insert(getattr(self, name), arms, np.take(getattr(blank, name), 0, axis), axis)
            for name, axis in (("lines", 2), ("levels", 1), ("expected", 1))
        }
        wider = deepcopy(self._replace(**rows, **columns))
        draw_line(wider, arms)
        return wider


def combined(parts: Any, weights: Vector) -> Any:
    """Σ weight·part, one after another: the product of a symmetric matrix with a vector, and the like.

    >>> combined(np.array([[1.0, 2.0], [2.0, 5.0]]), np.array([10.0, 1.0])).tolist()
    [12.0, 25.0]
    """
    total = parts[0] * weights[0]
    for j in range(1, len(weights)):
        total += parts[j] * weights[j]
    return total


def product(one: Vector, other: Vector) -> float:
    """The inner product, summed from the first."""
    return float(np.cumsum(one * other)[-1])


def learn(memory: LinearMoments, features: Vector, arm: int, cost: float, reward: float) -> None:
    """Take in one sample, and find what it changes."""
    arms, before = len(memory.told), belief_of(memory.stats, arm)
    take_in(memory.stats, arm, cost, reward)
    take_in(memory.stats, arms, cost, reward)
    away, weight = features - memory.centres[arm], before.pulls / (before.pulls + 1.0)
    memory.centres[arm] += away * (1.0 - weight)
    least = memory.least[arm]
    memory.least[arm] = cost if before.pulls == 0 else min(memory.least[arm], cost)
    memory.noise[LARGEST] = reward if memory.stats[arms, PULLS] == 1.0 else max(memory.noise[LARGEST], reward)
    if before.pulls > 0:
        foreseen = memory.levels[COST, arm] + product(memory.lines[:, COST, arm], features)
        memory.noise[FORESEEN] += max(foreseen, least)
        memory.noise[PAID] += cost
        scale = cost_scale(memory, arm)
        judge(memory, arm, away, reward - before.mean_reward, REWARD, weight)
        judge(memory, arm, away, (cost - before.mean_cost) / scale, COST, weight)
        for row in (arm, arms):
            narrow(memory.inverse[row], away, weight)
            memory.sums[row, REWARD] += weight * (reward - before.mean_reward) * away
        memory.sums[arm, COST] += weight * (cost - before.mean_cost) * away
        memory.sums[arms, COST] += weight * (cost - before.mean_cost) / scale * away
        for side in range(2):
            memory.slopes[arms, side, :] = combined(memory.inverse[arms], memory.sums[arms, side])
    find_slopes(memory, arm)
    memory.marks[TURN] = (memory.marks[TURN] + 1) % arms
    if memory.marks[TURN] != arm:
        find_slopes(memory, memory.marks[TURN])


def judge(memory: LinearMoments, arm: int, away: Vector, gain: float, side: int, weight: float) -> None:
    """Compare what came, less the arm's mean, with what the slopes had guessed."""
    surprise = gain - product(memory.slopes[len(memory.told), side], away)
    guess = product(memory.slopes[arm, side], away)
    if side == REWARD:
        error = surprise - trusted(memory, side) * guess
        memory.noise[ERRORS] += weight * error * error
        memory.noise[GUESSES] += 1.0
    memory.trust[side, GUESSED] += guess * guess
    memory.trust[side, CAME] += guess * surprise


def trusted(memory: LinearMoments, side: int) -> float:
    """How far deviations count, from 0 to 1."""
    if memory.trust[side, GUESSED] > 0.0:
        return min(1.0, max(0.0, 2.0 * float(memory.trust[side, CAME] / memory.trust[side, GUESSED])))
    return 0.0


def narrow(inverse: Array, away: Vector, weight: float) -> None:
    """The inverse after weight·(away awayᵀ) was added to the matrix (Sherman and Morrison)."""
    moved = combined(inverse, away)
    inverse -= weight / (1.0 + weight * product(away, moved)) * moved.reshape(len(away), 1) * moved


def cost_scale(memory: LinearMoments, arm: int) -> float:
    """What common slopes of costs are shares of: the arm's mean cost, or 1 where that is not above 0."""
    mean = mean_cost(memory, arm)
    return mean if mean > 0.0 else 1.0


def mean_cost(memory: LinearMoments, arm: int) -> float:
    """The arm's mean cost, as told or so far."""
    return belief_of(memory.stats, arm).mean_cost if math.isnan(memory.told[arm]) else float(memory.told[arm])


def find_slopes(memory: LinearMoments, arm: int) -> None:
    """An arm's deviations from the common slopes of now: its slopes are (S + P)⁻¹(s + P·common), less these."""
    arms = len(memory.told)
    for side in range(2):
        common = memory.slopes[arms, side] * (cost_scale(memory, arm) if side == COST else 1.0)
        slopes = combined(memory.inverse[arm], memory.sums[arm, side] + memory.penalty[0] * common)
        memory.slopes[arm, side, :] = (slopes - common) / (cost_scale(memory, arm) if side == COST else 1.0)
    draw_line(memory, arm)


def dearer(memory: LinearMoments) -> float:
    """By how much pulls have cost more than was expected of them, at least 1.

    Arms are named where they seem cheap, so that their costs are taken for less than they are, as a rule.
    """
    foreseen = memory.noise[FORESEEN]
    return max(1.0, float(memory.noise[PAID] / foreseen)) if foreseen > 0.0 else 1.0


def uncertainty(memory: LinearMoments, arm: int) -> float:
    """√q, how far off an arm's expected reward may be for the request that is to be served, in units of the noise.

    q = 1/T + zᵀ(S + P)⁻¹z, z the request less the mean of the arm's, S their squares and products, P the penalty.
    """
    away = memory.current - memory.centres[arm]
    return math.sqrt(1.0 / memory.stats[arm, PULLS] + product(away, combined(memory.inverse[arm], away)))


def draw_line(memory: LinearMoments, arm: int) -> None:
    """What the arm is expected to bring, by its slopes, for any request and for the last ones."""
    arms = len(memory.told)
    means = (belief_of(memory.stats, arm).mean_reward, mean_cost(memory, arm))
    for side in range(2):
        told = side == COST and not math.isnan(memory.told[arm])
        slopes = memory.slopes[arms, side] + trusted(memory, side) * memory.slopes[arm, side]
        if side == COST:
            slopes = slopes * cost_scale(memory, arm)
        memory.lines[:, side, arm] = slopes
        memory.levels[side, arm] = means[side] - product(slopes, memory.centres[arms if told else arm])
        memory.expected[side, arm, :] = memory.levels[side, arm] + combined(memory.recent, slopes)
    memory.expected[COST, arm, :] = np.maximum(memory.expected[COST, arm], memory.least[arm])
