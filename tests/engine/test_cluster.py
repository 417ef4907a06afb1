"""Runs on a cluster: the same bits as on threads, whoever plays them and whichever worker dies."""

import importlib.util
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay import Problem, arms, policies
from outlay.arms import catalogue
from outlay.errors import BadParameter, InterpretedWarning, OutlayError, RunTooLong

distributed = pytest.importorskip("distributed", reason="dask is not installed: nothing of clusters is tested")
cloudpickle = pytest.importorskip("cloudpickle")  # comes with it

pytestmark = pytest.mark.soak  # workers are processes that take seconds to start; every day `test_chunks` has the rest

G = catalogue.load("G")
COINS = Problem([arms.Constant(1.0, 1.0), arms.Constant(1.0, 2.0)])


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two worker processes, as a user would have connected to them; a chunk may kill one of them, not four."""
    import dask

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local,
        distributed.Client(local) as connected,
    ):
        yield connected


class Travels(NamedTuple):
    """A policy that looks at the budget; as a notebook's it is sent by value (see `by_value`)."""

    budget: float = 1.0

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return 0 if now.spent <= self.budget * rng.random() else 1


class Broken(NamedTuple):
    """Numba refuses it: it runs interpreted, and then fails."""

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return [0][os.getpid()]


class Stray(NamedTuple):
    """Interpreted too, and chooses an arm that does not exist."""

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return 7 + 0 * os.getpid()


class Deadly(NamedTuple):
    """Ends the process that plays it."""

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0


class DiesOnce(NamedTuple):
    """Ends the process that plays it, in the middle of a run, unless one lies in the grave already."""

    grave: str

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        if now.pulls == 50:
            with suppress(FileExistsError), Path(self.grave).open("x") as stone:
                stone.write(str(os.getpid()))
                stone.flush()
                os.kill(os.getpid(), signal.SIGKILL)
        return 0 if rng.random() < 0.5 else 1


@pytest.fixture(autouse=True, scope="module")
def by_value() -> Iterator[None]:
    """Send this module's classes and functions as a notebook's are sent: no worker can import them."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


def equal(one: outlay.Result, other: outlay.Result) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("pulls", "cost", "reward", "oracle_reward")
    )


def compiled_for(name: str) -> int:
    """In a worker: how many loops it has compiled for a class of this name."""
    from outlay.engine.jit import compile as dispatch

    return sum(name in repr(key) for key in dispatch._entries)


def test_results_are_those_of_threads_bit_for_bit(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outlay.engine.cluster._FEWEST_PULLS", 1.0)  # many chunks, of few runs each
    players: dict[str, policies.Policy] = {"B1": policies.UCBB1(**G.second_moments()), "in turn": policies.RoundRobin()}
    settings: dict[str, Any] = {"budgets": [20.0, 300.0], "runs": 37, "seed": 7}
    here = outlay.simulate(G, players, **settings)
    assert equal(here, outlay.simulate(G, players, backend="dask", **settings))
    assert equal(here, outlay.simulate(G, players, backend="dask", workers=1, **settings))
    assert client.status == "running"  # it is the caller's, and stays open


def test_a_class_of_a_notebook_travels_and_is_compiled_once(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outlay.engine.cluster._FEWEST_PULLS", 1.0)
    settings: dict[str, Any] = {"budgets": [20.0, 300.0], "runs": 37, "seed": 7}
    here = outlay.simulate(COINS, Travels(), **settings)
    for _ in range(2):
        assert equal(here, outlay.simulate(COINS, Travels(), backend="dask", **settings))
    loops = client.run(compiled_for, "Travels").values()
    assert max(loops) == 1  # some chunks on each worker, one compilation


@pytest.mark.filterwarnings("ignore::outlay.errors.InterpretedWarning")
def test_a_killed_worker_costs_time_but_not_correctness(client: Any, tmp_path: Path) -> None:
    grave = tmp_path / "grave"
    player = DiesOnce(str(grave))
    settings: dict[str, Any] = {"budgets": [20.0, 200.0], "runs": 24, "seed": 1}
    grave.touch()
    here = outlay.simulate(COINS, player, **settings)
    grave.unlink()
    there = outlay.simulate(COINS, player, backend="dask", **settings)
    assert int(grave.read_text()) != os.getpid()  # a worker lies there
    assert equal(here, there)


MISTAKES: dict[str, Any] = {
    "too long": (policies.Fixed(0), {"max_pulls": 15}, RunTooLong),  # not so for the oracle, which plays arm 1
    "stray": (Stray(), {}, BadParameter),
    "broken": (Broken(), {}, OutlayError),
}


@pytest.mark.parametrize("name", MISTAKES)
@pytest.mark.filterwarnings("ignore::outlay.errors.InterpretedWarning")
def test_mistakes_are_told_as_threads_tell_them(client: Any, name: str) -> None:
    player, settings, kind = MISTAKES[name]
    problem = Problem([arms.Constant(0.5, 0.5), arms.Constant(1.0, 2.0)])
    told = []
    for backend in ("threads", "dask"):
        with pytest.raises(kind) as caught:
            outlay.simulate(problem, player, budgets=[10.0], runs=1, backend=backend, **settings)
        told.append((type(caught.value), str(caught.value)))
    assert told[0] == told[1]
    assert "\n" not in told[1][1]
    assert caught.value.__cause__ is None


def test_a_chunk_that_kills_every_worker_is_given_up(client: Any) -> None:
    """And what runs interpreted is said here, once."""
    given_up = r"the dask cluster gave up a chunk of runs \(KilledWorker\): see its logs; .*"
    with pytest.warns(InterpretedWarning) as warned, pytest.raises(OutlayError, match=given_up) as caught:
        outlay.simulate(COINS, Deadly(), budgets=[10.0, 20.0], runs=1, backend="dask")
    assert len(warned) == 1
    assert "\n" not in str(caught.value)


ALONE = """
import os, signal, sys, threading, time
import numpy as np, psutil
import outlay
from outlay import policies
from outlay.arms import catalogue

