"""Lazy choices against the full scan, bit for bit."""

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numba
import numpy as np
import pytest

import outlay.engine.jit.numba_types  # noqa: F401 (teaches numba the loop and all that it calls)
from outlay import policies
from outlay.engine.jit.numba_types import OPTIONS, WITHIN, coerced, register
from outlay.formulas.argmax import best_by_score, log_of
from outlay.formulas.lazy_score import ScoreBounds, forget_score_bounds, lazy_best_by_score, phase_end
from outlay.policies import baselines
from outlay.policies.protocol import memory_of
from outlay.usercode import Reach
from tests.engine.tape import Tape, recorded, spread

RECORDED = recorded()


class Steps(NamedTuple):
    """Scores in steps: ties all the time, and every kind of number that is not one."""

    step: float = 0.5

    def score(self, belief: Any, log_n: float) -> float:
        if belief.pulls % 5 == 3:
            return math.nan if belief.arm % 2 else -math.inf
        if belief.pulls == 0 or belief.pulls < 0.2 * log_n:
            return math.inf
        reach = float(belief.mean_reward) + math.sqrt(log_n / belief.pulls)
        return self.step * math.floor(reach / self.step)

    def phase(self, log_n: float) -> int:
        return 0


def first_difference(
    rng: Any, world: Any, policy: Any, memory: Any, pulls: Any, race: Any, begin: int, end: int, rest: int
) -> int:
    """The first pull at which laziness changes the choice, as −1 − n; or how far the run came."""
    forget_score_bounds(race)
    for n in range(begin, end):
        if memory.full():
            return n
        if n % rest == 0:
            forget_score_bounds(race)
        arm = best_by_score(policy, memory, pulls, log_of(n))
        if lazy_best_by_score(policy, memory, pulls, n, race) != arm:
            return -1 - n
        cost, reward = world.pull(arm, rng)
        memory.observe(arm, cost, reward)
        pulls[arm] += 1
    return end


def compiled(policy: Any) -> Callable[..., int]:
    """`first_difference` for a kind of policy, compiled as the engine compiles its loop."""
    for function in Reach(type(policy), type(memory_of(policy, 1)), Tape).functions:
        register(function)
    inner = numba.njit(forceinline=True, _nrt=False, **WITHIN)(first_difference)
    outer: Callable[..., int] = numba.njit(**OPTIONS)(
        lambda rng, world, policy, memory, pulls, race, begin, end, rest: inner(
            rng, world, policy, memory, pulls, race, begin, end, rest
        )
    )
    return outer


def ucb_b1(rng: np.random.Generator, arms: int) -> Any:
    var_cost, var_reward = rng.exponential(spread(rng, 1e-6, 1.0), (2, arms))
    cov = rng.uniform(-1, 1, arms) * np.sqrt(var_cost * var_reward)
    bounds = rng.choice([0.0, spread(rng, 1e-4, 0.1)], 2)
    return policies.UCBB1(var_cost, var_reward, cov, rng.uniform(2.01, 6.0), 1e-3, *bounds)


def ucb_m1(rng: np.random.Generator, arms: int) -> Any:
    var_cost, var_reward = rng.exponential(spread(rng, 1e-7, 1e-2), (2, arms))
    return policies.UCBM1(var_cost, var_reward, np.zeros(arms), rng.uniform(2.01, 3.0), 1e-3)


def ucb_b2(rng: np.random.Generator, arms: int) -> Any:
    return policies.UCBB2(spread(rng, 1e-4, 0.3), spread(rng, 1e-4, 0.3), rng.uniform(2.01, 6.0))


def ucb_b2c(rng: np.random.Generator, arms: int) -> Any:
    return policies.UCBB2C(spread(rng, 1e-4, 0.3), spread(rng, 1e-4, 0.3), rng.uniform(0, 2), rng.uniform(2.01, 6.0))


def fieller_known(rng: np.random.Generator, arms: int) -> Any:
    var_cost, var_reward = rng.exponential(spread(rng, 1e-6, 1.0), (2, arms))
    cov = rng.uniform(-1, 1, arms) * np.sqrt(var_cost * var_reward)
    return policies.FiellerKnown(var_cost, var_reward, cov, spread(rng, 0.1, 4.0))


def fieller(rng: np.random.Generator, arms: int) -> Any:
    alpha = spread(rng, 0.1, 4.0)
    form: Any = str(rng.choice(["student", "plugin"]))
    return policies.Fieller(alpha, form)


