"""What an ask leads to: the pull of its key, a new pull, NotNow or the end; who chooses the arm, what is reserved."""

from collections.abc import Collection, Sequence
from typing import Protocol

from outlay import __version__
from outlay.campaign.context import encoded, features_of
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.events import Features
from outlay.campaign.ledger.learner import EventRandom, Learner, UnderWay
from outlay.campaign.ledger.state import Arm, State
from outlay.campaign.ledger.windows import MICROS
from outlay.errors import BadParameter, CampaignConflict, NothingTold, NotNow, OutlayError, OverBudget, PullOver
from outlay.text import in_seconds

MOST_NAMED = 20  # arms in a message
MIN_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.01, 1.0  # after which to ask again
Decided = tuple[list[e.AnyEvent], int | None]  # what follows from a command, and the reply


class NoRoom(Exception):
    """No arm fits what is left in the campaign's pool; `least` is what the cheapest would set aside."""

    def __init__(self, least: int) -> None:
        super().__init__(least)
        self.least = least


class ArmChooser(Protocol):
    """Who names an arm: a campaign's learner, or what stands in for it where a ledger is replayed."""

    def choose(
        self,
        allowed_arms: Sequence[int],
        under_way: UnderWay,
        spent: float,
        stream: EventRandom,
        used: int,
        context: Features | None,
        /,
    ) -> int:
        """One of the open arms."""

    def check_wider(self) -> None:
        """Refuse another arm where it cannot take one."""


def ask(state: State, command: e.Ask, now: int, chooser: ArmChooser | None) -> Decided:
    """Name an arm and set money aside for it; `chooser` names it in place of the campaign's own policy."""
    if command.key is not None and command.key in state.keys:
        pull = state.pulls[state.keys[command.key]]
        if pull.ttl != command.ttl:
            ttls = f"ttl {in_seconds(pull.ttl)}, not {in_seconds(command.ttl)}"
            raise CampaignConflict(f"key {e.plain_key(command.key)!r} is that of pull {pull.number}, with {ttls}")
        if pull.status != "open":  # nothing is set aside for it: whoever pulled again would pay twice
            raise PullOver(e.plain_key(command.key), pull.number, pull.status)
        return [], pull.number
    if state.archived or state.ended == "closed":
        return [], None
    for given, names in (
        ("most", command.most if isinstance(command.most, dict) else ()),
        ("arms", command.arms or ()),
    ):
        for name in names:
            if name not in state.indices:
                raise unknown_arm(state, f"ask({given}=…)", name)
    check_context(state, command.context)
    if state.ended:
        return _fall_back(state, command._replace(room=None), now)
    try:
        return _name_arm(state, command, now, chooser)
    except (NotNow, NothingTold, OverBudget, NoRoom) as reason:
        no_fallback = state.fallback is None or not _may_serve(state, state.fallback, command)
        if no_fallback or not (command.or_fallback or isinstance(reason, OverBudget)):
            raise
        return _fall_back(state, command if isinstance(reason, NoRoom) else command._replace(room=None), now)


def _name_arm(state: State, command: e.Ask, now: int, chooser: ArmChooser | None) -> Decided:
    only = arms_of(state, command.arms)
    _check_can_name(state, now, only)
    if state.over:  # set_requests may have lowered the limit while pulls were under way
        return [e.Exhausted()], None
    arms = admissible(state, command.most, only)
    if not arms:
        if reason := _why_no_arm(state, command.most, now, only):
            raise reason
        return [e.Exhausted()], None
    seq, fit = state.seq + 1, with_room(state, arms, command.most, command.room)
    if not fit:
        raise NoRoom(min(reservation(state, state.arms[i], command.most, command.room) for i in arms))
    arm, by_chance = choose(state, fit, seq, chooser, command.context)
    propensity = propensity_of(state, arm, fit, seq, command.context) if by_chance and chooser is None else None
    reserved, alone = (reservation(state, state.arms[arm], command.most, room) for room in (command.room, None))
    if len(fit) == len(arms) and reserved == alone:  # the pool had no say in it
        command = command._replace(room=None)
    return [_asked(state, command, now, arm, reserved, propensity)], seq


