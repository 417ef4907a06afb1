"""The regret table, in all its formats."""

import pytest

from outlay import report
from outlay.arms import Constant, Problem
from outlay.errors import BadParameter
from outlay.policies import Fixed
from outlay.report.curves import floor_of
from outlay.report.regret import regret_numbers
from outlay.results import best_shares


def test_rows(three):
    first, _, fixed = regret_numbers(three).rows
    frame = three.regret()
    last = frame[(frame["policy"] == "UCBB1") & (frame["budget"] == three.budgets[-1])].iloc[0]
    assert first[:6] == ("UCBB1", last["mean"], last["stderr"], last["q50"], last["q10"], last["q90"])
    pulls = three.pulls[0, :, -1]
    assert first.best_share == pytest.approx(pulls[:, 0].sum() / pulls.sum())
    assert first.ratio == pytest.approx(last["mean"] / floor_of(three.problem).at(20_000.0))
    assert fixed.best_share == 1.0
    assert fixed.cells() == ("Fixed", "0.0 ± 0.0", "0.0", "0.0 – 0.0", "100.0%", "0.00")


def test_ties_by_rounding_share_the_best_arm(make):
    tied = make({"first": Fixed(0), "second": Fixed(0)}, [0.0, -1.0])
    object.__setattr__(tied, "problem", Problem([Constant(0.1, 0.3), Constant(1, 3)]))
    assert best_shares(tied) == [1.0, 1.0]


def test_bad_formats_are_refused(three):
    with pytest.raises(BadParameter, match="format of table must be one of text, markdown, csv, latex; got 'html'"):
        report.table(three, "html")  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match=r"result of table must be an outlay.Result; got 5"):
        report.table(5)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="kind of regret must be"):
        report.table(three, "csv", kind="nosuch")  # type: ignore[arg-type]
