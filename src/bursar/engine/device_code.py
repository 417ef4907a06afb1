"""What the compiler for GPUs is told, and what it makes: the counterpart of `vocabulary` and `dispatch`.

The same methods of the same classes are compiled, by the same trick. Each compilation is for copies of the classes and
of the functions they reach, which nothing has compiled before: what runs is never older than what is written.
"""

import inspect
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, types
from numba.core.errors import NumbaError
from numba.cuda import cgutils, libdevice
from numba.cuda.extending import intrinsic, overload, overload_method, register_jitable

from bursar.beliefs import Moments
from bursar.engine import device, device_random
from bursar.engine.device_random import VERBS, Stream
from bursar.engine.dispatch import CannotCompile, StandIns, classes_of, reason_of
from bursar.engine.fingerprint import PROTOCOL, Reach
from bursar.engine.records import is_record
from bursar.engine.vocabulary import row_source
from bursar.engine.world import law_at

Kernel = Any
REGISTERS = 128  # of a lazy thread: with fewer, more is kept in memory; with more, fewer threads are at work (measured)
OPTIONS = {"forceinline": True}  # local arrays become registers only in one function

_lock = threading.RLock()
_kernels: dict[tuple[Any, ...], tuple[Kernel, Reach]] = {}
_learnt: set[Any] = {law_at}


def kernel_for(arguments: tuple[Any, ...], lazy: bool, make: "Callable[..., Kernel] | None" = None) -> Kernel:
    """The loop compiled for the classes of these arguments (world, policy, memories, …) and the current device.

    Raises CannotCompile with the reason, in one line, where numba refuses.
    """
    with _lock:
        reach = Reach(*(cls for thing in arguments[:3] for cls in classes_of(thing)))
        key = (signature(arguments, lambda cls: cls), reach.digest, lazy, make)
        if key not in _kernels:
            copies = StandIns(reach)
            for function in copies.functions:
                learn(function)
            play = device.play_lazily if lazy else device.play_plainly
            registers = REGISTERS if lazy and has_moments(type(arguments[2])) else None
            try:
                _kernels[key] = (make or _compile)(play, signature(arguments, copies.of), registers), reach
            except NumbaError as error:
                raise CannotCompile(_why(str(error))) from error
        return _kernels[key][0]


def _compile(play: Any, argument_types: Any, registers: int | None) -> Kernel:
    return cuda.jit(types.void(*argument_types), max_registers=registers)(play)


def signature(arguments: tuple[Any, ...], stand_in: Callable[[Any], Any]) -> tuple[Any, ...]:
    """The numba types of the arguments; any array, of the host or the device, is one of the device."""

    def type_of(value: Any) -> Any:
        if is_record(value):
            return types.BaseTuple.from_types([type_of(field) for field in value], stand_in(type(value)))
        if isinstance(value, tuple):
            return types.BaseTuple.from_types([type_of(item) for item in value])
        if hasattr(value, "dtype") and getattr(value, "ndim", 0) > 0:
            return types.Array(types_of[np.dtype(value.dtype)], value.ndim, "C")
        if isinstance(value, np.uint64):
            return types.uint64
        if isinstance(value, (bool, np.bool_)):
            return types.boolean
        return types.int64 if isinstance(value, (int, np.integer)) else types.float64

    return tuple(map(type_of, arguments))


types_of = {
    np.dtype(name): getattr(types, "boolean" if name == "bool" else name)
    for name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
}


def learn(function: Any) -> None:
    """Let device code call a plain Python function."""
    if function not in _learnt:
        _learnt.add(function)
        register_jitable(**OPTIONS)(function)


def _learn_method(name: str, arguments: str) -> None:
    """Let `x.name(…)` on a tuple be the method of its class; numba reads the signature of what finds the method."""
    space: dict[str, Any] = {}
    source = f"def find(self, {arguments}): return getattr(getattr(self, 'instance_class', None), {name!r}, None)"
    exec(source, space)  # noqa: S102
    overload_method(types.BaseTuple, name, strict=False, jit_options=OPTIONS)(space["find"])


def _why(report: str) -> str:
    """One line for a refusal; a verb that the stream does not have is the likeliest."""
    missing = re.search(r"Unknown attribute '(\w+)' of type Stream", report)
    if missing:
        return f"on a GPU rng has no {missing[1]}(), only {', '.join(VERBS)}"
    return reason_of(report)


