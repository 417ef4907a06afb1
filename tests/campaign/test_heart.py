"""The pure heart, `decide` and `apply`, on random stories: against a slow twin, and against itself."""

from collections import Counter
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from msgspec.structs import replace

from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.apply import apply
from outlay.campaign.ledger.decide import decide
from outlay.campaign.ledger.events import NOTHING, Asked, Cancelled, Expired, Opened, Record, Told, from_json, to_json
from outlay.campaign.ledger.replay import Replay
from outlay.campaign.ledger.state import State
from outlay.campaign.records import Pull, Receipt, status_of
from outlay.campaign.stores.base import run
from outlay.engine.bulk_random import arrays_in
from outlay.errors import (
    BadParameter,
    CampaignConflict,
    NothingTold,
    NotNow,
    OutlayError,
    OverBudget,
    PullOver,
    StoreError,
    UnknownPull,
)
from outlay.policies.protocol import has
from tests.campaign import slow
from tests.campaign.slow_sums import dearest
from tests.campaign.stories import (
    ALL,
    EXACT,
    FORGED,
    SECOND,
    START,
    Caller,
    Operation,
    essence,
    for_stories,
    forged,
    opened,
    openings,
    operations,
    shown,
    whole_story,
)

SOAK = 25  # times as many stories
FOREVER = 10**9 * SECOND


ANSWERS = {
    slow.NOT_NOW: NotNow,
    slow.CONFLICT: CampaignConflict,
    slow.UNKNOWN: UnknownPull,
    slow.BAD: BadParameter,
    slow.UNTOLD: NothingTold,
    slow.TOO_DEAR: OverBudget,
}


def check_reply(reply: Any, command: Any, answer: str, number: int | None, twin: slow.Twin) -> None:
    if answer in ANSWERS:
        assert isinstance(reply, ANSWERS[answer])
    elif answer == slow.OVER:
        assert isinstance(reply, PullOver)
        assert (reply.pull.id, reply.pull.status) == (number, twin.decisions[number or 0]["standing"])
    elif answer in (slow.END, slow.EXHAUSTED):
        assert reply is None
    elif isinstance(command, e.Ask):
        decision = twin.decisions[number or 0]
        arm = twin.arms[decision["arm"]]["name"]
        assert isinstance(reply, Pull)
        assert (reply.id, reply.arm, reply.reserved) == (number, arm, decision["reserved"])
    elif isinstance(command, e.Tell | e.Reward | e.Amend):
        decision = twin.named(command.pull) or {}
        flags = answer == slow.DUPLICATE, decision["late"], decision["overrun"]
        assert isinstance(reply, Receipt)
        told = reply.cost, reply.reward, reply.duplicate, reply.late, reply.overrun
        assert told == (decision["cost"], decision["reward"], *flags)
    elif isinstance(command, e.WarmStart):
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
        assert (arm.samples, arm.cost_reports, arm.max_cost_seen) == (
            other["samples"],
            len(other["heard"]),
            dearest(other),
        )
        assert arm.pulls == len(twin.counted(i))
        assert (arm.rewarded, arm.awaited, arm.overdue) == twin.waiting(i)
        assert arm.in_flight == sum(twin.decisions[number]["arm"] == i for number in twin.pending())
    for number, decision in state.pulls.items():
        other = twin.decisions[number]
        assert (decision.status, decision.expires) == (other["standing"], other["expires"])
        counts = decision.cost, decision.reward, decision.sample_index, decision.overdue
        assert counts == (other["cost"], other["reward"], other["place"], other["overdue"])
        assert decision.told_cost is None or (decision.told_cost, decision.told_reward) == other["told"]


