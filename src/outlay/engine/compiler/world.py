"""The arms of a problem as one value that the compiled loop can draw from.

Compilation must depend on types only, never on how many arms there are. So arms of one law are the rows of a table
(`Rows`), a mix of laws composes such tables (`Split`, nested), and `World` finds an arm's row in them.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outlay.arms.law import AnyLaw
from outlay.compiler.records import Shape, coerced, described, shape
from outlay.compiler.untyped import FieldTuple
from outlay.engine.run.loop import Drawing
from outlay.parameters import is_record


class Laws(NamedTuple):
    """The arms as they are: the interpreter's world, and the slow twin of `World`."""

    laws: tuple[AnyLaw, ...]

    def pull(self, arm: int, rng: Drawing) -> tuple[float, float]:
        """Draw an arm's cost and reward."""
        cost, reward = self.laws[arm].draw(rng)
        return cost, reward


class Rows(NamedTuple):
    """Arms of one law: its numbers are a row of a table, its arrays a stretch of longer ones."""

    law: AnyLaw  # one of them, for its type
    numbers: NDArray[np.float64]  # [arm, number]
    arrays: tuple[NDArray[np.float64], ...]  # each array field of all arms, end to end
    starts: NDArray[np.int64]  # [arm + 1, array]: arm i's stretch is starts[i] to starts[i + 1]

    def pull(self, row: int, rng: Drawing) -> tuple[float, float]:
        """Draw from the law in a row."""
        return law_at(self, row).draw(rng)


class Split(NamedTuple):
    """Rows below `cut` on the left, the others on the right."""

    left: Rows
    right: "Rows | Split"
    cut: int

    def pull(self, row: int, rng: Drawing) -> tuple[float, float]:
        """Draw from whichever side holds the row."""
        if row < self.cut:
            return self.left.pull(row, rng)
        return self.right.pull(row - self.cut, rng)


class World(NamedTuple):
    """The arms, grouped by law, in the problem's order."""

    groups: Rows | Split
    rows: NDArray[np.int64]  # [arm]: its row in the groups, counted through all of them

    def pull(self, arm: int, rng: Drawing) -> tuple[float, float]:
        """Draw an arm's cost and reward."""
        return self.groups.pull(self.rows[arm], rng)


def law_at(rows: Rows, row: int) -> AnyLaw:
    """The law in a row; the compiler's version is made from the law's type in `vocabulary`."""
    raise NotImplementedError("only compiled code reads a table of laws; the interpreter draws from Laws")


def compose(laws: Sequence[AnyLaw]) -> World:
    """Group laws by shape into tables: the world of the compiled loop.

    Raises TypeError where a law has a field that is neither a number, nor an array, nor such a law.
    """
    laws = [coerced(law) for law in laws]
    members: dict[Shape, list[int]] = {}
    for arm, law in enumerate(laws):
        members.setdefault(shape(law), []).append(arm)
    kinds = sorted(members, key=described)  # so that the order of the arms does not matter to the compiler
    rows = np.empty(len(laws), np.int64)
    rows[[arm for kind in kinds for arm in members[kind]]] = np.arange(len(laws))
    tables = [_rows([laws[arm] for arm in members[kind]]) for kind in kinds]
    groups: Rows | Split = tables.pop()
    while tables:
        table = tables.pop()
        groups = Split(table, groups, len(table.numbers))
    return World(groups, rows)


def _rows(laws: list[FieldTuple]) -> Rows:
    parts = [_flat(law) for law in laws]
    arrays = tuple(np.concatenate(stretch) for stretch in zip(*(part[1] for part in parts), strict=True))
    lengths = np.array([[len(array) for array in part[1]] for part in parts], np.int64).reshape(len(laws), len(arrays))
    starts = np.zeros((len(laws) + 1, len(arrays)), np.int64)
    np.cumsum(lengths, axis=0, out=starts[1:])
    return Rows(laws[0], np.array([part[0] for part in parts], np.float64).reshape(len(laws), -1), arrays, starts)


def _flat(law: FieldTuple) -> tuple[list[float], list[NDArray[np.float64]]]:
    """A law's numbers and arrays, nested laws in their place."""
    numbers: list[float] = []
    arrays: list[NDArray[np.float64]] = []
    for value in law:
        if is_record(value):
            inner = _flat(value)
            numbers += inner[0]
            arrays += inner[1]
        elif isinstance(value, np.ndarray) and value.ndim == 1:
            arrays.append(value)
        elif isinstance(value, float) or (isinstance(value, int) and float(value) == value):
            numbers.append(float(value))
        else:
            raise TypeError(f"{type(law).__name__} has a field that is not a number, a 1-D array or a law: {value!r}")
    return numbers, arrays
