"""BTS: budgeted Thompson sampling with Beta posteriors."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.checks import Vector
from outlay.formulas.choices.choose import Now, precedes
from outlay.formulas.unit import UnitBounds, share

ROOM = 8  # samples that can wait at first
PULLS, REWARDS, COSTS = range(3)  # columns of `Coins.counts`


class CoinBelief(NamedTuple):
    """What an arm's rounded samples say: their number, and how many rewards and costs were ones."""

    arm: int
    pulls: int
    rewards: float
    costs: float


class Coins(NamedTuple):
    """The memory of `BTS`: counts of zeros and ones, and the samples that wait to be rounded at the next choice."""

    counts: Vector  # a row per arm: pulls, rewards and costs that were rounded to one
    waiting: Vector  # a row per sample: arm, cost, reward
    state: NDArray[np.int64]  # how many samples wait

    @staticmethod
    def empty(arms: int) -> "Coins":
        """Make the memory before the first pull."""
        return Coins(np.zeros((arms, 3)), np.zeros((ROOM, 3)), np.zeros(1, dtype=np.int64))

    def enlarged(self) -> "Coins":
        """Copy the content into a memory where twice as many samples can wait."""
        return Coins(self.counts.copy(), np.concatenate([self.waiting, np.zeros_like(self.waiting)]), self.state.copy())

    def observe(self, arm: int, cost: float, reward: float) -> None:
        """Take in one sample of `arm`."""
        row = int(self.state[0])
        self.waiting[row, 0] = arm
        self.waiting[row, 1] = cost
        self.waiting[row, 2] = reward
        self.state[0] = row + 1

    def belief(self, arm: int) -> CoinBelief:
        """What is known of `arm`, without the samples that wait."""
        counts = self.counts
        return CoinBelief(arm, int(counts[arm, PULLS]), float(counts[arm, REWARDS]), float(counts[arm, COSTS]))

    def full(self) -> bool:
        """Whether there is no room for another sample to wait."""
        return int(self.state[0]) == len(self.waiting)

    def with_new_arm(self) -> "Coins":
        """The same with one more arm."""
        return Coins(np.vstack([self.counts, np.zeros(3)]), self.waiting.copy(), self.state.copy())


class BTS(UnitBounds):
    """BTS: a mean reward over a mean cost, each drawn from its Beta posterior.

    Each sample is divided by its bound and rounded to 1 with a probability equal to this number, else to 0 (0 and 1
    stay as they are; what lies outside counts as the nearer end). With S ones among an arm's T samples, of reward and
    of cost each:

        score = Beta(S_r + 1, T − S_r + 1)/Beta(S_c + 1, T − S_c + 1)      ∞ while T = 0

    The paper's prior does not need a first pull of every arm; here, as with all policies of this package, it is made.

    Args:
        cost_bound, reward_bound: M_X and M_R; costs lie in [0, M_X], rewards in [0, M_R].

    >>> policy, rng = BTS(), np.random.default_rng(0)
    >>> memory = policy.memory(arms=2)
    >>> for _ in range(4):
    ...     memory.observe(0, 1.0, 0.0)
    ...     memory.observe(1, 0.0, 1.0)
    >>> policy.choose(memory, Now(pulls=8, log_n=2.079, spent=4.0), rng), memory.belief(1)
    (1, CoinBelief(arm=1, pulls=4, rewards=4.0, costs=0.0))

    Reference: Xia, Li, Qin, Yu, Liu, "Thompson sampling for budgeted multi-armed bandits", IJCAI 2015.
    """

    def memory(self, arms: int) -> Coins:
        """Counts, and samples that wait."""
        return Coins.empty(arms)

    def settle(self, memory: Coins, rng: np.random.Generator) -> None:
        """Round what waits, so that choosing need not."""
        round_waiting(memory, self.cost_bound, self.reward_bound, rng)

    def choose(self, memory: Coins, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (time does not matter)
        """Round what waits, and return the arm with the largest drawn rate."""
        round_waiting(memory, self.cost_bound, self.reward_bound, rng)
        best, top, least = 0, -math.inf, 0
        for arm in range(len(memory.counts)):
            belief = memory.belief(arm)
            score = math.inf
            if belief.pulls > 0:
                reward = rng.beta(belief.rewards + 1.0, belief.pulls - belief.rewards + 1.0)
                cost = rng.beta(belief.costs + 1.0, belief.pulls - belief.costs + 1.0)
                score = reward / cost if cost > 0.0 else math.inf
            if arm == 0 or precedes(score, belief.pulls, arm, top, least, best):
                best, top, least = arm, score, belief.pulls
        return best


def round_waiting(memory: Coins, cost_bound: float, reward_bound: float, rng: np.random.Generator) -> None:
    """Count the samples that wait, each rounded to 0 or 1."""
    for row in range(int(memory.state[0])):
        arm = int(memory.waiting[row, 0])
        memory.counts[arm, PULLS] += 1.0
        memory.counts[arm, COSTS] += coin(share(float(memory.waiting[row, 1]), cost_bound), rng)
        memory.counts[arm, REWARDS] += coin(share(float(memory.waiting[row, 2]), reward_bound), rng)
    memory.state[0] = 0


def coin(share: float, rng: np.random.Generator) -> float:
    """1 with probability `share`, else 0; no random number is spent where there is no doubt."""
    if share <= 0.0 or share >= 1.0:
        return share
    return 1.0 if rng.random() < share else 0.0
