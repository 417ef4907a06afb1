"""The engine against its slow twin, and what must change nothing."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

import outlay
from outlay import Problem, arms, policies
from outlay.arms import catalogue
from outlay.engine.compiler.dispatch import CannotCompile
from outlay.errors import BadParameter, InterpretedWarning, OutlayError, RunTooLong
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
    """A randomised policy of a user's own."""

    scale: float = 1.0

    def sample(self, belief: Any, log_n: float, rng: Any) -> float:
        if belief.pulls == 0:
            return math.inf
        noise = rng.standard_normal() * self.scale / math.sqrt(belief.pulls)
        return float(belief.mean_reward / max(belief.mean_cost, 0.1) + noise)


class HalfAndHalf(NamedTuple):
    """A policy that looks at the budget: arm 0 for its first half, then arm 1."""

    budget: float = math.inf

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return 0 if now.spent <= self.budget / 2 else 1


def everyone(problem: Problem) -> dict[str, Any]:
    same = np.full(len(problem), 0.1)
    return {
        "B1": policies.UCBB1(same, same, same, min_cost=0.05),
        "B1 bounded": policies.UCBB1(same, same, same, min_cost=0.05, cost_bound=0.1, reward_bound=0.1),
        "M1": policies.UCBM1(same, same, same, min_cost=0.05),
        "M1 certain costs": policies.UCBM1(0 * same, same, 0 * same, min_cost=0.05),
        "B2": policies.UCBB2(0.05, 0.1, min_cost=0.05),
        "B2C": policies.UCBB2C(0.05, 0.1, 1.0, min_cost=0.05),
        "fixed": policies.Fixed(1),
        "uniform": policies.Uniform(),
        "randomised": Thompson(),
    }


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_engine_equals_its_slow_twin(name: str) -> None:
    problem = PROBLEMS[name]
    players = everyone(problem)
    if name != "mix":  # every law, every policy, but not every pair: each is a compilation
        players = {"B1": players["B1"]}
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

    monkeypatch.setattr("outlay.engine.compiler.dispatch.compiled", refuse)
    with pytest.warns(InterpretedWarning, match="interpreted.*: not today"):
        interpreted = outlay.simulate(MIX, everyone(MIX), budgets=BUDGETS, runs=2, seed=8)
    assert equal(compiled, interpreted)


def equal(one: outlay.Result, other: outlay.Result) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("pulls", "cost", "reward", "oracle_reward")
    )


def test_workers_and_batch_sizes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PROBLEMS["mix"]
    results = []
    for workers, batch_pulls in ((1, 200_000), (2, 200_000), (3, 300), (2, 1)):
        monkeypatch.setattr("outlay.engine.batch._BATCH_PULLS", batch_pulls)
        results.append(outlay.simulate(problem, everyone(problem), budgets=BUDGETS, runs=37, seed=2, workers=workers))
    assert all(equal(results[0], result) for result in results[1:])


def test_slices_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = PROBLEMS["mix"]
    whole = outlay.simulate(problem, everyone(problem), budgets=[500.0], runs=5)
    monkeypatch.setattr("outlay.engine.backends.threads._FIRST_SLICE", 7)
    monkeypatch.setattr("outlay.engine.backends.threads._SLICE_SECONDS", 0.0)
    assert equal(whole, outlay.simulate(problem, everyone(problem), budgets=[500.0], runs=5))


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
    few = outlay.simulate(problem, policies.Uniform(), budgets=BUDGETS, runs=5, seed=3)
    more = outlay.simulate(problem, everyone(problem), budgets=BUDGETS, runs=23, seed=3)
    at = list(more.policies).index("uniform")
    assert np.array_equal(few.reward[0], more.reward[at, :5])


def test_each_seed_and_run_has_a_stream_of_its_own() -> None:
    problem = PROBLEMS["G"]
    results = [outlay.simulate(problem, policies.Uniform(), budgets=[50.0], runs=50, seed=seed) for seed in (0, 1)]
    rewards = np.concatenate([result.reward.ravel() for result in results])
    assert len(set(rewards)) == 100