def _why_no_arm(
    state: State, most: e.Ceiling | None, now: int, only: Collection[int] | None = None
) -> NotNow | NothingTold | OverBudget | None:
    """What to raise where no arm can be named for now; None where none ever can, and the budget is exhausted."""
    any_call = most is None and only is None
    throttled = {i for i in throttled_arms(state, most) if only is None or i in only}
    if throttled and state.pending:
        first = "first pulls of every arm whose cost is not known"
        untold = " or untold" if state.unreported else ""
        return _retry_later(state, now, f"{first} are under way{untold}, and first_pulls is {state.terms.first_pulls}")
    too_dear = None if any_call else _too_dear(state, most, now, only)
    if too_dear is not None and state.budget > state.counted:
        return too_dear
    if len(state.pending) > state.carried:
        return _retry_later(state, now, "what is left of the budget is set aside for pulls under way")
    if waiting := [state.arms[i].name for i in sorted(throttled) if state.arms[i].enabled]:
        return NothingTold(waiting)
    if affordable(state) and state.fallback is None:
        return _retry_later(state, now, "only disabled arms fit what is left of the budget")
    if any_call:
        return None
    return too_dear if admissible(state) else _why_no_arm(state, None, now)  # smaller calls, or other arms, may fit


def _too_dear(state: State, most: e.Ceiling | None, now: int, only: Collection[int] | None = None) -> OverBudget | None:
    """What to raise for a call that can cost more than is left, also when nothing is under way any more."""
    may = (arm for i, arm in enumerate(state.arms) if arm.enabled and (only is None or i in only))
    least, left = min(reservation(state, arm, most) for arm in may), max(0, state.budget - state.counted)
    if least <= left or state.terms.mode != "hard":
        return None
    next_window = None if least > state.budget else retry_next_window(state, now, ended=True)
    retry_after = None if next_window is None else next_window.retry_after
    return OverBudget(state.unit.amount(least), state.unit.amount(left), retry_after)


def retry_next_window(state: State, now: int, ended: bool = False) -> NotNow | None:
    """When to ask again where a campaign has `ended` for this window alone; None where it has ended."""
    if state.window_end is None or state.archived or not (ended or state.ended == "exhausted"):
        return None
    reason = f"budget or requests of this {state.terms.window} are used up in campaign {state.name!r}"
    return NotNow(reason, max(MIN_RETRY_SECONDS, (state.window_end - now) / MICROS))


def check_context(state: State, context: Features | None) -> None:
    """Refuse a request without the features that were agreed, or with any where none were."""
    kinds = state.terms.context
    if kinds is None or context is None or len(context) != features_of(kinds):
        encoded("ask", kinds, context)


def choose(
    state: State,
    allowed_arms: Sequence[int],
    seq: int,
    chooser: ArmChooser | None = None,
    context: Features | None = None,
) -> tuple[int, bool]:
    """The arm that is named in the event `seq`, by the policy or by `chooser`, and whether chance had a part in it."""
    stream = EventRandom(state.terms.seed, seq)
    return _named(state, chooser or learner_of(state), allowed_arms, stream, context), stream.used


def propensity_of(
    state: State, arm: int, allowed_arms: Sequence[int], seq: int, context: Features | None = None
) -> float | None:
    """How likely this choice was, as its policy says.

    Of one that does not say, the share of `propensity_draws` fresh draws, and of the one made, that agree.
    """
    draws, learner = state.terms.propensity_draws, state.learner
    if not draws or learner is None:
        return None
    spent = state.unit.amount(state.counted)
    chances = learner.chances(allowed_arms, state.under_way, spent, state.used_now, context)
    if chances is not None:
        return float(chances[allowed_arms.index(arm)])
    streams = (EventRandom(state.terms.seed, seq, draw) for draw in range(1, draws + 1))
    agreed = sum(_named(state, learner, allowed_arms, stream, context) == arm for stream in streams)
    return (1 + agreed) / (1 + draws)


