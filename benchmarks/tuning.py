"""`python -m benchmarks.tuning`: studies of 500 trials whose costs differ 100-fold: outlay's sampler, TPE and random.

Three problems with the same five prices, from 1 to 100, around which the cost of a trial scatters; 5000 for 500 trials.
Each study ends when the budget is spent, or after 500 trials. Every sampler but the random one samples the two
numeric parameters by TPE.
"""

import argparse
import math
import random
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from statistics import fmean, stdev
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray

from outlay.integrations.optuna import OutlaySampler
from outlay.tables import Table

BUDGET, TRIALS = 5000.0, 500
PRICES = (1, 3, 10, 30, 100)
Parameters = tuple[float, float]  # both between 0 and 1
Problem = Callable[[int, Parameters, int, random.Random], float]  # which price, parameters, seed of the study: a value


def hidden(price: int, at: Parameters, seed: int, _: random.Random) -> float:
    """A hill for each price, whose height has nothing to do with the price."""
    law = random.Random(seed)
    hills = [(law.uniform(0.2, 1.0), law.random(), law.random()) for _ in PRICES]
    height, x, y = hills[price]
    return height * math.exp(-4 * ((at[0] - x) ** 2 + (at[1] - y) ** 2))


def tour(price: int, at: Parameters, seed: int, chance: random.Random) -> float:
    """Share of a tour's length through 30 cities that annealing saves; the price is the number of moves, in fifties."""
    cities = _cities(seed)
    order = [*range(len(cities))]
    chance.shuffle(order)
    length: float = sum(abs(cities[a] - cities[b]) for a, b in zip(order, order[1:] + order[:1], strict=True))
    before = length
    heat, moves = math.pow(10, 3 * at[0] - 3), 50 * PRICES[price]
    cooling = math.pow(math.pow(10, -3 * at[1]), 1 / moves)
    for _ in range(moves):
        i, j = sorted(chance.sample(range(len(order)), 2))
        a, b, c, d = (cities[order[k]] for k in (i - 1, i, j, (j + 1) % len(order)))
        change = abs(a - c) + abs(b - d) - abs(a - b) - abs(c - d)
        if not (i == 0 and j == len(order) - 1) and (change < 0 or chance.random() < math.exp(-change / heat)):
            order[i : j + 1] = order[i : j + 1][::-1]
            length += change
        heat *= cooling
    return 1 - length / before


@cache
def _cities(seed: int) -> list[complex]:
    law = random.Random(seed)
    return [complex(law.random(), law.random()) for _ in range(30)]


def regression(price: int, at: Parameters, seed: int, _: random.Random) -> float:
    """Share of the variance that one of five models explains; the two parameters are its ridge and its width."""
    x, y, tests, truth = _samples(seed)
    ridge, width = 10 ** (5 * at[0] - 4), 10 ** (2 * at[1] - 1)
    rng = np.random.default_rng(seed)
    if price == 0:  # a line
        features, others = x, tests
    elif price == 1:  # squares, too
        features, others = np.hstack([x, x * x]), np.hstack([tests, tests * tests])
    elif price in (2, 3):  # 30 or 100 cosines
        turns = rng.standard_normal((x.shape[1], 30 if price == 2 else 100)) / width
        shifts = rng.uniform(0, 2 * np.pi, turns.shape[1])
        features, others = np.cos(x @ turns + shifts), np.cos(tests @ turns + shifts)
    else:  # a bump at each sample
        features, others = (np.exp(-((a[:, None] - x) ** 2).sum(2) / (2 * width**2)) for a in (x, tests))
    gram = features.T @ features + ridge * np.eye(features.shape[1])
    found = others @ np.linalg.solve(gram, features.T @ y)
    return max(0.0, 1 - float(((found - truth) ** 2).mean() / truth.var()))


@cache
def _samples(seed: int) -> tuple[NDArray[np.float64], ...]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (200, 3))
    y = np.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * x[:, 1] + 0.3 * rng.standard_normal(200)
    y -= y.mean()
    return x[:100], y[:100], x[100:], y[100:]


def improvement() -> Callable[[float], float]:
    """By how much a value is better than all before it."""
    best = 0.0

    def reward(value: float) -> float:
        nonlocal best
        gain, best = max(0.0, value - best), max(best, value)
        return gain

    return reward


def rank() -> Callable[[float], float]:
    """The share of the values before it that it beats."""
    values: list[float] = []

    def reward(value: float) -> float:
        share = sum(value > each for each in values) / max(1, len(values))
        values.append(value)
        return share

    return reward


def outlays(reward: Any, **terms: Any) -> Callable[[int], OutlaySampler]:
    def made(seed: int) -> OutlaySampler:
        given = reward() if callable(reward) else reward
        return OutlaySampler({"price": PRICES}, BUDGET, cost="cost", reward=given, seed=seed, **terms)

    return made


PROBLEMS: Mapping[str, Problem] = {"hidden": hidden, "tour": tour, "regression": regression}
SAMPLERS: Mapping[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    "random": lambda seed: optuna.samplers.RandomSampler(seed),
    "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "outlay, value": outlays("value"),
    "outlay, value, 500 trials": outlays("value", requests=TRIALS),
    "outlay, top": outlays("top"),
    "outlay, top, 500 trials": outlays("top", requests=TRIALS),
    "outlay, improvement": outlays(improvement),
    "outlay, improvement, 500 trials": outlays(improvement, requests=TRIALS),
    "outlay, rank": outlays(rank),
    "outlay, rank, 500 trials": outlays(rank, requests=TRIALS),
}


def played(case: tuple[str, str, int]) -> tuple[float, float, int, float]:
    """The sum of all values, the best of them, the number of trials and what they cost."""
    problem, sampler, seed = case
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    chance = random.Random(seed)
    spent = 0.0

    def objective(trial: optuna.Trial) -> float:
        nonlocal spent
        price = trial.suggest_categorical("price", PRICES)
        at = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        cost = price * chance.uniform(0.5, 1.5)
        trial.set_user_attr("cost", cost)
        spent += cost
        if spent > BUDGET:
            trial.study.stop()
        return PROBLEMS[problem](PRICES.index(price), at, seed, chance)

    study = optuna.create_study(direction="maximize", sampler=SAMPLERS[sampler](seed))
    study.optimize(objective, n_trials=TRIALS)
    values = [trial.value for trial in study.trials]
    return math.fsum(values), max(values), len(values), spent


def shown(numbers: Sequence[float], digits: int) -> str:
    error = stdev(numbers) / len(numbers) ** 0.5 if len(numbers) > 1 else 0.0
    return f"{fmean(numbers):.{digits}f} ± {error:.{digits}f}"


def main() -> None:
    """Print a table for each problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.workers) as pool:
        for problem in PROBLEMS:
            rows = []
            for sampler in SAMPLERS:
                cases = [(problem, sampler, seed) for seed in range(given.runs)]
                sums, best, trials, spent = zip(*pool.map(played, cases), strict=True)
                rows.append([sampler, shown(sums, 1), shown(best, 3), f"{fmean(trials):.0f}", f"{fmean(spent):,.0f}"])
            heads = ("sampler", "sum of values", "best value", "trials", "spent")
            print(Table(heads, rows, f"{problem}, {given.runs} runs", texts=("sampler",)).markdown(), flush=True)


if __name__ == "__main__":
    main()
