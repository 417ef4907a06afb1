"""What a policy must be, what it remembers with, and how it is written down: for the engine and for campaigns."""

import inspect
from typing import Any

import numpy as np

from outlay.beliefs import Moments
from outlay.errors import BadParameter
from outlay.parameters import is_record

KINDS = ("score", "sample", "excess", "choose")


class Rising:
    """A mix-in for policies whose score never falls as log_n grows, but for pulls of the arm itself: lazy for free."""

    __slots__ = ()

    def phase(self, log_n: float) -> int:  # noqa: ARG002 (it never changes)
        """Always 0: between pulls of the arm the score never falls."""
        return 0


def kind_of(policy: Any) -> str | None:
    """Which one of the four methods a policy has; None for anything that is no policy.

    >>> from outlay import policies
    >>> kind_of(policies.default()), kind_of("Frugal")
    ('excess', None)
    """
    kinds = [kind for kind in KINDS if callable(getattr(type(policy), kind, None))]
    return kinds[0] if is_record(policy) and len(kinds) == 1 else None


def checked_policy(owner: str, name: str, policy: Any, arms: int) -> Any:
    """The policy, if it is one and fits this many arms."""
    if kind_of(policy) is None:
        allowed = "a NamedTuple with exactly one of the methods score, sample, excess and choose"
        raise BadParameter(owner, name, allowed, policy)
    if inspect.isfunction(getattr(type(policy), "check", None)):
        policy.check(arms)
    return policy


def memory_of(policy: Any, arms: int) -> Any:
    """A memory before the first pull: the policy's own kind, or moments."""
    own = inspect.isfunction(getattr(type(policy), "memory", None))
    return policy.memory(arms) if own else Moments.empty(arms)


def checked_memory(owner: str, policy: Any, arms: int) -> Any:
    """`memory_of`, if it is one that the policy can be used with."""
    memory = memory_of(policy, arms)
    if not is_record(memory) or not all(hasattr(memory, name) for name in ("observe", "belief", "full")):
        raise BadParameter(owner, "memory", "a NamedTuple with methods observe, belief and full", memory)
    if kind_of(policy) == "excess" and not hasattr(memory, "lead"):
        allowed = "one with a method lead, such as Pooled, for a policy with excess"
        raise BadParameter(owner, "memory", allowed, memory)
    return memory


def told(policy: Any, budget: float) -> Any:
    """The policy, told the budget where it asks for it (a field named `budget`)."""
    return policy._replace(budget=float(budget)) if "budget" in policy._fields else policy


def as_data(policy: Any) -> dict[str, Any]:
    """A policy's name and its constructor's arguments as numbers, strings and lists.

    >>> from outlay import policies
    >>> as_data(policies.UCBB2(cost_bound=1, reward_bound=2))["parameters"]["reward_bound"]
    2.0
    """
    given = policy.arguments() if hasattr(policy, "arguments") else policy._asdict()
    return {"name": type(policy).__name__, "parameters": {key: _plain(value) for key, value in given.items()}}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
