"""The contract for policies: a false promise is caught, and outlay's own policies keep theirs."""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from outlay import Problem, arms, policies, simulate
from outlay.beliefs import Belief, Lead, PooledMoments, SequentialMoments
from outlay.errors import BadParameter
from outlay.policies.protocol import Opening, SequentialMemory, policy_kind
from outlay.testing import PolicyContract


class Shrinking(NamedTuple):
    """Promises that its score never falls; it does."""

    weight: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        bonus = self.weight * log_n * (8.0 - log_n) / max(1.0, float(belief.pulls))
        return float(belief.mean_reward) + bonus

    def phase(self, log_n: float) -> int:
        return 0


class Unphased(policies.UCBM1):
    """UCB-M1 without its phases."""

    __slots__ = ()

    def phase(self, log_n: float) -> int:
        return 0


class Falling(Shrinking):
    """Its phase falls."""

    __slots__ = ()

    def phase(self, log_n: float) -> int:
        return int(abs(log_n - 3.0))


class Uncompiled(NamedTuple):
    """A policy that numba refuses."""

    weight: float = 1.0

    def score(self, belief: Any, log_n: float) -> float:
        return float(str(belief.mean_reward + self.weight * log_n))


class Bold(policies.Frugal):
    """Promises a bound, and gives the excess of the lower lead."""

    __slots__ = ()

    def excess(self, belief: Any, low: Any, high: Any) -> float:
        return super().excess(belief, low, low)


FALLS = "test_a_score_never_falls_within_a_phase", r"the score of .* falls from .* in one phase"
FALSE: list[tuple[Any, str, str]] = [
    (Shrinking(), *FALLS),
    (Unphased(1e-6, 1e-6, 0.0), *FALLS),
    (Falling(), "test_a_phase_never_falls", r"the phase of .* falls"),
    (Uncompiled(), "test_it_compiles_and_repeats_itself", "Uncompiled cannot be compiled"),
    (Bold(), "test_an_excess_is_bounded_between_two_leads", r"the excess of Bold\(.*\) is .*, below .*, for Lead\("),
]


@pytest.mark.parametrize(("policy", "promise", "said"), FALSE, ids=[type(policy).__name__ for policy, _, _ in FALSE])
def test_a_false_promise_is_caught(policy: Any, promise: str, said: str) -> None:
    contract = PolicyContract()
    contract.policy = policy
    with pytest.raises(AssertionError, match=said):
        getattr(contract, promise)()


class Fading(NamedTuple):
    """Moments whose every pull makes all arms a little more uncertain."""

    stats: Any

    def observe(self, arm: int, cost: float, reward: float) -> None:
        self.stats[:, 0] *= 0.9
        self.stats[arm] += (1.0, reward)

    def belief(self, arm: int) -> Any:
        return self.stats[arm]

    def full(self) -> bool:
        return False


class Discounting(NamedTuple):
    """Its score never falls with log_n, and yet changes between pulls of the arm."""

    width: float = 1.0

    def memory(self, arms: int) -> Fading:
        return Fading(np.zeros((arms, 2)))

    def score(self, belief: Any, log_n: float) -> float:
        return float(belief[1]) + self.width * math.sqrt(log_n / max(1e-9, float(belief[0])))

    def phase(self, log_n: float) -> int:
        return 0


def test_beliefs_that_change_without_a_pull_are_caught() -> None:
    contract = PolicyContract()
    contract.policy = Discounting()
    contract.test_a_score_never_falls_within_a_phase()
    with pytest.raises(AssertionError, match="changes the scores of others"):
        contract.test_pulling_one_arm_leaves_the_beliefs_of_the_others()
    with pytest.raises(AssertionError, match="should choose arm"):
        contract.test_lazy_choices_are_those_of_a_full_scan()


class Nothing(NamedTuple):
    """No policy: none of the four methods."""

    weight: float = 1.0


@pytest.mark.parametrize("policy", [None, Nothing(), Discounting], ids=repr)
def test_what_is_no_policy_is_caught(policy: Any) -> None:
    contract = PolicyContract()
    contract.policy = policy
    for name in dir(contract):
        if name.startswith("test_"):
            said = r"policy = …|^policy of PolicyContract must be a(n object| NamedTuple with)"
            with pytest.raises(AssertionError, match=said):
                getattr(contract, name)()


