"""On which ground arms are compared: the whole log, equal times, or the same instances; and what is said about it."""

import numpy as np
import pandas as pd
import pytest

from outlay.advice import rehearsal
from outlay.advice.advice_page import settings
from outlay.advice.answer import answer
from outlay.advice.comparison import PAIRS, TIMES, WHOLE
from outlay.errors import BadFile

from .reading import advise, said


def two_years(seed: int = 0, rows: int = 6000) -> pd.DataFrame:
    """Rates rise over time, the same for all arms, one of which was given up for another by and by."""
    rng = np.random.default_rng(seed)
    along = np.sort(rng.random(rows))
    arms = np.where(rng.random(rows) < 0.05 + 0.9 * along, "late", "early")
    arms = np.where(rng.random(rows) < 0.2, "even", arms)
    solved = rng.random(rows) < 0.2 + 0.6 * along
    days = (np.datetime64("2024-01-01") + (along * 700).astype(int)).astype(str)
    return pd.DataFrame({"arm": arms, "cost": rng.gamma(4.0, 0.25, rows), "reward": solved.astype(float), "day": days})


@pytest.mark.parametrize("time", [None, "day"])
def test_arms_logged_at_different_times(time):
    """What time explains rules nobody out; each answer is said to be what it is, by order and by a column of dates."""
    log = two_years()
    log = log.sample(frac=1.0, random_state=0) if time else log.drop(columns="day")
    found = advise(log, 1000, time=time, rehearse=False)
    assert (found.terms.basis, found.terms.timed) == (TIMES, time is not None)
    assert {arm.verdict for arm in found.arms} <= {"best so far", "open"}
    assert "Arms were used at different times" in said(found, "times")
    first, readings, *_ = answer(found)
    assert first.startswith("At equal times, ")
    assert "it cannot be told apart from" in first
    assert readings.startswith("Over the whole log ")
    assert "in its latest eighth" in readings


def test_rows_sorted_by_arm_that_drift_rule_nobody_out():
    """When arms were used is not known, and some changed on the way: time may explain what sets them apart."""
    log = two_years(rows=3000).drop(columns="day").sort_values("arm", kind="stable")
    steady = log.sample(frac=1.0, random_state=0).sort_values("arm", kind="stable")
    log = pd.concat([steady[steady["arm"] != "even"], log[log["arm"] == "even"]])  # two arms show no change
    assert [advise(rows, 1000, rehearse=False).arms[0].verdict for rows in (steady, log)] == ["ruled out", "behind"]
    assert all(arm.latest is None for arm in advise(log, 1000, rehearse=False).arms)


def test_a_column_of_dates_is_found_by_itself(tmp_path):
    """Rows in no order, with dates that nobody named: they count, and are said to. Without them nothing can be told."""
    log = two_years().sample(frac=1.0, random_state=0)
    named = advise(log, 1000, time="day", rehearse=False)
    log.rename(columns={"day": "createdAt"}).to_csv(tmp_path / "log.csv", index=False)
    for source, column in ((log, "day"), (log.assign(day=pd.to_datetime(log["day"])), "day"),
                           (tmp_path / "log.csv", "createdAt")):  # fmt: skip
        found = advise(source, 1000, rehearse=False)
        assert (found.arms, found.terms.dated) == (named.arms, column)
        assert f"by the column of times {column}, which was found by itself" in said(found, "times")
        assert settings(found)["times"] == f"by the column {column}, which was found by itself"
    for other in (
        log.drop(columns="day"),
        log.assign(day=np.arange(len(log))),  # numbers may be anything
        log.rename(columns={"day": "release_date"}),
        log.assign(day=log["arm"].map({"late": "2024-05-01", "even": "2024-06-01", "early": "2024-01-01"})),
        log.assign(day=np.where(np.arange(len(log)) == 5000, "soon", log["day"])),
    ):
        found = advise(other, 1000, rehearse=False)
        assert (found.terms.basis, found.terms.dated, found.arms[0].verdict) == (WHOLE, None, "ruled out")


