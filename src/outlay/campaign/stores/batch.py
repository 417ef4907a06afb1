"""A batch of commands, one after the other: what every store does between reading the ledger and writing it."""

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from outlay.campaign.ledger.commands import Amend, Ask, Command, Sweep, Tell, Weigh
from outlay.campaign.ledger.events import Record
from outlay.campaign.ledger.rulings.asks import next_window
from outlay.campaign.ledger.rulings.decide import is_due, step
from outlay.campaign.ledger.state import State
from outlay.campaign.reasons import weighed_of
from outlay.campaign.records import Reply, pull_of, receipt_of
from outlay.errors import PullOver
from outlay.policies.protocol import Policy


class Done(NamedTuple):
    """The state after a batch, what is to be written, and for each command that was taken its reply or error."""

    state: State | None
    records: list[Record]
    replies: list[Reply]


def run(
    state: State | None, commands: Sequence[Command], now: int, policy: Policy | None = None, until: float = math.inf
) -> Done:
    """Decide each command in turn. What is overdue expires first; a command that is refused writes nothing.

    When the steady clock has passed `until`, the rest is left for another batch; one command is always taken.
    """
    records: list[Record] = []
    replies: list[Reply] = []
    for command in commands:
        if state is not None and is_due(state, now):
            state, more, _ = step(state, Sweep(), now)
            records += more
        before = _mark(state)
        try:
            state, more, reply = step(state, command, now, policy)
        except PullOver as over:
            over.pull = pull_of(state, over.id) if state else None
            replies.append(over)
        except Exception as error:  # whatever it was, a user's policy included, belongs to who asked
            if _mark(state) != before:
                raise  # it came in the middle of a change: the store must fold its events anew
            replies.append(error)
        else:
            records += more
            replies.append(shown(state, command, reply, now))
        if time.monotonic() > until:
            break
    return Done(state, records, replies)


def _mark(state: State | None) -> tuple[int, ...]:
    """What no command leaves as it was that has changed anything."""
    return () if state is None else (state.seq, state.spent, state.reserved, len(state.pending), state.budget)


def settled_first(groups: Sequence[Sequence[Command]]) -> list[int]:
    """The order in which to take groups of commands that came at the same time: asks last, when most is known."""
    return sorted(range(len(groups)), key=lambda i: len(groups[i]) > 0 and isinstance(groups[i][0], Ask))


def shown(state: State, command: Command, reply: int | None, now: int = 0) -> Reply:
    """What `decide` replied, as its user sees it; `now` matters to an ask that gets no pull."""
    if isinstance(command, Ask):
        return next_window(state, now) if reply is None else pull_of(state, reply)
    if isinstance(command, (Tell, Amend)):
        return receipt_of(state, command.decision, bool(reply), command.rounded)
    if isinstance(command, Weigh):
        return weighed_of(state, reply)
    return reply
