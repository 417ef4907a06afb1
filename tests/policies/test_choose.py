"""The argmax and its ties, interpreted and compiled; the policies that look at no score."""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tests.beliefs.compiled import compiled

from outlay.beliefs import Belief, Lead, Moments, SequentialMoments
from outlay.engine.jit.numba_types import register
from outlay.formulas.argmax import best_of_opened
from outlay.formulas.lazy_leader import LeaderBounds, forget_leader_bounds, lazy_best_of_opened
from outlay.policies import best_by_sample, best_by_score
from outlay.usercode import Reach

INF, NAN = math.inf, math.nan
for helper in Reach(Moments).functions:  # as the engine does before it compiles anything with this memory
    register(helper)


class Listed(NamedTuple):
    scores: NDArray[np.float64]

    def score(self, belief: Belief, log_n: float) -> float:
        return float(self.scores[belief.arm])


class Shaken(NamedTuple):
    spread: float

    def sample(self, belief: Belief, log_n: float, rng: np.random.Generator) -> float:
        return self.spread * rng.standard_normal() + belief.arm


class Offered(NamedTuple):
    """The excess of each open arm read from a list, and that of a fresh one."""

    values: tuple[float, ...]
    wanted: float

    def excess(self, belief: Belief, low: Lead, high: Lead) -> float:
        return self.values[belief.arm]

    def excess_of_new_arm(self, low: Lead, high: Lead) -> float:
        return self.wanted


def best(scores: list[float], pulls: list[int], function: Any = best_by_score) -> int:
    memory = Moments.empty(len(scores))
    return int(function(Listed(np.array(scores)), memory, np.array(pulls, dtype=np.int64), 1.0))


def test_every_small_case_against_sorting() -> None:
    values = [-INF, 0.0, 1.0, INF, NAN]
    fast = compiled(best_by_score)
    for scores in itertools.product(values, repeat=3):
        for pulls in itertools.product([0, 1], repeat=3):
            clean = [-INF if math.isnan(s) else s for s in scores]
            expected = min(range(3), key=lambda k: (-clean[k], pulls[k], k))
            assert best(list(scores), list(pulls)) == expected
            assert best(list(scores), list(pulls), fast) == expected


def test_samples_are_drawn_in_the_order_of_the_arms() -> None:
    memory, pulls = Moments.empty(4), np.zeros(4, dtype=np.int64)
    one, other, third = (np.random.default_rng(5) for _ in range(3))
    fast = compiled(best_by_sample)
    for _ in range(200):
        expected = int(np.argmax(2.0 * third.standard_normal(4) + np.arange(4)))
        assert best_by_sample(Shaken(2.0), memory, pulls, 1.0, one) == expected
        assert fast(Shaken(2.0), memory, pulls, 1.0, other) == expected


def test_a_fresh_arm_comes_before_others_of_its_excess() -> None:
    """Arm 0 leads, arms 1 and 2 are open, arm 3 is next: every small case against the rule, NaN counting as +∞."""
    memory, pulls = SequentialMoments.empty(4), np.array([1, 1, 1, 0])
    for arm, reward in ((0, 2.0), (1, 1.0), (2, 0.5)):
        memory.observe(arm, 1.0, reward)
    for values in itertools.product([-INF, -1.0, 0.0, 1.0, INF, NAN], repeat=3):
        one, other, wanted = (INF if math.isnan(value) else value for value in values)
        expected = 0
        if wanted <= 0.0 and wanted <= min(one, other):
            expected = 3
        elif min(one, other) <= 0.0:
            expected = 1 if one <= other else 2
        policy, known = Offered((0.0, *values[:2]), values[2]), LeaderBounds.start(4)
        forget_leader_bounds(known)
        assert best_of_opened(policy, memory, pulls) == expected, values
        assert lazy_best_of_opened(policy, memory, pulls, known) == expected, values
