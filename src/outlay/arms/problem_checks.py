"""What a problem asks of its arms and their names, each refusal in one sentence."""

import copy
import math
import unicodedata
from collections.abc import Iterable

import numpy as np

from outlay.arms.law import AnyLaw, LawMoments, check_law
from outlay.errors import BadCode, BadParameter
from outlay.parameters import is_record
from outlay.usercode import Returned, is_own, pair_of, try_once, what_failed

_PAIR = Returned("a pair of finite numbers, as in `return cost, reward`", pair_of)
_ROUNDING = 1e-9  # how far |Cov| may exceed √(Var X·Var R), relatively: only rounding can make it do so


def checked_arms(arms: object) -> tuple[AnyLaw, ...]:
    """The laws, if there is at least one."""
    if not isinstance(arms, Iterable) or is_record(arms):
        raise BadParameter("Problem", "arms", "a sequence of laws", arms)
    laws = tuple(check_law("Problem", f"arm {i}", law) for i, law in enumerate(arms))
    if not laws:
        raise BadParameter("Problem", "arms", "a sequence of at least one law", arms)
    for cls, law in {type(law): law for law in laws}.items():
        if is_own(cls):
            # A copy: a law that counts its draws has made none yet.
            try_once(copy.deepcopy(law), "draw", "rng", (np.random.default_rng(0),), _PAIR)
    return laws


def checked_names(names: object, count: int) -> tuple[str, ...]:
    """The names, if there is one per arm, each printable and unlike the others."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise BadParameter("Problem", "names", "a sequence of strings", names)
    names = tuple(names)
    if len(names) != count:
        raise BadParameter("Problem", "names", f"{count}, as many as arms", len(names))
    seen: set[str] = set()
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name.strip() or any(unicodedata.category(c) in ("Cc", "Cs") for c in name):
            raise BadParameter("Problem", f"name {i}", "a string, not blank and without control characters", name)
        if name in seen:
            raise BadParameter("Problem", f"name {i}", "unlike the others", name)
        seen.add(name)
    return tuple(map(str, names))


def checked_costs(owner: str, mean_costs: Iterable[float], names: Iterable[str]) -> None:
    """Refuse the first arm whose mean cost is not above 0: it has no rate, and might never spend a budget.

    >>> checked_costs("rates", [1.0, 0.0], ["paid", "skip"])
    Traceback (most recent call last):
    outlay.errors.BadParameter: the mean cost of 'skip' of rates must be a finite number > 0; got 0.0
    """
    for cost, name in zip(mean_costs, names, strict=True):
        if not 0.0 < cost < math.inf:
            raise BadParameter(owner, f"the mean cost of {name!r}", "a finite number > 0", float(cost))


def checked_moments(law: AnyLaw, arm: str) -> LawMoments:
    """The exact moments of an arm, if a law can have them."""
    try:
        given: tuple[float, ...] = law.moments()
    except Exception as error:
        if is_own(type(law)):
            raise BadCode(what_failed(error)) from error
        raise
    try:
        moments = LawMoments(*map(float, given))
    except (TypeError, ValueError):
        raise BadParameter("Problem", f"the moments of {arm!r}", "five numbers", given) from None
    if not math.isfinite(moments.mean_cost):
        raise BadParameter("Problem", f"the mean cost of {arm!r}", "a finite number", moments.mean_cost)
    if not math.isfinite(moments.mean_reward):
        raise BadParameter("Problem", f"the mean reward of {arm!r}", "a finite number", moments.mean_reward)
    if not (moments.var_cost >= 0.0 and moments.var_reward >= 0.0 and not math.isnan(moments.cov)):
        raise BadParameter("Problem", f"the variances of {arm!r}", "≥ 0, with a covariance", moments[2:])
    # Variances below 1e-300 have lost digits; a covariance may come from E[XR] − E[X]·E[R].
    most = math.sqrt(max(moments.var_cost, 1e-300)) * math.sqrt(max(moments.var_reward, 1e-300))
    if abs(moments.cov) > most * (1.0 + _ROUNDING) + 1e-12 * abs(moments.mean_cost * moments.mean_reward):
        allowed = f"within ±√(Var(cost)·Var(reward)) = ±{most:.6g}"
        raise BadParameter("Problem", f"the covariance of {arm!r}", allowed, moments.cov)
    return moments
