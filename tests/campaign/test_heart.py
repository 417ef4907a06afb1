"""The pure heart, `decide` and `apply`, on random stories: against a slow twin, and against itself.

HYPOTHESIS_PROFILE=default looks for new stories; BURSAR_SOAK=1 tries twenty-five times as many.
"""

import math
import os
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.campaign import commands as c
from bursar.campaign import snapshot
from bursar.campaign.batch import run
from bursar.campaign.clock import Clock
from bursar.campaign.decide import decide
from bursar.campaign.events import ArmTerms, Asked, Exhausted, Expired, Record, Terms, Told, Voided, from_json, to_json
from bursar.campaign.fold import apply
from bursar.campaign.history import entries
from bursar.campaign.replies import Pull, Receipt, status_of
from bursar.campaign.state import State
from bursar.campaign.stores.memory import MemoryLedger
from bursar.campaign.terms import agreed
from bursar.errors import BadParameter, CampaignConflict, NotNow, UnknownDecision
from bursar.policies import Uniform
from bursar.policies import baselines as b
from bursar.policies.protocol import as_data
from tests.campaign import slow
from tests.campaign.stories import BY_CHANCE, EXACT, KEEPING, SECOND, START, Caller, Operation, openings, operations

BTS = b.BTS(40.0, 2.0)
MANY = 25 if "BURSAR_SOAK" in os.environ else 1
ALL = [*EXACT, *KEEPING, *BY_CHANCE]
FOREVER = 10**9 * SECOND


def opened(opening: c.Open) -> tuple[State, list[Record]]:
    done = run(None, [opening], START)
    assert done.replies == [None]
    assert done.state is not None
    return done.state, done.records


def told(opening: c.Open, story: list[Operation]) -> tuple[State, list[Record], list[Any]]:
    """A whole story: where it ends, its ledger and the replies."""
    (state, records), caller, replies = opened(opening), Caller(), []
    for operation in story:
        done = run(state, [caller.command(operation)], caller.now)
        caller.hears(done.replies[0])
        records += done.records
        replies += done.replies
    return state, records, replies


def essence(state: State) -> tuple[Any, ...]:
    """The state to the last bit."""
    return snapshot.dump(state), state.decisions, state.keys, list(state.pending)


def shown(reply: Any) -> Any:
    """A reply in a form that compares: an error is its class and its words."""
    return (type(reply), str(reply)) if isinstance(reply, Exception) else reply


class Bare(NamedTuple):
    """A policy without a parameter."""

    def score(self, belief: Any, log_n: float) -> float:
        return 0.0


class Fussy(NamedTuple):
    """A memory that takes no reward below 0."""

    pulls: Any

    def observe(self, arm: int, cost: float, reward: float) -> None:
        if reward < 0:
            raise ArithmeticError
        self.pulls[arm] += 1

    def revise(self, arm: int, place: int, old: Any, new: Any) -> None:
        if new[1] < 0:
            raise ArithmeticError

    def belief(self, arm: int) -> int:
        return int(self.pulls[arm])

    def full(self) -> bool:
        return False


class Fragile(NamedTuple):
    """A policy with such a memory."""

    def memory(self, arms: int) -> Fussy:
        return Fussy(np.zeros(arms))

    def score(self, belief: Any, log_n: float) -> float:
        return 0.0


ANSWERS = {
    slow.NOT_NOW: NotNow,
    slow.CONFLICT: CampaignConflict,
    slow.UNKNOWN: UnknownDecision,
    slow.BAD: BadParameter,
}


