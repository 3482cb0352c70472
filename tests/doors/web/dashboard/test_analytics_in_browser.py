"""A chart by pointer, by key and as a table, with and without scripts."""

from datetime import timedelta

import httpx2
import pytest
from playwright.async_api import Browser, expect

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MovingClock
from tests.support.host import TEN, Book

WIDTH = "one => one.getBoundingClientRect().width"


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_a_day_tells_its_values(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    book: Book,
    scripts: bool,
) -> None:
    await book()
    clock.now = TEN + timedelta(days=1)
    page, faults = await open_as(browser, client, runtime, user, java_script_enabled=scripts)
    await page.goto("/analytics?days=7")
    days = page.locator("[data-columns] > li")
    tip = days.nth(5).locator("p")
    await expect(tip).to_contain_text("Monday 16 March")
    assert await tip.evaluate(WIDTH) <= 1

    await days.nth(5).hover()
    assert await tip.evaluate(WIDTH) > 50
    await days.nth(0).hover()
    await days.nth(6).focus()
    await page.keyboard.press("ArrowLeft" if scripts else "Shift+Tab")
    await expect(days.nth(5)).to_be_focused()
    assert await tip.evaluate(WIDTH) > 50
    # One stop for all days where scripts let the arrows do the rest.
    assert await page.locator("[data-columns] > li[tabindex='0']").count() == (1 if scripts else 7)

    await page.get_by_text("The numbers as a table").click()
    row = page.get_by_role("row", name="Monday 16 March")
    assert await row.get_by_role("cell").all_inner_texts() == ["1", "0"]
    assert faults == []
