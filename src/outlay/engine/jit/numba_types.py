"""Parameters, laws and arms as numba needs them, and what it is told once, so that compiled code can call Python's.

Compilation must depend on types only, never on how many arms there are or what a user passed. So each field has one
type (`coerced`), arms of one law are the rows of a table (`LawRows`), a mix of laws composes such tables (`Split`), and
`GroupedLaws` finds an arm's row in them. Numba is told, once:

- `x.score(...)`, and every other method of the protocol, on a NamedTuple is the method of that tuple's class;
- `decide` and `decide_among` are the variants for the kind of policy;
- `law_at` rebuilds a law from its row of the table, by an expression made from the law's type;
- plain helper functions are called as they are (`register`).
"""

import functools
import types as python
import typing
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import _dynfunc, types
from numba.core import cgutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.imputils import impl_ret_borrowed
from numba.core.typed_passes import NativeLowering
from numba.extending import intrinsic, overload, overload_method, register_jitable
from numpy.typing import DTypeLike, NDArray

from outlay.arms.contextual import RequestTable
from outlay.arms.law import AnyLaw
from outlay.engine import choose_arm as decide
from outlay.engine import loop
from outlay.engine.choose_arm import AnyRng
from outlay.parameters import is_record
from outlay.usercode import PROTOCOL, Reach

NumbaType = Any  # one of numba.types: what an argument is, while code is compiled
Emitter = Any  # numba's contexts and builders, which write LLVM's code
Found = Any  # what an overload answers with: a function, or None for "not mine"
FieldTuple = Any  # a tuple with named fields, whatever its class: compiled code is made for that class


Shape = object  # classes, dtypes and layouts, in tuples as the value is


def coerced(record: FieldTuple) -> FieldTuple:
    """The same record with each field as its annotation says: 1 becomes 1.0 for a float, a list an array.

    Numba compiles anew for an int where it saw a float, and for a strided or read-only array: so that compilation
    depends on the classes alone, all of that is settled here. A value that its annotation would change stays as it is.
    """
    cls: Any = type(record)
    if not record:
        return tuple.__new__(_padded(cls), (0.0,))
    hints = _hints(cls)
    return tuple.__new__(
        cls, (_coerced(value, hints.get(name)) for name, value in zip(record._fields, record, strict=True))
    )


def shape(value: FieldTuple) -> Shape:
    """Equal for values that one compilation serves: of one class, with fields of equal types."""
    if is_record(value):
        return type(value), tuple(map(shape, value))
    if isinstance(value, np.ndarray):
        layout = "C" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        return value.dtype, value.ndim, layout, value.flags.writeable, value.flags.aligned
    if type(value) is tuple:
        return tuple(map(shape, value))
    return type(value)


def described(shape: Shape) -> str:
    """A shape as text that another process would write in the same way."""
    if isinstance(shape, tuple):
        return f"({','.join(map(described, shape))})"
    if isinstance(shape, np.dtype):
        return repr(shape.descr)
    return f"{shape.__module__}.{shape.__qualname__}" if isinstance(shape, type) else repr(shape)


def _coerced(value: FieldTuple, hint: object) -> object:
    if is_record(value):
        return coerced(value)
    if hint in (float, int, bool) and isinstance(value, (bool, int, float, np.generic)):
        number = hint(value)
        return number if number == value or value != value else value
    if isinstance(value, np.ndarray) or (typing.get_origin(hint) or hint) is np.ndarray:
        given = np.asarray(value)
        array = np.array(given, dtype=_dtype(hint, given.dtype), order="C")
        return array if np.array_equal(array, given, equal_nan=given.dtype.kind in "fc") else np.array(given, order="C")
    return value


def _dtype(hint: object, default: DTypeLike) -> DTypeLike:
    """The dtype an NDArray[...] annotation names; float64 for a bare array; the array's own without an annotation."""
    if hint is np.ndarray:
        return np.float64
    for argument in typing.get_args(hint):
        inner = typing.get_args(argument)
        if typing.get_origin(argument) is np.dtype and inner and isinstance(inner[0], type):
            return inner[0]
    return default


@functools.cache
def _padded(cls: type) -> type:
    """The same class with a field: numba has no empty tuples."""
    return type(cls.__name__, (cls,), {"__slots__": (), "_fields": ("padding",)})


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError):  # an annotation that cannot be evaluated here says nothing about the type
        return dict(getattr(cls, "__annotations__", {}))


