"""`decide`: what a command comes to. No clock, no input or output, no chance except what the seed and the ledger fix.

Each rule reads the state and returns the events that follow with the reply, or raises, in which case nothing has
happened.
"""

from typing import TYPE_CHECKING, assert_never

import msgspec

from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.allocate import ArmChooser, Decided, admissible, ask, choose, learner_of, unknown_arm
from outlay.campaign.ledger.apply import apply
from outlay.campaign.ledger.state import PullState, State
from outlay.campaign.ledger.validation import (
    MOST_ARMS,
    MOST_REWARD,
    check_arm,
    check_opening,
    check_requests,
    check_room,
    check_some_arm_fits,
)
from outlay.campaign.ledger.windows import bounds, renewal
from outlay.errors import BadParameter, CampaignConflict, UnknownPull
from outlay.policies.protocol import Policy

if TYPE_CHECKING:
    from outlay.campaign.ledger.pool import Pool

MOST_SPENT = 2**62  # units a campaign can have spent: what a database's whole numbers hold


def decide(state: State | None, command: e.Command, now: int, chooser: ArmChooser | None = None) -> Decided:
    """The events that a command causes at the time `now`, and the reply; the state stays as it is.

    `chooser` stands in for the campaign's own policy where choices are made again; propensities are then not estimated.
    """
    if isinstance(command, e.Open):
        return _open(state, command, now)
    if state is None:
        raise ValueError("the first command of a campaign opens it")
    match command:
        case e.ExpirePulls():
            return _expire_pulls(state, now)
        case e.Ask():
            return ask(state, command, now, chooser)
        case e.Tell():
            return _tell(state, command, now)
        case e.Reward():
            return _reward(state, command.pull, command.reward)
        case e.Cancel():
            pull = _found(state, command.pull)
            if pull.status == "cancelled":
                return [], None
            _check_open(pull, "be cancelled")
            return [e.Cancelled(pull.number, command.reason)], None
        case e.Charge():
            return _charge(state, command)
        case e.Extend():
            pull = _found(state, command.pull)
            _check_open(pull, "be extended")
            return [e.Extended(pull.number, now + command.ttl)], None
        case e.Amend():
            return _amend(state, command)
        case e.SetBudget():
            return _set_budget(state, command)
        case e.SetRequests():
            return _set_requests(state, command)
        case e.Expect():
            check_requests("expect_requests", command.requests, least=0)
            same = state.forecast == state.used + command.requests
            return [] if same else [e.Expected(command.requests)], None
        case e.AddArm():
            return _add_arm(state, command, chooser)
        case e.DisableArm():
            index = _arm_index(state, "disable_arm", command.arm)
            return [e.Disabled(index)] if state.arms[index].enabled else [], None
        case e.EnableArm():
            index = _arm_index(state, "enable_arm", command.arm)
            return [] if state.arms[index].enabled else [e.Enabled(index)], None
        case e.WarmStart():
            return _warm_start(state, command)
        case e.Pause():
            return [] if state.paused else [e.Paused()], None
        case e.Resume():
            if state.ended == "closed":
                raise CampaignConflict(f"campaign {state.name!r} is closed, for good: nothing resumes")
            return [e.Resumed()] if state.paused else [], None
        case e.Close():
            return [] if state.ended == "closed" else [e.Closed()], None
        case e.Archive():
            return [] if state.archived else [e.Archived()], None
        case e.Restore():
            return [e.Restored()] if state.archived else [], None
        case e.Explain():  # which arm an ask would name now, a pause aside
            learner_of(state)
            arms = [] if state.ended else admissible(state)
            return [], choose(state, arms, state.seq + 1, context=command.context)[0] if arms else None
    assert_never(command)


def step(
    state: State | None, command: e.Command, now: int, policy: Policy | None = None, pool: "Pool | None" = None
) -> tuple[State, list[e.Record], int | None]:
    """Decide, and fold the events in. Time never runs backwards: `now` is at least the time of the last event.

    An ask that finds the budget spent asks once more, where there is an arm to fall back on. What happens in a campaign
    with a `pool` happens there first, and may be refused there. Where an event shows that an arm has changed, that is
    the next event.
    """
    now = now if state is None else max(now, state.at)
    events, reply = decide(state, command, now)
    if pool is not None and state is not None:
        pool.follow(state, events, now)
    records = []
    for event in events:
        seq, before = (1, e.NOTHING) if state is None else (state.seq + 1, state.head)
        state, record = _applied(state, e.Record(seq, now, event, before), policy)
        records.append(record)
        while changed := noticed(state):
            state, record = _applied(state, e.Record(state.seq + 1, now, changed, state.head), policy)
            records.append(record)
    assert state is not None  # noqa: S101 (the first command opens)
    if isinstance(command, e.Ask) and reply is None and records and state.fallback is not None:
        state, more, reply = step(state, command, now, policy, pool)
        records += more
    return state, records, reply


