"""Choices by certificate against the comparison of every arm, bit for bit."""

from collections.abc import Callable
from typing import Any, ClassVar

import numba
import numpy as np
import pytest
from numba.extending import overload

import outlay.engine.jit.numba_types  # noqa: F401 (teaches numba the loop and all that it calls)
from outlay import policies
from outlay.engine.jit.numba_types import OPTIONS, WITHIN, coerced, register
from outlay.formulas.argmax import best_by_excess, best_of_opened
from outlay.formulas.lazy_leader import LeaderBounds, forget_leader_bounds, lazy_best_by_excess, lazy_best_of_opened
from outlay.policies.protocol import memory_of
from outlay.usercode import Reach
from tests.engine.tape import Tape, recorded, spread

RECORDED = recorded()


def first_difference(
    rng: Any, world: Any, policy: Any, memory: Any, pulls: Any, box: Any, end: int, rest: int, scales: Any
) -> int:
    """The first pull at which laziness changes the choice, as −1 − n; or how far the run came."""
    forget_leader_bounds(box)
    for n in range(end):
        if n % rest == 0:
            forget_leader_bounds(box)
        arm, lazy = full_and_lazy(policy, memory, pulls, box, n, rng)
        if lazy != arm:
            return -1 - n
        cost, reward = world.pull(arm, rng)
        own = scales[4 + arm]
        memory.observe(arm, own * (scales[0] * cost + scales[2]), own * (scales[1] * reward + scales[3]))
        pulls[arm] += 1
    return end


def full_and_lazy(policy: Any, memory: Any, pulls: Any, box: Any, n: int, rng: Any) -> tuple[int, int]:
    """Both choices: one of the two below, by the kind of policy."""
    raise NotImplementedError


def of_all(policy: Any, memory: Any, pulls: Any, box: Any, n: int, rng: Any) -> tuple[int, int]:
    return best_by_excess(policy, memory, pulls), lazy_best_by_excess(policy, memory, pulls, box)


def of_opened(policy: Any, memory: Any, pulls: Any, box: Any, n: int, rng: Any) -> tuple[int, int]:
    if n == 0:
        memory.shuffle(rng)
    return best_of_opened(policy, memory, pulls), lazy_best_of_opened(policy, memory, pulls, box)


overload(full_and_lazy, strict=False, jit_options=WITHIN)(
    lambda policy, memory, pulls, box, n, rng: (
        of_opened if hasattr(policy.instance_class, "excess_of_new_arm") else of_all
    )
)


def compiled(policy: Any) -> Callable[..., int]:
    """`first_difference` for a kind of policy, compiled as the engine compiles its loop."""
    for function in Reach(type(policy), type(memory_of(policy, 1)), Tape, best_by_excess, best_of_opened).functions:
        register(function)
    inner = numba.njit(forceinline=True, _nrt=False, **WITHIN)(first_difference)
    outer: Callable[..., int] = numba.njit(**OPTIONS)(
        lambda rng, world, policy, memory, pulls, box, end, rest, scales: inner(
            rng, world, policy, memory, pulls, box, end, rest, scales
        )
    )
    return outer


def kl_rate(rng: np.random.Generator) -> Any:
    evidence: Any = "sample" if rng.random() < 0.03 else "closed"
    bound = None if rng.random() < 0.6 else spread(rng, 0.1, 1e3)
    schedule: Any = str(rng.choice(["plus", "half", "one"]))
    return policies.KLRate(schedule, evidence, bound)


def frugal(rng: np.random.Generator) -> Any:
    bound = None if rng.random() < 0.6 else spread(rng, 0.1, 1e3)
    return policies.Frugal(rng.uniform(0.05, 1.0), rng.uniform(0.0, 9.0), bound)


def thrifty(rng: np.random.Generator) -> Any:
    budget = None if rng.random() < 0.4 else spread(rng, 1.0, 3000.0)
    return policies.Thrifty(rng.uniform(0.05, 1.0), budget=budget)


@pytest.mark.parametrize("runs", [25, pytest.param(10_000, marks=pytest.mark.soak)])
# Each is a compilation; every day the default's will do: all of them go through PolicyContract.
@pytest.mark.parametrize("make", [*(pytest.param(make, marks=pytest.mark.soak) for make in (kl_rate, frugal)), thrifty])
def test_choices_by_certificate_are_those_of_the_full_comparison(
    make: Callable[[np.random.Generator], Any], runs: int
) -> None:
    """Random runs: 1 to 1000 arms of all laws, scales from 1e-15 to 1e15, shifts that make costs or rewards ≤ 0.

    In a third of them each arm has a scale of its own.
    """
    play = compiled(make(np.random.default_rng(0)))
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        arms = int(spread(rng, 1, 1001))
        policy = make(rng)
        world = Tape(RECORDED, rng.integers(len(RECORDED), size=arms))
        memory, pulls, box = memory_of(policy, arms), np.zeros(arms, np.int64), LeaderBounds.start(arms)
        end, rest = int(spread(rng, 30, 3000)), int(spread(rng, 20, 1e5))
        scales = np.concatenate([10.0 ** rng.choice([-15, 0, 0, 0, 3, 15], 2), np.zeros(2)])
        scales[2:] = scales[:2] * rng.choice([0.0, 0.0, 0.0, -1.0, 1.0], 2)
        scales = np.append(scales, 10.0 ** rng.uniform(-3.0, 3.0, arms) if seed % 3 == 0 else np.ones(arms))
        if getattr(policy, "budget", None):
            policy = policy._replace(budget=policy.budget * scales[0])
        n = play(rng, world, coerced(policy), memory, pulls, box, end, rest, scales)
        assert n == end, f"run {seed}: {policy}, another choice at pull {-1 - n}"


class Counting(policies.Frugal):
    """Frugal that counts how often it is asked."""

    __slots__ = ()
    asked: ClassVar[list[int]] = []

    def excess(self, belief: Any, low: Any, high: Any) -> float:
        self.asked.append(belief.arm)
        return super().excess(belief, low, high)


def test_few_arms_are_compared() -> None:
    """Thirty arms, some close behind the leader: less than one comparison in three pulls, not 29 per pull."""
    policy, rng, arms = Counting(), np.random.default_rng(0), 30
    memory, pulls, box = memory_of(policy, arms), np.zeros(arms, np.int64), LeaderBounds.start(arms)
    forget_leader_bounds(box)
    first, last = 4_000, 10_000
    for n in range(last):
        if n == first:
            Counting.asked.clear()
        arm = lazy_best_by_excess(policy, memory, pulls, box)
        memory.observe(arm, *(np.array([1.0, (arm + 1) / arms]) + 0.1 * rng.standard_normal(2)).tolist())
        pulls[arm] += 1
    assert len(Counting.asked) / (last - first) < 0.3