class CompiledInSoak(PolicyContract):
    """Compiled and played in `make soak`; every day its formula is compiled alone, by the tests of its scores."""

    @pytest.mark.soak
    def test_it_compiles_and_repeats_itself(self) -> None:
        super().test_it_compiles_and_repeats_itself()


class InTurn(NamedTuple):
    """The ten lines of a user: looks at each open arm now and then, and opens one for each so many mean costs."""

    patience: float = 4.0

    def memory(self, arms: int) -> Any:
        return SequentialMoments.empty(arms)

    def excess(self, belief: Belief, low: Lead, high: Lead) -> float:
        return float(belief.pulls) - math.log1p(high.spend / low.usual_price)

    def excess_of_new_arm(self, low: Lead, high: Lead) -> float:
        return low.opened - high.spent / (self.patience * low.usual_price)


class Sealed(SequentialMoments):
    """A memory that cannot say which arm to open next."""

    __slots__ = ()
    unopened: Any = None


class Unordered(InTurn):
    """Opens arms without a memory for it: the one without `unopened`, or moments without any order."""

    __slots__ = ()

    def memory(self, arms: int) -> Any:
        return Sealed(*SequentialMoments.empty(arms)) if self.patience > 1.0 else PooledMoments.empty(arms)


def test_who_opens_arms_needs_a_memory_for_it() -> None:
    problem = Problem([arms.Constant(1.0, 0.5 + 0.1 * k) for k in range(5)])
    assert isinstance(InTurn(), Opening)
    assert not isinstance(policies.Frugal(), Opening)
    assert policy_kind(InTurn).name == policy_kind(policies.Wary).name == "opening"
    assert isinstance(SequentialMoments.empty(2), SequentialMemory)
    assert not isinstance(PooledMoments.empty(2), SequentialMemory)
    for patience, lacking in ((4.0, "unopened"), (0.5, "opened")):
        with pytest.raises(BadParameter) as caught:
            simulate(problem, Unordered(patience), budgets=[9.0], runs=1)
        allowed = f"one with a method {lacking}, such as SequentialMoments, for a policy with excess_of_new_arm"
        assert str(caught.value).startswith(f"memory of Unordered must be {allowed}; got ")


EVERY_DAY: dict[str, Any] = {
    "UCBB1": policies.UCBB1(1e-4, 1e-4, 5e-5),
    "UCBB2": policies.UCBB2(1e-3, 1e-3),
    "Frugal": policies.Frugal(),
    "ThriftyTold": policies.Thrifty(budget=300.0),
}
IN_SOAK: dict[str, Any] = {
    "FiellerStudent": policies.Fieller(),
    "RoundRobin": policies.RoundRobin(),
    "Certainty": policies.UCBB1(0.0, 0.0, 0.0),  # no radius at all: a score that never rises
    "UCBM1": policies.UCBM1(1e-6, 1e-6, 0.0),
    "FiellerPlugin": policies.Fieller(0.25, form="plugin"),
    "FrugalWithABound": policies.Frugal(reward_bound=4.0),
    "Thrifty": policies.Thrifty(horizon="unknown"),
    "UCBB2C": policies.UCBB2C(1e-3, 1e-3, 1.0),
    "FiellerKnown": policies.FiellerKnown(0.04, 0.09, 0.03),
    "BernsteinRate": policies.BernsteinRate(0.1, 0.1, 0.5),
    "MedianRate": policies.MedianRate(0.5),
    "CatoniRate": policies.CatoniRate(0.5),
    "KLRate": policies.KLRate(),
    "KLRateOfSamples": policies.KLRate("half", "sample"),
    "Wary": policies.Wary(horizon="unknown"),
    "WaryTold": policies.Wary(budget=300.0),
    "Forgetful": policies.Forgetful(changes_every=100.0, budget=300.0),
    "InTurn": InTurn(),
    "Ration": policies.Ration(budget=200.0, requests=150),
    "LinearRation": policies.LinearRation(features=3, budget=200.0, requests=150),
}
for name, made in (EVERY_DAY | IN_SOAK).items():
    contract = PolicyContract if name in EVERY_DAY else CompiledInSoak
    globals()[f"Test{name}"] = type(f"Test{name}", (contract,), {"policy": made})


def test_every_policy_keeps_the_contract() -> None:
    missing = set(policies.BUILT_IN.values()) - {type(policy) for policy in (EVERY_DAY | IN_SOAK).values()}
    assert missing == {policies.Fixed}, f"give each of these a line in this file: {missing}"
