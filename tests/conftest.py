"""Shared by all tests: one cache of compiled code for the session, and a fresh interpreter on demand."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# The suite tries the same examples every time; `HYPOTHESIS_PROFILE=default make unit` looks for new ones.
# No example has a deadline: a machine that others use as well may take long for any of them.
settings.register_profile("default", deadline=None)
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# What a test compiles it compiles itself: the tests already fill all cores.
os.environ["OUTLAY_COMPILE_CORES"] = "1"

# Matrices here are small. Threads of OpenBLAS that have nothing to do turn in circles, on cores that others need.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

# LiteLLM asks a server for its prices when it is imported, unless it is told that those it brought along will do.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

# What Python compiles of outlay and of the tests while they are collected it keeps, for the processes that tests start
# and for the next session. Then it keeps nothing: some tests edit a module twice within a second, and it would not see.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
sys.dont_write_bytecode = False

# Thousands of tests and all that numba keeps lie in memory: to search that for garbage every 700 objects takes a tenth
# of the suite's time.
gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish() -> None:
    """What was collected stays: no search for garbage need look at it."""
    sys.dont_write_bytecode = True
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def compiled_code_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep compiled code in a folder of this test session, shared by its worker processes."""
    folder = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        folder = folder.parent
    folder = folder / "compiled"
    before = os.environ.get("OUTLAY_CACHE_DIR")
    os.environ["OUTLAY_CACHE_DIR"] = str(folder)
    yield folder
    if before is None:
        del os.environ["OUTLAY_CACHE_DIR"]
    else:
        os.environ["OUTLAY_CACHE_DIR"] = before


@pytest.fixture(autouse=True, scope="session")
def interrupts_are_heard() -> None:
    """A suite that a shell runs in the background ignores SIGINT, and so would every process that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """What a test marked `interpreted` simulates is not compiled: same numbers, and a few runs take less than that."""
    with pytest.MonkeyPatch.context() as patch:
        if item.get_closest_marker("interpreted"):
            from outlay.engine.jit.compile import interpreted

            patch.setattr("outlay.engine.threads.program_of", interpreted)
            patch.setattr("outlay.engine.jit.compile.missing_of", lambda tasks: [])
        return (yield)


@pytest.fixture
def fresh_python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a script in a new interpreter, in an empty folder; warnings are errors there too."""

    def run(script: str, *, check: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "script.py").write_text(script)
        done = subprocess.run(
            [sys.executable, "-W", "error", "script.py"],
            cwd=tmp_path, env={**os.environ, **env}, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run
