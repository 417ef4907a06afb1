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
from numba.cuda.cudadecl import registry
from numba.cuda.extending import intrinsic, overload, overload_method, register_jitable
from numba.cuda.typing.templates import AttributeTemplate

from outlay.beliefs import Moments, PooledMoments, SequentialMoments
from outlay.compiler.dispatch import CannotCompile, StandIns, classes_of
from outlay.compiler.fingerprint import PROTOCOL, Reach
from outlay.compiler.reasons import reason_of
from outlay.compiler.untyped import Emitter, Found, NumbaType
from outlay.engine.compiler.vocabulary import row_source
from outlay.engine.compiler.world import law_at
from outlay.engine.gpu import compare, decide, hand, kernel, look, memory, within
from outlay.engine.gpu.random import VERBS, Philox, turn
from outlay.engine.run import among, loop
from outlay.parameters import is_record
from outlay.policies.protocol import policy_kind

Kernel = Any  # what numba.cuda makes
Function = Callable[..., Any]
REGISTERS = 128  # of a lazy thread: with fewer, more is kept in memory; with more, fewer threads are at work (measured)
OPTIONS = {"forceinline": True}  # local arrays become registers only in one function

_lock = threading.RLock()
_kernels: dict[tuple[Any, ...], tuple[Kernel, Reach]] = {}
_learnt: set[Function] = {law_at}


def kernel_for(arguments: tuple[object, ...], lazy: bool, hard: bool = False) -> Kernel:
    """The loop compiled for the classes of these arguments (world, policy, memories, …) and the current device.

    Raises CannotCompile with the reason, in one line, where numba refuses.
    """
    with _lock:
        try:
            reach = Reach(*(cls for thing in arguments[:3] for cls in classes_of(thing)))
            key = (signature(arguments, lambda cls: cls), reach.digest, lazy, hard)
            if key not in _kernels:
                _kernels[key] = _made_for(arguments, lazy, hard, reach), reach
        except CannotCompile:
            raise
        except Exception as error:  # numba fails in many ways on what it does not know
            raise CannotCompile(_why(error)) from error
        return _kernels[key][0]


def _made_for(arguments: tuple[object, ...], lazy: bool, hard: bool, reach: Reach) -> Kernel:
    copies = StandIns(reach)
    for function in copies.functions:
        learn(function)
    play: Function = within.play_within if hard else kernel.play_plainly
    if lazy:
        play = compare.play_comparing if policy_kind(type(arguments[1])).name in look.AT_ONCE_OF else kernel.play_lazily
    registers = (
        REGISTERS if lazy and memory.is_like(type(arguments[2]), Moments, PooledMoments, SequentialMoments) else None
    )
    return _compile(play, signature(arguments, copies.of), registers)


def _compile(play: Function, argument_types: tuple[NumbaType, ...], registers: int | None) -> Kernel:
    return cuda.jit(types.void(*argument_types), max_registers=registers)(play)


def signature(arguments: tuple[object, ...], stand_in: Callable[[type], type]) -> tuple[NumbaType, ...]:
    """The numba types of the arguments; any array, of the host or the device, is one of the device.

    Raises CannotCompile where one holds neither numbers nor arrays of them.
    """

    def type_of(value: Any) -> NumbaType:
        if is_record(value):
            return types.BaseTuple.from_types([type_of(field) for field in value], stand_in(type(value)))
        if isinstance(value, tuple):
            return types.BaseTuple.from_types([type_of(item) for item in value])
        if getattr(value, "ndim", 0) > 0 and np.dtype(value.dtype) in types_of:
            return types.Array(types_of[np.dtype(value.dtype)], value.ndim, "C")
        if isinstance(value, np.uint64):
            return types.uint64
        if isinstance(value, (bool, np.bool_)):
            return types.boolean
        if isinstance(value, (int, np.integer)) and -(2**63) <= value < 2**63:
            return types.int64
        if isinstance(value, (float, np.floating)):
            return types.float64
        kind = f"an array of {value.dtype}" if getattr(value, "ndim", 0) > 0 else repr(value)
        raise CannotCompile(f"a field is {kind}, not a number of 64 bits or an array of such")

    return tuple(map(type_of, arguments))


types_of = {
    np.dtype(name): getattr(types, "boolean" if name == "bool" else name)
    for name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
}


def learn(function: Function) -> None:
    """Let device code call a plain Python function."""
    if function not in _learnt:
        _learnt.add(function)
        register_jitable(**OPTIONS)(function)


