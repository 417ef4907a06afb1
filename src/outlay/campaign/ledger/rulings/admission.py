"""Which arms may be named, what is set aside for them, and which one the policy names."""

from collections.abc import Sequence
from typing import Protocol

from outlay.campaign.ledger.choosing.learner import Learner
from outlay.campaign.ledger.choosing.shortcut import UnderWay
from outlay.campaign.ledger.choosing.stream import Stream
from outlay.campaign.ledger.events import Opened
from outlay.campaign.ledger.money import Unit
from outlay.campaign.ledger.state import Arm, State
from outlay.errors import BadParameter, OutlayError


class Namer(Protocol):
    """Who names an arm: a campaign's learner, or what stands in for it where a ledger is replayed."""

    def choose(self, open_arms: Sequence[int], under_way: UnderWay, spent: float, stream: Stream, used: int, /) -> int:
        """One of the open arms."""

    def check_wider(self) -> None:
        """Refuse another arm where it cannot take one."""


def propensity(state: State, arm: int, open_arms: Sequence[int], seq: int) -> float | None:
    """How likely this choice was: the share of `propensity_draws` fresh draws, and of the one made, that agree."""
    draws, learner = state.terms.propensity_draws, state.learner
    if not draws or learner is None:
        return None
    streams = (Stream(state.terms.seed, seq, draw) for draw in range(1, draws + 1))
    agreed = sum(_named(state, learner, open_arms, stream) == arm for stream in streams)
    return (1 + agreed) / (1 + draws)


def choose(state: State, open_arms: Sequence[int], seq: int, by: Namer | None = None) -> tuple[int, bool]:
    """The arm that is named in the event `seq`, by the policy or by `by`, and whether chance had a part in it."""
    stream = Stream(state.terms.seed, seq)
    return _named(state, by or learner_of(state), open_arms, stream), stream.used


def _named(state: State, by: Namer, open_arms: Sequence[int], stream: Stream) -> int:
    return by.choose(open_arms, state.under_way, state.unit.amount(state.counted), stream, state.used_now)


def admissible(state: State) -> Sequence[int]:
    """The arms that may be named: enabled, not held back and, in hard mode, affordable at their dearest."""
    waiting = held_back(state)
    if not state.disabled and not waiting:
        return affordable(state)
    return [i for i in affordable(state) if state.arms[i].enabled and i not in waiting]


def held_back(state: State) -> set[int]:
    """The arms of unknown cost that have as many pulls under way as was agreed for such an arm.

    Where nothing could be charged for another, because no cost is known of any arm or all is released, those that ended
    untold count as well: otherwise calls that fail could go on for ever, and the ledger count nothing.
    """
    most = state.terms.first_pulls
    if most is None or state.terms.reservation is not None:
        return set()
    arms, counts = state.arms, state.under_way
    if state.untold and (not state.dearest or state.terms.expiry == "release"):
        counts = {i: counts.get(i, 0) + state.untold.get(i, 0) for i in {**counts, **state.untold}}
    return {i for i, n in counts.items() if n >= most and arms[i].max_cost is None and not _told(arms[i])}


def check_some_arm_fits(opening: Opened) -> None:
    """Refuse to open, under a hard cap, a campaign none of whose arms the whole budget could pay for."""
    terms, budget = opening.terms, opening.budget
    if terms.mode != "hard":
        return
    unknown = budget if terms.reservation is None else terms.reservation
    least = min(unknown if arm.max_cost is None else arm.max_cost for arm in opening.arms)
    if least > budget:
        unit = Unit.named(terms.unit)
        allowed = f"≥ {unit.shown(least)} in hard mode, what is set aside for a pull of the cheapest arm"
        raise BadParameter("Campaign", "budget", allowed, unit.amount(budget))


def affordable(state: State) -> Sequence[int]:
    """The arms that fit what is left of the budget at their dearest; outside of hard mode, all."""
    if state.terms.mode != "hard":
        return range(len(state.arms))
    left = state.left
    fit = [i for i, arm in enumerate(state.arms) if reservation(state, arm) <= left]
    return fit if len(fit) < len(state.arms) else range(len(fit))


def reservation(state: State, arm: Arm) -> int:
    """What to set aside for a pull: the declared maximum, else an estimate, else what was agreed for an unknown arm.

    The estimate is the largest of the T costs told so far times 1 + 1/T: unbiased for the maximum of uniform costs.
    With nothing agreed, an unknown arm may take all that is left in hard mode, else as much as the dearest pull so far.
    """
    if arm.max_cost is not None:
        return arm.max_cost
    if _told(arm):
        return arm.dearest + -(-arm.dearest // arm.heard)
    if state.terms.reservation is not None:
        return state.terms.reservation
    if state.terms.mode == "hard":
        return max(1, state.left)
    return state.dearest


def reservation_outside(state: State, arm: Arm) -> int:
    """What is noted for a fallback, of which nothing is taken from the budget: what it counts for if it is not told."""
    known = arm.max_cost is not None or _told(arm)
    return reservation(state, arm) if known else state.terms.reservation or 0


def _told(arm: Arm) -> bool:
    """Whether costs that were told say what a pull may cost: nothing, of a call that failed perhaps, does not."""
    return arm.dearest > 0


def learner_of(state: State) -> Learner:
    """The policy at work, where it is at hand."""
    if state.learner is None:
        name = state.terms.policy["name"]
        raise OutlayError(f"campaign {state.name!r} runs {name}, which is not built in: open it with policy={name}(…)")
    return state.learner
