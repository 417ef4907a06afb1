"""What a wrong forecast costs: campaigns that are told another number of requests than will come.

The requests that come are served until they or the money end. A forecast that is never corrected is compared with one
that is corrected at each quarter of what came, and with a burst that nobody foresaw: `expect` is told half of the
requests at first, and of the other half when it begins. In memory, with `Ration`, on three arms like language models.

    python -m benchmarks.forecast [--runs 20]
"""

import argparse
import math
import statistics

import numpy as np

from outlay import Campaign, Problem, theory
from outlay.arms import Bernoulli
from outlay.policies import Ration

COSTS, REWARDS = {"small": 0.02, "medium": 0.15, "large": 0.6}, {"small": 0.45, "medium": 0.7, "large": 0.85}
OFF = (-0.5, -0.25, 0.0, 0.25, 0.5, 1.0)


def served(come: int, budget: float, told: list[tuple[int, int]], seed: int) -> float:
    """The reward of a campaign with so many requests; `told` are pairs (requests before it, requests still to come)."""
    rng, forecasts = np.random.default_rng(seed), dict(told)
    campaign = Campaign(list(COSTS), budget, Ration(), seed=seed)
    for n in range(come):
        if n in forecasts:
            campaign.expect_requests(forecasts[n])
        pull = campaign.ask()
        if pull is None:
            break
        cost = COSTS[pull.arm] * 2.0 * rng.random()
        campaign.tell(pull, cost, float(rng.random() < REWARDS[pull.arm]))
    return campaign.status().reward


def best(come: int, budget: float) -> float:
    """What the best mix brings, by the hull of the means."""
    arms = [Bernoulli(COSTS[name], REWARDS[name]) for name in COSTS]
    return come * theory.fluid(Problem(arms), budget=budget, requests=come).value


def loss(come: int, budget: float, told: list[tuple[int, int]], runs: int) -> str:
    """Regret in percent of the best mix, with its standard error."""
    lost = [100 * (1 - served(come, budget, told, seed) / best(come, budget)) for seed in range(runs)]
    return f"{statistics.mean(lost):5.1f} ± {statistics.stdev(lost) / math.sqrt(runs):.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    come = 1000
    for per_request in (0.1, 0.3):
        budget = come * per_request
        print(f"{come} requests, a budget of {budget:g}: regret in percent of the best mix, {runs} runs")
        print("  forecast     never corrected     corrected at each quarter")
        for off in OFF:
            forecast = round(come * (1 + off))
            once = [(0, forecast)]
            corrected = [(0, forecast)] + [
                (come * k // 4, round((come - come * k // 4) * (1 + off * (4 - k) / 4))) for k in (1, 2, 3)
            ]
            print(f"  {off:+6.0%}       {loss(come, budget, once, runs):>15} {loss(come, budget, corrected, runs):>22}")
        burst = [(0, come // 2), (come // 2 - 50, come // 2 + 50)]
        print(f"  a burst: half foreseen, the rest told late {loss(come, budget, burst, runs)}\n")


if __name__ == "__main__":
    main()
