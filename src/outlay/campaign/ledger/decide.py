"""`decide`: what a command comes to. No clock, no input or output, no chance except what the seed and the ledger fix.

Each rule reads the state and returns the events that follow with the reply, or raises, in which case nothing has
happened.
"""

from typing import assert_never

import msgspec

from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.allocate import (
    Namer,
    Ruling,
    admissible,
    arm_index,
    ask,
    check_cost,
    check_pending,
    check_reward,
    check_some_arm_fits,
    choose,
    found,
    learner_of,
)
from outlay.campaign.ledger.apply import apply
from outlay.campaign.ledger.events import NOTHING
from outlay.campaign.ledger.state import Decision, State
from outlay.campaign.ledger.validation import MOST_ARMS, check_arm, check_opening, check_requests
from outlay.campaign.ledger.windows import bounds, renewal
from outlay.errors import CampaignConflict
from outlay.policies.protocol import Policy


def pause(state: State) -> Ruling:
    """Name no arm for a while."""
    return [] if state.paused else [e.Paused()], None


def resume(state: State) -> Ruling:
    """Name arms again; what is closed stays closed."""
    if state.ended == "closed":
        raise CampaignConflict(f"campaign {state.name!r} is closed, for good: nothing resumes")
    return [e.Resumed()] if state.paused else [], None


def close(state: State) -> Ruling:
    """Name no arm any more."""
    return [] if state.ended == "closed" else [e.Closed()], None


def archive(state: State) -> Ruling:
    """Put it away: no arm is named, pulls under way can still be told."""
    return [] if state.archived else [e.Archived()], None


def restore(state: State) -> Ruling:
    """Bring it back as it was."""
    return [e.Restored()] if state.archived else [], None


def add_arm(state: State, command: e.AddArm, by: Namer | None) -> Ruling:
    """Another arm; the same again is none."""
    index = state.index(command.arm.name)
    check_arm("add_arm", command.arm)
    if index is not None:
        if state.arms[index].terms == command.arm:
            return [], None
        there, given = state.arms[index].terms, command.arm
        what, pair = "max_cost", [state.unit.shown(terms.max_cost) for terms in (there, given)]
        if pair[0] == pair[1]:
            what, pair = "cost", [str(terms.mean_cost) for terms in (there, given)]
        raise CampaignConflict(f"arm {given.name!r} is there already, with {what} {pair[0]}, not {pair[1]}")
    if len(state.arms) >= MOST_ARMS:
        raise CampaignConflict(f"the campaign has {len(state.arms):,} arms, and cannot have more")
    (by or learner_of(state)).check_wider()
    return [e.Added(command.arm)], None


def disable(state: State, command: e.DisableArm) -> Ruling:
    """An arm that is not to be pulled any more."""
    index = arm_index(state, "disable_arm", command.arm)
    return [e.Disabled(index)] if state.arms[index].enabled else [], None


def enable(state: State, command: e.EnableArm) -> Ruling:
    """One that may be pulled again."""
    index = arm_index(state, "enable_arm", command.arm)
    return [e.Enabled(index)] if not state.arms[index].enabled else [], None


def warm(state: State, command: e.Warm) -> Ruling:
    """Samples from elsewhere; a log that is known teaches nothing."""
    if command.key in state.warmed:
        return [], 0
    arms = {name: arm_index(state, "warm_start", name) for name in set(command.arms)}
    for reward in command.rewards:
        check_reward("warm_start", reward)
    return [e.Warmed(tuple(arms[name] for name in command.arms), *command[1:])], len(command.arms)


def set_budget(state: State, command: e.SetBudget) -> Ruling:
    """Another budget, and the end where more is spent already."""
    if state.ended == "closed":
        raise CampaignConflict(f"campaign {state.name!r} is closed: its budget stays {state.unit.amount(state.budget)}")
    if command.budget == state.budget:
        return [], None
    ends = not state.ended and state.counted > command.budget
    return [e.Budgeted(command.budget), *([e.Exhausted()] if ends else [])], None


def set_requests(state: State, command: e.SetRequests) -> Ruling:
    """Another number of requests, and the end where as many are served already."""
    if state.ended == "closed":
        raise CampaignConflict(
            f"campaign {state.name!r} is closed: its requests stay {_counted_limits(state.requests)}"
        )
    check_requests("set_requests", command.requests)
    if command.requests == state.requests:
        return [], None
    ends = not state.ended and state.served >= command.requests
    return [e.Requested(command.requests), *([e.Exhausted()] if ends else [])], None


def expect(state: State, command: e.Expect) -> Ruling:
    """Another forecast."""
    check_requests("expect", command.requests, least=0)
    same = state.forecast == state.used + command.requests
    return [] if same else [e.Expected(command.requests)], None


def _counted_limits(requests: int | None) -> str:
    return "unlimited" if requests is None else f"{requests:,}"


