"""The GPU backend: without a GPU its code is compiled and its parts are run on the CPU; with one it is played."""

import contextlib
import importlib.util
import math
import os
import re
import threading
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import outlay
from outlay import arms, policies
from outlay.beliefs import Belief, Moments
from outlay.engine.backends import cuda as backend
from outlay.engine.backends import threads
from outlay.engine.compiler.world import Laws
from outlay.engine.gpu import random as device_random
from outlay.engine.gpu.random import Stream, key_of, philox
from outlay.engine.loop import Passages
from outlay.engine.task import Task
from outlay.errors import BadParameter, OutlayError, RunTooLong
from outlay.formulas.choose import best_by_score, log_of

INSTALLED = importlib.util.find_spec("numba_cuda") is not None
needs_compiler = pytest.mark.skipif(not INSTALLED, reason="numba-cuda is not installed: device code is not compiled")


def has_gpu() -> bool:
    return INSTALLED and bool(backend.imported("numba.cuda").is_available())


needs_gpu = pytest.mark.skipif(not has_gpu(), reason="no GPU: runs on the device are not compared with the CPU's")


class Greedy(NamedTuple):
    """A user's policy with a score alone."""

    bonus: float

    def score(self, belief: Belief, log_n: float) -> float:
        return belief.mean_reward + math.sqrt(self.bonus * (1.0 + log_n) / (1 + belief.pulls))


class Thompson(NamedTuple):
    """A user's randomised policy, with most of what a stream can do."""

    spread: float

    def sample(self, belief: Belief, log_n: float, rng: Any) -> Any:
        noise = rng.normal(0.0, 1.0) + rng.uniform(-1.0, 1.0) + rng.exponential() - rng.gamma(1.5)
        return belief.mean_reward + self.spread * noise / (1 + belief.pulls) + 1e-9 * rng.beta(2.0, 3.0)


class Lost(NamedTuple):
    """A policy that leaves the arms."""

    arm: int

    def choose(self, memory: Any, now: Any, rng: Any) -> Any:
        return self.arm if now.pulls > 3 else rng.integers(0, 2)


class Choosy(NamedTuple):
    """A policy that asks the stream for what it does not have."""

    x: float

    def sample(self, belief: Belief, log_n: float, rng: Any) -> Any:
        return self.x * rng.vonmises(0.0, 1.0)


class Blank(NamedTuple):
    """A promise, and scores that are no numbers at first."""

    after: int

    def score(self, belief: Belief, log_n: float) -> float:
        return belief.mean_reward + 0.01 * log_n if belief.pulls >= self.after else math.nan

    def phase(self, log_n: float) -> int:
        return 0


class Huge(NamedTuple):
    """A finite score beyond 32 bits; the others' are ∞ all the time."""

    height: float

    def score(self, belief: Belief, log_n: float) -> float:
        return self.height if belief.arm == 0 else math.inf

    def phase(self, log_n: float) -> int:
        return 0


class Raising(NamedTuple):
    """A policy that raises."""

    after: int

    def score(self, belief: Belief, log_n: float) -> float:
        if belief.pulls > self.after:
            raise ArithmeticError("too many pulls")
        return belief.mean_reward


class Discounted(NamedTuple):
    """A policy with fields that are called like verbs of the stream and methods."""

    gamma: float
    full: int
    uniform: int

    def score(self, belief: Belief, log_n: float) -> float:
        return belief.mean_reward * self.gamma + self.full + self.uniform


class Twofold(NamedTuple):
    """A memory in a memory."""

    moments: Moments
    seen: NDArray[np.float64]

    def observe(self, arm: int, cost: float, reward: float) -> None:
        self.moments.observe(arm, cost, reward)
        self.seen[arm] += 1.0

    def belief(self, arm: int) -> Belief:
        return self.moments.belief(arm)

    def full(self) -> bool:
        return False


