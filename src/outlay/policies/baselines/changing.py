"""Rivals for arms that change: they forget what is old, or start an arm anew once a test says that it has changed.

The papers are about rewards in [0, 1], and pulls that all cost the same. Here rewards are divided by their bound, a
score is divided by the arm's mean cost in what is remembered of it, and tests look at rewards alone.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.checks import Vector
from outlay.formulas.argmax import Now
from outlay.formulas.confidence import share
from outlay.parameters import Parameters, integer, number
from outlay.policies.baselines.ucb_rivals import kl_upper

COUNT, COST, REWARD = range(3)  # columns of sums
TOTAL, ABOVE, BELOW = 3, 4, 5  # columns of `Cumulated.stats` beside them: the first rewards, and both sums of CUSUM
OFTEN = 10  # samples from one test of GLR-klUCB to the next, and from one split that it tries to the next
FIRST_ROOM = 64


class Recent(NamedTuple):
    """What is remembered of an arm: the weight of its samples, and their weighted means."""

    arm: int
    pulls: float
    mean_cost: float
    mean_reward: float
    weight: float  # of the samples of all arms


def recent(sums: Vector, arm: int, scale: float) -> Recent:
    """The belief from rows of sums, each in units of `scale`."""
    weight = 0.0
    for k in range(len(sums)):
        weight += float(sums[k, COUNT])
    count = float(sums[arm, COUNT])
    if not count > 0.0:
        return Recent(arm, 0.0, 0.0, 0.0, weight / scale)
    cost, reward = float(sums[arm, COST]), float(sums[arm, REWARD])
    return Recent(arm, count / scale, cost / count, reward / count, weight / scale)


def by_cost(value: float, cost: float) -> float:
    """A value of the reward by the mean cost."""
    return value / cost if cost > 0.0 else math.inf


class Window(NamedTuple):
    """The last pulls of all arms together, and their sums."""

    sums: Vector  # a row per arm
    pulls: Vector  # [place]: arm, cost and reward
    made: NDArray[np.int64]  # [1]

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`, in place of the oldest."""
        sums, pulls, place = self.sums, self.pulls, int(self.made[0]) % len(self.pulls)
        if self.made[0] >= len(pulls):
            old = int(pulls[place, 0])
            sums[old, COUNT] -= 1.0
            sums[old, COST] -= pulls[place, COST]
            sums[old, REWARD] -= pulls[place, REWARD]
        pulls[place, 0], pulls[place, COST], pulls[place, REWARD] = arm, cost, reward
        sums[arm, COUNT] += 1.0
        sums[arm, COST] += cost
        sums[arm, REWARD] += reward
        self.made[0] += 1

    def belief(self, arm: int) -> Recent:
        """What the window says of `arm`."""
        return recent(self.sums, arm, 1.0)

    def full(self) -> bool:
        """Never: the oldest pull makes room."""
        return False


class SWUCB(Parameters):
    """SW-UCB: UCB over the last τ pulls of all arms together.

    With N of them the arm's, X̄ and R̄ its means in the window, n the pulls so far and M the bound of rewards:

        score = (R̄ + M·√(ξ·ln min(n, τ)/N))/X̄      ∞ while N = 0

    Args:
        window: τ; the paper's choice for C changes in n pulls is 2·√(n·ln n/C).
        xi: ξ, above ½ in the paper.
        reward_bound: rewards lie in [0, reward_bound].

    >>> memory = SWUCB(window=2).memory(arms=1)
    >>> for reward in (1.0, 0.0, 0.0):
    ...     memory.observe(0, 2.0, reward)
    >>> memory.belief(0)
    Recent(arm=0, pulls=2.0, mean_cost=2.0, mean_reward=0.0, weight=2.0)

    Reference: Garivier, Moulines, "On upper-confidence bound policies for switching bandit problems", ALT 2011.
    """

    window: int = integer(default=500, at_least=1)
    xi: float = number(default=0.6, above=0)
    reward_bound: float = number(default=1.0, above=0)

    def memory(self, arms: int) -> Window:
        """Room for the window."""
        return Window(np.zeros((arms, 3)), np.zeros((self.window, 3)), np.zeros(1, np.int64))

    def score(self, belief: Recent, log_n: float) -> float:
        """Upper bound of the arm's rate in the window, log_n = ln(pulls so far)."""
        if belief.pulls == 0:
            return math.inf
        level = self.xi * min(log_n, math.log(self.window)) / belief.pulls
        return by_cost(belief.mean_reward + self.reward_bound * math.sqrt(max(0.0, level)), belief.mean_cost)


