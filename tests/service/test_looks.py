"""How the dashboard looks, in a real browser: light, dark and on a phone, with few arms and many."""

from typing import Any

import pytest

from outlay.service.auth import KeyStore
from tests.service.browsing import HOSTILE, LOOKS, Visit, browser, fill, fill_by_kind, visiting
from tests.service.conftest import running

pytestmark = pytest.mark.soak
__all__ = ["browser"]  # a fixture


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_is_accessible_breaks_no_policy_and_fits(browser: Any, store: str, look: str) -> None:
    fill(store)
    with running(store) as address, visiting(browser, look) as visit:
        page = visit.page
        page.goto(address)
        page.get_by_role("link", name="with 30 arms").wait_for()
        visit.check_accessible()
        visit.shot("list")
        for number in (3, 30, 1000):
            page.goto(f"{address}/#/c/with%20{number}%20arms")
            page.get_by_role("heading", name=f"with {number} arms").wait_for()
            page.get_by_text("live", exact=True).wait_for()
            page.locator("#burn path.curve").wait_for()
            visit.check_accessible()
            visit.check()
            visit.shot(f"{number}-arms", full_page=True)
            assert page.locator("table.arms tbody tr").count() == min(number, 60)
        page.get_by_label("Find an arm").fill("onerror")
        page.get_by_role("cell", name=HOSTILE).first.wait_for()
        page.wait_for_function("() => document.querySelectorAll('table.arms tbody tr').length === 1")


@pytest.mark.parametrize("look", LOOKS)
def test_requests_that_differ_fit(browser: Any, store: str, look: str) -> None:
    fill_by_kind(store)
    with running(store) as address, visiting(browser, look) as visit:
        visit.page.goto(f"{address}/#/c/by%20kind")
        visit.page.locator("#why-for").get_by_label("length").fill("500")
        visit.page.get_by_role("button", name="Why?").click()
        visit.page.locator("#why-for").get_by_text("For this request it may bring").first.wait_for()
        visit.page.get_by_role("cell", name=HOSTILE).first.wait_for()
        visit.check_accessible()
        visit.shot("kinds", full_page=True)


def test_an_empty_service_says_how_to_begin(browser: Any, tmp_path: Any) -> None:
    with running(f"sqlite:///{tmp_path}/new.db") as address, visiting(browser) as visit:
        visit.page.goto(address)
        visit.page.get_by_text("There is no campaign yet").wait_for()
        assert f'outlay.Client("{address}", "router")' in visit.page.locator("pre").nth(1).inner_text()
        assert f"curl -X POST {address}/v1/campaigns" in visit.page.locator("pre").nth(0).inner_text()
        visit.check_accessible()
        visit.shot("empty")


def test_who_may_only_read_is_shown_nothing_to_press(browser: Any, store: str, key_store: KeyStore) -> None:
    token, _ = key_store.new("guest", ["read"])
    with running(store) as address, visiting(browser) as visit:
        page = visit.page
        page.goto(f"{address}/#/c/spring")
        page.get_by_label("Key").fill(token)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("heading", name="spring").wait_for()
        for word in ("Pause", "Close", "Add budget", "Disable small"):
            assert page.get_by_role("button", name=word, exact=True).count() == 0
        visit.check_accessible()


def test_a_script_in_the_page_would_be_stopped_and_noticed(browser: Any, store: str) -> None:
    """What `visiting` checks can fail: the policy is in force, and what breaks it is heard of."""
    with running(store) as address:
        visit = Visit(browser, "light")
        visit.page.goto(address)
        visit.page.get_by_role("link", name="spring").wait_for()
        visit.page.evaluate(
            "() => { const script = document.createElement('script'); script.textContent = 'window.ran = true';"
            " document.body.append(script); }"
        )
        assert visit.page.evaluate("window.ran") is None
        with pytest.raises(AssertionError):
            visit.check()
        visit.context.close()
