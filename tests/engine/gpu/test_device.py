"""Runs on a GPU, where there is one, against the CPU's."""

from typing import Any, NamedTuple

import pytest
from scipy import stats

import outlay
from outlay import policies
from outlay.engine.backends import cuda as backend
from outlay.engine.backends import threads
from outlay.engine.gpu import chunk, plan
from outlay.engine.task import Task
from outlay.errors import BadParameter, OutlayError, RunTooLong
from tests.engine.gpu.examples import BUILT_IN, MIXED, Greedy, Raising, Thompson, Unsteady, gaussians, has_gpu, task_of

needs_gpu = pytest.mark.skipif(not has_gpu(), reason="no GPU: runs on the device are not compared with the CPU's")


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
    def test_lazy_and_plain_play_make_the_same_choices(self, monkeypatch):
        for problem, policy in [
            (gaussians(5), BUILT_IN["UCBB1"]), (gaussians(40), BUILT_IN["UCBB1"]), (gaussians(4), BUILT_IN["UCBB2"]),
            (gaussians(3), BUILT_IN["UCBM1"]),
        ]:  # fmt: skip
            lazy = played(task_of(problem, policy, budgets=[3000.0]))
            with monkeypatch.context() as patch:
                patch.setattr(plan, "may_be_lazy", lambda policy: False)
                plain = played(task_of(problem, policy, budgets=[3000.0]))
            same = (lazy.passages.pulls == plain.passages.pulls).all(axis=(1, 2))
            assert same.mean() > 0.99  # all of them, but for scores that differ in their last digit

    def test_runs_do_not_depend_on_chunks_slices_or_their_number(self, monkeypatch):
        whole = played(task_of(gaussians(3), BUILT_IN["UCBB1"]))
        monkeypatch.setattr(backend, "chunks", lambda runs, *_: [(0, 128), (128, runs)])
        monkeypatch.setattr(chunk, "_FIRST_SLICE", 7)
        part = played(task_of(gaussians(3), BUILT_IN["UCBB1"], runs=200))
        assert (whole.passages.pulls[:200] == part.passages.pulls).all()
        assert (whole.passages.cost[:200] == part.passages.cost).all()

    @pytest.mark.parametrize("policy", [*BUILT_IN.values(), Greedy(0.1), Thompson(0.5)], ids=lambda p: type(p).__name__)
    def test_agrees_with_the_cpu(self, policy):
        problem = gaussians(3)
        device = played(task_of(problem, policy, runs=20_000, seed=1))
        host = task_of(problem, policy, runs=20_000, seed=2)
        threads.run([host], 4, lambda done: None)
        alarm = 1e-4 / 5  # a false alarm in one run of ten thousand
        for mine, theirs in zip(device.passages, host.passages, strict=True):
            pairs: Any = zip(*(array[:, -1].reshape(20_000, -1).T for array in (mine, theirs)), strict=True)
            assert all(stats.ks_2samp(*pair).pvalue > alarm for pair in pairs)

    def test_every_law_has_its_moments(self):
        for law in MIXED.arms:
            task = played(task_of(outlay.Problem([law]), policies.Fixed(0), budgets=[200.0], runs=20_000))
            rate = task.passages.reward.sum() / task.passages.cost.sum()
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
