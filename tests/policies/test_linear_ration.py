"""LinearRation: the whole choice against a slow twin, and what it must do with useless, useful and unknown things."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.policies.slow_linear_ration import Slow

from outlay import simulate
from outlay.arms import ContextualProblem
from outlay.beliefs import LinearMoments
from outlay.beliefs.linear import REWARD, combined
from outlay.engine.oracle import trace
from outlay.errors import BadParameter, NotCovered
from outlay.formulas.argmax import Now
from outlay.formulas.pacing import FINEST, enough, price_at, price_index
from outlay.policies import LinearRation, Ration

ARMS, FEATURES = 3, 2
COSTS = [0.1, 0.5, 1.5]
LIMITS: list[dict[str, Any]] = [
    {"budget": 60.0, "requests": 150},
    {"budget": 20.0, "requests": 150},
    {"budget": 60.0},
    {"requests": 120},
    {"budget": 60.0, "requests": 150, "costs": COSTS},
    {"budget": 8.0, "requests": 150, "costs": COSTS, "reward_bound": 1.0, "alpha": 1.0},
    {},
]


def tape(rng: np.random.Generator, arm: int, request: Any, coins: bool) -> tuple[float, float]:
    mean = 0.4 + 0.15 * arm + 0.1 * (arm - 1) * request[0] - 0.1 * request[1]
    cost = COSTS[arm] * math.exp(0.3 * request[1] + 0.1 * rng.normal())
    return cost, float(rng.random() < mean) if coins else mean + 0.3 * rng.normal()


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("coins", [True, False])
def test_it_chooses_as_its_slow_twin(limits: dict[str, Any], coins: bool) -> None:
    policy, rng = LinearRation(features=FEATURES, **limits), np.random.default_rng(3)
    memory, slow, spent, sure = policy.memory(ARMS), Slow(ARMS, FEATURES, limits.get("costs")), 0.0, 0
    for n in range(160):
        if spent > policy.known_budget or n >= policy.known_requests:
            break
        request = rng.normal(size=FEATURES)
        memory.arrive(request)
        slow.requests.append(request)
        arm = policy.choose(memory, Now(n, math.log(max(1, n)), spent), np.random.default_rng(n))
        if n < 30 or n % 4 == 0:
            bounds = policy.known_budget, policy.known_requests, policy.alpha, policy.known_bound
            expected = slow.choose(*bounds, np.random.default_rng(n))
            assert expected in (arm, None), (n, spent)
            sure += expected is not None
        cost, reward = tape(rng, arm, request, coins)
        if n % 7 == 0:  # told of another request
            request = rng.normal(size=FEATURES)
            memory.observe_with(request, arm, cost, reward)
        else:
            memory.observe(arm, cost, reward)
        slow.learn(arm, request, cost, reward)
        spent += cost
    assert sure > 20
    for arm in range(ARMS):
        assert memory.levels[:, arm] == pytest.approx(slow.lines[arm][0], abs=1e-9)
        assert pytest.approx(slow.lines[arm][1], abs=1e-9) == memory.lines[:, :, arm].T


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_its_chances_are_those_of_its_choices(limits: dict[str, Any]) -> None:
    """The share of 2,000 draws is within 5 standard errors: false alarms 6e-7 a look, 0 where it is sure."""
    policy, rng, mixed, spent = LinearRation(features=FEATURES, **limits), np.random.default_rng(5), 0, 0.0
    memory, arms = policy.memory(ARMS), np.arange(ARMS)
    for n in range(120):
        request = rng.normal(size=FEATURES)
        memory.arrive(request)
        now = Now(n, math.log(max(1, n)), spent)
        chances = policy.chances(memory, arms, now)
        assert chances.sum() == pytest.approx(1.0)
        arm = policy.choose(memory, now, rng)
        assert chances[arm] > 0.0
        if 0.0 < chances[arm] < 1.0 and mixed < 4:
            mixed += 1
            draws = np.array([policy.choose_among(memory, arms, now, np.random.default_rng(k)) for k in range(2000)])
            found = np.array([(draws == each).mean() for each in arms])
            assert (np.abs(found - chances) <= 5.0 * np.sqrt(chances * (1.0 - chances) / 2000)).all()
        cost, reward = tape(rng, arm, request, coins=True)
        memory.observe(arm, cost, reward)
        spent += cost
    assert mixed > 0 or "requests" not in limits or limits.get("budget", 0.0) < 20.0


def problem(features: int, useful: bool, coin: bool = True) -> ContextualProblem:
    rng = np.random.default_rng(features)
    x = rng.standard_normal((2000, features))
    turns = np.outer(x[:, 0], [-0.2, 0.0, 0.2]) * useful
    rewards = np.clip(np.array([0.4, 0.5, 0.6]) + turns, 0, 1)
    return ContextualProblem(x, np.tile([0.1, 0.4, 1.0], (2000, 1)), rewards, cost_noise=0.3, coin=coin)


@pytest.mark.parametrize("mode", ["until_exceeded", pytest.param("hard", marks=pytest.mark.soak)])
def test_compiled_and_interpreted_runs_are_equal_and_the_hard_cap_holds(mode: Any) -> None:
    world, policy = problem(4, useful=True), LinearRation(features=4)
    result = simulate(world, policy, budgets=[40.0, 60.0], requests=[150, 200], runs=3, seed=5, mode=mode)
    for run, limit in ((0, 0), (2, 1)):
        steps = list(trace(world, policy, float(result.budgets[limit]), 5, run, requests=[150, 200][limit], mode=mode))
        assert [s.arm for s in steps].count(1) == result.pulls[0, run, limit, 1]
        assert math.fsum(s.cost for s in steps) == pytest.approx(result.cost[0, run, limit], rel=1e-12)
        assert math.fsum(s.reward for s in steps) == result.reward[0, run, limit]
    if mode == "hard":
        assert (result.cost <= result.budgets).all()


@pytest.mark.parametrize("budget", [1.5, 8.0, 40.0])
def test_a_hard_cap_is_never_passed(budget: float) -> None:
    world = problem(4, useful=True)
    for run in range(3):
        for policy in (LinearRation(features=4), LinearRation(features=4, costs=world.mean_costs)):
            *_, last = trace(world, policy, budget, run=run, requests=100, mode="hard")
            assert last.spent <= budget


def test_useful_features_pay_and_useless_ones_cost_little() -> None:
    """Beside Ration, which does not look at them: 40 runs, standard errors of about 0.6 %."""
    share = {}
    for useful in (True, False):
        world = problem(10, useful)
        players: dict[str, Any] = {"with": LinearRation(features=10), "without": Ration()}
        result = simulate(world, players, budgets=[400.0], requests=1000, runs=40, seed=1)
        share[useful] = result.reward[0].mean() / result.reward[1].mean()
        assert (result.run_regret() == world.attainable(400.0, 1000) - result.reward).all()
    assert share[True] > 1.1
    assert share[False] > 0.98


def test_arms_too_dear_to_try_are_not_tried_where_costs_are_told() -> None:
    world = ContextualProblem(np.zeros((2, 1)), [[0.01, 50.0]] * 2, [[0.5, 1.0]] * 2, coin=True)
    told = LinearRation(features=1, costs=world.mean_costs)
    result = simulate(world, {"told": told, "not": LinearRation(features=1)}, budgets=[10.0], requests=500, runs=2)
    assert (result.pulls[0, :, 0, 1] == 0).all()
    assert result.reward[0].mean() > 200 > result.reward[1].mean()


def test_the_price_does_not_depend_on_where_the_search_starts() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        hopes, costs = rng.random((3, 20)), rng.exponential(size=(3, 20))
        left = float(rng.exponential())
        found = {price_index(hopes, costs, left, start) for start in (-1024, -3, 0, 40, 1024)}
        assert len(found) == 1
        index = found.pop()
        assert enough(hopes, costs, left, index)
        assert index == -1024 or not enough(hopes, costs, left, index - 1)


def test_without_a_number_of_requests_the_price_is_the_best_rate() -> None:
    """The most reward per cost of any rule that serves all requests: no arm alone has it where arms change places."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        hopes, costs = rng.random((3, 6)), rng.uniform(0.1, 2.0, (3, 6))
        rules = np.array([*product(range(3), repeat=6)])  # an arm for each request
        best = (hopes[rules, range(6)].sum(axis=1) / costs[rules, range(6)].sum(axis=1)).max()
        assert best >= (hopes.sum(axis=1) / costs.sum(axis=1)).max()
        assert best <= price_at(price_index(hopes, costs, 0.0, 0)) < best * math.exp(1 / FINEST) * (1 + 1e-12)