def check_cap(twin: slow.Twin) -> None:
    """Of each mode: hard, or crossed by one pull at most; costs above what was set aside excuse as much."""
    last = 0 if twin.terms.mode == "hard" else max((d["reserved"] for d in twin.decisions.values()), default=0)
    assert twin.spent() + twin.reserved() <= twin.budget + twin.excused + last
    if twin.terms.first_pulls is not None and twin.terms.reservation is None:
        unknown = Counter(twin.decisions[n]["arm"] for n in twin.pending() if twin.decisions[n]["unknown"])
        assert all(pulls <= twin.terms.first_pulls for pulls in unknown.values())
        check_untold(twin)


def check_untold(twin: slow.Twin) -> None:
    """Where nobody ever told a cost above 0, no arm of unknown cost has more pulls than tells could have allowed."""
    if max(map(dearest, twin.arms)) == 0:
        for number, arm in enumerate(twin.arms):
            of_arm = [
                d
                for d in twin.decisions.values()
                if d["arm"] == number and d["standing"] != "cancelled" and d["unknown"]
            ]
            told = sum(decision["standing"] == "told" for decision in of_arm)
            free = sum(decision["standing"] == "expired" and not decision["cost"] for decision in of_arm)
            assert arm["max_cost"] is not None or free <= twin.terms.first_pulls * (1 + told)


@for_stories(openings(ALL), operations(), examples=140, soak=SOAK)
def test_every_reply_and_every_sum_is_that_of_the_twin(opening: e.Open, story: list[Operation]) -> None:
    check_twin(opening, story)


def check_twin(opening: e.Open, story: list[Operation]) -> None:
    """That every reply and every sum is that of the twin."""
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
        if isinstance(reply, Pull):  # who pulls has money set aside for it
            assert reply.id in state.pending
            assert reply.status == "open"
        assert [record.seq for record in done.records] == list(range(number + 1, state.seq + 1))


@for_stories(openings(EXACT, reservation=None, first_pulls=1), operations(untold=True), examples=60, soak=SOAK)
def test_the_twin_agrees_about_those_who_tell_little(opening: e.Open, story: list[Operation]) -> None:
    check_twin(opening, story)


@for_stories(openings(EXACT), operations(), examples=60, soak=SOAK)
def test_terms_that_were_forged_are_refused_or_keep_the_cap(honest: e.Open, story: list[Operation]) -> None:
    """Whatever a file says: nobody can open a campaign on terms under which its cap would not hold."""
    for changed in FORGED:
        opening = forged(honest, changed)
        done = run(None, [opening], START)
        if done.state is not None:
            check_story(done.state, opening, story)
            continue
        assert isinstance(done.replies[0], (BadParameter, StoreError))
        assert done.records == []
        with pytest.raises(StoreError):
            apply(None, Record(1, START, Opened(*opening), NOTHING))


def check_story(state: State, opening: e.Open, story: list[Operation]) -> None:
    """That the cap holds, and that what is set aside is an amount."""
    twin, caller = slow.Twin(opening, START), Caller()
    for operation in story:
        command = caller.command(operation)
        done = run(state, [command], caller.now)
        caller.hears(done.replies[0])
        twin.sweep(caller.now)
        named = [(record.seq, record.event.arm) for record in done.records if isinstance(record.event, Asked)]
        twin.do(command, caller.now, named[0] if named else None)
        assert (state.spent, state.reserved) == (twin.spent(), twin.reserved())
        assert all(decision.reserved >= 0 for decision in state.pending.values())
        check_cap(twin)


@for_stories(openings(ALL), operations(), examples=120, soak=SOAK)
def test_the_ledger_is_the_truth(opening: e.Open, story: list[Operation]) -> None:
    """Its fold is the state to the last bit, it is gapless, can be replayed and settles once."""
    state, records, replies = whole_story(opening, story)
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    assert [record.at for record in records] == sorted(record.at for record in records)
    check_once(records, replies)
    folded = apply(None, records[0])
    for record in records[1:]:
        if isinstance(record.event, Asked):
            asked = record.event
            again = decide(folded, e.Ask(asked.key, asked.ttl, most=asked.most, arms=asked.arms), record.at)
            assert again == ([record.event], record.seq)
        folded = apply(folded, Record(record.seq, record.at, from_json(to_json(record.event)), record.before))
    assert essence(folded) == essence(state)
    assert status_of(folded) == status_of(state)
    replay, replayed = Replay(), None
    for record in records:
        replayed, doubt = replay.fold(replayed, record)
        assert doubt is None
    check_all_expires(state)


