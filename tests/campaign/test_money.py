"""Units against exact fractions: rounded once, towards more spent, and exact from then on."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from outlay import Campaign
from outlay.campaign.ledger.money import MOST, Unit
from outlay.errors import BadParameter

SIZES = st.sampled_from(["1e-9", "0.01", "1", "0.05", "2.5e-3", "3", "1e18", "1e-18", "7e-5", "1000", "0.125"])
AMOUNTS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6),
    st.integers(-(10**25), 10**25),
    st.decimals(-(10**9), 10**9, places=12),
    st.decimals(-(10**30), 10**30, allow_nan=False, places=None),
    st.floats(-1e4, 1e4, width=32).map(np.float32),
    st.integers(-(2**62), 2**62).map(np.int64),
)


def exactly(value: Any) -> Fraction:
    """The number as it prints: what a user means by 0.1 is a tenth."""
    if isinstance(value, (float, np.floating)):
        return Fraction(repr(float(value)))
    return Fraction(int(value)) if isinstance(value, (int, np.integer)) else Fraction(value)


def measured(unit: Unit, value: Any, up: bool = True) -> tuple[int, bool] | None:
    try:
        return unit.measured("tell", "cost", value, up=up)
    except BadParameter:
        return None


@given(SIZES, AMOUNTS)
@example("1e-9", 0.1)
@example("0.01", 0.125)
@example("0.01", 0.135)
@example("1", Decimal("2.5"))
@example("1", Decimal("-3.5"))
@example("3", 4.5)
@example("1e-9", 5e-324)
@example("1", float(MOST))
@example("1", Decimal(MOST) + Decimal("0.5"))
@example("1", Decimal(MOST) + Decimal("0.51"))
@example("1", Decimal(f"0.5{'0' * 400}1"))
@example("0.05", Decimal(f"0.025{'0' * 400}1"))
def test_units_are_whole_numbers_towards_more_spent(size: str, value: Any) -> None:
    """A cost is rounded up, a budget down."""
    exact = exactly(value) / Fraction(size)
    for up, count in ((True, math.ceil(exact)), (False, math.floor(exact))):
        assert measured(Unit.named(size), value, up) == ((count, count != exact) if abs(count) <= MOST else None)


@given(SIZES, st.integers(-MOST, MOST))
def test_an_amount_is_the_nearest_float(size: str, units: int) -> None:
    exact = units * Fraction(size)
    assert Unit.named(size).amount(units) == exact.numerator / exact.denominator


@given(st.integers(-MOST // 1000, MOST // 1000))
def test_what_is_shown_can_be_told_again(units: int) -> None:
    unit = Unit.named("1e-9")
    assert unit.units("tell", "cost", unit.amount(units)) == units


@given(st.lists(st.floats(-1e3, 1e3), max_size=30), st.randoms(use_true_random=False))
def test_a_sum_does_not_depend_on_the_order(costs: list[float], random: Any) -> None:
    unit = Unit.named("1e-9")
    units = [unit.units("tell", "cost", cost) for cost in costs]
    shuffled = random.sample(units, len(units))
    assert math.fsum(units) == sum(units) == sum(shuffled)


@pytest.mark.parametrize(
    "value",
    [
        *(math.nan, math.inf, -math.inf, np.float64("nan"), np.float32("inf"), Decimal("NaN"), Decimal("sNaN")),
        *(Decimal("Infinity"), None, "1.5", b"1", True, False, np.bool_(True), 1j, [1.0], np.array([1.0]), object()),
    ],
)
def test_what_is_no_finite_number_is_refused(value: Any) -> None:
    with pytest.raises(BadParameter, match=r"cost of tell must be a finite number; got "):
        Unit.named("1e-9").units("tell", "cost", value)


@pytest.mark.parametrize(
    "value", [2.0**53 + 2.0, -(2.0**53) - 2.0, 1e308, -1e308, 10**400, Decimal("1e999999"), Decimal("-1e999999")]
)
def test_more_than_a_float_can_count_is_refused(value: Any) -> None:
    with pytest.raises(BadParameter, match=r"at most 2\*\*53 units of 1 = 9\.0072e\+15; take a larger unit; got "):
        Unit.named("1").units("tell", "cost", value)


@pytest.mark.parametrize("value", [5e-324, Decimal("1e-999999"), Decimal("-1e-999999"), 0, -0.0, Decimal("0e999999")])
def test_however_little_it_is_a_unit_at_once(value: Any) -> None:
    for size in ("1e-9", "0.05"):
        assert Unit.named(size).units("tell", "cost", value) == (value > 0)
        assert Unit.named(size).units("set_budget", "budget", value, up=False) == -(value < 0)


@given(SIZES, st.lists(st.floats(-1e-3, 1e-3), max_size=50))
def test_the_ledger_never_counts_less_than_was_paid(size: str, costs: list[float]) -> None:
    unit = Unit.named(size)
    counted = sum(unit.units("tell", "cost", cost) for cost in costs)
    assert counted * Fraction(size) >= sum(map(exactly, costs))


def test_many_costs_below_half_a_unit_do_not_pass_the_cap() -> None:
    """Each of them was rounded to nothing: 98 of 1 was spent, and the ledger said 0."""
    campaign = Campaign({"a": 0.01}, 1, unit="0.01", mode="hard")
    paid = Fraction(0)
    while (pull := campaign.ask()) is not None:
        receipt = campaign.tell(pull, 0.0049, 1.0)
        paid += Fraction("0.0049")
        assert (receipt.cost, receipt.rounded) == (0.01, True)
    assert paid <= 1
    assert campaign.status().spent == 1.0


NO_UNITS: list[Any] = ["0", "-1", "nan", "inf", "1e-19", "1e19", "cent", "", "1/100", None, True, [], 0.0]
HUGE: list[Any] = ["1e999999999", "0e999999999", Decimal("1e-999999999"), "0." + "1" * 29, "9" * 30 + "e-20", 10**5000]


@pytest.mark.parametrize("text", NO_UNITS + HUGE, ids=range(len(NO_UNITS + HUGE)))
def test_units_that_are_none_are_refused(text: Any) -> None:
    with pytest.raises(BadParameter, match=r"unit of Campaign must be a decimal number from 1e-18 to 1e18"):
        Unit.named(text)


def test_a_cost_of_a_million_digits_is_rounded_at_once() -> None:
    unit = Unit.named("0.03")  # no power of ten
    digits = "0.03" + "0" * 1_000_000 + "1"
    assert unit.measured("tell", "cost", Decimal(digits)) == (2, True)
    assert unit.measured("tell", "cost", Decimal("-" + digits)) == (-1, True)


@pytest.mark.parametrize(("text", "size"), [("0.010", "0.01"), (0.01, "0.01"), (1, "1"), (Decimal("1e-9"), "1E-9")])
def test_units_that_are_equal_are_one(text: Any, size: str) -> None:
    assert Unit.named(text) == Unit.named(size)
    assert str(Unit.named(text).size) == size
