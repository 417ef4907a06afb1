"""The policy of a campaign at work: it learns from what was told, and chooses knowing what is still under way.

A pull that is under way counts as made, with its arm's mean cost and reward (before an arm's first sample, those of
all arms together; before any sample, cost 1 and reward 0): so asking a hundred times at once spreads the asks as a
hundred pulls would be spread. Nothing of that is learned: the next choice imagines it anew.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from outlay.beliefs import Lead, Sample
from outlay.errors import BadParameter, OutlayError
from outlay.formulas.choose import Counts, Now, best_by_excess, best_by_sample, best_by_score, log_of
from outlay.parameters import is_record
from outlay.policies.protocol import (
    Belief,
    Chooser,
    Grows,
    Imagines,
    Kind,
    Leads,
    Memory,
    Policy,
    Revises,
    Settles,
    Widens,
    checked_memory,
    checked_policy,
    way_of,
    with_budget,
)

# How an arm is chosen among some, for every kind of policy that asks about each arm by itself: policy, memory, pulls,
# ln n, random numbers.
_CHOICES: dict[Kind, Callable[[Any, Any, Counts, float, Any], int]] = {
    "score": lambda policy, memory, pulls, log_n, _: best_by_score(policy, memory, pulls, log_n),
    "sample": best_by_sample,
    "excess": lambda policy, memory, pulls, _, __: best_by_excess(policy, memory, pulls),
}


class Learner:
    """A policy and its memory; `arms` are indices, money is a float."""

    def __init__(self, policy: Policy, arms: int, budget: float) -> None:
        self.given = checked_policy("Campaign", "policy", policy, arms)
        self.policy = with_budget(policy, budget)
        self.memory = checked_memory("Campaign", policy, arms)
        self._kind = way_of(type(policy)).kind
        self._settles = isinstance(policy, Settles)
        self._revises, self._imagines = isinstance(self.memory, Revises), isinstance(self.memory, Imagines)
        self.pulls: NDArray[np.int64] = np.zeros(arms, np.int64)
        self.totals = np.zeros((arms, 2))  # cost and reward

    def observe(self, arm: int, cost: float, reward: float, stream: "Stream") -> None:
        """Learn one sample."""
        self.memory = _observed(self.memory, arm, cost, reward)
        if self._settles:
            cast("Settles", self.policy).settle(self.memory, cast("np.random.Generator", stream))
        self.pulls[arm] += 1
        self.totals[arm] += cost, reward

    def observe_all(self, samples: Iterable[tuple[int, float, float]], stream: "Stream") -> None:
        """Learn many samples, each an arm, a cost and a reward, or none where the memory refuses one."""
        before = _copy(self.memory), self.pulls.copy(), self.totals.copy()
        try:
            for arm, cost, reward in samples:
                self.observe(arm, cost, reward, stream)
        except BaseException:
            self.memory, self.pulls, self.totals = before
            raise

    def revise(self, arm: int, place: int, old: Sample, new: Sample) -> None:
        """Put one sample in place of another; a memory that cannot do that keeps the first."""
        if self._revises:
            self.memory.revise(arm, place, old, new)
        self.totals[arm] += np.array(new) - np.array(old)

    def check_wider(self) -> None:
        """Refuse another arm where the policy or its memory cannot take one."""
        checked_policy("add_arm", "policy", self.given, len(self.pulls) + 1)
        if not isinstance(self.memory, Widens):
            raise BadParameter("add_arm", "policy", "one whose memory has a method widened", self.given)

    def widen(self) -> None:
        """Make room for another arm."""
        self.memory = self.memory.widened()
        self.pulls = np.append(self.pulls, 0)
        self.totals = np.vstack([self.totals, np.zeros(2)])

    def set_budget(self, budget: float) -> None:
        """Tell a policy that asks for it the budget."""
        self.policy = with_budget(self.given, budget)

    def choose(self, open_arms: Sequence[int], in_flight: Sequence[int], spent: float, stream: "Stream") -> int:
        """The arm to pull next, of those that are open; `in_flight` counts each arm's pulls under way."""
        memory, pulls = self._with(in_flight)
        n = int(pulls.sum())
        if self._kind == "choose":
            return self._chosen(open_arms, _copy(memory), pulls, Now(n, log_of(n), spent), stream)
        some = len(open_arms) < len(pulls)
        view = _Among(memory, open_arms) if some else memory
        counts = pulls[list(open_arms)] if some else pulls
        return open_arms[_CHOICES[self._kind](self.policy, view, counts, log_of(n), stream)]

    def _chosen(
        self, open_arms: Sequence[int], memory: Memory, pulls: Counts, now: Now, stream: "Stream"
    ) -> int:  # fmt: skip
        """The arm that the policy names, or the open one with the largest rate where that is closed."""
        arm = cast("Chooser", self.policy).choose(memory, now, cast("np.random.Generator", stream))
        if not 0 <= arm < len(pulls):
            raise OutlayError(f"{type(self.policy).__name__} chose arm {arm}, and there are {len(pulls)} from 0")
        return arm if arm in open_arms else max(open_arms, key=lambda k: (self._rate(k), -pulls[k], -k))

    def _with(self, in_flight: Sequence[int]) -> tuple[Memory, Counts]:
        """Memory and pulls with those under way."""
        if not any(in_flight):
            return self.memory, self.pulls
        memory = _copy(self.memory)
        for arm, count in enumerate(in_flight):
            if count:
                memory = self._imagined(memory, arm, count)
        return memory, self.pulls + in_flight

    def _imagined(self, memory: Memory, arm: int, count: int) -> Memory:
        """The memory with `count` samples more, all as expected."""
        cost, reward = self._expected(arm)
        if self._imagines:
            cast("Imagines", memory).imagine(arm, count, cost, reward)
            return memory
        for _ in range(count):
            memory = _observed(memory, arm, cost, reward)
        return memory

    def _expected(self, arm: int) -> Sample:
        rows = self.totals[arm] if self.pulls[arm] else self.totals.sum(axis=0)
        count = int(self.pulls[arm] or self.pulls.sum())
        return (float(rows[0]) / count, float(rows[1]) / count) if count else (1.0, 0.0)

    def _rate(self, arm: int) -> float:
        cost, reward = self.totals[arm]
        return float(reward / cost) if cost > 0.0 else np.inf