def learner_of(state: State) -> Learner:
    """The policy at work, where it is at hand."""
    if state.learner is None:
        name = state.terms.policy["name"]
        raise OutlayError(f"campaign {state.name!r} runs {name}, which is not built in: open it with policy={name}(…)")
    return state.learner


def arms_of(state: State, names: Collection[str] | None) -> frozenset[int] | None:
    """The arms of these names; None for all."""
    return None if names is None else frozenset(state.indices[name] for name in names)


def admissible(state: State, most: e.Ceiling | None = None, only: Collection[int] | None = None) -> Sequence[int]:
    """The arms that may be named: enabled, not held back and, in hard mode, affordable at their maximum cost.

    `most` is what the call costs at most and `only` the arms that can serve it, where its asker says so. A pool may
    leave room for fewer of them.
    """
    waiting, fit = throttled_arms(state, most), affordable(state, most)
    if only is None and not state.disabled and not waiting:
        return fit
    return [i for i in fit if state.arms[i].enabled and i not in waiting and (only is None or i in only)]


def throttled_arms(state: State, most: e.Ceiling | None = None) -> set[int]:
    """The arms of unknown cost that have as many pulls under way as was agreed for such an arm.

    Where nothing could be charged for another, because no cost is known of any arm or all is released, those that ended
    untold count as well: otherwise calls that fail could go on for ever, and the ledger count nothing.
    """
    first_pulls = state.terms.first_pulls
    if first_pulls is None or state.terms.reservation is not None:
        return set()
    arms = state.arms
    counts = {i: arms[i].in_flight for i in state.under_way}
    if state.unreported and (not state.max_cost_seen or state.terms.expiry == "release"):
        counts = {i: counts.get(i, 0) + state.unreported.get(i, 0) for i in {**counts, **state.unreported}}
    full = (i for i, n in counts.items() if n >= first_pulls)
    return {i for i in full if _ceiling(arms[i], most) is None and not _has_known_cost(arms[i])}


def affordable(state: State, most: e.Ceiling | None = None) -> Sequence[int]:
    """The arms that fit what is left of the budget at their maximum cost; outside of hard mode, all."""
    if state.terms.mode != "hard":
        return range(len(state.arms))
    left = state.left
    fit = [i for i, arm in enumerate(state.arms) if reservation(state, arm, most) <= left]
    return fit if len(fit) < len(state.arms) else range(len(fit))


def with_room(state: State, arms: Sequence[int], most: e.Ceiling | None, room: int | None) -> Sequence[int]:
    """Those of the arms that fit what is left in the pool, if there is one."""
    return arms if room is None else [i for i in arms if reservation(state, state.arms[i], most, room) <= room]


def _ceiling(arm: Arm, most: e.Ceiling | None) -> int | None:
    """What a pull costs at most by what was said: by its asker, of the arm, or the lower of both."""
    asked = most.get(arm.name) if isinstance(most, dict) else most
    return asked if arm.max_cost is None or (asked is not None and asked < arm.max_cost) else arm.max_cost


