"""Windows after which a budget begins anew: days, weeks and months as the calendar of a time zone has them."""

from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from outlay.campaign.ledger.apply import renewed
from outlay.campaign.ledger.events import Renewed, Window
from outlay.campaign.ledger.state import State
from outlay.errors import BadParameter

MICROS = 1_000_000
DAY = timedelta(days=1)
NOT_EVERYWHERE = ("localtime", "posixrules")  # names of this machine's own zone, which is another on the next


def renewal(state: State, now: int) -> Renewed | None:
    """What is to be recorded where the window is over, or there is none yet.

    Windows never overlap, also where the time zone's rules are others than those that the last was computed by: a
    pull would else be in two.
    """
    window, last = state.terms.window, state.window_end
    if window is None or (last is not None and now < last):
        return None
    start, end = bounds(window, state.terms.timezone, now)
    return Renewed(start if last is None else max(start, last), end)


def as_of(state: State, now: int) -> State:
    """A state that is only to be looked at, as the next command would find it at this time: it is changed in place."""
    event = renewal(state, now)
    if event is not None:
        renewed(state, event)
    return state


def zone_of(owner: str, name: object) -> tzinfo:
    """The time zone of this name, or BadParameter.

    >>> zone_of("Campaign", "Europe/Berlin")
    zoneinfo.ZoneInfo(key='Europe/Berlin')
    """
    if name == "UTC":
        return UTC  # also where no time zones are installed
    try:
        if isinstance(name, str) and name not in NOT_EVERYWHERE:
            return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        pass  # it is no name of one, or has no business to be
    raise BadParameter(owner, "timezone", 'a time zone that this machine knows, such as "Europe/Berlin"', name)


def bounds(window: Window, timezone: str, now: int) -> tuple[int, int]:
    """The start and the end of the window that holds a moment, in microseconds.

    >>> noon = int(datetime(2026, 3, 29, 12, tzinfo=UTC).timestamp()) * MICROS
    >>> start, end = bounds("day", "Europe/Berlin", noon)  # when clocks are set to summer time
    >>> (end - start) / 3600 / MICROS
    23.0
    """
    zone = zone_of("Campaign", timezone)
    day = datetime.fromtimestamp(now / MICROS, zone).date()
    first = _first(window, day)
    if now < _began(first, zone):  # clocks were changed around midnight
        first = _first(window, first - DAY)
    if now >= _began(_next(window, first), zone):
        first = _next(window, first)
    return _began(first, zone), _began(_next(window, first), zone)


def _first(window: Window, day: date) -> date:
    """The first day of the window that has this one; weeks begin on Mondays."""
    if window == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if window == "month" else day


def _next(window: Window, first: date) -> date:
    if window == "month":
        return (first.replace(day=28) + timedelta(days=4)).replace(day=1)
    return first + (7 * DAY if window == "week" else DAY)


@lru_cache(maxsize=64)
def _began(day: date, zone: tzinfo) -> int:
    """The moment at which a local date began: the first of two midnights, or the end of the gap that holds it."""
    return round(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()) * MICROS