class Remembering(NamedTuple):
    """A policy with such a memory."""

    x: float

    def memory(self, arms: int) -> Twofold:
        return Twofold(Moments.empty(arms), np.zeros(arms))

    def score(self, belief: Belief, log_n: float) -> float:
        return belief.mean_reward + self.x


class Rooted(NamedTuple):
    """A policy that takes its root from numpy."""

    x: float

    def score(self, belief: Belief, log_n: float) -> Any:
        return np.sqrt(self.x + belief.pulls)


class OneEnded(NamedTuple):
    """A policy that gives one end alone."""

    x: float

    def choose(self, memory: Any, now: Any, rng: Any) -> Any:
        return rng.integers(2)


class Holding(NamedTuple):
    """A policy with anything in it."""

    x: Any

    def score(self, belief: Belief, log_n: float) -> float:
        return belief.mean_reward


class Toll(NamedTuple):
    """A user's law."""

    cost: float
    reward: float

    def draw(self, rng: Any) -> tuple[float, float]:
        return self.cost * rng.standard_exponential(), self.reward * rng.random()

    def moments(self) -> tuple[float, float, float, float, float]:
        return self.cost, 0.5 * self.reward, self.cost**2, self.reward**2 / 12.0, 0.0


class Unsteady(NamedTuple):
    """A law that claims finite moments and pays without end."""

    cost: float
    reward: float

    def draw(self, rng: Any) -> tuple[float, float]:
        return self.cost, self.reward if rng.random() < 0.9 else math.inf

    def moments(self) -> tuple[float, float, float, float, float]:
        return self.cost, self.reward, 0.0, 0.0, 0.0


def gaussians(count: int) -> outlay.Problem:
    return outlay.Problem([arms.Gaussian(1.0, rate, 0.1, 0.1) for rate in np.linspace(0.2, 1.0, count).tolist()])


MIXED = outlay.Problem(
    [
        arms.Gaussian(1.0, 0.9, 0.3, 0.2, 0.5),
        arms.Bernoulli(0.5, 0.4, 0.1),
        arms.Beta(0.5, 0.25, 0.2, 0.1, 0.7),
        arms.Uniform(0.0, 2.0, 0.0, 1.0),
        arms.Discrete([1, 2], [0, 3], [0.5, 0.5]),
        arms.Constant(1.0, 0.5),
        arms.Empirical([1.0, 2.0], [0.5, 1.5]),
        arms.Exponential(1.0, 1.0, 0.5),
        arms.Gamma(1.0, 1.0, 0.5, 0.5, 0.25),
        arms.Lognormal(1.0, 1.0, 0.5, 0.5, 0.2),
        arms.Pareto(1.0, 1.0),
        arms.StudentT(1.0, 1.0, 0.1, 0.1, 5.0),
        arms.Linear(arms.Pareto(1.0, 1.0, 4.0), 0.5, 0.2, 0.1),
        Toll(1.0, 1.0),
    ]
)


def task_of(problem: outlay.Problem, policy: Any, budgets: Any = (50.0, 200.0), runs: int = 300, **rest: Any) -> Task:
    limits = np.array(budgets, float)
    shape = (runs, len(limits))
    passages = Passages(np.zeros((*shape, len(problem)), np.int64), np.zeros(shape), np.zeros(shape))
    rest = {"seed": 0, "max_pulls": 10**9, **rest}
    return Task(problem, type(policy).__name__, policy, limits, passages=passages, **rest)