def noticed(state: State) -> e.Changed | None:
    """The next of the arms that the last event shows to have changed."""
    found = state.learner.noticed if state.learner else {}
    return e.Changed(*min(found.items())) if found else None


def is_due(state: State, now: int) -> bool:
    """Whether a sweep would find something to do: it is asked before every command."""
    now = max(now, state.at)
    return (state.due is not None and now >= state.due) or renewal(state, now) is not None


def _applied(state: State | None, record: e.Record, policy: Policy | None) -> tuple[State, e.Record]:
    """The event folded in, and as it is to be written.

    Nobody waits for an expiry, and every command lets expire what is overdue: where a user's memory raises at such a
    sample, the money is charged all the same, and nothing is learned.
    """
    event, learner = record.event, state.learner if state else None
    nobody_waits = isinstance(event, e.Expired) or (isinstance(event, e.Rewarded) and event.missing)
    if not nobody_waits or learner is None:
        return apply(state, record, policy), record
    before = learner.kept()
    try:
        return apply(state, record, policy), record
    except Exception:  # whatever a user's policy raises
        learner.restore(before)
        record = msgspec.structs.replace(record, event=msgspec.structs.replace(event, unlearned=True))
        return apply(state, record, policy), record


def _open(state: State | None, command: e.Open, now: int) -> Decided:
    if state is not None:
        return [], None
    opening = e.Opened(command.name, command.arms, command.budget, command.terms, command.requests)
    check_opening(opening)
    check_some_arm_fits(opening)
    window = command.terms.window
    return [opening, *([] if window is None else [e.Renewed(*bounds(window, command.terms.timezone, now))])], None


def _expire_pulls(state: State, now: int) -> Decided:
    """What is overdue expires, and a reward that is counts as missing; where the window is over, the next begins."""
    window = renewal(state, now)
    events: list[e.AnyEvent] = []
    if state.due is not None and now >= state.due:
        overdue, charge = [state.pulls[number] for number in state.past_due(now)], state.terms.expiry == "charge"
        events += [_expired(state, d, charge) if d.status == "open" else _reward_missed(state, d) for d in overdue]
        weights = [_charge_of(state, pull) for pull in overdue if pull.status == "open"]
        if window is None and weights:
            spent, served = (sum(part) for part in zip(*weights, strict=True))
            events += _crossing(state, spent if charge else 0, served)
    return [*events, *([] if window is None else [window])], None


def _expired(state: State, pull: PullState, charge: bool) -> e.Expired:
    return e.Expired(pull.number, pull.reserved, state.terms.default_reward) if charge else e.Expired(pull.number)


def _reward_missed(state: State, pull: PullState) -> e.Rewarded:
    """What a pull counts as whose reward did not come in time: what stood in for it already stays."""
    reward = pull.reward if state.terms.missing_reward is None else state.terms.missing_reward
    return e.Rewarded(pull.number, pull.arm, reward, _counted_as(pull), missing=True)


def _tell(state: State, command: e.Tell, now: int) -> Decided:
    pull = _found(state, command.pull)
    name = state.arms[pull.arm].name
    if command.arm not in (None, name):
        raise CampaignConflict(f"pull {pull.number} is one of {name!r}, not of {command.arm!r}")
    if pull.status in ("paid", "told"):
        return _tell_again(state, command, pull)
    _check_cost(state, "tell", pull, command.cost)
    if command.reward is not None:
        _check_reward("tell", command.reward)
    within = state.terms.reward_within if command.reward is None else None
    earlier, fallback = state.is_earlier(pull), pull.fallback
    event = e.Told(
        *(pull.number, pull.arm, command.cost, command.reward),
        late=pull.status != "open",
        overrun=_overruns(state, pull, command.cost) or _exceeds_requests(state, pull),
        instead=_counted(pull),
        rounded=command.rounded,
        was_cancelled=pull.status == "cancelled",
        earlier=earlier,
        fallback=fallback,
        reward_due=None if within is None else now + within,
    )
    more = 0 if earlier or fallback else command.cost - (pull.cost or 0)
    return [event, *_crossing(state, more, pull.status != "expired" and not earlier)], False


