"""What pytest leaves alone: files that import numba-cuda, where it is not, and docstrings that another test runs."""

from importlib.util import find_spec

collect_ignore = ["src/outlay/integrations/litellm.py"]  # tests/integrations/test_litellm.py: LiteLLM is slow to import
if not find_spec("numba_cuda"):
    collect_ignore += ["src/outlay/engine/gpu/kernel.py", "src/outlay/engine/gpu/device_code.py"]
