"""A run's memory on the GPU, and the leader's part of it in registers.

The memories of all runs are one: each array has the run as its last axis. The leader's moments lie in a row of
registers while it leads; other memories stay where they are, and the functions `…_there` serve those. `gpu.code` picks
one of the two when it compiles, by the class of the memory.
"""

from outlay.engine.run.loop import Floats
from outlay.policies.protocol import Belief, Memory, MemoryTuple


def is_like(cls: type, *ours: type) -> bool:
    """Whether a memory is one of these, or something that differs from one in name alone."""

    def code(cls: type) -> list[object]:
        return [getattr(getattr(cls, name, None), "__code__", None) for name in ("observe", "belief", "lead", "full")]

    return any(code(cls) == code(our) and issubclass(cls, our) for our in ours)


def of_run(memories: MemoryTuple, run: int) -> MemoryTuple:
    """A run's part of the memories of all runs; the compiler's version is made from their type in `gpu.code`."""
    raise NotImplementedError("only compiled code holds the memories of many runs in one")


def pick_up(memory: MemoryTuple, row: Floats, arm: int) -> None:
    """Copy an arm's moments into the row."""
    for i in range(8):
        row[0, i] = memory.stats[arm, i]


def put_down(memory: MemoryTuple, row: Floats, arm: int) -> None:
    """Copy them back."""
    for i in range(8):
        memory.stats[arm, i] = row[0, i]


def take_in(memory: MemoryTuple, row: Floats, arm: int, cost: float, reward: float) -> None:  # noqa: ARG001
    """`observe`, on the row."""
    of_row(memory, row).observe(0, cost, reward)


def known_of(memory: MemoryTuple, row: Floats, arm: int) -> Belief:
    """`belief`, from the row."""
    return of_arm(of_row(memory, row).belief(0), arm)


def of_row(memory: MemoryTuple, row: Floats) -> MemoryTuple:
    """A memory of one arm, like another in all else; compiled only."""
    raise NotImplementedError("only compiled code keeps moments in registers")


def of_arm(belief: Belief, arm: int) -> Belief:
    """The same belief about another arm; compiled only."""
    raise NotImplementedError("only compiled code keeps moments in registers")


def leave(memory: MemoryTuple, row: Floats, arm: int) -> None:
    """`pick_up` and `put_down` of a memory that stays where it is: nothing."""


def take_in_there(memory: Memory, row: Floats, arm: int, cost: float, reward: float) -> None:  # noqa: ARG001
    """`take_in` of such a memory."""
    memory.observe(arm, cost, reward)


def known_of_there(memory: Memory, row: Floats, arm: int) -> Belief:  # noqa: ARG001
    """`known_of` of such a memory."""
    return memory.belief(arm)