def _tell_again(state: State, command: e.Tell, pull: PullState) -> Decided:
    """Nothing, where it says what was said; the reward, where that is awaited and the cost is the same."""
    if command.cost in (pull.told_cost, pull.cost):
        if command.reward is None or (command.cost, command.reward) == (pull.told_cost, pull.told_reward):
            return [], True
        if pull.status == "paid" or pull.overdue:
            return _reward(state, pull.number, command.reward)
        if (command.cost, command.reward) == (pull.cost, pull.reward):
            return [], True
    said = f"cost {state.unit.amount(pull.told_cost or 0):g}"
    if pull.told_reward is not None:
        said += f" and reward {pull.told_reward:g}"
    raise CampaignConflict(f"pull {pull.number} was told with {said}, which stands; amend corrects it")


def _reward(state: State, name: e.PullName, reward: float) -> Decided:
    pull = _found(state, name)
    if pull.status not in ("paid", "told"):
        raise CampaignConflict(f"pull {pull.number} is {pull.status}, and was not paid: tell its cost first")
    _check_reward("reward", reward)
    if pull.status == "paid" or pull.overdue:
        return [e.Rewarded(pull.number, pull.arm, reward, _counted_as(pull), late=pull.overdue)], False
    if reward not in (pull.told_reward, pull.reward):
        said = f"reward {pull.told_reward:g}"
        raise CampaignConflict(f"pull {pull.number} has {said}, which stands; amend corrects it")
    return [], True


def _charge(state: State, command: e.Charge) -> Decided:
    pull = _found(state, command.pull)
    if pull.status == "expired" and pull.cost is not None:
        return [], None
    _check_open(pull, "be charged")
    return [_expired(state, pull, charge=True), *_crossing(state, *_charge_of(state, pull))], None


def _amend(state: State, command: e.Amend) -> Decided:
    pull = _found(state, command.pull)
    if pull.status not in ("paid", "told"):
        raise CampaignConflict(f"pull {pull.number} is {pull.status}, not told: tell it first")
    if command.reward is not None and (pull.status == "paid" or pull.overdue):
        raise CampaignConflict(f"pull {pull.number} has no reward to amend yet: reward gives it one")
    instead = _counted_as(pull)
    cost = instead.cost if command.cost is None else command.cost
    reward = instead.reward if command.reward is None else command.reward
    if (instead.cost, instead.reward) == (cost, reward):
        return [], True
    _check_cost(state, "amend", pull, cost)
    if reward is not None:
        _check_reward("amend", reward)
    more, earlier, fallback = cost - instead.cost, state.is_earlier(pull), pull.fallback
    event = e.Amended(
        *(pull.number, pull.arm, cost, reward, instead, command.reason),
        overrun=_overruns_now(state, pull, cost, more),
        rounded=command.rounded,
        earlier=earlier,
        fallback=fallback,
    )
    return [event, *_crossing(state, 0 if earlier or fallback else more)], False


def _set_budget(state: State, command: e.SetBudget) -> Decided:
    if state.ended == "closed":
        raise CampaignConflict(f"campaign {state.name!r} is closed: its budget stays {state.unit.amount(state.budget)}")
    if command.budget == state.budget:
        return [], None
    ends = not state.ended and state.counted > command.budget
    return [e.Budgeted(command.budget), *([e.Exhausted()] if ends else [])], None


def _set_requests(state: State, command: e.SetRequests) -> Decided:
    if state.ended == "closed":
        requests = "unlimited" if state.requests is None else f"{state.requests:,}"
        raise CampaignConflict(f"campaign {state.name!r} is closed: its requests stay {requests}")
    check_requests("set_requests", command.requests)
    if command.requests == state.requests:
        return [], None
    ends = not state.ended and state.served >= command.requests
    return [e.Requested(command.requests), *([e.Exhausted()] if ends else [])], None


def _add_arm(state: State, command: e.AddArm, chooser: ArmChooser | None) -> Decided:
    index = state.indices.get(command.arm.name)
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
    check_room("add_arm", len(state.arms) + 1, state.terms)
    (chooser or learner_of(state)).check_wider()
    return [e.Added(command.arm)], None


