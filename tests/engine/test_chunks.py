"""Chunks of runs for a cluster: how they are cut, what travels with them, and what is said where it cannot."""

import pickle
import sys
import threading
from dataclasses import replace
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest

import outlay
from outlay import Problem, arms, policies
from outlay.engine import cluster
from outlay.engine.loop import Crossings
from outlay.engine.task import Task
from outlay.errors import BadFile, BadParameter, NotCovered, OutlayError, RunTooLong

COINS = Problem([arms.Constant(1.0, 1.0), arms.Constant(1.0, 2.0)])


def task_of(runs: int, budget: float) -> Task:
    crossings = Crossings.blank(runs, budgets=1, arms=2)
    return Task(COINS, "some", policies.Fixed(0), np.array([budget]), 0, 10**9, crossings, first=3)


def test_a_worker_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cloudpickle")
    versions = cluster.versions()
    monkeypatch.setattr(cluster, "versions", lambda: {**versions, "numpy": "1.0"})
    work = cluster.packed(task_of(1, 10.0))
    monkeypatch.setattr(cluster, "versions", lambda: versions)
    with pytest.raises(OutlayError, match=r"a worker has numpy \S+ where the caller has 1.0: install the same version"):
        cluster.play_chunk(0, work, 3, 1)

    elsewhere = ModuleType("elsewhere")
    elsewhere.Mine = type("Mine", (policies.Fixed,), {"__module__": "elsewhere"})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "elsewhere", elsewhere)
    work = cluster.packed(replace(task_of(1, 10.0), policy=elsewhere.Mine(0)))
    monkeypatch.delitem(sys.modules, "elsewhere")
    with pytest.raises(OutlayError, match=r"a worker cannot load a class of yours \(No module named 'elsewhere'\)"):
        cluster.play_chunk(0, work, 3, 1)

    with pytest.raises(OutlayError, match="some or the problem cannot be sent to a worker: cannot pickle"):
        cluster.packed(replace(task_of(1, 10.0), policy=cast("Any", threading.Lock())))


@pytest.mark.parametrize(("backend", "module"), [("dask", "distributed"), ("ray", "ray"), ("dask", "joblib")])
def test_a_missing_package_is_one_sentence(monkeypatch: pytest.MonkeyPatch, backend: Any, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(OutlayError) as caught:
        outlay.simulate(COINS, policies.Fixed(0), budgets=[10.0], backend=backend)
    assert str(caught.value) == f"backend='{backend}' needs `pip install 'outlay[{backend}]'`"


def test_errors_survive_the_journey() -> None:
    errors = [
        OutlayError("a"),
        BadParameter("a", "b", "c", 1.5),
        BadFile("d"),
        NotCovered("e"),
        RunTooLong("p", 1, 2, 3.0, 4.0),
    ]
    for error in errors:
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