class Stream:
    """The random numbers of one event, made when the first is drawn: they depend on the seed and the event alone.

    >>> Stream(seed=7, seq=3).random() == Stream(seed=7, seq=3).random() != Stream(seed=7, seq=4).random()
    True
    """

    def __init__(self, seed: int, seq: int, draw: int = 0) -> None:
        self._of = seed, seq, draw
        self._made: np.random.Generator | None = None

    @property
    def used(self) -> bool:
        """Whether a random number was drawn."""
        return self._made is not None

    def __getattr__(self, verb: str) -> Any:
        if self._made is None:
            seed, seq, draw = self._of
            self._made = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, draw, seq]))
        return getattr(self._made, verb)


class _Among:
    """A memory seen through a choice of its arms."""

    def __init__(self, memory: Memory, arms: Sequence[int]) -> None:
        self._memory, self._arms = memory, arms

    def belief(self, arm: int) -> Belief:
        return self._memory.belief(self._arms[arm])

    def lead(self, arm: int) -> Lead:
        return cast("Leads", self._memory).lead(self._arms[arm])


def _observed(memory: Memory, arm: int, cost: float, reward: float) -> Memory:
    """The memory with one sample more."""
    memory.observe(arm, cost, reward)
    return cast("Grows", memory).grown() if memory.full() else memory


def _copy(memory: Memory) -> Memory:
    """A memory that can be changed by itself."""
    return cast("Memory", _copied(cast("tuple[object, ...]", memory)))


def _copied(record: tuple[object, ...]) -> tuple[object, ...]:
    fields = (
        field.copy() if isinstance(field, np.ndarray) else _copied(field) if _nested(field) else deepcopy(field)
        for field in record
    )
    return tuple.__new__(type(record), fields)


def _nested(field: object) -> TypeGuard[tuple[object, ...]]:
    return is_record(field)
