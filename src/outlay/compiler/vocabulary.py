"""What numba must be told once, so that compiled code can call what plain Python calls.

- `x.score(...)`, and every other method of the protocol, on a NamedTuple is the method of that tuple's class.
- Plain helper functions are called as they are (`learn`).
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import overload_method, register_jitable

from outlay.compiler.fingerprint import PROTOCOL
from outlay.compiler.untyped import Found, NumbaType

# 1/0 is inf, as in numpy, and costs no branch; nobody calls these functions from C, and a tenth of compiling is spared.
OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
OWN: set[Callable[..., Any]] = set()  # functions that numba was told of in another way than by `learn`

_learnt: set[Callable[..., Any]] = set()


def learn(function: Callable[..., Any]) -> None:
    """Let compiled code call a plain Python function."""
    if function not in _learnt and function not in OWN:
        _learnt.add(function)
        register_jitable(**OPTIONS)(function)


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
    overload_method(types.BaseTuple, name, strict=False, jit_options=OPTIONS)(finders[arity])


for _name, _arity in PROTOCOL.items():
    _learn_method(_name, _arity)
