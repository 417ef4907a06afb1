"""One package plays one bandit problem: `python peers_worker.py NAME '{"means": [...], ...}'` prints pulls per second.

Runs in the interpreter that has the package, so it needs numpy and nothing of outlay; benchmarks/peers.py calls it.
Every player is used as its documentation tells for simulations, in the fastest way it offers on one core.
"""

import contextlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FLOOR, ALPHA, FACTOR, STABLE = 1e-12, 2.1, 1.4, 0.21875  # UCB-B1's constants, as in outlay.policies.UCBB1


class Job(NamedTuple):
    """What to play: Gaussian rewards, and Gaussian costs of mean 1 for the player that knows costs."""

    means: list[float]
    deviation: float
    pulls: int
    seconds: float


def smpybandits(job: Job) -> Callable[[], int]:
    """Its Evaluator, without joblib; the vectorised UCB; rewards drawn ahead (`cache_rewards`) where that is faster."""
    configuration = {
        "horizon": job.pulls,
        "repetitions": 1,
        "n_jobs": 1,
        "verbosity": 0,
        "cache_rewards": len(job.means) < 50,
        "environment": [
            {
                "arm_type": import_module("SMPyBandits.Arms").UnboundedGaussian,
                "params": [(mean, job.deviation) for mean in job.means],
            }
        ],
        "policies": [{"archtype": import_module("SMPyBandits.Policies").UCB, "params": {}}],
    }
    evaluator = import_module("SMPyBandits.Environment").Evaluator

    def run() -> int:
        evaluator(configuration).startAllEnv()
        return job.pulls

    return run


def mabwiser(job: Job) -> Callable[[], int]:
    """MAB with one `predict` and one `partial_fit` per pull: its own Simulator replays logged data only."""
    mab: Any = import_module("mabwiser.mab")
    arms = list(range(len(job.means)))
    rng = np.random.default_rng(0)

    def run() -> int:
        noise = (job.deviation * rng.standard_normal(job.pulls)).tolist()
        bandit = mab.MAB(arms, mab.LearningPolicy.UCB1(alpha=1.0), n_jobs=1)
        bandit.fit(arms, [mean + error for mean, error in zip(job.means, noise, strict=False)])
        for error in noise[len(arms) :]:
            arm = bandit.predict()
            bandit.partial_fit([arm], [job.means[arm] + error])
        return job.pulls

    return run


def river(job: Job) -> Callable[[], int]:
    """The pull/update loop of its documentation, without a Gym environment in between."""
    bandit: Any = import_module("river.bandit")
    arms = range(len(job.means))
    rng = np.random.default_rng(0)

    def run() -> int:
        policy = bandit.UCB(delta=1, seed=0)
        for error in (job.deviation * rng.standard_normal(job.pulls)).tolist():
            arm = policy.pull(arms)
            policy.update(arm, job.means[arm] + error)
        return job.pulls

    return run


def pymab(job: Job) -> Callable[[], int]:
    """Its Experiment in the compiled (Rust) backend, each policy drawing rewards of its own."""
    package: Any = import_module("pymab")
    setting = {"seed": 0, "reward_coupling": "independent"}
    config = package.ExperimentConfig(horizon=job.pulls, n_replicates=1, backend="rust", **setting)
    experiment = package.Experiment(**pymab_game(job), config=config)

    def run() -> int:
        experiment.run()
        return job.pulls

    return run


def pymab_loop(job: Job) -> Callable[[], int]:
    """The compiled loop under Experiment, which is not public: no history of every pull is checked and kept."""
    backend: Any = import_module("pymab._backend")
    setting = {"seed": 0, "reward_coupling": "independent", "record_contexts": False}
    game = pymab_game(job)

    def run() -> int:
        backend.run_native_experiment(**game, horizon=job.pulls, n_replicates=1, **setting)
        return job.pulls

    return run


def pymab_game(job: Job) -> dict[str, Any]:
    """The arms and the policy, as both take them."""
    reward = import_module("pymab.distributions").GaussianReward(std=job.deviation)
    arms = import_module("pymab").BanditEnvironment(means=np.array(job.means), reward_model=reward)
    policy = import_module("pymab.policies").UCBPolicy(n_arms=len(job.means))
    return {"environment": arms, "policies": {"ucb": policy}}


