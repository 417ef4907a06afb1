"""The forecast of when a budget is spent: right where spending is steady, wide where it is not, silent without data."""

from datetime import UTC, datetime, timedelta
from itertools import accumulate

import numpy as np
import pytest
from msgspec.structs import replace

from outlay import Campaign
from outlay.campaign.monitor import Balance
from outlay.service.schemas import Forecast
from outlay.service.views import forecast

START = datetime(2026, 1, 1, tzinfo=UTC)


def burn(budget: float, costs: list[float]) -> list[Balance]:
    """One pull per second."""
    spent = accumulate(costs, initial=0.0)
    return [Balance(START + timedelta(seconds=i), budget - each) for i, each in enumerate(spent)]


@pytest.fixture(scope="module")
def status():
    return Campaign({"a": 1}, 1000, "Frugal").status()


def test_nothing_is_said_where_nothing_can_be(status) -> None:
    none = {
        "it takes 32 told pulls": forecast(status, burn(1000, [1.0] * 10)),
        "nothing was spent": forecast(status, burn(1000, [0.0] * 100)),
        "only while the campaign is open": forecast(replace(status, phase="paused"), burn(1000, [1.0] * 400)),
        "more than ten years": forecast(status, burn(1000, [1e-6] * 4605)),
    }
    for why, found in none.items():
        assert isinstance(found, str)
        assert why in found
    wild = [0.0] * 390 + [300.0] * 10
    found = forecast(status, burn(10_000, wild))
    assert isinstance(found, Forecast)
    assert found.late is None  # it may well be never


def test_the_interval_holds_the_end_as_often_as_it_says(status) -> None:
    """Exponential costs: 285 of 300 forecasts made half-way should hold the end; 266 to 299 do, in all but one
    of a million runs.
    """
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(300):
        costs = rng.exponential(1.0, 1400)
        found = forecast(status, burn(1000, list(costs[:500])))
        assert isinstance(found, Forecast)
        end = START + timedelta(seconds=int(np.searchsorted(np.cumsum(costs), 1000)))
        held += found.early <= end and (found.late is None or end <= found.late)
    assert 266 <= held <= 299


def test_requests_can_end_it_first_and_the_fan_leads_from_what_is_left_to_the_end(status) -> None:
    points = [Balance(at, left, i) for i, (at, left, _) in enumerate(burn(1000, [1.0] * 400))]
    found = forecast(replace(status, requests=500), points)
    assert isinstance(found, Forecast)
    assert found.by == "requests"
    assert abs((found.at - START).total_seconds() - 500) < 15
    by_money = forecast(status, burn(1000, list(np.random.default_rng(3).exponential(1.0, 400))))
    assert isinstance(by_money, Forecast)
    assert by_money.by == "money"
    assert by_money.late is not None
    middles = [each.middle for each in by_money.fan]
    assert middles == sorted(middles, reverse=True)
    assert all(each.low <= each.middle <= each.high for each in by_money.fan)
    assert by_money.fan[-1].at == round(1000 * by_money.late.timestamp())
    assert by_money.fan[-1].low == 0.0


def test_time_in_which_nothing_is_spent_counts(status) -> None:
    points = burn(1000, [1.0] * 400)
    now = points[-1].at + timedelta(seconds=200)
    busy, idle = forecast(status, points), forecast(status, points, now)
    assert isinstance(busy, Forecast)
    assert isinstance(idle, Forecast)
    assert idle.at - now > busy.at - points[-1].at
