"""What if: a campaign played again in another process, as it is and with changes, on outcomes like those observed."""

import asyncio
import math
import sys
import time
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import Any

import msgspec
import numpy as np

from outlay.arms import Empirical, Problem
from outlay.campaign.ledger.events import Mode
from outlay.checks import Vector
from outlay.errors import OutlayError, RunTooLong
from outlay.policies import BY_NAME, Fixed
from outlay.policies.protocol import Policy, as_data
from outlay.results import Result
from outlay.service.problems import Refused
from outlay.service.schemas import ArmShare, PolicyOutcome, Spread, WhatIfAnswer
from outlay.service.views import WatchedCampaign

WORLDS, RUNS = 10, 20
AT_ONCE = 2  # runs of a world, before another world's turn comes
MOST_SECONDS = 5.0  # of playing; after that it is cut short
MOST_PULLS = 20_000  # of the best arm in one run; larger campaigns are scaled down
TOO_LONG = 10  # times as many pulls, after which a run is given up
FEW = 10  # outcomes, below which little is known about an arm
MOST_SHARES = 5
ENDS = (0.025, 0.5, 0.975)
REFUSED = 3  # exit status if something cannot be played
LONGEST = 180.0  # seconds for a rehearsal, including compiling the first time
_playing = asyncio.Lock()  # one at a time: each occupies a processor


@cache
def parameter_free() -> list[str]:
    """The names of the policies that need no parameters."""
    found = []
    for name, kind in BY_NAME.items():
        with suppress(TypeError, ValueError):
            kind()
            found.append(name)
    return sorted(set(found) - {Fixed.__name__})


async def rehearsed(
    watched: WatchedCampaign, policy: str | None, budget: float | None, requests: int | None
) -> WhatIfAnswer:
    """Compare the campaign as it is with another policy, budget or number of requests, each where not None.

    Refused if too little is known, or another rehearsal is running.
    """
    if find_spec("numba") is None:
        raise Refused("not_installed", "a rehearsal needs the packages of `pip install 'outlay[simulate]'`")
    status, own = (await watched.catch_up()).status, watched.campaign.policy
    if own is None or type(own).__name__ not in BY_NAME:
        raise Refused("bad_request", "the campaign has a policy of its own, which the service cannot play")
    if watched.campaign.context is not None:
        raise Refused("bad_request", "a rehearsal knows requests that are all alike, and this campaign has a context")
    if policy is not None and policy not in parameter_free():
        raise Refused("bad_request", f"policy must be one of {', '.join(parameter_free())}; got {policy[:80]!r}")
    outcomes = watched.monitor.outcomes
    names = [arm.name for arm in status.arms if arm.name in outcomes]
    known = {name: [(cost, reward) for _, cost, reward in outcomes[name].kept] for name in names}
    if len(known) < 2:
        raise Refused("bad_request", "a rehearsal needs outcomes of at least two arms")
    limit = status.requests
    if limit is None and status.expected is not None:
        limit = status.used + status.expected
    as_is = PolicyRun(as_data(own), status.budget, limit)
    named = as_is.policy if policy is None else {"name": policy}
    other = PolicyRun(named, budget or status.budget, requests or limit)
    task = WhatIfTask(known, as_is, other, status.mode, len(status.arms) - len(known))
    if _playing.locked():
        raise Refused("busy", "another rehearsal is being played", 5.0)
    async with _playing:
        return await _play_elsewhere(task)


async def _play_elsewhere(task: "WhatIfTask") -> WhatIfAnswer:
    command = sys.executable, "-m", "outlay.service.what_if"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(LONGEST):
            said, _ = await process.communicate(msgspec.json.encode(task))
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
    return msgspec.json.decode(said, type=WhatIfAnswer)


class PolicyRun(msgspec.Struct):
    """A policy to play, and what it may spend."""

    policy: dict[str, Any]  # name, parameters
    budget: float
    requests: int | None


class WhatIfTask(msgspec.Struct):
    """What to play; `arms` has each arm's outcomes as pairs of cost and reward."""

    arms: dict[str, list[tuple[float, float]]]
    own: PolicyRun
    other: PolicyRun
    mode: Mode
    left_out: int


