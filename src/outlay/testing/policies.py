"""The contract of every policy."""

import itertools
import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from outlay.arms import Gaussian, Problem
from outlay.beliefs import Lead
from outlay.engine import simulate
from outlay.engine.run.loop import Scratch, forget
from outlay.errors import BadParameter, InterpretedWarning
from outlay.formulas import lazy_leader as asking
from outlay.formulas import lazy_leader as certificate
from outlay.formulas.argmax import best_by_excess, best_by_score, best_of_opened, leader_of, log_of, number
from outlay.formulas.lazy_leader import box_around
from outlay.formulas.lazy_score import MARGIN, lazy_best
from outlay.policies.protocol import MemoryTuple, Policy, PolicyKind, check_policy, memory_of, policy_kind

_SCALES = (1e-6, 1e-3, 0.1, 1.0, 30.0)


class PolicyContract:
    """Set `policy` in a subclass; `arms` where it was made for a certain number of them.

    >>> from outlay.policies import UCBB1
    >>> class TestUCBB1(PolicyContract):
    ...     policy = UCBB1(0.04, 0.09, 0.03)
    >>> TestUCBB1().test_a_score_never_falls_within_a_phase()
    """

    policy: Any = None
    arms: int = 10

    def test_a_score_never_falls_within_a_phase(self) -> None:
        """The licence to be lazy: while `phase(log_n)` is the same, a larger log_n means no smaller score."""
        if not self._is_lazy():
            return
        rng = np.random.default_rng(0)
        for memory in self._memories(rng):
            steps = np.sort(np.concatenate([rng.uniform(0.0, 3.0, 8), rng.uniform(0.0, 37.0, 24)]))
            steps = np.sort(np.concatenate([steps, steps * (1.0 + 1e-12), steps * (1.0 + 1e-4)])).tolist()
            for arm in range(self.arms):
                belief = memory.belief(arm)
                for low, high in itertools.pairwise(steps):
                    if self.policy.phase(low) == self.policy.phase(high):
                        before, after = (number(self.policy.score(belief, step)) for step in (low, high))
                        slack = MARGIN * abs(before) if math.isfinite(before) else 0.0
                        if not after >= before - slack:
                            where = f"from {before!r} at log_n = {low!r} to {after!r} at {high!r}, in one phase"
                            raise AssertionError(f"the score of {self.policy!r} falls {where}, for {belief!r}")

    def test_a_phase_never_falls(self) -> None:
        """A phase is a whole number that only grows with log_n: that is how the engine finds where one ends."""
        if self._is_lazy():
            phases = [self.policy.phase(log_n) for log_n in np.linspace(0.0, 40.0, 4001).tolist()]
            if not all(isinstance(phase, (int, np.integer)) for phase in phases):
                raise AssertionError(f"a phase of {self.policy!r} is not a whole number")
            if any(after < before for before, after in itertools.pairwise(phases)):
                raise AssertionError(f"the phase of {self.policy!r} falls as log_n grows")

    def test_pulling_one_arm_leaves_the_beliefs_of_the_others(self) -> None:
        """The other half of the licence: a memory that discounts would change scores that are not looked at."""
        if not self._kind.lazy:
            return
        for memory in self._memories(np.random.default_rng(1)):
            if memory.full() or (self._has_excess() and memory.belief(0).pulls == 0):
                continue
            before = self._judged(memory)
            memory.observe(0, 1.5, 2.5)
            if not np.array_equal(before[1:], self._judged(memory, before[0])[1:], equal_nan=True):
                raise AssertionError(f"pulling one arm changes the scores of others in {self.policy!r}")

    def test_an_excess_is_bounded_between_two_leads(self) -> None:
        """`excess(belief, low, high)` is at most the excess for any lead between low and high."""
        if not self._has_excess():
            return
        rng = np.random.default_rng(2)
        for memory in self._memories(rng):
            pulls = np.array([memory.belief(arm).pulls for arm in range(self.arms)])
            if not pulls.all():
                continue
            leader, _ = leader_of(memory, pulls)
            low, high = box_around(
                memory.lead(leader), *rng.choice([(0.001, 1.002), (0.02, 1.1), (0.5, 16.0)]).tolist()
            )
            high = high._replace(spent=rng.choice([1.0, 1.2, 16.0]) * abs(low.spent) + 1e-9)
            for arm, _ in itertools.product(range(self.arms), range(8)):
                weights = rng.choice([0.0, 1.0, rng.random()], len(low))
                lead = type(low)(*(np.array(low) + weights * (np.array(high) - np.array(low))).tolist())
                self._is_bounded(low, high, lead, partial(self.policy.excess, memory.belief(arm)))
                if self._kind.name == "opening":
                    self._is_bounded(low, high, lead, self.policy.excess_of_new_arm)

    def _is_bounded(self, low: Lead, high: Lead, lead: Lead, excess: Callable[[Lead, Lead], float]) -> None:
        bound, value = excess(low, high), excess(lead, lead)
        if not bound <= value + asking.MARGIN:
            between = f"{lead!r}, which is between {low!r} and {high!r}"
            raise AssertionError(f"the excess of {self.policy!r} is {value!r}, below {bound!r}, for {between}")

    def test_lazy_choices_are_those_of_a_full_scan(self) -> None:
        """At every pull of some runs, the arm that the engine finds is that of a full scan."""
        if not self._kind.lazy:
            return
        for seed in range(len(_SCALES)):
            rng = np.random.default_rng(seed)
            memory, pulls, scratch = self._memory(), np.zeros(self.arms, np.int64), Scratch.start(self.arms)
            forget(scratch)
            means, scale = rng.uniform(0.5, 2.0, (self.arms, 2)), _SCALES[seed]
            for n in range(400):
                if self._kind.name == "opening":
                    arm = best_of_opened(self.policy, memory, pulls)
                    lazy = certificate.lazy_among(self.policy, memory, pulls, scratch.known)
                elif self._has_excess():
                    arm = best_by_excess(self.policy, memory, pulls)
                    lazy = certificate.lazy_against(self.policy, memory, pulls, scratch.known)
                else:
                    arm = best_by_score(self.policy, memory, pulls, log_of(n))
                    lazy = lazy_best(self.policy, memory, pulls, n, scratch.race)
                if arm != lazy:
                    raise AssertionError(
                        f"{self.policy!r} should choose arm {arm} at pull {n}, and lazily chose {lazy}"
                    )
                memory.observe(arm, *(means[arm] + scale * rng.standard_normal(2)).tolist())
                pulls[arm] += 1
                if memory.full():
                    memory = memory.enlarged()
                    forget(scratch)

    def test_it_compiles_and_repeats_itself(self) -> None:
        """`simulate` compiles the policy, without a warning, and plays the same on one thread and on two."""
        policy = self._checked()
        problem = Problem([Gaussian(1.0, 0.5 + 0.1 * k, 0.3, 0.3) for k in range(self.arms)])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                first, second = (simulate(problem, policy, [200.0], runs=4, workers=k) for k in (1, 2))
            except InterpretedWarning as warning:
                raise AssertionError(str(warning)) from None
        if not np.array_equal(first.pulls, second.pulls):
            raise AssertionError(f"{self.policy!r} makes other pulls when it is run again")

    @property
    def _kind(self) -> PolicyKind:
        return policy_kind(type(self._checked()))

    def _checked(self) -> Policy:
        if self.policy is None:
            raise AssertionError(f"{type(self).__name__} must say which policy it tests: policy = …")
        try:
            return check_policy(type(self).__name__, "policy", self.policy, self.arms)
        except BadParameter as error:
            raise AssertionError(str(error)) from None

    def _is_lazy(self) -> bool:
        return self._kind.name == "lazy score"

    def _judged(self, memory: MemoryTuple, lead: Lead | None = None) -> list[Any]:
        """A lead, and the scores of all arms but the first, or how they compare with that lead."""
        arms = range(1, self.arms)
        if not self._has_excess():
            return [None, *(self.policy.score(memory.belief(arm), 5.0) for arm in arms)]
        lead = memory.lead(0) if lead is None else lead
        return [lead, *(self.policy.excess(memory.belief(arm), lead, lead) for arm in arms)]

    def _has_excess(self) -> bool:
        return self._kind.method == "excess"

    def _memory(self) -> MemoryTuple:
        return memory_of(self.policy, self.arms)

    def _memories(self, rng: np.random.Generator) -> Iterator[MemoryTuple]:
        """Memories of few and many samples, of every scale, with correlations and negative numbers."""
        for scale, count in itertools.product(_SCALES, (0, 1, 2, 5, 60, 400)):
            memory = self._memory()
            means = rng.uniform(-0.2, 2.0, (self.arms, 2))
            slope = rng.uniform(-1.0, 1.0)
            for arm in range(self.arms):
                for z, w in rng.standard_normal((count, 2)).tolist():
                    memory.observe(arm, means[arm, 0] + scale * z, means[arm, 1] + scale * (slope * z + w))
                    if memory.full():
                        memory = memory.enlarged()
            yield memory