def check_reply(reply: Any, command: Any, answer: str, number: int | None, twin: slow.Twin) -> None:
    if answer in ANSWERS:
        assert isinstance(reply, ANSWERS[answer])
    elif answer in (slow.END, slow.EXHAUSTED):
        assert reply is None
    elif isinstance(command, c.Ask):
        decision = twin.decisions[number or 0]
        arm = twin.arms[decision["arm"]]["name"]
        assert isinstance(reply, Pull)
        assert (reply.decision, reply.arm, reply.reserved) == (number, arm, decision["reserved"])
    elif isinstance(command, c.Tell):
        decision = twin.decisions[command.decision]
        flags = answer == slow.DUPLICATE, decision["late"], decision["overrun"]
        assert isinstance(reply, Receipt)
        assert (reply.cost, reply.reward, *reply[4:]) == (decision["cost"], decision["reward"], *flags)
    elif isinstance(command, c.Warm):
        assert reply == (len(command.arms) if answer == slow.DONE else 0)
    else:
        assert reply is None


def check_state(state: State, twin: slow.Twin) -> None:
    assert (state.seq, state.at, state.budget) == (twin.events, twin.at, twin.budget)
    assert (state.paused, state.ended) == (twin.paused, twin.ended)
    assert (state.spent, state.reserved) == (twin.spent(), twin.reserved())
    assert state.reward == float(twin.reward())
    assert list(state.pending) == twin.pending()
    for i, arm in enumerate(state.arms):
        other = twin.arms[i]
        assert (arm.name, arm.max_cost, arm.enabled) == (other["name"], other["max_cost"], other["enabled"])
        assert (arm.spent, arm.reserved) == (twin.spent(i), twin.reserved(i))
        assert arm.reward == float(twin.reward(i))
        assert (arm.samples, arm.dearest) == (other["samples"], max(other["heard"]))
        assert arm.pulls == len(twin.counted(i))
        assert arm.in_flight == sum(twin.decisions[number]["arm"] == i for number in twin.pending())
    for number, decision in state.decisions.items():
        other = twin.decisions[number]
        assert (decision.standing, decision.expires) == (other["standing"], other["expires"])
        assert (decision.cost, decision.reward, decision.place) == (other["cost"], other["reward"], other["place"])


def check_cap(twin: slow.Twin) -> None:
    """Of each mode: hard, or crossed by one pull at most; costs above what was set aside excuse as much."""
    last = 0 if twin.terms.mode == "hard" else max((d["reserved"] for d in twin.decisions.values()), default=0)
    assert twin.spent() + twin.reserved() <= twin.budget + twin.excused + last


@given(openings(ALL), operations())
@settings(max_examples=200 * MANY, deadline=None)
def test_every_reply_and_every_sum_is_that_of_the_twin(opening: c.Open, story: list[Operation]) -> None:
    (state, _), twin, caller = opened(opening), slow.Twin(opening, START), Caller()
    for operation in story:
        command = caller.command(operation)
        number = state.seq
        done = run(state, [command], caller.now)
        (reply,) = done.replies
        caller.hears(reply)
        twin.sweep(caller.now)
        named = [(record.seq, record.event.arm) for record in done.records if isinstance(record.event, Asked)]
        answer, which = twin.do(command, caller.now, named[0] if named else None)
        assert bool(named) == (answer == slow.NEW)
        check_reply(reply, command, answer, which, twin)
        check_state(state, twin)
        check_cap(twin)
        assert [record.seq for record in done.records] == list(range(number + 1, state.seq + 1))


@given(openings(ALL), operations())
@settings(max_examples=120 * MANY, deadline=None)
def test_the_ledger_is_the_truth(opening: c.Open, story: list[Operation]) -> None:
    """Its fold is the state to the last bit, it is gapless, settles once, and each arm in it would be named again."""
    state, records, replies = told(opening, story)
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert [record.at for record in records] == sorted(record.at for record in records)
    check_once(records, replies)
    folded = apply(None, records[0])
    for record in records[1:]:
        if isinstance(record.event, Asked):
            again = decide(folded, c.Ask(record.event.key, record.event.ttl), record.at)
            assert again == ([record.event], record.seq)
        folded = apply(folded, Record(record.seq, record.at, from_json(to_json(record.event))))
    assert essence(folded) == essence(state)
    assert status_of(folded) == status_of(state)
    check_all_expires(state)


