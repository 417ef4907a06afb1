"""Where compiled code is kept between processes, and when it may be.

One folder per compiled loop, named by everything its machine code depends on: bursar's own sources of what is
compiled, the versions of Python, numpy, numba and llvmlite, the types, and all the code that the classes reach. So
nothing in a folder ever goes stale, two processes that fill one at the same time write the same thing, and a class
whose module has vanished is never looked at. The folder is $BURSAR_CACHE_DIR, or bursar's place in the user's cache;
where it cannot be written, every process compiles for itself.
"""

import functools
import hashlib
import os
import platform
import sys
import tempfile
from pathlib import Path

_COMPILED = ("arms", "beliefs", "engine", "policies")  # the parts whose code compiled loops can hold


def folder(key: str) -> Path | None:
    """The folder for a loop with this key; None where nothing can be written."""
    path = _root() / hashlib.sha256(f"{_versions()} {key}".encode()).hexdigest()[:32]
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError:
        return None


def _root() -> Path:
    if chosen := os.environ.get("BURSAR_CACHE_DIR"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches/bursar"))  # noqa: PTH111 - Path.home() raises without a home
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "bursar"  # noqa: PTH111


@functools.cache
def _versions() -> str:
    import llvmlite
    import numba
    import numpy as np

    sources = hashlib.sha256()
    package = Path(__file__).parent.parent
    for path in sorted(path for part in _COMPILED for path in (package / part).rglob("*.py")):
        sources.update(f"{path.relative_to(package)} {path.stat().st_size} ".encode() + path.read_bytes())
    modules = (np.__version__, numba.__version__, llvmlite.__version__)
    return f"{sys.version} {platform.machine()} {modules} {sources.hexdigest()}"