class Laws(NamedTuple):
    """The arms as they are: the interpreter's world, and the slow twin of `GroupedLaws`."""

    laws: tuple[AnyLaw, ...]

    def pull(self, arm: int, rng: AnyRng) -> tuple[float, float]:
        """Draw an arm's cost and reward."""
        cost, reward = self.laws[arm].draw(rng)
        return cost, reward


def plain_world(source: "tuple[AnyLaw, ...] | RequestTable") -> "Laws | RequestTable":
    """The world of the interpreted loop."""
    return source if isinstance(source, RequestTable) else Laws(source)


class LawRows(NamedTuple):
    """Arms of one law: its numbers are a row of a table, its arrays a stretch of longer ones."""

    law: AnyLaw  # one of them, for its type
    numbers: NDArray[np.float64]  # [arm, number]
    arrays: tuple[NDArray[np.float64], ...]  # each array field of all arms, end to end
    starts: NDArray[np.int64]  # [arm + 1, array]: arm i's stretch is starts[i] to starts[i + 1]

    def pull(self, row: int, rng: AnyRng) -> tuple[float, float]:
        """Draw from the law in a row."""
        return law_at(self, row).draw(rng)


class Split(NamedTuple):
    """Rows below `cut` on the left, the others on the right."""

    left: LawRows
    right: "LawRows | Split"
    cut: int

    def pull(self, row: int, rng: AnyRng) -> tuple[float, float]:
        """Draw from whichever side holds the row."""
        if row < self.cut:
            return self.left.pull(row, rng)
        return self.right.pull(row - self.cut, rng)


class GroupedLaws(NamedTuple):
    """The arms, grouped by law, in the problem's order."""

    groups: LawRows | Split
    rows: NDArray[np.int64]  # [arm]: its row in the groups, counted through all of them

    def pull(self, arm: int, rng: AnyRng) -> tuple[float, float]:
        """Draw an arm's cost and reward."""
        return self.groups.pull(self.rows[arm], rng)


def law_at(rows: LawRows, row: int) -> AnyLaw:
    """The law in a row; the compiler's version is made from the law's type."""
    raise NotImplementedError("only compiled code reads a table of laws; the interpreter draws from Laws")


def world_of(source: Sequence[AnyLaw] | RequestTable) -> "GroupedLaws | RequestTable":
    """The world of the compiled loop: a table of requests as it is."""
    return source if isinstance(source, RequestTable) else compose(source)


def compose(laws: Sequence[AnyLaw]) -> GroupedLaws:
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
    groups: LawRows | Split = tables.pop()
    while tables:
        table = tables.pop()
        groups = Split(table, groups, len(table.numbers))
    return GroupedLaws(groups, rows)


def _rows(laws: list[FieldTuple]) -> LawRows:
    parts = [_flat(law) for law in laws]
    arrays = tuple(np.concatenate(stretch) for stretch in zip(*(part[1] for part in parts), strict=True))
    lengths = np.array([[len(array) for array in part[1]] for part in parts], np.int64).reshape(len(laws), len(arrays))
    starts = np.zeros((len(laws) + 1, len(arrays)), np.int64)
    np.cumsum(lengths, axis=0, out=starts[1:])
    return LawRows(laws[0], np.array([part[0] for part in parts], np.float64).reshape(len(laws), -1), arrays, starts)


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