def check_once(records: list[Record], replies: list[Any]) -> None:
    """No decision is settled twice, no key names two, and who asked later has the higher number."""
    events = [record.event for record in records]
    for kind in (Told, Expired, Voided):
        numbers = [event.decision for event in events if isinstance(event, kind)]
        assert len(numbers) == len(set(numbers))
    keys = [event.key for event in events if isinstance(event, Asked) and event.key]
    assert len(keys) == len(set(keys))
    named = list(dict.fromkeys(reply.decision for reply in replies if isinstance(reply, Pull)))
    assert named == sorted(named)


def check_all_expires(state: State) -> None:
    """When all that is pending has expired, nothing is set aside."""
    forever = [number for number, decision in state.pending.items() if decision.expires is None]
    run(state, [c.Extend(number, SECOND) for number in forever], state.at)
    run(state, [c.Sweep()], state.at + FOREVER)
    assert (state.reserved, state.pending) == (0, {})
    assert [(arm.reserved, arm.in_flight) for arm in state.arms] == [(0, 0)] * len(state.arms)


@given(openings(EXACT), operations())
@settings(max_examples=100 * MANY, deadline=None)
def test_to_decide_changes_nothing_and_a_refusal_writes_nothing(opening: c.Open, story: list[Operation]) -> None:
    (state, _), caller = opened(opening), Caller()
    for operation in story:
        command = caller.command(operation)
        run(state, [c.Sweep()], caller.now)
        before = deepcopy(essence(state))
        try:
            events, _ = decide(state, command, max(caller.now, state.at))
        except Exception:
            events = []
        assert essence(state) == before
        done = run(state, [command], caller.now)
        caller.hears(done.replies[0])
        assert [record.event for record in done.records] == events
        if not events:
            assert essence(state) == before
        if isinstance(done.replies[0], Exception):
            assert not events


@given(openings(ALL), operations())
@settings(max_examples=100 * MANY, deadline=None)
def test_what_is_done_again_changes_nothing(opening: c.Open, story: list[Operation]) -> None:
    (state, _), caller = opened(opening), Caller()
    for operation in story:
        command = caller.command(operation)
        first = run(state, [command], caller.now)
        caller.hears(first.replies[0])
        if isinstance(command, c.Extend) or (isinstance(command, c.Ask) and command.key is None):
            continue
        again = run(state, [command], caller.now)
        assert again.records == []
        reply, repeated = first.replies[0], again.replies[0]
        if isinstance(reply, Receipt):
            reply = reply._replace(duplicate=True)
        assert shown(repeated) == (0 if isinstance(reply, int) else shown(reply))  # samples learned


@given(openings(ALL), operations(), st.integers(0, 60), operations())
@settings(max_examples=100 * MANY, deadline=None)
def test_going_on_from_a_snapshot_is_going_on(
    opening: c.Open, past: list[Operation], moment: int, future: list[Operation]
) -> None:
    story = [*past[:moment], *future]
    (state, _), caller = opened(opening), Caller()
    for operation in past[:moment]:
        caller.hears(run(state, [caller.command(operation)], caller.now).replies[0])
    body = snapshot.dump(state)
    assert body is not None
    other = snapshot.load(body)
    assert other is not None
    assert snapshot.dump(other) == body
    for decision in state.decisions.values():  # a store keeps those that are settled
        if decision.standing != "pending":
            other.hold(deepcopy(decision))
    for operation in story[len(past[:moment]) :]:
        command = caller.command(operation)
        done, twin = (run(each, [command], caller.now) for each in (state, other))
        caller.hears(done.replies[0])
        assert twin.records == done.records
        assert shown(twin.replies[0]) == shown(done.replies[0])
    assert essence(other)[:1] == essence(state)[:1]
    assert snapshot.load(body[:-1]) is None
    assert snapshot.load(b"") is None


