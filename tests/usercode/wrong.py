"""Policies and laws, each with one mistake; a comment marks its line, if that is told."""

import math
from typing import Any, NamedTuple


class ReturnsText(NamedTuple):
    width: float = 1.0

    def score(self, belief: Any, log_n: float) -> Any:
        if belief.pulls < 9:
            return "high"
        return 1.0


class ReturnsNothing(NamedTuple):
    width: float = 1.0

    def score(self, belief: Any, log_n: float) -> Any:
        belief.mean_reward / 2.0


class Misspells(NamedTuple):
    width: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        return float(belief.mean_cots)  # here


class TakesTooFew(NamedTuple):
    width: float = 1.0

    def score(self, belief: Any) -> float:  # here
        return 1.0


class ChoosesHalf(NamedTuple):
    width: float = 1.0

    def choose(self, memory: Any, now: Any, rng: Any) -> Any:
        return now.pulls / 2


class PhaseOfText(NamedTuple):
    width: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        return 1.0

    def phase(self, log_n: float) -> Any:
        return "late"


def helper(value: float) -> float:
    return value.nothing  # type: ignore[attr-defined, no-any-return]  # here


class AsksHelper(NamedTuple):
    width: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        return helper(log_n)


class Fair(NamedTuple):
    """The base of the laws: all of it is right."""

    chance: float = 0.5

    def draw(self, rng: Any) -> Any:
        return 1.0, 1.0

    def moments(self) -> Any:
        return 1.0, 0.5, 0.0, 0.25, 0.0


class DrawsOne(Fair):
    def draw(self, rng: Any) -> Any:
        return 1.0


class DrawsNan(Fair):
    def draw(self, rng: Any) -> Any:
        return 1.0, math.nan


class DrawsWithoutGenerator(Fair):
    def draw(self) -> Any:  # type: ignore[override] # here
        return 1.0, 1.0


class MomentsDivide(Fair):
    def moments(self) -> Any:
        return 1.0 / (self.chance - self.chance), 0.5, 0.0, 0.25, 0.0  # here