class TestStream:
    def test_the_published_examples_of_the_cipher(self):
        def words(*numbers: int) -> list[int]:
            return [int(word) for word in philox(*map(np.uint64, numbers))]

        full = 2**64 - 1
        assert words(0, 0, 0) == [0xE169C58D6627E8D5, 0x9B00DBD8BC57AC4C]
        assert words(full, full, full) == [0x41C83B0E408F276D, 0x6D5451FDA20BC7C6]
        pi = 0x85A308D3243F6A88, 0x0370734413198A2E, 0x299F31D0A4093822
        assert words(*pi) == [0x94FDCCEBD16CFE09, 0x24126EA15001E420]

    @pytest.mark.parametrize(
        ("verb", "arguments", "law"),
        [
            ("random", (), stats.uniform()),
            ("standard_normal", (), stats.norm()),
            ("standard_exponential", (), stats.expon()),
            ("standard_gamma", (2.5,), stats.gamma(2.5)),
            ("standard_gamma", (0.3,), stats.gamma(0.3)),
            ("normal", (1.0, 2.0), stats.norm(1.0, 2.0)),
            ("uniform", (1.0, 3.0), stats.uniform(1.0, 2.0)),
            ("exponential", (2.0,), stats.expon(scale=2.0)),
            ("gamma", (1.5, 2.0), stats.gamma(1.5, scale=2.0)),
            ("beta", (2.0, 0.5), stats.beta(2.0, 0.5)),
            ("beta", (0.5, 0.7), stats.beta(0.5, 0.7)),
        ],
    )
    def test_each_verb_has_its_law(self, verb, arguments, law):
        # Fixed seed: either always passes or never; a wrong law would pass once in ten thousand.
        stream = Stream.of(seed=1, run=2)
        assert stats.kstest([getattr(stream, verb)(*arguments) for _ in range(4000)], law.cdf).pvalue > 1e-4

    def test_whole_numbers(self):
        stream = Stream.of(seed=1, run=2)
        assert {stream.integers(3, 6) for _ in range(200)} == {3, 4, 5}

    def test_runs_are_independent_and_depend_on_seed_and_number_alone(self):
        draws = {(seed, run): Stream.of(seed, run) for seed in (0, 1) for run in (0, 1, 2**40)}
        rows = np.array([[stream.standard_normal() for _ in range(3000)] for stream in draws.values()])
        again = Stream.of(1, 1)
        assert rows[list(draws).index((1, 1))].tolist() == [again.standard_normal() for _ in range(3000)]
        correlations = np.corrcoef(rows)[np.triu_indices(len(rows), 1)]
        assert np.abs(correlations).max() < 4.5 / math.sqrt(3000)  # 15 pairs: a false alarm once in ten thousand

    def test_shapes_that_are_not_positive_numbers(self):
        stream = Stream.of(seed=1, run=2)
        shapes = (-1.0, 0.0, math.inf, math.nan)
        assert [stream.standard_gamma(shape) for shape in shapes[:3]] == [0.0, 0.0, math.inf]
        assert math.isnan(stream.standard_gamma(math.nan))
        assert all(math.isnan(stream.beta(a, b)) for a in shapes for b in (*shapes, 0.5, 2.0))
        assert math.isnan(stream.beta(5e-324, 5e-324))

    def test_a_seed_of_any_size(self):
        assert key_of(10**40) != key_of(0)

    def test_every_verb_is_there(self):
        assert all(callable(getattr(Stream, verb)) for verb in device_random.VERBS)