def test_an_arm_that_comes_later_and_pulls_under_way() -> None:
    policy = LinearRation(features=1, budget=90.0, requests=100)
    memory, rng = policy.memory(2), np.random.default_rng(0)
    for n in range(40):
        memory.arrive(rng.normal(size=1))
        memory.observe(n % 2, 1.0, 0.5 + 0.1 * (n % 2))
    wider = memory.with_new_arm()
    assert policy.choose(wider, Now(40, 3.7, 40.0), rng) == 2
    wider.observe(2, 0.5, 2.0)
    assert wider.expected[REWARD, 2, :3] == pytest.approx(2.0)
    assert memory.marks.tolist()[:1] == [40]
    assert wider.belief(3).pulls == 41
    lines = wider.lines.copy()
    wider.add_expected(0, 5, 1.0, 0.5)
    assert (wider.lines == lines).all()
    assert wider.belief(0).pulls == 25


def test_the_inverse_stays_one() -> None:
    memory, rng = LinearMoments.empty(1, 8), np.random.default_rng(0)
    matrix = 2.0 * np.eye(8)
    for n in range(5000):
        x, before = rng.normal(size=8), memory.centres[0].copy()
        memory.arrive(x)
        memory.observe(0, 1.0, 0.0)
        matrix += n / (n + 1) * np.outer(x - before, x - before)
    assert matrix @ memory.inverse[0] == pytest.approx(np.eye(8), abs=1e-10)
    assert combined(memory.inverse[0], np.ones(8)) == pytest.approx(memory.inverse[0].sum(axis=0))


def test_what_does_not_fit_is_refused() -> None:
    world = problem(4, useful=True)
    with pytest.raises(BadParameter, match=r"^features of LinearRation must be 4, as many as the problem has; got 3$"):
        simulate(world, LinearRation(features=3), budgets=[9.0], requests=9)
    with pytest.raises(BadParameter, match=r"^costs of LinearRation must be one for each of 3 arms; got "):
        simulate(world, LinearRation(features=4, costs=[1.0]), budgets=[9.0], requests=9)
    for wrong in (0, 65, 1.5, True, "2"):
        with pytest.raises(BadParameter, match=r"^features of LinearRation must be "):
            LinearRation(features=wrong)  # type: ignore[arg-type]
    with pytest.raises(NotCovered, match="not on a GPU"):
        simulate(world, LinearRation(features=4), budgets=[9.0], requests=9, backend="cuda")
