"""What people do in the dashboard, in a real browser."""

from typing import Any

import pytest

from outlay import Campaign
from outlay.service.auth import KeyStore
from tests.service.browsing import Visit, browser, busy, fill, fill_by_kind, visiting
from tests.service.conftest import POLICY, running

pytestmark = pytest.mark.soak
__all__ = ["browser"]  # a fixture


def log_in(visit: Visit, address: str, token: str) -> None:
    page = visit.page
    page.goto(address)
    page.get_by_label("Key").fill("out_wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_text("A valid key is needed.").wait_for()
    visit.check_accessible()
    visit.shot("login")
    page.get_by_label("Key").fill(token)
    page.get_by_role("button", name="Log in").click()


def pulls_of(page: Any) -> int:
    text: str = page.locator("dl.numbers > div", has_text="Pulls").first.locator("dd").first.inner_text()
    return int(text.replace(",", ""))


def more_pulls(page: Any, than: int) -> None:
    page.wait_for_function(
        "(than) => Number([...document.querySelectorAll('dl.numbers > div')].find((each) => each.firstChild.textContent"
        " === 'Pulls')?.children[1].textContent.replaceAll(',', '')) > than",
        arg=than,
    )


def confirm(page: Any, button: str, sure: str | None = None) -> None:
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=sure or button, exact=True).click()
    page.get_by_role("dialog").wait_for(state="detached")


def test_a_campaign_is_made_watched_under_load_paused_funded_and_closed(
    browser: Any, store: str, key_store: KeyStore
) -> None:
    token, _ = key_store.new("boss", ["admin"])
    with running(store) as address, visiting(browser) as visit:
        page = visit.page
        log_in(visit, address, token)
        page.get_by_role("button", name="New campaign").click()
        page.get_by_label("Name", exact=True).fill("made here")
        page.get_by_role("textbox", name="Budget").fill("12.5")
        page.get_by_label("Policy").select_option(POLICY)
        visit.check_accessible()
        visit.shot("new")
        page.get_by_role("button", name="Create").click()
        page.get_by_role("heading", name="made here").wait_for()
        page.get_by_text("live", exact=True).wait_for()
        with busy(store, "made here"):
            more_pulls(page, 30)
            more_pulls(page, pulls_of(page) + 30)
            page.get_by_role("cell", name="told").first.wait_for()
            page.get_by_text("95 % of rehearsals end between").wait_for()
            confirm(page, "Pause")
            page.locator("h1 + .badge", has_text="paused").wait_for()
            page.get_by_text("Paused: no arm is named").wait_for()
            visit.shot("paused", full_page=True)
            before = Campaign.open(store, "made here").status().pulls
            confirm(page, "Resume")
            more_pulls(page, before + 10)
            page.get_by_role("button", name="Add budget").click()
            page.get_by_label("Add", exact=True).fill("0.000000001")
            page.get_by_text("12.5 + 0.000000001 = 12.500000001").wait_for()
            visit.shot("budget")
            page.get_by_role("button", name="Set the budget").click()
            page.get_by_role("dialog").wait_for(state="detached")
            assert str(Campaign.open(store, "made here").status().exact.budget) == "12.500000001"
            confirm(page, "Disable small", "Disable")
            page.get_by_role("button", name="Enable small").wait_for()
        page.get_by_role("button", name="Close").click()
        page.get_by_label("Name", exact=True).fill("another")
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        page.get_by_text("That is another name.").wait_for()
        page.get_by_label("Name", exact=True).fill("made here")
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        page.locator("h1 + .badge", has_text="closed").wait_for()
        visit.shot("closed", full_page=True)
        page.get_by_role("button", name="Log out").click()
        page.get_by_label("Key").wait_for()


