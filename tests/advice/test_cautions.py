"""What advice warns of: odd rows, small budgets, tails, limits, drift; and which arms stay in doubt."""

import numpy as np
import pandas as pd

from outlay.advice.answer import answer

from .reading import advise, kinds, said


def test_odd_costs_and_rewards(log):
    odd = log.copy()
    odd.loc[:3, "cost"] = 0.0
    odd.loc[4:5, "cost"] = -2.0
    odd.loc[6, "reward"] = 5.0
    odd.loc[7, "reward"] = np.nan
    free = pd.DataFrame({"arm": ["gift"] * 3, "cost": [0.0] * 3, "reward": [1.0] * 3})
    found = advise(pd.concat([odd, free]), 100, reward_bound=1.0, rehearse=False)
    assert kinds(found) == ["empty cells", "few rows", "free", "costs of 0", "negative costs", "bounds", "selection"]
    assert said(found, "empty cells").startswith("1 row of 1,203 had an empty cell and were left out")
    assert said(found, "few rows").startswith("1 of 4 arms with fewer than 200 rows (gift: 3)")
    assert said(found, "free").startswith("The mean cost of gift is not above 0")
    assert said(found, "costs of 0").startswith("4 rows of ")
    assert said(found, "negative costs").startswith("2 rows of ")
    assert "had a reward beyond the reward bound 1: the largest seen, 5, takes its place" in said(found, "bounds")
    assert "gift" not in found.remaining


def test_amounts_of_money_are_read_with_a_note(log):
    found = advise(log.assign(cost="€ " + log["cost"].map("{:.6f}".format).str.replace(".", ",")), 100, rehearse=False)
    plain = advise(log.round({"cost": 6}), 100, rehearse=False)
    assert found.best.rate == plain.best.rate
    assert said(found, "money").startswith("Cells were read as amounts of money: cost ('€ ")


def test_a_budget_of_a_few_pulls(log):
    """Fewer than 30 of the dearest arm, or less than a pull of an arm in play has cost."""
    means = log.groupby("arm")["cost"].mean()
    assert "small budget" not in kinds(advise(log, 31 * means.max(), rehearse=False))
    few = said(advise(log, 5.0 * means.max(), rehearse=False), "small budget")
    assert few.startswith(f"The budget pays for about 5 pulls of {means.idxmax()}")
    wild = log.assign(cost=np.where(log.index == log["arm"].eq("good").idxmax(), 90.0, log["cost"]))
    assert said(advise(wild, 60, rehearse=False), "small budget").startswith("One pull of good has cost 90")
    free = pd.DataFrame({"arm": ["gift"] * 3, "cost": [99.0, -99.0, 0.0], "reward": [1.0] * 3})
    assert "small budget" not in kinds(advise(pd.concat([log, free]), 50, rehearse=False))


def test_heavy_tails_and_limits(draw):
    rng, log = np.random.default_rng(1), draw(0, 2000)
    heavy = log.assign(cost=1.0 + rng.pareto(1.6, len(log)))
    found = advise(heavy, 100, rehearse=False)
    assert "infinite variance" in kinds(found)
    assert [arm.verdict for arm in found.arms] == ["behind", "best so far", "behind"]
    assert found.remaining == ["fair", "good", "poor"]
    cut = advise(heavy.assign(cost=heavy["cost"].clip(upper=6.0)), 100, rehearse=False)
    assert "as by a timeout (fair: 6, " in said(cut, "cut off")
    assert "shorter" not in said(cut, "infinite variance")
    log.loc[log["arm"] == "fair", "cost"] = heavy["cost"].clip(upper=6.0)
    log.loc[log["arm"] == "good", "cost"] = heavy["cost"]
    found = advise(log, 100, rehearse=False)
    without, limited = (caution.sentence for caution in found.cautions if caution.kind == "infinite variance")
    assert "(good: 1." in without
    assert "without the limit" in limited
    assert "(fair: 1." in limited


def test_an_arm_that_changed_is_not_ruled_out(draw):
    """One that got better along the file may be the best by now; and one that only a changed arm beats is behind."""
    log = draw(0, 1000)
    along = np.linspace(0.0, 1.0, len(log))
    poor = log.assign(cost=np.where(log["arm"] == "poor", log["cost"] * np.where(along < 0.8, 5.0, 0.2), log["cost"]))
    found = advise(poor, 1000, rehearse=False)
    assert [(arm.verdict, arm.course.drifts) for arm in found.arms] == [
        ("ruled out", False), ("best so far", False), ("behind", True),
    ]  # fmt: skip
    assert found.remaining == ["good", "poor"]
    assert "drift" in kinds(found)
    good = log.assign(cost=np.where(log["arm"] == "good", log["cost"] * np.where(along < 0.7, 0.5, 1.6), log["cost"]))
    found = advise(good, 1000, rehearse=False)
    assert [arm.verdict for arm in found.arms] == ["behind", "best so far", "ruled out"]


def test_one_arm_and_no_reward(log):
    one = advise(log[log["arm"] == "good"], 100)
    assert kinds(one) == ["one arm", "selection"]
    assert one.rehearsal is None
    assert answer(one)[-1] == "Spend it all on good: the log has no other arm."
    nothing = advise(log.assign(reward=0.0), 100, rehearse=False)
    assert "no reward" in kinds(nothing)
