"""What pytest leaves alone: docstrings of files that import numba-cuda, where it is not."""

from importlib.util import find_spec

collect_ignore = (
    [] if find_spec("numba_cuda") else ["src/outlay/engine/gpu/kernel.py", "src/outlay/engine/gpu/device_code.py"]
)
