"""Rivals that are greedy, explore first or now and then, or draw rates from a posterior (Thompson sampling)."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import Belief, Moments, residual_variance, slope
from outlay.checks import Vector
from outlay.formulas.argmax import Now, precedes
from outlay.formulas.confidence import UnitBounds, best_rate, budget_or_infinity, observed_rate, share
from outlay.parameters import Parameters, derived, number
from outlay.policies.protocol import RisingScore

ROOM = 8  # samples that can wait at first
PULLS, REWARDS, COSTS = range(3)  # columns of `Coins.counts`
TRIES = 64  # draws of a cost that may be ≤ 0 before an arm is pulled to learn more
LEAST = 3  # samples of an arm that make its posterior proper
TINY = 1e-300  # a chi-square that underflowed


class Greedy(RisingScore, Parameters):
    """Pull the arm with the largest R̄/X̄ so far; it locks onto a wrong arm in many runs: the floor for any learner.

    An arm whose mean cost is not positive yet has score ∞.

    >>> Greedy().score(Belief(0, 3, mean_cost=2.0, mean_reward=1.0, var_cost=0.0, var_reward=0.0, cov=0.0), log_n=2.0)
    0.5
    """

    def score(self, belief: Belief, log_n: float) -> float:  # noqa: ARG002 (time does not matter)
        """The arm's observed rate."""
        return observed_rate(belief)


class BGreedy(Parameters):
    """Any of the K arms with probability min(1, explore·K/t) at pull t, else the arm with the largest ΣR/ΣX.

    Every arm is pulled once first. An arm that has cost nothing yet counts as the best.

    Args:
        explore: above 0; larger explores more. The default 1 is the paper's K/t.

    >>> policy, rng = BGreedy(), np.random.default_rng(0)
    >>> [policy.choose(Moments.empty(3), Now(pulls=n, log_n=0.0, spent=0.0), rng) for n in range(3)]
    [0, 1, 2]

    Reference: Xia et al., "Finite budget analysis of multi-armed bandit problems", Neurocomputing 258 (2017).
    """

    explore: float = number(default=1.0, above=0)

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:
        """Return an arm in turn, any arm, or the best."""
        arms = len(memory.stats)
        if now.pulls < arms:
            return now.pulls
        if rng.random() * (now.pulls + 1) < self.explore * arms:
            return int(rng.random() * arms)
        return best_rate(memory)


class RootGreedy(RisingScore, Parameters):
    """Open another arm while fewer than 1 + √n are open, else pull the open arm with the largest R̄/X̄; told nothing.

    For hundreds of arms and few pulls for each. Arms are opened in the order in which they are listed, so arm k, from
    0, may be pulled once k < 1 + √n:

        score = R̄/X̄      ∞ while T = 0 or X̄ ≤ 0, and −∞ while T = 0 and k ≥ 1 + √n

    The order must say nothing about the arms: shuffle them where it might, for the last of K arms is opened after
    (K − 2)² pulls.

    >>> fresh = Belief(arm=2, pulls=0, mean_cost=0.0, mean_reward=0.0, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> [RootGreedy().score(fresh, math.log(n)) for n in (1, 2)]
    [-inf, inf]

    Reference: the count of arms is that of Wang, Audibert, Munos, "Algorithms for infinitely many-armed bandits",
    NeurIPS 2008, for rates that are uniform near the best; pulling the best of them is the folklore of such problems.
    """

    def score(self, belief: Belief, log_n: float) -> float:
        """The arm's observed rate, if it may be pulled yet; log_n = ln(pulls so far)."""
        if belief.pulls == 0 and belief.arm > 1 and not math.log(belief.arm - 1.0) < 0.5 * log_n:
            return -math.inf
        return observed_rate(belief)


class EpsilonFirst(Parameters):
    """Pull the arms in turn until ε·B is spent, then the arm with the largest R̄/X̄.

    The paper solves a knapsack problem with the estimates of the first part, whose costs are known constants; here
    costs are random, the best rate is played, and its estimate goes on learning.

    Args:
        epsilon: the part of the budget for exploring, above 0 and below 1.
        budget: B; `simulate` fills it in. While it is unknown (None) the arms are pulled in turn for ever.

    >>> policy = EpsilonFirst(epsilon=0.1, budget=50.0)
    >>> policy.choose(Moments.empty(3), Now(pulls=7, log_n=1.946, spent=4.5), np.random.default_rng(0))
    1

    Reference: Tran-Thanh et al., "Epsilon-first policies for budget-limited multi-armed bandits", AAAI 2010.
    """

    epsilon: float = number(default=0.1, above=0, below=1)
    budget: float | None = number(default=None, above=0)

    known_budget: float = derived(budget_or_infinity)

    def choose(self, memory: Moments, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (nothing is random)
        """Return the next arm in turn, or the best."""
        arms = len(memory.stats)
        if now.pulls < arms or now.spent < self.epsilon * self.known_budget:
            return now.pulls % arms
        return best_rate(memory)


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


class GaussianThompson(Parameters):
    """The rate of a pair of means drawn from its posterior, cost and reward jointly Gaussian.

    The prior is the limit of normal-inverse-Wishart ones that knows no scale, p(μ, Σ) ∝ |Σ|^(−3/2): nothing has to be
    told, and other units of cost or reward change no choice. After T samples with means x̄ and biased covariance Ŝ the
    means are bivariate Student with T − 2 degrees of freedom,

        μ = x̄ + Ŝ^(1/2)·z/√w,      z two standard normals, w chi-square with T − 2 degrees

    so every arm is pulled three times first. Mean costs are known to be positive: a draw with a cost ≤ 0 is made anew
    (64 times; then the score is ∞), which is the posterior given that.

    >>> belief = Belief(0, pulls=9, mean_cost=2.0, mean_reward=1.0, var_cost=0.0, var_reward=0.0, cov=0.0)
    >>> GaussianThompson().sample(belief, 2.0, np.random.default_rng(0))
    0.5

    Reference: W. R. Thompson, "On the likelihood that one unknown probability exceeds another", Biometrika 25 (1933);
    for the posterior, Gelman et al., "Bayesian Data Analysis", the multivariate normal with Jeffreys' prior.
    """

    def sample(self, belief: Belief, log_n: float, rng: np.random.Generator) -> float:  # noqa: ARG002
        """A rate from the arm's posterior."""
        if belief.pulls < LEAST:
            return math.inf
        cost_sd, own_sd = math.sqrt(belief.var_cost), math.sqrt(residual_variance(belief))
        for _ in range(TRIES):
            spread = 1.0 / math.sqrt(max(TINY, 2.0 * rng.standard_gamma(0.5 * (belief.pulls - 2))))
            z = cost_sd * rng.standard_normal()
            cost = belief.mean_cost + spread * z
            reward = belief.mean_reward + spread * (slope(belief) * z + own_sd * rng.standard_normal())
            if cost > 0.0:
                rate = reward / cost
                return math.inf if math.isnan(rate) else rate
        return math.inf
