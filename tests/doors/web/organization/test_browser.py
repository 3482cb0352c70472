"""An organization's pages in a real browser: by hand, on a phone, without scripts, and for axe."""

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import Role
from openslot.doors.web.organization import members
from openslot.doors.web.shared.organization import COOKIE
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages
from tests.doors.web.organization.conftest import Harbor, join
from tests.doors.web.organization.driving import Stage, set_stage
from tests.support.browsers import BOTH_WAYS, open_as
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import Book
from tests.support.name_server import FakeResolver
from tests.support.page_checks import CHECKED, bring_axe, check_pages, run_axe
from tests.support.provisioning import Provider

LONG = "Anastasia-Konstantinopolitanskaya-With-A-Name-That-Does-Not-Break"


@pytest.fixture
async def stage(runtime: Runtime, harbor: Harbor, resolver: FakeResolver, book: Book) -> Stage:
    """Give an organization all that pages show."""
    made = await set_stage(runtime, harbor, resolver, book)
    await join(runtime, harbor.other, harbor.owner, Role.ADMIN)
    await book(name=LONG)
    await runtime.pool.execute("update users set name = $1 where username = 'anna'", LONG)
    await runtime.pool.execute(
        """insert into scim_requests (token_id, at, method, path, status, user_name, detail)
        values ($1, $2, 'PATCH', '/Users/01997c2e-6a52-7c1e-9d0a-3f4b5c6d7e8f', 400, $3, 'What is wrong with it')""",
        made.token,
        runtime.clock(),
        f"{LONG}@harbor.example",
    )
    return made


async def open_harbor(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, stage: Stage, **options: Any
) -> tuple[Page, list[str]]:
    """Open a page as the owner, who looks after two organizations, and choose Harbor."""
    page, faults = await open_as(browser, client, runtime, stage.harbor.owner, **options)
    chosen = str(stage.harbor.organization.id)
    await page.context.add_cookies([{"name": COOKIE, "value": chosen, "url": str(client.base_url)}])
    return page, faults


async def visit(page: Page, stage: Stage) -> AsyncIterator[str]:
    """Go through every page and every state of it that looks different."""
    member = stage.harbor.id_of(stage.harbor.member)
    for path in (
        "/organization",
        "/organization/new",
        "/organization/members",
        "/organization/members?q=nobody",
        f"/organization/members/{stage.active}",
        f"/organization/members/{stage.invited}",
        f"/organization/members/{stage.suspended}",
        f"/organization/members/{member}/remove",
        f"/organization/members/{member}/suspend",
        "/organization/provisioning",
        f"/organization/provisioning/tokens/{stage.token}/revoke",
        "/organization/provisioning/waiting",
        f"/organization/provisioning/waiting/{stage.held}",
        "/organization/provisioning/log",
        "/organization/provisioning/log?from=x",
        "/organization/domains",
        f"/organization/domains/{stage.domain}/remove",
        "/organization/payments",
        "/organization/payments/disconnect",
        "/organization/messages",
        f"/organization/messages/{stage.number}",
        f"/organization/messages/{stage.number}/disconnect",
        "/organization/teams",
        f"/organization/teams/{stage.team}",
        f"/organization/teams/{stage.team}/delete",
        f"/organization/teams/{stage.team}/members/{stage.teammate}",
        f"/organization/teams/{stage.team}/members/{stage.teammate}/remove",
        f"/organization/teams/{stage.team}/event-types/{stage.team_event_type}/ledger",
        f"/organization/teams/{stage.team}/event-types/{stage.team_event_type}/hosts",
        f"/organization/teams/{stage.team}/event-types/new",
        "/organization/settings",
        "/organization/delete",
        "/organization/log",
    ):
        answer = await page.goto(path)
        assert answer is not None
        assert answer.status == (400 if path.endswith("=x") else 200), path
        for summary in await page.locator("details.guide > summary").all():
            await summary.click()
        yield path
    await page.goto("/organization/members")
    await page.fill("#email", "mara@harbor.example")
    await page.get_by_role("button", name="Invite", exact=True).click()
    await page.wait_for_selector(".fault")
    yield "wrong invitation"
    await page.goto("/organization/provisioning")
    await page.fill("#name", "Entra")
    await page.get_by_role("button", name="Create token").click()
    await page.wait_for_selector(".made")
    yield "new token"
    await page.goto(f"/organization/members/{stage.active}")
    await page.select_option("#role", "admin")
    await page.get_by_role("button", name="Change role").click()
    await page.locator("main form button").first.click()
    await page.wait_for_selector("[role=status]")
    await page.goto("/organization/log")
    yield "log with a change"


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, stage: Stage
) -> None:
    page, faults = await open_harbor(browser, client, runtime, stage, **CHECKED)
    await check_pages(page, visit(page, stage), "organization")
    # The browser reports the pages that show a fault, as it should.
    assert [fault for fault in faults if "400 (Bad Request)" not in fault] == []