@given(openings(ALL), operations(steady=True), st.integers(1, 6))
@settings(max_examples=80 * MANY, deadline=None)
def test_a_batch_is_its_commands_one_by_one(opening: c.Open, story: list[Operation], size: int) -> None:
    (state, records), (other, others), caller = opened(opening), opened(opening), Caller()
    for start in range(0, len(story), size):
        batch = [caller.command(operation._replace(wait=0)) for operation in story[start : start + size]]
        caller.now += story[start].wait
        done = run(state, batch, caller.now)
        singly = [run(other, [command], caller.now) for command in batch]
        for reply in done.replies:
            caller.hears(reply)
        records += done.records
        others += [record for each in singly for record in each.records]
        assert list(map(shown, done.replies)) == [shown(each.replies[0]) for each in singly]
    assert records == others
    assert essence(state) == essence(other)


@given(openings(EXACT), operations(steady=True))
@settings(max_examples=100 * MANY, deadline=None)
def test_whether_a_sweeper_runs_does_not_matter(opening: c.Open, story: list[Operation]) -> None:
    """What is overdue expires before the next command, or the moment it is due: the end is the same but for times."""
    (lazy, _), (eager, _), caller = opened(opening), opened(opening), Caller()
    for operation in story:
        command = caller.command(operation)
        due = sorted(decision.expires for decision in eager.pending.values() if decision.expires is not None)
        for moment in due:
            if moment <= caller.now:
                run(eager, [c.Sweep()], moment)
        done, other = (run(state, [command], caller.now) for state in (lazy, eager))
        caller.hears(done.replies[0])
        assert shown(other.replies[0]) == shown(done.replies[0])
        assert status_of(eager) == status_of(lazy)
        assert eager.decisions == lazy.decisions


@given(openings(ALL, max_in_flight=None), st.lists(st.tuples(st.integers(-20, 90), st.integers(-8, 16))), st.data())
@settings(max_examples=60 * MANY, deadline=None)
def test_the_order_of_tells_does_not_change_what_is_spent(
    opening: c.Open, outcomes: list[tuple[int, int]], data: st.DataObject
) -> None:
    ends = []
    for shuffled in (False, True):
        state, _ = opened(opening)
        asked = run(state, [c.Ask(ttl=FOREVER)] * len(outcomes), START).replies
        pairs = [(pull, each) for pull, each in zip(asked, outcomes, strict=True) if isinstance(pull, Pull)]
        tells = [c.Tell(pull.decision, cost, reward / 8) for pull, (cost, reward) in pairs]
        run(state, data.draw(st.permutations(tells)) if shuffled else tells, START + 1)
        ends.append([(arm.spent, arm.reserved, arm.pulls, arm.reward, arm.dearest) for arm in state.arms])
    assert ends[0] == ends[1]


@given(openings(ALL), operations(), st.lists(st.integers(0, 10**4), min_size=60, max_size=60))
@settings(max_examples=60 * MANY, deadline=None)
def test_a_clock_that_is_set_back_changes_nothing(opening: c.Open, story: list[Operation], hours: list[int]) -> None:
    """Two ledgers, one with a right clock and one whose wall clock jumps back: the same events at the same times."""
    right, wrong = (Moved(), Moved())
    ledgers = [MemoryLedger(opening, clock=Clock(each.wall, each.steady)) for each in (right, wrong)]
    caller = Caller()
    for operation, back in zip(story, hours, strict=False):
        command = caller.command(operation._replace(wait=abs(operation.wait)))
        for clock in (right, wrong):
            clock.passed += abs(operation.wait)
        wrong.back = back * 3600 * SECOND
        replies = [ledger.transact([command])[0] for ledger in ledgers]
        caller.hears(replies[0])
        assert shown(replies[0]) == shown(replies[1])
    assert list(ledgers[0].records()) == list(ledgers[1].records())


class Moved:
    """A wall clock that somebody moves, and a steady one that nobody can."""

    def __init__(self) -> None:
        self.passed, self.back = 0, 0

    def wall(self) -> int:
        return (START + self.passed - self.back) * 1000

    def steady(self) -> int:
        return self.passed * 1000


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**9), st.integers(0, 10**12)), min_size=1))
def test_time_never_runs_backwards(readings: list[tuple[int, int, int]]) -> None:
    steady, last = 0, 0
    walls, marks = iter([wall for wall, _, _ in readings]), iter(np.cumsum([step for _, step, _ in readings]).tolist())
    clock = Clock(lambda: next(walls) * 1000, lambda: next(marks) * 1000)
    for i, (wall, step, at_least) in enumerate(readings):
        now = clock.now(at_least=at_least)
        assert now == (max(wall, at_least) if i == 0 else max(wall, at_least, last + step))
        steady, last = steady + step, now


