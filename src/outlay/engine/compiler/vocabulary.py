"""What numba must be told once, so that compiled code can call what plain Python calls.

- `x.score(...)`, and every other method of the protocol, on a NamedTuple is the method of that tuple's class.
- `decide` is the variant for the kind of policy.
- `law_at` rebuilds a law from its row of the table, by an expression made from the law's type.
- Plain helper functions are called as they are (`learn`).
"""

import types as python
from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, overload, overload_method, register_jitable

from outlay.engine import loop
from outlay.engine.compiler.fingerprint import PROTOCOL, Reach
from outlay.engine.compiler.parts import PartCompiler
from outlay.engine.compiler.untyped import Emitter, Found, NumbaType
from outlay.engine.compiler.world import law_at

# 1/0 is inf, as in numpy, and costs no branch; nobody calls these functions from C, and a tenth of compiling is spared.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
WITHIN = {**OPTIONS, "pipeline_class": PartCompiler}  # for what is called from compiled code only

# The same loop for policies that make arrays as they go: copies, since numba knows a function by its identity.
_counting_advance = python.FunctionType(loop.advance.__code__, vars(loop))
counting_play = python.FunctionType(loop.play.__code__, {**vars(loop), "advance": _counting_advance})

_learnt: set[Callable[..., Any]] = {law_at, loop.advance, loop.decide}


def learn(function: Callable[..., Any]) -> None:
    """Let compiled code call a plain Python function."""
    if function not in _learnt:
        _learnt.add(function)
        register_jitable(**WITHIN)(function)


def _learn_method(name: str, arity: int) -> None:
    def method(self: NumbaType) -> Found:
        return getattr(getattr(self, "instance_class", None), name, None)

    # numba reads the signature of the function that finds the method, so it must have the method's arity.
    finders = [
        lambda self: method(self),
        lambda self, a: method(self),  # noqa: ARG005
        lambda self, a, b: method(self),  # noqa: ARG005
        lambda self, a, b, c: method(self),  # noqa: ARG005
    ]
    overload_method(types.BaseTuple, name, strict=False, jit_options=WITHIN)(finders[arity])


def _decide(
    policy: NumbaType, memory: NumbaType, pulls: NumbaType, spent: NumbaType, n: NumbaType,  # noqa: ARG001
    scratch: NumbaType, rng: NumbaType,  # noqa: ARG001
) -> Found:  # fmt: skip
    return loop.way_to_decide(policy.instance_class)


def _law_at(rows: NumbaType, row: NumbaType) -> Found:  # noqa: ARG001
    space: dict[str, Any] = {"rebuilt": _rebuilt}
    exec(f"def law(rows, row):\n    return {row_source(rows.types[0], 'rows.law')}", space)  # noqa: S102
    return space["law"]


@intrinsic  # type: ignore[untyped-decorator]
def _rebuilt(_context: Emitter, like: NumbaType, values: NumbaType) -> Found:
    """A tuple of the type of `like`, with these values; where references are counted, it holds one to each array."""

    def codegen(context: Emitter, builder: Emitter, signature: NumbaType, arguments: Emitter) -> Emitter:
        fields = cgutils.unpack_tuple(builder, arguments[1])
        made = context.make_tuple(builder, signature.return_type, fields)
        return impl_ret_borrowed(context, builder, signature.return_type, made)

    return like(like, values), codegen


def row_source(law: NumbaType, like: str) -> str:
    """The expression that rebuilds a law, nested ones included, from its row."""
    counts = {"number": 0, "array": 0}

    def take(kind: str) -> int:
        counts[kind] += 1
        return counts[kind] - 1

    def rebuilt(law: NumbaType, like: str) -> str:
        fields = ", ".join(field(kind, f"{like}[{i}]") for i, kind in enumerate(law.types))
        return f"rebuilt({like}, ({fields},))"

    def field(kind: NumbaType, like: str) -> str:
        if isinstance(kind, types.BaseNamedTuple):
            return rebuilt(kind, like)
        if isinstance(kind, types.Array):
            i = take("array")
            return f"rows.arrays[{i}][rows.starts[row, {i}]:rows.starts[row + 1, {i}]]"
        number = f"rows.numbers[row, {take('number')}]"
        if isinstance(kind, types.Boolean):
            return f"{number} != 0.0"
        return f"int({number})" if isinstance(kind, types.Integer) else number

    return rebuilt(law, like)


for _name, _arity in PROTOCOL.items():
    _learn_method(_name, _arity)
overload(loop.decide, strict=False, jit_options=WITHIN)(_decide)
overload(law_at, strict=False, jit_options=WITHIN)(_law_at)
# Reference counts on array fields and row views would cost more than the arithmetic: inlined into its caller, which
# counts the references of what Python passed, the loop can do without.
register_jitable(forceinline=True, _nrt=False, **WITHIN)(loop.advance)
register_jitable(**WITHIN)(_counting_advance)
for _function in Reach(loop.forget, loop.begin, *loop.DECIDE.values()).functions:
    learn(_function)