def check_once(records: list[Record], replies: list[Any]) -> None:
    """No decision is settled twice, no key names two, and who asked later has the higher number."""
    events = [record.event for record in records]
    for kind in (Told, Expired, Cancelled):
        numbers = [event.pull for event in events if isinstance(event, kind)]
        assert len(numbers) == len(set(numbers))
    keys = [event.key for event in events if isinstance(event, Asked) and event.key]
    assert len(keys) == len(set(keys))
    named = list(dict.fromkeys(reply.id for reply in replies if isinstance(reply, Pull)))
    assert named == sorted(named)


def check_all_expires(state: State) -> None:
    """When all that is pending has expired, nothing is set aside."""
    forever = [number for number, decision in state.pending.items() if decision.expires is None]
    run(state, [e.Extend(number, SECOND) for number in forever], state.at)
    run(state, [e.ExpirePulls()], state.at + FOREVER)
    assert (state.reserved, state.pending) == (0, {})
    assert [(arm.reserved, arm.in_flight) for arm in state.arms] == [(0, 0)] * len(state.arms)


@for_stories(openings(ALL), operations(), examples=70, soak=SOAK)
def test_what_is_done_again_changes_nothing(opening: e.Open, story: list[Operation]) -> None:
    (state, _), caller = opened(opening), Caller()
    for operation in story:
        command = caller.command(operation)
        first = run(state, [command], caller.now)
        caller.hears(first.replies[0])
        if isinstance(command, e.Extend) or (isinstance(command, e.Ask) and command.key is None):
            continue
        again = run(state, [command], caller.now)
        assert again.records == []
        reply, repeated = first.replies[0], again.replies[0]
        if isinstance(reply, Receipt):
            reply = replace(reply, duplicate=True)
        assert shown(repeated) == (0 if isinstance(reply, int) else shown(reply))  # samples learned


def everything(state: State) -> dict[str, Any]:
    """All that a state holds; what its learner holds as bytes, but for answers that are kept and change no choice."""
    held, learner = vars(state).copy(), vars(state.learner).copy()
    memory, _ = learner["memory"], learner.pop("_chooser")
    learner["memory"] = [
        field.tobytes() for field in arrays_in(memory.without_cache() if has(memory, "without_cache") else memory)
    ]
    learner |= {name: learner[name].tobytes() for name in ("pulls", "totals")}
    return held | {"learner": learner}


@for_stories(openings(ALL), operations(), examples=100, soak=SOAK)
def test_to_decide_changes_nothing_and_a_refusal_writes_nothing(opening: e.Open, story: list[Operation]) -> None:
    """Nothing is written down, not even a note that something was looked for; deadlines that pass included."""
    (state, _), caller = opened(opening), Caller()
    for operation in story:
        command = caller.command(operation)
        before = deepcopy(everything(state))
        for each in (e.ExpirePulls(), command):
            with suppress(OutlayError):
                decide(state, each, max(caller.now, state.at))
            assert everything(state) == before
        run(state, [e.ExpirePulls()], caller.now)
        before, events = deepcopy(everything(state)), list[Any]()
        with suppress(OutlayError):
            events, _ = decide(state, command, max(caller.now, state.at))
        assert everything(state) == before
        done = run(state, [command], caller.now)
        caller.hears(done.replies[0])
        assert [record.event for record in done.records] == events
        assert events or everything(state) == before
        assert not (events and isinstance(done.replies[0], Exception))
        times = [decision.expires for decision in state.pending.values() if decision.expires is not None]
        times += [decision.reward_due for decision in state.awaiting.values() if decision.reward_due is not None]
        assert state.due == min(times, default=None)
