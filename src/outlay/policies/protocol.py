"""What a policy must be, what it is told, and how it is written down: for the engine and for campaigns.

A policy is a tuple of parameters (`Parameters`, or any NamedTuple) with exactly one of four methods: it is `Scored`,
`Sampled`, `Compared` or a `Chooser`, and `Policy` is any of them. `WAYS` is the table of what follows from that: the
compiled loop, the GPU, campaigns and the contract for policies all read it. Beliefs and memories are each policy's own
affair; what memories can do is in `memory_protocol`, and can be imported from here, too.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeGuard, cast, runtime_checkable

import numpy as np

from outlay.beliefs import Lead, Moments
from outlay.errors import BadParameter
from outlay.formulas.choices.choose import Counts, Now
from outlay.parameters import is_record
from outlay.policies.memory_protocol import Bares as Bares
from outlay.policies.memory_protocol import Belief as Belief
from outlay.policies.memory_protocol import Deals as Deals
from outlay.policies.memory_protocol import Grows as Grows
from outlay.policies.memory_protocol import Imagines as Imagines
from outlay.policies.memory_protocol import KnowsCosts as KnowsCosts
from outlay.policies.memory_protocol import Leads as Leads
from outlay.policies.memory_protocol import Memory as Memory
from outlay.policies.memory_protocol import MemoryTuple as MemoryTuple
from outlay.policies.memory_protocol import Narrows as Narrows
from outlay.policies.memory_protocol import Opens as Opens
from outlay.policies.memory_protocol import Revises as Revises
from outlay.policies.memory_protocol import Widens as Widens

Kind = Literal["score", "sample", "excess", "choose"]
KINDS: tuple[Kind, ...] = ("score", "sample", "excess", "choose")


@runtime_checkable
class Scored(Protocol):
    """Each arm has a score; the arm with the largest is pulled."""

    def score(self, belief: Belief, log_n: float, /) -> float:
        """What speaks for an arm, log_n = ln(pulls so far)."""


@runtime_checkable
class Phased(Scored, Protocol):
    """A policy with a score that may be looked at lazily."""

    def phase(self, log_n: float, /) -> int:
        """A whole number; while it is the same, the score of an arm that is not pulled never falls as log_n grows."""


@runtime_checkable
class Sampled(Protocol):
    """Each arm has a score with chance in it; the arm with the largest is pulled."""

    def sample(self, belief: Belief, log_n: float, rng: np.random.Generator, /) -> float:
        """What speaks for an arm, drawn anew each time."""


@runtime_checkable
class Compared(Protocol):
    """Each arm is compared with the leader, which is pulled unless an excess is ≤ 0."""

    def excess(self, belief: Belief, low: Lead, high: Lead, /) -> float:
        """By how much, at least, the evidence against an arm exceeds what is enough, for any lead between the two."""


@runtime_checkable
class Opening(Compared, Protocol):
    """Opens arms one by one: the next is pulled where its excess is ≤ 0 and least."""

    def fresh(self, low: Lead, high: Lead, /) -> float:
        """The excess of an arm that is not open, at most that for any lead between the two."""


@runtime_checkable
class Chooser(Protocol):
    """Looks at all arms at once and names one."""

    def choose(self, memory: Any, now: Now, rng: np.random.Generator, /) -> int:
        """The arm to pull."""


@runtime_checkable
class ChooserAmong(Chooser, Protocol):
    """Names one of some arms, too: the others are disabled, or their dearest pull costs more than is left."""

    def choose_among(self, memory: Any, arms: Counts, now: Now, rng: np.random.Generator, /) -> int:
        """The arm to pull, of these, which are in order."""


Policy = Scored | Sampled | Compared | Chooser


@runtime_checkable
class Checks(Protocol):
    """A policy that fits some numbers of arms only."""

    def check(self, arms: int, /) -> None:
        """Raise BadParameter where it does not fit this many arms."""


@runtime_checkable
class Remembers(Protocol):
    """A policy with a memory of its own kind; the others remember with moments."""

    def memory(self, arms: int, /) -> "Memory":
        """A memory before the first pull."""


@runtime_checkable
class Declares(Protocol):
    """A policy that says what its constructor was given; a plain NamedTuple was given its fields."""

    def arguments(self) -> dict[str, Any]:
        """The constructor's arguments, in its order."""


@runtime_checkable
class Settles(Protocol):
    """A policy whose memory keeps samples waiting for a random draw; a campaign settles them as they are told."""

    def settle(self, memory: Any, rng: np.random.Generator, /) -> None:
        """Take in what waits."""


class Rising:
    """A mix-in for policies whose score falls only when its arm is pulled, never as log_n grows: lazy for free."""

    __slots__ = ()

    def phase(self, log_n: float) -> int:  # noqa: ARG002 (it never changes)
        """Always 0: between pulls of the arm the score never falls."""
        return 0


class Way(NamedTuple):
    """A way to decide, and what follows from it."""

    name: "WayName"
    methods: tuple[str, ...]  # that a policy has which decides in this way; the first is its kind
    memory: tuple[str, ...] = ("observe", "belief", "full")  # the methods that its memory must have
    lazy: bool = False  # whether a choice can be known without asking about every arm

    @property
    def kind(self) -> Kind:
        """The one method of the four that such a policy has."""
        return cast("Kind", self.methods[0])


