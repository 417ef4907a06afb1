"""What numba must be told of the loop, once, on top of `compiler.vocabulary`.

- `decide` and `decide_among` are the variants for the kind of policy.
- `law_at` rebuilds a law from its row of the table, by an expression made from the law's type.
"""

from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, overload

from outlay.compiler.fingerprint import Reach
from outlay.compiler.untyped import Emitter, Found, NumbaType
from outlay.compiler.vocabulary import OWN, WITHIN, lean, learn
from outlay.engine.compiler.world import law_at
from outlay.engine.run import among, hard, loop

OWN.update((law_at, loop.decide, among.decide_among))
PLAY = lean(loop.play, loop.advance)
PLAY_HARD = lean(hard.play_hard, hard.advance_hard)


def _decide(
    policy: NumbaType, memory: NumbaType, pulls: NumbaType, spent: NumbaType, n: NumbaType,  # noqa: ARG001
    scratch: NumbaType, rng: NumbaType,  # noqa: ARG001
) -> Found:  # fmt: skip
    return loop.way_to_decide(policy.instance_class)


def _decide_among(
    policy: NumbaType, memory: NumbaType, arms: NumbaType, pulls: NumbaType, totals: NumbaType,  # noqa: ARG001
    spent: NumbaType, n: NumbaType, rng: NumbaType,  # noqa: ARG001
) -> Found:  # fmt: skip
    return among.way_to_decide_among(policy.instance_class)


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


overload(loop.decide, strict=False, jit_options=WITHIN)(_decide)
overload(among.decide_among, strict=False, jit_options=WITHIN)(_decide_among)
overload(law_at, strict=False, jit_options=WITHIN)(_law_at)
for _function in Reach(loop.forget, loop.begin, *loop.DECIDE.values(), *among.DECIDE_AMONG.values()).functions:
    learn(_function)
