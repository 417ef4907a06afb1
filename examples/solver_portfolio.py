"""Solve as many instances as half an hour of computing allows, with one of four solvers.

The cost of an attempt is its seconds, up to a timeout; the reward is 1 if it solved the instance. Times are
heavy-tailed: most attempts are short, a few take all of the timeout. The ledger is a file, so the work can stop at any
time and resume later. Times are made up: put your own solver in `attempt`.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import outlay

TIMEOUT = 60.0
SOLVERS = {  # shortest time, tail index (below 2, only the timeout keeps the variance finite), chance to solve at all
    "greedy": (0.5, 1.6, 0.05),
    "local search": (2.0, 1.3, 0.80),
    "tree search": (4.0, 0.9, 0.95),
    "exact": (20.0, 0.7, 1.00),
}
rng = np.random.default_rng(0)


def attempt(solver: str) -> tuple[float, float]:
    """Seconds used, and whether the instance was solved."""
    shortest, tail, chance = SOLVERS[solver]
    seconds = shortest * (1 + rng.pareto(tail))
    solved = seconds < TIMEOUT and rng.random() < chance
    return min(seconds, TIMEOUT), float(solved)


def session(store: str, budget: float, attempts: int) -> outlay.Campaign:
    """Work on the campaign in `store` until the budget is spent, for at most so many attempts."""
    with outlay.Campaign(list(SOLVERS), budget, store=store) as campaign:
        for _ in range(attempts):
            if (pull := campaign.ask()) is None:
                break
            seconds, solved = attempt(pull.arm)
            campaign.tell(pull, cost=seconds, reward=solved)
        print(campaign)
        for arm in campaign.status().arms:
            print(f"  {arm.name:<12} {arm.pulls:>4} attempts  {arm.spent:>7.0f} s  {arm.reward:>4.0f} solved")
    return campaign


def main(budget: float = 1800.0) -> None:
    """Two sessions, one budget in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{Path(folder) / 'solvers.db'}"
        session(store, budget, attempts=50)
        session(store, budget, attempts=10**6)


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
