"""The engine against its slow twin, and what must change nothing."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay import Problem, arms, policies
from outlay.arms import catalogue
from outlay.engine.jit.compile import CannotCompile
from outlay.errors import InterpretedWarning
from tests.engine.slow import slow_run

MIX = Problem(
    [
        arms.Linear(arms.Gamma(1.0, 1.0, 0.5, 0.5), slope=0.5, noise=0.1, noise_sd=0.2),
        arms.Gaussian(1.0, 0.7, 0.3, 0.2, 0.4),
        arms.Empirical([0.5, 1.0, 2.5], [0.1, 0.9, 1.7]),
        arms.Discrete([-0.5, 1.0, 2.0], [1.0, 0.0, -1.0], [0.2, 0.5, 0.3]),
        arms.Empirical([1.0, 1.5], [0.6, 0.4]),
        arms.Gaussian(0.9, 0.5, 0.3, 0.2, -0.4),
        arms.Constant(1.2, 0.8),
    ]
)
PROBLEMS = {
    "G": catalogue.load("G"),
    "negative": catalogue.load("negative-costs"),
    "heavy": catalogue.load("heavy-tails"),
    "bounded": catalogue.load("bounded"),
    "mix": MIX,
}
BUDGETS = [3.0, 20.0, 60.0]


class Thompson(NamedTuple):
    scale: float = 1.0

    def sample(self, belief: Any, log_n: float, rng: Any) -> float:
        if belief.pulls == 0:
            return math.inf
        noise = rng.standard_normal() * self.scale / math.sqrt(belief.pulls)
        return float(belief.mean_reward / max(belief.mean_cost, 0.1) + noise)


# Every class of policies is a compilation for MIX, of seconds: these are scored, or choose, as the others do.
RARELY = ("M1", "M1 certain costs", "B2", "B2C", "uniform")


def everyone(problem: Problem, soak: bool = False) -> dict[str, Any]:
    """Policies of every kind; the rare ones too in `make soak`."""
    same = np.full(len(problem), 0.1)
    players = {
        "B1": policies.UCBB1(same, same, same, min_cost=0.05),
        "B1 bounded": policies.UCBB1(same, same, same, min_cost=0.05, cost_bound=0.1, reward_bound=0.1),
        "M1": policies.UCBM1(same, same, same, min_cost=0.05),
        "M1 certain costs": policies.UCBM1(0 * same, same, 0 * same, min_cost=0.05),
        "B2": policies.UCBB2(0.05, 0.1, min_cost=0.05),
        "B2C": policies.UCBB2C(0.05, 0.1, 1.0, min_cost=0.05),
        "fixed": policies.Fixed(1),
        "uniform": policies.RoundRobin(),
        "randomised": Thompson(),
    }
    return {label: policy for label, policy in players.items() if soak or label not in RARELY}


def few(problem: Problem) -> dict[str, Any]:
    return {"B1": everyone(problem)["B1"]}


# Every law, every policy, but not every pair: each is a compilation.
TWINS = [
    pytest.param("mix", everyone, id="mix"),
    pytest.param("mix", partial(everyone, soak=True), id="mix, everyone", marks=pytest.mark.soak),
    pytest.param("G", few, id="G"),
    *(pytest.param(name, few, id=name, marks=pytest.mark.soak) for name in ("negative", "heavy", "bounded")),
]


@pytest.mark.parametrize(("name", "chosen"), TWINS)
def test_the_engine_equals_its_slow_twin(name: str, chosen: Callable[[Problem], dict[str, Any]]) -> None:
    problem = PROBLEMS[name]
    players = chosen(problem)
    result = outlay.simulate(problem, players, budgets=BUDGETS, runs=3, seed=5)
    for p, policy in enumerate(result.policies.values()):
        for run in range(3):
            for b, (pulls, cost, reward) in enumerate(slow_run(problem, policy, BUDGETS, 5, run)):
                assert result.pulls[p, run, b].tolist() == pulls
                assert result.cost[p, run, b] == pytest.approx(cost, rel=1e-14)
                assert result.reward[p, run, b] == pytest.approx(reward, rel=1e-13, abs=1e-13)


def test_compiled_and_interpreted_runs_agree_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = outlay.simulate(MIX, everyone(MIX), budgets=BUDGETS, runs=2, seed=8)

    def refuse(*_: Any) -> None:
        raise CannotCompile("not today")

    monkeypatch.setattr("outlay.engine.jit.compile.compiled", refuse)
    with pytest.warns(InterpretedWarning, match="interpreted.*: not today"):
        interpreted = outlay.simulate(MIX, everyone(MIX), budgets=BUDGETS, runs=2, seed=8)
    assert equal(compiled, interpreted)


def equal(one: outlay.Result, other: outlay.Result) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("pulls", "cost", "reward", "oracle_reward")
    )


def test_budgets_together_or_apart_give_the_same() -> None:
    problem = MIX  # some of its costs are negative
    together = outlay.simulate(problem, everyone(problem), budgets=BUDGETS, runs=20, seed=9)
    for b, budget in enumerate(BUDGETS):
        apart = outlay.simulate(problem, everyone(problem), budgets=[budget], runs=20, seed=9)
        assert np.array_equal(apart.pulls[:, :, 0], together.pulls[:, :, b])
        assert np.array_equal(apart.cost[:, :, 0], together.cost[:, :, b])
        assert np.array_equal(apart.reward[:, :, 0], together.reward[:, :, b])
        assert np.array_equal(apart.oracle_reward[:, 0], together.oracle_reward[:, b])


def test_more_runs_and_more_policies_leave_the_first_ones_as_they_were() -> None:
    problem = PROBLEMS["mix"]
    few = outlay.simulate(problem, Thompson(), budgets=BUDGETS, runs=5, seed=3)
    more = outlay.simulate(problem, everyone(problem), budgets=BUDGETS, runs=23, seed=3)
    at = list(more.policies).index("randomised")
    assert np.array_equal(few.reward[0], more.reward[at, :5])
