"""Rows of three values that users hand over: what pulls cost and earned, and samples of a warm start."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from outlay.campaign.ledger.agreement import MOST_REWARD
from outlay.campaign.ledger.commands import Warm
from outlay.campaign.ledger.rulings.refusals import unknown_arm
from outlay.campaign.ledger.state import State
from outlay.campaign.records import Entry
from outlay.checks import real
from outlay.errors import BadParameter

MOST_IN_ONE_EVENT = 10_000  # samples

Triple = tuple[Any, Any, Any]  # as users hand it over: nothing is known of its values
ArmSample = tuple[str, float, float]  # an arm's name, a cost and a reward


def triples(owner: str, name: str, rows: object) -> Iterator[Triple]:
    """The rows, each of three values; BadParameter where they are not."""
    if not isinstance(rows, Iterable):
        raise BadParameter(owner, name, "many of three values each: arm or pull, cost, reward", rows)
    return map(_triple, rows)


def checked_samples(state: State, rows: Iterable[Triple]) -> Iterator[ArmSample]:
    """Samples to learn from, their costs as the campaign rounds them."""
    owner, unit, names = "warm_start", state.unit, {arm.name for arm in state.arms}
    for arm, cost, reward in rows:
        if not isinstance(arm, str) or arm not in names:
            raise unknown_arm(state, owner, arm)
        value = checked_reward(owner, reward, at_least=-MOST_REWARD, at_most=MOST_REWARD)
        units = unit.units(owner, "cost", cost)
        if units < 0 and not state.terms.negative_costs:
            raise BadParameter(owner, "cost", "≥ 0 in this campaign", cost)
        yield arm, unit.amount(units), value


def checked_reward(owner: str, value: object, **limits: float) -> float:
    """A reward; True is 1 and False 0, and -0.0 is 0.0, for SQLite knows no other."""
    given = int(value) if isinstance(value, (bool, np.bool_)) else value
    return real(owner, "reward", given, **limits) + 0.0


def in_parts(samples: list[ArmSample], key: str, source: str) -> Iterator[Warm]:
    """The commands that have the samples learned, as many in each as one event may hold."""
    for part, start in enumerate(range(0, len(samples), MOST_IN_ONE_EVENT)):
        arms, costs, rewards = zip(*samples[start : start + MOST_IN_ONE_EVENT], strict=True)
        yield Warm(arms, costs, rewards, f"{key}/{part}", source)


def samples_of(history: Iterable[Entry]) -> list[ArmSample]:
    """What the pulls of a campaign cost and earned, corrections included, in the order of the first tell."""
    told: dict[int, ArmSample] = {}
    for entry in history:
        if entry.kind in ("told", "amended") and entry.pull is not None:
            told[entry.pull] = str(entry.arm), float(entry.cost or 0.0), float(entry.reward or 0.0)
    return list(told.values())


def _triple(row: Any) -> Triple:
    try:
        one, two, three = row
    except (TypeError, ValueError):
        raise BadParameter("Campaign", "a sample", "three values: arm or pull, cost, reward", row) from None
    return one, two, three
