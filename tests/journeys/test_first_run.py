"""From an empty installation to the first booking: set-up by the one-time link, first steps, the link, an invitee."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.access import operations as access
from openslot.core.actor import OPERATOR
from openslot.core.work import Runtime


def next_month() -> str:
    """Name the month after this one, as the page's links do."""
    first = datetime.now(UTC).replace(day=1) + timedelta(days=31)
    return f"{first:%Y-%m}"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
async def test_a_new_installation_gets_its_first_booking(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, *, scripts: bool
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        token = await access.create_setup_link(work)
    base_url = str(client.base_url)
    options: dict[str, Any] = {
        "base_url": base_url,
        "java_script_enabled": scripts,
        "locale": "en-GB",
        "timezone_id": "Europe/Berlin",
    }
    host = await (await browser.new_context(**options)).new_page()
    await host.goto(f"/setup?token={token}")
    await host.get_by_label("Your name").fill("Mara Lindqvist")
    await host.get_by_label("Email address").fill("mara@lindqvist.example")
    await host.get_by_label("Password").fill("a long first password")
    await host.get_by_label("Time zone").select_option("Europe/Berlin")
    await host.get_by_role("button", name="Create account").click()
    await host.get_by_role("link", name="First steps").first.click()
    await host.get_by_role("button", name="Continue").click()
    await host.get_by_role("button", name="Continue").click()
    await host.get_by_role("button", name="Continue without a calendar").click()
    link = await host.locator("#first-link").inner_text()
    await host.get_by_role("button", name="Finish").click()
    await expect(host.get_by_role("heading", name="Needs attention")).to_be_visible()
    assert link.endswith("/mara-lindqvist/30min")

    invitee = await (await browser.new_context(**options)).new_page()
    # This month's first start may be too near by the time that it is booked.
    await invitee.goto(f"/mara-lindqvist/30min?month={next_month()}")
    await invitee.locator("[name=start], a[href*='start=']").first.click()
    await invitee.get_by_label("Your name").fill("Jonas Okafor")
    await invitee.get_by_label("Email address", exact=True).fill("jonas@okafor.example")
    await invitee.locator("form[data-form] button.button-main").click()
    await expect(invitee.get_by_role("heading", level=1)).to_contain_text("Your meeting is confirmed")

    await host.goto("/bookings")
    await expect(host.get_by_role("link", name="Jonas Okafor")).to_be_visible()
    assert await runtime.pool.fetchval("select count(*) from bookings where status = 'CONFIRMED'") == 1
