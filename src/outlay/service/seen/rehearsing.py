"""Rehearsals as a process of their own: `python -m outlay.service.seen.rehearsing` plays what it reads.

They take a processor for seconds, and compiling stops all threads of its process: the service must not wait for that.
"""

import sys
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from outlay.arms import Empirical, Problem
from outlay.campaign.settings import Mode
from outlay.engine.simulate import simulate
from outlay.errors import OutlayError
from outlay.policies import BY_NAME
from outlay.policies.protocol import Policy
from outlay.service.wire.views import Played, Rehearsal, Share, Spread

WORLDS, RUNS = 10, 20
MOST_PULLS = 20_000  # of the best arm in one run: what is larger is scaled down
TOO_LONG = 50  # times as many: a run that goes on so long is given up
FEW = 10  # outcomes, below which little is known of an arm
MOST_SHARES = 5
ENDS = (0.025, 0.5, 0.975)
REFUSED = 3  # the status with which it ends where something cannot be played

Floats = NDArray[np.float64]


class Player(msgspec.Struct):
    """A policy and what it may use."""

    policy: dict[str, Any]  # name, parameters
    budget: float
    requests: int | None


class Order(msgspec.Struct):
    """What to play: of each arm its outcomes, as pairs of cost and reward."""

    arms: dict[str, list[tuple[float, float]]]
    own: Player
    other: Player
    mode: Mode
    left_out: int


def play(order: Order) -> Rehearsal:
    """Play both policies in each world.

    A world redraws each arm's outcomes with replacement: what the outcomes leave open about an arm differs from world
    to world, and chance in the play from run to run. Both play run i with the same random numbers.
    """
    rng = np.random.default_rng(0)
    rows = {name: np.array(pairs, np.float64).T for name, pairs in order.arms.items()}
    scale = _scale(_problem(rows), [order.own, order.other])
    parts = [_in_world(_redrawn(rows, rng), order, scale, seed) for seed in range(WORLDS)]
    own, other = (
        _played(player, scale, list(rows), *(np.concatenate(piece) for piece in zip(*of, strict=True)))
        for player, of in zip((order.own, order.other), zip(*parts, strict=True), strict=True)
    )
    more = np.concatenate([second[0] - first[0] for first, second in parts])
    few = [name for name, pairs in order.arms.items() if len(pairs) < FEW]
    return Rehearsal(own, other, _spread(more), WORLDS, RUNS, scale, order.left_out, few)


def _in_world(problem: Problem, order: Order, scale: float, seed: int) -> list[tuple[Floats, Floats]]:
    """What each policy earned in each run, and its pulls [run, arm]."""
    found = []
    for player in (order.own, order.other):
        requests = None if player.requests is None else max(1, round(scale * player.requests))
        result = simulate(
            problem, _policy(player), [scale * player.budget], requests=requests, mode=order.mode, runs=RUNS, seed=seed,
            workers=1, max_pulls=TOO_LONG * MOST_PULLS, progress=False,
        )  # fmt: skip
        found.append((result.reward[0, :, -1], result.pulls[0, :, -1].astype(np.float64)))
    return found


def _policy(player: Player) -> Policy:
    policy: Policy = BY_NAME[player.policy["name"]](**player.policy.get("parameters", {}))
    return policy


def _problem(rows: dict[str, Floats]) -> Problem:
    return Problem([Empirical(*each) for each in rows.values()], names=list(rows))


def _redrawn(rows: dict[str, Floats], rng: np.random.Generator) -> Problem:
    return _problem({name: each[:, rng.integers(0, each.shape[1], each.shape[1])] for name, each in rows.items()})


def _scale(problem: Problem, players: list[Player]) -> float:
    """By how much all budgets and requests are less, so that they can be played."""
    cheapest = float(problem.mean_costs[problem.best])
    pulls = max(min(player.budget / cheapest, player.requests or np.inf) for player in players)
    return min(1.0, MOST_PULLS / pulls)


def _played(player: Player, scale: float, names: list[str], rewards: Floats, pulls: Floats) -> Played:
    parts = pulls.sum(axis=0) / pulls.sum()
    shares = sorted((Share(name, float(part)) for name, part in zip(names, parts, strict=True)), key=lambda s: -s.share)
    requests = None if player.requests is None else max(1, round(scale * player.requests))
    sizes = _spread(rewards), _spread(pulls.sum(axis=1))
    return Played(player.policy["name"], scale * player.budget, requests, *sizes, shares[:MOST_SHARES])


def _spread(values: Floats) -> Spread:
    low, middle, high = np.quantile(values, ENDS).tolist()
    return Spread(middle, low, high)


def main() -> None:
    """Play what comes in, and say how it went, or why it could not be played."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    try:
        sys.stdout.buffer.write(msgspec.json.encode(play(order)))
    except (OutlayError, ValueError) as error:
        sys.stdout.buffer.write(str(error).encode())
        sys.exit(REFUSED)


if __name__ == "__main__":
    main()