def test_first_passage_counts_the_crossing_pull_and_never_looks_back() -> None:
    """Costs +3, −2, +3, −2, …: the sums 3, 1, 4, 2, 5 pass 2.5 at once, 3.5 at the third pull, 4 at the fifth."""

    class Alternating(NamedTuple):
        memory_of_law: Any

        def draw(self, rng: Any) -> tuple[float, float]:
            turn = self.memory_of_law[0]
            self.memory_of_law[0] = turn + 1.0
            return (3.0 if turn % 2 == 0 else -2.0), 1.0

        def moments(self) -> tuple[float, ...]:
            return (0.5, 1.0, 6.25, 0.0, 0.0)

    from outlay.engine.compiler.world import Laws
    from outlay.engine.loop import Passages, Runs, play

    passages = Passages(np.zeros((1, 3, 1), np.int64), np.zeros((1, 3)), np.zeros((1, 3)))
    memory = outlay.beliefs.Moments.empty(1)
    law = Alternating(np.zeros(1))
    play(
        (np.random.default_rng(0),),
        Laws((law,)),
        policies.Fixed(0),
        (memory,),
        Runs.start(1),
        passages,
        np.array([2.5, 3.5, 4.0]),
        100,
        100,
    )
    assert passages.pulls[0, :, 0].tolist() == [1, 3, 5]
    assert passages.cost[0].tolist() == [3.0, 4.0, 5.0]
    assert passages.reward[0].tolist() == [1.0, 3.0, 5.0]


def test_a_budget_spent_to_the_cent_is_not_exceeded() -> None:
    """S_n = B is not S_n > B; and a million pulls of 0.1 are 100 000 to 1e-10, where plain sums drift by 1e-6."""
    halves = Problem([arms.Constant(0.5, 1.0)])
    assert outlay.simulate(halves, policies.Fixed(0), budgets=[5.0], runs=1).pulls.sum() == 11
    tenths = Problem([arms.Constant(0.1, 0.1)])
    budgets = [100_000 - 1e-9, 100_000 + 1e-9]
    result = outlay.simulate(tenths, policies.Fixed(0), budgets=budgets, runs=1)
    assert result.pulls.ravel().tolist() == [1_000_000, 1_000_001]
    assert result.reward[0, 0, 1] == pytest.approx(100_000.1, rel=1e-15)


def test_a_policy_that_looks_at_the_budget_runs_once_for_each() -> None:
    problem = Problem([arms.Constant(1.0, 1.0), arms.Constant(1.0, 2.0)])
    result = outlay.simulate(problem, HalfAndHalf(), budgets=[10.0, 20.0, 40.0], runs=3)
    assert result.pulls[0, 0].tolist() == [[6, 5], [11, 10], [21, 20]]
    assert (result.pulls[0] == result.pulls[0, 0]).all()


def test_listing_the_arms_in_another_order_changes_nothing_beyond_noise() -> None:
    """Two-sample z tests on the mean regret, four policies: false alarm with probability below 4 × 6e-5."""
    problem = PROBLEMS["G"]
    moments = problem.second_moments()
    flipped = Problem(problem.arms[::-1])
    for make in (
        lambda m: policies.UCBB1(**m, min_cost=0.1),
        lambda m: policies.UCBM1(**m, min_cost=0.1),
        lambda m: policies.UCBB2(3.0, 4.0, min_cost=0.1),
        lambda m: policies.UCBB2C(3.0, 4.0, 1.0, min_cost=0.1),
    ):
        one = outlay.simulate(problem, make(moments), budgets=[2000.0], runs=1000, seed=1).regret().iloc[0]
        other = (
            outlay.simulate(flipped, make(flipped.second_moments()), budgets=[2000.0], runs=1000, seed=2)
            .regret()
            .iloc[0]
        )
        assert abs(one["mean"] - other["mean"]) < 4 * math.hypot(one["stderr"], other["stderr"]) + 1e-9


