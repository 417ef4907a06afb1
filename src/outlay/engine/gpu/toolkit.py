"""numba-cuda: there or not, with a GPU behind it or not, with memory left or not."""

import contextlib
import importlib
import importlib.util
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from outlay.errors import OutlayError

Cuda = Any  # the module numba.cuda, which is not typed, and its arrays on the device


def toolkit() -> Cuda:
    """numba.cuda with a GPU behind it, or one sentence that says what is missing."""
    if importlib.util.find_spec("numba_cuda") is None:
        raise OutlayError("backend='cuda' needs `pip install outlay[cuda]`")
    cuda = imported("numba.cuda")
    if not cuda.is_available():
        raise OutlayError("backend='cuda' needs an NVIDIA GPU with its driver, and none was found on this machine")
    return cuda


def imported(name: str) -> ModuleType:
    """A module that builds on numba-cuda, which reads the name np.row_stack that numpy 2.5 has dropped."""
    names = vars(np)
    missing = "row_stack" not in names
    if missing:
        names["row_stack"] = lambda arrays: np.vstack(arrays)
    try:
        importlib.import_module("numba.cuda.np.arrayobj")
        return importlib.import_module(name)
    finally:
        if missing:
            names.pop("row_stack", None)  # another thread may have been faster


@contextlib.contextmanager
def limited_memory() -> Iterator[None]:
    """One sentence, where the driver has no memory left."""
    try:
        yield
    except Exception as error:
        if "OUT_OF_MEMORY" not in str(error):
            raise
        raise OutlayError("the GPU's memory is full: fewer runs, or backend='threads'") from error
