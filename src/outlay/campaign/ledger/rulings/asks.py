"""What an ask comes to: the pull of its key, a new one, not now, or the end."""

from outlay import __version__
from outlay.campaign.ledger import commands as c
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.agreement import plain_key
from outlay.campaign.ledger.rulings.admission import (
    Namer,
    admissible,
    affordable,
    choose,
    held_back,
    propensity,
    reservation,
    reservation_outside,
)
from outlay.campaign.ledger.rulings.refusals import in_seconds
from outlay.campaign.ledger.state import State
from outlay.errors import CampaignConflict, NothingTold, NotNow, PullOver

A_WHILE = 1.0  # seconds after which to ask again, at most

Ruling = tuple[list[e.AnyEvent], int | None]  # what follows from a command, and the reply


def ask(state: State, command: c.Ask, now: int, by: Namer | None) -> Ruling:
    """Name an arm and set money aside for it; `by` names it in place of the campaign's own policy."""
    if command.key is not None and command.key in state.keys:
        decision = state.decisions[state.keys[command.key]]
        if decision.ttl != command.ttl:
            ttls = f"ttl {in_seconds(decision.ttl)}, not {in_seconds(command.ttl)}"
            raise CampaignConflict(f"key {plain_key(command.key)!r} is that of pull {decision.number}, with {ttls}")
        if decision.standing != "open":  # nothing is set aside for it: whoever pulled again would pay twice
            raise PullOver(plain_key(command.key), decision.number, decision.standing)
        return [], decision.number
    if state.archived or state.ended == "closed":
        return [], None
    if state.ended:
        return _fall_back(state, command, now)
    _refuse_for_now(state, now)
    if state.over:  # of requests there may be fewer than there were
        return [e.Exhausted()], None
    arms = admissible(state)
    if not arms and (len(state.pending) > state.carried or (state.pending and held_back(state))):
        raise _not_now(state, now, _busy(state))
    if not arms and (waiting := [state.arms[i].name for i in sorted(held_back(state)) if state.arms[i].enabled]):
        raise NothingTold(waiting)
    if not arms and affordable(state) and state.fallback is None:
        raise _not_now(state, now, "only disabled arms fit what is left of the budget")
    if not arms:
        return [e.Exhausted()], None
    seq = state.seq + 1
    arm, by_chance = choose(state, arms, seq, by)
    odds = propensity(state, arm, arms, seq) if by_chance and by is None else None
    return [_asked(state, command, now, arm, reservation(state, state.arms[arm]), odds)], seq


def next_window(state: State, now: int) -> NotNow | None:
    """When to ask again where a campaign has ended for this window alone; None where it has ended."""
    if state.window_end is None or state.archived or state.ended != "exhausted":
        return None
    reason = f"budget or requests of this {state.terms.window} are used up in campaign {state.name!r}"
    return NotNow(reason, max(0.01, (state.window_end - now) / 1e6))


def _fall_back(state: State, command: c.Ask, now: int) -> Ruling:
    """Name the arm that was agreed for when the budget is spent, as long as there are requests; else, the end."""
    arm = state.fallback
    if arm is None or (state.requests is not None and state.served >= state.requests):
        return [], None
    _refuse_now(state, now)
    return [_asked(state, command, now, arm, reservation_outside(state, state.arms[arm]), fallback=True)], state.seq + 1


def _asked(
    state: State, command: c.Ask, now: int, arm: int, reserved: int, odds: float | None = None, fallback: bool = False
) -> e.Asked:
    ttl = state.terms.ttl if command.ttl is None else command.ttl
    return e.Asked(
        arm,
        reserved,
        f"{state.terms.policy['name']}@{__version__}",
        command.key,
        command.ttl,
        None if ttl is None else now + ttl,
        odds,
        command.tags,
        command.metadata,
        fallback,
    )


def _refuse_for_now(state: State, now: int) -> None:
    """Raise NotNow where the campaign has not ended and yet no arm can be named."""
    _refuse_now(state, now)
    if not any(arm.enabled for arm in state.arms):
        raise _not_now(state, now, f"every arm of campaign {state.name!r} is disabled")
    if state.left < 0:
        raise _not_now(state, now, "what is left of the budget is set aside for pulls under way")


def _refuse_now(state: State, now: int) -> None:
    """The same for what refuses a fallback, too."""
    under_way, most = len(state.pending), state.terms.max_in_flight
    if state.paused:
        raise _not_now(state, now, f"campaign {state.name!r} is paused")
    if most is not None and under_way >= most:
        raise _not_now(state, now, f"{under_way} pulls are under way, and max_in_flight is {most}")
    if state.requests is not None and state.used_now >= state.requests and under_way > state.carried:
        raise _not_now(state, now, f"all that is left of {state.requests:,} requests is under way")


def _busy(state: State) -> str:
    """Why no arm can be named while pulls are under way."""
    if held_back(state):
        most, first = state.terms.first_pulls, "first pulls of every arm whose cost is not known"
        return f"{first} are under way{' or untold' if state.untold else ''}, and first_pulls is {most}"
    return "what is left of the budget is set aside for pulls under way"


def _not_now(state: State, now: int, reason: str) -> NotNow:
    first = min((d.expires for d in state.pending.values() if d.expires is not None), default=now + 10**9)
    return NotNow(reason, min(A_WHILE, max(0.01, (first - now) / 1e6)))