def play(task: WhatIfTask) -> WhatIfAnswer:
    """Play both policies in each world, a few runs in one after the other, until all are played or time is over.

    A world redraws each arm's outcomes with replacement, because they are only a sample; chance in the play differs
    from run to run. Both policies play run i with the same random numbers.
    """
    from outlay.engine.simulate import simulate  # imports a compiler, which the service does not need

    rng = np.random.default_rng(0)
    rows = {name: np.array(pairs, np.float64).T for name, pairs in task.arms.items()}
    problem = Problem([Empirical(*each) for each in rows.values()], names=list(rows))
    cheapest = float(problem.mean_costs[problem.best])
    most = max(min(each.budget / cheapest, each.requests or np.inf) for each in (task.own, task.other))
    scale = min(1.0, MOST_PULLS / most)  # of all budgets and requests, so that they can be played
    worlds = []
    for _ in range(WORLDS):
        redrawn = [Empirical(*each[:, rng.integers(0, each.shape[1], each.shape[1])]) for each in rows.values()]
        worlds.append(Problem(redrawn, names=list(rows)))
    own, other = (_scaled(each, scale) for each in (task.own, task.other))
    found: tuple[list[Result], list[Result]] = [], []
    until = math.inf
    for seed in range(WORLDS * RUNS // AT_ONCE):
        for run, results in zip((own, other), found, strict=True):
            policy: Policy = BY_NAME[run.policy["name"]](**run.policy.get("parameters", {}))
            results.append(
                simulate(
                    worlds[seed % WORLDS], policy, [run.budget], requests=run.requests, mode=task.mode, runs=AT_ONCE,
                    seed=seed, workers=1, max_pulls=TOO_LONG * MOST_PULLS, progress=False,
                )
            )  # fmt: skip
        if seed == 0:  # which compiles
            until = time.monotonic() + MOST_SECONDS
        if time.monotonic() > until:
            break
    more = _rewards(found[1]) - _rewards(found[0])
    few = [name for name, pairs in task.arms.items() if len(pairs) < FEW]
    outcomes = _outcome(own, found[0]), _outcome(other, found[1])
    return WhatIfAnswer(*outcomes, _spread(more), WORLDS, RUNS, len(more), scale, task.left_out, few)


def _scaled(run: PolicyRun, scale: float) -> PolicyRun:
    requests = None if run.requests is None else max(1, round(scale * run.requests))
    return PolicyRun(run.policy, scale * run.budget, requests)


def _rewards(results: list[Result]) -> Vector:
    return np.concatenate([result.reward[0, :, -1] for result in results])


def _outcome(run: PolicyRun, results: list[Result]) -> PolicyOutcome:
    """How a policy does in all worlds."""
    pulls = np.concatenate([result.pulls[0, :, -1] for result in results]).astype(np.float64)  # [run, arm]
    parts = (pulls.sum(axis=0) / pulls.sum()).tolist()
    shares = [ArmShare(name, part) for name, part in zip(results[0].problem.names, parts, strict=True)]
    largest = sorted(shares, key=lambda each: -each.share)[:MOST_SHARES]
    spreads = _spread(_rewards(results)), _spread(pulls.sum(axis=1))
    return PolicyOutcome(run.policy["name"], run.budget, run.requests, *spreads, largest)


def _spread(values: Vector) -> Spread:
    low, middle, high = np.quantile(values, ENDS).tolist()
    return Spread(middle, low, high)


def main() -> None:
    """Play the task on stdin; write the answer, or why it cannot be played, to stdout."""
    try:
        sys.stdout.buffer.write(
            msgspec.json.encode(play(msgspec.json.decode(sys.stdin.buffer.read(), type=WhatIfTask)))
        )
    except RunTooLong as error:
        spent = f"{error.policy} spent {error.spent:.3g} of {error.budget:.3g} in {error.pulls} pulls"
        _refuse(f"{spent}: it pulls arms that cost too little for a rehearsal")
    except (OutlayError, ValueError) as error:
        _refuse(str(error))


def _refuse(why: str) -> None:
    sys.stdout.buffer.write(why.encode())
    sys.exit(REFUSED)


if __name__ == "__main__":
    main()
