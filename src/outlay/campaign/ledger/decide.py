"""`decide`: what a command comes to. No clock, no input or output, no chance except what the seed and the ledger fix.

Each rule reads the state and returns the events that follow with the reply, or raises, in which case nothing has
happened.
"""

from typing import assert_never

from outlay._version import __version__
from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.admission import (
    Namer,
    admissible,
    affordable,
    choose,
    learner_of,
    propensity,
    reservation,
)
from outlay.campaign.ledger.fold import apply
from outlay.campaign.ledger.refusals import arm_index, check_cost, check_pending, check_reward, found
from outlay.campaign.ledger.state import Decision, State
from outlay.errors import CampaignConflict, NotNow
from outlay.policies.protocol import Policy

A_WHILE = 1.0  # seconds after which to ask again, at most
MOST_ARMS = 100_000

Ruling = tuple[list[e.AnyEvent], int | None]  # what follows, and the reply


def decide(state: State | None, command: c.Command, now: int, by: Namer | None = None) -> Ruling:
    """The events that a command causes at the time `now`, and the reply; the state stays as it is.

    `by` chooses in place of the campaign's own policy when choices are made again; how likely they were is then not
    estimated.
    """
    if isinstance(command, c.Open):
        return _open(state, command)
    if state is None:
        raise ValueError("the first command of a campaign opens it")
    match command:
        case c.Sweep():
            return _sweep(state, now)
        case c.Ask():
            return _ask(state, command, now, by)
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
            return _set_budget(state, command)
        case c.AddArm():
            return _add_arm(state, command, by)
        case c.DisableArm():
            return _disable(state, command)
        case c.EnableArm():
            return _enable(state, command)
        case c.Warm():
            return _warm(state, command)
        case c.Pause():
            return _pause(state)
        case c.Resume():
            return _resume(state)
        case c.Close():
            return _close(state)
    assert_never(command)


def step(
    state: State | None, command: c.Command, now: int, policy: Policy | None = None
) -> tuple[State, list[e.Record], int | None]:
    """Decide, and fold the events in. Time never runs backwards: `now` is at least the time of the last event."""
    now = now if state is None else max(now, state.at)
    events, reply = decide(state, command, now)
    records = []
    for event in events:
        records.append(e.Record(1 if state is None else state.seq + 1, now, event))
        state = apply(state, records[-1], policy)
    assert state is not None  # noqa: S101 (the first command opens)
    return state, records, reply


def _open(state: State | None, command: c.Open) -> Ruling:
    if state is not None:
        return [], None
    return [e.Opened(command.name, command.arms, command.budget, command.terms)], None


def _ask(state: State, command: c.Ask, now: int, by: Namer | None) -> Ruling:
    if command.key is not None and command.key in state.keys:
        decision = state.decisions[state.keys[command.key]]
        if decision.ttl != command.ttl:
            raise CampaignConflict(f"key {command.key!r} was used with another ttl, for decision {decision.number}")
        return [], decision.number
    if state.ended:
        return [], None
    _refuse_for_now(state, now)
    arms = admissible(state)
    if not arms and state.pending:
        raise _not_now(state, now, "what is left of the budget is set aside for pulls under way")
    if not arms and affordable(state):
        raise _not_now(state, now, "only disabled arms fit what is left of the budget")
    if not arms:
        return [e.Exhausted()], None
    seq = state.seq + 1
    arm, by_chance = choose(state, arms, seq, by)
    ttl = state.terms.ttl if command.ttl is None else command.ttl
    event = e.Asked(
        arm,
        reservation(state, state.arms[arm]),
        f"{state.terms.policy['name']}@{__version__}",
        command.key,
        command.ttl,
        None if ttl is None else now + ttl,
        propensity(state, arm, arms, seq) if by_chance and by is None else None,
        command.tags,
        command.metadata,
    )
    return [event], seq


def _refuse_for_now(state: State, now: int) -> None:
    """Raise NotNow where the campaign has not ended and yet no arm can be named."""
    under_way, most = len(state.pending), state.terms.max_in_flight
    if state.paused:
        raise _not_now(state, now, f"campaign {state.name!r} is paused")
    if not any(arm.enabled for arm in state.arms):
        raise _not_now(state, now, f"every arm of campaign {state.name!r} is disabled")
    if most is not None and under_way >= most:
        raise _not_now(state, now, f"{under_way} pulls are under way, and max_in_flight is {most}")
    if state.spent + state.reserved > state.budget:
        raise _not_now(state, now, "what is left of the budget is set aside for pulls under way")


def _not_now(state: State, now: int, reason: str) -> NotNow:
    first = min((d.expires for d in state.pending.values() if d.expires is not None), default=now + 10**9)
    return NotNow(reason, min(A_WHILE, max(0.01, (first - now) / 1e6)))


def _tell(state: State, command: c.Tell) -> Ruling:
    decision = found(state, command.decision)
    name = state.arms[decision.arm].name
    if command.arm not in (None, name):
        raise CampaignConflict(f"decision {decision.number} is a pull of {name!r}, not of {command.arm!r}")
    outcome = command.cost, command.reward
    if decision.standing == "told":
        if outcome not in ((decision.told_cost, decision.told_reward), (decision.cost, decision.reward)):
            said = f"cost {state.unit.amount(decision.told_cost or 0):g} and reward {decision.told_reward:g}"
            raise CampaignConflict(f"decision {decision.number} was told with {said}, which stands; amend corrects it")
        return [], True
    check_cost(state, "tell", decision, command.cost)
    check_reward("tell", command.reward)
    event = e.Told(
        *(command.decision, decision.arm, command.cost, command.reward),
        late=decision.standing != "pending",
        overrun=_overruns(state, decision, command.cost),
        instead=_counted(decision),
    )
    return [event, *_crossing(state, command.cost - (decision.cost or 0))], False


