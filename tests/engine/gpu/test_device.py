"""Runs on a GPU, where there is one, against the CPU's; and what is said where there is none."""

import importlib.util
import math
import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

import outlay
from outlay import policies
from outlay.engine import threads
from outlay.engine.gpu import backend
from outlay.engine.task import Backend, Task
from outlay.errors import BadParameter, OutlayError, RunTooLong
from tests.engine.gpu.examples import (
    BUILT_IN,
    COINS,
    HARD,
    MIXED,
    Greedy,
    Raising,
    Thompson,
    Unsteady,
    gaussians,
    has_gpu,
    needs_compiler,
    played_on_cpu,
    task_of,
)

needs_gpu = pytest.mark.skipif(not has_gpu(), reason="no GPU: runs on the device are not compared with the CPU's")


CUDA: Backend = "cuda"
THREADS: Backend = "threads"


def test_without_the_package_it_is_named(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(OutlayError, match=re.escape("backend='cuda' needs `pip install 'outlay[cuda]'`")):
        backend.run([], 1, lambda done: None)


@needs_compiler
@pytest.mark.skipif(has_gpu(), reason="there is a GPU: its absence is not tested")
def test_without_a_gpu_it_says_so():
    with pytest.raises(OutlayError, match="needs an NVIDIA GPU with its driver, and none was found"):
        backend.run([], 1, lambda done: None)


class Lost(NamedTuple):
    """A policy that leaves the arms."""

    arm: int

    def choose(self, memory: Any, now: Any, rng: Any) -> Any:
        return self.arm if now.pulls > 3 else rng.integers(0, 2)


def played(task: Task) -> Task:
    backend.run([task], 1, lambda done: None)
    return task


@needs_gpu
class TestOnTheDevice:
    @pytest.mark.parametrize("policy", BUILT_IN)
    def test_makes_the_choices_of_the_cpu(self, policy):
        """From the same random numbers: all of them, but for values that differ in their last digit."""
        device, host = (task_of(gaussians(5), BUILT_IN[policy], budgets=[300.0], runs=20) for _ in range(2))
        same = (played(device).crossings.pulls == played_on_cpu(host).pulls).all(axis=(1, 2))
        assert same.mean() >= 0.9

    def test_runs_do_not_depend_on_chunks_slices_or_their_number(self, monkeypatch):
        whole = played(task_of(gaussians(3), BUILT_IN["UCBB1"]))
        monkeypatch.setattr(backend, "chunks", lambda runs, *_: [(0, 128), (128, runs)])
        monkeypatch.setattr(backend, "_FIRST_SLICE", 7)
        part = played(task_of(gaussians(3), BUILT_IN["UCBB1"], runs=200))
        assert (whole.crossings.pulls[:200] == part.crossings.pulls).all()
        assert (whole.crossings.cost[:200] == part.crossings.cost).all()

    @pytest.mark.parametrize("policy", [*BUILT_IN.values(), Greedy(0.1), Thompson(0.5)], ids=lambda p: type(p).__name__)
    def test_agrees_with_the_cpu(self, policy):
        problem = gaussians(3)
        device = played(task_of(problem, policy, runs=20_000, seed=1))
        host = task_of(problem, policy, runs=20_000, seed=2)
        threads.run([host], 4, lambda done: None)
        alarm = 1e-4 / 5  # a false alarm in one run of ten thousand
        for mine, theirs in zip(device.crossings, host.crossings, strict=True):
            pairs: Any = zip(*(array[:, -1].reshape(20_000, -1).T for array in (mine, theirs)), strict=True)
            assert all(stats.ks_2samp(*pair).pvalue > alarm for pair in pairs)

    def test_every_law_has_its_moments(self):
        for law in MIXED.arms:
            task = played(task_of(outlay.Problem([law]), policies.Fixed(0), budgets=[200.0], runs=20_000))
            rate = task.crossings.reward.sum() / task.crossings.cost.sum()
            expected = law.moments()[1] / law.moments()[0]
            assert rate == pytest.approx(expected, rel=0.02), law

    def test_what_goes_wrong_is_said_as_on_the_cpu(self):
        with pytest.raises(RunTooLong):
            played(task_of(gaussians(2), policies.Fixed(0), max_pulls=50))
        with pytest.raises(BadParameter, match="the arm that choose returns of Lost must be 0 to 1; got 7"):
            played(task_of(gaussians(2), Lost(7)))
        with pytest.raises(OutlayError, match="a run of Raising raised an exception on the GPU"):
            played(task_of(gaussians(2), Raising(3)))
        with pytest.raises(OutlayError, match="met a cost or reward that is not a finite number"):
            played(task_of(outlay.Problem([Unsteady(1.0, 1.0)]), policies.Fixed(0)))

    @pytest.mark.parametrize("requests", [None, 60])
    @pytest.mark.parametrize("policy", HARD)
    def test_means_are_those_of_threads_and_no_run_passes_the_budget(self, policy, requests):
        """Fifty means in all, to 4.4 standard errors: a false alarm in one call in about two thousand."""
        runs, budget = 20_000, 20.0
        device, host = (
            outlay.simulate(
                COINS, HARD[policy], [budget], requests=requests, mode="hard", runs=runs, seed=seed, backend=backend
            )
            for seed, backend in ((1, CUDA), (2, THREADS))
        )  # fmt: skip
        assert (device.cost <= budget).all()
        assert (device.pulls.sum(axis=-1) <= (requests or math.inf)).all()
        mine, theirs = (
            np.column_stack([result.cost[0], result.reward[0], result.pulls[0, :, 0]]) for result in (device, host)
        )
        error = np.sqrt((mine.var(axis=0) + theirs.var(axis=0)) / runs)
        assert (np.abs(mine.mean(axis=0) - theirs.mean(axis=0)) <= 4.4 * error + 1e-9).all()
