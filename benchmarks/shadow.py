"""`python -m benchmarks.shadow`: what another policy would have earned, as a campaign's `shadow` says, and in truth.

Requests are drawn from laws whose means are known. In truth, the gain is the mean over all requests of what the arm
brings that the other policy named, less what the arm brings that was pulled. Printed are how often intervals of 95 %
hold that, the mean gain as it was estimated and in truth, and what the other policy gained when itself in charge.
"""

import argparse
from itertools import product
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from outlay import Campaign
from outlay.campaign.settings import other_policy
from outlay.campaign.shadow import LedgerWalk
from outlay.formulas.argmax import Counts, Now
from outlay.tables import Table

COSTS = np.array([0.1, 0.4, 1.0])
ARMS = [f"arm {arm}" for arm in range(len(COSTS))]
FEATURES = 3
EACH = 0.4  # money for a request


class Even(NamedTuple):
    """Any arm, each with the same chance."""

    def choose(self, memory: Any, now: Now, rng: np.random.Generator) -> int:  # noqa: ARG002 (it looks at nothing)
        """One of the arms."""
        return int(rng.integers(len(COSTS)))

    def chances(self, memory: Any, arms: Counts, now: Now) -> NDArray[np.float64]:  # noqa: ARG002
        """All the same."""
        return np.full(len(arms), 1.0 / len(COSTS))


PAIRS = tuple(product(("Ration", "LinearRation", Even()), ("LinearRation", "Ration")))


class World(NamedTuple):
    """Requests, what each arm brings for them on average, and what it brings."""

    x: NDArray[np.float64]
    means: NDArray[np.float64]  # [request, arm]
    rewards: NDArray[np.float64]


def world_of(law: str, requests: int, seed: int) -> World:
    """Dear arms are better, and the more so by a linear or another function of the features."""
    rng = np.random.default_rng([seed, requests])
    x = rng.standard_normal((requests, FEATURES))
    slopes = rng.normal(size=(FEATURES, len(COSTS))) * 0.15
    if law == "linear":
        means = np.clip(0.35 + 0.3 * COSTS + x @ slopes, 0.0, 1.0)
    else:
        means = 1.0 / (
            1.0 + np.exp(-(COSTS - 0.5 + 3.0 * np.abs(x) @ slopes + 6.0 * (x[:, :1] * x[:, 1:2]) * slopes[0]))
        )
    return World(x, means, (rng.random(means.shape) < means).astype(float))


def played(world: World, policy: Any) -> Campaign:
    """A campaign after all requests, or its last money."""
    count = len(world.x)
    budget = EACH * count
    campaign = Campaign(dict(zip(ARMS, COSTS, strict=True)), budget, policy, requests=count, context=FEATURES)
    for x, rewards in zip(world.x, world.rewards, strict=True):
        pull = campaign.ask(context=x)
        if pull is None:
            break
        arm = ARMS.index(pull.arm)
        campaign.tell(pull, float(COSTS[arm]), float(rewards[arm]))
    return campaign


def main() -> None:
    """Print a row for each law and pair of policies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    rows = []
    for law, (policy, other) in product(("linear", "other"), PAIRS):
        if policy == other:
            continue
        held, seen = [], []
        for seed in range(given.runs):
            world = world_of(law, given.requests, seed)
            campaign, own = played(world, policy), played(world, other)
            walk = LedgerWalk(campaign.policy, other_policy(other, campaign.context, given.requests, len(ARMS)))
            for record in cast("Any", campaign)._ledger.records():
                walk.step(record)
            found, gains = walk.outcome(), []
            for row, (pull, named) in enumerate(zip(campaign.pulls(), walk.named.values(), strict=True)):
                meant = world.means[row, named.arm] if named.arm >= 0 else 0.0
                gains.append(meant - world.means[row, ARMS.index(pull.arm)])
            if found.gain is None or found.gain.low is None or found.gain.high is None:
                continue
            truth = float(np.mean(gains))
            held.append(found.gain.low <= truth <= found.gain.high)
            more = (own.status().reward - campaign.status().reward) / given.requests
            parts = found.by_chance / found.requests, found.by_model / found.requests
            seen.append((found.gain.value, truth, more, (found.gain.high - found.gain.low) / 2.0, *parts))
        value, truth, more, half, chance, model = np.mean(seen, axis=0)
        told = f"{value:+.3f}", f"{truth:+.3f}", f"± {half:.3f}", f"{sum(held)} of {len(held)}", f"{more:+.3f}"
        rows.append([law, policy if isinstance(policy, str) else "Even", other, f"{chance:.0%}", f"{model:.0%}", *told])
        print(*rows[-1], flush=True)
    names = "law", "in charge", "other", "by chance", "by model", "gain, estimated", "in truth", "interval", "holds it"
    print(Table((*names, "in charge itself"), rows, f"{given.requests} requests, {given.runs} runs").markdown())


if __name__ == "__main__":
    main()
