"""Regret, its error bands and the tidy frames of a result."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from outlay import results as regret
from outlay.errors import BadParameter

COLUMNS = ["policy", "budget", "mean", "stderr", "low", "high", "q10", "q50", "q90"]


def test_pseudo_regret_by_hand(tiny):
    frame = tiny.regret()
    assert list(frame.columns) == COLUMNS
    assert frame["policy"].tolist() == ["even", "even", "best", "best"]
    assert frame["budget"].tolist() == [5.0, 10.0, 5.0, 10.0]
    # per run Σ T μ Δ with μΔ = (0, 2): (4, 0) at budget 5, (8, 2) at budget 10; none for the best arm
    assert frame["mean"].tolist() == [2.0, 5.0, 0.0, 0.0]
    assert frame["stderr"].tolist() == pytest.approx([2.0, 3.0, 0.0, 0.0])
    reach = stats.t.ppf(0.975, 1) * 2.0
    assert frame["low"][0] == pytest.approx(2.0 - reach)
    assert frame["high"][0] == pytest.approx(2.0 + reach)
    assert frame.loc[1, ["q10", "q50", "q90"]].tolist() == pytest.approx([2.6, 5.0, 7.4])


def test_realised_regret_by_hand(tiny):
    frame = tiny.regret("realised")
    assert list(frame.columns) == COLUMNS
    # mean of π* is (11, 21); rewards of "even" are (6, 14), (4, 12), so per run (5, 7) and (7, 9)
    assert frame["mean"].tolist() == [6.0, 8.0, 8.5, 16.5]
    # paired differences of "even": 4, 8 and 6, 10; of "best": 8, 9 and 16, 17
    assert frame["stderr"].tolist() == pytest.approx([2.0, 2.0, 0.5, 0.5])
    assert frame.loc[0, ["q10", "q50", "q90"]].tolist() == pytest.approx([5.2, 6.0, 6.8])


@pytest.mark.parametrize("kind", ["pseudo", "realised"])
def test_one_run_has_no_error_bars_and_no_warning(tiny, kind):
    single = dataclasses.replace(
        tiny,
        pulls=tiny.pulls[:, :1],
        cost=tiny.cost[:, :1],
        reward=tiny.reward[:, :1],
        oracle_reward=tiny.oracle_reward[:1],
    )
    frame = single.regret(kind)
    assert frame[["stderr", "low", "high"]].isna().all(axis=None)
    assert (frame["mean"] == frame["q50"]).all()
    assert np.isfinite(frame["mean"]).all()


@pytest.mark.parametrize("kind", ["real", "", None, 3, np.array(["pseudo", "pseudo"]), []])
def test_unknown_kind(tiny, kind):
    with pytest.raises(BadParameter, match=r'^kind of regret must be "pseudo" or "realised"; got '):
        tiny.regret(kind)


def test_frame_is_tidy(tiny):
    frame = tiny.frame()
    assert list(frame.columns) == ["policy", "run", "budget", "pulls", "cost", "reward", "regret"]
    assert len(frame) == 8
    row = frame[(frame["policy"] == "even") & (frame["run"] == 1) & (frame["budget"] == 10.0)]
    assert row.iloc[0].tolist() == ["even", 1, 10.0, 6, 10.5, 12.0, 2.0]
    means = frame.groupby(["policy", "budget"], sort=False)["regret"].mean()
    pd.testing.assert_series_equal(means.reset_index(drop=True), tiny.regret()["mean"], check_names=False)


@pytest.mark.parametrize("correlation", [None, 0.95, 0.0, -0.9])
def test_intervals_cover_the_truth_95_percent_of_the_time(correlation):
    """Of 20 000 means of 8 runs, or of their differences from an oracle that is correlated with them within a run.

    Covered are 19 000 ± 31; the limits are 4 sd out (false alarm 6e-5 each).
    """
    rng = np.random.default_rng(2)
    z, w = rng.normal(size=(2, 8, 20_000))
    if correlation is None:
        got = regret.summary_over_runs(3.0 + 2.0 * z[None])
    else:
        oracle, reward = 10.0 + z, 7.0 + correlation * z + math.sqrt(1 - correlation**2) * w
        got = regret.summary_over_runs(oracle.mean(axis=0) - reward[None], paired=oracle - reward[None])
    covered = np.mean((got.low <= 3.0) & (got.high >= 3.0))
    assert abs(covered - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 20_000)


def test_result_reads_well_and_compares_by_value(tiny):
    assert repr(tiny) == "<Result: even, best on 2 arms; 2 runs, 2 budgets 5 … 10, seed 7>"
    assert tiny.labels == ["even", "best"]
    assert tiny.runs == 2
    same = dataclasses.replace(tiny, cost=tiny.cost.copy(), policies=dict(tiny.policies))
    assert tiny == same
    assert tiny != dataclasses.replace(tiny, seed=8)
    assert tiny != dataclasses.replace(tiny, cost=tiny.cost + 1)
    assert tiny != dataclasses.replace(tiny, policies=dict(reversed(tiny.policies.items())))
    assert tiny != 3
    holes = dataclasses.replace(tiny, cost=np.full_like(tiny.cost, np.nan))
    assert holes == dataclasses.replace(holes, cost=holes.cost.copy())
    with pytest.raises(TypeError):
        hash(tiny)
    with pytest.raises(dataclasses.FrozenInstanceError):
        tiny.seed = 3


@pytest.mark.parametrize("name", ["pulls", "cost", "reward", "oracle_reward"])
def test_arrays_that_do_not_fit_are_refused(tiny, name):
    with pytest.raises(BadParameter, match=rf"^{name} of Result must be an array of shape "):
        dataclasses.replace(
            tiny, **{name: getattr(tiny, name)[:, :, :1] if name != "oracle_reward" else np.zeros((1, 1))}
        )
