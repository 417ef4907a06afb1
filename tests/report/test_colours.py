"""One colour per policy in every figure, titles that can be left out, and medians."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from outlay import report
from outlay.errors import BadParameter
from outlay.policies import RoundRobin, Thrifty
from outlay.report.figures.colours import looks
from outlay.report.figures.style import PALETTE
from outlay.report.numbers.curves import regret_chart


def test_a_policy_has_its_colour_whoever_stands_beside_it():
    alone = dict(zip(["Thrifty"], looks(["Thrifty"]), strict=True))
    for others in (["RoundRobin", "UCBB1"], ["a", "b", "c", "d", "e", "f", "g"], ["Frugal", "Wary", "BTS"]):
        for labels in ([*others, "Thrifty"], ["Thrifty", *others]):
            assert dict(zip(labels, looks(labels), strict=True))["Thrifty"] == alone["Thrifty"]


@pytest.mark.parametrize("count", [1, 6, 7, 13, 24])
def test_no_two_look_alike(count):
    labels = [f"policy {i}" for i in range(count)]
    assert len(set(looks(labels))) == count
    assert {colour for colour, _ in looks(labels)} == set(PALETTE[:count])


def test_figures_of_a_result_agree(make):
    result = make({"mine": RoundRobin(), "Thrifty": Thrifty()}, [5.0, 3.0])
    expected = [to_hex(colour).upper() for colour, _ in looks(["mine", "Thrifty"])]
    lines = report.regret_figure(result, bounds=False).axes[0].get_lines()
    dots = [line for line in report.distribution_figure(result).axes[0].get_lines() if line.get_alpha() == 0.6]
    assert [to_hex(line.get_color()).upper() for line in lines] == expected
    assert [to_hex(line.get_color()).upper() for line in dots] == expected


def test_titles_can_be_left_out(make):
    result = make({"a": RoundRobin()}, [5.0])
    for figure in (report.regret_figure, report.distribution_figure, report.reward_figure):
        assert figure(result).axes[0].get_title(loc="left") != ""
        assert figure(result, title=False).axes[0].get_title(loc="left") == ""
    bounds = report.bounds_figure(result.problem, 100.0, title=False)
    assert bounds.axes[0].get_title(loc="left") == ""


def test_medians_have_the_middle_of_the_runs(make):
    result = make({"a": RoundRobin()}, [5.0], runs=20)
    [curve] = regret_chart(result, bounds=False, centre="median").curves
    frame = result.regret()
    for name, values in {"q50": curve.mean, "q10": curve.low, "q90": curve.high}.items():
        assert np.array_equal(values, frame[name].to_numpy())
    assert "median of 20 runs, with the middle 80 %" in report.regret_figure(result, centre="median").axes[0].get_title(
        loc="left"
    )
    with pytest.raises(BadParameter, match="centre of regret_figure must be"):
        report.regret_figure(result, centre="mode")  # type: ignore[arg-type]
