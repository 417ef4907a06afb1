"""What it costs to choose before results are in: regret with 0, 1, 10 and 100 pulls under way.

`python -m benchmarks.delay` runs campaigns in memory on a problem of the catalogue. Results come in the order in which
they were asked for, each when so many others have been asked for since. `unaware` chooses as if nothing were under way.
"""

import argparse
from collections import deque
from contextlib import nullcontext, suppress
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from outlay import Campaign, Problem, policies
from outlay.arms import catalogue
from outlay.campaign.ledger.learner import Learner
from outlay.errors import NotNow

DELAYS = (0, 1, 10, 100)
POLICIES: tuple[Any, ...] = (policies.Frugal(), policies.KLRate(), policies.Fieller())


def regret(problem: Problem, policy: Any, budget: float, delay: int, seed: int) -> float:
    """Pseudo-regret of one campaign whose results come `delay` asks late."""
    rng = np.random.default_rng(np.random.SeedSequence(20, spawn_key=(seed,)))
    campaign = Campaign(list(problem.names), budget, policy, seed=seed, ttl=None)
    under_way = deque[Any]()
    spent = 0.0
    while spent <= budget:
        with suppress(NotNow):  # what is left of the budget is set aside
            while len(under_way) <= delay:
                under_way.append(campaign.ask())
        pull = under_way.popleft()
        cost, reward = problem.arms[problem.names.index(pull.arm)].draw(rng)
        campaign.tell(pull, cost, reward)
        spent += cost
    pulls = np.array([arm.pulls for arm in campaign.status().arms])
    return float(pulls @ (problem.mean_costs * problem.gaps))


def unaware() -> Any:
    """A learner that does not see what is under way."""
    return patch.object(Learner, "_with", lambda self, in_flight: (self.memory, self.pulls))  # noqa: ARG005


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--problem", default="gaussian5")
    options.add_argument("--budget", type=float, default=1000.0)
    options.add_argument("--runs", type=int, default=40)
    given = options.parse_args()
    problem = catalogue.load(given.problem)
    table = Table("policy", box=SIMPLE_HEAD, pad_edge=False)
    for delay in DELAYS:
        table.add_column(f"{delay} under way" if delay else "none under way", justify="right")
    for policy in POLICIES:
        for aware in (True, False):
            cells = []
            for delay in DELAYS:
                with nullcontext() if aware else unaware():
                    found = [regret(problem, policy, given.budget, delay, run) for run in range(given.runs)]
                cells.append(f"{np.mean(found):.1f} ± {np.std(found, ddof=1) / np.sqrt(given.runs):.1f}")
            table.add_row(type(policy).__name__ + ("" if aware else ", unaware"), *cells)
    console = Console(width=120, highlight=False)
    console.print(f"Regret on {given.problem} at budget {given.budget:g}, {given.runs} runs: mean ± standard error")
    console.print(table)


if __name__ == "__main__":
    main()