def _warm_start(state: State, command: e.WarmStart) -> Decided:
    if command.key in state.warmed:
        return [], 0
    if state.terms.context is not None and (state.learner is None or state.learner.by_context):
        raise CampaignConflict(f"campaign {state.name!r} learns by the context of each pull, which samples have not")
    arms = {name: _arm_index(state, "warm_start", name) for name in set(command.arms)}
    for reward in command.rewards:
        _check_reward("warm_start", reward)
    return [e.Warmed(tuple(arms[name] for name in command.arms), *command[1:])], len(command.arms)


def _charge_of(state: State, pull: PullState) -> tuple[int, int]:
    """What a pull under way takes of the budget and of the requests of this window, if it is charged."""
    earlier = state.is_earlier(pull)
    return 0 if earlier or pull.fallback else pull.reserved, int(not earlier)


def _counted(pull: PullState) -> e.Counted | None:
    return None if pull.cost is None else _counted_as(pull)


def _counted_as(pull: PullState) -> e.Counted:
    """What a pull counts for that was charged or paid."""
    assert pull.cost is not None  # noqa: S101 (so it was)
    return e.Counted(pull.cost, pull.reward, pull.sample_index)


def _overruns(state: State, pull: PullState, cost: int) -> bool:
    """Whether it cost more than was set aside; for a cancelled pull nothing is.

    Only in hard mode is it a promise that an arm of which nothing is known needs nothing.
    """
    capped = state.terms.mode == "hard" and not pull.fallback
    promised = pull.reserved > 0 or state.arms[pull.arm].max_cost is not None or capped
    return promised and cost > (0 if pull.status == "cancelled" else pull.reserved)


def _overruns_now(state: State, pull: PullState, cost: int, more: int) -> bool:
    """Whether a pull is an overrun after a correction: above what was set aside, or past what a hard cap has promised.

    Of an earlier window nobody knows any more what was left of it: there, any correction upwards may be.
    """
    above = _overruns(state, pull, cost)
    past = (state.is_earlier(pull) or more > state.left) and not pull.fallback and state.terms.mode == "hard"
    return (more > 0 and (above or past)) or (pull.overrun and above)


def _exceeds_requests(state: State, pull: PullState) -> bool:
    """Whether a pull that was cancelled and is told after all takes a request more than there are.

    Of an earlier window nobody knows any more how many were left of it: there, any may.
    """
    if pull.status != "cancelled" or state.requests is None:
        return False
    return state.is_earlier(pull) or state.used_now >= state.requests


def _crossing(state: State, more: int, served: int = 0) -> list[e.AnyEvent]:
    """Exhausted, where this much more spending crosses the budget, or so many requests more are all there are."""
    all_served = state.requests is not None and state.served + served >= state.requests
    return [e.Exhausted()] if not state.ended and (state.counted + more > state.budget or all_served) else []


def _found(state: State, name: e.PullName) -> PullState:
    pull = state.pull_named(name)
    if pull is None:
        raise UnknownPull(state.name, name)
    return pull


def _check_open(pull: PullState, verb: str) -> None:
    if pull.status != "open":
        raise CampaignConflict(f"pull {pull.number} is {pull.status} and cannot {verb}")


def _check_cost(state: State, owner: str, pull: PullState, cost: int) -> None:
    """Refuse a cost that the terms do not allow, or that would be too much for the sums."""
    if cost < 0 and not state.terms.negative_costs:
        raise BadParameter(owner, "cost", "≥ 0 in this campaign", state.unit.amount(cost))
    if max(abs(state.spent), abs(state.arms[pull.arm].spent)) + abs(cost) > MOST_SPENT:
        raise BadParameter(owner, "cost", "such that less than 2**62 units are spent", state.unit.amount(cost))


def _check_reward(owner: str, reward: float) -> None:
    """Refuse a reward whose square would be too large for the sums."""
    if not abs(reward) <= MOST_REWARD:
        raise BadParameter(owner, "reward", f"from -{MOST_REWARD:g} to {MOST_REWARD:g}", reward)


def _arm_index(state: State, owner: str, name: str) -> int:
    index = state.indices.get(name)
    if index is None:
        raise unknown_arm(state, owner, name)
    return index