class Discounted(NamedTuple):
    """Sums in which every pull counts γ times as much as the next one, of whatever arm."""

    sums: Vector  # a row per arm, in units of `units[0]`, what the next pull counts
    units: Vector  # that, and γ

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`: instead of making all others smaller, count it for more."""
        sums, units = self.sums, self.units
        units[0] /= units[1]
        if units[0] > 1e100:
            for k in range(len(sums)):
                for column in range(3):
                    sums[k, column] /= units[0]
            units[0] = 1.0
        sums[arm, COUNT] += units[0]
        sums[arm, COST] += units[0] * cost
        sums[arm, REWARD] += units[0] * reward

    def belief(self, arm: int) -> Recent:
        """What is left of the arm's samples."""
        return recent(self.sums, arm, float(self.units[0]))

    def full(self) -> bool:
        """Never: sums take the same room whatever the number of pulls."""
        return False


class DiscountedThompson(Parameters):
    """Discounted Thompson sampling: a draw of the mean reward, where every pull counts γ times as much as the next.

    With N the discounted pulls of the arm, X̄ and R̄ its discounted means, and R̄ as a share of the bound:

        score ~ Beta(1 + N·R̄, 1 + N·(1 − R̄))/X̄      ∞ before the first pull

    Args:
        discount: γ.
        reward_bound: rewards lie in [0, reward_bound].

    >>> memory = DiscountedThompson(discount=0.5).memory(arms=1)
    >>> memory.observe(0, 1.0, 1.0)
    >>> memory.observe(0, 1.0, 0.0)
    >>> memory.belief(0).pulls, round(memory.belief(0).mean_reward, 6)
    (1.5, 0.333333)

    Reference: Raj, Kalyani, "Taming non-stationary bandits: a Bayesian approach", arXiv:1707.09727 (2017).
    """

    discount: float = number(default=0.99, above=0, below=1)
    reward_bound: float = number(default=1.0, above=0)

    def memory(self, arms: int) -> Discounted:
        """Discounted sums."""
        return Discounted(np.zeros((arms, 3)), np.array([1.0, self.discount]))

    def sample(self, belief: Recent, log_n: float, rng: np.random.Generator) -> float:  # noqa: ARG002 (time is in N)
        """A draw of the mean reward by the mean cost."""
        if belief.pulls == 0:
            return math.inf
        good = belief.pulls * share(belief.mean_reward, self.reward_bound)
        return by_cost(rng.beta(1.0 + good, 1.0 + max(0.0, belief.pulls - good)), belief.mean_cost)


class Cumulated(NamedTuple):
    """Sums of each arm since it started anew, and the two sums of its CUSUM test."""

    stats: Vector  # a row per arm: count, cost, reward, the first rewards, and both sums of the test
    test: Vector  # how many rewards are the first ones, the drift ε, the threshold h, the bound of rewards

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`; where the test says so, it starts anew."""
        s, (first, drift, threshold, bound) = self.stats, self.test
        s[arm, COUNT] += 1.0
        s[arm, COST] += cost
        s[arm, REWARD] += reward
        if s[arm, COUNT] <= first:
            s[arm, TOTAL] += reward / bound
            return
        step = reward / bound - s[arm, TOTAL] / first
        s[arm, ABOVE] = max(0.0, s[arm, ABOVE] + step - drift)
        s[arm, BELOW] = max(0.0, s[arm, BELOW] - step - drift)
        if s[arm, ABOVE] > threshold or s[arm, BELOW] > threshold:
            for column in range(s.shape[1]):
                s[arm, column] = 0.0

    def belief(self, arm: int) -> Recent:
        """What is known of `arm` since it started anew."""
        return recent(self.stats, arm, 1.0)

    def full(self) -> bool:
        """Never: sums take the same room whatever the number of pulls."""
        return False


class CUSUMUCB(Parameters):
    """CUSUM-UCB: UCB with a test for each arm, which starts anew when that says that its rewards have changed.

    With û the mean of the arm's first M rewards since then, its sums g⁺ and g⁻ grow by R − û − ε and û − R − ε, and are
    never below 0; above h, the arm has changed. With n the sum of all arms' pulls N since they started anew, the arm
    with the largest (R̄ + √(ξ·ln n/N))/X̄ is pulled; with the probability α any other may be.

    Args:
        first: M.
        drift: ε, in units of the bound.
        threshold: h; the paper's choice for C changes in n pulls is ln(n/C).
        explore: α; the paper's choice is √(C·ln(n/C)/n).
        xi: ξ.
        reward_bound: rewards lie in [0, reward_bound].

    >>> memory = CUSUMUCB(first=10, threshold=4.0).memory(arms=1)
    >>> for n in range(20):
    ...     memory.observe(0, 1.0, float(n < 12))
    >>> memory.belief(0).pulls  # the fifth reward of 0 was one too many
    3.0

    Reference: Liu, Lee, Shroff, "A change-detection based framework for piecewise-stationary multi-armed bandit
    problem", AAAI 2018.
    """

    first: int = integer(default=50, at_least=1)
    drift: float = number(default=0.05, at_least=0)
    threshold: float = number(default=7.0, above=0)
    explore: float = number(default=0.05, at_least=0, at_most=1)
    xi: float = number(default=1.0, above=0)
    reward_bound: float = number(default=1.0, above=0)

    def memory(self, arms: int) -> Cumulated:
        """Sums and tests of all arms."""
        return Cumulated(
            np.zeros((arms, 6)), np.array([float(self.first), self.drift, self.threshold, self.reward_bound])
        )

    def choose(self, memory: Cumulated, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (time is in N)
        """Any arm now and then, else the one with the largest score."""
        arms = len(memory.stats)
        explores = rng.random() < self.explore
        best, top = 0, -math.inf
        for arm in range(arms):
            belief = memory.belief(arm)
            if belief.pulls == 0:
                return arm
            radius = self.reward_bound * math.sqrt(self.xi * math.log(max(1.0, belief.weight)) / belief.pulls)
            score = by_cost(belief.mean_reward + radius, belief.mean_cost)
            if score > top:
                best, top = arm, score
        return int(rng.random() * arms) if explores else best


class Prefixes(NamedTuple):
    """Sums of each arm since it started anew, and of its rewards after each sample, for every split in two."""

    sums: Vector  # a row per arm
    prefixes: Vector  # [arm, samples]: the sum of so many rewards, as shares of the bound
    test: Vector  # δ, and the bound of rewards
    since: NDArray[np.int64]  # [arm]: pulls of all arms when it started anew; at the end, pulls so far

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`; where the test says so, it starts anew."""
        sums, prefixes, last = self.sums, self.prefixes, len(self.sums)
        count = int(sums[arm, COUNT]) + 1
        sums[arm, COUNT] = float(count)
        sums[arm, COST] += cost
        sums[arm, REWARD] += reward
        prefixes[arm, count] = prefixes[arm, count - 1] + share(reward, self.test[1])
        self.since[last] += 1
        if count % OFTEN == 0 and glr(prefixes[arm], count) > glr_threshold(count, self.test[0]):
            for column in range(3):
                sums[arm, column] = 0.0
            self.since[arm] = self.since[last]

    def belief(self, arm: int) -> Recent:
        """What is known of `arm` since it started anew."""
        return recent(self.sums, arm, 1.0)

    def full(self) -> bool:
        """Whether there is an arm without room for another sample."""
        most = 0.0
        for arm in range(len(self.sums)):
            most = max(most, float(self.sums[arm, COUNT]))
        return most + 1.0 >= len(self.prefixes[0])

    def enlarged(self) -> "Prefixes":
        """A copy with twice the room."""
        prefixes = np.concatenate([self.prefixes, np.zeros(self.prefixes.shape)], axis=1)
        return Prefixes(self.sums.copy(), prefixes, self.test, self.since.copy())


