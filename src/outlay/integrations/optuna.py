"""Optuna's studies within a budget: choices with a price are arms of a campaign, another sampler does the rest."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING, Any

from outlay.campaign.ledger.events import DEFAULT, Amount
from outlay.campaign.settings import checked_reward
from outlay.checks import whole
from outlay.errors import BadParameter, BudgetSpent, CampaignConflict, NothingTold, needed
from outlay.integrations.spending import campaign_at
from outlay.text import listed

with needed("OutlaySampler"):
    from optuna import TrialPruned
    from optuna.distributions import BaseDistribution, CategoricalDistribution
    from optuna.samplers import BaseSampler, TPESampler
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState, create_trial

if TYPE_CHECKING:
    from outlay.campaign import Campaign
    from outlay.client import Client

Choice = str | int | float | bool | None
OWNER = "OutlaySampler"
MOST_ARMS = 1000
TOP = 10  # one trial in so many is among the best
REWARDS = ("top", "value")
SAID = "a user attribute that every trial sets, where `most` does not say what one can cost"


class OutlaySampler(BaseSampler):  # type: ignore[misc]
    """Samples some categorical parameters of a study within a budget, and leaves all others to another sampler.

    Each combination of the choices is an arm of one campaign, because a trial has one cost and one value: these belong
    to the combination, and no share of them to a single parameter. A trial asks for an arm when it begins, and what it
    cost is told when it ends, however it ends. When the budget is spent, the study stops.

    Args:
        choices: from each parameter to its choices, as `suggest_categorical` is given them; all in all at most 1000
            combinations.
        budget: as `Campaign` takes it; None opens the campaign that is there.
        store: None for this program's memory; a SQLite file or PostgreSQL database of its own, that is without Optuna's
            tables; "http://…" of a service; or a campaign or client. Several processes that name the same share one
            budget.
        name: the campaign's name there.
        cost: the user attribute in which a trial says what it cost. A trial that ends without it is charged what was
            set aside. None: a trial costs the seconds from its start to its end.
        reward: what a completed trial earns. "top": 1 where at most a tenth of the trials before it had a better value,
            else 0; so the budget goes where good values are found. "value": the value itself, or its negative where the
            study minimises; so the sum of values grows. Or a function of the value. Failed and pruned trials earn 0.
        most: what a trial can cost at most, or a function of its choices, which is given a dict.
        independent_sampler: for all other parameters; None for Optuna's `TPESampler`.
        seed: of `TPESampler` and of the campaign.
        terms: all others that `Campaign` takes, such as `mode`, `requests` and `ttl`.

    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> sampler = OutlaySampler({"model": ["small", "large"]}, budget=30, cost="cost", seed=0)
    >>> def objective(trial):
    ...     large = trial.suggest_categorical("model", ["small", "large"]) == "large"
    ...     trial.set_user_attr("cost", 5.0 if large else 0.5)
    ...     return (trial.suggest_float("x", -1, 1) - 0.5) ** 2 + (0.0 if large else 0.01)
    >>> study = optuna.create_study(sampler=sampler)
    >>> study.optimize(objective)
    >>> sampler.campaign.status().phase, sum(trial.user_attrs["cost"] for trial in study.trials) >= 30
    ('closed', True)
    """

    def __init__(
        self,
        choices: Mapping[str, Sequence[Choice]],
        budget: Amount | None = None,
        *,
        store: "Campaign | Client | str | None" = None,
        name: str = "default",
        cost: str | None = None,
        reward: str | Callable[[float], float] = "top",
        most: Amount | Callable[[dict[str, Choice]], Amount] | None = None,
        independent_sampler: BaseSampler | None = None,
        seed: int | None = None,
        **terms: Any,
    ) -> None:
        if not (cost is None or isinstance(cost, str)):
            raise BadParameter(OWNER, "cost", "the name of a user attribute, or None for seconds", cost)
        if not (callable(reward) or reward in REWARDS):
            raise BadParameter(OWNER, "reward", f"{' or '.join(map(repr, REWARDS))}, or a function of a value", reward)
        if not (independent_sampler is None or isinstance(independent_sampler, BaseSampler)):
            raise BadParameter(OWNER, "independent_sampler", "a sampler of Optuna's", independent_sampler)
        if isinstance(most, (str, Mapping)):
            raise BadParameter(OWNER, "most", "a number, or a function of a trial's choices", most)
        if terms.get("context") is not None:
            raise BadParameter(OWNER, "context", "left out: nothing is known of a trial before it", terms["context"])
        chance = None if seed is None else whole(OWNER, "seed", seed, at_least=0, below=2**32)
        self._arms = _combinations(choices)
        self._distributions = {each: CategoricalDistribution(tuple(given)) for each, given in choices.items()}
        self._cost, self._reward = cost, reward
        self._others = TPESampler(seed=chance) if independent_sampler is None else independent_sampler
        arms = {arm: most(dict(chosen)) if callable(most) else most for arm, chosen in self._arms.items()}
        agreed = {"seed": DEFAULT.seed if chance is None else chance, "negative_costs": False, **terms}
        self.campaign = campaign_at(store, name, arms, budget, **agreed)
        if budget is None and (known := {arm.name for arm in self.campaign.status().arms}) != {*arms}:
            theirs = listed(sorted(known), between="; ")
            raise BadParameter(OWNER, "choices", f"those of the campaign: {theirs}", [*arms])

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The choices, and what the other sampler samples together."""
        _check_single(study)
        others: dict[str, BaseDistribution] = self._others.infer_relative_search_space(study, trial)
        return {**others, **self._distributions}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The choices that the campaign names, and what the other sampler makes of the rest."""
        pull = self._pull_of(study, trial)
        if pull is None:
            study.stop()
            raise TrialPruned("the budget is spent")
        others = {name: kind for name, kind in search_space.items() if name not in self._distributions}
        chosen = {name: choice for name, choice in self._arms[pull[1]].items() if name in search_space}
        return {**self._others.sample_relative(study, trial, others), **chosen}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """As the other sampler does."""
        _check_single(study)
        return self._others.sample_independent(study, trial, param_name, param_distribution)

    def reseed_rng(self) -> None:
        """Give the other sampler new random numbers: those of the campaign are drawn in its ledger."""
        self._others.reseed_rng()

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Ask for an arm: one that fits, where parameters were enqueued.

        Raises BudgetSpent where the budget is spent, and NotNow where no arm can be named at the moment; within
        `Study.optimize` it waits for an arm instead, and stops the study where there is none.
        """
        try:
            _check_single(study)
            self._others.before_trial(study, trial)
            if self._pull_of(study, trial) is None:
                study.stop()
                if trial.params or "fixed_params" in trial.system_attrs:
                    _enqueue_again(study, trial)
        except BaseException:
            study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
            raise

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Tell what the trial cost and earned; where that spends the budget, the study stops."""
        held = study._storage.get_trial_system_attrs(trial._trial_id).get(_key(trial))
        if held is not None:
            self._tell(study, trial, values[0] if values and state == TrialState.COMPLETE else None, *held)
            if _in_loop(study) and self.campaign.status().ended:
                study.stop()
        self._others.after_trial(study, trial, state, values)

    def _tell(self, study: Study, trial: FrozenTrial, value: float | None, pull: int, arm: str) -> None:
        """Tell the trial's pull; where the trial does not say its cost, or says what cannot be, charge it."""
        try:
            for name, choice in self._arms[arm].items():
                if trial.params.get(name, choice) != choice:
                    raise BadParameter(OWNER, name, f"{choice!r}, as it was sampled, in this trial", trial.params[name])
            paid = _seconds(trial) if self._cost is None else trial.user_attrs.get(self._cost)
            if paid is None:
                self._charge(pull)
                return
            try:
                earned = 0.0 if value is None else self._earned(study, value)
                earned = None if earned is None else checked_reward(OWNER, earned)
            except BaseException:
                self.campaign.tell(pull, paid)  # what it cost is known, also where the user's function raises
                raise
            self.campaign.tell(pull, paid, earned)
        except BaseException:
            with suppress(CampaignConflict, NothingTold):  # it was told, and the answer was lost; or nobody knows
                self.campaign.charge(pull)
            raise

    def _charge(self, pull: int) -> None:
        try:
            self.campaign.charge(pull)
        except NothingTold:
            raise BadParameter(OWNER, "cost", SAID, self._cost) from None

    def _pull_of(self, study: Study, trial: FrozenTrial) -> tuple[int, str] | None:
        """The number and the arm of the trial's pull, which is asked for if there is none; None if the budget is spent.

        It is kept with the trial, so that any process can tell it.
        """
        attributes = study._storage.get_trial_system_attrs(trial._trial_id)
        if (held := attributes.get(_key(trial))) is not None:
            return held[0], held[1]
        fixed = {**trial.params, **attributes.get("fixed_params", {})}  # a trial that is retried has parameters
        for name, kind in self._distributions.items():
            if name in fixed and fixed[name] not in kind.choices:
                raise BadParameter(OWNER, name, f"one of {', '.join(map(repr, kind.choices))}", fixed[name])
        arms = [arm for arm, chosen in self._arms.items() if chosen == {k: fixed.get(k, v) for k, v in chosen.items()}]
        about = {"study": study.study_name, "trial": trial.number}
        in_loop = _in_loop(study)
        try:
            pull = self.campaign.ask(arms=None if len(arms) == len(self._arms) else arms, wait=in_loop, metadata=about)
        except NothingTold as error:
            raise BadParameter(OWNER, "cost", SAID, self._cost) from error
        if pull is None:
            if not in_loop:
                raise BudgetSpent(self.campaign._named())
            return None
        study._storage.set_trial_system_attr(trial._trial_id, _key(trial), [pull.id, pull.arm])
        return pull.id, pull.arm

    def _earned(self, study: Study, value: float) -> float | None:
        if callable(self._reward):
            return self._reward(value)
        sign = 1.0 if study.direction == StudyDirection.MAXIMIZE else -1.0
        if self._reward == "value":
            return sign * value
        before = study._storage.get_all_trials(study._study_id, deepcopy=False, states=(TrialState.COMPLETE,))
        return float(TOP * sum(sign * each.value > sign * value for each in before) <= len(before))