def _void(state: State, command: c.Void) -> Ruling:
    decision = found(state, command.decision)
    if decision.standing == "voided":
        return [], None
    check_pending(decision, "be voided")
    return [e.Voided(command.decision, command.reason)], None


def _charge(state: State, command: c.Charge) -> Ruling:
    decision = found(state, command.decision)
    if decision.standing == "expired" and decision.cost is not None:
        return [], None
    check_pending(decision, "be charged")
    expired = e.Expired(decision.number, decision.reserved, state.terms.default_reward)
    return [expired, *_crossing(state, decision.reserved)], None


def _extend(state: State, command: c.Extend, now: int) -> Ruling:
    check_pending(found(state, command.decision), "be extended")
    return [e.Extended(command.decision, now + command.ttl)], None


def _amend(state: State, command: c.Amend) -> Ruling:
    decision = found(state, command.decision)
    if decision.standing != "told":
        raise CampaignConflict(f"decision {decision.number} is {decision.standing}, not told: tell it first")
    if (decision.cost, decision.reward) == (command.cost, command.reward):
        return [], None
    check_cost(state, "amend", decision, command.cost)
    check_reward("amend", command.reward)
    instead = _counted(decision)
    assert instead is not None  # noqa: S101 (it was told)
    event = e.Amended(command.decision, decision.arm, command.cost, command.reward, instead, command.reason)
    return [event, *_crossing(state, command.cost - instead.cost)], None


def _set_budget(state: State, command: c.SetBudget) -> Ruling:
    if state.ended == "closed":
        raise CampaignConflict(f"campaign {state.name!r} is closed: its budget stays {state.unit.amount(state.budget)}")
    if command.budget == state.budget:
        return [], None
    ends = not state.ended and state.spent > command.budget
    return [e.Budgeted(command.budget), *([e.Exhausted()] if ends else [])], None


def _add_arm(state: State, command: c.AddArm, by: Namer | None) -> Ruling:
    index = state.index(command.arm.name)
    if index is not None:
        if state.arms[index].terms == command.arm:
            return [], None
        raise CampaignConflict(f"there is an arm {command.arm.name!r} with other terms")
    if len(state.arms) >= MOST_ARMS:
        raise CampaignConflict(f"the campaign has {len(state.arms):,} arms, and cannot have more")
    (by or learner_of(state)).check_wider()
    return [e.Added(command.arm)], None


def _disable(state: State, command: c.DisableArm) -> Ruling:
    index = arm_index(state, "disable_arm", command.arm)
    return [e.Disabled(index)] if state.arms[index].enabled else [], None


def _enable(state: State, command: c.EnableArm) -> Ruling:
    index = arm_index(state, "enable_arm", command.arm)
    return [e.Enabled(index)] if not state.arms[index].enabled else [], None


def _warm(state: State, command: c.Warm) -> Ruling:
    if command.key in state.warmed:
        return [], 0
    arms = {name: arm_index(state, "warm_start", name) for name in set(command.arms)}
    for reward in command.rewards:
        check_reward("warm_start", reward)
    return [e.Warmed(tuple(arms[name] for name in command.arms), *command[1:])], len(command.arms)


def _pause(state: State) -> Ruling:
    return [] if state.paused else [e.Paused()], None


def _resume(state: State) -> Ruling:
    return [e.Resumed()] if state.paused else [], None


def _close(state: State) -> Ruling:
    return [] if state.ended == "closed" else [e.Closed()], None


def _sweep(state: State, now: int) -> Ruling:
    if state.due is None or now < state.due:
        return [], None
    pending = ((d.expires, d.number, d.reserved) for d in state.pending.values() if d.expires is not None)
    overdue = sorted(entry for entry in pending if entry[0] <= now)
    if state.terms.expiry == "release":
        return [e.Expired(number) for _, number, _ in overdue], None
    events: list[e.AnyEvent] = [e.Expired(number, held, state.terms.default_reward) for _, number, held in overdue]
    return events + _crossing(state, sum(held for _, _, held in overdue)), None


def _counted(decision: Decision) -> e.Counted | None:
    """What it counts for so far, if it does."""
    if decision.cost is None or decision.reward is None or decision.place is None:
        return None
    return e.Counted(decision.cost, decision.reward, decision.place)


def _overruns(state: State, decision: Decision, cost: int) -> bool:
    """Whether it cost more than was set aside; for a voided pull nothing is.

    Only in hard mode is it a promise that an arm of which nothing is known needs nothing.
    """
    promised = decision.reserved > 0 or state.arms[decision.arm].max_cost is not None or state.terms.mode == "hard"
    return promised and cost > (0 if decision.standing == "voided" else decision.reserved)


def _crossing(state: State, more: int) -> list[e.AnyEvent]:
    """Exhausted, where this much more spending crosses the budget."""
    return [e.Exhausted()] if not state.ended and state.spent + more > state.budget else []
