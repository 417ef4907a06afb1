"""What pytest leaves alone where numba-cuda is not installed: the docstrings of files that import it."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("numba_cuda") else ["src/bursar/engine/device.py", "src/bursar/engine/device_code.py"]