def numpy_loop(job: Job) -> Callable[[], int]:
    """UCB1 as one writes it by hand: arrays of counts and means, one argmax per pull."""
    rng = np.random.default_rng(0)
    arms = len(job.means)

    def run() -> int:
        noise = job.deviation * rng.standard_normal(job.pulls)
        counts = np.ones(arms)
        means = np.array(job.means) + noise[:arms]
        for pull in range(arms, job.pulls):
            arm = np.argmax(means + np.sqrt(2.0 * np.log(pull) / counts))
            counts[arm] += 1.0
            means[arm] += (job.means[arm] + noise[pull] - means[arm]) / counts[arm]
        return job.pulls

    return run


def runs_at_once(arms: int) -> int:
    """So many that numpy's calls are paid for and the arrays still fit the cache."""
    return 10_000 // arms


def numpy_batch(job: Job) -> Callable[[], int]:
    """The same loop for many runs in step: every array has a row per run."""
    truth = np.array(job.means)
    arms = len(truth)
    runs = runs_at_once(arms)
    row = np.arange(runs)
    rng = np.random.default_rng(0)

    def run() -> int:
        counts = np.ones((runs, arms))
        means = truth + job.deviation * rng.standard_normal((runs, arms))
        for pull in range(arms, job.pulls):
            arm = np.argmax(means + np.sqrt(2.0 * np.log(pull) / counts), axis=1)
            reward = truth[arm] + job.deviation * rng.standard_normal(runs)
            counts[row, arm] += 1.0
            means[row, arm] += (reward - means[row, arm]) / counts[row, arm]
        return runs * job.pulls

    return run


def numpy_budget(job: Job) -> Callable[[], int]:
    """UCB-B1 on random costs until every run's budget is spent, many runs in step: outlay's problem, by hand."""
    truth = np.array(job.means)
    arms = len(truth)
    runs = runs_at_once(arms)
    row = np.arange(runs)
    rng = np.random.default_rng(0)

    def run() -> int:
        counts = np.ones((runs, arms))
        cost = 1.0 + job.deviation * rng.standard_normal((runs, arms))
        reward = truth + job.deviation * rng.standard_normal((runs, arms))
        spent = cost.sum(axis=1)
        pulls, made = arms, runs * arms
        while playing := int(np.count_nonzero(spent <= job.pulls)):
            radius = job.deviation * np.sqrt(ALPHA / 2.0 * np.log(pulls) / counts)
            rate = np.maximum(reward, 0.0) / np.maximum(cost, FLOOR)
            score = np.where(radius < STABLE * cost, rate + FACTOR * (radius + rate * radius) / cost, np.inf)
            arm = np.argmax(score, axis=1)
            paid = 1.0 + job.deviation * rng.standard_normal(runs)
            earned = truth[arm] + job.deviation * rng.standard_normal(runs)
            counts[row, arm] += 1.0
            cost[row, arm] += (paid - cost[row, arm]) / counts[row, arm]
            reward[row, arm] += (earned - reward[row, arm]) / counts[row, arm]
            spent += paid
            pulls += 1
            made += playing
        return made

    return run


PLAYERS: dict[str, Callable[[Job], Callable[[], int]]] = {
    "SMPyBandits": smpybandits,
    "MABWiser": mabwiser,
    "river": river,
    "PyMAB": pymab,
    "PyMAB, loop alone": pymab_loop,
    "numpy, run by run": numpy_loop,
    "numpy, runs in step": numpy_batch,
    "numpy, outlay's problem": numpy_budget,
}


def speed(player: Callable[[Job], Callable[[], int]], job: Job) -> float:
    """Pulls per CPU second, over whole runs, after a short one that warms up."""
    player(job._replace(pulls=2 * len(job.means)))()
    run = player(job)
    made = 0
    start = time.process_time()
    while (spent := time.process_time() - start) < job.seconds:
        made += run()
    return made / spent


def main() -> None:
    warnings.simplefilter("ignore")
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
        result = speed(PLAYERS[sys.argv[1]], Job(**json.loads(sys.argv[2])))
    print(result)


if __name__ == "__main__":
    main()
