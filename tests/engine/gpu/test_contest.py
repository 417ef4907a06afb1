"""The contests of the GPU, in the interpreter: at every pull the choice is that of the plain argmax."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from outlay import policies
from outlay.beliefs import Belief, Moments
from outlay.engine.gpu import contest as contests
from outlay.engine.gpu import memory as memories
from outlay.formulas.choices.choose import best_by_score, log_of


class Blank(NamedTuple):
    """A promise, and scores that are no numbers at first."""

    after: int

    def score(self, belief: Belief, log_n: float) -> float:
        return belief.mean_reward + 0.01 * log_n if belief.pulls >= self.after else math.nan

    def phase(self, log_n: float) -> int:
        return 0


class Huge(NamedTuple):
    """A finite score beyond 32 bits; the others' are ∞ all the time."""

    height: float

    def score(self, belief: Belief, log_n: float) -> float:
        return self.height if belief.arm == 0 else math.inf

    def phase(self, log_n: float) -> int:
        return 0


class TestLaziness:
    """Contests of all sizes, with every kind of score."""

    @pytest.mark.parametrize(
        ("arms", "policy", "pulls", "seeds"),
        [
            (100, policies.UCBB1(0.01, 0.01, 0.0), 220, 8),  # groups of arms; bounds run out among scores of ∞
            (12, policies.UCBB1(0.01, 0.01, 0.0), 1000, 2),
            (4, policies.UCBB2(1.5, 1.5), 2500, 1),
            (3, policies.UCBM1(0.0, 1e-6, 0.0), 800, 1),  # phases
        ],
    )
    def test_changes_no_choice(self, monkeypatch, arms, policy, pulls, seeds):
        assert self.scores(monkeypatch, arms, policy, pulls, seeds) < pulls * seeds * arms

    @pytest.mark.parametrize("arms", [1, 2, 17])
    @pytest.mark.parametrize("policy", [Blank(1), Blank(3), Blank(10**6), Huge(1e39), Huge(1e300)], ids=str)
    def test_scores_out_of_the_ordinary(self, monkeypatch, arms, policy):
        self.scores(monkeypatch, arms, policy, 100, 1)

    @staticmethod
    def scores(monkeypatch: Any, arms: int, policy: Any, pulls: int, seeds: int) -> int:
        """How many scores the contests of some runs take."""
        monkeypatch.setattr(contests, "known_of", memories.known_of_there)
        monkeypatch.setattr(contests, "pick_up", memories.leave)
        monkeypatch.setattr(contests, "put_down", memories.leave)
        rewards = np.linspace(0.2, 1.0, arms)
        scored = 0
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            memory: Any = policy.memory(arms) if hasattr(policy, "memory") else Moments.empty(arms)
            groups = -(-arms // contests.group_size(arms))
            size = arms + (groups if groups > 1 else 0)
            bounds, dues, counts = np.zeros(size, np.float32), np.zeros(size, np.int32), np.zeros(arms, np.int64)
            contests.line_up(bounds, dues, arms)
            leader, leads, due, log_then, rival = 0, False, 0, 0.0, 0.0
            for n in range(pulls):
                contest = contests.Contest(leader, counts[leader], 0.0, 0.0, -1, rival, due, log_then, leads)
                while not contest.decided:
                    contest = contests.step(policy, memory, np.zeros((1, 8)), counts, bounds, dues, contest, n)
                    scored += 1
                    assert scored <= pulls * seeds * arms, "no end"
                leader, due, log_then, rival = contest.best, contest.due, contest.log_n, contest.bound
                assert leader == best_by_score(policy, memory, counts, log_of(n)), (seed, n)
                noise = 0.001 if isinstance(policy, policies.UCBM1) else 0.1
                cost, reward = 1.0 + (noise > 0.01) * noise * rng.standard_normal(), rewards[leader]
                memory.observe(leader, cost, reward + noise * rng.standard_normal())
                if memory.full():
                    memory = memory.enlarged()
                counts[leader] += 1
                leads = n + 1 < due and policy.score(memory.belief(leader), log_then) > rival
        return scored
