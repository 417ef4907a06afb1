"""`python -m benchmarks.late_rewards`: what it costs to wait for a reward, by each way of telling it late.

Three models, 500 dollars, 20 000 requests; whether an answer was good is known so many requests later, or never.
"""

import argparse
from collections import deque
from collections.abc import Callable
from statistics import fmean, stdev

import numpy as np

from outlay import Campaign
from outlay.campaign.pull import OpenPull
from outlay.errors import NotNow
from outlay.tables import Table

BUDGET, REQUESTS = 500.0, 20_000
MODELS = {"small": (0.004, 0.55), "medium": (0.02, 0.75), "large": (0.06, 0.9)}  # mean cost, share of good answers
MOST = 4.0  # times the mean that a call costs at most

Way = Callable[[OpenPull, float], object]  # what is done when the cost is known
Later = Callable[[Campaign, OpenPull, float, float], object]  # and when the reward is


def nothing(pull: OpenPull, cost: float) -> None:
    """Keep the pull open."""


WAYS: dict[str, tuple[Way, Later]] = {
    "tell(cost), reward later": (
        lambda pull, cost: pull.tell(cost),
        lambda _, pull, __, good: pull.reward(good),
    ),
    "tell(cost, 0), amend later": (
        lambda pull, cost: pull.tell(cost, 0.0),
        lambda campaign, pull, _, good: campaign.amend(pull, reward=good) if good else None,
    ),
    "hold the pull, tell later": (nothing, lambda _, pull, cost, good: pull.tell(cost, good)),
}


def served(way: tuple[Way, Later], delay: int, never: float, seed: int) -> tuple[int, float]:
    """The good answers, and the dollars left."""
    rng = np.random.default_rng(seed)
    at_once, later = way
    campaign = Campaign(
        {name: MOST * cost for name, (cost, _) in MODELS.items()},
        BUDGET,
        requests=REQUESTS,
        mode="hard",
        seed=seed,
        ttl=None,
    )
    waiting: deque[tuple[int, OpenPull, float, float]] = deque()
    held: list[OpenPull] = []
    good_answers = request = 0
    while True:
        while waiting and waiting[0][0] <= request:
            later(campaign, *waiting.popleft()[1:])
        try:
            pull = campaign.ask()
        except NotNow:
            if not waiting:  # only pulls are left that nobody will settle
                for pull in held:
                    pull.charge()
                held = []
                continue
            request = waiting[0][0]
            continue
        if pull is None:
            break
        mean, share = MODELS[pull.arm]
        cost = mean * min(MOST, rng.exponential())
        good = float(rng.random() < share)
        good_answers += int(good)
        at_once(pull, cost)
        if rng.random() >= never:
            waiting.append((request + delay, pull, cost, good))
        elif at_once is nothing:
            held.append(pull)
        request += 1
    for _, pull, cost, good in waiting:
        later(campaign, pull, cost, good)
    for pull in held:
        pull.charge()
    return good_answers, campaign.status().left


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    cases = [(delay, 0.0) for delay in (0, 200, 1000, 5000)] + [(1000, 0.3)]
    rows = []
    for delay, never in cases:
        cells = [f"{delay:,} requests" if not never else f"{delay:,}; {never:.0%} never"]
        for way in WAYS.values():
            good, left = zip(*(served(way, delay, never, seed) for seed in range(runs)), strict=True)
            error = stdev(good) / runs**0.5 if runs > 1 else 0.0
            cells.append(f"{fmean(good):,.0f} ± {error:,.0f}; {fmean(left):,.2f}")
        rows.append(cells)
    caption = f"Good answers; dollars left of {BUDGET:,.0f}, after {REQUESTS:,} requests ({runs} runs)"
    print(Table(("known after", *WAYS), rows, caption, texts=("known after",)).markdown())


if __name__ == "__main__":
    main()
