"""The administration in a real browser: for axe, on a phone, and an approval by hand without scripts."""

import tarfile
from collections.abc import AsyncIterator

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Role, User
from openslot.domains.accounts.organizations import operations as organizations
from openslot.domains.accounts.plans import Plan
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.agent import TestAgent
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import Book
from tests.support.page_checks import CHECKED, check_pages


@pytest.fixture
async def places(runtime: Runtime, clock: MovingClock, support: TestAgent, user: User, book: Book) -> list[str]:
    """Let there be something on every page, and list all pages."""
    booking = await book()
    async with runtime.transaction(OPERATOR) as work:
        studio = await organizations.add_organization(work, name="Harbor", slug="harbor", plan=Plan.FREE)
        await add_organization_member(work, studio, user, role=Role.OWNER)
    await work_off(runtime, clock)
    letter = f"/admin/mailbox/{await runtime.pool.fetchval('select id from mail_messages limit 1')}"
    await support.call("list_flags")
    key = f"/admin/agents/support/keys/{await runtime.pool.fetchval('select id from agent_keys limit 1')}"
    waiting = await support.call("cancel_booking", bookingId=str(booking.id), reason="Ill", confirm=True)
    return [
        "/admin/analytics",
        "/admin/users",
        "/admin/users?q=nobody",
        f"/admin/users/{user.id}",
        f"/admin/users/{user.id}/disable",
        "/admin/organizations",
        "/admin/organizations/harbor",
        "/admin/organizations/harbor/delete",
        "/admin/agents",
        "/admin/agents/support",
        f"{key}/rotate",
        f"{key}/deactivate",
        "/admin/approvals",
        f"/admin/approvals/{waiting['error']['data']['approvalId']}",
        "/admin/team-chat",
        "/admin/audit",
        "/admin/audit?from=x",
        "/admin/flags",
        "/admin/flags/api_docs",
        "/admin/messaging",
        "/admin/messaging/email/stop",
        "/admin/jobs",
        "/admin/mailbox",
        letter,
        "/admin/system",
        "/admin/system/google",
        "/admin/system/microsoft",
        "/admin/log",
        "/admin/log?from=x",
    ]


async def visit(page: Page, places: list[str]) -> AsyncIterator[str]:
    for path in places:
        await page.goto(path)
        yield path


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, admin_user: User, places: list[str]
) -> None:
    page, faults = await open_as(browser, client, runtime, admin_user, **CHECKED)
    await check_pages(page, visit(page, places), "admin")
    assert [fault for fault in faults if "400" not in fault] == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_an_administrator_approves_a_cancellation_and_rejects_another(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    admin_user: User,
    support: TestAgent,
    book: Book,
    *,
    scripts: bool,
) -> None:
    first = await book()
    await support.call("cancel_booking", bookingId=str(first.id), reason="The invitee is ill", confirm=True)
    page, _ = await open_as(browser, client, runtime, admin_user, java_script_enabled=scripts)
    await page.goto("/")
    await page.get_by_text("Administration", exact=True).first.click()
    await page.get_by_role("link", name="Approvals").click()
    await page.get_by_role("link", name="The invitee is ill").click()
    await expect(page.get_by_text("with Jonas Okafor")).to_be_visible()
    await page.get_by_role("button", name="Approve and carry out").click()
    await expect(page.get_by_role("status")).to_contain_text("approved and carried out")
    second = await book()
    await support.call("cancel_booking", bookingId=str(second.id), reason="No reason", confirm=True)
    await page.reload()
    await page.get_by_role("link", name="No reason").click()
    await page.get_by_label("Reason for rejecting (optional)").fill("Ask the host first")
    await page.get_by_role("button", name="Reject").click()
    await expect(page.get_by_role("status")).to_contain_text("The call was rejected")
    await expect(page.get_by_text("Ask the host first")).to_be_visible()

    states = await runtime.pool.fetch("select status from bookings order by id")
    assert [row["status"] for row in states] == ["CANCELLED", "CONFIRMED"]


async def test_an_administrator_rotates_a_key_reads_the_mailbox_and_saves_a_backup(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    admin_user: User,
    support: TestAgent,
    places: list[str],
) -> None:
    page, faults = await open_as(browser, client, runtime, admin_user)
    await page.goto("/admin/agents")
    await page.get_by_role("link", name="Support", exact=True).click()
    await page.get_by_role("link", name="Rotate… test").click()
    await page.get_by_label("The old key stays valid").select_option("Not at all")
    await page.get_by_role("button", name="Rotate this key").click()
    key = await page.get_by_label("The new key", exact=True).input_value()
    assert (await support.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).status_code == 401
    assert await TestAgent(support.client, key).result("list_users")
    await page.get_by_role("link", name="Mailbox").click()
    await page.locator("a.booking-row").first.click()
    letter = page.frame_locator("iframe.mail")
    await expect(letter.get_by_text("30 minute meeting").first).to_be_visible()
    await page.get_by_role("link", name="System").click()
    await page.get_by_role("button", name="Create a backup").click()
    await expect(page.get_by_role("status")).to_contain_text("The backup was created", timeout=60_000)
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download openslot-").click()
    with tarfile.open(await (await download.value).path()) as archive:
        assert "manifest.json" in archive.getnames()
    assert faults == []
