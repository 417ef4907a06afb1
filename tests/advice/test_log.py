"""What advice makes of a log while it is read, and which logs it refuses."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from outlay import logs
from outlay.advice.advice import advise
from outlay.advice.summary import tally
from outlay.errors import BadFile
from outlay.logs import LogColumns, stretches

HEAD = "arm,cost,reward\n"
REFUSED = {
    HEAD + ",1,2\na,,2\na,1,nan\n": "no row of log.csv has an arm, a cost and a reward",
    HEAD + "a,0,2\nb,-1,1\n": "no arm of log.csv has a mean cost above 0: a budget would never be spent",
    HEAD + "".join(f"{i},1,1\n" for i in range(1001)): "log.csv has more than 1,000 arms: does its column of arms hold",
}


@pytest.mark.parametrize("text", REFUSED)
def test_logs_that_say_nothing(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(text, encoding="utf-8")
    with pytest.raises(BadFile) as refused:
        advise("log.csv", 10, rehearse=False)
    assert str(refused.value).startswith(REFUSED[text])


def test_reading_in_parts_is_the_whole_file(tmp_path, monkeypatch):
    """Streamed figures against numpy on everything at once."""
    rng, length = np.random.default_rng(3), 20_000
    arms = rng.choice(["small", "large", "père"], size=length, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame({"arm": arms, "cost": rng.normal(2, 1, length), "reward": rng.random(length)})
    frame.loc[frame.index % 7 == 0, "cost"] = 0.0
    frame.loc[frame.index % 50 == 0, "reward"] = np.nan
    frame.to_csv(tmp_path / "log.csv", index=False)
    monkeypatch.setattr(logs, "BLOCK", 20_000)
    told: list[float] = []
    found = tally(stretches(tmp_path / "log.csv", LogColumns(), "advise"), "log.csv", 0, told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) > 10
    assert (found.rows, found.left_out) == (20_000, 400)
    groups = {str(name): rows for name, rows in frame.dropna().groupby("arm")}
    assert list(found.arms) == sorted(groups)
    for name, rows in groups.items():
        arm, pairs = found.arms[name], rows[["cost", "reward"]].to_numpy().T
        belief = arm.belief(0)
        assert belief.pulls == len(rows)
        np.testing.assert_allclose(belief[2:4], pairs.mean(axis=1), rtol=1e-12)
        (var_cost, cov), (_, var_reward) = np.cov(pairs, ddof=0)
        np.testing.assert_allclose(belief[4:], [var_cost, var_reward, cov], rtol=1e-10)
        np.testing.assert_array_equal([arm.low, arm.high], [pairs.min(axis=1), pairs.max(axis=1)])
        assert arm.zero_costs == (rows["cost"] == 0).sum()
        assert arm.negative_costs == (rows["cost"] < 0).sum()
        np.testing.assert_array_equal(arm.largest.rows()[0], np.sort(pairs[0])[::-1][:10_000])
        assert sorted(map(tuple, arm.sample.rows()[:2].T)) == sorted(map(tuple, pairs.T))
        np.testing.assert_allclose(arm.spread.sum(axis=0), [len(rows), *pairs.sum(axis=1)])
