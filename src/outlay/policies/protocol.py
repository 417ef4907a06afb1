"""What a policy must be, what it is told, and how it is written down: for the engine and for campaigns.

A policy is a tuple of parameters (`Parameters`, or any NamedTuple) with exactly one of four methods: it is `Scored`,
`Sampled`, `Compared` or a `Chooser`, and `Policy` is any of them; `PolicyExtras` has what it may have besides.
`POLICY_KINDS` is the table of what follows from that: the compiled loop, the GPU, campaigns and the contract for
policies all read it.

It remembers with a `Memory`, a NamedTuple of arrays: a `LeaderMemory` where arms are compared with a leader, a
`SequentialMemory` where they are opened one by one. `CampaignMemory` has what campaigns ask for besides, since pulls
are under way, corrected, and made of arms that come later. Beliefs are each memory's own affair.

A policy of the user's is tried before it is used: its methods are called once before the first pull and once after
four, in the interpreter, so that an error names the line of a mistake.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeGuard, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import Lead, Moments, Sample
from outlay.checks import Vector
from outlay.errors import BadParameter
from outlay.formulas.argmax import Counts, Now, leader_of, log_of
from outlay.parameters import is_record
from outlay.text import meant
from outlay.usercode import NUMBER, WHOLE, Returned, instead_of_class, is_own, try_once

MethodName = Literal["score", "sample", "excess", "choose"]
METHODS: tuple[MethodName, ...] = ("score", "sample", "excess", "choose")
KindName = Literal["lazy score", "score", "opening", "excess", "sample", "choose"]

# What no annotation can say: a memory's own class of beliefs, which its policy knows; a NamedTuple that is a `Memory`.
Belief = Any
MemoryTuple = Any

_PULLS = 4  # that a trial makes


@runtime_checkable
class Scored(Protocol):
    """Each arm has a score; the arm with the largest is pulled."""

    def score(self, belief: Belief, log_n: float, /) -> float:
        """What speaks for an arm, log_n = ln(pulls so far)."""


@runtime_checkable
class Phased(Scored, Protocol):
    """The same with a score that may be looked at lazily."""

    def phase(self, log_n: float, /) -> int:
        """A whole number; while it is the same, the score of an arm that is not pulled never falls as log_n grows."""


class RisingScore:
    """A mix-in for policies whose score falls only when its arm is pulled, never as log_n grows: lazy for free."""

    __slots__ = ()

    def phase(self, log_n: float) -> int:  # noqa: ARG002 (it never changes)
        """Always 0: between pulls of the arm the score never falls."""
        return 0


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

    def excess_of_new_arm(self, low: Lead, high: Lead, /) -> float:
        """The excess of an arm that is not open, at most that for any lead between the two."""


@runtime_checkable
class Chooser(Protocol):
    """Looks at all arms at once and names one."""

    def choose(self, memory: Any, now: Now, rng: np.random.Generator, /) -> int:
        """The arm to pull."""


Policy = Scored | Sampled | Compared | Chooser


class PolicyExtras(Protocol):
    """Methods that a policy may have besides, each by itself: `has(policy, "check")` says whether it does."""

    def check(self, arms: int, /) -> None:
        """Raise BadParameter where it does not fit this many arms."""

    def memory(self, arms: int, /) -> "Memory":
        """A memory of its own kind before the first pull; the others remember with moments."""

    def arguments(self) -> dict[str, Any]:
        """What its constructor was given, in its order; a plain NamedTuple was given its fields."""

    def choose_among(self, memory: Any, arms: Counts, now: Now, rng: np.random.Generator, /) -> int:
        """For a `Chooser`: the arm to pull of these, in order; the others are disabled, or cost too much now."""

    def chances(self, memory: Any, arms: Counts, now: Now, /) -> Vector:
        """For a `Chooser`: with which chance it names each of these arms; without it a campaign estimates that."""

    def settle(self, memory: Any, rng: np.random.Generator, /) -> None:
        """Take in samples that wait for a random draw, as BTS keeps them; a campaign asks as it learns each one."""


@runtime_checkable
class Memory(Protocol):
    """What a policy remembers with: a NamedTuple of arrays that are changed in place."""

    def observe(self, arm: int, cost: float, reward: float, /) -> None:
        """Take in one sample of an arm."""

    def belief(self, arm: int, /) -> Belief:
        """What is known of an arm."""

    def full(self) -> bool:
        """Whether there is no room for another sample: then `enlarged` makes some."""


@runtime_checkable
class LeaderMemory(Memory, Protocol):
    """A memory for policies that compare every arm with the leader."""

    def lead(self, arm: int, /) -> Lead:
        """What the others are compared with when this arm leads."""


@runtime_checkable
class SequentialMemory(LeaderMemory, Protocol):
    """A memory for policies that open arms one by one, in an order that it draws."""

    def opened(self) -> int:
        """How many arms are open."""

    def unopened(self) -> int:
        """The arm to open next, or the number of arms."""

    def shuffle(self, rng: np.random.Generator, /) -> None:
        """Draw the order of the arms that are not open, unless it has been drawn."""


class CampaignMemory(Memory, Protocol):
    """Methods that a memory may have besides, each by itself: `has(memory, "enlarged")` says whether it does."""

    def enlarged(self) -> MemoryTuple:
        """A copy with more room; needed where `full` can be true."""

    def add_expected(self, arm: int, count: int, cost: float, reward: float, /) -> None:
        """Take in so many samples that are all alike: pulls under way. Without it they are observed one by one."""

    def revise(self, arm: int, place: int, old: Sample, new: Sample, /) -> None:
        """Correct the sample that was the arm's `place`-th. Without it a correction is not learned."""

    def forgotten(self, arm: int, /) -> int:
        """How many of the arm's first samples were forgotten, since it has changed. Without it no change is told of."""

    def unmark(self, arm: int, /) -> None:
        """Conclude no change from the next sample, of which nobody told anything. It is there where `forgotten` is."""

    def with_new_arm(self) -> MemoryTuple:
        """A copy with one arm more. Without it no arm can be added."""

    def arrive(self, features: Vector, /) -> None:
        """A request that has these features is to be served. Without it, requests are all alike to the policy."""

    def observe_with(self, features: Vector, arm: int, cost: float, reward: float, /) -> None:
        """Take in one sample of an arm, for a request that has these features: needed with `arrive`."""

    def insert_at_random(self, rng: np.random.Generator, /) -> None:
        """Give the arm that was added last a random place among those that are not open."""

    def know_cost(self, arm: int, cost: float, /) -> None:
        """Take it for the arm's mean cost, whatever its samples say."""

    def subset(self, arms: NDArray[np.int64], /) -> SequentialMemory:
        """A copy with these arms only, numbered anew; needed where a campaign opens arms one by one."""

    def without_cache(self) -> MemoryTuple:
        """The same without answers kept from earlier questions: what it holds depends on the samples alone."""