def _learn_method(name: str, arguments: str) -> None:
    """Let `x.name(…)` on a tuple be the method of its class; numba reads the signature of what finds the method."""
    space: dict[str, Any] = {}
    source = f"def {name}(self, {arguments}): return getattr(getattr(self, 'instance_class', None), {name!r}, None)"
    exec(source, space)  # noqa: S102
    overload_method(types.BaseTuple, name, strict=False, jit_options=OPTIONS)(space[name])


class _Fields(AttributeTemplate):  # type: ignore[misc]
    """A field comes before a method of the same name."""

    key, metadata = types.NamedTuple, {"target": "cuda"}

    def generic_resolve(self, record: NumbaType, name: str) -> NumbaType:
        return record[record.fields.index(name)] if name in record.fields else None


class _UniFields(_Fields):
    key = types.NamedUniTuple


def _why(error: Exception) -> str:
    """One line for a refusal; a function of numpy's or a verb that the stream does not have is the likeliest."""
    if isinstance(error, KeyError) and isinstance(error.args[0], np.ufunc):
        return f"on a GPU there is no np.{error.args[0].__name__}(), only the functions of math"
    if not isinstance(error, NumbaError):
        return f"{type(error).__name__}: {error}"
    report = str(error)
    missing = re.search(r"Unknown attribute '(\w+)' of type Philox", report)
    if missing:
        return f"on a GPU rng has no {missing[1]}(), only {', '.join(VERBS)}"
    reason = reason_of(report)
    calls = re.findall(r">>> (.*)", report)  # that it could not resolve, the innermost last
    if calls and "nothing helpful" in reason:
        return f"numba knows no {re.sub(r'Philox[(]array[(].*?[)], array[(].*?[)][)]', 'rng', calls[-1])}"
    return reason


def _decide(
    policy: NumbaType, memory: NumbaType, pulls: NumbaType, spent: NumbaType, n: NumbaType, rng: NumbaType  # noqa: ARG001
) -> Found:  # fmt: skip
    return decide.DECIDE[policy_kind(policy.instance_class).name]


def _decide_anew(
    policy: NumbaType, memory: NumbaType, pulls: NumbaType, spent: NumbaType, n: NumbaType,  # noqa: ARG001
    scratch: NumbaType, rng: NumbaType,  # noqa: ARG001
) -> Found:  # fmt: skip
    return within.decide_anew


def _decide_among(
    policy: NumbaType, memory: NumbaType, arms: NumbaType, pulls: NumbaType, totals: NumbaType,  # noqa: ARG001
    spent: NumbaType, n: NumbaType, rng: NumbaType,  # noqa: ARG001
) -> Found:  # fmt: skip
    return among.way_to_decide_among(policy.instance_class)


def _forget(scratch: NumbaType) -> Found:  # noqa: ARG001
    return within.forget_nothing


def _made(expression: str, arguments: str) -> Function:
    space: dict[str, Any] = {"rebuilt": _rebuilt}
    exec(f"def made({arguments}):\n    return {expression}", space)  # noqa: S102
    made: Function = space["made"]
    return made


def _law_at(rows: NumbaType, row: NumbaType) -> Found:  # noqa: ARG001
    return _made(row_source(rows.types[0], "rows.law"), "rows, row")


def _of_run(memories: NumbaType, run: NumbaType) -> Found:  # noqa: ARG001
    def part(path: str, kind: NumbaType) -> str:
        if isinstance(kind, types.Array):
            return f"{path}[{':, ' * (kind.ndim - 1)}run]"
        if not isinstance(kind, types.BaseTuple) or not len(kind):
            return path
        parts = f"({', '.join(part(f'{path}[{i}]', item) for i, item in enumerate(kind))},)"
        return f"rebuilt({path}, {parts})" if isinstance(kind, types.BaseNamedTuple) else parts

    return _made(part("memories", memories), "memories, run")


def _of_row(memory: NumbaType, row: NumbaType) -> Found:  # noqa: ARG001
    return lambda memory, row: _rebuilt(memory, (row,))


def _of_arm(belief: NumbaType, arm: NumbaType) -> Found:  # noqa: ARG001
    rest = ", ".join(f"belief[{i}]" for i in range(1, len(belief.types)))
    return _made(f"rebuilt(belief, (arm, {rest}))", "belief, arm")