def decide(state: State | None, command: e.Command, now: int, by: Namer | None = None) -> Ruling:
    """The events that a command causes at the time `now`, and the reply; the state stays as it is.

    `by` chooses in place of the campaign's own policy when choices are made again; how likely they were is then not
    estimated.
    """
    if isinstance(command, e.Open):
        return _open(state, command, now)
    if state is None:
        raise ValueError("the first command of a campaign opens it")
    match command:
        case e.Sweep():
            return _sweep(state, now)
        case e.Ask():
            return ask(state, command, now, by)
        case e.Tell():
            return _tell(state, command)
        case e.Void():
            return _void(state, command)
        case e.Charge():
            return _charge(state, command)
        case e.Extend():
            return _extend(state, command, now)
        case e.Amend():
            return _amend(state, command)
        case e.SetBudget():
            return set_budget(state, command)
        case e.SetRequests():
            return set_requests(state, command)
        case e.Expect():
            return expect(state, command)
        case e.AddArm():
            return add_arm(state, command, by)
        case e.DisableArm():
            return disable(state, command)
        case e.EnableArm():
            return enable(state, command)
        case e.Warm():
            return warm(state, command)
        case e.Pause():
            return pause(state)
        case e.Resume():
            return resume(state)
        case e.Close():
            return close(state)
        case e.Archive():
            return archive(state)
        case e.Restore():
            return restore(state)
        case e.Weigh():
            return [], _next(state)
    assert_never(command)


def step(
    state: State | None, command: e.Command, now: int, policy: Policy | None = None
) -> tuple[State, list[e.Record], int | None]:
    """Decide, and fold the events in. Time never runs backwards: `now` is at least the time of the last event.

    An ask that finds the budget spent asks once more, where there is an arm to fall back on.
    """
    now = now if state is None else max(now, state.at)
    events, reply = decide(state, command, now)
    records = []
    for event in events:
        seq, before = (1, NOTHING) if state is None else (state.seq + 1, state.head)
        state, record = _applied(state, e.Record(seq, now, event, before), policy)
        records.append(record)
    assert state is not None  # noqa: S101 (the first command opens)
    if isinstance(command, e.Ask) and reply is None and records and state.fallback is not None:
        state, more, reply = step(state, command, now, policy)
        records += more
    return state, records, reply


def _applied(state: State | None, record: e.Record, policy: Policy | None) -> tuple[State, e.Record]:
    """The event folded in, and as it is to be written.

    Nobody waits for an expiry, and every command lets expire what is overdue: where a user's memory raises at such a
    sample, the money is charged all the same, and nothing is learned.
    """
    event, learner = record.event, state.learner if state else None
    if not isinstance(event, e.Expired) or learner is None:
        return apply(state, record, policy), record
    before = learner.kept()
    try:
        return apply(state, record, policy), record
    except Exception:  # whatever a user's policy raises
        learner.restore(before)
        record = msgspec.structs.replace(record, event=msgspec.structs.replace(event, unlearned=True))
        return apply(state, record, policy), record


def _open(state: State | None, command: e.Open, now: int) -> Ruling:
    if state is not None:
        return [], None
    opening = e.Opened(command.name, command.arms, command.budget, command.terms, command.requests)
    check_opening(opening)
    check_some_arm_fits(opening)
    window = command.terms.window
    return [opening, *([] if window is None else [e.Renewed(*bounds(window, command.terms.timezone, now))])], None


def _tell(state: State, command: e.Tell) -> Ruling:
    decision = found(state, command.decision)
    name = state.arms[decision.arm].name
    if command.arm not in (None, name):
        raise CampaignConflict(f"pull {decision.number} is one of {name!r}, not of {command.arm!r}")
    outcome = command.cost, command.reward
    if decision.standing == "told":
        if outcome not in ((decision.told_cost, decision.told_reward), (decision.cost, decision.reward)):
            said = f"cost {state.unit.amount(decision.told_cost or 0):g} and reward {decision.told_reward:g}"
            raise CampaignConflict(f"pull {decision.number} was told with {said}, which stands; amend corrects it")
        return [], True
    check_cost(state, "tell", decision, command.cost)
    check_reward("tell", command.reward)
    earlier, outside = state.is_earlier(decision), decision.fallback
    event = e.Told(
        *(command.decision, decision.arm, command.cost, command.reward),
        late=decision.standing != "open",
        overrun=_overruns(state, decision, command.cost) or _beyond(state, decision),
        instead=_counted(decision),
        rounded=command.rounded,
        unvoided=decision.standing == "cancelled",
        earlier=earlier,
        outside=outside,
    )
    more = 0 if earlier or outside else command.cost - (decision.cost or 0)
    return [event, *_crossing(state, more, decision.standing != "expired" and not earlier)], False


def _void(state: State, command: e.Void) -> Ruling:
    decision = found(state, command.decision)
    if decision.standing == "cancelled":
        return [], None
    check_pending(decision, "be cancelled")
    return [e.Voided(command.decision, command.reason)], None


