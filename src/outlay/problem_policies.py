"""What a policy may be told about a problem: which policies it admits, and each of them with what it may know."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from outlay import policies
from outlay.arms import ContextualProblem, Problem, support_of
from outlay.arms.continuous import is_gaussian
from outlay.checks import Vector
from outlay.errors import BadCode, BadParameter, NotCovered, OutlayError
from outlay.parameters import signature_of
from outlay.policies.baselines import LPUCB, LPGreedy, LPThompson
from outlay.text import key_of, one_of
from outlay.theory import rates
from outlay.usercode import YOURS, find_class, is_reference, what_failed

BuiltIn = Any  # one of outlay's policies: a `Policy` whose parameters are attributes
Known = dict[str, Any]  # arguments of a policy's constructor, by name
# What a policy of the user's may be told, by the names of its parameters: `fact` finds it.
OWN_FACTS = ("var_cost", "var_reward", "cov", "cost_bound", "reward_bound", "min_cost", "costs", "arm")


def usual_policies(problem: Problem, requests: bool = False) -> dict[str, BuiltIn]:
    """What is played where no policy is named: the paper's that `problem` admits, the default, and RoundRobin.

    Where `requests` are limited, too, those that share them out. The default is played as people run it, told the
    limits: a run for each.
    """
    if requests:
        chosen = (policies.Ration(), LPUCB(), LPThompson(), LPGreedy(), policies.RoundRobin())
        return {type(policy).__name__: policy for policy in chosen}
    default = policies.default()
    return paper_policies(problem) | {type(default).__name__: default, "RoundRobin": policies.RoundRobin()}


def paper_policies(problem: Problem) -> dict[str, BuiltIn]:
    """The paper's policies that `problem` admits, told what they may know.

    UCB-B1 and UCB-M1 know the second moments, UCB-B2 and UCB-B2C the bounds, all of them half the smallest mean cost.
    UCB-B1 is for arms all Gaussian or all bounded, UCB-B2 and UCB-B2C for bounded ones that are never negative.
    """
    chosen: dict[str, BuiltIn] = {}
    for name in _PAPER:
        if name == "UCBB1" and not _light_tailed(problem):
            continue
        try:
            chosen[name] = policy_for(problem, name)
        except NotCovered:
            continue
    return chosen


def named_policies(problem: Problem, names: Iterable[str]) -> dict[str, BuiltIn]:
    """The policies called `names` (UCBB1, ucb-b1, …), told what they need; NotCovered if `problem` cannot.

    Those of the user's are named `module:Name` or `file.py:Name`, and looked for in the working directory.
    """
    keys = {key_of(name): kind.__name__ for name, kind in policies.BY_NAME.items()}
    chosen: dict[str, BuiltIn] = {}
    for asked in names:
        if is_reference(asked):
            own = find_class("compare", "policy", asked, Path())
            if own.__name__ in chosen:
                raise BadParameter("compare", "policy", "of a class with a name unlike the others", asked)
            chosen[own.__name__] = own_policy(problem, own, {})
            continue
        if key_of(asked) not in keys:
            raise BadParameter("compare", "policy", one_of((*policies.BY_NAME, YOURS), asked), asked)
        name = keys[key_of(asked)]
        chosen[name] = policy_for(problem, name)
    return chosen


def own_policy(problem: Problem, kind: Callable[..., BuiltIn], given: Known) -> BuiltIn:
    """A policy of the user's: told, beside what is given, those facts that it has no default for."""
    takes = signature_of(kind)
    needed = [name for name, one in takes.items() if one.default is one.empty and name not in given]
    known = {name: fact(problem, name) for name in needed if name in OWN_FACTS}
    name = getattr(kind, "__name__", "the policy")
    if lacking := [each for each in needed if each not in known]:
        raise BadParameter(name, lacking[0], "given, or have a default", None)
    try:
        return kind(**known, **given)
    except OutlayError:
        raise
    except Exception as error:
        raise BadCode(what_failed(error)) from error


def fact(problem: Problem, name: str) -> Any:
    """What a problem says about itself, by the name of a parameter that asks for it."""
    facts: Known = {**problem.bounds(), "costs": problem.mean_costs, "arm": problem.best}
    facts["min_cost"] = float(problem.mean_costs.min())
    value: Any = facts[name] if name in facts else {**problem.second_moments()}[name]
    if not np.isfinite(value).all():
        raise NotCovered(f"{name} is infinite for this problem")
    return value


def notes(problem: Problem, names: Iterable[str]) -> list[str]:
    """What to say about policies that were asked for by name and are played outside of their theorems."""
    if "UCBB1" in names and not _light_tailed(problem):
        return ["UCBB1 has guarantees for arms that are all Gaussian or all bounded; on this problem it has none"]
    return []


