"""The dashboard in a real browser: what people do there, what its console says, how it looks.

Needs Playwright, which is not among the requirements, and a Chromium: `OUTLAY_CHROMIUM` says where, /usr/bin/chromium
otherwise. With OUTLAY_SHOTS, a folder, it leaves pictures to look at.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlay import Campaign
from outlay.service.keys.book import KeyBook
from tests.service.conftest import POLICY, running

pytestmark = pytest.mark.soak
HOSTILE = "</script><img src=x onerror=alert(1)>"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 900}},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 800}, "device_scale_factor": 2},
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    path = os.environ.get("OUTLAY_CHROMIUM", "/usr/bin/chromium")
    if not Path(path).exists():
        pytest.skip(f"there is no {path}")
    with playwright.sync_playwright() as running_:
        browser = running_.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def filled(store: str) -> str:
    """Campaigns of 3, 30 and 1000 arms, one of them called what no page may take for markup."""
    chance = random.Random(1)
    for number in (3, 30, 1000):
        arms = {HOSTILE: 1.0} | {f"arm {i}": 1.0 for i in range(1, number)}
        policy = "Thrifty" if number == 1000 else POLICY
        with Campaign(arms, 200 * number, policy, store=store, name=f"with {number} arms") as campaign:
            for _ in range(10):
                pulls = campaign.ask_many(40)
                campaign.tell_many((pull, 0.6 * chance.random(), chance.random() < 0.5) for pull in pulls)
            campaign.ask_many(30)
    return store


def page_of(browser: Any, said: list[str], **look: Any) -> Any:
    page = browser.new_context(**look).new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    return page


def shot(page: Any, name: str, **how: Any) -> None:
    if folder := os.environ.get("OUTLAY_SHOTS"):
        page.screenshot(path=f"{folder}/{name}.png", **how)


def test_a_campaign_is_made_watched_and_closed(browser: Any, filled: str, book: KeyBook) -> None:
    token, _ = book.new("boss", ["admin"])
    said: list[str] = []
    with running(filled) as address:
        page = page_of(browser, said, **LOOKS["light"])
        page.goto(address)
        page.get_by_label("Key").fill("out_wrong")
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("A valid key is needed.").wait_for()
        shot(page, "login")
        page.get_by_label("Key").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("button", name="New campaign").click()
        page.get_by_label("Name", exact=True).fill("made here")
        page.get_by_role("textbox", name="Budget").fill("12.5")
        shot(page, "new")
        page.get_by_role("button", name="Create").click()
        page.get_by_role("heading", name="made here").wait_for()
        with Campaign.open(filled, "made here") as campaign:
            campaign.ask().tell(cost=0.003, reward=1)  # type: ignore[union-attr]
        page.get_by_text("live", exact=True).wait_for()
        page.get_by_role("cell", name="told").wait_for()
        for button, state in (("Pause", "paused"), ("Resume", "open")):
            page.get_by_role("button", name=button).click()
            page.get_by_role("dialog").get_by_role("button", name=button).click()
            page.locator(".badge", has_text=state).wait_for()
        page.get_by_role("button", name="Set budget").click()
        page.get_by_label("Budget, all of it").fill("99")
        page.get_by_role("button", name="Set", exact=True).click()
        page.locator("dd", has_text="99").first.wait_for()
        page.get_by_role("button", name="Disable small").click()
        page.get_by_role("dialog").get_by_role("button", name="Disable").click()
        page.get_by_role("button", name="Enable small").wait_for()
        page.get_by_role("button", name="Close").click()
        for typed in ("another", "made here"):
            page.get_by_label("Name", exact=True).fill(typed)
            page.get_by_role("dialog").get_by_role("button", name="Close").click()
        page.locator(".badge", has_text="closed").wait_for()
        shot(page, "closed", full_page=True)
        page.get_by_role("button", name="Log out").click()
        page.get_by_label("Key").wait_for()
    assert [line for line in said if "status of 401" not in line and "status of 403" not in line] == []


def test_no_label_becomes_markup_and_nothing_breaks_the_policy_of_the_page(browser: Any, filled: str) -> None:
    said: list[str] = []
    with running(filled) as address:
        for look, options in LOOKS.items():
            page = page_of(browser, said, **options)
            page.goto(address)
            page.get_by_role("link", name="with 30 arms").wait_for()
            shot(page, f"list-{look}")
            for number in (3, 30, 1000):
                page.goto(f"{address}/#/c/with%20{number}%20arms")
                page.get_by_role("heading", name=f"with {number} arms").wait_for()
                page.get_by_text("Money left").wait_for()
                shot(page, f"{number}-arms-{look}", full_page=True)
                assert page.locator("main img").count() == 0
                assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (look, number)
            assert page.get_by_text(HOSTILE).count() > 0 or number == 1000
            page.context.close()
    assert said == []
