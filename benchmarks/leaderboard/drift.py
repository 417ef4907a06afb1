"""Problems whose arms change: those of `benchmarks.drift`, each at the budget that its changes are made for."""

from typing import Any, NamedTuple

from benchmarks.drift import CHANGING, IGNORED, Piece, ours, rivals
from outlay import Problem
from outlay.policies import Wary

KINDS = tuple(f"drift-{kind}" for kind in ("coins", "falls", "rises", "cheaper", "swings", "8", "4"))  # of CHANGING
DRAWN = 10  # problems of a kind, where it has more
RUNS = 200


class Changing(NamedTuple):
    """A problem that changes: what stands on the board where others have one that does not."""

    name: str
    kind: str
    pieces: list[Piece]
    budget: float

    @property
    def group(self) -> str:
        """All of them are counted together."""
        return "drift"

    @property
    def runs(self) -> int:
        """How many to play where nobody asks for another number."""
        return RUNS

    @property
    def arms(self) -> int:
        """How many there are."""
        return len(self.pieces[0][1])

    @property
    def mean_cost(self) -> float:
        """The unit of its budget: money."""
        return 1.0

    @property
    def problem(self) -> Problem:
        """With all its changes."""
        return Problem.changing(self.pieces)

    def players(self) -> dict[str, Any]:
        """Who plays, told how often arms change where that is asked for."""
        told = {**ours(self.pieces, self.budget), **rivals(self.budget, len(self.pieces) - 1)}
        return {"Wary": Wary(), "Thrifty:ignored": IGNORED, **told}


def that_change() -> list[Changing]:
    """Every problem of `benchmarks.drift` that changes; of those that are drawn, the first few."""
    return [
        Changing(f"{kind}:{i}" if len(many) > 1 else kind, kind, pieces, budget)
        for kind, (budget, many) in zip(KINDS, CHANGING.values(), strict=True)
        for i, pieces in enumerate(many[:DRAWN])
    ]