def test_the_oracle_is_the_best_arm_in_the_same_runs() -> None:
    problem = PROBLEMS["G"]
    result = outlay.simulate(problem, policies.Fixed(problem.best), budgets=BUDGETS, runs=50)
    assert np.array_equal(result.oracle_reward, result.reward[0])
    assert (result.regret("realised")["mean"].abs() < 1e-9).all()


class Unsteady(NamedTuple):
    """A law of a user's own: now and then it draws something that is not a number."""

    cost: float
    reward: float

    def draw(self, rng: Any) -> tuple[float, float]:
        return (self.cost, self.reward) if rng.random() < 0.2 else (1.0, 1.0)

    def moments(self) -> tuple[float, float, float, float, float]:
        return 1.0, 1.0, 0.0, 0.0, 0.0


@pytest.mark.parametrize("pair", [(math.nan, 1.0), (math.inf, 1.0), (1.0, math.nan), (1.0, -math.inf)])
def test_a_cost_or_reward_that_is_not_a_number_is_refused(pair: tuple[float, float]) -> None:
    with pytest.raises(OutlayError, match=r"run \d+ of .* met a cost or reward that is not a finite number"):
        outlay.simulate(Problem([Unsteady(*pair)]), policies.Fixed(0), budgets=[50.0], runs=3, max_pulls=1000)


def test_no_label_is_taken_by_the_oracle() -> None:
    for label in ("the best arm", "the oracle, Fixed(0)"):
        result = outlay.simulate(PROBLEMS["G"], {label: policies.Fixed(1)}, budgets=[50.0], runs=1)
        assert result.pulls[0, 0, 0, 0] == 0


def test_a_run_that_will_not_end_raises() -> None:
    problem = Problem([arms.Gaussian(1e-9, 1.0, 1.0, 1.0)])
    with pytest.raises(
        RunTooLong, match=r"run 0 of Fixed made max_pulls = 5000 pulls and spent .* of its budget 1e\+06"
    ) as caught:
        outlay.simulate(problem, policies.Fixed(0), budgets=[1e6], runs=1, max_pulls=5000)
    assert (caught.value.pulls, caught.value.budget) == (5000, 1e6)


def test_max_pulls_is_not_reached_by_a_run_that_ends_there() -> None:
    problem = Problem([arms.Constant(1.0, 1.0)])
    assert outlay.simulate(problem, policies.Fixed(0), budgets=[9.5], runs=1, max_pulls=10).pulls.sum() == 10
    with pytest.raises(RunTooLong):
        outlay.simulate(problem, policies.Fixed(0), budgets=[10.5], runs=1, max_pulls=10)


class Bare(NamedTuple):
    """Compares with the leader, and has no memory for it."""

    x: float = 1.0

    def excess(self, belief: Any, low: Any, high: Any) -> float:
        return self.x


class Named(NamedTuple):
    """Has a field with the name of a method."""

    excess: float = 1.0
    sample: float = 2.0

    def choose(self, memory: Any, now: Any, rng: Any) -> int:
        return int(now.pulls % 2)


def test_a_field_may_have_the_name_of_a_method() -> None:
    assert outlay.simulate(PROBLEMS["G"], Named(), [20.0], runs=1).pulls[0, 0, 0, 2] == 0