def policy_for(problem: Problem, name: str) -> BuiltIn:
    """One policy with the knowledge of `problem` that it asks for; `Fixed` plays the best arm."""
    kind: Callable[..., BuiltIn] = policies.BY_NAME[name]
    if name == "Fixed":
        return kind(problem.best)
    try:
        known = _KNOWING[name](problem) if name in _KNOWING else _asked(problem, kind, name in policies.BUILT_IN)
        if problem.later and known.keys() - {"cost_bound", "reward_bound"}:
            raise NotCovered("arms that stay what they are")
        if name in _PAPER:
            known["min_cost"] = min(float(piece.mean_costs.min()) for piece in problem.pieces) / 2
        return kind(**known)
    except NotCovered as need:
        raise NotCovered(f"{name} needs {need}") from None
    except BadParameter as error:
        raise NotCovered(f"{name} cannot play this problem: {error}") from None


def _moments(problem: Problem) -> Known:
    if problem.later:
        raise NotCovered("arms that stay what they are")
    moments: Known = {**problem.second_moments()}
    for name, *values in zip(problem.names, *moments.values(), strict=True):
        if not np.isfinite(values).all():
            raise NotCovered(f"finite second moments, and arm {name!r} has infinite ones")
    return moments


def _bounds(problem: Problem) -> Known:
    bounds: Known = {**problem.bounds()}
    for name, law in zip(problem.names * len(problem.pieces), problem.laws, strict=True):
        if not np.isfinite(support_of(law)).all():
            raise NotCovered(f"bounded costs and rewards, and those of arm {name!r} are not")
    return bounds


def _positive_bounds(problem: Problem) -> Known:
    bounds = _bounds(problem)
    for name, law in zip(problem.names * len(problem.pieces), problem.laws, strict=True):
        box = support_of(law)
        if min(box.cost_low, box.reward_low) < 0:
            raise NotCovered(f"costs and rewards ≥ 0, and those of arm {name!r} can be negative")
    return bounds


def _widths(problem: Problem) -> Known:
    """The lengths of the intervals in which costs and rewards of every arm lie."""
    _bounds(problem)
    boxes = [support_of(law) for law in problem.laws]
    return {
        "cost_bound": max(box.cost_high - box.cost_low for box in boxes),
        "reward_bound": max(box.reward_high - box.reward_low for box in boxes),
    }


def _moments_and_bounds(problem: Problem) -> Known:
    """Second moments, with the bounds where there are any: UCB-B1 takes their absence as Gaussian."""
    try:
        return _moments(problem) | _bounds(problem)
    except NotCovered:
        return _moments(problem)


def _light_tailed(problem: Problem) -> bool:
    """Whether Theorem 1 is about such arms: all of them jointly Gaussian, or all bounded."""
    return all(map(is_gaussian, problem.arms)) or bool(np.isfinite([support_of(law) for law in problem.arms]).all())


def _features(problem: Problem) -> int:
    """How many numbers come with each request."""
    if not isinstance(problem, ContextualProblem):
        raise NotCovered("requests with features, as a ContextualProblem has them")
    return int(problem.table.features.shape[1])


def _asked(problem: Problem, kind: Callable[..., BuiltIn], only_needed: bool) -> Known:
    """What a policy is told about the problem, by the names of its parameters: a rival all that it can use."""
    takes = signature_of(kind).items()
    wanted = [name for name, one in takes if not only_needed or one.default is one.empty]
    return {name: _TOLD[name](problem) for name in wanted if name in _TOLD}


def _largest(problem: Problem, side: str, squares: Vector | float = 0.0) -> float:
    """The largest variance of cost or reward, or, with the squares of the means, the largest mean square."""
    return float((_moments(problem)[side] + squares).max())


def _changes_every(problem: Problem) -> NoReturn:  # noqa: ARG001 (none knows)
    raise NotCovered("to be told how much is spent between two changes of an arm")


# What a parameter of a policy asks for.
_TOLD: dict[str, Callable[[Problem], Any]] = {
    "cost_bound": lambda problem: _positive_bounds(problem)["cost_bound"],
    "reward_bound": lambda problem: _positive_bounds(problem)["reward_bound"],
    "min_cost": lambda problem: float(problem.mean_costs.min()),
    "costs": lambda problem: problem.mean_costs,
    "changes_every": _changes_every,
    "features": _features,
    "var_cost": lambda problem: _largest(problem, "var_cost"),
    "var_reward": lambda problem: _largest(problem, "var_reward"),
    "cost_moment": lambda problem: _largest(problem, "var_cost", problem.mean_costs**2),
    "reward_moment": lambda problem: _largest(problem, "var_reward", problem.mean_rewards**2),
}
# The paper's policies, which know the problem's smallest mean cost, and what else policies know about it.
_PAPER = ("UCBB1", "UCBM1", "UCBB2", "UCBB2C")
_KNOWING: dict[str, Callable[[Problem], Known]] = {
    "UCBB1": _moments_and_bounds,
    "UCBM1": _moments,
    "UCBB2": _positive_bounds,
    "UCBB2C": lambda problem: _positive_bounds(problem) | {"slope_bound": float(np.abs(rates(problem).slope).max())},
    "FiellerKnown": _moments,
    "BernsteinRate": _widths,
}
