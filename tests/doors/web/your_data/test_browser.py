"""The progress of an export in a real browser, where a look at it may fail."""

import asyncio

import httpx2
from playwright.async_api import Browser, Page, Route, expect

from openslot.domains.accounts.models import User
from openslot.platform.core.work import Runtime
from tests.support.browsers import open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off

PAGE = "/settings/data"


class Looks:
    """The page's looks at its export: the first does not arrive, the second is refused, all others are answered."""

    def __init__(self) -> None:
        self.count = 0

    async def answer(self, route: Route) -> None:
        self.count += 1
        if self.count == 1:
            await route.abort()
        elif self.count == 2:
            await route.fulfill(status=503, body="Not now")
        else:
            await route.continue_()

    async def wait_for(self, count: int, page: Page) -> None:
        async with asyncio.timeout(60):
            while self.count < count:
                await page.clock.run_for(1000)


async def test_a_finished_export_shows_up_though_the_server_was_out_of_reach_for_a_moment(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock
) -> None:
    page, _ = await open_as(browser, client, runtime, user)
    await page.clock.install()
    await page.goto(PAGE)
    await page.get_by_role("button", name="Request an export").click()
    await expect(page.get_by_role("progressbar")).to_be_visible()
    looks = Looks()
    await page.route(f"**{PAGE}", looks.answer)
    await page.locator("#exports").evaluate("list => { list.dataset.mark = 'unchanged'; }")

    await looks.wait_for(4, page)
    await expect(page.locator("#exports[data-mark=unchanged]")).to_be_visible()

    await work_off(runtime, clock)
    await looks.wait_for(looks.count + 1, page)
    await expect(page.get_by_role("link", name="Download")).to_be_visible()
