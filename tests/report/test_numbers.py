"""The numbers behind the other figures, from pulls that can be counted by hand."""

import math

import numpy as np
import pytest
from scipy import stats

import outlay
from outlay.arms import Constant, Gaussian, Problem, catalogue
from outlay.beliefs import Belief, Moments
from outlay.errors import BadParameter
from outlay.formulas.fieller_limit import fieller_interval
from outlay.policies import Fixed, RoundRobin
from outlay.report.findings import finding, sentences
from outlay.report.numbers.distribution import MOST_DOTS, distribution, strip
from outlay.report.numbers.earnings import earnings
from outlay.report.numbers.heat import heat_map
from outlay.report.numbers.intervals import intervals
from outlay.report.numbers.paths import path
from outlay.report.numbers.shares import grouping, shares
from outlay.results import Result

pytestmark = pytest.mark.interpreted


def by_hand(pulls, policies=None, names=("good", "bad"), rewards=(2.0, 1.0)) -> Result:
    """A result of two budgets, 10 and 100, from pulls [policy][run][budget][arm] that cost 1 each."""
    pulls = np.array(pulls, np.int64)
    arms = Problem([Constant(1.0, reward) for reward in rewards], names=list(names))
    cost, reward = pulls.sum(axis=-1).astype(float), pulls @ np.array(rewards)
    chosen = policies or {f"p{i}": RoundRobin() for i in range(len(pulls))}
    best = np.tile([10.0, 100.0], (pulls.shape[1], 1)) * max(rewards)
    return Result(arms, chosen, np.array([10.0, 100.0]), 0, pulls, cost, reward, best, "0.1.0")


@pytest.fixture
def two() -> Result:
    """Regret at the end: 10 and 30 of the first policy, 50 and 50 of the second."""
    first = [[[8, 2], [90, 10]], [[6, 4], [70, 30]]]
    second = [[[5, 5], [50, 50]], [[5, 5], [50, 50]]]
    return by_hand([first, second])


def test_shares_are_pulls_over_all_pulls(two):
    found = shares(two)
    assert found.arms.labels == ["good", "bad"]
    np.testing.assert_allclose(found.share[0], [[0.7, 0.3], [0.8, 0.2]])
    np.testing.assert_allclose(found.share[1], 0.5)


def test_many_arms_are_gathered(two):
    pulls = np.zeros((1, 1, 2, 9), np.int64)
    pulls[..., :] = [5, 0, 1, 9, 2, 3, 4, 8, 7]
    result = by_hand(pulls, names=[f"arm {k}" for k in range(9)], rewards=[1.0] * 8 + [3.0])
    found = grouping(result, most=3)
    assert found.labels == ["arm 8", "arm 3", "arm 7", "6 more arms"]
    np.testing.assert_array_equal(found.gathered(pulls[0, 0, 0].astype(float)), [7, 9, 8, 15])
    np.testing.assert_allclose(shares(result).share.sum(axis=-1), 1.0)
    assert grouping(result, most=8).rest.size == 0


def test_earnings_are_pulls_times_rewards(two):
    found = earnings(two)
    np.testing.assert_allclose(found.expected, [[160, 20], [100, 50]])
    np.testing.assert_allclose(found.earned, found.expected.sum(axis=1))  # constant rewards: what was expected came
    assert (found.end, found.best, found.line) == ("budget 100", 200.0, "the best arm alone")


def test_a_path_is_one_run(two):
    found = path(two, "p0", run=1)
    assert (found.policy, found.run, found.best_rate) == ("p0", 1, 2.0)
    np.testing.assert_array_equal(found.pulls, [[6, 4], [70, 30]])
    np.testing.assert_array_equal(found.spent, [10, 100])
    np.testing.assert_allclose(found.rate, [1.6, 1.7])
    assert path(two).policy == "p0"
    with pytest.raises(
        BadParameter, match="run of path_figure must be a whole number below 2, the number of runs; got 2"
    ):
        path(two, run=2)
    with pytest.raises(BadParameter, match="policy of path_figure must be one of p0, p1; got 'p9'"):
        path(two, "p9")


