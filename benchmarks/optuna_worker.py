"""Optuna's ask and tell, timed; run by benchmarks/campaign.py with the Python that has it: STORE CALLERS SECONDS."""

import sys
import threading
import time
import warnings

import optuna


def main() -> None:
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    store, callers, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    sampler = optuna.samplers.RandomSampler(seed=0)  # the cheapest
    study = optuna.create_study(storage=None if store == "memory" else store, sampler=sampler, direction="maximize")
    made = [0] * callers

    def pair() -> None:
        trial = study.ask()
        arm = trial.suggest_categorical("arm", ["a", "b", "c"])
        study.tell(trial, 1.0 if arm == "a" else 0.5)

    def work(i: int) -> None:
        while time.perf_counter() < end:
            pair()
            made[i] += 1

    for _ in range(3):
        pair()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(callers)]
    start = time.perf_counter()
    end = start + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(made) / (time.perf_counter() - start))


if __name__ == "__main__":
    main()
