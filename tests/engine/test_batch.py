"""Many runs by one generator and one memory, against the slow twin: a new generator and a new memory for each run."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay import Problem, arms, policies
from outlay.beliefs import Moments
from outlay.engine import threads
from outlay.engine import threads as batch
from outlay.engine.bulk_random import arrays_in, can_be_packed, packed
from outlay.engine.jit.compile import CannotCompile, program_of
from outlay.engine.loop import Crossings
from outlay.engine.task import Task
from outlay.policies import baselines
from outlay.policies.protocol import memory_of
from tests.golden.examples import PLAYERS


class Dice(NamedTuple):
    """Costs by whole numbers, of which numpy draws two at once: a run leaves half of a draw over, now and then."""

    least: float
    reward: float

    def draw(self, rng: Any) -> tuple[float, float]:
        return self.least + 0.25 * rng.integers(0, 4), self.reward * rng.random()

    def moments(self) -> tuple[float, float, float, float, float]:
        return self.least + 0.375, self.reward / 2, 0.078125, self.reward**2 / 12, 0.0


DICE = Problem([Dice(0.5, 1.0), Dice(0.75, 1.8)])
PAIRS = Problem([arms.Gaussian(1.0, 0.5, 0.3, 0.3), arms.Gaussian(1.0, 0.8, 0.3, 0.3)])  # others compile this law too
KNOWN: Any = {"var_cost": [0.2, 0.1], "var_reward": [0.1, 0.1], "cov": [0.0, 0.0]}


class Stretching(NamedTuple):
    """A memory that grows, and tells how large it is."""

    samples: Any
    count: Any

    def observe(self, arm: int, cost: float, reward: float) -> None:
        self.samples[self.count[0]] = reward
        self.count[0] += 1
        self.count[1 + arm] += 1

    def belief(self, arm: int) -> tuple[int, int]:
        return len(self.samples), int(self.count[1 + arm])

    def full(self) -> bool:
        return bool(self.count[0] == len(self.samples))

    def enlarged(self) -> "Stretching":
        return Stretching(np.concatenate([self.samples, np.zeros(7)]), self.count.copy())


class BySize(NamedTuple):
    """A policy whose choices depend on the size of its memory: arm 1 where it has grown once, in turns elsewhere."""

    size: int = 5

    def memory(self, arms: int) -> Stretching:
        return Stretching(np.zeros(self.size), np.zeros(1 + arms, np.int64))

    def score(self, belief: Any, log_n: float) -> float:
        return 0.0 if belief[0] == self.size + 7 else -float(belief[1])


# One policy for each class of memories, and what its runs spend.
BY_MEMORY: dict[str, tuple[Any, float]] = {
    "Moments": (baselines.Greedy(), 60.0),
    "Blocks": (policies.UCBM1(**KNOWN), 450.0),  # it grows
    "Samples": (policies.CatoniRate(), 60.0),
    "PooledMoments": (policies.KLRate(evidence="sample", reward_bound=1.0), 60.0),
    "SequentialMoments": (policies.Thrifty(budget=60.0), 60.0),
    "Coins": (baselines.BTS(cost_bound=1.5, reward_bound=1.0), 60.0),
    "Truncated": (baselines.RobustUCBTruncated(cost_moment=2.0, reward_moment=2.0), 60.0),
    "Stretching": (BySize(), 40.0),
}


def played(
    policy: Any, budget: float, runs: int, seed: int, first: int = 0, workers: int = 2, problem: Problem = DICE
) -> Crossings:
    """The crossings of some runs."""
    budgets = np.array([budget / 7, budget])
    crossings = Crossings.blank(runs, 2, len(problem))
    task = Task(problem, "some", policy, budgets, seed, 10**6, crossings, first, warn=False)
    threads.run([task], workers, lambda _: None)
    return crossings


def equal(one: Crossings, other: Crossings) -> bool:
    return all(map(np.array_equal, one, other))


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From the call on, nothing is compiled."""

    def refuse(*_: Any) -> None:
        raise CannotCompile("not today")

    return lambda: monkeypatch.setattr("outlay.engine.jit.compile.compiled", refuse)


EVERY_DAY = ("SequentialMoments",)  # each is a compilation; what is copied is tested below, for all of them


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in EVERY_DAY else pytest.mark.soak) for name in BY_MEMORY]
)
def test_every_memory_is_as_good_as_new_in_every_run(name: str, interpreted: Callable[[], None]) -> None:
    policy, budget = BY_MEMORY[name]
    problem = PAIRS if name == "SequentialMoments" else DICE
    assert type(memory_of(policy, 2)).__name__ == name
    seeds = {3: 0, 2**32 + 5: 0, 2**64 + 9: 7, 2**128 + 1: 2**32 - 5}  # and the first run's number
    fast = [played(policy, budget, 5, seed, first, problem=problem) for seed, first in seeds.items()]
    assert not program_of(Task(problem, name, policy, np.ones(1), 0, 9, Crossings.blank(1, 1, 2))).alone
    interpreted()
    for crossings, (seed, first) in zip(fast, seeds.items(), strict=True):
        for i in range(5):
            assert equal(crossings.part(slice(i, i + 1)), played(policy, budget, 1, seed, first + i, problem=problem))
    assert len(np.unique(np.concatenate([crossings.reward for crossings in fast])[:, 1])) > 5


