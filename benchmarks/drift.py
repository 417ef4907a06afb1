"""Arms that change: regret of what notices, forgets or ignores it, and of rivals; docs/drift.md shows what it prints.

`python -m benchmarks.drift` plays the problems that change, `--stationary` those that do not, `--alarms` counts changes
that are noticed where nothing has changed, `--speed` says what watching costs.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from outlay import Problem, simulate
from outlay.arms import Bernoulli, Gaussian, Linear, Lognormal, Pareto, catalogue
from outlay.arms.law import AnyLaw
from outlay.beliefs import SequentialMoments
from outlay.policies import Forgetful, Thrifty
from outlay.policies import baselines as b
from outlay.results import Floats

IGNORED = Thrifty(changes="ignored")
Piece = tuple[float, Problem]


def coins(*means: float) -> Problem:
    """Rewards are coins, a pull costs 1."""
    return Problem([Bernoulli(1.0, mean) for mean in means])


def paid(*pairs: tuple[float, float]) -> Problem:
    """Arms of a mean cost and a rate: lognormal costs, rewards that vary as much as coins do."""
    return Problem([Lognormal(cost, cost * rate, 0.5 * cost, 0.5) for cost, rate in pairs])


def random_pieces(arms: int, length: float, budget: float, seed: int) -> list[Piece]:
    """Each arm's rate is drawn anew from [0, 1] after an exponential time of this mean, by itself."""
    rng = np.random.default_rng([seed, arms])
    rates, start, pieces = rng.random(arms), 0.0, list[Piece]()
    while start < budget:
        pieces.append((start, paid(*((1.0, float(rate)) for rate in rates))))
        start += float(rng.exponential(length / arms))
        rates[rng.integers(arms)] = rng.random()
    return pieces


def published() -> list[Piece]:
    """SMPyBandits' problem of three coins with four changes."""
    means = (0.3, 0.5, 0.9), (0.3, 0.2, 0.9), (0.3, 0.2, 0.1), (0.7, 0.2, 0.1), (0.7, 0.5, 0.1)
    return [(1000.0 * i, coins(*each)) for i, each in enumerate(means)]


def halves(before: Problem, after: Problem) -> list[Piece]:
    return [(0.0, before), (2500.0, after)]


def swinging() -> list[Piece]:
    """One arm is the better one on average, and in every other stretch of 500."""
    return [(500.0 * i, paid((1, 0.3 if i % 2 else 0.9), (1, 0.5))) for i in range(10)]


CHANGING: dict[str, tuple[float, list[list[Piece]]]] = {
    "SMPyBandits' coins, four changes": (5000.0, [published()]),
    "the leader falls from .8 to .3": (5000.0, [halves(paid((1, 0.8), (1, 0.5)), paid((1, 0.3), (1, 0.5)))]),
    "an arm that was given up rises from .3 to .9": (
        5000.0,
        [halves(paid((1, 0.6), (1, 0.3)), paid((1, 0.6), (1, 0.9)))],
    ),
    "its price falls from 1 to .3": (5000.0, [halves(paid((1, 0.6), (1, 0.3)), paid((1, 0.6), (0.3, 1.0)))]),
    "the leader swings between .9 and .3": (5000.0, [swinging()]),
    "8 arms, each changes once in 4000": (8000.0, [random_pieces(8, 4000.0, 8000.0, seed) for seed in range(40)]),
    "4 arms, each changes once in 1000": (8000.0, [random_pieces(4, 1000.0, 8000.0, seed) for seed in range(40)]),
}
STATIONARY: dict[str, Problem] = {
    **{name: catalogue.load(name) for name in ("G", "H", "gaussian5", "heavy-tails", "near-tie", "bounded")},
    "coins": coins(0.3, 0.5, 0.6),
    "rare coins": coins(0.01, 0.02, 0.03),
    "lognormal": Problem([Lognormal(1.0, mean, 3.0, 3.0, 0.3) for mean in (0.3, 0.5, 0.55, 0.6)]),
    "Pareto 2.2": Problem([Pareto(1.0, mean, 2.2, 2.2) for mean in (0.3, 0.5, 0.55, 0.6)]),
}  # fmt: skip
ALARMS: dict[str, AnyLaw] = {
    "coins, .5": Bernoulli(1.0, 0.5),
    "coins, .01": Bernoulli(1.0, 0.01),
    "Gaussian": Gaussian(1.0, 1.0, 0.5, 0.5),
    "lognormal, sd 3 × the mean": Lognormal(1.0, 1.0, 3.0, 3.0, 0.3),
    "Pareto, 2.2 moments": Pareto(1.0, 1.0, 2.2, 2.2),
    "Pareto, 1.5 moments": Pareto(1.0, 1.0, 1.5, 1.5),
    "linear in a Pareto cost, 3 moments": Linear(Pareto(1.0, 1.0, 3.0), 0.5, 0.1, 0.3),
}


def rivals(budget: float, changes: int) -> dict[str, Any]:
    """With the settings that their papers give for a known number of changes; Thompson's discount is that of D-UCB."""
    many = max(1, changes)
    window = max(2, math.ceil(2.0 * math.sqrt(budget * math.log(budget) / many)))
    return {
        "GLRKLUCB": b.GLRKLUCB(1.0 / math.sqrt(budget), 0.1 * math.sqrt(many * math.log(budget) / budget)),
        "CUSUMUCB": b.CUSUMUCB(
            threshold=math.log(budget / many), explore=min(1.0, math.sqrt(many * math.log(budget / many) / budget))
        ),
        "SWUCB": b.SWUCB(window),
        "DiscountedThompson": b.DiscountedThompson(1.0 - 0.25 * math.sqrt(many / budget)),
    }


