"""A real browser for tests: Debian's Chromium, driven by Playwright; what it says, what it breaks, what it looks like.

`make browser` installs what is needed beside the other requirements and runs these tests. Chromium is where
OUTLAY_CHROMIUM says, /usr/bin/chromium otherwise. With OUTLAY_SHOTS, a folder, they leave pictures to look at.
"""

import os
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from outlay import Campaign
from outlay.campaign.stores.base import Clock
from outlay.errors import OutlayError
from tests.service.conftest import POLICY

HOSTILE = "</script><img src=x onerror=alert(1)>"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 800}, "device_scale_factor": 2},
}
WATCH = """window.broken = [];
document.addEventListener("securitypolicyviolation", (event) => window.broken.push(event.violatedDirective));"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: `make browser` installs it")
    path = os.environ.get("OUTLAY_CHROMIUM", "/usr/bin/chromium")
    if not Path(path).exists():
        pytest.skip(f"there is no browser at {path}: nothing of the dashboard was tried")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page, and what was said and broken in it."""

    def __init__(self, browser: Any, look: str) -> None:
        self.context = browser.new_context(**LOOKS[look])
        self.context.add_init_script(WATCH)
        self.page = self.context.new_page()
        self.look = look
        self.said: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))

    def shot(self, name: str, **how: Any) -> None:
        """Leave a picture, where somebody wants one."""
        if folder := os.environ.get("OUTLAY_SHOTS"):
            self.page.screenshot(path=f"{folder}/{name}-{self.look}.png", **how)

    def check(self) -> None:
        """Nothing was said in the console, nothing broke the page's policy, and nothing is wider than the page."""
        said = [line for line in self.said if "status of 401" not in line and "status of 403" not in line]
        assert said == [], said
        broken = self.page.evaluate("window.broken")
        assert broken == [], broken
        assert self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert self.page.locator("main img").count() == 0

    def check_accessible(self) -> None:
        """axe-core finds nothing: names, roles, contrast, structure."""
        axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe: `make browser`")
        found = axe.Axe().run(self.page).response
        wrong = [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]]
        assert wrong == [], wrong
        assert len(found["passes"]) > 10


@contextmanager
def visiting(browser: Any, look: str = "light") -> Iterator[Visit]:
    visit = Visit(browser, look)
    yield visit
    visit.check()
    visit.context.close()


@contextmanager
def over_hours(calls: int) -> Iterator[None]:
    """Three hours go by in so many looks at the clock, up to now."""
    start, step = time.time_ns() // 1000 - 3 * 3_600_000_000, 3 * 3_600_000_000 // calls
    looks = count()
    with patch.object(Clock, "now", lambda _, wall=None, at_least=0: max(at_least, start + step * next(looks))):
        yield


def fill(store: str) -> None:
    """Campaigns of 3, 30 and 1000 arms, one of them called what no page may take for markup."""
    chance = random.Random(1)
    for number in (3, 30, 1000):
        worth = {HOSTILE: 0.8} | {f"arm {i}": chance.random() for i in range(1, number)}
        policy = "Thrifty" if number == 1000 else POLICY
        arms = dict.fromkeys(worth, 1.0)
        with over_hours(190), Campaign(arms, 500, policy, store=store, name=f"with {number} arms") as campaign:
            for _ in range(80):
                pulls = campaign.ask_many(10)
                campaign.tell_many((pull, 0.6 * chance.random(), chance.random() < worth[pull.arm]) for pull in pulls)
            for pull in campaign.ask_many(2):
                campaign.cancel(pull)
            for pull in campaign.ask_many(3):
                campaign.charge(pull)
                campaign.tell(pull, 0.2, 1)
            campaign.ask_many(12, key="nightly")


KIND = ["chat", HOSTILE, "proof"]
CONTEXT: dict[str, Any] = {"kind": KIND, "tenant": ["a", "b"], "length": "number:500", "words": "hashed:4"}


def fill_by_kind(store: str) -> None:
    """A campaign that is told of each request."""
    chance, worth = random.Random(2), {"small": (0.6, 0.3, 0.05), "large": (0.6, 0.6, 0.9)}
    terms: dict[str, Any] = {"arms": {"small": 0.1, "large": 1.0}, "budget": 100, "requests": 300, "context": CONTEXT}
    with over_hours(400), Campaign(**terms, store=store, name="by kind") as campaign:
        for _ in range(150):
            kind = chance.choice(KIND)
            told = {"kind": kind, "tenant": chance.choice("ab"), "length": chance.expovariate(1 / 400), "words": ["x"]}
            pull = campaign.ask(context=told)
            assert pull is not None
            campaign.tell(pull, pull.reserved, chance.random() < worth[pull.arm][KIND.index(kind)])


@contextmanager
def busy(store: str, name: str) -> Iterator[None]:
    """A campaign that somebody pulls, until the end."""
    over, chance = threading.Event(), random.Random(3)

    def work() -> None:
        with Campaign.open(store, name) as campaign:
            while not over.wait(0.02):
                try:
                    pull = campaign.ask()
                except OutlayError:
                    continue  # it is paused
                if pull is None:
                    return
                pull.tell(0.001 * chance.random(), chance.random() < 0.5)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join(20)
