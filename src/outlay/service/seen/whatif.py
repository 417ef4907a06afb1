"""What if: a campaign from its first pull, as it is and as it might be, on outcomes like those observed."""

import asyncio
import sys
from functools import cache
from importlib.util import find_spec

import msgspec

from outlay.campaign.records import Status
from outlay.policies import BY_NAME, Fixed
from outlay.policies.protocol import as_data
from outlay.service.problems import Refused
from outlay.service.seen.rehearsing import REFUSED, Order, Player
from outlay.service.seen.watched import Watched
from outlay.service.wire.views import Rehearsal, WhatIf

LONGEST = 180.0  # seconds that a rehearsal may take: compiling, the first time, takes some of them
_playing = asyncio.Lock()  # one at a time: each takes a processor


@cache
def toldless() -> list[str]:
    """The names of the policies that can be played without being told anything."""
    found = []
    for name, kind in BY_NAME.items():
        try:
            kind()
        except (TypeError, ValueError):
            continue
        found.append(name)
    return sorted(set(found) - {Fixed.__name__})


async def rehearsed(watched: Watched, wanted: WhatIf) -> Rehearsal:
    """The rehearsal; Refused where too little is known, or another one is being played."""
    if find_spec("numba") is None:
        raise Refused("not_installed", "a rehearsal needs the packages of `pip install 'outlay[simulate]'`")
    order = _order(watched, (await watched.catch_up()).status, wanted)
    if _playing.locked():
        raise Refused("busy", "another rehearsal is being played", 5.0)
    async with _playing:
        return await _play(order)


def _order(watched: Watched, status: Status, wanted: WhatIf) -> Order:
    """What to play, in the order of the arms."""
    own = watched.campaign.policy
    if own is None or type(own).__name__ not in BY_NAME:
        raise Refused("bad_request", "the campaign has a policy of its own, which the service cannot play")
    if wanted.policy is not None and wanted.policy not in toldless():
        raise Refused("bad_request", f"policy must be one of {', '.join(toldless())}; got {wanted.policy[:80]!r}")
    outcomes = watched.outcomes
    arms = {arm.name: [(cost, reward) for _, cost, reward in outcomes.get(arm.name, ())] for arm in status.arms}
    known = {name: pairs for name, pairs in arms.items() if pairs}
    if len(known) < 2:
        raise Refused("bad_request", "a rehearsal needs outcomes of at least two arms")
    requests = status.requests if status.requests is not None else _expected(status)
    mine = Player(as_data(own), status.budget, requests)
    other = Player(
        mine.policy if wanted.policy is None else {"name": wanted.policy},
        wanted.budget or status.budget,
        wanted.requests or requests,
    )
    return Order(known, mine, other, status.mode, len(arms) - len(known))


def _expected(status: Status) -> int | None:
    return None if status.expected is None else status.used + status.expected


async def _play(order: Order) -> Rehearsal:
    """Have another process play it."""
    command = sys.executable, "-m", "outlay.service.seen.rehearsing"
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
