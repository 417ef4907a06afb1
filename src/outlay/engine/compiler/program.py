"""A policy ready to play on a problem: the loop, compiled or not, with all that it needs."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

from outlay.compiler.records import coerced
from outlay.engine.compiler.world import Laws, compose
from outlay.engine.run.hard import play_hard
from outlay.engine.run.loop import Arms, play
from outlay.engine.run.memories import can_be_packed
from outlay.engine.run.streams import can_open
from outlay.engine.task import Task
from outlay.errors import InterpretedWarning
from outlay.policies.protocol import Memory, Policy


@dataclass(frozen=True)
class Program:
    """What the runs of a task share."""

    play: Callable[..., None]  # `loop.play`, or `hard.play_hard`
    world: Arms
    policy: Policy
    memory: Callable[[], Memory]
    alone: bool  # whether every run needs a generator and a memory that are made for it


def program_of(task: Task) -> Program:
    """Compile the policy for the problem's laws, or have it interpreted, with a warning, where numba refuses."""
    from outlay.compiler.dispatch import CannotCompile
    from outlay.engine.compiler.dispatch import compiled

    memory = task.memory()
    first, second = memory(), memory()
    try:
        world = compose(task.problem.arms)  # a law of the user's may hold anything
        policy = coerced(task.policy)
        alone = not (can_open() and can_be_packed(first, second))
        return Program(compiled(policy, first, world, task.hard), world, policy, memory, alone)
    except Exception as error:  # whatever numba cannot type or compile still runs; what is wrong otherwise fails again
        reason = str(error) if isinstance(error, CannotCompile) else f"{type(error).__name__}: {error}"
        slow = f"{task.label} cannot be compiled and runs interpreted, hundreds of times slower: {reason}"
        if task.warn:
            warnings.warn(slow, InterpretedWarning, stacklevel=5)  # of the caller of simulate
        return interpreted(task)


def interpreted(task: Task) -> Program:
    """The same loop, left to the interpreter."""
    laws = Laws(tuple(task.problem.arms))
    return Program(play_hard if task.hard else play, laws, task.policy, task.memory(), alone=True)