async def test_a_list_with_pages_has_landmarks_of_different_names(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "ROWS", 2)
    page, faults = await open_harbor(browser, client, runtime, stage, **CHECKED)
    await bring_axe(page)
    await page.goto("/organization/members?page=2")

    await expect(page.locator("a[rel=prev]")).to_be_visible()
    await expect(page.locator("a[rel=next]")).to_be_visible()
    await run_axe(page, {"runOnly": ["landmark-unique"]}, "members, page 2")
    assert faults == []


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("event-types/new", "main [name=name]"),
        ("event-types/{offer}/hosts", "main [name$='.weight']:visible"),
        ("members/{teammate}", "main [name=weight]"),
    ],
)
async def test_no_page_of_a_team_is_left_with_what_was_typed(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, stage: Stage, path: str, field: str
) -> None:
    page, faults = await open_harbor(browser, client, runtime, stage)
    path = path.format(offer=stage.team_event_type, teammate=stage.teammate)
    answer = await page.goto(f"/organization/teams/{stage.team}/{path}")
    assert answer is not None
    assert answer.status == 200
    typed = page.locator(field).first
    wanted = "7" if await typed.get_attribute("type") == "number" else "What I have typed"
    await typed.fill(wanted)
    await expect(page.locator("[data-save-bar]")).to_contain_text("Not saved")
    await page.locator("a[href='/analytics']:visible").first.click()
    await page.locator("#leave").get_by_role("button", name="Stay on this page").click()

    assert page.url.endswith(path)
    await expect(typed).to_have_value(wanted)
    assert faults == []


@pytest.mark.parametrize("scripts", BOTH_WAYS)
async def test_from_a_token_to_a_removed_user_and_the_invitees_mail(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    harbor: Harbor,
    clock: MovingClock,
    *,
    scripts: bool,
) -> None:
    page, faults = await open_as(browser, client, runtime, harbor.owner, java_script_enabled=scripts)
    await page.goto("/")
    await page.get_by_role("link", name="Provisioning").click()
    await page.get_by_label("Name of the new token").fill("Okta")
    await page.get_by_role("button", name="Create token").click()
    token = await page.get_by_label("The new token", exact=True).input_value()
    provider = Provider(client, token)
    made = [await provider.create(f"{name}@harbor.example", displayName=name.capitalize()) for name in ("lia", "tom")]
    for name, invitee in (("lia", "jonas@okafor.example"), ("tom", "priya@raman.example")):
        offer = await runtime.pool.fetchval(
            "select e.id from event_types e join users u on u.id = e.owner_id where u.email = $1",
            f"{name}@harbor.example",
        )
        booked = await client.post(
            "/api/bookings",
            json={
                "eventTypeId": str(offer),
                "startTime": "2026-03-17T10:00:00Z",
                "inviteeName": "Jonas Okafor" if name == "lia" else "Priya Raman",
                "inviteeEmail": invitee,
                "inviteeTimezone": "Africa/Lagos",
            },
        )
        assert booked.status_code == 200, booked.text
    # One is removed by the provider, the other on the page.
    assert (await provider.send("DELETE", f"/Users/{made[0]['id']}")).status_code == 204
    await page.get_by_role("link", name="Request log").click()
    await expect(page.get_by_text(f"DELETE /Users/{made[0]['id']}")).to_be_visible()
    await page.get_by_role("link", name="Members", exact=True).first.click()
    await expect(page.get_by_role("link", name="lia@harbor.example")).to_have_count(0)
    await page.get_by_role("link", name="tom@harbor.example").click()
    await page.get_by_role("link", name="Remove…").click()
    await expect(page.get_by_role("heading", name="1 booking will be cancelled")).to_be_visible()
    await expect(page.get_by_text("Priya Raman")).to_be_visible()
    await page.get_by_role("button", name="Remove this member").click()
    await expect(page.get_by_role("status")).to_contain_text("The member was removed. 1 booking was cancelled.")
    await page.get_by_role("link", name="Change log").click()
    await expect(page.get_by_role("cell", name=re.compile("Member removed"))).to_contain_text("tom@harbor.example")
    await work_off(runtime, clock)

    assert faults == []
    for invitee in ("jonas@okafor.example", "priya@raman.example"):
        subjects = [mail["subject"] for mail in await messages(runtime, invitee)]
        assert any("ancelled" in subject for subject in subjects), subjects


async def test_values_for_the_provider_are_copied(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, harbor: Harbor
) -> None:
    page, _ = await open_as(browser, client, runtime, harbor.owner, permissions=["clipboard-read", "clipboard-write"])
    await page.goto("/organization/provisioning")
    await page.get_by_role("button", name="Copy Base URL").click()
    await expect(page.get_by_role("button", name="Copied")).to_be_visible()

    assert await page.evaluate("navigator.clipboard.readText()") == "http://127.0.0.1:8000/api/scim/v2"