def bernstein_rate(rng: np.random.Generator, arms: int) -> Any:
    return policies.BernsteinRate(spread(rng, 1e-4, 0.3), spread(rng, 1e-4, 0.3), spread(rng, 0.1, 4.0))


def median_rate(rng: np.random.Generator, arms: int) -> Any:
    return policies.MedianRate(spread(rng, 0.02, 1.0), float(rng.choice([1.5, 2.0])))


def catoni_rate(rng: np.random.Generator, arms: int) -> Any:
    known = (*rng.exponential(spread(rng, 1e-6, 1.0), (2, arms)), np.zeros(arms)) if rng.random() < 0.3 else ()
    return policies.CatoniRate(spread(rng, 0.02, 1.0), *known)


def steps(rng: np.random.Generator, arms: int) -> Any:
    return Steps(spread(rng, 0.01, 1.0))


def bounds(rng: np.random.Generator) -> dict[str, float]:
    return {"cost_bound": spread(rng, 0.5, 10), "reward_bound": spread(rng, 0.5, 10)}


def omega_star_ucb(rng: np.random.Generator, arms: int) -> Any:
    return baselines.OmegaStarUCB(spread(rng, 0.05, 4), int(rng.choice([0, 30])), **bounds(rng))


# With half of the runs. Every day some kinds; each is a compilation, and all of them go through PolicyContract.
INVERTED = [fieller, catoni_rate, fieller_known, bernstein_rate, median_rate, omega_star_ucb]
RARELY = [steps, ucb_b2, ucb_b2c, *INVERTED]


@pytest.mark.parametrize("runs", [100, pytest.param(3_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("make", [ucb_b1, ucb_m1, *(pytest.param(make, marks=pytest.mark.soak) for make in RARELY)])
def test_lazy_choices_are_those_of_the_full_scan(make: Callable[[np.random.Generator, int], Any], runs: int) -> None:
    """Random runs: 1 to 300 arms of all laws, random parameters, and everything forgotten now and then."""
    play = compiled(make(np.random.default_rng(0), 1))
    for seed in range(runs // 2 if make in (*INVERTED, ucb_m1) else runs):
        rng = np.random.default_rng(seed)
        arms = int(spread(rng, 1, 301))
        policy = coerced(make(rng, arms))
        world = Tape(RECORDED, rng.integers(len(RECORDED), size=arms))
        memory, pulls, race = memory_of(policy, arms), np.zeros(arms, np.int64), ScoreBounds.start(arms)
        n, end, rest = 0, int(spread(rng, 30, 3000)) + 20 * arms * (make is ucb_m1), int(spread(rng, 20, 1e5))
        while 0 <= n < end:
            n = play(rng, world, policy, memory, pulls, race, n, end, rest)
            memory = memory.enlarged() if memory.full() else memory
        assert n == end, f"run {seed}: {policy}, another choice at pull {-1 - n}"


class Counting(policies.UCBB1):
    """UCB-B1 that counts how often it is asked."""

    __slots__ = ()
    asked: ClassVar[list[int]] = []

    def score(self, belief: Any, log_n: float) -> float:
        self.asked.append(belief.arm)
        return super().score(belief, log_n)


@pytest.mark.parametrize(("arms", "most"), [(1, 1.1), (2, 1.1), (3, 1.2), (10, 1.5), (100, 4.0)])
def test_few_arms_are_scored(arms: int, most: float) -> None:
    """Arms far apart, after some rounds: hardly more than one score per pull, where a full scan has one per arm."""
    policy, rng = Counting(1e-4, 1e-4, 0.0), np.random.default_rng(0)
    memory, pulls, race = memory_of(policy, arms), np.zeros(arms, np.int64), ScoreBounds.start(arms)
    forget_score_bounds(race)
    first, last = 20 * arms, 40 * arms + 1000
    for n in range(last):
        if n == first:
            Counting.asked.clear()
        arm = lazy_best_by_score(policy, memory, pulls, n, race)
        memory.observe(arm, *(np.array([1.0, arm / arms]) + 0.01 * rng.standard_normal(2)).tolist())
        pulls[arm] += 1
    assert len(Counting.asked) / (last - first) < most


def test_the_end_of_a_phase_is_found_to_the_pull() -> None:
    policy = policies.UCBM1(0.1, 0.1, 0.0)
    n = 0
    for _ in range(60):
        end = phase_end(policy, n)
        assert policy.phase(log_of(n)) == policy.phase(log_of(end - 1)) != policy.phase(log_of(end))
        n = end
