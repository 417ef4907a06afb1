"""Optuna's own cases for samplers, and studies whose choices a campaign pays for."""

import importlib
import multiprocessing
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.testing import pytest_samplers as cases
from optuna.trial import TrialState

from outlay import Campaign
from outlay.errors import BadParameter, BudgetSpent, MissingExtra, NotNow
from outlay.integrations.optuna import OutlaySampler
from tests.service.conftest import running

CHOICES = {"model": ["small", "large"]}
PRICE = {"small": 0.5, "large": 4.0}
Make = Callable[[], OutlaySampler]


@pytest.fixture(autouse=True)
def _silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    yield
    optuna.logging.set_verbosity(before)


def objective(trial: optuna.Trial) -> float:
    """Says what it costs; the large model is a little better."""
    model = trial.suggest_categorical("model", CHOICES["model"])
    trial.set_user_attr("cost", PRICE[model])
    x: float = trial.suggest_float("x", -1, 1)
    return x * x + (0.1 if model == "small" else 0.0)


def priced(budget: float | None = 40, **terms: Any) -> OutlaySampler:
    return OutlaySampler(CHOICES, budget, **{"cost": "cost", "seed": 0, **terms})


class TestConformance(
    cases.BasicSamplerTestCase,  # type: ignore[misc]
    cases.RelativeSamplerTestCase,  # type: ignore[misc]
    cases.SingleOnlySamplerTestCase,  # type: ignore[misc]
):
    """All of Optuna's cases but those for several directions, which are refused.

    In most of them no parameter has these choices, so that each trial is paid for and the other sampler samples it.
    """

    @pytest.fixture
    def sampler(self, request: pytest.FixtureRequest) -> Make:
        if "relative_categorical" in request.node.name:
            return lambda: OutlaySampler({"x": [1, 10, 100], "y": [-1, -10, -100]}, 1e6, first_pulls=None)
        if "relative_numerical" in request.node.name or "relative_mixed" in request.node.name:
            others = optuna.samplers.TPESampler(multivariate=True, n_startup_trials=0)
            choices = {"y": [-1, -10, -100]} if "mixed" in request.node.name else CHOICES
            return lambda: OutlaySampler(choices, 1e6, first_pulls=None, independent_sampler=others)
        if "conditional_parameter" in request.node.name:
            return lambda: OutlaySampler({"x": [True, False]}, 1e6)
        return lambda: OutlaySampler(CHOICES, 1e6)


def ledger(sampler: OutlaySampler) -> list[tuple[str, str, float | None, float | None]]:
    return [(pull.arm, pull.status, pull.cost, pull.reward) for pull in sampler.campaign.pulls()]


def slow_top(study: optuna.Study) -> list[float]:
    """The rewards of a study whose trials came one after the other, counted anew."""
    sign = -1 if study.direction.name == "MINIMIZE" else 1
    rewards: list[float] = []
    values: list[float] = []
    for trial in study.trials:
        if trial.state != TrialState.COMPLETE:
            rewards.append(0.0)
            continue
        better = [value for value in values if value > sign * trial.value]
        rewards.append(1.0 if len(better) <= len(values) / 10 else 0.0)
        values.append(sign * trial.value)
    return rewards


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_every_trial_is_a_pull_and_the_study_stops_with_the_budget(direction: str) -> None:
    sampler = priced()
    study = optuna.create_study(sampler=sampler, direction=direction)
    study.optimize(objective)
    status, trials = sampler.campaign.status(), study.trials
    assert status.phase == "closed"
    assert status.spent == sum(trial.user_attrs["cost"] for trial in trials) > 40
    assert status.spent - trials[-1].user_attrs["cost"] <= 40
    arms = [f"model={trial.params['model']}" for trial in trials]
    assert ledger(sampler) == [
        (arm, "told", trial.user_attrs["cost"], reward)
        for arm, trial, reward in zip(arms, trials, slow_top(study), strict=True)
    ]


def test_the_choices_are_those_of_a_campaign_alone() -> None:
    """The same outcomes told to a campaign without Optuna give the same arms."""
    sampler = priced(reward=lambda value: 2.0 - value)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective)
    campaign = Campaign(["model=small", "model=large"], 40, seed=0)
    for trial in study.trials:
        pull = campaign.ask()
        assert pull is not None
        assert pull.arm == f"model={trial.params['model']}"
        campaign.tell(pull, trial.user_attrs["cost"], 2.0 - trial.value)
    assert campaign.ask() is None


@pytest.mark.parametrize(("direction", "sign"), [("minimize", -1), ("maximize", 1)])
def test_values_as_rewards(direction: str, sign: int) -> None:
    sampler = priced(reward="value")
    study = optuna.create_study(sampler=sampler, direction=direction)
    study.optimize(objective, n_trials=8)
    assert [row[3] for row in ledger(sampler)] == [sign * trial.value for trial in study.trials]