class LinkedFunction(JITCodeLibrary):  # type: ignore[misc]
    """A function that only compiled code calls, and all that it calls: linked into the loop, optimized once with it.

    Left to itself, numba makes every function ready to be called from Python: it links in all that the function calls,
    optimizes the whole and turns it into machine code, though only the outermost loop is ever called so. Its callers
    then do the same again, level by level, until most of the time is spent on copies. Here a function stays the code
    that was written down for it: half of the time, and the same arithmetic.
    """

    whole = False  # whether it is to be made ready as numba does it

    def finalize(self) -> None:
        """Link in what is called, and leave the rest to those who link this."""
        if self.whole:
            super().finalize()
            return
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class LinkedLowering(NativeLowering):  # type: ignore[misc]
    """numba's last pass, which ends with a `LinkedFunction` in place of machine code."""

    _name = "outlay_linked_lowering"

    def run_pass(self, state: Emitter) -> bool:
        """Write the function down, and tell numba where to find it."""
        context, flags = state.targetctx, state.flags
        library = state["library"] = LinkedFunction(context.codegen(), state.func_id.func_qualname)
        library.enable_object_caching()
        flags.no_compile = True
        try:
            super().run_pass(state)
        finally:
            flags.no_compile = False
        function, environment = state.cr.fndesc, state.cr.env
        # Printing and the like need Python objects, at an address that only machine code of the function's own has.
        library.whole = str(library._final_module).count(function.env_name) > 1
        if library.whole:
            key = context.get_executable(library, function, environment)
        else:  # never called; by it callers find the code
            key = _dynfunc.make_function(function.lookup_module(), function.qualname, "", 0, environment, (library,))
        context.insert_user_function(key, function, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = state.cr._replace(cfunc=key)
        return True


class LinkedCompiler(CompilerBase):  # type: ignore[misc]
    """numba's passes, with another last one."""

    def define_pipelines(self) -> list[Emitter]:
        """The one way of compiling: without the interpreter."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(LinkedLowering if kind is NativeLowering else kind, says) for kind, says in passes.passes]
        passes.finalize()
        return [passes]


# 1/0 is inf, as in numpy, and costs no branch; nobody calls these functions from C, and a tenth of compiling is spared.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
WITHIN = {**OPTIONS, "pipeline_class": LinkedCompiler}  # for what is called from compiled code only
Function = Callable[..., Any]
OWN: set[Function] = set()  # functions that numba was told of in another way than by `register`

_registered: set[Function] = set()


def register(function: Function) -> None:
    """Let compiled code call a plain Python function."""
    if function not in _registered and function not in OWN:
        _registered.add(function)
        register_jitable(**WITHIN)(function)


def method_finder(name: str, arguments: str) -> Function:
    """What finds a tuple's method of this name: numba reads its signature, which must be the method's."""
    space: dict[str, Any] = {}
    source = f"def {name}(self, {arguments}): return getattr(getattr(self, 'instance_class', None), {name!r}, None)"
    exec(source, space)  # noqa: S102
    finder: Function = space[name]
    return finder


def without_refcounts(outer: Function, inner: Function) -> tuple[Function, Function]:
    """Two versions of a function that does nothing but call another: without reference counts inside, and with them.

    Reference counts on array fields and row views would cost more than the arithmetic: inlined into its caller, which
    counts the references of what Python passed, a function can do without, unless it makes arrays. The second version
    is a copy, since numba knows a function by its identity.
    """
    counting_inner = python.FunctionType(inner.__code__, inner.__globals__)
    counting_outer = python.FunctionType(outer.__code__, {**outer.__globals__, inner.__name__: counting_inner})
    OWN.update((outer, inner, counting_outer))
    register_jitable(forceinline=True, _nrt=False, **WITHIN)(inner)
    register_jitable(**WITHIN)(counting_inner)
    for function in Reach(inner).functions:
        register(function)
    return outer, counting_outer


OWN.update((law_at, decide.decide, decide.decide_among, loop.next_request, loop.pulled))
PLAY = without_refcounts(loop.play, loop.advance)


def made(arguments: str, expression: str, rebuilt: Emitter) -> Function:
    """A function that is made from the types of what it gets; `rebuilt` makes a tuple of the class of another."""
    space: dict[str, Any] = {"rebuilt": rebuilt}
    exec(f"def made({arguments}):\n    return {expression}", space)  # noqa: S102
    function: Function = space["made"]
    return function


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
    overload_method(types.BaseTuple, _name, strict=False, jit_options=WITHIN)(
        method_finder(_name, ", ".join("abcd"[:_arity]))
    )
for _function, _found in (
    (decide.decide, lambda policy, *_: decide.way_to_decide(policy.instance_class)),
    (decide.decide_among, lambda policy, *_: decide.way_to_decide_among(policy.instance_class)),
    (loop.next_request, lambda world, memory, _: loop.way_to_receive(world.instance_class, memory.instance_class)),
    (loop.pulled, lambda world, *_: loop.way_to_pull(world.instance_class)),
    (law_at, lambda rows, _: made("rows, row", row_source(rows.types[0], "rows.law"), _rebuilt)),
):
    overload(_function, strict=False, jit_options=WITHIN)(_found)
_WAYS = (decide.DECIDE, decide.DECIDE_AMONG, loop.RECEIVE, loop.PULL)
for _function in Reach(loop.begin, *(way for ways in _WAYS for way in ways.values())).functions:
    register(_function)
