"""The pure heart, `decide` and `apply`, on random stories: against a slow twin, and against itself.

HYPOTHESIS_PROFILE=default looks for new stories; OUTLAY_SOAK=1 tries twenty-five times as many.
"""

import os
from copy import deepcopy
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from outlay.campaign.clock import Clock
from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger import snapshot
from outlay.campaign.ledger.decide import decide
from outlay.campaign.ledger.events import Asked, Expired, Record, Told, Voided, from_json, to_json
from outlay.campaign.ledger.fold import apply
from outlay.campaign.ledger.state import State
from outlay.campaign.replies import Pull, Receipt, status_of
from outlay.campaign.stores.batch import run
from outlay.campaign.stores.memory import MemoryLedger
from outlay.errors import BadParameter, CampaignConflict, NotNow, UnknownDecision
from tests.campaign import slow
from tests.campaign.stories import (
    BY_CHANCE,
    EXACT,
    KEEPING,
    SECOND,
    START,
    Caller,
    Operation,
    opened,
    openings,
    operations,
    shown,
)

MANY = 25 if "OUTLAY_SOAK" in os.environ else 1
ALL = [*EXACT, *KEEPING, *BY_CHANCE]
FOREVER = 10**9 * SECOND


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
        assert (arm.samples, arm.heard, arm.dearest) == (other["samples"], len(other["heard"]), slow.dearest(other))
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