def test_every_policy_of_outlay_has_such_a_memory() -> None:
    kinds = set()
    for policy in (*PLAYERS.values(), policies.Thrifty()):
        one, other = memory_of(policy, 3), memory_of(policy, 3)
        assert can_be_packed(one, other)
        kinds.add(type(one).__name__)
    assert kinds == BY_MEMORY.keys() - {"Stretching"}


@pytest.mark.parametrize("name", BY_MEMORY)
def test_copying_the_words_back_undoes_everything(name: str) -> None:
    policy, _ = BY_MEMORY[name]
    memory, words = packed(memory_of(policy, 3))
    blank, rng = words.copy(), np.random.default_rng(2)
    while words.ctypes.data % 64 == 0 and not memory.full() and memory.belief(0)[1] < 40:
        memory.observe(int(rng.integers(3)), rng.random(), rng.random())
    assert not np.array_equal(words, blank)
    words[:] = blank
    for array, fresh in zip(arrays_in(memory), arrays_in(memory_of(policy, 3)), strict=True):
        assert (array.dtype, array.shape, array.flags.c_contiguous) == (fresh.dtype, fresh.shape, True)
        assert array.tobytes() == fresh.tobytes()


def test_without_access_to_a_generator_the_numbers_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = BySize()
    fast = played(policy, 80.0, 30, seed=2**100)
    monkeypatch.setattr("outlay.engine.jit.compile.can_open", lambda: False)
    monkeypatch.setattr("outlay.engine.bulk_random.SharedGenerator.make", None)
    assert equal(fast, played(policy, 80.0, 30, seed=2**100))


def test_batches_and_slices_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = BySize()
    whole = played(policy, 40.0, 100, seed=4)
    monkeypatch.setattr("outlay.engine.threads._FIRST_SLICE", 3)
    monkeypatch.setattr("outlay.engine.threads._SLICE_SECONDS", 0.0)
    for size in ("_BATCH_PULLS", "_FEWEST_PULLS", "_BATCH_NUMBERS", "_SHARES"):
        with monkeypatch.context() as patch:
            patch.setattr(batch, size, 1)
            assert equal(whole, played(policy, 40.0, 100, seed=4, workers=3))


def test_runs_that_have_ended_are_kept_though_their_batch_has_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_BATCH_PULLS", 10**12)
    monkeypatch.setattr(batch, "_SHARES", 1)

    def interrupt(done: float) -> None:
        if done >= 0.2:
            raise KeyboardInterrupt

    given: dict[str, Any] = {"budgets": [1e4], "workers": 1, "seed": 3}
    some = outlay.simulate(PAIRS, policies.Fixed(1), runs=4000, partial=True, progress=interrupt, **given)
    assert 400 <= some.runs < 4000
    assert some == outlay.simulate(PAIRS, policies.Fixed(1), runs=some.runs, **given)


class Held(NamedTuple):
    """A memory of whatever it is given."""

    first: Any
    second: Any = 0.0


TABLE = np.zeros(3)
FIXED = np.ones(3)
FIXED.setflags(write=False)
MADE: dict[str, tuple[Callable[[], Any], bool]] = {
    "numbers": (lambda: Held(2, math.nan), True),
    "arrays": (lambda: Held(np.zeros(3), np.zeros((2, 2), order="F")), True),
    "nested": (lambda: Held(Moments.empty(2), (np.ones(1), 3)), True),
    "a table that nobody can change": (lambda: Held(FIXED, np.zeros(2)), True),
    "a table that all share": (lambda: Held(TABLE), False),
    "a part of such a table": (lambda: Held(np.zeros(1), TABLE[1:]), False),
    "an array twice": (lambda: Held(*[np.zeros(3)] * 2), False),
    "every second number": (lambda: Held(np.zeros(6)[::2]), False),
    "a list": (lambda: Held([0.0]), False),
    "objects": (lambda: Held(np.zeros(2, object)), False),
    "chance": (lambda: Held(np.random.default_rng().random(2)), False),
}


@pytest.mark.parametrize("what", MADE)
def test_which_memories_serve_all_runs(what: str) -> None:
    make, can = MADE[what]
    assert can_be_packed(make(), make()) == can
    if can:
        memory, _ = packed(make())
        assert repr(memory) == repr(make())
