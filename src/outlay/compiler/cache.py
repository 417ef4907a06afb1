"""Where compiled code is kept between processes, and when it may be.

One folder per compiled loop, named by everything its machine code depends on: outlay's own sources of what is
compiled, the versions of Python, numpy, numba and llvmlite, the types, and all the code that the classes reach. So
nothing in a folder ever goes stale, two processes that fill one at the same time write the same thing, and a class
whose module has vanished is never looked at. The folder is $OUTLAY_CACHE_DIR, or outlay's place in the user's cache;
where it cannot be written, every process compiles for itself.
"""

import functools
import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

# The parts whose code compiled functions can hold.
_COMPILED = ("arms", "beliefs", "compiler", "engine", "formulas", "policies")
_KEPT_DAYS = 60


def folder(key: str) -> Path | None:
    """The folder for a loop with this key; None where nothing can be written."""
    try:
        root = _root()
        path = root / hashlib.sha256(f"{_versions()} {key}".encode()).hexdigest()[:32]
        if not path.is_dir():
            path.mkdir(parents=True)
            _forget_the_unused(root)
        os.utime(path)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError:
        return None


def _forget_the_unused(root: Path) -> None:
    """Every edit of a policy leaves a folder behind: drop those not used for a long time."""
    for old in root.iterdir():
        if time.time() - old.stat().st_mtime > _KEPT_DAYS * 86_400:
            shutil.rmtree(old, ignore_errors=True)


def _root() -> Path:
    if chosen := os.environ.get("OUTLAY_CACHE_DIR"):
        return Path(chosen)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "outlay"
    try:
        return Path.home() / ("Library/Caches/outlay" if sys.platform == "darwin" else ".cache/outlay")
    except RuntimeError as error:
        raise OSError("no home") from error


@functools.cache
def _versions() -> str:
    import llvmlite
    import numba
    import numpy as np

    sources = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in sorted(path for part in _COMPILED for path in (package / part).rglob("*.py")):
        sources.update(f"{path.relative_to(package)} {path.stat().st_size} ".encode() + path.read_bytes())
    modules = (np.__version__, numba.__version__, llvmlite.__version__)
    return f"{sys.version} {platform.machine()} {modules} {sources.hexdigest()}"