def has(value: object, method: str) -> bool:
    """Whether a policy or a memory, or such a class, has a method of this name; a field may have the name, too."""
    return callable(getattr(value if isinstance(value, type) else type(value), method, None))


class PolicyKind(NamedTuple):
    """A way to decide, and what follows from it."""

    name: KindName
    methods: tuple[str, ...]  # that a policy has which decides in this way
    memory: tuple[str, ...] = ("observe", "belief", "full")  # the methods that its memory must have
    lazy: bool = False  # whether a choice can be known without asking about every arm

    @property
    def method(self) -> MethodName:
        """The one method of the four that such a policy has."""
        return cast("MethodName", self.methods[0])


_LEADER = ("observe", "belief", "full", "lead")
# The first kind whose methods a policy has is its own: a score with `phase` promises that it only rises in between.
POLICY_KINDS = (
    PolicyKind("lazy score", ("score", "phase"), lazy=True),
    PolicyKind("score", ("score",)),
    PolicyKind("opening", ("excess", "excess_of_new_arm"), (*_LEADER, "opened", "unopened", "shuffle"), lazy=True),
    PolicyKind("excess", ("excess",), _LEADER, lazy=True),
    PolicyKind("sample", ("sample",)),
    PolicyKind("choose", ("choose",)),
)


def policy_kind(cls: type) -> PolicyKind:
    """How policies of this class decide: the interpreter and the compilers agree on it here.

    >>> from outlay import policies
    >>> policy_kind(policies.UCBB1).name, policy_kind(policies.Frugal).name
    ('lazy score', 'excess')
    """
    return next(kind for kind in POLICY_KINDS if all(has(cls, method) for method in kind.methods))


def method_of(policy: object) -> MethodName | None:
    """Which one of the four methods a policy has; None for anything that is no policy.

    >>> from outlay import policies
    >>> method_of(policies.default()), method_of("Frugal")
    ('excess', None)
    """
    methods = [method for method in METHODS if has(policy, method)]
    return methods[0] if is_record(policy) and len(methods) == 1 else None


def is_policy(value: object) -> TypeGuard[Policy]:
    """Whether it is a policy: one of outlay's, or a NamedTuple with exactly one of the four methods."""
    return method_of(value) is not None


def check_policy(owner: str, name: str, policy: object, arms: int) -> Policy:
    """The policy, if it is one and fits this many arms; one of the user's has been tried."""
    if isinstance(policy, type):
        raise BadParameter(owner, name, instead_of_class(policy), policy)
    if not is_policy(policy):
        allowed = "a NamedTuple with exactly one of the methods score, sample, excess and choose"
        raise BadParameter(owner, name, f"{allowed}{_perhaps(policy)}", policy)
    if has(policy, "check"):
        cast("PolicyExtras", policy).check(arms)
    if is_own(type(policy)):
        _try(with_limits(policy, 1000.0, 1000), arms)
    return policy


