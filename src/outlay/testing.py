"""The contracts of policies, laws and stores, as tests that any suite can run: outlay's own does, and yours can.

    from outlay.testing import LawContract, PolicyContract, StoreContract

    class TestMine(PolicyContract):
        policy = Mine(alpha=2.0)

    class TestLedger(StoreContract):
        def make_store(self, opening, clock):
            return MyLedger(opening, clock)

pytest finds the methods. Each fails with an AssertionError that says what was broken and where. Seeds are fixed: what
passes always passes. Of correct laws, one in 350,000 would fail by chance. The truth that a store is compared with is
the plain fold of the same commands, which needs no store.
"""

import copy
import itertools
import math
import pickle
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from outlay.arms import AnyLaw, Gaussian, HasTails, LawMoments, Problem, Tails, support_of
from outlay.arms.law import check_law
from outlay.beliefs import Lead
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.events import FORMAT, ArmTerms, Terms
from outlay.campaign.ledger.state import State
from outlay.campaign.records import Pull, PullFilter, Reply, status_of
from outlay.campaign.stores.base import Clock, Store, run
from outlay.checks import Vector
from outlay.engine.choose_arm import ChoiceCache, forget
from outlay.engine.simulate import simulate
from outlay.errors import BadParameter, InterpretedWarning
from outlay.formulas import lazy_leader
from outlay.formulas.argmax import best_by_excess, best_by_score, best_of_opened, leader_of, log_of, number
from outlay.formulas.lazy_score import MARGIN, lazy_best_by_score
from outlay.parameters import equal, hashable, records_in
from outlay.policies.protocol import MemoryTuple, Policy, PolicyKind, check_policy, memory_of, policy_kind
from outlay.usercode import Reach

__all__ = ["LawContract", "PolicyContract", "StoreContract"]

_SECOND = 1_000_000  # microseconds
_START = 1_700_000_000 * _SECOND
_THREADS, _ASKS = 4, 10

_FEW, _SOME, _MANY = 3_000, 100_000, 2_000_000  # draws: interpreted, and compiled
_ERRORS = 5.0  # standard errors, which chance exceeds once in 1.7 million numbers; a law has five
_ROUNDING = 1e-10  # of a sample mean

_SCALES = (1e-6, 1e-3, 0.1, 1.0, 30.0)