def test_combinations_are_arms_and_other_choices_are_not() -> None:
    choices: dict[str, Any] = {"a": [1, 2], "b": [None, "x", True]}
    sampler = OutlaySampler(choices, 1e6, seed=0)
    assert len(sampler.campaign.status().arms) == 6
    study = optuna.create_study(sampler=sampler)

    def value(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("a", choices["a"]) == 1:  # b is not always there
            trial.suggest_categorical("b", choices["b"])
        return float(trial.suggest_categorical("c", [3, 4]))

    study.optimize(value, n_trials=12)
    assert {trial.params["c"] for trial in study.trials} == {3, 4}
    for trial, (arm, status, _, _) in zip(study.trials, ledger(sampler), strict=True):
        assert status == "told"
        assert f"a={trial.params['a']}, " in arm
        assert "b" not in trial.params or arm.endswith(f"b={trial.params['b']}")


def test_failed_and_pruned_trials_are_told_with_their_cost() -> None:
    sampler = priced()
    study = optuna.create_study(sampler=sampler)

    def value(trial: optuna.Trial) -> float:
        found = objective(trial)
        trial.report(found, 0)
        if trial.number == 1:
            raise optuna.TrialPruned
        if trial.number == 2:
            raise RuntimeError("out of memory")
        return float("nan") if trial.number == 3 else found

    study.optimize(value, n_trials=5, catch=(RuntimeError,))
    states = [trial.state.name for trial in study.trials]
    assert states == ["COMPLETE", "PRUNED", "FAIL", "FAIL", "COMPLETE"]
    rows = ledger(sampler)
    assert [row[1] for row in rows] == ["told"] * 5
    assert [row[2] for row in rows] == [trial.user_attrs["cost"] for trial in study.trials]
    assert [row[3] for row in rows] == slow_top(study)


def test_a_trial_that_does_not_say_its_cost_is_charged() -> None:
    sampler = priced(most=3)
    study = optuna.create_study(sampler=sampler)

    def value(trial: optuna.Trial) -> float:
        trial.suggest_categorical("model", CHOICES["model"])
        raise RuntimeError("before its price was known")

    study.optimize(value, n_trials=2, catch=(RuntimeError,))
    assert [row[1:3] for row in ledger(sampler)] == [("expired", 3.0)] * 2
    assert sampler.campaign.status().spent == 6


@pytest.mark.parametrize("cost", ["much", float("nan"), None, [1], -1.0])
def test_a_cost_that_is_none_is_charged_and_said(cost: Any) -> None:
    sampler = priced(most=3)
    study = optuna.create_study(sampler=sampler)

    def value(trial: optuna.Trial) -> float:
        found = objective(trial)
        trial.set_user_attr("cost", cost)
        return found

    if cost is None:
        study.optimize(value, n_trials=1)
    else:
        with pytest.raises(BadParameter, match="cost of tell must be"):
            study.optimize(value, n_trials=1)
    assert [row[1:3] for row in ledger(sampler)] == [("expired", 3.0)]


def test_an_attribute_that_no_trial_sets_is_said() -> None:
    sampler = priced(cost="csot")
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(BadParameter, match=r"cost of OutlaySampler must be a user attribute .*; got 'csot'"):
        study.optimize(objective)
    assert sampler.campaign.status().in_flight == 0


@pytest.mark.parametrize("reward", [lambda value: 1 / 0, lambda value: "good", lambda value: float("inf")])
def test_a_reward_that_is_none_loses_no_cost(reward: Any) -> None:
    sampler = priced(reward=reward)
    study = optuna.create_study(sampler=sampler)
    with pytest.raises((ZeroDivisionError, BadParameter)):
        study.optimize(objective, n_trials=1)
    assert [row[1:] for row in ledger(sampler)] == [("paid", study.trials[0].user_attrs["cost"], None)]


def test_seconds() -> None:
    sampler = OutlaySampler(CHOICES, 0.03, seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=500)
    took = sum((trial.datetime_complete - trial.datetime_start).total_seconds() for trial in study.trials)
    assert 0.03 <= sampler.campaign.status().spent <= took
    assert len(study.trials) < 500


def test_a_hard_cap_by_what_a_trial_costs_at_most() -> None:
    sampler = priced(20, most=lambda chosen: PRICE[chosen["model"]], mode="hard")
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective)
    assert 19.5 < sampler.campaign.status().spent <= 20