def terms(**changed: Any) -> Terms:
    given: dict[str, Any] = {
        "unit": "1",
        "mode": "until_exceeded",
        "seed": 0,
        "policy": as_data(Uniform()),
        "version": "test",
    }
    return Terms(**(given | changed))


def after(opening: c.Open, *commands: tuple[int, c.Command]) -> tuple[State, list[Any]]:
    """The state after commands, each at its second, and their replies."""
    state, replies = opened(opening)[0], []
    for second, command in commands:
        replies += run(state, [command], START + second * SECOND).replies
    return state, replies


def test_release_and_late_tells_would_break_the_hard_cap() -> None:
    """Two asks of 1 are released, three of 40 admitted, and a late tell of 1 makes it 121 of 120."""
    arms = (ArmTerms("small", 1), ArmTerms("large", 40))
    story: list[tuple[int, c.Command]] = [
        *((0, c.Ask(ttl=SECOND)), (0, c.DisableArm("large")), (0, c.Tell(2, 0, 0.0))),
        *((1, c.Ask(ttl=SECOND)), (1, c.Ask(ttl=SECOND)), (3, c.EnableArm("large")), (3, c.DisableArm("small"))),
        *((4, c.Ask()), (4, c.Ask()), (4, c.Ask()), (4, c.Ask())),
    ]

    def spent(expiry: str) -> tuple[int, int, int]:
        state, replies = after(c.Open("cap", arms, 120, terms(mode="hard", expiry=expiry)), *story)
        large = [reply for reply in replies if isinstance(reply, Pull) and reply.arm == "large"]
        for pull in large:
            run(state, [c.Tell(pull.decision, 40, 1.0)], state.at)
        small = [number for number, decision in state.decisions.items() if decision.standing == "expired"]
        for number in small:
            run(state, [c.Tell(number, 1, 1.0)], state.at)
        return len(small), len(large), state.spent

    assert spent("release") == (2, 3, 122)
    assert spent("charge") == (2, 2, 82)
    with pytest.raises(BadParameter, match=r'expiry of Campaign must be "charge" in hard mode'):
        agreed(
            ["a"], 120, Uniform(), name="cap", mode="hard", unit="1", seed=0, ttl=1.0, expiry="release",
            reservation=None, default_reward=0.0, max_in_flight=None, negative_costs=True, propensity_draws=0,
        )  # fmt: skip


@pytest.mark.parametrize("ttl", [None, 3600 * SECOND])
def test_an_extension_can_be_the_first_to_end(ttl: int | None) -> None:
    opening = c.Open("extend", (ArmTerms("a", 5),), 100, terms(ttl=ttl))
    state, _ = after(opening, (0, c.Ask()), (1, c.Extend(2, 10 * SECOND)), (10, c.Sweep()))
    assert list(state.pending) == [2]
    run(state, [c.Sweep()], START + 11 * SECOND)
    assert (state.decisions[2].standing, state.spent, state.reserved) == ("expired", 5, 0)


def test_what_was_told_and_what_is_right_can_both_be_told_again() -> None:
    opening = c.Open("again", (ArmTerms("a"),), 100, terms())
    tells = [(0, c.Tell(2, cost, 1.0)) for cost in (5, 6, 7)]
    _, replies = after(opening, (0, c.Ask()), (0, c.Tell(2, 5, 1.0)), (0, c.Amend(2, 6, 1.0)), *tells)
    assert [(reply.cost, reply.duplicate) for reply in replies[-3:-1]] == [(6.0, True)] * 2
    assert isinstance(replies[-1], CampaignConflict)


