"""How runs are cut to fit into a card, and what is said where there is none."""

import importlib.util
import re

import pytest

from outlay.engine.gpu import backend
from outlay.errors import OutlayError
from tests.engine.gpu.examples import (
    has_gpu,
    needs_compiler,
)


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