def test_enqueued_choices_are_paid_from_their_arm() -> None:
    sampler = priced()
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial({"model": "large", "x": 0.25})
    study.enqueue_trial({"model": "large"})
    study.enqueue_trial({"x": 0.5})
    study.optimize(objective, n_trials=3)
    assert [row[:3] for row in ledger(sampler)][:2] == [("model=large", "told", 4.0)] * 2
    assert (study.trials[0].params, study.trials[2].params["x"]) == ({"model": "large", "x": 0.25}, 0.5)
    study.enqueue_trial({"model": "medium"})
    with pytest.raises(BadParameter, match="model of OutlaySampler must be one of 'small', 'large'; got 'medium'"):
        study.optimize(objective, n_trials=1)
    assert study.trials[-1].state == TrialState.FAIL
    assert len(ledger(sampler)) == 3


def test_what_is_enqueued_waits_for_a_larger_budget() -> None:
    sampler = priced(1)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective)
    made = len(study.trials)
    study.enqueue_trial({"model": "large", "x": 0.25})
    study.optimize(objective, n_trials=5)
    assert [trial.state.name for trial in study.trials[made:]] == ["PRUNED", "WAITING"]
    sampler.campaign.set_budget(50)
    study.optimize(objective, n_trials=1)
    assert study.trials[-1].params == {"model": "large", "x": 0.25}
    assert ledger(sampler)[-1][:3] == ("model=large", "told", 4.0)


def test_ask_and_tell() -> None:
    sampler = priced(4)
    study = optuna.create_study(sampler=sampler)
    trials = [study.ask(), study.ask()]
    with pytest.raises(NotNow):  # the first pulls of both arms are under way
        study.ask()
    for trial in trials:
        study.tell(trial, objective(trial))
    assert {trial.params["model"] for trial in trials} == {"small", "large"}
    with pytest.raises(BudgetSpent):
        study.ask()
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "COMPLETE", "FAIL", "FAIL"]
    study.optimize(objective, n_trials=3)
    assert [trial.state.name for trial in study.trials[4:]] == ["PRUNED"]


def test_a_trial_that_vanished_expires_and_may_be_told_late() -> None:
    sampler = priced(most=3, ttl=0.001)
    study = optuna.create_study(sampler=sampler)
    lost = study.ask()
    while sampler.campaign.status().in_flight:
        study.tell(study.ask(), state=TrialState.FAIL)
    assert ledger(sampler)[0][1:3] == ("expired", 3.0)
    study.tell(lost, objective(lost))
    assert ledger(sampler)[0][1:3] == ("told", PRICE[lost.params["model"]])


def test_threads_share_the_budget() -> None:
    sampler = priced(60)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_jobs=4)
    done = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    status = sampler.campaign.status()
    assert status.spent == sum(trial.user_attrs["cost"] for trial in done)
    assert 60 <= status.spent <= 60 + 4 * 4
    counted = Counter(f"model={trial.params['model']}" for trial in done)
    assert {arm.name: arm.pulls for arm in status.arms} == counted
    assert {trial.state.name for trial in study.trials} <= {"COMPLETE", "PRUNED"}


def work(folder: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    with_store = priced(30, store=f"sqlite:///{folder}/outlay.db")
    study = optuna.load_study(study_name="shared", storage=f"sqlite:///{folder}/optuna.db", sampler=with_store)
    study.optimize(objective)


@pytest.mark.soak  # two processes that import Optuna and outlay
def test_processes_share_the_budget(tmp_path: Path) -> None:
    optuna.create_study(study_name="shared", storage=f"sqlite:///{tmp_path}/optuna.db")
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(str(tmp_path),)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    study = optuna.load_study(study_name="shared", storage=f"sqlite:///{tmp_path}/optuna.db")
    with Campaign.open(f"sqlite:///{tmp_path}/outlay.db") as campaign:
        status = campaign.status()
    done = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert status.spent == sum(trial.user_attrs["cost"] for trial in done)
    assert 30 <= status.spent <= 30 + 2 * 4
    assert status.in_flight == 0


def test_another_sampler_of_the_same_store_goes_on(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/outlay.db"
    study = optuna.create_study(sampler=priced(10, store=store))
    first = study.ask()
    study.sampler = priced(None, store=store)  # as in another process
    study.tell(first, objective(first))
    study.optimize(objective)
    assert study.sampler.campaign.status().spent == sum(trial.user_attrs["cost"] for trial in study.trials)
    said = re.escape(
        "choices of OutlaySampler must be those of the campaign: model=large; and model=small; got ['model=a']"
    )
    with pytest.raises(BadParameter, match=said):
        OutlaySampler({"model": ["a"]}, store=store)


def test_a_service_keeps_the_budget(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path}/outlay.db") as address:
        sampler = priced(10, store=address, name="tune")
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective)
        assert sampler.campaign.status().spent == sum(trial.user_attrs["cost"] for trial in study.trials) > 10
        with pytest.raises(BudgetSpent, match="campaign 'tune' has ended"):
            study.ask()
        sampler.campaign.disconnect()


def test_a_retried_trial_has_a_pull_of_its_own() -> None:
    sampler = priced()
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=1)
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        retry = optuna.storages.RetryHeartbeatStaleTrialCallback()
    retry(study, study.trials[0])
    study.optimize(objective, n_trials=1)
    assert study.trials[1].params["model"] == study.trials[0].params["model"]
    assert [row[0] for row in ledger(sampler)] == [f"model={study.trials[0].params['model']}"] * 2
    assert [row[1] for row in ledger(sampler)] == ["told", "told"]
    sampler.campaign.set_budget(0.1)
    retry(study, study.trials[1])
    study.optimize(objective, n_trials=3)
    assert [trial.state.name for trial in study.trials[2:]] == ["PRUNED", "WAITING"]
    assert study.trials[3].params == study.trials[0].params