GOOD: dict[str, Any] = {"problem": PROBLEMS["G"], "policies": policies.Fixed(0), "budgets": [10.0]}
BAD = [
    ({"problem": "G"}, "problem of simulate must be an outlay.Problem; got 'G'"),
    ({"policies": []}, "policies of simulate must be at least one policy"),
    ({"policies": {}}, "policies of simulate must be at least one policy"),
    ({"policies": [policies.Fixed(0), policies.Fixed(1)]}, "a dict from label to policy"),
    ({"policies": {"": policies.Fixed(0)}}, "a label in policies of simulate must be a string that is not empty"),
    ({"policies": {1: policies.Fixed(0)}}, "a label in policies of simulate must be a string"),
    ({"policies": "UCBB1"}, "exactly one of the methods score, sample, excess and choose"),
    ({"policies": [policies.UCBB1]}, "exactly one of the methods score, sample, excess and choose"),
    ({"policies": Bare()}, "memory of Bare must be one with a method lead, such as Pooled, for a policy with excess"),
    ({"policies": policies.Fixed(3)}, "arm of Fixed"),
    (
        {"policies": policies.UCBB1([1, 2], 3, 0)},
        "var_cost of UCBB1 must be one number or 3 numbers, one per arm; got 2 numbers",
    ),
    ({"budgets": None}, "budgets or budget of simulate must be given"),
    ({"budget": 5.0}, "budgets or budget of simulate must be given, and not both"),
    ({"budgets": []}, "budgets of simulate"),
    ({"budgets": [[1.0]]}, "budgets of simulate"),
    ({"budgets": [0.0]}, "budgets of simulate must be a finite number > 0; got 0.0"),
    ({"budgets": [1.0, -1.0]}, "budgets at position 1 of simulate must be a finite number > 0; got -1.0"),
    ({"budgets": [1.0, math.nan]}, "got nan"),
    ({"budgets": [1.0, math.inf]}, "got inf"),
    ({"budgets": [2.0, 1.0]}, "budgets of simulate must be in rising order"),
    ({"budgets": [1.0, 1.0]}, "budgets of simulate must be in rising order"),
    ({"budgets": "many"}, "budgets of simulate"),
    ({"budgets": None, "budget": [1.0, 2.0]}, "budget of simulate must be a finite number"),
    ({"budgets": None, "budget": 1e-322}, "budget of simulate must be ≥ 1e-300"),
    ({"budgets": None, "budget": -1.0}, "budget of simulate must be > 0; got -1.0"),
    ({"runs": 10**14}, "runs of simulate must be small enough: these need"),
    ({"runs": 10**18}, "runs of simulate must be small enough: these need"),
    ({"runs": 0}, "runs of simulate must be a whole number ≥ 1; got 0"),
    ({"runs": 2.5}, "runs of simulate must be a whole number ≥ 1; got 2.5"),
    ({"runs": "ten"}, "runs of simulate must be a whole number"),
    ({"seed": -1}, "seed of simulate must be a whole number ≥ 0; got -1"),
    ({"seed": None}, "seed of simulate must be a whole number"),
    ({"workers": 0}, "workers of simulate must be a whole number ≥ 1; got 0"),
    ({"max_pulls": 0}, "max_pulls of simulate must be a whole number ≥ 1"),
    ({"backend": "gpu"}, 'backend of simulate must be "threads", "dask", "ray" or "cuda"; got \'gpu\''),
    ({"progress": np.ones(2)}, "progress of simulate must be True, False, None or a function"),
    ({"backend": np.ones(2)}, "backend of simulate must be"),
    ({"progress": "yes"}, "progress of simulate must be True, False, None or a function; got 'yes'"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_bad_input_is_answered_in_one_sentence(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadParameter) as caught:
        outlay.simulate(**{**GOOD, **change})
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_progress_bar_appears_when_asked_for(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outlay.engine.progress._DELAY_SECONDS", 0.0)
    outlay.simulate(PROBLEMS["G"], policies.Uniform(), budgets=[1e6], runs=4, progress=True)
    assert "simulating" in capfd.readouterr().err
    outlay.simulate(PROBLEMS["G"], policies.Uniform(), budgets=[100.0], runs=2)
    assert capfd.readouterr().err == ""


def test_progress_can_be_told_to_a_function(capfd: pytest.CaptureFixture[str]) -> None:
    told: list[float] = []
    outlay.simulate(PROBLEMS["G"], policies.Uniform(), budgets=[1e5], runs=4, progress=told.append)
    assert told == sorted(told)
    assert told[0] >= 0.0
    assert told[-1] == 1.0
    assert capfd.readouterr().err == ""