def test_the_distribution_is_every_run(two):
    found = distribution(two)
    assert [one.regret.tolist() for one in found.strips] == [[10, 30], [50, 50]]
    assert [(one.mean, one.median, one.runs) for one in found.strips] == [(20, 20, 2), (50, 50, 2)]
    assert found.axis.bottom <= 10
    assert found.axis.top >= 50
    realised = distribution(two, "realised")
    assert [one.regret.tolist() for one in realised.strips] == [[10, 30], [50, 50]]
    with pytest.raises(BadParameter):
        distribution(two, "nosuch")  # type: ignore[arg-type]


def test_of_many_runs_the_ends_stay():
    values = np.random.default_rng(0).exponential(size=5_000)
    found = strip("many", values)
    assert found.regret.size == MOST_DOTS
    assert (found.regret[0], found.regret[-1], found.runs) == (values.min(), values.max(), 5_000)
    assert found.mean == values.mean()
    assert (np.diff(found.regret) >= 0).all()
    assert np.abs(found.height).max() <= 0.5


def test_runs_without_regret_stand_at_the_end_of_a_logarithmic_axis():
    result = by_hand([[[[10, 0], [100, 0]], [[10, 0], [98, 2]]], [[[0, 10], [0, 100]], [[0, 10], [0, 100]]]])
    found = distribution(result)
    assert found.axis.scale == "log"
    assert found.strips[0].regret.tolist() == [found.axis.bottom, 2.0]
    assert 0 < found.axis.bottom < 2.0


def test_the_heat_map_is_on_a_common_scale(two):
    better = by_hand([[[[10, 0], [99, 1]], [[10, 0], [99, 1]]]], {"p1": RoundRobin()})
    lost = heat_map({"hard": two, "easy": better})
    np.testing.assert_allclose(lost.value, [[0.1, np.nan], [0.25, 0.005]])
    assert lost.text == [["10%", "–"], ["25%", "0.5%"]]
    assert lost.smallest.tolist() == [[True, False], [False, True]]
    np.testing.assert_allclose(lost.shade[:, 0], np.log([20, 50]) / np.log(50))
    assert lost.shade[1].tolist() == [1.0, 0.0]
    ratio = heat_map({"hard": two, "easy": better}, "ratio")
    np.testing.assert_allclose(ratio.value, [[1.0, np.nan], [2.5, 1.0]])
    assert ratio.text[1][0] == "2.5×"
    oracle = by_hand([[[[10, 0], [100, 0]]], [[[5, 5], [96, 4]]]], {"oracle": Fixed(0), "p0": RoundRobin()})
    np.testing.assert_allclose(heat_map({"one": oracle}, "ratio").value, [[0.0], [1.0]])


def test_a_heat_map_without_a_scale_has_no_numbers():
    free = by_hand([[[[10, 0], [100, 0]]]])
    assert heat_map({"free": free}, "ratio").text == [["–"]]
    assert heat_map({"free": free}).text == [["0%"]]
    assert heat_map({"free": free}).shade.tolist() == [[0.0]]
    wrong: list[object] = [{}, free, [free]]
    for bad in wrong:
        with pytest.raises(BadParameter, match="results of heatmap_figure must be a dict from a problem's name"):
            heat_map(bad)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="measure of heatmap_figure must be one of lost, ratio"):
        heat_map({"free": free}, "nosuch")  # type: ignore[arg-type]


def test_fieller_is_student_inverted():
    """At both ends of the interval the t-statistic of R − rX is the quantile, and inside it is smaller."""
    rng = np.random.default_rng(3)
    cost, reward = rng.gamma(4.0, 0.5, 30), rng.normal(1.0, 0.6, 30)
    memory = Moments.empty(1)
    for pair in zip(cost, reward, strict=True):
        memory.observe(0, *map(float, pair))
    low, high = fieller_interval(memory.belief(0), 0.9)
    quantile = stats.t.ppf(0.95, 29)
    for rate, sign in ((low, 1), (high, -1)):
        assert stats.ttest_1samp(reward - rate * cost, 0.0).statistic == pytest.approx(sign * quantile)
    assert low < reward.sum() / cost.sum() < high


def test_few_samples_rule_nothing_out():
    assert fieller_interval(Belief(0, 1, 1.0, 1.0, 0.0, 0.0, 0.0)) == (-math.inf, math.inf)
    assert fieller_interval(Belief(0, 2, 0.1, 1.0, 1.0, 0.0, 0.0)) == (-math.inf, math.inf)