def _combinations(choices: Any) -> dict[str, dict[str, Choice]]:
    """From the name of each arm to the choices that it stands for."""
    if not isinstance(choices, Mapping) or not choices:
        raise BadParameter(OWNER, "choices", "a mapping from parameters to their choices, not empty", choices)
    for name, given in choices.items():
        if isinstance(given, str) or not isinstance(given, Sequence) or not given:
            raise BadParameter(OWNER, f"choices[{name!r}]", "a sequence of choices, not empty", given)
        if len({str(choice) for choice in given}) < len(given):
            raise BadParameter(OWNER, f"choices[{name!r}]", "choices that differ when they are printed", given)
    number = math.prod(map(len, choices.values()))
    if number > MOST_ARMS:
        allowed = f"at most {MOST_ARMS} combinations: leave some parameters to the other sampler"
        raise BadParameter(OWNER, "choices", allowed, number)
    chosen = [dict(zip(choices, each, strict=True)) for each in product(*choices.values())]
    named = {", ".join(f"{name}={choice}" for name, choice in each.items()): each for each in chosen}
    if len(named) < number:
        raise BadParameter(OWNER, "choices", "such that no two combinations are printed alike", choices)
    return named


def _check_single(study: Study) -> None:
    if study._is_multi_objective():
        raise BadParameter(OWNER, "study", "one with a single direction", [each.name for each in study.directions])


def _in_loop(study: Study) -> bool:
    """Whether `Study.optimize` runs the trial; Hyperband hands a part of the study on, which knows the whole."""
    return bool(getattr(study, "_study", study)._thread_local.in_optimize_loop)


def _enqueue_again(study: Study, trial: FrozenTrial) -> None:
    """Let the parameters that were given to the trial wait for a larger budget: without them this one is pruned."""
    given = {"params": trial.params, "distributions": trial.distributions, "user_attrs": trial.user_attrs}
    waiting = create_trial(state=TrialState.WAITING, system_attrs=trial.system_attrs, **given)
    study._storage.create_new_trial(study._study_id, waiting)
    trial.params, trial.distributions = {}, {}
    trial.system_attrs = {name: value for name, value in trial.system_attrs.items() if name != "fixed_params"}


def _key(trial: FrozenTrial) -> str:
    """The attribute that holds a trial's pull; a retried trial has its predecessor's too, under another number."""
    return f"outlay:{trial.number}"


def _seconds(trial: FrozenTrial) -> float:
    return round(max(0.0, time.time() - float(trial.datetime_start.timestamp())), 9)
