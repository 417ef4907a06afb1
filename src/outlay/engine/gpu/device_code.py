"""What the compiler for GPUs is told, and what it makes: the counterpart of `engine/jit`.

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

from outlay.engine import choose_arm as decide
from outlay.engine.gpu import kernel
from outlay.engine.gpu.philox import VERBS, Philox, turn
from outlay.engine.jit.compile import CannotCompile, ClassCopies, reach_of, reason_of
from outlay.engine.jit.numba_types import Emitter, Found, Function, NumbaType, law_at, made, method_finder, row_source
from outlay.parameters import is_record
from outlay.usercode import PROTOCOL, Reach

Kernel = Any  # what numba.cuda makes
REGISTERS = 128  # of a thread: with fewer, more is kept in memory; with more, fewer threads are at work (measured)
OPTIONS = {"forceinline": True}  # local arrays become registers only in one function

_lock = threading.RLock()
_kernels: dict[tuple[Any, ...], tuple[Kernel, Reach]] = {}
_registered: set[Function] = set()


def kernel_for(arguments: tuple[object, ...], hard: bool) -> Kernel:
    """The loop compiled for the classes of these arguments (world, policy, memories, …) and the current device.

    Raises CannotCompile with the reason, in one line, where numba refuses.
    """
    with _lock:
        try:
            reach = reach_of(arguments[:3])
            key = (signature(arguments, lambda cls: cls), reach.digest, hard)
            if key not in _kernels:
                copies = ClassCopies(reach)
                for function in copies.functions:
                    register(function)
                play = kernel.play_hard if hard else kernel.play
                _kernels[key] = _compile(play, signature(arguments, copies.of)), reach
        except CannotCompile:
            raise
        except Exception as error:  # numba fails in many ways on what it does not know
            raise CannotCompile(_why(error)) from error
        return _kernels[key][0]


def _compile(play: Function, argument_types: tuple[NumbaType, ...]) -> Kernel:
    return cuda.jit(types.void(*argument_types), max_registers=REGISTERS)(play)


def signature(arguments: tuple[object, ...], stand_in: Callable[[type], type]) -> tuple[NumbaType, ...]:
    """The numba types of the arguments; any array, of the host or the device, is one of the device.

    Raises CannotCompile where one holds neither numbers nor arrays of them.
    """

    def type_of(value: Any) -> NumbaType:
        if isinstance(value, tuple):
            cls = [stand_in(type(value))] if is_record(value) else []
            return types.BaseTuple.from_types([type_of(item) for item in value], *cls)
        dtype, axes = np.dtype(getattr(value, "dtype", None) or np.asarray(value).dtype), getattr(value, "ndim", 0)
        if dtype in types_of:
            return types.Array(types_of[dtype], axes, "C") if axes else types_of[dtype]
        kind = f"an array of {dtype}" if axes else repr(value)
        raise CannotCompile(f"a field is {kind}, not a number of 64 bits or an array of such")

    return tuple(map(type_of, arguments))


types_of = {
    np.dtype(name): getattr(types, "boolean" if name == "bool" else name)
    for name in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
}


def register(function: Function) -> None:
    """Let device code call a plain Python function."""
    if function not in _registered:
        _registered.add(function)
        register_jitable(**OPTIONS)(function)


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


def _of_run(memories: NumbaType, run: NumbaType) -> Found:  # noqa: ARG001
    def part(path: str, kind: NumbaType) -> str:
        if isinstance(kind, types.Array):
            return f"{path}[{':, ' * (kind.ndim - 1)}run]"
        if not isinstance(kind, types.BaseTuple) or not len(kind):
            return path
        parts = f"({', '.join(part(f'{path}[{i}]', item) for i, item in enumerate(kind))},)"
        return f"rebuilt({path}, {parts})" if isinstance(kind, types.BaseNamedTuple) else parts

    return made("memories, run", part("memories", memories), _rebuilt)


@intrinsic  # type: ignore[untyped-decorator]
def _rebuilt(_context: Emitter, like: NumbaType, values: NumbaType) -> Found:
    """A tuple of the class of `like`, with these values."""

    def codegen(context: Emitter, builder: Emitter, signature: NumbaType, arguments: Emitter) -> Emitter:
        return context.make_tuple(builder, signature.return_type, cgutils.unpack_tuple(builder, arguments[1]))

    return types.BaseTuple.from_types(list(values.types), like.instance_class)(like, values), codegen


def _turn(half_turns: float) -> tuple[float, float]:
    sine, cosine = libdevice.sincospi(half_turns)
    return cosine, sine


registry.register_attr(_Fields)
registry.register_attr(_UniFields)
for _name, _arguments in (
    *((name, ", ".join("abcd"[:arity])) for name, arity in PROTOCOL.items()),
    *(
        (name, ", ".join(map(str, [*inspect.signature(getattr(Philox, name)).parameters.values()][1:])))
        for name in VERBS
    ),
):
    overload_method(types.BaseTuple, _name, strict=False, jit_options=OPTIONS)(method_finder(_name, _arguments))
for _function, _found in (
    (kernel.decide, lambda policy, *_: kernel.way_to_decide(policy.instance_class)[0]),
    (decide.decide, lambda policy, *_: kernel.way_to_decide(policy.instance_class)[0]),
    (kernel.holds, lambda policy, *_: kernel.way_to_decide(policy.instance_class)[1]),
    (decide.forget, lambda _: kernel.forget),
    (decide.decide_among, lambda policy, *_: decide.way_to_decide_among(policy.instance_class)),
    (law_at, lambda rows, _: made("rows, row", row_source(rows.types[0], "rows.law"), _rebuilt)),
    (kernel.of_run, _of_run),
    (turn, lambda _: _turn),
):
    overload(_function, strict=False, jit_options=OPTIONS)(_found)
    _registered.add(_function)
for _function in Reach(
    kernel.play, kernel.play_hard, *(both for each in kernel.NAMING.values() for both in each),
    *decide.DECIDE_AMONG.values(), Philox.standard_normal, Philox.random,
).functions:  # fmt: skip
    register(_function)