def glr(prefixes: Vector, count: int) -> float:
    """The largest over splits of s·kl(m₁, m) + (n − s)·kl(m₂, m): m₁ the mean of the first s, m₂ of the rest, m of all.

    >>> round(glr(np.array([0.0] + [float(min(s, 10)) for s in range(1, 21)]), 20), 3)  # ten ones, ten zeros
    13.863
    """
    whole, most = prefixes[count] / count, 0.0
    for s in range(OFTEN, count, OFTEN):
        before, after = prefixes[s] / s, (prefixes[count] - prefixes[s]) / (count - s)
        most = max(most, s * divergence(before, whole) + (count - s) * divergence(after, whole))
    return most


def divergence(p: float, q: float) -> float:
    """kl(p, q) of two coins."""
    p, q = min(max(p, 1e-15), 1.0 - 1e-15), min(max(q, 1e-15), 1.0 - 1e-15)
    return p * math.log(p / q) + (1.0 - p) * math.log((1.0 - p) / (1.0 - q))


def glr_threshold(count: int, error: float) -> float:
    """ln(n^1.5/δ)."""
    return 1.5 * math.log(float(count)) - math.log(error)


class GLRKLUCB(Parameters):
    """GLR-klUCB: KL-UCB with a likelihood-ratio test for each arm, which starts anew when that says it has changed.

    The test looks at every tenth split of the arm's rewards, after every tenth of them, and asks for ln(n^1.5/δ): the
    authors' own settings for speed, and the threshold of their code. With n the pulls of all arms since this one
    started anew, N of them its own, the score is max{q : N·kl(R̄, q) ≤ ln n}/X̄. Of every K/α pulls, K are made in turn.

    Args:
        error: δ; the authors' choice is 1/√n.
        explore: α; their choice for C changes in n pulls is 0.1·√(C·ln n/n).
        reward_bound: rewards lie in [0, reward_bound].

    >>> memory = GLRKLUCB().memory(arms=1)
    >>> for n in range(40):
    ...     memory.observe(0, 1.0, float(n < 20))
    >>> memory.belief(0).pulls  # ten zeros after twenty ones were enough
    10.0

    Reference: Besson, Kaufmann, Maillard, Seznec, "Efficient change-point detection for tackling piecewise-stationary
    bandits", Journal of Machine Learning Research 23 (2022).
    """

    error: float = number(default=0.01, above=0, below=1)
    explore: float = number(default=0.01, above=0, at_most=1)
    reward_bound: float = number(default=1.0, above=0)

    def memory(self, arms: int) -> Prefixes:
        """Prefix sums, with little room at first."""
        test, since = np.array([self.error, self.reward_bound]), np.zeros(arms + 1, np.int64)
        return Prefixes(np.zeros((arms, 3)), np.zeros((arms, FIRST_ROOM)), test, since)

    def choose(self, memory: Prefixes, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (no chance in it)
        """An arm in turn now and then, else the one with the largest score."""
        arms = len(memory.sums)
        turn = now.pulls % int(arms / self.explore)
        best, top = 0, -math.inf
        for arm in range(arms):
            belief = memory.belief(arm)
            if belief.pulls == 0:
                return arm
            level = math.log(max(1.0, float(memory.since[arms] - memory.since[arm]))) / belief.pulls
            score = by_cost(kl_upper(share(belief.mean_reward, self.reward_bound), level), belief.mean_cost)
            if score > top:
                best, top = arm, score
        return turn if turn < arms else best