def test_arms_that_never_met():
    """One after the other: by a column of times nothing can be said; rows sorted by arm say nothing about time."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"arm": ["a"] * 500 + ["b"] * 500, "cost": 1.0, "when": range(1000)})
    frame["reward"] = rng.random(1000) < np.where(frame["arm"] == "a", 0.2, 0.8)
    met = advise(frame, 100, time="when", rehearse=False)
    assert [arm.verdict for arm in met.arms] == ["open", "best so far"]
    assert "1 pair of arms were never used at the same time" in said(met, "times")
    plain = advise(frame, 100, rehearse=False)
    assert [arm.verdict for arm in plain.arms] == ["ruled out", "best so far"]
    assert said(plain, "times").startswith("Rows are sorted by arm, so their order says nothing about when")


def tasks(seed: int = 0, count: int = 150) -> pd.DataFrame:
    """Three arms on the same tasks, some of which are hard for all; one is a little better than the others."""
    rng = np.random.default_rng(seed)
    hard = rng.random(count)
    parts = [
        pd.DataFrame({"arm": name, "task": np.arange(count), "cost": 0.5 + hard + 0.1 * rng.random(count),
                      "reward": 2.0 - hard + more + 0.05 * rng.normal(size=count)})
        for name, more in (("a", 0.0), ("b", 0.05), ("c", 0.0))
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def test_pairs_are_found_and_used():
    log = tasks()
    found = advise(log, 100, rehearse=False)
    assert (found.terms.basis, found.terms.instance, found.terms.instances) == (PAIRS, "task", 150)
    assert [arm.verdict for arm in found.arms] == ["ruled out", "best so far", "ruled out"]
    assert found.terms.correlation > 0.9
    assert answer(found)[0].startswith("On the 150 instances that all arms were tried on, b has the best rate so far")
    assert any("median correlation +0.9" in sentence for sentence in answer(found))
    alone = advise(log.drop(columns="task"), 100, rehearse=False)
    assert alone.terms.basis == WHOLE
    assert "ruled out" not in [arm.verdict for arm in alone.arms]
    named = advise(
        log.rename(columns={"task": "x"}).sample(frac=1.0, random_state=1), 100, instance="x", rehearse=False
    )
    assert [arm.versus and arm.versus.difference for arm in named.arms] == pytest.approx(
        [arm.versus and arm.versus.difference for arm in found.arms]
    )


def test_what_is_not_a_pair():
    """Numbers of rows, a constant, tasks that an arm lacks; and a column that was named although it pairs nothing."""
    log = tasks()
    for column in (range(len(log)), "same", log["task"] + 100 * (log["arm"] == "a")):
        other = log.assign(task=column)
        assert advise(other, 100, rehearse=False).terms.basis == WHOLE
    with pytest.raises(BadFile, match=r"^too few instances in the column 'task' of the frame have rows of every arm"):
        advise(log.assign(task=range(len(log))), 100, instance="task", rehearse=False)


def test_a_rehearsal_draws_instances(stand_in, monkeypatch):
    """Row i of every arm is about instance i, whatever the order in the file."""
    log, seen = tasks(), []
    rehearse = rehearsal.rehearse

    def spy(problem, *arguments, **options):
        seen.append(problem)
        return rehearse(problem, *arguments, **options)

    monkeypatch.setattr(rehearsal, "rehearse", spy)
    advise(log.sample(frac=1.0, random_state=2), 100)
    costs = np.stack([law.costs for law in seen[0].arms])
    assert np.corrcoef(costs).min() > 0.95
    assert costs.shape == (3, 150)


def test_figures_of_merit():
    """Held out halves: sure where arms differ, a coin where they do not; and by time, where order is one."""
    good = advise(tasks(), 100, rehearse=False).terms.merit
    assert (good.at_random, good.splits, good.cuts) == (1.0, 200, 0)  # sorted by arm: no order of time
    rng = np.random.default_rng(3)
    alike = pd.DataFrame({"arm": rng.choice(list("ab"), 300), "cost": 1.0, "reward": rng.pareto(2.5, 300)})
    poor = advise(alike, 100, rehearse=False).terms.merit
    assert poor.at_random < 0.9
    assert poor.shortfall > 0.0
    assert (poor.cuts, 0 <= poor.later <= 7) == (7, True)
    one = advise(alike[alike["arm"] == "a"], 100, rehearse=False)
    assert one.terms.merit.at_random is None
    assert not any("Held out" in sentence for sentence in answer(one))
