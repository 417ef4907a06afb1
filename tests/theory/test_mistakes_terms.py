"""Lemma 3b of docs/kl-rate-regret.md and what the kept samples add to it, against the same formulas in loops."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from outlay.arms import AnyLaw, Bernoulli, Discrete
from outlay.policies.kl_rate import KEPT_EXACTLY
from outlay.theory.divergences.bounded import outcomes
from outlay.theory.upper import kl_rate_bound, mistakes
from outlay.theory.upper.mistakes import Lost, Tilted, at_most_once

LAWS: dict[str, tuple[AnyLaw, float, float]] = {
    "table": (Discrete([0.0, 0.0, 1.0, 2.0], [0.5, 0.0, 1.5, 0.7], [0.2, 0.1, 0.4, 0.3]), 0.6, 2.0),
    "coins": (Bernoulli(0.5, 0.5), 0.6, 1.0),
    "near": (Bernoulli(0.5, 0.5), 0.9, 1.0),
    "rare": (Discrete([0.1, 400.0], [0.1, 0.1], [1 - 1e-4, 1e-4]), 0.3, 1.0),  # some θ are too large for it
}


def tilted_of(name: str) -> Tilted:
    law, rate, bound = LAWS[name]
    points = outcomes(law)
    decay, spend = kl_rate_bound._tilts(points, rate, bound)
    w = (points.rewards - rate * points.costs) / bound
    with np.errstate(invalid="ignore"):
        gamma, xi = np.maximum(decay[:, 1:], decay[:, :-1]), np.maximum(spend[:, 1:], spend[:, :-1])
    return Tilted(gamma, xi, kl_rate_bound._CELLS, decay[:, 0], float(w.min()), float(w.max()))


def beta(a: float, budget: float) -> float:
    return a * (1 + math.log(budget / a)) if a < budget else budget


def price_of_mixing(tilted: Tilted, means: list[float], samples: int) -> float:
    """(1 + U√(2Qt/π))/U of the sum up to U and (t + 1)/(1 − U) of the rest, at the best U; means are times widths."""
    found: list[float] = []
    for place in mistakes._WITHIN:
        u = float(tilted.ends[place])
        steep = [1 - v * z for z in (tilted.low, tilted.high) for v in (0.0, u)]
        tops = [(z / (1 - v * z)) ** 2 for z in (tilted.low, tilted.high) for v in (0.0, u) if v * z < 1]
        curvature = max(tops) if min(steep) > 0 else math.inf
        near = (1 + u * math.sqrt(2 * curvature * samples / math.pi)) / u * sum(means[:place]) if place else 0.0
        found.append(near + (samples + 1) / (1 - u) * sum(means[place:]))
    return min(found)


def stretches(first: int, last: float, kept: int) -> list[tuple[int, int]]:
    """That double, from the first until past the last; a new one begins past the samples that are kept."""
    found = []
    while first < last:
        end = 2 * first
        if first <= kept < end:
            end = kept + 1
        found.append((first, end))
        first = end
    return found


def once_by_hand(
    tilted: Tilted, c: float, weight: float, budget: float, kept: int, depth: float
) -> tuple[float, float]:
    """What Lemma 3b says of all stretches, with the sum over t past the last, and the second β."""
    widths, firsts = np.diff(tilted.ends).tolist(), tilted.firsts.tolist()
    gamma, xi = tilted.gamma.T.tolist(), tilted.xi.T.tolist()
    zero = min(f for f in firsts if f == f)
    least = [min(1.0, *(g for g in row if g == g)) for row in gamma]
    spend, times, end = 0.0, 0.0, 1
    for begin, end in stretches(1, depth / (1 - max(least)), kept):
        means = [g**begin * width for g, width in zip(least, widths, strict=True)]
        spend += beta(weight * c * (end - 1) * price_of_mixing(tilted, means, end - 1), budget)
        times += zero**begin
    for row, spends, width in zip(gamma, xi, widths, strict=True):
        terms = [2 * x * g ** (end - 1) / (1 - g) ** 3 for g, x in zip(row, spends, strict=True) if g < 1]
        spend += weight * end * (end + 1) * min(terms) * width
    times += zero**end / (1 - zero)
    sound = [[(g, f) for g, f in zip(row, firsts, strict=True) if f < 1 and g < math.inf] for row in gamma]
    end = kept + 1
    for begin, end in stretches(kept + 1, kept + depth / (1 - zero), kept):
        logs = [min(kept * math.log(g) + (begin - kept) * math.log(f) for g, f in row) for row in sound]
        means = [math.exp(log) * width for log, width in zip(logs, widths, strict=True)]
        spend += beta(weight * c * (end - 1) * (zero**begin + price_of_mixing(tilted, means, kept)), budget)
    for row, width in zip(sound, widths, strict=True):
        logs = [min(700.0, kept * math.log(g) + (end - kept) * math.log(f)) for g, f in row]
        sums = [math.exp(log) * (end / (1 - f) + 1 / (1 - f) ** 2) for log, (_, f) in zip(logs, row, strict=True)]
        spend += weight * c * (kept + 1) * min(sums) * width
    return spend, times


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("kept", [7, 60])
@pytest.mark.parametrize("depth", [0.3, 2.0, 60.0])
def test_each_pull_once(name, kept, depth, monkeypatch):
    """With so few samples kept, and so few stretches, that all that is past them counts."""
    monkeypatch.setattr(mistakes, "_DEPTH", depth)
    tilted = tilted_of(name)
    for budget, weight, c in ((3.0, 1.5, 2.0), (1e4, 1.0, 400.0), (1e12, 4.0, 2.0)):
        with np.errstate(over="ignore", invalid="ignore"):
            found = at_most_once(tilted, c, weight, budget, kept)
        assert found == pytest.approx(once_by_hand(tilted, c, weight, budget, kept, depth), rel=1e-9)


def test_curvature_by_hand():
    """The largest (z/(1 − uz))² up to U: at u = 0 below 0, at U above; ∞ once 1 − Uz is 0."""
    parts = tilted_of("coins")
    for low, high, within, wanted in (
        (-3.0, 0.5, 0.5, 9.0),
        (-0.1, 0.5, 0.5, (0.5 / 0.75) ** 2),
        (-0.5, 0.5, 0.0, 0.25),
        (0.2, 0.5, 0.8, (0.5 / 0.6) ** 2),
        (-3.0, 1.0, 1.0, math.inf),
        (-3.0, 2.0, 0.6, math.inf),
    ):
        assert parts._replace(low=low, high=high).curvature(within) == pytest.approx(wanted)


@pytest.mark.parametrize("name", ["table", "often free"])
def test_what_both_lemmas_are_given(name, monkeypatch):
    """γ and ξ at the larger end of each cell, the range of Z/M, numbers in their places; and what free pulls add."""
    often = Discrete([0.0, 1.0, 3.0], [0.02, 0.5, 0.4], [0.86, 0.1, 0.04])
    law, rate, bound = LAWS["table"] if name == "table" else (often, 0.3, 1.0)
    arm, seen = kl_rate_bound._arm(law), list[Any]()

    def summed(tilted: Tilted) -> float:
        seen.append(tilted)
        return 10.0

    def once_of(*given: Any) -> Lost:
        seen.append(given)
        return Lost(20.0, 2.0)

    monkeypatch.setattr(kl_rate_bound, "summed", summed)
    monkeypatch.setattr(kl_rate_bound, "at_most_once", once_of)
    monkeypatch.setattr(kl_rate_bound, "_late", lambda decay, spend: 0.5)
    sums, once = kl_rate_bound._lost(arm, rate, bound, 3.0, 1.5, 77.0)
    (tilted, (same, *numbers)), free = seen, kl_rate_bound._freely(arm, rate, bound, 3.0)
    assert same is tilted
    assert numbers == [3.0, 1.5, 77.0, KEPT_EXACTLY]
    decay, spend = (part.tolist() for part in kl_rate_bound._tilts(arm.points, rate, bound))
    for found, ends in ((tilted.gamma, decay), (tilted.xi, spend)):
        assert found.tolist() == [[max(a, b) for a, b in pairwise(row)] for row in ends]
    assert tilted.firsts.tolist() == [row[0] for row in decay]
    z = [(r - rate * x) / bound for x, r, _ in zip(*arm.points, strict=True)]
    assert (tilted.low, tilted.high) == pytest.approx((min(z), max(z)))
    assert sums == pytest.approx((1.5 * (10.5 + free.spend), tilted.first / (1 - tilted.first) + free.times))
    assert once == pytest.approx((20.0 + 1.5 * free.spend, 2.0 + free.times), rel=1e-12)
    assert (once.spend > 20.1) == (name == "often free")