class LawContract:
    """Set `law` in a subclass.

    >>> from outlay.arms import Gaussian
    >>> class TestGaussian(LawContract):
    ...     law = Gaussian(1.0, 2.0, 0.5, 0.5, 0.3)
    >>> TestGaussian().test_a_draw_is_two_finite_floats()
    """

    law: Any = None

    def test_a_draw_is_two_finite_floats(self) -> None:
        """A single NaN would stay in an arm's mean for ever."""
        rng = np.random.default_rng(0)
        for _ in range(_FEW):
            pair = self._law().draw(rng)
            if [type(value) for value in pair] != [float, float] or not all(map(math.isfinite, pair)):
                raise AssertionError(f"a draw of {self.law!r} is {pair!r}, not two finite floats")

    def test_compiled_draws_are_the_interpreted_ones(self) -> None:
        """The simulator draws the same bits as Python, and takes the same random numbers for them."""
        one, other = np.random.default_rng(1), np.random.default_rng(1)
        compiled = draws(self._law(), one, _FEW)
        for count, pair in enumerate(compiled):
            expected = self.law.draw(other)
            if pair.tobytes() != np.array(expected).tobytes():
                found = f"{tuple(pair.tolist())!r} compiled, {expected!r} in Python"
                raise AssertionError(f"draw {count} of {self.law!r} is {found}")
        if one.bit_generator.state != other.bit_generator.state:
            raise AssertionError(f"{self.law!r} takes other random numbers when it is compiled")

    def test_moments_are_those_of_the_draws(self) -> None:
        """Within five standard errors over two million draws, as far as `tails` lets the errors be known.

        A mean has a standard error where a variance exists, a variance where moments of order 4 do. A law that does
        not say in `tails` which moments it has is taken to have all of them where its variances are finite.
        """
        moments, tails = LawMoments(*self._law().moments()), self._tails()
        if any(map(math.isnan, moments)) or min(moments.var_cost, moments.var_reward) < 0.0:
            raise AssertionError(f"no law can have the moments of {self.law!r}: {moments!r}")
        cost, reward = draws(self.law, np.random.default_rng(2), _MANY).T
        x, r = cost - moments.mean_cost, reward - moments.mean_reward
        self._agrees("mean cost", x, tails.cost > 2.0)
        self._agrees("mean reward", r, tails.reward > 2.0)
        self._agrees("variance of the cost", x * x - moments.var_cost, tails.cost > 4.0)
        self._agrees("variance of the reward", r * r - moments.var_reward, tails.reward > 4.0)
        self._agrees("covariance", x * r - moments.cov, min(tails) > 4.0)

    def test_every_draw_is_in_the_support(self) -> None:
        """Bounds that policies and theorems rely on."""
        box = support_of(self._law())
        pairs = draws(self.law, np.random.default_rng(3), _SOME)
        for side, column, low, high in (("cost", pairs[:, 0], *box[:2]), ("reward", pairs[:, 1], *box[2:])):
            least, most = float(column.min()), float(column.max())
            if not low <= least <= most <= high:
                found = f"from {least!r} to {most!r}, and its support says from {low!r} to {high!r}"
                raise AssertionError(f"the {side} of {self.law!r} goes {found}")

    def test_it_is_a_value(self) -> None:
        """Copies and pickles are equal and hash alike: runs on threads and on other machines share the law."""
        try:
            pickled = pickle.dumps(self._law())
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise AssertionError(f"{self.law!r} cannot be pickled: {error}") from None
        for twin in (copy.deepcopy(self.law), pickle.loads(pickled)):  # noqa: S301 (written a line above)
            if not equal(twin, self.law) or hash(hashable(twin)) != hash(hashable(self.law)):
                raise AssertionError(f"a copy of {self.law!r} is not equal to it, but {twin!r}")

    def test_drawing_does_not_change_it(self) -> None:
        """A draw must not depend on earlier draws."""
        before, rng = copy.deepcopy(self._law()), np.random.default_rng(4)
        for _ in range(_FEW):
            self.law.draw(rng)
        if not equal(before, self.law):
            raise AssertionError(f"drawing changes {before!r} to {self.law!r}")

    def _law(self) -> AnyLaw:
        try:
            return check_law(type(self).__name__, "law", self.law)
        except ValueError as error:
            raise AssertionError(str(error)) from None

    def _tails(self) -> Tails:
        if isinstance(self.law, HasTails):
            return Tails(*self.law.tails())
        _, _, *variances, _ = self.law.moments()
        return Tails(*(math.inf if math.isfinite(variance) else 2.0 for variance in variances))

    def _agrees(self, name: str, deviations: Vector, known: bool) -> None:
        """Whether the mean of the deviations is 0, but for chance; nothing is asked where it has no standard error."""
        if not known:
            return
        mean, error = float(deviations.mean()), float(deviations.std()) / math.sqrt(deviations.size)
        if not abs(mean) <= _ERRORS * error + _ROUNDING:
            off = f"{mean:.6g} above what moments() says, {abs(mean) / max(error, 1e-300):.3g} standard errors"
            raise AssertionError(f"the {name} of the draws of {self.law!r} is {off}")


def draws(law: AnyLaw, rng: np.random.Generator, count: int) -> Vector:
    """Pairs (cost, reward) as the compiled simulator draws them, one per row."""
    from numba.core.errors import NumbaError, UnsupportedBytecodeError

    from outlay.engine.jit.compile import reason_of
    from outlay.engine.jit.numba_types import coerced

    pairs = np.empty((count, 2))
    try:
        _filler(tuple(map(type, records_in(law))))(coerced(law), rng, pairs)
    except (NumbaError, UnsupportedBytecodeError, TypeError) as error:
        raise AssertionError(f"{law!r} cannot be compiled: {reason_of(str(error))}") from None
    return pairs


