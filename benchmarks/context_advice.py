"""`python -m benchmarks.context_advice`: how often the interval of the gain from contexts holds the gain.

Logs are drawn from laws that are known. In each, both rules are learnt and the gain estimated as `outlay advise
--context` does it; the gain itself, of the very rules that were learnt, comes from many fresh requests, whose mean
costs and rewards are known.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy.stats import qmc

from outlay.advice.contexts import APART, Held, Requests, gain_of, held_out
from outlay.tables import Table

Floats = NDArray[np.float64]
LEVEL = 0.95
FRESH = 4096  # requests that a gain is taken from
PRICES = np.array([0.5, 1.0, 2.0])


class Design(NamedTuple):
    """A law of logs: three arms, three features that are uniform on [−1, 1]."""

    label: str
    rows: int
    gain: float  # how much the features say about rewards; 0 for nothing
    noise: str = "coins"  # of rewards: coins, lognormal, pareto
    chance: str = "even"  # of arms: even, known (by the features), fitted (by the features, and not told), paired
    each: float | None = None  # money for a request


DESIGNS = [
    Design("no gain", 500, 0.0, chance="known"),
    Design("no gain, chance not told", 1000, 0.0, chance="fitted"),
    Design("no gain, requests", 500, 0.0, each=0.8),
    Design("arms chosen evenly", 500, 1.0),
    Design("arms chosen by features, told", 1000, 1.0, chance="known"),
    Design("arms chosen by features, not told", 1000, 1.0, chance="fitted"),
    Design("every arm for every request", 500, 1.0, chance="paired"),
    Design("lognormal rewards", 1000, 1.0, "lognormal", "known"),
    Design("Pareto rewards", 2000, 1.0, "pareto", "known"),
    Design("requests", 1000, 1.0, chance="known", each=0.8),
    Design("requests, not told", 2000, 1.0, chance="fitted", each=0.8),
    Design("requests, Pareto rewards", 2000, 1.0, "pareto", "known", each=0.8),
]


def means(design: Design, features: Floats) -> Floats:
    """Mean cost and reward of each arm, [request, arm, cost or reward]."""
    first, second, _ = features.T
    rewards = np.stack([0.30 - 0.2 * design.gain * first, np.full(len(first), 0.5), 0.70 + 0.25 * design.gain * first])
    costs = PRICES[:, None] * (1.0 + 0.5 * design.gain * second)
    return np.stack([costs.T, rewards.T], axis=-1)


def drawn(design: Design, rng: np.random.Generator) -> Requests:
    """A log."""
    count, arms = design.rows, len(PRICES)
    features = rng.uniform(-1.0, 1.0, (count, 3))
    shares = np.full((count, arms), 1.0 / arms)
    if design.chance in ("known", "fitted"):
        levels = np.exp(np.column_stack([-features[:, 0], np.zeros(count), features[:, 0] + 0.5 * features[:, 2]]))
        shares = levels / levels.sum(axis=1, keepdims=True)
    arm = (rng.random((count, 1)) > np.cumsum(shares, axis=1)[:, :-1]).sum(axis=1)
    used = np.ones((count, arms), bool) if design.chance == "paired" else arm[:, None] == np.arange(arms)
    mean = means(design, features)
    costs = mean[..., 0] * rng.lognormal(-0.125, 0.5, (count, arms))
    if design.noise == "coins":
        rewards = (rng.random((count, arms)) < mean[..., 1]).astype(float)
    elif design.noise == "lognormal":
        rewards = mean[..., 1] * rng.lognormal(-0.5, 1.0, (count, arms))
    else:
        rewards = mean[..., 1] * 0.6 * (1.0 + rng.pareto(2.5, (count, arms)))
    outcomes = np.stack([costs, rewards], axis=-1) * used[..., None]
    chances = shares[np.arange(count), arm] if design.chance in ("even", "known") else None
    return Requests(features, outcomes, used, chances)


def truth(design: Design, held: Held, fresh: Floats) -> tuple[float, float]:
    """The gain of the rules that were learnt, by fresh requests; and as a share."""
    mean, parts, worths = means(design, fresh), np.bincount(held.folds) / len(held.folds), []
    for own in zip(*held.rules, strict=True):
        served = np.array([np.einsum("ik,iko->o", rule.chances(fresh), mean) / len(fresh) for rule in own])
        costs, rewards = served.T
        if design.each is None:
            worths.append(parts @ rewards / (parts @ costs))
        else:
            worths.append(parts @ (rewards - np.array([rule.price for rule in own]) * (costs - design.each)))
    return worths[1] - worths[0], worths[1] / worths[0] - 1.0


def played(design: Design, seed: int) -> tuple[float, ...]:
    """One log: whether there is an interval, whether it misses the gain on either side, and the like of the share."""
    rng = np.random.default_rng([seed, design.rows])
    held = held_out(drawn(design, rng), design.each, seed)
    _, _, gain, share = gain_of(held, design.each, LEVEL)
    own, own_share = truth(design, held, 2.0 * qmc.Sobol(3, rng=rng).random(FRESH) - 1.0)
    missed = not share.low <= own_share <= share.high
    return held.apart >= APART, own < gain.low, own > gain.high, missed, own_share, gain.low > 0.0


def row(design: Design, found: Floats) -> tuple[str, ...]:
    """Shares of the logs with an interval, as text."""
    told = found[found[:, 0] > 0.0]
    under, over, missed, gain, sure = told[:, 1:].mean(axis=0)
    held = 1.0 - under - over
    error = (held * (1.0 - held) / len(told)) ** 0.5
    shares = [f"{share:.1%}" for share in (under, over, 1.0 - missed, len(told) / len(found), sure)]
    return (design.label, f"{design.rows:,}", f"{gain:+.1%}", f"{held:.1%} ± {error:.1%}", *shares)


def main() -> None:
    """Play every design and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("--logs", type=int, default=2000, help="with an interval, of each design")
    parser.add_argument("--workers", type=int, help="processes")
    given, rows = parser.parse_args(), []
    with ProcessPoolExecutor(given.workers) as pool:
        for design in DESIGNS:
            found, count = np.zeros((0, 6)), 0
            while (told := int(found[:, 0].sum())) < given.logs:
                more = range(count, count + max(20, given.logs - told))
                found = np.vstack([found, *pool.map(partial(played, design), more, chunksize=10)])
                count = more.stop
            rows.append(row(design, found))
            print(*rows[-1], sep="  ", flush=True)
    headings = ("design", "rows", "gain", "held", "below", "above", "share held", "told", "sure")
    notes = {
        "gain": "gain: of the rules that were learnt, on average",
        "held": f"held: logs whose {LEVEL:.0%} interval holds the gain, of those that have one",
        "below": "below, above: logs whose gain is below the interval, and above it",
        "share held": "share held: the same for the gain as a share",
        "told": f"told: logs with an interval, since the rules differ for {APART} requests",
        "sure": "sure: logs whose interval is above 0",
    }
    Console().print(Table(headings, rows, f"Intervals of the gain, {given.logs:,} logs each", notes=notes))


if __name__ == "__main__":
    main()
