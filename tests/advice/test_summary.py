"""What a pass over a log keeps equals what the whole would give; rates, tails, drift and verdicts."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

from outlay import logs
from outlay.advice.advice import advise
from outlay.advice.summary import (
    BEST,
    DOUBTFUL,
    OUT,
    Course,
    Reservoir,
    block_means,
    change_of,
    rate_interval,
    sums_of,
    tail_of,
    tally,
    verdicts,
)
from outlay.beliefs import Belief
from outlay.errors import BadFile
from outlay.logs import LogColumns, stretches
from tests.advice import slow


def parts(length: int, seed: int) -> list[slice]:
    cuts = np.sort(np.random.default_rng(seed).integers(1, length, size=7))
    return [slice(a, b) for a, b in zip([0, *cuts], [*cuts, length], strict=True) if b > a]


def test_kept_rows_do_not_depend_on_the_parts():
    rng = np.random.default_rng(0)
    keys, rows = rng.random(5000), rng.random((2, 5000))
    found = []
    for seed in range(4):
        kept = Reservoir(400 if seed else 4000)
        for part in parts(5000, seed):
            kept.add(keys[part], rows[:, part])
            kept.room = 300
        found.append(kept.rows())
    chosen = np.argsort(keys)[:300]
    for one in found:
        np.testing.assert_array_equal(one, rows[:, chosen])


@pytest.mark.parametrize("count", [10, 128, 129, 1000, 5003])
def test_blocks(count):
    values = np.random.default_rng(count).normal(size=count)
    _, means = slow.blocks(values, 128)
    np.testing.assert_allclose(block_means(values), means, rtol=1e-9, atol=1e-12)


def test_change_is_where_summed_ranks_stray_most():
    rng = np.random.default_rng(5)
    for ties in (False, True):
        means = rng.integers(5, size=60).astype(float) if ties else rng.normal(size=60)
        path = slow.rank_sums(means.tolist())
        found = change_of(means)
        assert found is not None
        assert found.at == (int(np.argmax(path)) + 1) / 60
        at = round(found.at * 60)
        assert (found.before, found.after) == pytest.approx((means[:at].mean(), means[at:].mean()))
    assert change_of(np.ones(15)) is None
    assert change_of(np.full(64, 0.1) * (1 + 1e-15 * rng.random(64))).chance == 1.0  # type: ignore[union-attr]


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "pareto": lambda rng, n: rng.pareto(0.8, size=n),
    "rare": lambda rng, n: (rng.random(n) < 0.03).astype(float),
}


@pytest.mark.parametrize("law", LAWS)
def test_false_alarms_of_drift(law):
    """At most 5 % of 1500 logs in random order, whatever the law (an error of 4 standard deviations allowed)."""
    rng, alarms, runs = np.random.default_rng(7), 0, 1500
    for _ in range(runs):
        found = change_of(block_means(LAWS[law](rng, 700)))
        alarms += found is not None and found.chance < 0.05
    assert alarms / runs < 0.05 + 4 * (0.05 * 0.95 / runs) ** 0.5
    assert alarms > (0.01 if law == "rare" else 0.02) * runs


def ranked(costs: Any) -> Any:
    return np.sort(costs)[::-1]


@pytest.mark.parametrize("alpha", [0.8, 1.5, 3.0])
def test_tail_index(alpha):
    costs = 1.0 + np.random.default_rng(2).pareto(alpha, size=20_000)
    tail = tail_of(ranked(costs), costs, 20_000)
    assert tail.alpha == pytest.approx(slow.hill(costs, 2000))
    assert tail.alpha == pytest.approx(alpha, rel=0.08)
    assert tail.infinite_variance == tail.unsettled == (alpha < 2)
    few = tail_of(ranked(costs)[:1000], costs, 20_000)  # a heap that keeps a thousand
    assert few.alpha == pytest.approx(slow.hill(costs, 999))


def test_light_tails_are_not_called_heavy():
    rng = np.random.default_rng(4)
    for costs in (rng.exponential(size=5000), rng.random(5000), abs(rng.normal(size=5000)), np.ones(500)):
        assert not tail_of(ranked(costs), costs, len(costs)).infinite_variance
    assert tail_of(np.ones(500), np.ones(500), 500) == (np.inf, None, 0)
    assert tail_of(ranked(rng.random(199)), rng.random(199), 199).alpha is None
    assert tail_of(-np.ones(500), -np.ones(500), 500).alpha is None


def test_costs_that_are_cut_off():
    """Costs at the limit count as larger: the index is that of the uncut tail."""
    whole = 1.0 + np.random.default_rng(6).pareto(1.2, size=20_000)
    cut = np.minimum(whole, 20.0).round(2)
    tail = tail_of(ranked(cut), cut, 20_000)
    assert tail.limit == 20.0
    assert tail.at_limit == (cut == 20.0).sum()
    assert tail.alpha == pytest.approx(1.2, rel=0.08)
    assert tail.infinite_variance
    assert not tail.unsettled
    hidden = np.minimum(whole, 2.0)
    assert tail_of(ranked(hidden), hidden, 20_000)[:2] == (None, 2.0)
    dice = np.random.default_rng(0).integers(1, 7, size=5000).astype(float)
    assert tail_of(ranked(dice), dice, 5000).limit is None


def belief_of(costs: Any, rewards: Any) -> Belief:
    return sums_of(np.stack([costs, rewards])).belief(0, np.zeros(2))


def gaussian(rng: np.random.Generator, n: int, rate: float = 0.5) -> Any:
    costs = rng.normal(2.0, 0.8, n)
    return costs, rate * costs + rng.normal(0.0, 0.7, n)


def skewed(rng: np.random.Generator, n: int, rate: float = 0.5) -> Any:
    costs = rng.lognormal(0.0, 0.6, n)
    return costs, (rng.random(n) < rate * math.exp(0.18)).astype(float)


def test_it_is_fieller():
    costs, rewards = gaussian(np.random.default_rng(0), 40)
    wanted = slow.fieller(costs, rewards, float(t.ppf(0.995, 39)))
    assert rate_interval(belief_of(costs, rewards), 0.99, 0.0, 1.0) == pytest.approx(wanted)


def test_rewards_that_never_varied_may_yet():
    never = belief_of(np.ones(100), np.zeros(100))
    low, high = rate_interval(never, 0.95, 0.0, 1.0)
    assert low == 0.0
    assert (1 - high) ** 100 == pytest.approx(0.025)
    assert rate_interval(never, 0.95, 0.0, 0.0) == (0.0, 0.0)
    always = belief_of(np.ones(100), np.ones(100))
    assert rate_interval(always, 0.95, 0.0, 1.0) == pytest.approx((1 - high, 1.0))


def test_verdicts_where_rates_changed_over_time():
    """Who was below another in every part, and clearly in its last one, is out; who was ever ahead is behind."""
    none = math.nan
    for low, high, error, verdict in [
        ((0.4, 0.5, 0.6), (0.9, 1.0, 1.1), 0.1, OUT),
        ((0.4, 0.5, 0.6), (0.9, 1.0, 1.1), 0.3, DOUBTFUL),  # by chance, perhaps
        ((0.2, 0.2, 1.2), (0.9, 1.0, 1.1), 0.1, DOUBTFUL),
        ((0.2, none, 0.6), (0.9, 1.0, 1.1), 0.1, OUT),  # where both were used
        ((0.2, 0.5, none), (0.9, 1.0, 1.1), 0.1, OUT),  # it was given up
        ((0.2, 0.5, 0.6), (0.9, 1.0, none), 0.1, DOUBTFUL),  # the other was: nothing is known of late
        ((0.2, none, none), (none, 1.0, 1.1), 0.1, DOUBTFUL),
        ((0.2, 0.2, 0.6), (1.5, 1.0, 0.5), 0.1, DOUBTFUL),
    ]:
        for drifts in ((True, False), (False, True), (True, True)):
            courses = [Course(moves, parts, (error,) * 3) for moves, parts in zip(drifts, (low, high), strict=True)]
            assert verdicts(1, [[1], []], [False] * 2, courses) == [verdict, BEST]
    ever_ahead = [Course(False, (0.2, 0.2, 1.2), (0.1,) * 3), Course(False, (0.9, 1.0, 1.1), (0.1,) * 3)]
    assert verdicts(1, [[1], []], [False] * 2, ever_ahead) == [OUT, BEST]  # without an alarm it is noise


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
