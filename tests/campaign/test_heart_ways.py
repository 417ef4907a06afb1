"""The pure heart on random stories: whatever way a story takes, by snapshots, batches or sweeps, it ends the same."""

from copy import deepcopy

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from outlay.campaign.ledger import events as e
from outlay.campaign.ledger import snapshot
from outlay.campaign.records import Pull, Receipt, status_of
from outlay.campaign.stores.base import Clock, run
from outlay.campaign.stores.memory import MemoryLedger
from tests.campaign.stories import (
    ALL,
    EXACT,
    SECOND,
    START,
    Caller,
    Operation,
    essence,
    for_stories,
    opened,
    openings,
    operations,
    shown,
)

SOAK = 25  # times as many stories
FOREVER = 10**9 * SECOND


@for_stories(openings(ALL), operations(), st.integers(0, 60), operations(), examples=70, soak=SOAK)
def test_going_on_from_a_snapshot_is_going_on(
    opening: e.Open, past: list[Operation], moment: int, future: list[Operation]
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
    for decision in state.pulls.values():  # a store keeps those that are settled
        if decision.status != "open":
            other.cache_pull(deepcopy(decision))
    for operation in story[len(past[:moment]) :]:
        command = caller.command(operation)
        done, twin = (run(each, [command], caller.now) for each in (state, other))
        caller.hears(done.replies[0])
        assert twin.records == done.records
        assert shown(twin.replies[0]) == shown(done.replies[0])
    assert essence(other)[:1] == essence(state)[:1]
    assert snapshot.load(body[:-1]) is None
    assert snapshot.load(b"") is None


@for_stories(openings(ALL), operations(steady=True), st.integers(1, 6), examples=80, soak=SOAK)
def test_a_batch_is_its_commands_one_by_one(opening: e.Open, story: list[Operation], size: int) -> None:
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


@for_stories(openings(EXACT), operations(steady=True), examples=70, soak=SOAK)
def test_whether_a_sweeper_runs_does_not_matter(opening: e.Open, story: list[Operation]) -> None:
    """What is overdue expires before the next command, or the moment it is due: the end is the same but for times."""
    (lazy, _), (eager, _), caller = opened(opening), opened(opening), Caller()
    for operation in story:
        command = caller.command(operation)
        while eager.due is not None and eager.due <= caller.now:
            run(eager, [e.ExpirePulls()], eager.due)
        done, other = (run(state, [command], caller.now) for state in (lazy, eager))
        caller.hears(done.replies[0])
        assert timeless(other.replies[0]) == timeless(done.replies[0])
        assert status_of(eager) == status_of(lazy)
        assert eager.pulls == lazy.pulls


def timeless(reply: object) -> object:
    """A reply without the head of the ledger, which depends on when things happened."""
    return replace(reply, head="") if isinstance(reply, Receipt) else shown(reply)


@for_stories(
    openings(ALL, max_in_flight=None),
    st.lists(st.tuples(st.integers(-20, 90), st.integers(-8, 16))),
    st.data(),
    examples=60,
    soak=SOAK,
)
def test_the_order_of_tells_does_not_change_what_is_spent(
    opening: e.Open, outcomes: list[tuple[int, int]], data: st.DataObject
) -> None:
    ends = []
    for shuffled in (False, True):
        state, _ = opened(opening)
        asked = run(state, [e.Ask(ttl=FOREVER)] * len(outcomes), START).replies
        pairs = [(pull, each) for pull, each in zip(asked, outcomes, strict=True) if isinstance(pull, Pull)]
        tells = [e.Tell(pull.id, cost, reward / 8) for pull, (cost, reward) in pairs]
        run(state, data.draw(st.permutations(tells)) if shuffled else tells, START + 1)
        ends.append([(arm.spent, arm.reserved, arm.pulls, arm.reward, arm.max_cost_seen) for arm in state.arms])
    assert ends[0] == ends[1]


@for_stories(
    openings(ALL), operations(), st.lists(st.integers(0, 10**4), min_size=60, max_size=60), examples=60, soak=SOAK
)
def test_a_clock_that_is_set_back_changes_nothing(opening: e.Open, story: list[Operation], hours: list[int]) -> None:
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
        caught_up = min(max(0, wall - last - step), step // 10)
        assert now == (max(wall, at_least) if i == 0 else max(at_least, last + step + caught_up))
        steady, last = steady + step, now
