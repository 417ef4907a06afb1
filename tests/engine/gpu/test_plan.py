"""How runs are cut to fit into a card, and what is said where there is none."""

import importlib.util
import re

import pytest

from outlay.engine.gpu import backend
from outlay.engine.gpu.backend import THREADS
from outlay.errors import OutlayError
from tests.engine.gpu.examples import (
    has_gpu,
    needs_compiler,
)


class TestPlan:
    def test_chunks_hold_every_run_once_and_fit(self):
        for runs, size, free in [(1, 1, 10**6), (1000, 10**6, 6 * 10**8), (10**6, 1000, 10**8), (129, 10, 10**9)]:
            parts = backend.chunks(runs, size, free)
            assert [start for start, _ in parts] == [0, *(stop for _, stop in parts[:-1])]
            assert parts[-1][1] == runs
            assert all(stop - start <= backend.MARGIN * free / size for start, stop in parts)
            assert all((stop - start) % THREADS == 0 for start, stop in parts[:-1])

    def test_too_little_memory_is_one_sentence(self):
        with pytest.raises(OutlayError, match=r"^128 runs need .* bytes of the GPU's memory, and .* are free$"):
            backend.chunks(10, 10**9, 10**9)


class TestErrors:
    def test_not_installed(self, monkeypatch):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(OutlayError, match=re.escape("backend='cuda' needs `pip install outlay[cuda]`")):
            backend.run([], 1, lambda done: None)

    @needs_compiler
    @pytest.mark.skipif(has_gpu(), reason="there is a GPU: its absence is not tested")
    def test_no_gpu(self):
        with pytest.raises(OutlayError, match="needs an NVIDIA GPU with its driver, and none was found"):
            backend.run([], 1, lambda done: None)
