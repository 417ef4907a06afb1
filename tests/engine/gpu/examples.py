"""What the tests of the GPU share: policies and laws of a user's, tasks, and a device in the host's memory."""

import importlib.util
import math
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from numpy.typing import NDArray

import outlay
from outlay import arms, policies
from outlay.beliefs import Belief, Moments
from outlay.engine import loop
from outlay.engine.gpu.backend import imported
from outlay.engine.gpu.philox import Philox
from outlay.engine.jit.numba_types import Laws
from outlay.engine.loop import Crossings
from outlay.engine.task import Task
from outlay.policies.protocol import with_limits

INSTALLED = importlib.util.find_spec("numba_cuda") is not None
needs_compiler = pytest.mark.skipif(not INSTALLED, reason="numba-cuda is not installed: device code is not compiled")


def has_gpu() -> bool:
    return INSTALLED and bool(imported("numba.cuda").is_available())


class Greedy(NamedTuple):
    bonus: float

    def score(self, belief: Belief, log_n: float) -> float:
        return belief.mean_reward + math.sqrt(self.bonus * (1.0 + log_n) / (1 + belief.pulls))


class Thompson(NamedTuple):
    """A user's randomised policy, with most of what a stream can do."""

    spread: float

    def sample(self, belief: Belief, log_n: float, rng: Any) -> Any:
        noise = rng.normal(0.0, 1.0) + rng.uniform(-1.0, 1.0) + rng.exponential() - rng.gamma(1.5)
        return belief.mean_reward + self.spread * noise / (1 + belief.pulls) + 1e-9 * rng.beta(2.0, 3.0)


class Raising(NamedTuple):
    after: int

    def score(self, belief: Belief, log_n: float) -> float:
        if belief.pulls > self.after:
            raise ArithmeticError("too many pulls")
        return belief.mean_reward


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
    x: float

    def memory(self, arms: int) -> Twofold:
        return Twofold(Moments.empty(arms), np.zeros(arms))

    def score(self, belief: Belief, log_n: float) -> float:
        return belief.mean_reward + self.x


class Blank(NamedTuple):
    """Scores that are no numbers at first."""

    after: int

    def score(self, belief: Belief, log_n: float) -> float:
        return belief.mean_reward + 0.01 * log_n if belief.pulls >= self.after else math.nan

    def phase(self, log_n: float) -> int:
        return 0


class Huge(NamedTuple):
    """A finite score; the others' are ∞ all the time."""

    height: float

    def score(self, belief: Belief, log_n: float) -> float:
        return self.height if belief.arm == 0 else math.inf

    def phase(self, log_n: float) -> int:
        return 0


class Toll(NamedTuple):
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


COINS = outlay.Problem([arms.Bernoulli(0.3, 0.5), arms.Uniform(0.1, 0.4, 0.0, 0.4), arms.Constant(1.5, 1.9)])
HARD: dict[str, Any] = {
    "RoundRobin": policies.RoundRobin(),
    "UCBB1": policies.UCBB1(0.01, 0.01, 0.0),
    "Frugal": policies.Frugal(),
    "Thrifty": policies.Thrifty(),
    "Ration": policies.Ration(),
    "randomised": Thompson(0.5),
}  # in hard mode


BUILT_IN = {
    "UCBB1": policies.UCBB1(0.01, 0.01, 0.0),
    "UCBM1": policies.UCBM1(0.01, 0.01, 0.0),
    "UCBB2": policies.UCBB2(1.5, 1.5),
    "UCBB2C": policies.UCBB2C(1.5, 1.5, 1.0),
    "Frugal": policies.Frugal(),
    "KLRate": policies.KLRate(),
    "Thrifty": policies.Thrifty(horizon="unknown"),
    "Thrifty, told": policies.Thrifty(budget=500.0),
    "Forgetful": policies.Forgetful(500.0),
    "Fixed": policies.Fixed(1),
    "RoundRobin": policies.RoundRobin(),
}


def task_of(problem: outlay.Problem, policy: Any, budgets: Any = (50.0, 200.0), runs: int = 300, **rest: Any) -> Task:
    limits = np.array(budgets, float)
    crossings = Crossings.blank(runs, len(limits), len(problem))
    rest = {"seed": 0, "max_pulls": 10**9, **rest}
    return Task(problem, type(policy).__name__, policy, limits, crossings=crossings, **rest)


def hard_task(policy: Any, budget: float, requests: int | None, runs: int = 3) -> Task:
    numbers = None if requests is None else np.array([requests])
    return task_of(COINS, with_limits(policy, budget, requests), [budget], runs, requests=numbers, hard=True)


def played_on_cpu(task: Task) -> Crossings:
    """The same runs, each by the CPU's loop in the interpreter, from the device's random numbers."""
    world, limits, advance = Laws(tuple(task.problem.arms)), task.limits, cast("Any", loop.advance)
    for run in range(task.runs):
        state = loop.RunState.start(len(task.problem), task.dearest if task.hard else None)
        memory, rng = task.memory()(), Philox.of(task.seed, run)
        rest = *state, *limits, *task.crossings.part(run)
        while state.marks[loop.PASSED] < len(task.budgets):
            memory = memory.enlarged() if memory.full() else memory  # type: ignore[attr-defined]
            advance(rng, world, task.policy, memory, *rest, 10**6)
    return task.crossings


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
