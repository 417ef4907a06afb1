"""A service that is busy: eight workers route pretended calls of language models through it, until it is stopped."""

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from outlay.campaign import Campaign
from outlay.errors import OutlayError
from outlay.service.server import serve
from outlay.service.settings import Settings

NAME = "router"
WORKERS = 8
REQUESTS = 6000  # calls to be served: with the budget, what one may cost on average


class Model(NamedTuple):
    """A language model as the demo pretends it: what a call costs at most, on average, and how often it is right."""

    most: float
    cost: float
    right: float
    seconds: float


MODELS = {
    "tiny": Model(0.002, 0.0004, 0.35, 0.05),
    "small": Model(0.01, 0.002, 0.62, 0.1),
    "medium": Model(0.05, 0.012, 0.78, 0.2),
    "large": Model(0.3, 0.08, 0.9, 0.4),
}


def demo(port: int, seconds: float | None, budget: float, say: Callable[[str], object]) -> None:
    """Serve, and keep it busy; `say` is told where to look."""
    with TemporaryDirectory(prefix="outlay-demo-") as folder:
        store = f"sqlite:///{Path(folder) / 'demo.db'}"
        arms = {name: model.most for name, model in MODELS.items()}
        stop = threading.Event()
        with Campaign(arms, budget, store=store, name=NAME, ttl=60, requests=REQUESTS) as campaign:
            workers = [threading.Thread(target=_work, args=(campaign, stop, seed)) for seed in range(WORKERS)]

            def ready(address: str) -> None:
                say(f"open {address}/#/c/{NAME}; Ctrl-C ends it, and nothing is kept")
                for worker in workers:
                    worker.start()

            try:
                serve(Settings(store=store, port=port), ready, seconds)
            finally:
                stop.set()
                for worker in workers:
                    if worker.is_alive():
                        worker.join()


def _work(campaign: Campaign, stop: threading.Event, seed: int) -> None:
    """Ask, pretend to call, tell; now and then a call fails, or is forgotten."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    while not stop.is_set():
        try:
            pull = campaign.ask(wait=True, timeout=1.0)
        except OutlayError:
            continue  # not now: somebody paused it, or all is set aside
        if pull is None:
            time.sleep(0.5)  # until somebody gives it more budget
            continue
        model = MODELS[pull.arm]
        stop.wait(chance.expovariate(1 / model.seconds))
        if chance.random() < 0.002:
            continue  # a worker that died: the pull expires
        cost = min(model.most * 1.1, model.cost * chance.lognormvariate(-0.18, 0.6))
        campaign.tell(pull, round(cost, 9), chance.random() < model.right)