def test_the_end_and_the_draining() -> None:
    opening = c.Open("end", (ArmTerms("a", 40),), 100, terms(max_in_flight=5))
    state, replies = after(opening, *[(0, c.Ask())] * 3, (0, c.Tell(2, 90, 1.0)), (0, c.Ask()))
    assert isinstance(replies[-1], NotNow)  # 90 spent, 80 set aside
    state, replies = after(opening, *[(0, c.Ask())] * 3, (0, c.Tell(2, 101, 1.0)), (0, c.Ask(key="x")), (0, c.Ask()))
    assert replies[3].overrun
    assert replies[4:] == [None, None]
    assert (status_of(state).phase, status_of(state).ended) == ("draining", "exhausted")
    more = run(state, [c.Tell(3, 40, 1.0), c.Tell(4, 40, 1.0), c.Ask()], START)
    assert (status_of(state).phase, state.spent, more.replies[-1]) == ("closed", 181, None)
    refund = run(state, [c.Amend(2, 0, 1.0), c.Ask()], START)
    assert (state.spent, state.ended, refund.replies[-1]) == (80, "exhausted", None)  # not reopened by itself
    less = run(state, [c.SetBudget(99), c.Ask()], START)
    assert (state.ended, less.replies[-1]) == ("exhausted", None)
    reopened = run(state, [c.SetBudget(120), c.Ask()], START)
    assert (state.ended, status_of(state).phase, isinstance(reopened.replies[-1], Pull)) == (None, "open", True)
    ended = run(state, [c.Close(), c.Ask(), c.SetBudget(1000), c.Tell(reopened.replies[-1].decision, 7, 0.5)], START)
    assert (ended.replies[1], type(ended.replies[2]), ended.replies[3].cost) == (None, CampaignConflict, 7.0)
    assert (status_of(state).phase, status_of(state).ended) == ("closed", "closed")


def test_a_hard_campaign_ends_when_no_arm_fits() -> None:
    arms = (ArmTerms("dear", 60), ArmTerms("cheap", 20))
    state, replies = after(c.Open("hard", arms, 100, terms(mode="hard")), *[(0, c.Ask())] * 5)
    assert [reply.arm for reply in replies[:3]] == ["dear", "cheap", "cheap"]
    assert [type(reply) for reply in replies[3:]] == [NotNow, NotNow]
    done = run(state, [c.Tell(2, 60, 1.0), c.Tell(3, 20, 1.0), c.Tell(4, 15, 1.0), c.Ask(), c.Ask()], START)
    assert (done.replies[-2:], state.spent, state.ended) == ([None, None], 95, "exhausted")
    assert [type(record.event) for record in done.records].count(Exhausted) == 1


@pytest.mark.parametrize("first", [c.Void(2), c.Sweep()])
def test_in_hard_mode_whatever_crosses_the_cap_is_flagged(first: c.Command) -> None:
    """A pull that was voided, or was thought to be free, has nothing set aside."""
    free = isinstance(first, c.Sweep)
    arms = (ArmTerms("a", None if free else 30), ArmTerms("b", 100))
    opening = c.Open("flag", arms, 100, terms(mode="hard", reservation=0))
    _, replies = after(opening, (0, c.Ask()), (0, first), (0, c.Ask()), (0, c.Tell(2, 30, 1.0)))
    assert [reply.arm for reply in replies if isinstance(reply, Pull)] == ["a", "b" if free else "a"]
    assert replies[-1].overrun
    assert replies[-1].late != free