def test_intervals_are_of_the_run_that_simulate_plays():
    problem = catalogue.load("G")
    found = intervals(problem, RoundRobin(), budget=150.0, seed=7)
    assert found.pulls == outlay.simulate(problem, RoundRobin(), [150.0], runs=1, seed=7).pulls[0, 0, 0].tolist()
    assert found.arms == ["arm 0", "arm 1", "arm 2"]
    assert (found.low <= found.high).all()
    width = found.high - found.low
    assert (width[:, -1] < 0.7).all()
    assert (found.low[:, -1] < found.rate).all()
    assert (found.rate < found.high[:, -1]).all()
    assert found.spent[-1] > 150.0
    assert (np.diff(found.spent) >= 0).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"budget": -1}, "budget of intervals_figure must be > 0; got -1"),
        ({"budget": 1e9}, "budget of intervals_figure must be small enough for at most 200,000 pulls"),
        ({"coverage": 1.0}, "coverage of intervals_figure must be > 0 and < 1; got 1.0"),
        ({"policy": 5}, "policy of intervals_figure must be a NamedTuple"),
        ({"problem": 5}, "problem of intervals_figure must be an outlay.Problem; got 5"),
    ],
)
def test_bad_intervals_are_refused(change, sentence):
    given = {"problem": catalogue.load("G"), "policy": RoundRobin(), "budget": 10.0} | change
    with pytest.raises(BadParameter) as refused:
        intervals(**given)
    assert sentence in str(refused.value)


def test_the_verdict_names_the_best_that_learns(two):
    with_oracle = by_hand(
        [two.pulls[0].tolist(), two.pulls[1].tolist(), [[[10, 0], [100, 0]]] * 2],
        {"p0": RoundRobin(), "p1": RoundRobin(), "oracle": Fixed(0)},
    )
    found = finding(with_oracle)
    assert found.order == ["p0", "p1"]
    assert found.regret.tolist() == [20.0, 50.0]
    assert found.lost == 0.1
    assert found.knowledge == []
    assert sentences(found, with_oracle)[0] == (
        "Use p0: it lost least, 20.0 on average, 10% of what the best arm alone earns. Next is p1 with 50.0."
    )


def test_the_verdict_admits_a_tie():
    result = by_hand([[[[5, 5], [90, 10]], [[5, 5], [50, 50]]], [[[5, 5], [60, 40]], [[5, 5], [70, 30]]]])
    found = finding(result)
    assert (found.order, found.tied) == (["p0", "p1"], ["p1"])
    assert sentences(found, result)[0].startswith(
        "p0 and p1 lost least, and 2 runs do not tell them apart: p0 lost 30.0"
    )


def test_the_verdict_names_all_that_are_next_and_means_that_few_runs_carry():
    runs = [[[9, 1], [90, 10]]] * 19 + [[[5, 5], [0, 1000]]]
    result = by_hand(
        [runs, *[[[[0, 10], [0, 100]]] * 20] * 2], {"p0": RoundRobin(), "p1": RoundRobin(), "p2": RoundRobin()}
    )
    found = finding(result)
    assert found.tied == ["p1", "p2"]
    assert found.carried == {"p0": 10.0}
    said = sentences(found, result)
    assert "A few long runs carry the mean of p0 (median 10.0)." in said
    clear = sentences(found._replace(tied=[]), result)[0]
    assert clear.endswith("Next are p1 and p2 with 100.0.")


def test_the_verdict_says_what_was_told_and_when_nothing_can_be_lost(three, make):
    known = finding(three)
    assert known.knowledge == ["var_cost", "var_reward"]
    assert "It was told var_cost and var_reward of the arms" in sentences(known, three)[-1]
    alone = make({"a": RoundRobin()}, [6.0], runs=5)
    assert sentences(finding(alone), alone)[0].startswith("a lost ")
    equal = make({"a": RoundRobin()}, [6.0])
    object.__setattr__(equal, "problem", Problem([Gaussian(1.0, 1.0, 0.5, 0.5)] * 2))
    assert sentences(finding(equal), equal) == ["All arms are equally good: whatever is pulled, nothing is lost."]