def _charge(state: State, command: e.Charge) -> Ruling:
    decision = found(state, command.decision)
    if decision.standing == "expired" and decision.cost is not None:
        return [], None
    check_pending(decision, "be charged")
    expired = e.Expired(decision.number, decision.reserved, state.terms.default_reward)
    return [expired, *_crossing(state, *_weight(state, decision))], None


def _extend(state: State, command: e.Extend, now: int) -> Ruling:
    check_pending(found(state, command.decision), "be extended")
    return [e.Extended(command.decision, now + command.ttl)], None


def _amend(state: State, command: e.Amend) -> Ruling:
    decision = found(state, command.decision)
    if decision.standing != "told":
        raise CampaignConflict(f"pull {decision.number} is {decision.standing}, not told: tell it first")
    instead = _counted(decision)
    assert instead is not None  # noqa: S101 (it was told)
    cost = instead.cost if command.cost is None else command.cost
    reward = instead.reward if command.reward is None else command.reward
    if (instead.cost, instead.reward) == (cost, reward):
        return [], True
    check_cost(state, "amend", decision, cost)
    check_reward("amend", reward)
    more, earlier, outside = cost - instead.cost, state.is_earlier(decision), decision.fallback
    event = e.Amended(
        *(command.decision, decision.arm, cost, reward, instead, command.reason),
        overrun=_overruns_now(state, decision, cost, more),
        rounded=command.rounded,
        earlier=earlier,
        outside=outside,
    )
    return [event, *_crossing(state, 0 if earlier or outside else more)], False


def _next(state: State) -> int | None:
    """The arm that an ask would name now, a pause aside; None where none can be named."""
    learner_of(state)
    arms = [] if state.ended else admissible(state)
    return choose(state, arms, state.seq + 1)[0] if arms else None


def is_due(state: State, now: int) -> bool:
    """Whether a sweep would find something to do: it is asked before every command."""
    now = max(now, state.at)
    return (state.due is not None and now >= state.due) or renewal(state, now) is not None


def _sweep(state: State, now: int) -> Ruling:
    """What is overdue expires; then, where the window is over, the next begins."""
    window = renewal(state, now)
    events: list[e.AnyEvent] = []
    if state.due is not None and now >= state.due:
        pending = ((d.expires, d.number) for d in state.pending.values() if d.expires is not None)
        overdue = [state.pending[number] for expires, number in sorted(pending) if expires <= now]
        charge, reward = state.terms.expiry == "charge", state.terms.default_reward
        events += [e.Expired(d.number, d.reserved, reward) if charge else e.Expired(d.number) for d in overdue]
        if window is None:
            weights = [_weight(state, decision) for decision in overdue]
            spent, served = (sum(part) for part in zip(*weights, strict=True))
            events += _crossing(state, spent if charge else 0, served)
    return [*events, *([] if window is None else [window])], None


def _weight(state: State, decision: Decision) -> tuple[int, int]:
    """What a pull under way takes of the budget and of the requests of this window, if it is charged."""
    earlier = state.is_earlier(decision)
    return 0 if earlier or decision.fallback else decision.reserved, int(not earlier)


def _counted(decision: Decision) -> e.Counted | None:
    """What it counts for so far, if it does."""
    if decision.cost is None or decision.reward is None:
        return None
    return e.Counted(decision.cost, decision.reward, decision.place)


def _overruns(state: State, decision: Decision, cost: int) -> bool:
    """Whether it cost more than was set aside; for a voided pull nothing is.

    Only in hard mode is it a promise that an arm of which nothing is known needs nothing.
    """
    capped = state.terms.mode == "hard" and not decision.fallback
    promised = decision.reserved > 0 or state.arms[decision.arm].max_cost is not None or capped
    return promised and cost > (0 if decision.standing == "cancelled" else decision.reserved)


def _overruns_now(state: State, decision: Decision, cost: int, more: int) -> bool:
    """Whether a pull is an overrun after a correction: for it, or still."""
    passes = more > 0 and _passes(state, decision, cost, more)
    return passes or (decision.overrun and _overruns(state, decision, cost))


def _beyond(state: State, decision: Decision) -> bool:
    """Whether a pull that was voided and is told after all takes a request more than there are.

    Of an earlier window nobody knows any more how many were left of it: there, any may.
    """
    if decision.standing != "cancelled" or state.requests is None:
        return False
    return state.is_earlier(decision) or state.used_now >= state.requests


def _passes(state: State, decision: Decision, cost: int, more: int) -> bool:
    """Whether a correction upwards is above what was set aside, or takes what a hard cap has promised to others.

    Of an earlier window nobody knows any more what was left of it: there, any may.
    """
    past = (state.is_earlier(decision) or more > state.left) and not decision.fallback
    return _overruns(state, decision, cost) or (state.terms.mode == "hard" and past)


def _crossing(state: State, more: int, served: int = 0) -> list[e.AnyEvent]:
    """Exhausted, where this much more spending crosses the budget, or so many requests more are all there are."""
    all_served = state.requests is not None and state.served + served >= state.requests
    return [e.Exhausted()] if not state.ended and (state.counted + more > state.budget or all_served) else []