class TestPlan:
    def test_chunks_hold_every_run_once_and_fit(self):
        for runs, size, free in [(1, 1, 10**6), (1000, 10**6, 6 * 10**8), (10**6, 1000, 10**8), (129, 10, 10**9)]:
            parts = backend.chunks(runs, size, free)
            assert [start for start, _ in parts] == [0, *(stop for _, stop in parts[:-1])]
            assert parts[-1][1] == runs
            assert all(stop - start <= backend.MARGIN * free / size for start, stop in parts)
            assert all((stop - start) % backend.THREADS == 0 for start, stop in parts[:-1])

    def test_no_memory_left_is_one_sentence(self, monkeypatch):
        def full(*_: Any) -> Any:
            raise OSError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")

        monkeypatch.setattr(backend, "toolkit", lambda: None)
        monkeypatch.setattr(backend, "_Plan", full)
        with pytest.raises(OutlayError, match=r"^the GPU's memory is full: fewer runs, or backend='threads'$"):
            backend.run([task_of(gaussians(2), policies.Fixed(0))], 1, lambda done: None)

    @needs_compiler
    def test_memories_that_grow_are_given_room(self):
        manager = SimpleNamespace(deallocations=[1])
        context = SimpleNamespace(memory_manager=manager, get_memory_info=lambda: (1000, 2000))
        card = host(current_context=lambda: context)
        assert backend._Plan(card, task_of(gaussians(2), BUILT_IN["UCBB1"])).free_bytes == 1000
        assert backend._Plan(card, task_of(gaussians(2), BUILT_IN["UCBM1"])).free_bytes == 250
        assert manager.deallocations == []

    @needs_compiler
    def test_a_memory_in_a_memory_is_each_runs_own(self):
        task = task_of(gaussians(3), Remembering(0.1))
        plan = backend._Plan(host(), task)
        memories = backend._Chunk(plan, task).memories
        assert (memories.moments.stats.shape, memories.seen.shape) == ((3, 8, 384), (3, 384))
        flat = backend._Plan(host(), task_of(gaussians(3), Greedy(0.1)))
        assert plan.bytes_a_run == flat.bytes_a_run + 3 * 8

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


class OnHost(np.ndarray):
    """An array that has the one method of the device's that is called here."""

    copy_to_host = np.ndarray.copy


def host(**rest: Any) -> Any:
    """What is asked of numba.cuda, in the host's memory."""
    driver = SimpleNamespace(device_memset=lambda array, value, size: array.fill(value))
    return SimpleNamespace(
        to_device=lambda array: array.copy().view(OnHost),
        device_array=lambda shape, dtype: np.empty(shape, dtype).view(OnHost),
        cudadrv=SimpleNamespace(driver=driver),
        **rest,
    )