def reservation(state: State, arm: Arm, most: e.Ceiling | None = None, room: int | None = None) -> int:
    """What to set aside for a pull: the agreed maximum, else an estimate, else what was agreed for an unknown arm.

    The estimate is the largest of the T costs told so far times 1 + 1/T: unbiased for the maximum of uniform costs.
    With nothing agreed, an unknown arm may take all that is left in hard mode, else the highest cost of a pull so far.
    """
    ceiling = _ceiling(arm, most)
    if ceiling is not None:
        return ceiling
    if _has_known_cost(arm):
        return arm.max_cost_seen + -(-arm.max_cost_seen // arm.cost_reports)
    if state.terms.reservation is not None:
        return state.terms.reservation
    if state.terms.mode == "hard":
        return max(1, state.left if room is None else min(state.left, room))
    return state.max_cost_seen


def _has_known_cost(arm: Arm) -> bool:
    """Whether costs that were told say what a pull may cost: nothing, of a call that failed perhaps, does not."""
    return arm.max_cost_seen > 0


def _named(
    state: State, chooser: ArmChooser, allowed_arms: Sequence[int], stream: EventRandom, context: Features | None
) -> int:
    spent = state.unit.amount(state.counted)
    return chooser.choose(allowed_arms, state.under_way, spent, stream, state.used_now, context)


def _fall_back(state: State, command: e.Ask, now: int) -> Decided:
    """Name the arm that was agreed for when the budget has no room, as long as there are requests; else, the end."""
    arm = state.fallback
    if arm is None or (state.requests is not None and state.served >= state.requests):
        return [], None
    if not _may_serve(state, arm, command):
        return [], None
    _check_not_paused_or_full(state, now)
    # Nothing is taken from the budget: what is noted is what it counts for if it is not told.
    known = _ceiling(state.arms[arm], command.most) is not None or _has_known_cost(state.arms[arm])
    reserved = reservation(state, state.arms[arm], command.most) if known else state.terms.reservation or 0
    return [_asked(state, command, now, arm, reserved, fallback=True)], state.seq + 1


def _may_serve(state: State, arm: int, command: e.Ask) -> bool:
    return command.arms is None or state.arms[arm].name in command.arms


def _asked(
    state: State,
    command: e.Ask,
    now: int,
    arm: int,
    reserved: int,
    propensity: float | None = None,
    fallback: bool = False,
) -> e.Asked:
    ttl = state.terms.ttl if command.ttl is None else command.ttl
    return e.Asked(
        arm,
        reserved,
        f"{state.terms.policy['name']}@{__version__}",
        command.key,
        command.ttl,
        None if ttl is None else now + ttl,
        propensity,
        command.tags,
        command.metadata,
        fallback,
        command.most,
        command.room,
        command.arms,
        command.context,
    )


def unknown_arm(state: State, owner: str, name: object) -> BadParameter:
    """What to raise where there is no such arm."""
    names = [arm.name for arm in state.arms[:MOST_NAMED]] + ["…"] * (len(state.arms) > MOST_NAMED)
    return BadParameter(owner, "arm", f"one of {', '.join(names)}", name)


def _check_can_name(state: State, now: int, only: Collection[int] | None) -> None:
    """Raise NotNow where the campaign has not ended and yet no arm can be named."""
    _check_not_paused_or_full(state, now)
    if not any(state.arms[i].enabled for i in (range(len(state.arms)) if only is None else only)):
        of = f"of campaign {state.name!r}" if only is None else "that can serve this call"
        raise _retry_later(state, now, f"every arm {of} is disabled")
    if state.left < 0:
        raise _retry_later(state, now, "what is left of the budget is set aside for pulls under way")


def _check_not_paused_or_full(state: State, now: int) -> None:
    """Raise NotNow where not even the fallback can be named."""
    under_way, most = len(state.pending), state.terms.max_in_flight
    if state.paused:
        raise _retry_later(state, now, f"campaign {state.name!r} is paused")
    if most is not None and under_way >= most:
        raise _retry_later(state, now, f"{under_way} pulls are under way, and max_in_flight is {most}")
    if state.requests is not None and state.used_now >= state.requests and under_way > state.carried:
        raise _retry_later(state, now, f"all that is left of {state.requests:,} requests is under way")


def _retry_later(state: State, now: int, reason: str) -> NotNow:
    expiries = [pull.expires for pull in state.pending.values() if pull.expires is not None]
    seconds = (min(expiries) - now) / MICROS if expiries else MAX_RETRY_SECONDS
    return NotNow(reason, min(MAX_RETRY_SECONDS, max(MIN_RETRY_SECONDS, seconds)))