@intrinsic  # type: ignore[untyped-decorator]
def _rebuilt(_context: Emitter, like: NumbaType, values: NumbaType) -> Found:
    """A tuple of the class of `like`, with these values."""

    def codegen(context: Emitter, builder: Emitter, signature: NumbaType, arguments: Emitter) -> Emitter:
        return context.make_tuple(builder, signature.return_type, cgutils.unpack_tuple(builder, arguments[1]))

    return types.BaseTuple.from_types(list(values.types), like.instance_class)(like, values), codegen


def _of_hand(memory: NumbaType, hand: NumbaType, leader: NumbaType) -> Found:  # noqa: ARG001
    fields = "hand.rows, hand.extremes, memory.pairs[leader : leader + 1]"
    if hasattr(memory.instance_class, "unopened"):
        fields = "hand.rows, hand.extremes, hand.usual, memory.order, memory.place, memory.marks"
    return _made(f"rebuilt(memory, ({fields}))", "memory, hand, leader")


def _by_memory(held: Function, there: Function, ours: type) -> Callable[..., Function]:
    return lambda mine, *_: held if memory.is_like(mine.instance_class, ours) else there


def _at_once(policy: NumbaType, memory: NumbaType, pulls: NumbaType, n: NumbaType, rng: NumbaType) -> Found:  # noqa: ARG001
    return look.AT_ONCE_OF[policy_kind(policy.instance_class).name]


def _excess_of_fresh(policy: NumbaType, *_: NumbaType) -> Found:
    return look.excess_of_fresh if hasattr(policy.instance_class, "excess_of_new_arm") else look.none_is_fresh


def _next_to_open(memory: NumbaType) -> Found:
    return look.next_to_open if hasattr(memory.instance_class, "unopened") else look.none_to_open


def _turns(half_turns: NumbaType) -> Found:  # noqa: ARG001
    return _turn


def _turn(half_turns: float) -> tuple[float, float]:
    sine, cosine = libdevice.sincospi(half_turns)
    return cosine, sine


registry.register_attr(_Fields)
registry.register_attr(_UniFields)
for _name, _arity in PROTOCOL.items():
    _learn_method(_name, ", ".join("abcd"[:_arity]))
for _name in VERBS:
    _learn_method(_name, ", ".join(map(str, [*inspect.signature(getattr(Philox, _name)).parameters.values()][1:])))
overload(decide.decide, strict=False, jit_options=OPTIONS)(_decide)
overload(loop.decide, strict=False, jit_options=OPTIONS)(_decide_anew)
overload(loop.forget, strict=False, jit_options=OPTIONS)(_forget)
overload(among.decide_among, strict=False, jit_options=OPTIONS)(_decide_among)
overload(law_at, strict=False, jit_options=OPTIONS)(_law_at)
overload(memory.of_run, strict=False, jit_options=OPTIONS)(_of_run)
overload(memory.of_row, strict=False, jit_options=OPTIONS)(_of_row)
overload(memory.of_arm, strict=False, jit_options=OPTIONS)(_of_arm)
overload(turn, strict=False, jit_options=OPTIONS)(_turns)
overload(hand.of_hand, strict=False, jit_options=OPTIONS)(_of_hand)
overload(look.at_once, strict=False, jit_options=OPTIONS)(_at_once)
overload(look.excess_of_fresh, strict=False, jit_options=OPTIONS)(_excess_of_fresh)
overload(look.next_to_open, strict=False, jit_options=OPTIONS)(_next_to_open)
for _held, _there, _ours in (
    (memory.pick_up, memory.leave, Moments),
    (memory.put_down, memory.leave, Moments),
    (memory.take_in, memory.take_in_there, Moments),
    (memory.known_of, memory.known_of_there, Moments),
    (hand.take_usual, hand.nothing_usual, SequentialMoments),
    (hand.put_back_usual, hand.nothing_usual, SequentialMoments),
):
    overload(_held, strict=False, jit_options=OPTIONS)(_by_memory(_held, _there, _ours))
    _learnt.add(_held)
_learnt |= {decide.decide, memory.of_run, memory.of_row, memory.of_arm, hand.of_hand, turn}
_learnt |= {loop.decide, loop.forget, among.decide_among}
_learnt |= {look.at_once, look.excess_of_fresh, look.next_to_open}
for _function in Reach(
    kernel.play_plainly, kernel.play_lazily, compare.play_comparing, within.play_within, *decide.DECIDE.values(),
    *among.DECIDE_AMONG.values(), *look.AT_ONCE_OF.values(), Philox.standard_normal, Philox.random,
).functions:  # fmt: skip
    learn(_function)
