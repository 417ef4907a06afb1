"""Workers on many machines share a budget that a service keeps; each needs its address, and nothing else.

    outlay serve &
    python examples/shared_budget.py http://localhost:8700 0.5

Replace `call` with your own. Tells are kept in a file while the service is away, and delivered when it is back.
"""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import outlay

MOST = {"small": 0.002, "medium": 0.01, "large": 0.05}  # dollars that a call can cost


def call(model: str, chance: random.Random) -> tuple[float, float]:
    """What a call of a language model cost, and whether its answer was any good."""
    right = {"small": 0.5, "medium": 0.8, "large": 0.9}[model]
    return round(MOST[model] * chance.uniform(0.2, 0.8), 6), float(chance.random() < right)


def work(address: str, seed: int, spool: Path) -> int:
    """One worker, as it would run on a machine of its own."""
    chance, done = random.Random(seed), 0  # noqa: S311 (no secret)
    with outlay.Client(address, "shared", spool=spool) as client:
        for pull in client:
            with pull:  # charged, should the call raise
                cost, reward = call(pull.arm, chance)
                pull.tell(cost=cost, reward=reward)
                done += 1
        client.deliver()
    return done


def main(address: str, budget: float) -> None:
    """Four workers, until the budget is spent."""
    with outlay.Client(address, "shared") as client, TemporaryDirectory() as folder, ThreadPoolExecutor(4) as pool:
        client.create(MOST, budget, mode="hard")
        done = pool.map(lambda seed: work(address, seed, Path(folder) / f"tells-{seed}"), range(4))
        print(f"calls made by each worker: {[*done]}")
        status = client.status()
        print(f"spent ${status.exact.spent.normalize():f} of ${status.exact.budget.normalize():f}: {status.phase}")


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "http://localhost:8700", float(sys.argv[2]) if sys.argv[2:] else 0.5)
