"""How much a worse arm can cost while the best arm looks bad by mistake: Lemmas 3a and 3b of docs/kl-rate-regret.md.

A mistake after t pulls of the best arm is worth H_t = S_t·max_u L_t(u) of another arm's costs, L_t(u) being the product
of 1 − uZ_i/M. Lemma 3 has (t + 1) times the mean of L_t over u in [0, 1] for the largest. Near the peak of L_t less is
enough: the price of the mean over [0, U] is 1 + U√(2Qt/π) only, if the second derivative of ln L_t is ≥ −Qt there
(Lemma 3a). And a worse arm is pulled once at each number s of its pulls, whatever t is: not the sum of the H_t counts,
but their maximum over stretches of t, which is capped by the budget (Lemma 3b).
"""

import math
from typing import NamedTuple

import numpy as np

from outlay.checks import Vector

_WITHIN = (0, 20, 40, 55, 65, 75, 85, 92, 99, 106)  # places of U among the cells
_STRETCH = 2  # from the beginning of a stretch of t to that of the next
_DEPTH = 60.0  # e⁻⁶⁰ is nothing
_LARGEST = 700.0  # of exp


class Lost(NamedTuple):
    """What other arms may cost by mistakes about the best arm, and how many there are: by t, or by stretches of t."""

    spend: float
    times: float


class Tilted(NamedTuple):
    """γ and ξ of Lemma 3, the larger of both ends: a row for each θ, a column for each cell of u."""

    gamma: Vector
    xi: Vector
    ends: Vector  # of the cells, one more than these
    firsts: Vector  # γ at u = 0, for each θ
    low: float  # the least Z/M there is
    high: float  # and the largest

    def curvature(self, within: float) -> float:
        """Q: the largest (Z/M)²/(1 − uZ/M)² for u up to U = `within`; ∞ where 1 − uZ/M can be 0."""
        room = 1.0 - within * self.high
        return max(min(self.low, 0.0) ** 2, (self.high / room) ** 2 if room > 0 else math.inf)

    @property
    def first(self) -> float:
        """The least γ at u = 0."""
        return float(np.nanmin(self.firsts))

    @property
    def cubes(self) -> Vector:
        """2ξ/(1−γ)³, ∞ where γ ≥ 1."""
        return np.where(self.gamma < 1.0, 2.0 * self.xi / np.maximum(1.0 - self.gamma, 1e-99) ** 3, math.inf)


def summed(tilted: Tilted) -> float:
    """Σ E[H_t; A_t] over t, with the price 1 + U√(2Qt/π) up to U and t + 1 beyond (Lemma 3a); at U = 0 it is Lemma 3.

    ∫₀ᵁ ξ(1/(U(1−γ)²) + √(2Q(1+γ)/π)/(1−γ)^(5/2)) du + ∫_U^1 2ξ/(1−γ)³ du/(1−U).
    """
    widths, found = np.diff(tilted.ends), []
    beyond = np.nanmin(tilted.cubes, axis=0) * widths
    rest = np.where(tilted.gamma < 1.0, np.maximum(1.0 - tilted.gamma, 1e-99), 0.0)
    for place in _WITHIN:
        within = float(tilted.ends[place])
        total = float(beyond[place:].sum()) / (1.0 - within)
        if place:
            price = np.sqrt(2.0 * tilted.curvature(within) * (1.0 + tilted.gamma[:, :place]) / math.pi)
            with np.errstate(divide="ignore", invalid="ignore"):
                near = rest[:, :place]
                terms = np.where(
                    near > 0, tilted.xi[:, :place] * (1 / (within * near**2) + price / near**2.5), math.inf
                )
            total += float((np.nanmin(terms, axis=0) * widths[:place]).sum())
        found.append(total)
    return min(found)


def at_most_once(tilted: Tilted, largest: float, weight: float, budget: float, kept: int) -> Lost:
    """E[min(B, weight·max H_t)] over stretches of t, and the chance of a mistake in each, summed over them (Lemma 3b).

    With Y_t the mean of tilted L_t over a part of [0, 1], a supermartingale, and a the bound on weight·H_t with E[Y] of
    the stretch's beginning: P(max ≥ h) ≤ a/h, so that the mean is at most a(1 + ln(B/a)). With `_judged_by_kept`.
    """
    least, widths = np.minimum(np.nanmin(tilted.gamma, axis=0), 1.0), np.diff(tilted.ends)
    last = _DEPTH / max(1e-9, 1.0 - float(least.max()))
    spend, times, begin = 0.0, 0.0, 1
    while begin < last:
        end = _next(begin, kept)
        height = _height(tilted, least**begin * widths, end - 1)
        spend += _capped(weight * largest * (end - 1) * height, budget)
        times += tilted.first**begin
        begin = end
    with np.errstate(invalid="ignore"):
        after = np.where(tilted.gamma < 1.0, tilted.cubes * tilted.gamma ** (begin - 1), math.inf)
    spend += weight * begin * (begin + 1) * float((np.nanmin(after, axis=0) * widths).sum())
    spend += _judged_by_kept(tilted, largest, weight, budget, kept)
    return Lost(spend, times + tilted.first**begin / (1.0 - tilted.first))


def _judged_by_kept(tilted: Tilted, largest: float, weight: float, budget: float, kept: int) -> float:
    """What is added where the best arm has more pulls than the n samples that are kept, by which it is judged then.

    The same with L of the first n samples, γ(u)ⁿ·γ(0)^(t−n) in place of γ(u)^t, and 1 where these speak for the arm.
    """
    fine = (tilted.firsts < 1.0)[:, None] & np.isfinite(tilted.gamma)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(fine, kept * np.log(tilted.gamma), math.inf)
        falls = np.where(fine, np.log(tilted.firsts)[:, None], 0.0)
    spend, begin, last, widths = 0.0, kept + 1, kept + _DEPTH / (1.0 - tilted.first), np.diff(tilted.ends)
    while begin < last:
        end = _next(begin, kept)
        means = np.exp(np.minimum((logs + (begin - kept) * falls).min(axis=0), _LARGEST))
        height = _height(tilted, means * widths, kept) + tilted.first**begin
        spend += _capped(weight * largest * (end - 1) * height, budget)
        begin = end
    rest = np.where(fine, -np.expm1(falls), 1.0)
    after = np.exp(np.minimum(logs + (begin - kept) * falls, _LARGEST)) * (begin / rest + 1.0 / rest**2)
    return spend + weight * largest * (kept + 1) * float((after.min(axis=0) * widths).sum())


def _height(tilted: Tilted, means: Vector, samples: int) -> float:
    """A bound on E[max_u L] of so many samples, from E[L] in each cell times its width: the best U is taken."""
    below, found = np.concatenate([[0.0], np.cumsum(means)]), []
    for place in _WITHIN:
        within = float(tilted.ends[place])
        height = (samples + 1) * float(below[-1] - below[place]) / (1.0 - within)
        if place:
            price = 1.0 + within * math.sqrt(2.0 * tilted.curvature(within) * samples / math.pi)
            height += price * float(below[place]) / within
        found.append(height)
    return min(found)


def _next(begin: int, kept: int) -> int:
    """Where the next stretch begins; one begins after the samples that are kept."""
    return min(_STRETCH * begin, kept + 1) if begin <= kept else _STRETCH * begin


def _capped(height: float, budget: float) -> float:
    """∫ min(1, a/h) dh up to B."""
    return height * (1.0 + math.log(budget / height)) if 0.0 < height < budget else min(height, budget)
