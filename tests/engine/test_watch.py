"""Ration's choices by what is certain against those by a look at every arm, bit for bit."""

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import outlay.engine.compiler.vocabulary  # noqa: F401 (teaches numba the loop and all that it calls)
from outlay import Problem, simulate
from outlay.arms import Bernoulli, Constant, Discrete
from outlay.compiler.fingerprint import Reach
from outlay.compiler.records import coerced
from outlay.compiler.vocabulary import OPTIONS, WITHIN, learn
from outlay.formulas.choices.choose import Now, log_of
from outlay.formulas.requests import asked
from outlay.formulas.requests.terms import known_cost
from outlay.formulas.requests.watch import Watch, forget_watch
from outlay.policies import Ration
from tests.engine.tape import Tape, recorded, spread

RECORDED = recorded()


class Full(Ration):
    """Looks at every arm before every pull."""

    __slots__ = ()
    choose_lazily = None  # type: ignore[assignment]


def first_difference(
    rng: Any, world: Any, policy: Any, memory: Any, known: Any, end: int, rest: int, scales: Any
) -> int:
    """The first pull at which laziness changes the choice, as −1 − n; or how far the run came."""
    forget_watch(known)
    spent = 0.0
    for n in range(end):
        if n % rest == 0:
            forget_watch(known)
        now = Now(n, log_of(n), spent)
        arm = policy.choose(memory, now, rng)
        if policy.choose_lazily(memory, now, known, rng) != arm:
            return -1 - n
        cost, reward = world.pull(arm, rng)
        cost, reward = scales[0] * cost + scales[2], scales[1] * reward + scales[3]
        memory.observe(arm, cost, reward)
        spent += cost
        if n + 1 >= policy.known_requests or spent > policy.known_budget:
            break
    return end


@pytest.fixture(scope="module")
def play() -> Callable[..., int]:
    """`first_difference`, compiled as the engine compiles its loop."""
    for function in Reach(Ration, type(Ration().memory(1)), Tape, forget_watch, log_of).functions:
        learn(function)
    inner = numba.njit(forceinline=True, _nrt=False, **WITHIN)(first_difference)
    outer: Callable[..., int] = numba.njit(**OPTIONS)(
        lambda rng, world, policy, memory, known, end, rest, scales: inner(
            rng, world, policy, memory, known, end, rest, scales
        )
    )
    return outer


def some_policy(rng: np.random.Generator, arms: int, end: int, scales: Any, costs: Any) -> Ration:
    """Limits from next to nothing to none at all, mean costs told or not."""
    budget = None if rng.random() < 0.15 else spread(rng, 1.0, 3000.0) * (abs(scales[0]) + abs(scales[2]))
    requests = None if rng.random() < 0.15 else spread(rng, 5.0, 1e5) if rng.random() < 0.5 else float(end)
    told = costs if rng.random() < 0.3 else None
    bound = None if rng.random() < 0.5 else spread(rng, 0.1, 100.0) * scales[1]
    return Ration(costs=told, reward_bound=bound, slope=rng.uniform(0.05, 1.0), budget=budget, requests=requests)


@pytest.mark.parametrize("runs", [300, pytest.param(20_000, marks=pytest.mark.soak)])
def test_lazy_choices_are_those_of_a_look_at_every_arm(play: Callable[..., int], runs: int) -> None:
    """Random runs: 1 to 300 arms of all laws, scales from 1e-15 to 1e15, shifts that make costs or rewards ≤ 0."""
    means = RECORDED.mean(axis=1)
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        arms = int(spread(rng, 1, 301))
        laws = rng.integers(len(RECORDED), size=arms)
        end, rest = int(spread(rng, 30, 6000)), int(spread(rng, 20, 1e5))
        scales = np.concatenate([10.0 ** rng.choice([-15, 0, 0, 0, 3, 15], 2), np.zeros(2)])
        scales[2:] = scales[:2] * rng.choice([0.0, 0.0, 0.0, -1.0, 1.0], 2)
        policy = some_policy(rng, arms, end, scales, scales[0] * means[laws, 0] + scales[2])
        world, memory, known = Tape(RECORDED, laws), policy.memory(arms), Watch.start(arms)
        n = play(rng, world, coerced(policy), memory, known, end, rest, scales)
        assert n == end, f"run {seed}: {policy}, another choice at pull {-1 - n}"


PROBLEMS = {
    "coins": Problem([Bernoulli(0.1, 0.3), Bernoulli(0.4, 0.6), Bernoulli(0.9, 0.85), Bernoulli(0.6, 0.5)]),
    "free": Problem([Bernoulli(0.0, 0.2), Bernoulli(0.4, 0.6), Bernoulli(0.9, 0.85), Constant(0, 0)]),
    "refund": Problem([Discrete([-1, 0.5], [0, 0.5], [0.5, 0.5]), Constant(0.5, 0.6), Constant(1, 0.9)]),
}


@pytest.mark.parametrize("mode", ["until_exceeded", "hard"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_whole_runs_are_the_same(name: str, mode: Any) -> None:
    """Through `simulate`, one run after another; 0.4 for each request is a vertex of the coins."""
    problem, kinds = PROBLEMS[name], (Ration, Full)
    for share in (0.02, 0.4, 0.7, 2.0):
        one, other = (
            simulate(problem, kind(), [5.0, 600 * share], requests=600, runs=20, mode=mode, seed=3) for kind in kinds
        )
        assert np.array_equal(one.pulls, other.pulls)
        assert np.array_equal(one.reward, other.reward)


def test_few_arms_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten arms, after some rounds: less than one comparison per pull, not eight."""
    arms, rng = 10, np.random.default_rng(0)
    asks: list[int] = []

    def counted(memory: Any, arm: int) -> Any:
        asks.append(arm)
        return known_cost(memory, arm)

    monkeypatch.setattr(asked, "known_cost", counted)
    policy = Ration(budget=4000.0, requests=8000)
    memory, known, spent = policy.memory(arms), Watch.start(arms), 0.0
    forget_watch(known)
    first, last = 3_000, 6_000
    for n in range(last):
        if n == first:
            asks.clear()
        arm = policy.choose_lazily(memory, Now(n, log_of(n), spent), known, rng)
        cost = 0.2 * (arm + 1) * rng.uniform(0.5, 1.5)
        memory.observe(arm, cost, math.log1p(0.2 * (arm + 1)) - 0.1 * (arm % 3) + 0.1 * rng.standard_normal())
        spent += cost
    assert len(asks) / (last - first) < 1.0
