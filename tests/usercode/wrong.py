"""Twenty-four policies and laws, each with one mistake; a comment marks its line, if that is told."""

import math
import statistics
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


class ReturnsPair(NamedTuple):
    width: float = 1.0

    def score(self, belief: Any, log_n: float) -> Any:
        return belief.mean_reward, belief.mean_cost


class Misspells(NamedTuple):
    width: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        return float(belief.mean_cots)  # here


class ForgetsImport(NamedTuple):
    width: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        return float(nump.inf)  # type: ignore[name-defined] # noqa: F821 # here


class TakesTooFew(NamedTuple):
    width: float = 1.0

    def score(self, belief: Any) -> float:  # here
        return 1.0


class TakesTooMany(NamedTuple):
    width: float = 1.0

    def sample(self, belief: Any, log_n: float, rng: Any, more: Any) -> float:  # here
        return 1.0


class OverTheEnd(NamedTuple):
    weights: tuple[float, float] = (1.0, 2.0)

    def score(self, belief: Any, log_n: float) -> float:
        return self.weights[belief.arm + 2]  # here


class SamplesNothing(NamedTuple):
    width: float = 1.0

    def sample(self, belief: Any, log_n: float, rng: Any) -> Any:
        return None


class SamplesArray(NamedTuple):
    width: float = 1.0

    def sample(self, belief: Any, log_n: float, rng: Any) -> Any:
        return rng.normal(size=3)


class ChoosesHalf(NamedTuple):
    width: float = 1.0

    def choose(self, memory: Any, now: Any, rng: Any) -> Any:
        return now.pulls / 2


class ChoosesBeyond(NamedTuple):
    width: float = 1.0

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return 7


class ChoosesByName(NamedTuple):
    width: float = 1.0

    def choose(self, memory: Any, now: Any, rng: Any) -> Any:
        return "arm 0"


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


class FailsElsewhere(NamedTuple):
    width: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        return float(statistics.mean([None, belief.pulls]))  # here


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


class DrawsThree(Fair):
    def draw(self, rng: Any) -> Any:
        return 1.0, 2.0, 3.0


class DrawsText(Fair):
    def draw(self, rng: Any) -> Any:
        return 1.0, "much"


class DrawsNan(Fair):
    def draw(self, rng: Any) -> Any:
        return 1.0, math.nan


class DrawsArray(Fair):
    def draw(self, rng: Any) -> Any:
        return rng.normal(size=2)


class DrawsWithoutGenerator(Fair):
    def draw(self) -> Any:  # type: ignore[override] # here
        return 1.0, 1.0


class DrawsUnknown(Fair):
    def draw(self, rng: Any) -> Any:
        return 1.0, rng.standard_norml()  # here


class MomentsDivide(Fair):
    def moments(self) -> Any:
        return 1.0 / (self.chance - self.chance), 0.5, 0.0, 0.25, 0.0  # here
