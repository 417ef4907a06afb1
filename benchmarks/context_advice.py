"""`python -m benchmarks.context_advice`: how often the interval of the gain from contexts holds the gain.

Logs are drawn from laws that are known. In each, both rules are learnt and the gain estimated as `outlay advise
--context` does it; the gain itself, of the very rules that were learnt, comes from many fresh requests, whose mean
costs and rewards are known.
"""

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

from outlay.advice import contexts
from outlay.advice.contexts import Held, Requests
from outlay.tables import Table

Floats = NDArray[np.float64]
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
    Design("gain", 500, 1.0),
    Design("gain, by features, told", 1000, 1.0, chance="known"),
    Design("gain, by features, not told", 1000, 1.0, chance="fitted"),
    Design("gain, every arm", 500, 1.0, chance="paired"),
    Design("gain, lognormal", 1000, 1.0, "lognormal", "known"),
    Design("gain, Pareto 2.5", 2000, 1.0, "pareto", "known"),
    Design("no gain, requests", 500, 0.0, each=0.8),
    Design("gain, requests", 1000, 1.0, chance="known", each=0.8),
    Design("gain, requests, not told", 2000, 1.0, chance="fitted", each=0.8),
    Design("gain, requests, Pareto 2.5", 2000, 1.0, "pareto", "known", each=0.8),
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
    """The gain of the rules that were learnt, by fresh requests, and as a share."""
    mean, parts = means(design, fresh), np.bincount(held.folds) / len(held.folds)
    worths = []
    for index in range(2):
        values = []
        for rules in held.rules:
            values.append(np.einsum("ik,iko->io", rules[index].chances(fresh), mean).mean(axis=0))
        costs, rewards = np.array(values).T
        if design.each is None:
            worths.append(parts @ rewards / (parts @ costs))
        else:
            prices = np.array([rules[index].price for rules in held.rules])
            worths.append(parts @ (rewards - prices * (costs - design.each)))
    return worths[1] - worths[0], worths[1] / worths[0] - 1.0


def covered(design: Design, seed: int) -> tuple[float, ...]:
    """Of one log: whether the interval holds the gain, the one below and above it; the gain and the width."""
    rng = np.random.default_rng([seed, 17])
    held = contexts.held_out(drawn(design, rng), design.each, seed)
    _, _, gain, share = contexts.gain_of(held, design.each, 0.95)
    fresh = 2.0 * qmc.Sobol(3, rng=rng).random(FRESH) - 1.0
    own, own_share = truth(design, held, fresh)
    wide = gain.high - gain.low
    return (
        gain.low - 1e-12 <= own <= gain.high + 1e-12,
        own < gain.low - 1e-12,
        own > gain.high + 1e-12,
        share.low - 1e-12 <= own_share <= share.high + 1e-12,
        own_share,
        wide,
        gain.low > 0,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=2000)
    args = parser.parse_args()
    rows = []
    with ProcessPoolExecutor() as pool:
        for design in DESIGNS:
            found = np.array(list(pool.map(partial(covered, design), range(args.logs), chunksize=20)))
            mean = found.mean(axis=0)
            error = (mean[0] * (1 - mean[0]) / args.logs) ** 0.5
            rows.append((design.label, f"{design.rows}", f"{mean[0]:.2%} ± {error:.2%}", f"{mean[1]:.2%}", f"{mean[2]:.2%}", f"{mean[3]:.2%}",f"{mean[4]:+.2%}",f"{mean[5]:.3g}",f"{mean[6]:.2%}"))
            print(*rows[-1], sep="  ", flush=True)


if __name__ == "__main__":
    main()
