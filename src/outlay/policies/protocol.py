"""What a policy must be, what it remembers with, and how it is written down: for the engine and for campaigns.

A policy is a tuple of parameters (`Parameters`, or any NamedTuple) with exactly one of four methods: it is `Scored`,
`Sampled`, `Compared` or a `Chooser`, and `Policy` is any of them. Beliefs and memories are each policy's own affair.
"""

import inspect
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from outlay.beliefs import Lead, Moments
from outlay.errors import BadParameter
from outlay.formulas.choose import Now
from outlay.parameters import Parameters, is_record, signature_of

Kind = Literal["score", "sample", "excess", "choose"]
KINDS: tuple[Kind, ...] = ("score", "sample", "excess", "choose")


class Scored(Protocol):
    """Each arm has a score; the arm with the largest is pulled."""

    def score(self, belief: Any, log_n: float, /) -> float:
        """What speaks for an arm, log_n = ln(pulls so far)."""


class Sampled(Protocol):
    """Each arm has a score with chance in it; the arm with the largest is pulled."""

    def sample(self, belief: Any, log_n: float, rng: np.random.Generator, /) -> float:
        """What speaks for an arm, drawn anew each time."""


class Compared(Protocol):
    """Each arm is compared with the leader, which is pulled unless an excess is ≤ 0."""

    def excess(self, belief: Any, low: Lead, high: Lead, /) -> float:
        """By how much the evidence against an arm exceeds what would be enough, at least, for leads between two."""


class Chooser(Protocol):
    """Looks at all arms at once and names one."""

    def choose(self, memory: Any, now: Now, rng: np.random.Generator, /) -> int:
        """The arm to pull."""


Policy = Scored | Sampled | Compared | Chooser


@runtime_checkable
class Memory(Protocol):
    """What a policy remembers with: a NamedTuple of arrays that are changed in place."""

    def observe(self, arm: int, cost: float, reward: float, /) -> None:
        """Take in one sample of an arm."""

    def belief(self, arm: int, /) -> Any:
        """What is known of an arm."""

    def full(self) -> bool:
        """Whether there is no room for another sample: then `grown` makes some."""


@runtime_checkable
class Grows(Protocol):
    """A memory that can be full, and then go on in a larger one."""

    def grown(self) -> "Memory":
        """A copy with more room."""


@runtime_checkable
class Leads(Protocol):
    """A memory for policies that compare every arm with the leader."""

    def lead(self, arm: int, /) -> Lead:
        """What the arm would have the others measure up to."""


@runtime_checkable
class Imagines(Protocol):
    """A memory that takes in many samples that are all alike at once: pulls under way."""

    def imagine(self, arm: int, count: int, cost: float, reward: float, /) -> None:
        """Take in `count` samples of an arm."""


@runtime_checkable
class Revises(Protocol):
    """A memory that can put one sample in the place of another."""

    def revise(self, arm: int, place: int, old: tuple[float, float], new: tuple[float, float], /) -> None:
        """Correct the sample that was the arm's `place`-th."""


@runtime_checkable
class Widens(Protocol):
    """A memory that can take another arm."""

    def widened(self) -> "Memory":
        """A copy with one arm more."""


@runtime_checkable
class Settles(Protocol):
    """A policy whose memory keeps samples waiting for chance; a campaign has it settled as soon as they are told."""

    def settle(self, memory: Any, rng: np.random.Generator, /) -> None:
        """Take in what waits."""


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
    """The policy, told the budget where it asks for it."""
    return policy._replace(budget=float(budget)) if wants_budget(policy) else policy


def wants_budget(policy: Any) -> bool:
    """Whether the policy asks for the budget: it has a parameter, or a field, named `budget`."""
    return "budget" in (signature_of(type(policy)) if isinstance(policy, Parameters) else policy._fields)


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
