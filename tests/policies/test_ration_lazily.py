"""What Ration's laziness rests on: edges that are kept, and bounds of an excess between two terms."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outlay.beliefs import Points
from outlay.formulas.choices.asking import MARGIN
from outlay.formulas.choices.boxes import TIMES, WIDTHS
from outlay.formulas.choices.choose import Now, log_of
from outlay.formulas.requests.bearings import bearings, bearings_lazily
from outlay.formulas.requests.compared import asked_on, excess_on
from outlay.formulas.requests.edges import edge_in_use
from outlay.formulas.requests.kept import is_kept, line, may_be_kept, survey
from outlay.formulas.requests.prices import NOTHING
from outlay.formulas.requests.terms import Terms, known_cost, terms_around
from outlay.formulas.requests.watch import LAST, Watch, forget_watch
from outlay.policies import Ration

# Numbers of a coarse grid, so that arms tie, lie on one line, cost nothing or give money back.
COSTS = st.sampled_from([-1.0, -0.25, 0.0, 0.0, 0.25, 0.5, 0.5, 1.0, 2.0, 40.0])
REWARDS = st.sampled_from([-0.5, 0.0, 0.25, 0.5, 0.5, 1.0, 8.0])
OUTCOMES = st.lists(st.tuples(COSTS, REWARDS), min_size=1, max_size=3)
LIMITS = st.sampled_from([None, 1.0, 3.0, 20.0, 60.0, 150.0, 5000.0])


@st.composite
def plays(draw: Any) -> tuple[Ration, list[Any], int]:
    arms = draw(st.lists(OUTCOMES, min_size=1, max_size=6))
    told = [float(np.mean([cost for cost, _ in arm])) for arm in arms] if draw(st.booleans()) else None
    policy = Ration(
        costs=told, reward_bound=draw(st.sampled_from([None, 1.0, 8.0])), slope=draw(st.sampled_from([0.1, 0.33, 1.0])),
        budget=draw(LIMITS), requests=draw(LIMITS),
    )  # fmt: skip
    return policy, arms, draw(st.integers(0, 2**32))


@settings(max_examples=150)
@given(plays())
def test_edges_terms_and_choices_are_those_of_a_look_at_every_arm(played: tuple[Ration, list[Any], int]) -> None:
    policy, arms, seed = played
    rng, memory, spent = np.random.default_rng(seed), policy.memory(len(arms)), 0.0
    watch, twin = Watch.start(len(arms)), Watch.start(len(arms))
    forget_watch(watch)
    forget_watch(twin)
    for n in range(150):
        now = Now(n, log_of(n), spent)
        arm = policy.choose(memory, now, rng)
        if memory.opened() > 0:
            limits = policy.known_budget, policy.known_requests
            assert bearings_lazily(*limits, memory, now, twin) == bearings(*limits, memory, now)
            twin.marks[LAST] = arm
        assert policy.choose_lazily(memory, now, watch, rng) == arm
        cost, reward = arms[arm][int(rng.integers(len(arms[arm])))]
        memory.observe(arm, cost, reward)
        spent += cost
        if n + 1 >= policy.known_requests or spent > policy.known_budget:
            break


@settings(max_examples=300)
@given(
    points=st.lists(st.tuples(COSTS, REWARDS), min_size=1, max_size=7),
    c=st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.75, 1.0, 3.0, math.inf]),
    moves=st.lists(st.tuples(st.integers(-12, 12), st.integers(-12, 12)), min_size=2, max_size=2),
)
def test_an_edge_that_is_kept_is_the_one_that_is_found(
    points: list[tuple[float, float]], c: float, moves: list[tuple[int, int]]
) -> None:
    """Its ends move by anything from a millionth to one: as long as it is kept, it is that of a look at every arm."""
    memory, row = Points.empty(len(points)), np.zeros(3)
    for arm, (cost, reward) in enumerate(points):
        memory.observe(arm, cost, reward)
    edge = edge_in_use(memory, c, 1.0)
    survey(memory, edge, NOTHING, NOTHING, row)
    for arm, (x, y) in zip((edge.low, edge.high), moves, strict=True):
        if arm != NOTHING:
            memory.costs[arm] += math.copysign(10.0 ** (abs(x) / 2.0 - 6.0), x)
            memory.rewards[arm] += math.copysign(10.0 ** (abs(y) / 2.0 - 6.0), y)
    if may_be_kept(memory, edge.low, edge.high, c, row):
        kept = line(memory, edge.low, edge.high)
        if is_kept(memory, kept, row):
            assert kept == edge_in_use(memory, c, 1.0)


@pytest.mark.parametrize("turns", [3_000, pytest.param(300_000, marks=pytest.mark.soak)])
def test_an_edge_that_is_kept_is_found_whatever_the_scales(turns: int) -> None:
    """Points over up to sixteen orders of magnitude, and points nearly on one line."""
    rng, kept, row = np.random.default_rng(0), 0, np.zeros(3)
    for _ in range(turns):
        arms, reach = int(rng.integers(2, 8)), rng.uniform(0.0, 8.0)
        costs = 10.0 ** rng.uniform(-reach, reach, arms) * rng.choice([1.0, 1.0, 1.0, 1.0, -1.0, 0.0], arms)
        rewards = 10.0 ** rng.uniform(-reach, reach, arms) * rng.choice([1.0, 1.0, 1.0, -1.0, 0.0], arms)
        if rng.random() < 0.5:
            start, price = 10.0 ** rng.uniform(-4.0, 4.0, 2)
            rewards = (start + price * costs) * (1.0 + small(rng, -14.0, arms))
        c = abs(float(rng.choice(costs))) if rng.random() < 0.5 else 10.0 ** rng.uniform(-reach, reach)
        edge = edge_in_use(of_points(costs, rewards), c, 1.0)
        survey(of_points(costs, rewards), edge, NOTHING, NOTHING, row)
        for arm in {edge.low, edge.high} - {NOTHING}:
            costs[arm], rewards[arm] = np.array([costs[arm], rewards[arm]]) * (1.0 + small(rng, -12.0, 2))
        memory = of_points(costs, rewards)
        if may_be_kept(memory, edge.low, edge.high, c, row):
            now = line(memory, edge.low, edge.high)
            if is_kept(memory, now, row):
                kept += 1
                assert now == edge_in_use(memory, c, 1.0)
    assert kept > turns / 2


def small(rng: np.random.Generator, least: float, count: int) -> Any:
    return 10.0 ** rng.uniform(least, -1.0 if least > -14.0 else -5.0, count) * rng.standard_normal(count)


def of_points(costs: Any, rewards: Any) -> Points:
    memory = Points.empty(len(costs))
    for arm, (cost, reward) in enumerate(zip(costs.tolist(), rewards.tolist(), strict=True)):
        memory.observe(arm, cost, reward)
    return memory


@pytest.mark.parametrize("box", [0, 1, 3, 6])
@pytest.mark.parametrize("limits", [(math.inf, 900.0), (400.0, 900.0), (900.0, 900.0), (300.0, math.inf)])
def test_an_excess_is_bounded_between_two_terms(box: int, limits: tuple[float, float]) -> None:
    """At the corners of a box and inside, whatever the currency: dues, money alone, or requests alone."""
    rng, certain = np.random.default_rng(box), 0
    for turn in range(120):
        memory, scale = Points.empty(6), 10.0 ** rng.uniform(-2.0, 0.0)
        means, count = rng.uniform(-0.1, 1.0, (6, 2)), int(rng.choice([2, 5, 40]))
        means[:, 1] -= rng.choice([0.0, 0.0, 0.0, 1.0])
        for arm in range(6):
            for z, w in rng.standard_normal((count, 2)).tolist():
                memory.observe(arm, means[arm, 0] + scale * z, float(max(0.0, means[arm, 1] + scale * (z + w))))
        if turn % 3 == 0:
            memory.know_cost(0, float(means[0, 0]))
        at = bearings(*limits, memory, Now(6 * count, 1.0, float(memory.costs.sum()) * count))
        low, high = terms_around(at.terms, WIDTHS[box], TIMES[box], 4.0 if box == 0 else 1.0)
        for arm in range(6):
            bound = excess(memory, arm, low, high)
            certain += bound > 0.0
            for _ in range(12):
                value = excess(memory, arm, *[between(rng, at.terms, low, high)] * 2)
                assert bound <= value + MARGIN
    assert certain > 10


def excess(memory: Points, arm: int, low: Terms, high: Terms) -> float:
    return excess_on(asked_on(0.33, low, high), known_cost(memory, arm), low, high)


def between(rng: np.random.Generator, terms: Terms, low: Terms, high: Terms) -> Terms:
    """Some terms of a box; the worth of a request is what a request counts for, or 0."""
    weights = rng.choice([0.0, 1.0, rng.random()], len(low))
    made = [
        b if w == 1.0 or a == b else x if not math.isfinite(a) else a + w * (b - a)
        for a, b, w, x in zip(low, high, weights, terms, strict=True)
    ]
    found = Terms(*map(float, made))
    return found._replace(worth=found.request if terms.worth > 0.0 else 0.0)