@cache
def _filler(classes: tuple[type, ...]) -> Callable[[AnyLaw, np.random.Generator, Vector], None]:
    """A compiled loop for laws of these classes; numba would take two classes of one name for the same."""
    import numba

    from outlay.engine.jit.numba_types import OPTIONS, register

    for function in Reach(*classes).functions:
        register(function)

    def fill(law: AnyLaw, rng: np.random.Generator, pairs: Vector) -> None:
        for row in range(len(pairs)):
            pairs[row, 0], pairs[row, 1] = law.draw(rng)

    return numba.njit(**OPTIONS)(fill)  # type: ignore[no-any-return]


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
        if self._kind.name != "lazy score":
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
        if self._kind.name == "lazy score":
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
            drawn_for = rng.choice([(0.002, 1e4), (0.1, 100.0), (15.0, 1.0)]).tolist()
            low, high = lazy_leader.box_around(memory.lead(leader), *drawn_for)
            high = high._replace(spent=rng.choice([1.0, 1.2, 16.0]) * abs(low.spent) + 1e-9)
            for arm, _ in itertools.product(range(self.arms), range(8)):
                weights = rng.choice([0.0, 1.0, rng.random()], len(low))
                lead = type(low)(*(np.array(low) + weights * (np.array(high) - np.array(low))).tolist())
                self._is_bounded(low, high, lead, partial(self.policy.excess, memory.belief(arm)))
                if self._kind.name == "opening":
                    self._is_bounded(low, high, lead, self.policy.excess_of_new_arm)

    def _is_bounded(self, low: Lead, high: Lead, lead: Lead, excess: Callable[[Lead, Lead], float]) -> None:
        bound, value = excess(low, high), excess(lead, lead)
        if not bound <= value + lazy_leader.MARGIN:
            between = f"{lead!r}, which is between {low!r} and {high!r}"
            raise AssertionError(f"the excess of {self.policy!r} is {value!r}, below {bound!r}, for {between}")

    def test_lazy_choices_are_those_of_a_full_scan(self) -> None:
        """At every pull of some runs, the arm that the engine finds is that of a full scan."""
        if not self._kind.lazy:
            return
        for seed in range(len(_SCALES)):
            rng = np.random.default_rng(seed)
            memory, pulls, cache = (
                memory_of(self.policy, self.arms),
                np.zeros(self.arms, np.int64),
                ChoiceCache.start(self.arms),
            )
            forget(cache)
            means, scale = rng.uniform(0.5, 2.0, (self.arms, 2)), _SCALES[seed]
            for n in range(400):
                if self._kind.name == "opening":
                    arm = best_of_opened(self.policy, memory, pulls)
                    lazy = lazy_leader.lazy_best_of_opened(self.policy, memory, pulls, cache.known)
                elif self._has_excess():
                    arm = best_by_excess(self.policy, memory, pulls)
                    lazy = lazy_leader.lazy_best_by_excess(self.policy, memory, pulls, cache.known)
                else:
                    arm = best_by_score(self.policy, memory, pulls, log_of(n))
                    lazy = lazy_best_by_score(self.policy, memory, pulls, n, cache.scores)
                if arm != lazy:
                    chose = f"should choose arm {arm} at pull {n}, and lazily chose {lazy}"
                    raise AssertionError(f"{self.policy!r} {chose}")
                memory.observe(arm, *(means[arm] + scale * rng.standard_normal(2)).tolist())
                pulls[arm] += 1
                if memory.full():
                    memory = memory.enlarged()
                    forget(cache)

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

    def _judged(self, memory: MemoryTuple, lead: Lead | None = None) -> list[Any]:
        """A lead, and the scores of all arms but the first, or how they compare with that lead."""
        arms = range(1, self.arms)
        if not self._has_excess():
            return [None, *(self.policy.score(memory.belief(arm), 5.0) for arm in arms)]
        lead = memory.lead(0) if lead is None else lead
        return [lead, *(self.policy.excess(memory.belief(arm), lead, lead) for arm in arms)]

    def _has_excess(self) -> bool:
        return self._kind.method == "excess"

    def _memories(self, rng: np.random.Generator) -> Iterator[MemoryTuple]:
        """Memories of few and many samples, of every scale, with correlations and negative numbers."""
        for scale, count in itertools.product(_SCALES, (0, 1, 2, 5, 60, 400)):
            memory = memory_of(self.policy, self.arms)
            means = rng.uniform(-0.2, 2.0, (self.arms, 2))
            slope = rng.uniform(-1.0, 1.0)
            for arm in range(self.arms):
                for z, w in rng.standard_normal((count, 2)).tolist():
                    memory.observe(arm, means[arm, 0] + scale * z, means[arm, 1] + scale * (slope * z + w))
                    if memory.full():
                        memory = memory.enlarged()
            yield memory


