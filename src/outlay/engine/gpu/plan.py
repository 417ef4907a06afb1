"""What all runs of a task share on a GPU: the world and the policy on the device, and how large a run is."""

import contextlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from outlay.beliefs import PooledMoments, SequentialMoments
from outlay.compiler.records import coerced
from outlay.engine.compiler.world import compose
from outlay.engine.gpu.contest import group_size
from outlay.engine.gpu.look import AT_ONCE_OF
from outlay.engine.gpu.memory import is_like
from outlay.engine.gpu.random import key_of
from outlay.engine.gpu.spare import with_room
from outlay.engine.gpu.toolkit import Cuda, imported
from outlay.engine.task import Task
from outlay.errors import OutlayError
from outlay.policies.protocol import Policy, has, memory_of, policy_kind

ROOM_TO_GROW = 4  # memories that grow are planned with this part of the free memory
MOST_LAZY_PULLS = 2**31 - 2  # beyond which the pulls of a bound do not fit into its 32 bits

DeviceArray = Any  # of numba.cuda


class Plan:
    """What all chunks of a task share: the world and the policy on the device, and how large a run is."""

    def __init__(self, cuda: Cuda, task: Task, lazy: bool = True) -> None:
        self.cuda, self.task = cuda, task
        self.code: Any = imported("outlay.engine.gpu.code")
        self.kernel: Any = imported("outlay.engine.gpu.kernel")
        first = task.memory()()
        self.first = with_room(first) if task.hard else first
        self.lazy = lazy and not task.hard and task.max_pulls <= MOST_LAZY_PULLS and may_be_lazy(task.policy)
        policy = coerced(task.policy)
        if any(array.size == 0 for array in arrays_in(policy)):
            raise OutlayError(refusal(task.label, "it holds an empty array"))
        try:
            self.world, self.policy = self.on_device(compose(task.problem.arms)), self.on_device(policy)
        except (TypeError, ValueError) as error:
            raise OutlayError(refusal(task.label, str(error))) from None
        self.limits = self.on_device(task.limits)
        self.key = np.uint64(key_of(task.seed))

    @property
    def bounds(self) -> int:
        """How many bounds a run keeps: one per arm, and one per group of scores, if it is played lazily."""
        arms = len(self.task.problem)
        groups = math.ceil(arms / int(group_size(arms)))
        return (arms + groups if groups > 1 and not compares(self.task.policy) else arms) if self.lazy else 1

    @property
    def bytes_per_run(self) -> int:
        """What a run takes of the device's memory."""
        _, budgets, arms = self.task.passages.pulls.shape
        held = sum(array.nbytes for array in arrays_in(self.first))
        room = 4 * arms if self.task.hard else 0
        return int(held + 8 * (arms + self.bounds + 4 + 4 + 5 + room + budgets * (arms + 2)))

    @property
    def free_bytes(self) -> int:
        """The device's free memory that a chunk may be planned with: a part of it, where runs need more as they go."""
        context = self.cuda.current_context()
        with contextlib.suppress(AttributeError):  # of another allocator than numba's, which frees late
            context.memory_manager.deallocations.clear()
        free = int(context.get_memory_info()[0])
        return free // ROOM_TO_GROW if has(self.first, "enlarged") else free

    def on_device(self, value: Any) -> Any:
        """The same value with its arrays on the device."""

        def moved(item: Any) -> Any:
            if not isinstance(item, np.ndarray):
                return item
            if item.size == 0:  # it has no address: one number stands for it, and is not read
                item = np.zeros([1] * item.ndim, item.dtype)
            return self.cuda.to_device(np.ascontiguousarray(item))

        return each(moved, value)

    def zeros(self, *shape: int, dtype: DTypeLike = np.float64) -> DeviceArray:
        """Zeros, made on the device."""
        array = self.cuda.device_array(shape, dtype)
        self.cuda.cudadrv.driver.device_memset(array, 0, array.nbytes)
        return array


def may_be_lazy(policy: Policy) -> bool:
    """Whether there is a kernel that need not ask about every arm for it, given room for what that keeps."""
    return policy_kind(type(policy)).name == "lazy score" or compares(policy)


def compares(policy: Policy) -> bool:
    """Whether it compares arms with the leader, by a memory that can be held in hand."""
    return policy_kind(type(policy)).name in AT_ONCE_OF and is_like(
        type(memory_of(policy, 1)), PooledMoments, SequentialMoments
    )


def refusal(label: str, reason: str) -> str:
    """Why a policy cannot be played on a GPU, in one sentence."""
    return f"{label} cannot be compiled for a GPU, backend='threads' can play it: {reason}"


def each(function: Callable[..., Any], *values: Any) -> Any:
    """A value like the first, of tuples in tuples, with `function` of what the values have in each innermost place.

    >>> each(max, (1, (5, 2)), (3, (4, 6)))
    (3, (5, 6))
    """
    if not isinstance(values[0], tuple):
        return function(*values)
    return tuple.__new__(type(values[0]), (each(function, *parts) for parts in zip(*values, strict=True)))


def arrays_in(value: object) -> list[Any]:
    """The arrays of a value of tuples in tuples."""
    if isinstance(value, tuple):
        return [array for item in value for array in arrays_in(item)]
    return [value] if isinstance(value, np.ndarray) else []
