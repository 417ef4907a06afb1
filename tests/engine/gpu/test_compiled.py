"""The loop compiled for a GPU, as far as PTX: no GPU is needed for that."""

import re
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay import policies
from outlay.beliefs import Belief
from outlay.engine.gpu.backend import Chunk, Plan, imported
from outlay.engine.task import Task
from outlay.errors import OutlayError
from tests.engine.gpu.examples import (
    BUILT_IN,
    HARD,
    MIXED,
    Remembering,
    Thompson,
    Toll,
    gaussians,
    hard_task,
    host,
    needs_compiler,
    task_of,
)


class Choosy(NamedTuple):
    """A policy that asks the stream for what it does not have."""

    x: float

    def sample(self, belief: Belief, log_n: float, rng: Any) -> Any:
        return self.x * rng.vonmises(0.0, 1.0)


class Discounted(NamedTuple):
    """A policy of a user's with fields that are called like verbs of the stream and methods."""

    gamma: float
    full: int
    uniform: int

    def score(self, belief: Belief, log_n: float) -> float:
        return belief.mean_reward * self.gamma + self.full + self.uniform


class Rooted(NamedTuple):
    x: float

    def score(self, belief: Belief, log_n: float) -> Any:
        return np.sqrt(self.x + belief.pulls)


class Making(NamedTuple):
    """A policy of a user's that makes an array where some arms fit no longer."""

    x: float

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return 0

    def choose_among(self, memory: Any, arms: Any, now: Any, rng: Any) -> int:
        return int(arms[int(np.zeros(len(arms))[0])])


class Holding(NamedTuple):
    x: Any

    def score(self, belief: Belief, log_n: float) -> float:
        return belief.mean_reward


@pytest.fixture
def ptx(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Compile a task's loop for compute capability 9.0: a function of a task that returns PTX."""
    cuda: Any = imported("numba.cuda")
    import numba
    from numba.cuda import cuda_paths, dispatcher

    # What numba asks a GPU and nvrtc for, and need not: only libnvvm is at work here.
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=(9, 0)))
    monkeypatch.setattr(cuda_paths, "_get_nvrtc_path", lambda: None)
    monkeypatch.setattr(numba.cuda.core.config, "FORCE_CUDA_CC", (9, 0), raising=False)

    def make(play: Any, argument_types: Any) -> str:
        return str(cuda.compile(play, argument_types, cc=(9, 0), device=False, abi="numba")[0])

    code: Any = imported("outlay.engine.gpu.device_code")
    monkeypatch.setattr(code, "_compile", make)
    monkeypatch.setattr(code, "_kernels", {})

    def compiled(task: Task) -> str:
        return str(Chunk(Plan(host(), task), task).kernel)

    return compiled


@pytest.fixture
def compiled_for(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The copy of the policy's class that a task's loop would be compiled for."""
    code: Any = imported("outlay.engine.gpu.device_code")
    monkeypatch.setattr(code, "_compile", lambda play, types: types[1].instance_class)
    monkeypatch.setattr(code, "_kernels", {})

    def compiled_for(task: Task) -> Any:
        return Chunk(Plan(host(), task), task).kernel

    return compiled_for


EVERY_DAY = ("UCBB1",)  # lazily; below by choice. PTX takes seconds each
RARELY = tuple(name for name in BUILT_IN if name not in EVERY_DAY)


@needs_compiler
class TestCompiled:
    @pytest.mark.parametrize(
        ("problem", "policy"),
        [
            *(pytest.param(gaussians(3), BUILT_IN[name], id=name) for name in EVERY_DAY),
            *(pytest.param(gaussians(3), BUILT_IN[name], id=name, marks=pytest.mark.soak) for name in RARELY),
            pytest.param(MIXED, policies.RoundRobin(), id="every law", marks=pytest.mark.soak),
            pytest.param(gaussians(2), Thompson(0.5), id="randomised", marks=pytest.mark.soak),
            pytest.param(outlay.Problem([Toll(1.0, 1.0)]), Discounted(0.5, 1, 2), id="user's own, names of verbs"),
            pytest.param(gaussians(2), Remembering(0.5), id="nested memory"),
        ],
    )
    def test_to_ptx_that_calls_nothing_from_outside(self, ptx, problem, policy):
        code = ptx(task_of(problem, policy))
        assert code.count(".visible .entry") == 1
        assert not re.search(r"\.extern\s+\.func", code)

    def test_redefined_code_is_compiled_anew(self, compiled_for):
        def double(x: float) -> float:
            return 2.0 * x

        class Mine(NamedTuple):
            x: float

            def score(self, belief: Belief, log_n: float) -> float:
                return double(belief.mean_reward) + self.x

        def helper() -> Any:
            """What stands in for `double`."""
            return compiled_for(task_of(gaussians(2), Mine(1.0))).score.__closure__[0].cell_contents

        before = helper()
        assert helper() is before  # equal code is compiled once
        double.__code__ = (lambda x: 12345.0 * x).__code__
        after = helper()
        assert (before(1.0), after(1.0)) == (2.0, 12345.0)
        assert after is not double

    def test_a_verb_that_the_stream_lacks_is_one_sentence(self, ptx):
        with pytest.raises(OutlayError, match=r": on a GPU rng has no vonmises\(\), only random, standard_normal, .*$"):
            ptx(task_of(gaussians(2), Choosy(0.2)))

    @pytest.mark.parametrize(
        ("policy", "reason"),
        [
            (Rooted(1.0), "on a GPU there is no np.sqrt(), only the functions of math"),
            (Holding("name"), "a field is 'name', not a number of 64 bits or an array of such"),
            (Holding(np.zeros(2, complex)), "a field is an array of complex128, not a number of 64 bits or an array"),
            (Holding(np.zeros(0)), "it holds an empty array"),
        ],
        ids=str,
    )
    def test_a_refusal_says_why(self, ptx, policy, reason):
        start = f"{type(policy).__name__} cannot be compiled for a GPU, backend='threads' can play it: "
        with pytest.raises(OutlayError, match=f"^{re.escape(start + reason)}"):
            ptx(task_of(gaussians(2), policy))

    @pytest.mark.parametrize(
        "policy", [pytest.param(name, marks=() if name == "RoundRobin" else pytest.mark.soak) for name in HARD]
    )
    def test_hard_mode_to_ptx(self, ptx, policy):
        code = ptx(hard_task(HARD[policy], 20.0, 50))
        assert code.count(".visible .entry") == 1
        assert not re.search(r"\.extern\s+\.func", code)

    @pytest.mark.soak
    def test_a_policy_that_makes_arrays_is_refused_in_one_sentence(self, ptx):
        with pytest.raises(OutlayError, match=r"^Making cannot be compiled for a GPU, backend='threads' can play it: "):
            ptx(hard_task(Making(1.0), 20.0, None))
