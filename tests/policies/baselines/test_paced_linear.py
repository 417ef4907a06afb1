"""LinUCB and LinTS with pacing: slow twins by numpy's linear algebra, on requests with an intercept."""

import math
from typing import Any

import numpy as np
import pytest
from tests.policies.baselines.examples import some
from tests.policies.baselines.test_choices import assert_compiled_runs_equal_interpreted_ones, tables

from outlay import simulate
from outlay.arms import ContextualProblem
from outlay.policies import Now
from outlay.policies import baselines as b

LIMITS: dict[str, Any] = {"budget": 60.0, "requests": 150}
EVERY: list[Any] = [b.LinUCB(features=2, **LIMITS), b.LinTS(features=2, **LIMITS), b.LinUCB(features=1)]


@pytest.mark.parametrize("policy", some(EVERY), ids=repr)
def test_compiled_runs_equal_interpreted_ones(policy: Any) -> None:
    assert_compiled_runs_equal_interpreted_ones(policy, tables(0))


class Slow:
    """Ridge regressions with an intercept that no penalty holds, solved anew from all samples."""

    def __init__(self) -> None:
        self.samples: list[list[tuple[Any, float, float]]] = [[], [], []]

    def guess(self, arm: int, request: Any) -> tuple[float, float, float]:
        x = np.array([[1.0, *each] for each, _, _ in self.samples[arm]])
        y = np.array([[reward, cost] for _, cost, reward in self.samples[arm]])
        inverse = np.linalg.inv(x.T @ x + np.diag([0.0, 1.0, 1.0]))
        z = np.array([1.0, *request])
        reward, cost = z @ inverse @ x.T @ y
        return reward, max(cost, y[:, 1].min()), math.sqrt(z @ inverse @ z)


@pytest.mark.parametrize("name", ["LinUCB", "LinTS"])
@pytest.mark.parametrize("pace", [1.0, 4.0])
def test_they_choose_as_their_slow_twin(name: str, pace: float) -> None:
    policy = getattr(b, name)(features=2, alpha=0.5, reward_bound=1.5, pace=pace, **LIMITS)
    memory, slow, rng, spent = policy.memory(3), Slow(), np.random.default_rng(2), 0.0
    for n in range(120):
        request = rng.normal(size=2)
        memory.arrive(request)
        arm = policy.choose(memory, Now(n, math.log(max(1, n)), spent), np.random.default_rng(n))
        if n < 3:
            assert arm == n
        else:
            draws = np.random.default_rng(n)
            speed = pace * math.sqrt(math.log(2) / 150)
            price = 1.5 * 150 / 60 / (1 + math.exp(-speed * (spent * 150 / 60 - n)))
            worth = []
            for each in range(3):
                reward, cost, q = slow.guess(each, request)
                high = min(1.5, reward + 0.5 * 1.5 * q)
                drawn = reward + 0.5 * 1.5 * q * draws.standard_normal() if name == "LinTS" else high
                worth.append(drawn - price * cost)
            assert arm == int(np.argmax(worth))
        cost = 0.1 + 0.3 * arm + 0.05 * abs(request[0])
        reward = 0.3 + 0.1 * arm * request[1] + 0.2 * rng.normal()
        memory.observe(arm, cost, reward)
        slow.samples[arm].append((request, cost, reward))
        spent += cost


@pytest.mark.soak  # a compilation of its own
def test_without_limits_money_has_no_price() -> None:
    x = np.linspace(-1, 1, 50)[:, None]
    problem = ContextualProblem(x, np.tile([0.1, 5.0], (50, 1)), np.hstack([0.4 + 0 * x, 0.6 + 0.3 * x]))
    result = simulate(problem, b.LinUCB(features=1, alpha=0.1), budgets=[np.inf], requests=400, runs=1)
    assert result.run_regret()[0, 0, 0] < 0.03 * result.attainable[0]