@pytest.fixture
def ptx(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Compile a task's loop for compute capability 9.0: a function of a task that returns PTX."""
    cuda: Any = backend.imported("numba.cuda")
    import numba
    from numba.cuda import cuda_paths, dispatcher

    # What numba asks a GPU and nvrtc for, and need not: only libnvvm is at work here.
    monkeypatch.setattr(dispatcher, "get_current_device", lambda: SimpleNamespace(compute_capability=(9, 0)))
    monkeypatch.setattr(cuda_paths, "_get_nvrtc_path", lambda: None)
    monkeypatch.setattr(numba.cuda.core.config, "FORCE_CUDA_CC", (9, 0), raising=False)

    def make(play: Any, argument_types: Any, registers: Any) -> str:
        return str(cuda.compile(play, argument_types, cc=(9, 0), device=False, abi="numba")[0])

    code: Any = backend.imported("outlay.engine.gpu.code")
    monkeypatch.setattr(code, "_compile", make)
    monkeypatch.setattr(code, "_kernels", {})

    def compiled(task: Task, lazy: bool = True) -> str:
        chunk = backend._Chunk(backend._Plan(host(), task, lazy), task)
        return str(chunk._compiled(chunk.arguments(np.zeros(4, np.int64), 1)))

    return compiled


BUILT_IN = {
    "UCBB1": policies.UCBB1(0.01, 0.01, 0.0),
    "UCBM1": policies.UCBM1(0.01, 0.01, 0.0),
    "UCBB2": policies.UCBB2(1.5, 1.5),
    "UCBB2C": policies.UCBB2C(1.5, 1.5, 1.0),
    "Frugal": policies.Frugal(),
    "Fixed": policies.Fixed(1),
    "Uniform": policies.Uniform(),
}
# To PTX, which takes seconds each; OUTLAY_SOAK=1 adds the rest.
EVERY_DAY = [*BUILT_IN] if "OUTLAY_SOAK" in os.environ else ["UCBB1", "Frugal", "Fixed", "Uniform"]


@needs_compiler
class TestCompiled:
    @pytest.mark.parametrize(
        ("problem", "policy"),
        [
            *(pytest.param(gaussians(3), BUILT_IN[name], id=name) for name in EVERY_DAY),
            pytest.param(MIXED, policies.Uniform(), id="every law"),
            pytest.param(outlay.Problem([Toll(1.0, 1.0)]), Greedy(0.1), id="user's own"),
            pytest.param(gaussians(2), Thompson(0.5), id="randomised"),
            pytest.param(gaussians(2), Discounted(0.5, 1, 2), id="names of verbs"),
            pytest.param(gaussians(2), Remembering(0.5), id="nested memory"),
        ],
    )
    def test_to_ptx_that_calls_nothing_from_outside(self, ptx, problem, policy):
        code = ptx(task_of(problem, policy))
        assert code.count(".visible .entry") == 1
        assert not re.search(r"\.extern\s+\.func", code)

    def test_a_policy_without_a_promise_is_played_plainly(self, ptx):
        assert "play_plainly" in ptx(task_of(gaussians(2), Greedy(0.2)))

    def test_redefined_code_is_compiled_anew(self, ptx):
        def double(x: float) -> float:
            return 2.0 * x

        class Mine(NamedTuple):
            x: float

            def score(self, belief: Belief, log_n: float) -> float:
                return double(belief.mean_reward) + self.x

        before = ptx(task_of(gaussians(2), Mine(1.0)))
        double.__code__ = (lambda x: 12345.0 * x).__code__
        assert ptx(task_of(gaussians(2), Mine(1.0))) != before

    def test_a_verb_that_the_stream_lacks_is_one_sentence(self, ptx):
        with pytest.raises(OutlayError, match=r": on a GPU rng has no vonmises\(\), only random, standard_normal, .*$"):
            ptx(task_of(gaussians(2), Choosy(0.2)))

    @pytest.mark.parametrize(
        ("policy", "reason"),
        [
            (Rooted(1.0), "on a GPU there is no np.sqrt(), only the functions of math"),
            (OneEnded(1.0), "numba knows no integers(rng, int64)"),
            (Holding("name"), "a field is 'name', not a number of 64 bits or an array of such"),
            (Holding(2**70), "a field is 1180591620717411303424, not a number of 64 bits or an array of such"),
            (Holding(np.zeros(2, complex)), "a field is an array of complex128, not a number of 64 bits or an array"),
            (Holding(np.zeros(0)), "it holds an empty array"),
        ],
        ids=str,
    )
    def test_a_refusal_says_why(self, ptx, policy, reason):
        start = f"{type(policy).__name__} cannot be compiled for a GPU, backend='threads' can play it: "
        with pytest.raises(OutlayError, match=f"^{re.escape(start + reason)}"):
            ptx(task_of(gaussians(2), policy))


@needs_compiler
class TestLaziness:
    """The contests, in the interpreter: at every pull the choice is that of the plain argmax."""

    @pytest.mark.parametrize(
        ("arms", "policy", "pulls", "seeds"),
        [
            (100, policies.UCBB1(0.01, 0.01, 0.0), 220, 8),  # groups of arms; bounds run out among scores of ∞
            (12, policies.UCBB1(0.01, 0.01, 0.0), 1000, 2),
            (4, policies.UCBB2(1.5, 1.5), 2500, 1),
            (3, policies.UCBM1(0.0, 1e-6, 0.0), 800, 1),  # phases
        ],
    )
    def test_changes_no_choice(self, monkeypatch, arms, policy, pulls, seeds):
        assert self.scores(monkeypatch, arms, policy, pulls, seeds) < pulls * seeds * arms

    @pytest.mark.parametrize("arms", [1, 2, 17])
    @pytest.mark.parametrize("policy", [Blank(1), Blank(3), Blank(10**6), Huge(1e39), Huge(1e300)], ids=str)
    def test_scores_out_of_the_ordinary(self, monkeypatch, arms, policy):
        self.scores(monkeypatch, arms, policy, 100, 1)

    @staticmethod
    def scores(monkeypatch: Any, arms: int, policy: Any, pulls: int, seeds: int) -> int:
        """How many scores the contests of some runs take."""
        device: Any = backend.imported("outlay.engine.gpu.kernel")
        monkeypatch.setattr(device, "known_of", device.known_of_there)
        monkeypatch.setattr(device, "pick_up", device.leave)
        monkeypatch.setattr(device, "put_down", device.leave)
        rewards = np.linspace(0.2, 1.0, arms)
        scored = 0
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            memory: Any = policy.memory(arms) if hasattr(policy, "memory") else Moments.empty(arms)
            groups = -(-arms // device.group_size(arms))
            size = arms + (groups if groups > 1 else 0)
            bounds, dues, counts = np.zeros(size, np.float32), np.zeros(size, np.int32), np.zeros(arms, np.int64)
            device.line_up(bounds, dues, arms)
            leader, leads, due, log_then, rival = 0, False, 0, 0.0, 0.0
            for n in range(pulls):
                contest = device.Contest(leader, counts[leader], 0.0, 0.0, -1, rival, due, log_then, leads)
                while not contest.decided:
                    contest = device.step(policy, memory, None, counts, bounds, dues, contest, n)
                    scored += 1
                    assert scored <= pulls * seeds * arms, "no end"
                leader, due, log_then, rival = contest.best, contest.due, contest.log_n, contest.bound
                assert leader == best_by_score(policy, memory, counts, log_of(n)), (seed, n)
                noise = 0.001 if isinstance(policy, policies.UCBM1) else 0.1
                cost, reward = 1.0 + (noise > 0.01) * noise * rng.standard_normal(), rewards[leader]
                memory.observe(leader, cost, reward + noise * rng.standard_normal())
                if memory.full():
                    memory = memory.grown()
                counts[leader] += 1
                leads = n + 1 < due and policy.score(memory.belief(leader), log_then) > rival
        return scored


class Warp:
    """Four threads that go through the loop together, in the interpreter."""

    LANES = 4

    def __init__(self, monkeypatch: Any) -> None:
        self.device: Any = backend.imported("outlay.engine.gpu.kernel")
        self.local, self.lock = threading.local(), threading.Lock()
        self.barrier, self.votes = threading.Barrier(self.LANES, timeout=20), [False] * self.LANES
        self.monkeypatch = monkeypatch
        stub = SimpleNamespace(
            grid=lambda _: self.local.lane,
            local=SimpleNamespace(
                array=lambda shape, kind: np.full(shape, 123, np.uint64 if kind is np.uint64 else float)
            ),
            any_sync=lambda _, vote: any(self.exchange(vote)),
            ballot_sync=lambda _, vote: sum(voted << i for i, voted in enumerate(self.exchange(vote))),
            popc=int.bit_count,
            atomic=SimpleNamespace(add=self.add),
        )
        for name, value in {
            "cuda": stub,
            "uint64": np.uint64,
            "of_row": lambda memory, row: type(memory)(row),
            "of_arm": lambda belief, arm: belief._replace(arm=int(arm)),
            "of_run": lambda memories, run: backend.each(lambda array: array[..., run], memories),
            "decide": self.device.decide_by_score,
        }.items():
            monkeypatch.setattr(self.device, name, value)

    def exchange(self, vote: Any) -> list[bool]:
        self.votes[self.local.lane] = bool(vote)
        self.barrier.wait()
        votes = list(self.votes)
        self.barrier.wait()
        return votes

    def add(self, tally: Any, i: int, value: int) -> None:
        with self.lock:
            tally[i] += value

    def launch(self, kernel: Any, arguments: Any) -> None:
        def thread(lane: int) -> None:
            self.local.lane = lane
            with contextlib.suppress(ArithmeticError):  # of a policy; the thread just ends, as on the device
                kernel(*arguments)

        threads = [threading.Thread(target=thread, args=(lane,)) for lane in range(self.LANES)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def play(self, task: Task, lazy: bool, limit: int) -> Task:
        """Play a task of fewer runs than lanes, at first in slices of `limit` pulls."""
        with self.monkeypatch.context() as patch:
            patch.setattr(backend, "THREADS", self.LANES)
            patch.setattr(backend, "_FIRST_SLICE", limit)
            chunk = backend._Chunk(backend._Plan(host(), task, lazy), task)
            if not isinstance(chunk.memories, Moments):
                for name in ("pick_up", "put_down"):
                    patch.setattr(self.device, name, self.device.leave)
                patch.setattr(self.device, "take_in", self.device.take_in_there)
                patch.setattr(self.device, "known_of", self.device.known_of_there)
            kernel = self.device.play_lazily if lazy else self.device.play_plainly
            chunk.plan.world = Laws(tuple(task.problem.arms))
            chunk._kernel = {(1, self.LANES): lambda *arguments: self.launch(kernel, arguments)}
            chunk.play(lambda share: None)
        return task


@needs_compiler
class TestWarp:
    @pytest.mark.parametrize(
        ("arms", "policy", "limit", "budget"),
        [
            (1, "UCBB1", 7, 50.0),
            (3, "UCBB1", 1, 50.0),
            (3, "UCBB1", 1000, 50.0),
            (17, "UCBB1", 13, 50.0),
            (4, "UCBB2", 30, 80.0),
            (2, "UCBM1", 50, 420.0),  # whose memory grows
        ],
    )
    def test_lazy_and_plain_play_give_the_same_numbers(self, monkeypatch, arms, policy, limit, budget):
        warp, budgets = Warp(monkeypatch), [1.0, 1.5, budget]
        lazy, plain = (task_of(gaussians(arms), BUILT_IN[policy], budgets, runs=3) for _ in range(2))
        warp.play(lazy, True, limit)
        warp.play(plain, False, 10**6)
        assert all((mine == theirs).all() for mine, theirs in zip(lazy.passages, plain.passages, strict=True))
        assert (lazy.passages.cost > budgets).all()

    def test_a_run_that_raises_is_noticed(self, monkeypatch):
        with pytest.raises(
            OutlayError, match=r"^a run of Raising raised an exception on the GPU; backend='threads' says which$"
        ):
            Warp(monkeypatch).play(task_of(gaussians(2), Raising(3), runs=3), False, 10**6)

    def test_a_reward_that_is_not_finite_is_refused(self, monkeypatch):
        task = task_of(outlay.Problem([Unsteady(1.0, 1.0)]), BUILT_IN["UCBB1"], [500.0], runs=3)
        with pytest.raises(OutlayError, match=r"run 0 of .* met a cost or reward that is not a finite number"):
            Warp(monkeypatch).play(task, False, 100)

    def test_a_memory_in_a_memory(self, monkeypatch):
        warp = Warp(monkeypatch)
        nested, flat = (
            warp.play(task_of(gaussians(3), policy, runs=3), False, 10) for policy in (Remembering(0.0), Greedy(0.0))
        )
        assert (nested.passages.cost == flat.passages.cost).all()


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
                patch.setattr(backend, "_may_be_lazy", lambda policy: False)
                plain = played(task_of(problem, policy, budgets=[3000.0]))
            same = (lazy.passages.pulls == plain.passages.pulls).all(axis=(1, 2))
            assert same.mean() > 0.99  # all of them, but for scores that differ in their last digit

    def test_runs_do_not_depend_on_chunks_slices_or_their_number(self, monkeypatch):
        whole = played(task_of(gaussians(3), BUILT_IN["UCBB1"]))
        monkeypatch.setattr(backend, "chunks", lambda runs, *_: [(0, 128), (128, runs)])
        monkeypatch.setattr(backend, "_FIRST_SLICE", 7)
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
