"""What the dashboard costs on a large ledger: a million events, a thousand arms.

    python -m benchmarks.dashboard [--events 1000000] [--arms 1000] [--store sqlite:///large.db]

Fills a store through a campaign, with pulls a few thousand at a time, then opens it as the service does and prints how
long it takes to see something, how long until all was read, and what one more view takes and weighs. With --store, what
was filled is kept, and used again.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path

from outlay import Campaign
from outlay.errors import NoCampaign
from outlay.service import ServiceSettings
from outlay.service.campaigns import OpenCampaigns
from outlay.service.schemas import DashboardView, encode
from outlay.service.views import BRIEFLY, WatchedCampaign, view_of

NAME = "large"
AT_ONCE = 2000  # pulls under way while it is filled


def fill(store: str, arms: int, events: int) -> None:
    """A campaign with so many events, half of them asks and half tells."""
    chance = random.Random(0)
    names = [f"arm {i}" for i in range(arms)]
    worth = {name: chance.random() for name in names}
    with Campaign(names, float(events), store=store, name=NAME, seed=0) as campaign:
        while campaign.status().events < events:
            pulls = campaign.ask_many(AT_ONCE)
            campaign.tell_many((pull, 0.5 + chance.random(), chance.random() < worth[pull.arm]) for pull in pulls)


async def look(store: str) -> None:
    """Look as the dashboard does, and print what it took."""
    campaigns = OpenCampaigns(ServiceSettings(store=store))
    began = time.perf_counter()
    watched = campaigns.watched(await campaigns.campaign(NAME))
    view, took = await timed(watched)
    print(f"first view {1000 * (time.perf_counter() - began - BRIEFLY):.0f} ms after opening the campaign")
    times = [took]
    while view.read < view.campaign.events:
        view, took = await timed(watched)
        times.append(took)
    wall, processor = (sum(part) for part in zip(*times, strict=True))
    print(f"{view.campaign.events:,} events read in {len(times)} looks: {wall:.1f} s, {processor:.1f} s of a processor")
    times = []
    with Campaign.open(store, NAME) as campaign:
        for _ in range(20):
            pull = campaign.ask()
            assert pull is not None
            campaign.tell(pull, 0.5, 1.0)
            view, took = await timed(watched)
            times.append(took)
    wall, processor = (1000 * statistics.median(part) for part in zip(*times, strict=True))
    print(f"one more view, of {len(view.arms)} of {len(view.arms) + view.other_arms} arms: ", end="")
    size = len(encode(view)) / 1024
    print(f"{wall:.0f} ms, {processor:.0f} ms of a processor (medians of {len(times)}), {size:.0f} KiB")
    await campaigns.close()


async def timed(watched: WatchedCampaign) -> tuple[DashboardView, tuple[float, float]]:
    """A view that is made anew, how many seconds that took, and how many of a processor."""
    await asyncio.sleep(BRIEFLY)
    start, used = time.perf_counter(), time.process_time()
    view = await view_of(watched)
    return view, (time.perf_counter() - start, time.process_time() - used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--arms", type=int, default=1000)
    parser.add_argument("--store", help="sqlite:///… in a new folder if not given")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or f"sqlite:///{Path(folder) / 'large.db'}"
        try:
            with Campaign.open(store, NAME):
                pass
        except NoCampaign:
            began = time.perf_counter()
            fill(store, options.arms, options.events)
            print(f"filled in {time.perf_counter() - began:.0f} s")
        asyncio.run(look(store))


if __name__ == "__main__":
    main()
