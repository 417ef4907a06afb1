"""What numba must be told once, so that compiled code can call what plain Python calls.

- `x.score(...)`, and every other method of the protocol, on a NamedTuple is the method of that tuple's class.
- Plain helper functions are called as they are (`learn`).
"""

import types as python
from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import overload_method, register_jitable

from outlay.compiler.fingerprint import PROTOCOL, Reach
from outlay.compiler.parts import PartCompiler
from outlay.compiler.untyped import Found, NumbaType

# 1/0 is inf, as in numpy, and costs no branch; nobody calls these functions from C, and a tenth of compiling is spared.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
WITHIN = {**OPTIONS, "pipeline_class": PartCompiler}  # for what is called from compiled code only
Function = Callable[..., Any]
OWN: set[Function] = set()  # functions that numba was told of in another way than by `learn`

_learnt: set[Function] = set()


def learn(function: Function) -> None:
    """Let compiled code call a plain Python function."""
    if function not in _learnt and function not in OWN:
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
        lambda self, a, b, c, d: method(self),  # noqa: ARG005
    ]
    overload_method(types.BaseTuple, name, strict=False, jit_options=WITHIN)(finders[arity])


def lean(outer: Function, inner: Function) -> tuple[Function, Function]:
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
        learn(function)
    return outer, counting_outer


for _name, _arity in PROTOCOL.items():
    _learn_method(_name, _arity)
