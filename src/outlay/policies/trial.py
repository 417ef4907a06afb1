"""A policy as somebody passed it: whether it is one, whether it fits so many arms, and, if it is not outlay's, a trial.

The trial calls the policy's methods once before the first pull and once after four, in the interpreter, with what a
run would give them. It costs next to nothing, and says of a mistake which line it is in.
"""

from typing import Any, cast

import numpy as np

from outlay.errors import BadParameter
from outlay.formulas.choices.choose import Now, leader_of, log_of
from outlay.own.places import is_own
from outlay.own.trial import NUMBER, WHOLE, Returned, instead_of_class, tried
from outlay.policies.protocol import (
    KINDS,
    Checks,
    Policy,
    WayName,
    checked_memory,
    is_policy,
    way_of,
    with_limits,
)
from outlay.text import meant

_PULLS = 4  # that a trial makes
_BUDGET, _REQUESTS = 1000.0, 1000  # that a policy is told in it, if it asks


def checked_policy(owner: str, name: str, policy: object, arms: int) -> Policy:
    """The policy, if it is one and fits this many arms; one of the user's has been tried."""
    if isinstance(policy, type):
        raise BadParameter(owner, name, instead_of_class(policy), policy)
    if not is_policy(policy):
        allowed = "a NamedTuple with exactly one of the methods score, sample, excess and choose"
        raise BadParameter(owner, name, f"{allowed}{_perhaps(policy)}", policy)
    if isinstance(policy, Checks) and callable(getattr(type(policy), "check", None)):
        policy.check(arms)
    if is_own(type(policy)):
        _try(with_limits(policy, _BUDGET, _REQUESTS), arms)
    return policy


def _try(policy: Policy, arms: int) -> None:
    """Ask a policy about blank arms and about arms that have been pulled."""
    memory = cast("Any", checked_memory(type(policy).__name__, policy, arms))
    rng, pulls, way = np.random.default_rng(0), np.zeros(arms, np.int64), way_of(type(policy)).name
    if way == "opening":
        tried(memory, "shuffle", "rng", (rng,))
    _ask(policy, way, memory, pulls, rng)
    for n in range(_PULLS):
        arm = n % min(arms, _PULLS // 2)
        tried(memory, "observe", "arm, cost, reward", (arm, 1.0 + n, 0.5))
        pulls[arm] += 1
    _ask(policy, way, memory, pulls, rng)


def _ask(policy: Policy, way: WayName, memory: Any, pulls: Any, rng: np.random.Generator) -> None:
    made = int(pulls.sum())
    log_n = log_of(made)
    if way == "choose":
        an_arm = Returned(f"an arm, a whole number from 0 to {len(pulls) - 1}", lambda arm: _is_arm(arm, len(pulls)))
        tried(policy, "choose", "memory, now, rng", (memory, Now(made, log_n, 2.5 * made), rng), an_arm)
        return
    belief = tried(memory, "belief", "arm", (0,))
    if belief is None:
        return
    if way == "sample":
        tried(policy, "sample", "belief, log_n, rng", (belief, log_n, rng), NUMBER)
    elif way in ("score", "lazy score"):
        tried(policy, "score", "belief, log_n", (belief, log_n), NUMBER)
        if way == "lazy score":
            tried(policy, "phase", "log_n", (log_n,), WHOLE)
    elif made:  # there is a leader to compare with
        lead = memory.lead(leader_of(memory, pulls)[0])
        tried(policy, "excess", "belief, low, high", (belief, lead, lead), NUMBER)
        if way == "opening":
            tried(policy, "fresh", "low, high", (lead, lead), NUMBER)


def _is_arm(value: Any, arms: int) -> bool:
    return WHOLE.good(value) and 0 <= value < arms


def _perhaps(policy: object) -> str:
    """What was probably meant: a policy by its name, a method of another name, or a class that is no NamedTuple."""
    if isinstance(policy, str):
        from outlay.policies import BY_NAME  # which imports all policies

        return f"{meant(policy, BY_NAME)[:-2]}(…)?)" if meant(policy, BY_NAME) else ""
    methods = sum(callable(getattr(policy, kind, None)) for kind in KINDS)
    if methods == 0 and is_own(type(policy)):
        own = [name for name, value in vars(type(policy)).items() if callable(value) and not name.startswith("_")]
        return next((f"{question[:-2]}, not {name}?)" for name in own if (question := meant(name, KINDS))), "")
    return f" (did you mean `class {type(policy).__name__}(NamedTuple)`?)" if methods == 1 else ""
