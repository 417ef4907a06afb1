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
from outlay.service.schemas import ArmShare, PolicyOutcome, Spread, WhatIfAnswer, WhatIfBody
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


async def rehearsed(watched: WatchedCampaign, wanted: WhatIfBody) -> WhatIfAnswer:
    """The rehearsal; Refused where too little is known, or another one is being played."""
    if find_spec("numba") is None:
        raise Refused("not_installed", "a rehearsal needs the packages of `pip install 'outlay[simulate]'`")
    task = _task(watched, (await watched.catch_up()).status, wanted)
    if _playing.locked():
        raise Refused("busy", "another rehearsal is being played", 5.0)
    async with _playing:
        return await _play(task)


def _task(watched: WatchedCampaign, status: Status, wanted: WhatIfBody) -> "WhatIfTask":
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
    mine = PolicyRun(as_data(own), status.budget, requests)
    other = PolicyRun(
        mine.policy if wanted.policy is None else {"name": wanted.policy},
        wanted.budget or status.budget,
        wanted.requests or requests,
    )
    return WhatIfTask(known, mine, other, status.mode, len(status.arms) - len(known))


async def _play(task: "WhatIfTask") -> WhatIfAnswer:
    """Have another process play it."""
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
    """A policy to be played, and what it may use."""

    policy: dict[str, Any]  # name, parameters
    budget: float
    requests: int | None


class WhatIfTask(msgspec.Struct):
    """What to play: of each arm its outcomes, as pairs of cost and reward."""

    arms: dict[str, list[tuple[float, float]]]
    own: PolicyRun
    other: PolicyRun
    mode: Mode
    left_out: int


def play(task: WhatIfTask) -> WhatIfAnswer:
    """Play both policies in each world.

    A world redraws each arm's outcomes with replacement: what the outcomes leave open about an arm differs from world
    to world, and chance in the play from run to run. Both play run i with the same random numbers.
    """
    rng = np.random.default_rng(0)
    rows = {name: np.array(pairs, np.float64).T for name, pairs in task.arms.items()}
    problem = Problem([Empirical(*each) for each in rows.values()], names=list(rows))
    cheapest = float(problem.mean_costs[problem.best])
    most = max(min(each.budget / cheapest, each.requests or np.inf) for each in (task.own, task.other))
    scale = min(1.0, MOST_PULLS / most)  # of all budgets and requests, so that they can be played
    pair = [
        PolicyRun(
            each.policy,
            scale * each.budget,
            None if each.requests is None else max(1, round(scale * each.requests)),
        )
        for each in (task.own, task.other)
    ]
    rewards, pulls = [], []  # by world, of both policies
    for seed in range(WORLDS):
        redrawn = [Empirical(*each[:, rng.integers(0, each.shape[1], each.shape[1])]) for each in rows.values()]
        played = [_outcomes(Problem(redrawn, names=list(rows)), each, task.mode, seed) for each in pair]
        rewards.append([each[0] for each in played])
        pulls.append([each[1] for each in played])
    own, other = (
        _summary(each, list(rows), np.concatenate(earned), np.concatenate(pulled))
        for each, earned, pulled in zip(pair, zip(*rewards, strict=True), zip(*pulls, strict=True), strict=True)
    )
    more = np.concatenate([second - first for first, second in rewards])
    few = [name for name, pairs in task.arms.items() if len(pairs) < FEW]
    return WhatIfAnswer(own, other, _spread(more), WORLDS, RUNS, scale, task.left_out, few)


def _outcomes(problem: Problem, run: PolicyRun, mode: Mode, seed: int) -> tuple[Floats, Floats]:
    """What a policy earned in each run, and its pulls [run, arm]."""
    from outlay.engine.simulate import simulate  # brings a compiler, which the service itself does not need

    policy: Policy = BY_NAME[run.policy["name"]](**run.policy.get("parameters", {}))
    result = simulate(
        problem, policy, [run.budget], requests=run.requests, mode=mode, runs=RUNS, seed=seed,
        workers=1, max_pulls=TOO_LONG * MOST_PULLS, progress=False,
    )  # fmt: skip
    return result.reward[0, :, -1], result.pulls[0, :, -1].astype(np.float64)


def _summary(run: PolicyRun, names: list[str], rewards: Floats, pulls: Floats) -> PolicyOutcome:
    parts = pulls.sum(axis=0) / pulls.sum()
    shares = [ArmShare(name, float(part)) for name, part in zip(names, parts, strict=True)]
    largest = sorted(shares, key=lambda each: -each.share)[:MOST_SHARES]
    return PolicyOutcome(
        run.policy["name"], run.budget, run.requests, _spread(rewards), _spread(pulls.sum(axis=1)), largest
    )


def _spread(values: Floats) -> Spread:
    low, middle, high = np.quantile(values, ENDS).tolist()
    return Spread(middle, low, high)


def main() -> None:
    """Play what comes in, and say how it went, or why it could not be played."""
    try:
        answer = play(msgspec.json.decode(sys.stdin.buffer.read(), type=WhatIfTask))
        sys.stdout.buffer.write(msgspec.json.encode(answer))
    except (OutlayError, ValueError) as error:
        sys.stdout.buffer.write(str(error).encode())
        sys.exit(REFUSED)


if __name__ == "__main__":
    main()
