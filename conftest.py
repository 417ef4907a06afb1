"""What pytest leaves alone: docstrings of files that import numba-cuda where it is not, and Alembic's own entry."""

from importlib.util import find_spec

collect_ignore = ["src/outlay/campaign/stores/db/migrations/env.py"]
if not find_spec("numba_cuda"):
    collect_ignore += ["src/outlay/engine/gpu/kernel.py", "src/outlay/engine/gpu/device_code.py"]
