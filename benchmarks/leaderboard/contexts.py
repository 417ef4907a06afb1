"""Problems whose requests carry features: those of `benchmarks.contexts`, none of which a setting was chosen on."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.contexts import ARMS, FEATURES, PROBLEMS, SEED, players, problem_of
from outlay.arms import ContextualProblem

KINDS = ("linear", "nonlinear", "useless")
REQUESTS = 1_000
RUNS = 25


class Contextual(NamedTuple):
    """A problem whose requests carry features: what stands on the board where others have one whose requests do not."""

    kind: str
    features: int
    number: int

    @property
    def name(self) -> str:
        """Of the problem, after its kind and features."""
        return f"{self.part.replace(' ', ':')}:{self.number}"

    @property
    def part(self) -> str:
        """What it is counted under."""
        return f"{self.kind} {self.features}"

    @property
    def group(self) -> str:
        """All of them are counted together."""
        return "contexts"

    @property
    def runs(self) -> int:
        """How many to play where nobody asks for another number."""
        return RUNS

    @property
    def arms(self) -> int:
        """How many there are."""
        return ARMS

    @property
    def requests(self) -> int:
        """How many each run has."""
        return REQUESTS

    @property
    def problem(self) -> ContextualProblem:
        """The table of its requests."""
        return problem_of(self.kind, self.features, SEED + self.number)

    def budgets(self, per_request: tuple[float, ...]) -> NDArray[np.float64]:
        """In money, for all requests together."""
        return np.array(per_request) * REQUESTS

    def most(self, budget: float) -> float:
        """What the best rule earns that knows all means."""
        return self.problem.attainable(budget, REQUESTS)

    def players(self) -> dict[str, Any]:
        """Who plays: those that look, and one that does not."""
        return players(self.features)


def that_carry_features() -> list[Contextual]:
    """Every kind with every number of features."""
    return [Contextual(kind, d, i) for kind in KINDS for d in FEATURES for i in range(PROBLEMS)]
