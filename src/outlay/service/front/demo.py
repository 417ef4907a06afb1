"""A service that is busy: workers route pretended calls of language models through it, until it is stopped."""

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from outlay.campaign import Campaign
from outlay.errors import OutlayError
from outlay.service.front.server import serve
from outlay.service.settings import Settings

CALLS = 200  # that a dollar is to serve, in the first campaign


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


def prompts() -> dict[str, Model]:
    """Thirty prompts for one model: the longer, the dearer, and some are better than others."""
    chance = random.Random(7)  # noqa: S311 (no secret)
    lengths = {f"prompt {number:02}": chance.uniform(0.5, 2.0) for number in range(1, 31)}
    return {name: Model(0.02 * size, 0.005 * size, chance.uniform(0.2, 0.8), 0.2) for name, size in lengths.items()}


class Scene(NamedTuple):
    """A campaign of the demo, and how many workers it has."""

    name: str
    models: Mapping[str, Model]
    budget: float
    requests: int | None
    workers: int


def scenes(budget: float) -> list[Scene]:
    """What is shown: one campaign with a number of calls to serve, and one that only has money.

    >>> [(scene.name, len(scene.models), scene.requests) for scene in scenes(100.0)]
    [('router', 4, 20000), ('prompts', 30, None)]
    """
    router = Scene("router", MODELS, budget, max(1, round(CALLS * budget)), 8)
    return [router, Scene("prompts", prompts(), budget / 4, None, 4)]


def demo(port: int, seconds: float | None, budget: float, say: Callable[[str], object]) -> None:
    """Serve, and keep it busy; `say` is told where to look."""
    with TemporaryDirectory(prefix="outlay-demo-") as folder, ExitStack() as open_scenes:
        store = f"sqlite:///{Path(folder) / 'demo.db'}"
        begin = [open_scenes.enter_context(_playing(scene, store)) for scene in scenes(budget)]

        def ready(address: str) -> None:
            say(f"open {address}/#/c/router; Ctrl-C ends it, and nothing is kept")
            for each in begin:
                each()

        serve(Settings(store=store, port=port), ready, seconds)


@contextmanager
def _playing(scene: Scene, store: str) -> Iterator[Callable[[], None]]:
    """A campaign whose workers begin when what is yielded is called, and end with the block."""
    arms = {name: model.most for name, model in scene.models.items()}
    stop = threading.Event()
    with Campaign(arms, scene.budget, store=store, name=scene.name, ttl=60, requests=scene.requests) as campaign:
        workers = [
            threading.Thread(target=_work, args=(campaign, scene.models, stop, seed)) for seed in range(scene.workers)
        ]

        def begin() -> None:
            for worker in workers:
                worker.start()

        try:
            yield begin
        finally:
            stop.set()
            for worker in workers:
                if worker.is_alive():
                    worker.join()


def _work(campaign: Campaign, models: Mapping[str, Model], stop: threading.Event, seed: int) -> None:
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
        model = models[pull.arm]
        stop.wait(chance.expovariate(1 / model.seconds))
        if chance.random() < 0.002:
            continue  # a worker that died: the pull expires
        cost = min(model.most * 1.1, model.cost * chance.lognormvariate(-0.18, 0.6))
        campaign.tell(pull, round(cost, 9), chance.random() < model.right)
