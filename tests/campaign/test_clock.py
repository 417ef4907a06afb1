"""Clocks that jump, stand still and disagree: ledger time never falls, and time spans are kept."""

from typing import Any

from outlay.campaign.ledger import events as e
from outlay.campaign.ledger.events import Settings
from outlay.campaign.settings import agreed
from outlay.campaign.stores.base import Clock
from outlay.campaign.stores.transaction import SqlLedger
from tests.campaign.checker import checked

SECOND = 10**6
HOUR = 3600 * SECOND
START = 1_700_000_000 * SECOND


class Times:
    """A wall clock and a steady clock, in microseconds, that do what they are told."""

    def __init__(self) -> None:
        self.wall, self.steady = START, 0

    def pass_by(self, span: int) -> None:
        self.wall += span
        self.steady += span

    def clock(self) -> Clock:
        """What a process makes of them."""
        return Clock(lambda: self.wall * 1000, lambda: self.steady * 1000)


SETTINGS = Settings(unit="1", ttl=60.0, reservation=7, propensity_draws=0)
OPENING = agreed(["a"], 1000, None, "default", SETTINGS)


def charged(ledger: Any) -> int:
    ledger.transact([e.ExpirePulls()])
    return int(ledger.state().spent)


def test_a_clock_set_ahead_lets_nothing_expire_at_once(store: str) -> None:
    """One leap of a day, by mistake, had every pull under way expire and be charged."""
    times = Times()
    kept = SqlLedger(store, "default", OPENING, clock=times.clock())
    kept.transact([e.Ask()])
    times.wall += 24 * HOUR
    assert charged(kept) == 0
    times.pass_by(54 * SECOND)  # nine tenths of their time, at most a tenth faster
    assert charged(kept) == 0
    times.pass_by(6 * SECOND)
    assert charged(kept) == 7
    kept.close()


def test_processes_whose_clocks_disagree(store: str) -> None:
    """One is an hour behind: its pulls last as long as anybody's."""
    ahead, behind = Times(), Times()
    behind.wall -= HOUR
    first = SqlLedger(store, "default", OPENING, clock=ahead.clock())
    second = SqlLedger(store, "default", OPENING, clock=behind.clock())
    for _ in range(3):
        for ledger in [first, second]:
            ledger.transact([e.Ask()])
            ahead.pass_by(SECOND)
            behind.pass_by(SECOND)
    assert first.state().spent == second.state().spent == 0
    behind.pass_by(60 * SECOND)
    assert charged(second) == 6 * 7
    first.close()
    second.close()
    assert len(checked(store)) == 1 + 6 + 6
