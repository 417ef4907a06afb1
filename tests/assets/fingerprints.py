"""Digests of what every policy does on every law: equal digests mean equal bits.

`NUMBA_DISABLE_JIT=1 python -m tests.assets.fingerprints 0 1` prints them as JSON, with seeds 0 and 1, from interpreted
play, which is the compiled one's equal and spares hundreds of compilations.
"""

import hashlib
import json
import sys
import warnings

from outlay import Problem, Result, simulate
from tests.assets.examples import LAWS, MIXED, PLAYERS


def digests(seeds: list[int]) -> dict[str, dict[str, list[str]]]:
    """Law → policy → a digest for each seed."""
    found: dict[str, dict[str, list[str]]] = {}
    for law, laws in {**LAWS, "mixed": tuple(MIXED.values())}.items():
        problem = Problem(laws)
        scale = float(problem.mean_costs.min())
        of_law = found.setdefault(law, {label: [] for label in PLAYERS})
        for seed in seeds:
            result = simulate(problem, PLAYERS, budgets=[20.0 * scale, 50.0 * scale], runs=1, seed=seed)
            for i, label in enumerate(PLAYERS):
                of_law[label].append(_digest(result, i))
    return found


def _digest(result: Result, i: int) -> str:
    sha = hashlib.sha256()
    for array in (result.pulls[i], result.cost[i], result.reward[i]):
        sha.update(array.tobytes())
    return sha.hexdigest()[:12]


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # that it is interpreted
    json.dump(digests([int(seed) for seed in sys.argv[1:]]), sys.stdout, indent=1)
