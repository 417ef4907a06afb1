"""Windows of the calendar: where they begin and end, also where the rules of a zone change."""

from datetime import UTC, datetime
from itertools import pairwise
from random import Random
from zoneinfo import ZoneInfo, available_timezones

import pytest

from outlay import Campaign
from outlay.campaign.ledger import events as e
from outlay.campaign.ledger import windows
from outlay.campaign.ledger.decide import step
from outlay.campaign.ledger.events import Settings
from outlay.campaign.ledger.windows import MICROS, NOT_EVERYWHERE, bounds
from outlay.campaign.settings import agreed, chosen
from outlay.errors import BadParameter

HOUR = 3600 * MICROS
FIRST, LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (1990, 2037))


def at(zone: str, *moment: int, fold: int = 0) -> int:
    return int(datetime(*moment, tzinfo=ZoneInfo(zone), fold=fold).timestamp() * MICROS)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", (2026, 3, 29), 23),
        ("Europe/Berlin", (2026, 10, 25), 25),
        ("Europe/Berlin", (2026, 11, 18), 24),
        ("America/Sao_Paulo", (2018, 11, 4), 23),  # midnight was skipped
        ("America/Sao_Paulo", (2018, 2, 17), 25),  # at midnight it was eleven again
        ("America/Havana", (2026, 11, 1), 25),  # midnight comes twice
        ("Australia/Lord_Howe", (2026, 4, 5), 24.5),
        ("UTC", (2026, 6, 30), 24),
    ],
)
def test_a_day_has_the_hours_that_it_has(zone: str, day: tuple[int, int, int], hours: float) -> None:
    start, end = bounds("day", zone, at(zone, *day, 12))
    assert (end - start) / HOUR == hours
    assert bounds("day", zone, start) == bounds("day", zone, end - 1) == (start, end)
    assert bounds("day", zone, end)[0] == end


def test_weeks_begin_on_mondays_and_months_have_their_lengths() -> None:
    zone = "Europe/Berlin"
    assert bounds("week", zone, at(zone, 2026, 11, 18, 9)) == (at(zone, 2026, 11, 16), at(zone, 2026, 11, 23))
    assert bounds("week", zone, at(zone, 2026, 3, 29, 12))[1] - at(zone, 2026, 3, 23) == (7 * 24 - 1) * HOUR
    for year, month, days in ((2028, 2, 29), (2027, 2, 28), (2026, 12, 31), (2026, 4, 30)):
        start, end = bounds("month", "UTC", at("UTC", year, month, days, 23, 59))
        assert (start, end - start) == (at("UTC", year, month, 1), days * 24 * HOUR)


def test_windows_of_every_zone_follow_one_another() -> None:
    """Whatever was done to a zone's clocks: every moment has one window, which holds it, and the next begins there."""
    random = Random(7)
    for zone in sorted(available_timezones() - set(NOT_EVERYWHERE)):
        moments = [random.randrange(FIRST, LAST) * MICROS for _ in range(3)]
        for window in ("day", "week", "month"):
            for moment in moments:
                found = [bounds(window, zone, moment)]
                for _ in range(3):
                    found.append(bounds(window, zone, found[-1][1]))
                assert found[0][0] <= moment < found[0][1], zone
                assert all(one[1] == other[0] < other[1] for one, other in pairwise(found)), zone


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "../../etc/passwd", "", "America", "localtime", "posixrules", 7, None]
)
def test_a_time_zone_that_is_none(zone: object) -> None:
    with pytest.raises(BadParameter, match="timezone of Campaign must be a time zone"):
        Campaign(["a"], 5, window="day", timezone=zone)  # type: ignore[arg-type]


def test_windows_do_not_overlap_where_the_rules_of_a_zone_are_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine, with other rules, may say that the next window began before the last was over."""
    settings = Settings(unit="1", mode="hard", window="day", ttl=None)
    opening = agreed({"a": 4.0}, 10, chosen("Frugal"), "w", settings)
    state, _, _ = step(None, opening, 12 * HOUR)
    state, _, first = step(state, e.Ask(), 23 * HOUR)
    monkeypatch.setattr(windows, "bounds", lambda *_: (22 * HOUR, 46 * HOUR))
    state, _, _ = step(state, e.ExpirePulls(), 25 * HOUR)
    assert (state.window_start, state.window_end) == (24 * HOUR, 46 * HOUR)
    assert (state.counted, state.held, state.left, state.carried) == (0, 0, 10, 1)
    assert first is not None
    state, _, _ = step(state, e.Tell(first, 4, 1.0), 25 * HOUR)
    assert (state.counted, state.held, state.left, state.carried) == (0, 0, 10, 0)


def test_terms_that_make_no_sense() -> None:
    with pytest.raises(BadParameter, match="timezone of Campaign must be given with a window"):
        Campaign(["a"], 5, timezone="Europe/Berlin")
    with pytest.raises(BadParameter, match="window of Campaign must be"):
        Campaign(["a"], 5, window="hour")  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="fallback of Campaign must be one of the arms; got 'b'"):
        Campaign(["a"], 5, fallback="b")
