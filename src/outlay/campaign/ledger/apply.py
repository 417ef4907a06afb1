"""`apply`: what an event does to a campaign. No clock, no input or output, no chance: truth is the fold of the events.

The state is changed in place and returned: copying it would make each event cost as much as the campaign is large.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.learner import ORDER, EventRandom, Learner
from outlay.campaign.ledger.money import Unit
from outlay.campaign.ledger.state import Arm, PullState, State, mean_costs
from outlay.campaign.ledger.validation import LONGEST, check_opening
from outlay.errors import StoreError
from outlay.policies import Ration, Thrifty, Wary, named
from outlay.policies.protocol import Policy


def apply(state: State | None, record: e.Record, policy: Policy | None = None) -> State:
    """The state after an event; `policy` stands in for one that is not built in, when the campaign is opened."""
    event = record.event
    if state and state.learner and not isinstance(event, e.Changed):
        state.learner.noticed.clear()
    if isinstance(event, e.Opened):
        state = _opened(event, policy)
        state.since = record.at
    elif state is None:
        raise ValueError("the first event of a campaign opens it")
    elif type(event) in _FLAGS:
        setattr(state, *_FLAGS[type(event)])
    else:
        _RULES[type(event)](state, event, record)
    state.head = e.link(state.head, record.seq, record.at, e.to_json(event))
    state.seq, state.at = record.seq, record.at
    return state


def stored_policy(terms: e.Terms) -> Policy | None:
    """The policy that a ledger names, where outlay has it: the one place where a stored name is looked up."""
    kind, given = named(terms.policy["name"]), terms.policy["parameters"]
    if kind in (Thrifty, Wary, Ration):
        given = {"changes": "ignored", **given}  # in ledgers older than the parameter
    return None if kind is None else kind(**given)


def check_policy(opened: e.Opened, policy: Policy | None) -> Policy | None:
    """The policy of a campaign that is read again; StoreError where it stands on terms that cannot be."""
    try:
        check_opening(opened)
        own = policy is not None and type(policy) is not named(opened.terms.policy["name"])
        return policy if own else stored_policy(opened.terms)
    except (TypeError, ValueError) as error:
        raise StoreError(f"campaign {opened.name[:LONGEST]!r} stands on terms that cannot be: {error}") from error


def _opened(event: e.Opened, policy: Policy | None) -> State:
    policy = check_policy(event, policy)
    arms = [Arm.agreed(terms) for terms in event.arms]
    budget = Unit.named(event.terms.unit).amount(event.budget)
    learner = None if policy is None else Learner(policy, len(arms), budget, event.requests, mean_costs(arms))
    if learner:
        learner.shuffle(EventRandom(event.terms.seed, ORDER))
    return State(event, arms, learner)


def _asked(state: State, event: e.Asked, record: e.Record) -> None:
    pull = PullState(
        *(record.seq, event.arm, event.reserved, record.at, event.key, event.ttl, event.expires, event.propensity),
        fallback=event.fallback,
        context=None if event.context is None else msgspec.json.encode(event.context).decode(),
    )
    state.open_pull(pull)
    if state.learner and event.context is not None:
        state.learner.arrive(event.context)
    state.used += 1
    arm = state.arms[event.arm]
    arm.in_flight += 1
    state.note_under_way(event.arm)
    arm.reserved += event.reserved
    state.reserved += event.reserved
    state.reserved_elsewhere += event.reserved * event.fallback


def _told(state: State, event: e.Told, record: e.Record) -> None:
    reward = event.reward
    if reward is None and event.instead:  # what it was charged with stands in for the reward until that comes
        reward = event.instead.reward
    place = _count(state, event.pull, event.arm, event.cost, reward, event.instead, record)
    _set_apart(state, event.cost - (event.instead.cost if event.instead else 0), event.earlier, event.fallback)
    _note_told_cost(state, event.arm, event.cost)
    state.unreported.pop(event.arm, None)
    state.used += event.was_cancelled
    state.used_before_window += event.was_cancelled and event.earlier
    _close_pull(state, event.pull)
    state.arms[event.arm].awaited += event.reward is None and event.instead is None
    state.note_under_way(event.arm)
    pull = state.pulls.get(event.pull)
    if pull is not None:
        pull.status, pull.late, pull.overrun = "told", event.late, event.overrun
        pull.told_cost, pull.told_reward = event.cost, event.reward
        pull.cost, pull.reward, pull.sample_index = event.cost, reward, place
        if event.reward is None:
            pull.status, pull.reward_due = "paid", event.reward_due
            state.await_reward(pull)


def _rewarded(state: State, event: e.Rewarded, record: e.Record) -> None:
    instead, arm = event.instead, state.arms[event.arm]
    place = _count(
        *(state, event.pull, event.arm, instead.cost, event.reward, instead, record), learn=not event.unlearned
    )
    arm.awaited -= instead.reward is None and not event.late
    arm.overdue += event.missing - event.late
    state.note_under_way(event.arm)
    state.await_no_longer(event.pull)
    pull = state.pulls.get(event.pull)
    if pull is not None:
        pull.status, pull.overdue = "told", event.missing
        pull.reward, pull.sample_index = event.reward, place
        if not event.missing:
            pull.told_reward = event.reward


def _expired(state: State, event: e.Expired, record: e.Record) -> None:
    pull = state.pulls[event.pull]
    if event.charged is not None:
        learn = not event.unlearned
        if learn and state.learner:
            state.learner.expect_loss(pull.arm)
        pull.sample_index = _count(
            *(state, event.pull, pull.arm, event.charged, event.reward, None, record), learn=learn
        )
        pull.cost, pull.reward = event.charged, event.reward
        _set_apart(state, event.charged, state.is_earlier(pull), pull.fallback)
    if not event.charged:
        _note_untold(state, pull.arm)
    _close_pull(state, event.pull)
    pull.status = "expired"


def _cancelled(state: State, event: e.Cancelled, _: e.Record) -> None:
    _close_pull(state, event.pull)
    pull = state.pulls[event.pull]
    state.used -= 1
    state.used_before_window -= state.is_earlier(pull)
    pull.status = "cancelled"


def _extended(state: State, event: e.Extended, _: e.Record) -> None:
    pull = state.pulls[event.pull]
    pull.expires = event.expires
    state.note_deadline(event.pull)


def _amended(state: State, event: e.Amended, record: e.Record) -> None:
    _count(state, event.pull, event.arm, event.cost, event.reward, event.instead, record)
    _set_apart(state, event.cost - event.instead.cost, event.earlier, event.fallback)
    _note_told_cost(state, event.arm, event.cost)
    state.note_under_way(event.arm)
    pull = state.pulls.get(event.pull)
    if pull is not None:
        pull.cost, pull.reward = event.cost, event.reward
        pull.amended, pull.overrun = True, event.overrun


def _budgeted(state: State, event: e.Budgeted, _: e.Record) -> None:
    more = event.budget > state.budget
    state.budget = event.budget
    _reopen(state, more)


def _requested(state: State, event: e.Requested, _: e.Record) -> None:
    more = state.requests is not None and event.requests > state.requests
    state.requests = event.requests
    _reopen(state, more)


def _expected(state: State, event: e.Expected, _: e.Record) -> None:
    state.forecast = state.used + event.requests
    _reopen(state, more=False)


def _reopen(state: State, more: bool) -> None:
    """The limits have changed: tell the policy, and where there is more, go on with a campaign that was exhausted."""
    if state.learner:
        state.learner.set_limits(state.unit.amount(state.budget), state.horizon)
    if state.ended == "exhausted" and more and not state.over:
        state.ended = None


def renewed(state: State, event: e.Renewed, _: e.Record | None = None) -> None:
    """Let a window begin: what was spent, set aside and used so far was before it; as many requests are expected."""
    if state.forecast is not None:
        state.forecast += state.used_now
    state.window_start, state.window_end = event.start, event.end
    state.spent_before_window, state.reserved_elsewhere = state.spent - state.spent_on_fallback, state.reserved
    state.used_before_window, state.carried = state.used, len(state.pending)
    if state.learner:
        state.learner.begin_anew(state.unit.amount(state.spent_before_window), state.used)
    _reopen(state, more=True)


def _added(state: State, event: e.Added, record: e.Record) -> None:
    if state.learner:
        state.learner.widen(EventRandom(state.terms.seed, record.seq), event.arm.mean_cost)
    state.add(Arm.agreed(event.arm))


def _switched(state: State, event: e.Disabled | e.Enabled, _: e.Record) -> None:
    arm, enabled = state.arms[event.arm], isinstance(event, e.Enabled)
    state.disabled += arm.enabled - enabled
    arm.enabled = enabled


def _changed(state: State, event: e.Changed, record: e.Record) -> None:
    if state.learner:
        state.learner.noticed.pop(event.arm, None)
    state.arms[event.arm].changed, state.arms[event.arm].forgotten = record.at, event.forgotten


def _warmed(state: State, event: e.Warmed, record: e.Record) -> None:
    if state.learner:
        samples = zip(event.arms, event.costs, event.rewards, strict=True)
        state.learner.observe_all(samples, EventRandom(state.terms.seed, record.seq))
    for index, cost in zip(event.arms, event.costs, strict=True):
        state.arms[index].samples += 1
        _note_told_cost(state, index, state.unit.units("warm_start", "cost", cost))
        state.note_under_way(index)
    state.warmed.append(event.key)


def _count(
    state: State,
    number: int,
    index: int,
    cost: int,
    reward: float | None,
    instead: e.Counted | None,
    record: e.Record,
    learn: bool = True,
) -> int | None:
    """Let a pull count, in place of what it counted for before, if it did; return the place of its sample.

    Without a reward, nothing is learned. It is learned first: where a user's memory raises, no sum has changed.
    """
    arm, unit, learner = state.arms[index], state.unit, state.learner
    place = None if instead is None else instead.sample_index
    before = None if instead is None else instead.reward
    if not learn or reward is None:
        pass
    elif instead is not None and place is not None and before is not None:
        if learner:
            learner.revise(index, place, (unit.amount(instead.cost), before), (unit.amount(cost), reward))
    else:
        if learner:
            features = None if state.terms.context is None else state.pulls[number].features
            stream = EventRandom(state.terms.seed, record.seq)
            learner.observe(index, unit.amount(cost), reward, stream, features)
        place = arm.samples
        arm.samples += 1
    if instead is None:
        arm.pulls += 1
    more = cost - (instead.cost if instead else 0)
    arm.spent += more
    state.spent += more
    arm.rewarded += (reward is not None) - (before is not None)
    arm.reward += (0.0 if reward is None else reward) - (0.0 if before is None else before)
    arm.square(unit.amount(cost), reward, 1)
    if instead:
        arm.square(unit.amount(instead.cost), instead.reward, -1)
    return place


def _set_apart(state: State, more: int, earlier: bool, fallback: bool) -> None:
    """Of what was just spent, so much counts against no budget, or against that of an earlier window."""
    if fallback:
        state.spent_on_fallback += more
        if state.learner:
            state.learner.pay_elsewhere(state.unit.amount(more))
    elif earlier:
        state.spent_before_window += more


def _note_told_cost(state: State, index: int, cost: int) -> None:
    """Remember a cost that was told; what was charged for an expired pull is not such a cost."""
    arm = state.arms[index]
    arm.cost_reports += 1
    arm.max_cost_seen = max(arm.max_cost_seen, cost)
    state.max_cost_seen = max(state.max_cost_seen, cost)


def _note_untold(state: State, index: int) -> None:
    """Remember that a pull of an arm of unknown cost ended untold, and counts for nothing."""
    arm = state.arms[index]
    if arm.max_cost is None and not arm.max_cost_seen:
        state.unreported[index] = state.unreported.get(index, 0) + 1


def _close_pull(state: State, number: int) -> None:
    pull = state.close_pull(number)
    if pull is not None:
        arm = state.arms[pull.arm]
        arm.in_flight -= 1
        state.note_under_way(pull.arm)
        arm.reserved -= pull.reserved
        state.reserved -= pull.reserved
        if pull.fallback or state.is_earlier(pull):
            state.reserved_elsewhere -= pull.reserved


_FLAGS: dict[type[e.AnyEvent], tuple[str, object]] = {
    e.Paused: ("paused", True),
    e.Resumed: ("paused", False),
    e.Exhausted: ("ended", "exhausted"),
    e.Closed: ("ended", "closed"),
    e.Archived: ("archived", True),
    e.Restored: ("archived", False),
}
_RULES: dict[type[e.AnyEvent], Callable[[State, Any, e.Record], None]] = {
    e.Asked: _asked, e.Told: _told, e.Rewarded: _rewarded, e.Expired: _expired, e.Cancelled: _cancelled,
    e.Extended: _extended, e.Amended: _amended, e.Budgeted: _budgeted, e.Requested: _requested, e.Expected: _expected,
    e.Renewed: renewed, e.Added: _added, e.Disabled: _switched, e.Enabled: _switched, e.Warmed: _warmed,
    e.Changed: _changed,
}  # fmt: skip