def test_hyperband() -> None:
    sampler = priced(20)
    study = optuna.create_study(sampler=sampler, pruner=optuna.pruners.HyperbandPruner(1, 9))

    def value(trial: optuna.Trial) -> float:
        found = objective(trial)
        for step in range(9):
            trial.report(found, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return found

    study.optimize(value, n_jobs=2)
    assert "PRUNED" in {trial.state.name for trial in study.trials}
    status = sampler.campaign.status()
    assert status.spent == sum(trial.user_attrs.get("cost", 0.0) for trial in study.trials) >= 20


def test_a_choice_that_others_fixed_is_charged_and_said() -> None:
    sampler = priced(most=4)
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        fixed = optuna.samplers.PartialFixedSampler({"model": "large"}, sampler)
    study = optuna.create_study(sampler=fixed)
    with pytest.raises(BadParameter, match="model of OutlaySampler must be 'small', as it was sampled, in this trial"):
        study.optimize(objective, n_trials=5)
    assert sampler.campaign.status().in_flight == 0


def test_several_directions_are_refused() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=priced())
    said = r"study of OutlaySampler must be one with a single direction; got \['MINIMIZE', 'MAXIMIZE'\]"
    with pytest.raises(BadParameter, match=said):
        study.optimize(lambda trial: (0.0, 0.0), n_trials=1)
    assert study.trials[0].state == TrialState.FAIL


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"choices": {}}, "choices of OutlaySampler must be a mapping from parameters to their choices, not empty"),
        ({"choices": ["small"]}, "choices of OutlaySampler must be a mapping"),
        ({"choices": {"model": "small"}}, "choices['model'] of OutlaySampler must be a sequence of choices, not empty"),
        ({"choices": {"model": []}}, "choices['model'] of OutlaySampler must be a sequence of choices, not empty"),
        ({"choices": {"model": [1, "1"]}}, "must be choices that differ when they are printed"),
        ({"choices": {"a": ["1", "1, b=2"], "b": ["2", "2, b=2"]}}, "such that no two combinations are printed alike"),
        ({"choices": {"a": range(40), "b": range(40)}}, "at most 1000 combinations: leave some parameters to"),
        ({"budget": -1}, "budget of Campaign must be"),
        ({"budget": None}, "budget of campaign_at must be given for a campaign in memory"),
        ({"cost": 3}, "cost of OutlaySampler must be the name of a user attribute, or None for seconds; got 3"),
        ({"reward": "best"}, "reward of OutlaySampler must be 'top' or 'value', or a function of a value; got 'best'"),
        ({"reward": ["top"]}, "reward of OutlaySampler must be"),
        ({"independent_sampler": "tpe"}, "independent_sampler of OutlaySampler must be a sampler of Optuna's"),
        ({"seed": "x"}, "seed of OutlaySampler must be a whole number"),
        ({"seed": 2**40}, "seed of OutlaySampler must be"),
        ({"most": "much"}, "most of OutlaySampler must be a number, or a function of a trial's choices; got 'much'"),
        ({"most": {"small": 1}}, "most of OutlaySampler must be a number, or a function of a trial's choices"),
        ({"most": -1}, "Campaign must be"),
        ({"context": ["length"]}, "context of OutlaySampler must be left out"),
    ],
)
def test_bad_parameters(given: dict[str, Any], said: str) -> None:
    with pytest.raises(BadParameter, match=re.escape(said)):
        OutlaySampler(**{"choices": CHOICES, "budget": 10, **given})


def test_without_optuna(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(sys.modules, "outlay.integrations.optuna")
    with pytest.raises(MissingExtra, match=re.escape("OutlaySampler needs optuna: pip install 'outlay[optuna]'")):
        importlib.import_module("outlay.integrations.optuna")


def test_a_store_with_tables_of_optuna_is_refused(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/both.db"
    optuna.create_study(storage=store)
    with pytest.raises(OSError, match="give outlay a database of its own"):
        priced(store=store)