def test_history_shows_money_as_users_do() -> None:
    cents = c.Open("cents", (ArmTerms("a", 250),), 10_000, terms(unit="0.01", reservation=125))
    (state, records), added = opened(cents), c.AddArm(ArmTerms("b", 75))
    for command in (added, c.Ask(), c.Tell(3, 150, 0.5), c.Amend(3, 175, 1.0, "typo"), c.SetBudget(20_000)):
        records += run(state, [command], START).records
    rows = [(row.kind, row.decision, row.arm, row.cost, row.reward) for row in entries(records)]
    assert rows == [
        ("opened", None, None, None, None),
        ("added", None, "b", None, None),
        ("asked", 3, "a", None, None),
        ("told", 3, "a", 1.5, 0.5),
        ("amended", 3, "a", 1.75, 1.0),
        ("budgeted", None, None, None, None),
    ]
    more = [row.more for row in entries(records)]
    assert (more[0]["budget"], more[0]["arms"]) == (100.0, [{"name": "a", "max_cost": 2.5}])
    assert more[0]["terms"]["reservation"] == 1.25
    assert (more[1], more[2]["reserved"], more[5]) == ({"max_cost": 0.75}, 2.5, {"budget": 200.0})
    assert more[4] == {"instead": {"cost": 1.5, "reward": 0.5, "place": 0}, "reason": "typo"}


def test_no_more_than_a_database_can_count_is_spent() -> None:
    opening = c.Open("much", (ArmTerms("a"),), 2**53, terms())
    state, replies = after(opening, *[(0, c.Ask())] * 520)
    tells = run(state, [c.Tell(pull.decision, 2**53, 0.0) for pull in replies], START).replies
    assert [isinstance(reply, Receipt) for reply in tells] == [True] * 512 + [False] * 8
    assert (state.spent, type(tells[-1])) == (2**62, BadParameter)
    more = run(state, [c.Amend(2, 0, 0.0), c.Tell(replies[-1].decision, 2**53, 0.0)], START)
    assert isinstance(more.replies[-1], Receipt)


@pytest.mark.parametrize("policy", ALL, ids=lambda policy: type(policy).__name__)
def test_rewards_are_such_that_their_squares_have_a_sum(policy: Any) -> None:
    opening = c.Open("large", (ArmTerms("a"), ArmTerms("b")), 10**9, terms(policy=as_data(policy), propensity_draws=0))
    state, _ = after(opening, *[(0, c.Ask())] * 3)
    for n in range(30):
        number = min(state.pending)
        refused = run(state, [c.Tell(number, 1, reward) for reward in (1.01e100, -np.inf, np.nan)], START)
        assert [type(reply) for reply in refused.replies] == [BadParameter] * 3
        assert refused.records == []
        done = run(state, [c.Tell(number, n, (-1) ** n * 1e100), c.Amend(number, n, 1e100), c.Ask()], START)
        assert [type(reply) for reply in done.replies] == [Receipt, type(None), Pull]
    assert math.isfinite(state.reward)
    log = c.Warm(("a",), (1.0,), (2e100,), "log")
    assert isinstance(run(state, [log], START).replies[0], BadParameter)


def test_a_memory_that_raises_leaves_the_sums_alone() -> None:
    opening = c.Open("fragile", (ArmTerms("a"),), 100, terms())
    state = apply(None, opened(opening)[1][0], Fragile())
    run(state, [c.Ask(), c.Ask(), c.Tell(2, 5, 1.0)], START)
    before = deepcopy((status_of(state), state.decisions))
    done = run(state, [c.Tell(3, 6, -1.0), c.Amend(2, 6, -1.0)], START)
    assert [type(reply) for reply in done.replies] == [ArithmeticError] * 2
    assert done.records == []
    assert (status_of(state), state.decisions) == before


def test_a_policy_without_fields_is_a_policy() -> None:
    state = apply(None, Record(1, START, opened(c.Open("x", (ArmTerms("a"),), 9, terms()))[1][0].event), Bare())
    assert isinstance(run(state, [c.Ask()], START).replies[0], Pull)


def test_samples_of_one_warm_start_are_rounded_each_by_itself() -> None:
    opening = c.Open("warm", (ArmTerms("a"),), 9, terms(policy=as_data(BTS)))
    state, _ = after(opening, (0, c.Warm(("a",) * 200, (20.0,) * 200, (1.0,) * 200, "log")))
    assert state.learner is not None
    belief = state.learner.memory.belief(0)
    assert belief.pulls == 200
    assert 60 < belief.costs < 140  # half of them; the seed is fixed, and chance alone: below 1e-7
    assert 60 < belief.rewards < 140