def workers():
    busy = "run_batch" if BACKEND == "ray" else "spawn_main"  # Ray names a process after what it does
    return [child for child in psutil.Process().children(recursive=True) if busy in " ".join(child.cmdline())]

def kill_one():
    while not (busy := workers()):
        time.sleep(0.05)
    time.sleep(0.3)
    killed.append(busy[0].pid)
    os.kill(busy[0].pid, signal.SIGKILL)

def interrupt():
    while sum(worker.cpu_times().user for worker in workers()) < 6.0:  # by then they play
        time.sleep(0.05)
    signal.raise_signal(signal.SIGINT)

BACKEND, WHAT = "{backend}", "{what}"
killed = []
if __name__ == "__main__":
    problem = catalogue.load("G")
    settings = dict(problem=problem, policies=policies.UCBB1(**problem.second_moments()), budgets=[1e3, 4e5], runs=16)
    if WHAT == "interrupt":
        settings["budgets"] = [1e9]
    else:
        here = outlay.simulate(**settings)
    if WHAT != "nothing":
        threading.Thread(target=globals()[WHAT], daemon=True).start()
    try:
        there = outlay.simulate(**settings, backend=BACKEND, workers=2)
        assert all(np.array_equal(getattr(here, n), getattr(there, n)) for n in ("pulls", "cost", "reward"))
        assert WHAT == "nothing" or killed
        print("equal")
    except KeyboardInterrupt:
        print("interrupted")
    assert not workers(), workers()
"""


def test_without_a_cluster_one_is_made_and_closed(fresh_python: Callable[..., CompletedProcess[str]]) -> None:
    assert fresh_python(ALONE.replace("{backend}", "dask").replace("{what}", "nothing")).stdout == "equal\n"


def test_ctrl_c_ends_the_workers_and_returns(fresh_python: Callable[..., CompletedProcess[str]]) -> None:
    assert fresh_python(ALONE.replace("{backend}", "dask").replace("{what}", "interrupt")).stdout == "interrupted\n"


@pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="ray is not installed: skipped are results through backend='ray', a killed worker there, and Ctrl-C",
)
@pytest.mark.parametrize("what", ["nothing", "kill_one", "interrupt"])
def test_the_same_on_ray(fresh_python: Callable[..., CompletedProcess[str]], what: str) -> None:
    said = fresh_python(ALONE.replace("{backend}", "ray").replace("{what}", what)).stdout
    assert ("interrupted" if what == "interrupt" else "equal") in said
