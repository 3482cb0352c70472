"""Plans in a real browser: for axe, on a phone, and from the click to the paid plan without scripts."""

from collections.abc import AsyncIterator

import httpx2
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import Organization, User
from openslot.domains.accounts.plans import Plan
from openslot.domains.plans.jobs import read_plans
from openslot.platform.core.actor import SYSTEM
from openslot.platform.core.work import Runtime
from tests.domains.plans.support import Story
from tests.support.browsers import open_as
from tests.support.fake_stripe import billing
from tests.support.page_checks import CHECKED, check_pages


async def visit(page: Page, story: Story) -> AsyncIterator[str]:
    """Go through every state of the pages."""
    for path in ("/account/plan", "/organization/plan"):
        await page.goto(path)
        yield f"{path} with offers"
    await story.open()
    await page.goto("/account/plan")
    yield "an open checkout"
    begun = await story.pay()
    await page.goto("/account/plan?done=active")
    yield "subscribed"
    billing.fail_renewal(story.books, begun["id"])
    await story.pass_minute()
    await page.goto("/account/plan")
    yield "past due"


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    story: Story,
    organization: Organization,
) -> None:
    await read_plans(runtime.work(SYSTEM))
    page, faults = await open_as(browser, client, runtime, user, **CHECKED)
    await check_pages(page, visit(page, story), "plans")
    assert faults == []


def bring_home(runtime: Runtime, client: httpx2.AsyncClient, story: Story, kind: str, field: str) -> None:
    """Let Stripe send the browser back to the port of this test."""
    (made,) = story.books.list(kind)
    made[field] = made[field].replace(runtime.settings.public_url, str(client.base_url).rstrip("/"))


async def test_somebody_subscribes_and_cancels_without_scripts(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, story: Story
) -> None:
    page, faults = await open_as(browser, client, runtime, user, java_script_enabled=False)
    await page.goto("/account/plan")
    await page.get_by_role("button", name="Subscribe to Pro").click()
    await expect(page.get_by_role("button", name="Pay", exact=True)).to_be_visible()
    bring_home(runtime, client, story, "checkout.session", "success_url")
    await page.get_by_role("button", name="Pay", exact=True).click()
    await expect(page.get_by_text("Your subscription is active.")).to_be_visible()
    assert await story.plan() is Plan.PRO
    await page.get_by_role("link", name="Manage billing").click()
    await expect(page.get_by_role("button", name="Cancel plan")).to_be_visible()
    bring_home(runtime, client, story, "billing_portal.session", "return_url")
    await page.get_by_role("button", name="Cancel plan").click()
    await expect(page.get_by_text("The subscription ends on")).to_be_visible()
    assert faults == []