WayName = Literal["lazy score", "score", "opening", "excess", "sample", "choose"]
_LEADS = ("observe", "belief", "full", "lead")
# The first way whose methods a policy has is its own: a score with `phase` promises that it only rises in between.
WAYS = (
    Way("lazy score", ("score", "phase"), lazy=True),
    Way("score", ("score",)),
    Way("opening", ("excess", "fresh"), memory=(*_LEADS, "opened", "unopened", "shuffle"), lazy=True),
    Way("excess", ("excess",), memory=_LEADS, lazy=True),
    Way("sample", ("sample",)),
    Way("choose", ("choose",)),
)


def way_of(cls: type) -> Way:
    """How policies of this class decide: the interpreter and the compilers agree on it here.

    >>> from outlay import policies
    >>> way_of(policies.UCBB1).name, way_of(policies.Frugal).name
    ('lazy score', 'excess')
    """
    return next(way for way in WAYS if all(_can(cls, method) for method in way.methods))


def _can(cls: type, method: str) -> bool:
    """Whether a class has a method of this name; a field may have the name, too."""
    return callable(getattr(cls, method, None))


def kind_of(policy: object) -> Kind | None:
    """Which one of the four methods a policy has; None for anything that is no policy.

    >>> from outlay import policies
    >>> kind_of(policies.default()), kind_of("Frugal")
    ('excess', None)
    """
    kinds = [kind for kind in KINDS if _can(type(policy), kind)]
    return kinds[0] if is_record(policy) and len(kinds) == 1 else None


def is_policy(value: object) -> TypeGuard[Policy]:
    """Whether it is a policy: one of outlay's, or a NamedTuple with exactly one of the four methods."""
    return kind_of(value) is not None


def memory_of(policy: Policy, arms: int) -> MemoryTuple:
    """A memory before the first pull: the policy's own kind, or moments."""
    if isinstance(policy, Remembers) and _can(type(policy), "memory"):
        return policy.memory(arms)
    return Moments.empty(arms)


def checked_memory(owner: str, policy: Policy, arms: int) -> MemoryTuple:
    """`memory_of`, if it is one that the policy can be used with."""
    memory = memory_of(policy, arms)
    if not is_record(memory) or not isinstance(memory, Memory):
        raise BadParameter(owner, "memory", "a NamedTuple with methods observe, belief and full", memory)
    way = way_of(type(policy))
    if not all(_can(type(memory), method) for method in way.memory):
        lacking = next(method for method in way.memory if not _can(type(memory), method))
        such = "Opened, for a policy with fresh" if way.name == "opening" else "Pooled, for a policy with excess"
        allowed = f"one with a method {lacking}, such as {such}"
        raise BadParameter(owner, "memory", allowed, memory)
    return memory


def parameters_of(policy: Policy) -> Mapping[str, Any]:
    """What the policy's constructor was given, by name."""
    given: Mapping[str, Any] = policy.arguments() if isinstance(policy, Declares) else cast("Any", policy)._asdict()
    return given


def wants_budget(policy: Policy) -> bool:
    """Whether a policy asks for the budget: it is then played once per budget.

    It does so by having a parameter of that name, unless it has a parameter `horizon`, too, and that is "unknown".

    >>> from outlay.policies import Frugal
    >>> from outlay.policies.baselines import EpsilonFirst
    >>> wants_budget(EpsilonFirst()), wants_budget(Frugal())
    (True, False)
    """
    return _asks_for(policy, "budget")


def wants_requests(policy: Policy) -> bool:
    """Whether a policy asks how many requests there are, as `wants_budget` has it."""
    return _asks_for(policy, "requests")


def with_limits(policy: Policy, budget: float, requests: float | None = None) -> Policy:
    """The policy, told the budget and the number of requests where it asks for them and they are limits.

    An infinite budget and requests without a number limit nothing: then a policy keeps what it was given.

    >>> from outlay.policies.baselines import EpsilonFirst
    >>> with_limits(EpsilonFirst(), 50.0, requests=1000)
    EpsilonFirst(epsilon=0.1, budget=50.0)
    """
    limits = {"budget": float(budget), "requests": math.inf if requests is None else float(requests)}
    told = {name: limit for name, limit in limits.items() if limit < math.inf and _asks_for(policy, name)}
    return cast("Policy", cast("Any", policy)._replace(**told)) if told else policy


def with_costs(policy: Policy, costs: Sequence[float] | None) -> Policy:
    """The policy, told what each arm costs on average, where it asks for that and it is known."""
    if costs is None or parameters_of(policy).get("costs", costs) is not None:
        return policy
    return cast("Policy", cast("Any", policy)._replace(costs=np.array(costs)))


def _asks_for(policy: Policy, limit: str) -> bool:
    given = parameters_of(policy)
    return limit in given and given.get("horizon") != "unknown"


def as_data(policy: Policy) -> dict[str, Any]:
    """A policy's name and its constructor's arguments as numbers, strings and lists.

    >>> from outlay import policies
    >>> as_data(policies.UCBB2(cost_bound=1, reward_bound=2))["parameters"]["reward_bound"]
    2.0
    """
    parameters = {name: _plain(value) for name, value in parameters_of(policy).items()}
    return {"name": type(policy).__name__, "parameters": parameters}


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