def test_the_keyboard_is_enough_and_keeps_its_place_while_the_page_moves(browser: Any, store: str) -> None:
    arms = {f"arm {i}": 1.0 for i in range(6)}
    with Campaign(arms, 100, POLICY, store=store, name="keys"):
        pass
    with running(store) as address, visiting(browser) as visit, busy(store, "keys"):
        page = visit.page
        page.goto(f"{address}/#/c/keys")
        more_pulls(page, 10)
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        order = []
        for _ in range(8):
            page.keyboard.press("Tab")
            order.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
        assert order[:4] == ["All campaigns", "act-budget", "act-pause", "act-close"]
        assert order.index("find") < order.index("by") < order.index("table-arms")
        page.locator('[id="arm arm 3"]').focus()
        more_pulls(page, pulls_of(page) + 40)  # rows have moved since
        assert page.evaluate("document.activeElement.id") == "arm arm 3"
        page.keyboard.press("Enter")
        assert page.get_by_role("dialog").get_by_role("heading").inner_text() == "Disable “arm 3”?"
        page.keyboard.press("Escape")
        assert page.get_by_role("dialog").count() == 0
        page.locator("#act-pause").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.locator("h1 + .badge", has_text="paused").wait_for()


def test_requests_that_differ(browser: Any, store: str) -> None:
    """What each kind came to, why an arm is named for one, and what another policy would have earned."""
    fill_by_kind(store)
    with running(store) as address, visiting(browser) as visit, Campaign.open(store, "by kind") as campaign:
        page = visit.page
        page.goto(f"{address}/#/c/by%20kind")
        page.get_by_role("heading", name="By kind of request").wait_for()
        rows = page.locator("#table-segments-0 tbody tr").all()
        for row, segment in zip(rows, campaign.segments("kind"), strict=True):
            cells = row.locator("td").all_inner_texts()
            assert cells[:2] == [segment.category, str(segment.pulls)]
            assert float(cells[2]) == pytest.approx(segment.spent, rel=1e-3)
        asked = {"kind": "proof", "tenant": "b", "length": 900, "words": ["sort"]}
        page.locator("#why-for").get_by_label("kind").select_option("proof")
        page.locator("#why-for").get_by_label("tenant").select_option("b")
        page.locator("#why-for").get_by_label("words").fill("sort")
        page.get_by_label("length").fill("long")
        page.get_by_role("button", name="Why?").click()
        page.get_by_text("“long” is no number.").wait_for()
        page.get_by_label("length").fill("900")
        page.get_by_role("button", name="Why?").click()
        page.locator("#why-for").get_by_text("For this request it may bring").first.wait_for()
        reasons = campaign.reasons(context=asked)
        page.locator("#why-for").get_by_text(reasons.words).wait_for()
        for arm in reasons.arms:
            page.locator("#why-for").get_by_text(arm.words).wait_for()
        assert campaign.status().pulls == 150
        page.locator("#another select").select_option("Ration")
        page.get_by_role("button", name="Look back").click()
        page.get_by_text(campaign.shadow("Ration").words).wait_for(timeout=60_000)
        visit.check_accessible()
        visit.shot("by-kind", full_page=True)
        page.locator("#another select").select_option("Frugal")
        page.get_by_role("button", name="Look back").click()
        page.get_by_text("Frugal names the arm that was pulled for").wait_for(timeout=60_000)


def test_what_if_another_policy_had_chosen(browser: Any, store: str) -> None:
    fill(store)
    with running(store) as address, visiting(browser) as visit:
        page = visit.page
        page.goto(f"{address}/#/c/with%203%20arms")
        page.get_by_label("Policy").select_option("RoundRobin")
        page.get_by_role("button", name="Rehearse").click()
        page.get_by_text("It would bring").wait_for(timeout=120_000)
        assert "less reward" in page.get_by_text("It would bring").inner_text()
        visit.check_accessible()
        visit.shot("what-if", full_page=True)
        page.get_by_role("textbox", name="Budget").fill("much")
        page.get_by_role("button", name="Rehearse").click()
        page.get_by_text("“much” is no number.").wait_for()