def memory_of(policy: Policy, arms: int) -> MemoryTuple:
    """A memory before the first pull: the policy's own kind, or moments."""
    return cast("PolicyExtras", policy).memory(arms) if has(policy, "memory") else Moments.empty(arms)


def check_memory(owner: str, policy: Policy, arms: int) -> MemoryTuple:
    """`memory_of`, if it is one that the policy can be used with."""
    memory = memory_of(policy, arms)
    if not is_record(memory) or not isinstance(memory, Memory):
        raise BadParameter(owner, "memory", "a NamedTuple with methods observe, belief and full", memory)
    kind = policy_kind(type(policy))
    for method in kind.memory:
        if not has(memory, method):
            such = ("PooledMoments", "excess")
            if kind.name == "opening":
                such = ("SequentialMoments", "excess_of_new_arm")
            allowed = f"one with a method {method}, such as {such[0]}, for a policy with {such[1]}"
            raise BadParameter(owner, "memory", allowed, memory)
    return memory


def parameters_of(policy: Policy) -> Mapping[str, Any]:
    """What the policy's constructor was given, by name."""
    own = cast("Any", policy)
    given: Mapping[str, Any] = own.arguments() if has(policy, "arguments") else own._asdict()
    return given


def as_data(policy: Policy) -> dict[str, Any]:
    """A policy's name and its constructor's arguments as numbers, strings and lists.

    >>> from outlay import policies
    >>> as_data(policies.UCBB2(cost_bound=1, reward_bound=2))["parameters"]["reward_bound"]
    2.0
    """
    parameters = {
        name: value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        for name, value in parameters_of(policy).items()
    }
    return {"name": type(policy).__name__, "parameters": parameters}


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


def _try(policy: Policy, arms: int) -> None:
    """Ask a policy about blank arms and about arms that have been pulled."""
    memory = cast("Any", check_memory(type(policy).__name__, policy, arms))
    rng, pulls, kind = np.random.default_rng(0), np.zeros(arms, np.int64), policy_kind(type(policy)).name
    if kind == "opening":
        try_once(memory, "shuffle", "rng", (rng,))
    _ask(policy, kind, memory, pulls, rng)
    for n in range(_PULLS):
        arm = n % min(arms, _PULLS // 2)
        try_once(memory, "observe", "arm, cost, reward", (arm, 1.0 + n, 0.5))
        pulls[arm] += 1
    _ask(policy, kind, memory, pulls, rng)


def _ask(policy: Policy, kind: KindName, memory: Any, pulls: Any, rng: np.random.Generator) -> None:
    made = int(pulls.sum())
    log_n = log_of(made)
    if kind == "choose":
        words = f"an arm, a whole number from 0 to {len(pulls) - 1}"
        an_arm = Returned(words, lambda arm: WHOLE.good(arm) and 0 <= arm < len(pulls))
        try_once(policy, "choose", "memory, now, rng", (memory, Now(made, log_n, 2.5 * made), rng), an_arm)
        return
    belief = try_once(memory, "belief", "arm", (0,))
    if belief is None:
        return
    if kind == "sample":
        try_once(policy, "sample", "belief, log_n, rng", (belief, log_n, rng), NUMBER)
    elif kind in ("score", "lazy score"):
        try_once(policy, "score", "belief, log_n", (belief, log_n), NUMBER)
        if kind == "lazy score":
            try_once(policy, "phase", "log_n", (log_n,), WHOLE)
    elif made:  # there is a leader to compare with
        lead = memory.lead(leader_of(memory, pulls)[0])
        try_once(policy, "excess", "belief, low, high", (belief, lead, lead), NUMBER)
        if kind == "opening":
            try_once(policy, "excess_of_new_arm", "low, high", (lead, lead), NUMBER)


def _perhaps(policy: object) -> str:
    """What was probably meant: a policy by its name, a method of another name, or a class that is no NamedTuple."""
    if isinstance(policy, str):
        from outlay.policies import BY_NAME  # which imports all policies

        return f"{meant(policy, BY_NAME)[:-2]}(…)?)" if meant(policy, BY_NAME) else ""
    methods = sum(callable(getattr(policy, method, None)) for method in METHODS)
    if methods == 0 and is_own(type(policy)):
        own = [name for name, value in vars(type(policy)).items() if callable(value) and not name.startswith("_")]
        return next((f"{question[:-2]}, not {name}?)" for name in own if (question := meant(name, METHODS))), "")
    return f" (did you mean `class {type(policy).__name__}(NamedTuple)`?)" if methods == 1 else ""
