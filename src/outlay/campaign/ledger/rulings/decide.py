"""`decide`: what a command comes to. No clock, no input or output, no chance except what the seed and the ledger fix.

Each rule reads the state and returns the events that follow with the reply, or raises, in which case nothing has
happened.
"""

from typing import assert_never

import msgspec

from outlay.campaign.calendar import bounds
from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.agreement import check_opening
from outlay.campaign.ledger.chain import NOTHING
from outlay.campaign.ledger.fold import apply
from outlay.campaign.ledger.rulings import course, roster
from outlay.campaign.ledger.rulings.admission import Namer, admissible, check_some_arm_fits, choose, learner_of
from outlay.campaign.ledger.rulings.asks import Ruling, ask
from outlay.campaign.ledger.rulings.limits import expect, set_budget, set_requests
from outlay.campaign.ledger.rulings.refusals import check_cost, check_pending, check_reward, found
from outlay.campaign.ledger.state import Decision, State
from outlay.campaign.ledger.windows import renewal
from outlay.errors import CampaignConflict
from outlay.policies.protocol import Policy


def decide(state: State | None, command: c.Command, now: int, by: Namer | None = None) -> Ruling:
    """The events that a command causes at the time `now`, and the reply; the state stays as it is.

    `by` chooses in place of the campaign's own policy when choices are made again; how likely they were is then not
    estimated.
    """
    if isinstance(command, c.Open):
        return _open(state, command, now)
    if state is None:
        raise ValueError("the first command of a campaign opens it")
    match command:
        case c.Sweep():
            return _sweep(state, now)
        case c.Ask():
            return ask(state, command, now, by)
        case c.Tell():
            return _tell(state, command)
        case c.Void():
            return _void(state, command)
        case c.Charge():
            return _charge(state, command)
        case c.Extend():
            return _extend(state, command, now)
        case c.Amend():
            return _amend(state, command)
        case c.SetBudget():
            return set_budget(state, command)
        case c.SetRequests():
            return set_requests(state, command)
        case c.Expect():
            return expect(state, command)
        case c.AddArm():
            return roster.add_arm(state, command, by)
        case c.DisableArm():
            return roster.disable(state, command)
        case c.EnableArm():
            return roster.enable(state, command)
        case c.Warm():
            return roster.warm(state, command)
        case c.Pause():
            return course.pause(state)
        case c.Resume():
            return course.resume(state)
        case c.Close():
            return course.close(state)
        case c.Archive():
            return course.archive(state)
        case c.Restore():
            return course.restore(state)
        case c.Weigh():
            return [], _next(state)
    assert_never(command)


def step(
    state: State | None, command: c.Command, now: int, policy: Policy | None = None
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
    if isinstance(command, c.Ask) and reply is None and records and state.fallback is not None:
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


def _open(state: State | None, command: c.Open, now: int) -> Ruling:
    if state is not None:
        return [], None
    opening = e.Opened(command.name, command.arms, command.budget, command.terms, command.requests)
    check_opening(opening)
    check_some_arm_fits(opening)
    window = command.terms.window
    return [opening, *([] if window is None else [e.Renewed(*bounds(window, command.terms.timezone, now))])], None


def _tell(state: State, command: c.Tell) -> Ruling:
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


def _void(state: State, command: c.Void) -> Ruling:
    decision = found(state, command.decision)
    if decision.standing == "cancelled":
        return [], None
    check_pending(decision, "be cancelled")
    return [e.Voided(command.decision, command.reason)], None


def _charge(state: State, command: c.Charge) -> Ruling:
    decision = found(state, command.decision)
    if decision.standing == "expired" and decision.cost is not None:
        return [], None
    check_pending(decision, "be charged")
    expired = e.Expired(decision.number, decision.reserved, state.terms.default_reward)
    return [expired, *_crossing(state, *_weight(state, decision))], None


def _extend(state: State, command: c.Extend, now: int) -> Ruling:
    check_pending(found(state, command.decision), "be extended")
    return [e.Extended(command.decision, now + command.ttl)], None


def _amend(state: State, command: c.Amend) -> Ruling:
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
