"""Names for what numba hands around. Its package is not typed: to a type checker each of these is anything."""

from typing import Any

NumbaType = Any  # one of numba.types: what an argument is, while code is compiled
Emitter = Any  # numba's contexts and builders, which write LLVM's code
Found = Any  # what an overload answers with: a function, or None for "not mine"
FieldTuple = Any  # a tuple with named fields, whatever its class: compiled code is made for that class
