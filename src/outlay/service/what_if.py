"""What if: a campaign from its first pull, as it is and as it might be, rehearsed in another process."""

import asyncio
import sys
from functools import cache
from importlib.util import find_spec
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from outlay.arms import Empirical, Problem
from outlay.campaign.ledger.events import Mode
from outlay.campaign.records import Status
from outlay.errors import OutlayError
from outlay.policies import BY_NAME, Fixed
from outlay.policies.protocol import Policy, as_data
from outlay.service.problems import Refused
from outlay.service.schemas import ArmShare, Played, Rehearsal, Spread, WhatIfBody
from outlay.service.views import WatchedCampaign

WORLDS, RUNS = 10, 20
MOST_PULLS = 20_000  # of the best arm in one run: what is larger is scaled down
TOO_LONG = 50  # times as many: a run that goes on so long is given up
FEW = 10  # outcomes, below which little is known of an arm
MOST_SHARES = 5
ENDS = (0.025, 0.5, 0.975)
REFUSED = 3  # the status with which it ends where something cannot be played
Floats = NDArray[np.float64]
LONGEST = 180.0  # seconds that a rehearsal may take: compiling, the first time, takes some of them
_playing = asyncio.Lock()  # one at a time: each takes a processor


@cache
def parameter_free() -> list[str]:
    """The names of the policies that can be played without being told anything."""
    found = []
    for name, kind in BY_NAME.items():
        try:
            kind()
        except (TypeError, ValueError):
            continue
        found.append(name)
    return sorted(set(found) - {Fixed.__name__})


async def rehearsed(watched: WatchedCampaign, wanted: WhatIfBody) -> Rehearsal:
    """The rehearsal; Refused where too little is known, or another one is being played."""
    if find_spec("numba") is None:
        raise Refused("not_installed", "a rehearsal needs the packages of `pip install 'outlay[simulate]'`")
    order = _order(watched, (await watched.catch_up()).status, wanted)
    if _playing.locked():
        raise Refused("busy", "another rehearsal is being played", 5.0)
    async with _playing:
        return await _play(order)


def _order(watched: WatchedCampaign, status: Status, wanted: WhatIfBody) -> "Order":
    """What to play, in the order of the arms."""
    own = watched.campaign.policy
    if own is None or type(own).__name__ not in BY_NAME:
        raise Refused("bad_request", "the campaign has a policy of its own, which the service cannot play")
    if wanted.policy is not None and wanted.policy not in parameter_free():
        raise Refused("bad_request", f"policy must be one of {', '.join(parameter_free())}; got {wanted.policy[:80]!r}")
    outcomes = watched.monitor.outcomes
    names = [arm.name for arm in status.arms if arm.name in outcomes]
    known = {name: [(cost, reward) for _, cost, reward in outcomes[name].kept] for name in names}
    if len(known) < 2:
        raise Refused("bad_request", "a rehearsal needs outcomes of at least two arms")
    requests = status.requests
    if requests is None and status.expected is not None:
        requests = status.used + status.expected
    mine = Player(as_data(own), status.budget, requests)
    other = Player(
        mine.policy if wanted.policy is None else {"name": wanted.policy},
        wanted.budget or status.budget,
        wanted.requests or requests,
    )
    return Order(known, mine, other, status.mode, len(status.arms) - len(known))


async def _play(order: "Order") -> Rehearsal:
    """Have another process play it."""
    command = sys.executable, "-m", "outlay.service.what_if"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(LONGEST):
            said, _ = await process.communicate(msgspec.json.encode(order))
    except TimeoutError:
        raise Refused("busy", f"the rehearsal took more than {LONGEST:g} s", 5.0) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == REFUSED:
        raise Refused("bad_request", said.decode())
    if process.returncode != 0:
        raise RuntimeError(f"the rehearsal ended with status {process.returncode}")
    return msgspec.json.decode(said, type=Rehearsal)


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
    from outlay.engine import simulate  # brings a compiler, which the service itself does not need

    found = []
    for player in (order.own, order.other):
        policy: Policy = BY_NAME[player.policy["name"]](**player.policy.get("parameters", {}))
        requests = None if player.requests is None else max(1, round(scale * player.requests))
        result = simulate(
            problem, policy, [scale * player.budget], requests=requests, mode=order.mode, runs=RUNS, seed=seed,
            workers=1, max_pulls=TOO_LONG * MOST_PULLS, progress=False,
        )  # fmt: skip
        found.append((result.reward[0, :, -1], result.pulls[0, :, -1].astype(np.float64)))
    return found


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
    shares = sorted(
        (ArmShare(name, float(part)) for name, part in zip(names, parts, strict=True)), key=lambda s: -s.share
    )
    requests = None if player.requests is None else max(1, round(scale * player.requests))
    sizes = _spread(rewards), _spread(pulls.sum(axis=1))
    return Played(player.policy["name"], scale * player.budget, requests, *sizes, shares[:MOST_SHARES])


def _spread(values: Floats) -> Spread:
    low, middle, high = np.quantile(values, ENDS).tolist()
    return Spread(middle, low, high)


def main() -> None:
    """Play what comes in, and say how it went, or why it could not be played."""
    try:
        sys.stdout.buffer.write(msgspec.json.encode(play(msgspec.json.decode(sys.stdin.buffer.read(), type=Order))))
    except (OutlayError, ValueError) as error:
        sys.stdout.buffer.write(str(error).encode())
        sys.exit(REFUSED)


if __name__ == "__main__":
    main()
