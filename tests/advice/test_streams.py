"""What is kept while rows stream by equals what the whole would give."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from outlay.advice.summary import Reservoir, block_means, change_of, merged, sums_of, tail_of
from tests.advice import slow

NONE = np.zeros(0, np.int64)


def parts(length: int, seed: int) -> list[slice]:
    cuts = np.sort(np.random.default_rng(seed).integers(1, length, size=7))
    return [slice(a, b) for a, b in zip([0, *cuts], [*cuts, length], strict=True) if b > a]


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_moments_of_parts(offset):
    pairs = np.random.default_rng(0).normal(offset, 1.0, size=(2, 5000))
    shift = pairs[:, :1]
    total = sums_of(pairs[:, :1] - shift)
    for part in parts(4999, 1):
        total = merged(total, sums_of(pairs[:, 1:][:, part] - shift))
    np.testing.assert_allclose(total.mean + shift[:, 0], pairs.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(total.products / 5000, np.cov(pairs, ddof=0), rtol=1e-7, atol=1e-9)


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


def test_samples_are_uniform():
    """Every tenth of the file equally often, from parts of unequal size; false alarm 1 in 1000."""
    counts = np.zeros(10)
    runs, room = 300, 100
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        kept = Reservoir(room)
        for part in parts(1000, seed):
            rows = np.arange(1000.0)[None, part]
            kept.add(rng.random(rows.size), rows)
        counts += np.bincount((kept.rows()[0] // 100).astype(int), minlength=10)
    expected = runs * room / 10
    # drawn without replacement the counts vary less than multinomial ones, by the factor (1000 − 100)/999
    assert ((counts - expected) ** 2 / expected).sum() / (900 / 999) < chi2.isf(0.001, 9)


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


@pytest.mark.parametrize("shape", ["step", "trend", "bump"])
def test_drift_is_found(shape):
    time = np.linspace(0, 1, 4000)
    drift = {"step": 0.5 * (time > 0.6), "trend": time, "bump": 0.8 * (abs(time - 0.5) < 0.2)}[shape]
    found = change_of(block_means(np.random.default_rng(1).normal(size=4000) + drift))
    assert found is not None
    assert found.chance < 1e-3
    if shape == "step":
        assert found.at == pytest.approx(0.6, abs=0.05)


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