def ours(pieces: list[Piece], budget: float) -> dict[str, Any]:
    """Thrifty, and the same told how much is spent between two changes of one arm."""
    laws = [problem.arms for _, problem in pieces]
    changes = sum(one != other for now, then in pairwise(laws) for one, other in zip(now, then, strict=True))
    return {"Thrifty": Thrifty(), "Forgetful": Forgetful(budget * len(laws[0]) / max(1, changes))}


def restarted(pieces: list[Piece], budget: float, runs: int, seed: int) -> Floats:
    """The regret of Thrifty where it begins anew with every piece, whose length is its budget."""
    ends = [start for start, _ in pieces[1:]] + [budget]
    parts = [
        simulate(problem, IGNORED, [end - start], runs=runs, seed=seed + i).run_regret()[0, :, 0]
        for i, ((start, problem), end) in enumerate(zip(pieces, ends, strict=True))
    ]
    return np.asarray(np.sum(parts, axis=0))


def regrets(budget: float, many: list[list[Piece]], runs: int) -> Iterator[tuple[str, Floats]]:
    """The regret of each run of each policy; where there are many problems, as many runs in all, a part of each."""
    each = max(1, runs // len(many))
    told = [restarted(pieces, budget, each, 100 * i) for i, pieces in enumerate(many)]
    yield "begun anew, told when", np.concatenate(told)
    found: dict[str, list[Floats]] = {}
    for i, pieces in enumerate(many):
        problem = Problem.changing(pieces)
        players = {"changes ignored": IGNORED, **ours(pieces, budget), **rivals(budget, len(problem.later))}
        lost = simulate(problem, players, [budget], runs=each, seed=i).run_regret()[..., 0]
        for name, values in zip(players, lost, strict=True):
            found.setdefault(name, []).append(values)
    for name, parts in found.items():
        yield name, np.concatenate(parts)


def changing(runs: int) -> None:
    """Regret ± standard error: over runs, or where problems are drawn over the means of the problems."""
    heads = ["begun anew, told when", "changes ignored", *ours(published(), 1e3), *rivals(1e3, 1)]
    print(f"| problem | {' | '.join(heads)} |\n|---{'|---' * len(heads)}|")
    for name, (budget, many) in CHANGING.items():
        cells = []
        for _, values in regrets(budget, many, runs):
            units = values.reshape(len(many), -1).mean(axis=1) if len(many) > 1 else values
            cells.append(f"{values.mean():.1f} ± {units.std(ddof=1) / math.sqrt(len(units)):.1f}")
        print(f"| {name} | {' | '.join(cells)} |")
        sys.stdout.flush()


def stationary(runs: int) -> None:
    """What noticing, and forgetting with L = the budget, cost where nothing changes, at 10 000 mean costs."""
    print("| problem | changes ignored | noticed ÷ ignored | runs that differ | Forgetful ÷ ignored |")
    print("|---|---|---|---|---|")
    for name, problem in STATIONARY.items():
        budget = 1e4 * float(problem.mean_costs.mean())
        players: dict[str, Any] = {"ignored": IGNORED, "noticed": Thrifty(), "forgetful": Forgetful(budget)}
        lost = simulate(problem, players, [budget], runs=runs).run_regret()[..., 0]
        (ratio, faded), differ = lost[1:].mean(axis=1) / lost[0].mean(), float(np.mean(lost[0] != lost[1]))
        print(f"| {name} | {lost[0].mean():.1f} | {ratio:.4f} | {differ:.2%} | {faded:.2f} |")
        sys.stdout.flush()


def alarms(runs: int) -> None:
    """False alarms in so many runs of 10 000 samples of one arm."""
    print("| law | samples | changes noticed | for each million |\n|---|---|---|---|")
    for name, law in ALARMS.items():
        rng, found = np.random.default_rng(0), 0
        for _ in range(runs):
            memory, known = SequentialMoments.empty(1, watched=True), 0
            for _ in range(10_000):
                memory.observe(0, *law.draw(rng))
                if memory.past.forgotten[0] != known:
                    known, found = memory.past.forgotten[0], found + 1
        print(f"| {name} | {runs * 10_000:,} | {found} | {found / runs * 100:.1f} |")
        sys.stdout.flush()


def speed(runs: int) -> None:
    """Nanoseconds for a pull on one thread, the best of nine."""
    print("| problem | ignored, ns | noticed, ns | ratio |\n|---|---|---|---|")
    for name in ("G", "gaussian5", "H", "heavy-tails", "thousand-arms"):
        problem, best = catalogue.load(name), [math.inf, math.inf]
        play = partial(simulate, problem, budgets=[1e4], runs=max(1, runs // 10), workers=1)
        for turn in range(10):  # the first compiles
            for i, policy in enumerate((IGNORED, Thrifty())):
                start = time.process_time()
                pulls = play(policies=policy).pulls.sum()
                best[i] = min(best[i], 1e9 * (time.process_time() - start) / pulls if turn else math.inf)
        print(f"| {name} | {best[0]:.1f} | {best[1]:.1f} | {best[1] / best[0]:.3f} |")
        sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    for name in ("stationary", "alarms", "speed"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args()
    for name, table in (("stationary", stationary), ("alarms", alarms), ("speed", speed)):
        if getattr(options, name):
            table(options.runs)
            return
    changing(options.runs)


if __name__ == "__main__":
    main()