class StoreContract:
    """Define `make_store` in a subclass; each test asks for a new one, and closes it."""

    def make_store(self, opening: e.Open, clock: Clock) -> Store:
        """A store that is new and empty, with a campaign opened by this command; `clock` says what time it is.

        The policy of the opening is built in, so that the store finds it by its name.
        """
        raise NotImplementedError(f"{type(self).__name__} must define make_store(opening, clock)")

    def test_it_has_every_method_of_a_store(self) -> None:
        """See `Store`."""
        store = self._opened(_ManualClock())
        _demand(isinstance(store, Store), f"{type(store).__name__} lacks a method of Store")
        store.close()

    def test_replies_records_and_status_are_those_of_the_fold(self) -> None:
        """Command by command, through refusals, retries, expiry, corrections and the end."""
        clock, truth = _ManualClock(), _PlainFold()
        store = self._opened(clock)
        for wait, command in _story():
            clock.now_is += wait
            expected = truth.transact([command], clock.now_is)
            _same(f"the reply to {command}", _shown(store.transact([command])), _shown(expected))
        _same("the records", list(store.records()), truth.records)
        _same("the status", store.status(), status_of(truth.state))
        _same("the state", status_of(store.state()), status_of(truth.state))
        store.close()

    def test_a_batch_is_its_commands_one_by_one(self) -> None:
        """What one command does is known to the next; one that is refused does not stop the others."""
        clock, truth = _ManualClock(), _PlainFold()
        store = self._opened(clock)
        commands: list[e.Command] = [e.Ask("k"), e.Tell(2, 5, 1.0), e.Tell(99, 5, 1.0), e.Ask("k"), e.Pause(), e.Ask()]
        _same("the replies", _shown(store.transact(commands)), _shown(truth.transact(commands, clock.now_is)))
        _same("the records", list(store.records()), truth.records)
        _same("the replies to nothing", store.transact([]), [])
        store.close()

    def test_records_can_be_read_from_anywhere(self) -> None:
        """`after` counts events that are left out; after the last there is none."""
        store = self._opened(_ManualClock())
        store.transact([e.Ask(), e.Ask(), e.Ask()])
        for after in range(6):
            _same(f"the events after {after}", [record.seq for record in store.records(after)], [1, 2, 3, 4][after:])
        store.close()

    def test_decisions_are_found_as_they_stand(self) -> None:
        """By how they stand, by key and by tag; after a number, and no more than wanted."""
        store = self._opened(_ManualClock())
        store.transact([e.Ask("one", tags=("t",)), e.Ask(tags=("t", "u")), e.Ask(), e.Ask(metadata={"n": 1})])
        store.transact([e.Tell(2, 5, 1.0), e.Cancel(3)])
        for wanted, numbers in (
            (PullFilter(), [2, 3, 4, 5]),
            (PullFilter(status="open"), [4, 5]),
            (PullFilter(status="told", key="one"), [2]),
            (PullFilter(tag="t"), [2, 3]),
            (PullFilter(tag="t", limit=1), [2]),
            (PullFilter(after=3, limit=1), [4]),
            (PullFilter(key="two"), []),
        ):
            _same(f"what is found of {wanted}", [decision.number for decision, _ in store.find(wanted)], numbers)
        ((decision, asked),) = store.find(PullFilter(after=4))
        _same("what was noted", (decision.status, asked.metadata), ("open", {"n": 1}))
        store.close()

    def test_threads_get_different_pulls_and_no_number_is_left_out(self) -> None:
        """Except callers who ask with the same key: they get the same pull."""
        store = self._opened(_ManualClock())
        replies: list[Reply] = []

        def work() -> None:
            for i in range(_ASKS):
                replies.extend(store.transact([e.Ask(), e.Ask(f"shared {i}")]))

        threads = [threading.Thread(target=work) for _ in range(_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        numbers = [reply.id for reply in replies if isinstance(reply, Pull)]
        _same("the number of pulls", len(numbers), 2 * _THREADS * _ASKS)
        _same("the number of pulls", len(set(numbers)), (_THREADS + 1) * _ASKS)
        _same("the numbers of the events", [r.seq for r in store.records()], list(range(1, len(set(numbers)) + 2)))
        store.close()

    def test_closing_again_does_nothing(self) -> None:
        """A campaign may be let go twice."""
        store = self._opened(_ManualClock())
        store.close()
        store.close()

    def _opened(self, clock: "_ManualClock") -> Store:
        return self.make_store(_OPENING, clock)


class _ManualClock(Clock):
    """A clock that is set by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.now_is = _START

    def now(self, wall: int | None = None, at_least: int = 0) -> int:  # noqa: ARG002 (no other clock counts)
        return max(self.now_is, at_least)


class _PlainFold:
    """The fold of the commands, without a store."""

    def __init__(self) -> None:
        done = run(None, [_OPENING], _START)
        _demand(done.state is not None, "the campaign of the contract cannot be opened")
        self._state, self.records = done.state, done.records

    @property
    def state(self) -> State:
        assert self._state is not None  # noqa: S101 (seen above)
        return self._state

    def transact(self, commands: Sequence[e.Command], now: int) -> list[Reply]:
        done = run(self._state, commands, now)
        self.records += done.records
        return done.replies


_OPENING = e.Open(
    "contract",
    (ArmTerms("small", 10), ArmTerms("large")),
    1000,
    Terms(
        *("1", "until_exceeded", 7, {"name": "RoundRobin", "parameters": {}}, "contract", 60 * _SECOND),
        propensity_draws=0,
        reward_within=20 * _SECOND,
        format=FORMAT,
    ),
)


def _story() -> Iterator[tuple[int, e.Command]]:
    """Commands of every kind, each with the time that passes before it."""
    first, second, third, fourth, noted = 2, 3, 4, 5, 18  # the pulls: the opening is event 1
    yield 0, e.Ask("one")
    yield 0, e.Ask()
    yield 0, e.Ask(ttl=5 * _SECOND)
    yield 0, e.Ask()
    yield _SECOND, e.Ask("one")
    yield 0, e.Ask("one", ttl=_SECOND)
    yield 0, e.Tell(first, 7, 0.5)
    yield 0, e.Charge(first)
    yield 0, e.Tell(first, 7, 0.5)
    yield 0, e.Tell(first, 8, 0.5)
    yield 0, e.Tell(1000, 8, 0.5)
    yield 0, e.Amend(first, 9, 0.25, "a slip")
    yield 0, e.Cancel(second, "never made")
    yield 0, e.Extend(fourth, 3600 * _SECOND)
    yield 10 * _SECOND, e.ExpirePulls()
    yield 0, e.Tell(third, 30, 1.0)
    yield 0, e.WarmStart(("small", "large"), (4.0, 20.0), (0.5, 2.0), "log")
    yield 0, e.WarmStart(("small", "large"), (4.0, 20.0), (0.5, 2.0), "log")
    yield 0, e.AddArm(ArmTerms("new", 3))
    yield 0, e.DisableArm("new")
    yield 0, e.EnableArm("nobody")
    yield 0, e.EnableArm("new")
    yield 0, e.Pause()
    yield 0, e.Ask()
    yield 0, e.Resume()
    yield 0, e.Ask("noted", tags=("a", "b"), metadata={"user": 17})
    yield 0, e.Charge(noted)
    for key in ("late", "missing"):
        yield 0, e.Ask(key, most={"small": 6, "large": 40})
        yield 0, e.Tell(key, 5, None)
    yield 0, e.Reward("late", 1.0)
    yield 0, e.Reward("late", 2.0)
    yield 30 * _SECOND, e.Amend("missing", 4, None)
    yield 0, e.Reward("missing", 0.5)
    yield 0, e.Reward("nobody's", 0.5)
    yield 0, e.Ask()
    yield -_SECOND, e.Ask()  # a clock that was set back
    yield 0, e.Tell(fourth, 2000, 1.0)
    yield 0, e.Ask()
    yield 0, e.SetBudget(3000)
    yield 0, e.Ask()
    yield 0, e.Close()
    yield 0, e.Ask()
    yield 0, e.SetBudget(4000)


def _shown(replies: list[Reply]) -> list[object]:
    """Replies in a form that compares: an error is its class and its words."""
    return [(type(reply), str(reply)) if isinstance(reply, Exception) else reply for reply in replies]


def _same(what: str, got: object, wanted: object) -> None:
    _demand(got == wanted, f"{what} must be {wanted!r}; got {got!r}")


def _demand(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)