def _decide(policy: Any, memory: Any, pulls: Any, spent: Any, n: Any, rng: Any) -> Any:  # noqa: ARG001
    if hasattr(policy.instance_class, "score"):
        return device.decide_by_score
    return device.decide_by_sample if hasattr(policy.instance_class, "sample") else device.decide_by_choose


def _made(expression: str, arguments: str, **names: Any) -> Any:
    space: dict[str, Any] = {"rebuilt": _rebuilt, **names}
    exec(f"def made({arguments}):\n    return {expression}", space)  # noqa: S102
    return space["made"]


def _law_at(rows: Any, place: Any) -> Any:  # noqa: ARG001
    return _made(row_source(rows.types[0], "rows.law"), "rows, place")


def _of_run(memories: Any, run: Any) -> Any:  # noqa: ARG001
    def part(i: int, kind: Any) -> str:
        return f"memories[{i}][{':, ' * (kind.ndim - 1)}run]" if isinstance(kind, types.Array) else f"memories[{i}]"

    return _made(
        f"rebuilt(memories, ({', '.join(map(part, range(len(memories.types)), memories.types))},))", "memories, run"
    )


def _of_row(memory: Any, row: Any) -> Any:  # noqa: ARG001
    return lambda memory, row: _rebuilt(memory, (row,))


def _of_arm(belief: Any, arm: Any) -> Any:  # noqa: ARG001
    rest = ", ".join(f"belief[{i}]" for i in range(1, len(belief.types)))
    return _made(f"rebuilt(belief, (arm, {rest}))", "belief, arm")


@intrinsic  # type: ignore[untyped-decorator]
def _rebuilt(_context: Any, like: Any, values: Any) -> Any:
    """A tuple of the class of `like`, with these values."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_tuple(builder, signature.return_type, cgutils.unpack_tuple(builder, arguments[1]))

    return types.BaseTuple.from_types(list(values.types), like.instance_class)(like, values), codegen


def has_moments(cls: type) -> bool:
    """Whether a memory is `Moments`, or something that differs from it in name alone."""
    ours = [getattr(Moments, name).__code__ for name in ("observe", "belief", "full")]
    theirs = [getattr(getattr(cls, name, None), "__code__", None) for name in ("observe", "belief", "full")]
    return ours == theirs and issubclass(cls, Moments)


def _by_memory(held: Any, there: Any) -> Any:
    return lambda memory, *_: held if has_moments(memory.instance_class) else there


def _turns(half_turns: Any) -> Any:  # noqa: ARG001
    return _turn


def _turn(half_turns: float) -> tuple[float, float]:
    sine, cosine = libdevice.sincospi(half_turns)
    return cosine, sine


for _name, _arity in PROTOCOL.items():
    _learn_method(_name, ", ".join("abc"[:_arity]))
for _name in VERBS:
    _learn_method(_name, ", ".join(map(str, [*inspect.signature(getattr(Stream, _name)).parameters.values()][1:])))
overload(device.decide, strict=False, jit_options=OPTIONS)(_decide)
overload(law_at, strict=False, jit_options=OPTIONS)(_law_at)
overload(device.of_run, strict=False, jit_options=OPTIONS)(_of_run)
overload(device.of_row, strict=False, jit_options=OPTIONS)(_of_row)
overload(device.of_arm, strict=False, jit_options=OPTIONS)(_of_arm)
overload(device_random.turn, strict=False, jit_options=OPTIONS)(_turns)
for _held, _there in (
    (device.pick_up, device.leave),
    (device.put_down, device.leave),
    (device.take_in, device.take_in_there),
    (device.known_of, device.known_of_there),
):
    overload(_held, strict=False, jit_options=OPTIONS)(_by_memory(_held, _there))
    _learnt.add(_held)
_learnt |= {device.decide, device.of_run, device.of_row, device.of_arm, device_random.turn}
for _function in Reach(
    device.play_plainly,
    device.play_lazily,
    device.decide_by_score,
    device.decide_by_sample,
    device.decide_by_choose,
    Stream.standard_normal,
    Stream.random,
).functions:
    learn(_function)
