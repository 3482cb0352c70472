"""Every page, light and dark: no fault for axe, nothing wider than a phone, nothing too small for a finger."""

from collections.abc import AsyncIterator

import httpx2
from playwright.async_api import Browser, Page

from openslot.domains.access import operations as access
from openslot.domains.access.address_changes import change_token
from openslot.domains.accounts.invitations.operations import invitation_url, make_invitation
from openslot.domains.accounts.members.operations import add_organization_member, end_membership
from openslot.domains.accounts.models import AssistantPolicy, User, UserWanted
from openslot.domains.accounts.organizations.operations import add_organization, change_organization_settings
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.doors.agents.emails.operations import unsubscribe_token
from openslot.doors.oauth.clients import register
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.support.browsers import open_page
from tests.support.page_checks import CHECKED, check_pages
from tests.support.passwords import PASSWORD


async def visit_assistants(page: Page, runtime: Runtime, user: User) -> AsyncIterator[str]:
    """Let a program ask, allow it, and disconnect it."""
    async with runtime.transaction(OPERATOR) as work:
        body = (
            b'{"client_name": "An assistant with a rather long name", "redirect_uris": ["http://localhost/callback"]}'
        )
        client = await register(work, body)
        harbor = await add_organization(work, name="Quay", slug="quay")
        await add_organization_member(work, harbor, user)
        await change_organization_settings(work, harbor, assistants=AssistantPolicy.READ)
    challenge = "x" * 43
    address = (
        f"/oauth/authorize?client_id={client.id}&redirect_uri=http://localhost:9/callback&response_type=code"
        f"&code_challenge={challenge}&code_challenge_method=S256&scope=bookings:write+contacts:read+offline_access"
    )
    await page.goto(address)
    yield "consent"
    await page.goto(address.replace("S256", "plain"))
    yield "a wrong request"
    await page.goto("/oauth/authorize?client_id=unknown")
    yield "an unknown program"
    await runtime.pool.execute(
        """insert into assistant_grants (id, user_id, client_id, client_name, site, scopes, resource, hash, created_at,
        expires_at, ends_at) values ($1, $2, $3, $4, 'localhost:9', '{bookings:read,contacts:read,offline_access}',
        'r', '', now(), now(), now() + interval '1 day')""",
        new_id(),
        user.id,
        client.id,
        client.name,
    )
    await page.goto("/account")
    yield "connected assistants"
    await page.click("a[href$='/disconnect']")
    await page.wait_for_selector(".button-bad")
    yield "disconnect"
    await page.click(".button-bad")
    await page.wait_for_selector("[role=status]")
    yield "disconnected"
    async with runtime.transaction(OPERATOR) as work:
        await end_membership(work, harbor, user)


async def visit(page: Page, runtime: Runtime, password_hash: str) -> AsyncIterator[str]:
    """Go through every page and every state of it that looks different."""
    async with runtime.transaction(OPERATOR) as work:
        token = await access.create_setup_link(work)
    for path in ("/", f"/setup?token={token}", "/setup?token=x", "/nothing", "/api/docs", "/widget-demo"):
        await page.goto(path)
        yield path
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email="mara@lindqvist.example", name="Mara Lindqvist", plan=Plan.PRO)
        user = await people.welcome_user(work, wanted, password_hash=password_hash)
        organization = await add_organization(work, name="Harbor Studio", slug="harbor", plan=Plan.BUSINESS)
        joiner = await people.welcome_user(work, UserWanted(email="li@harbor.example", name="Li Wen"))
        links = []
        for invited in (user, joiner):
            await add_organization_member(work, organization, invited)
            links.append(invitation_url(work.runtime, await make_invitation(work, organization, invited)))
    for link, name in zip(links, ("accept", "first password"), strict=True):
        await page.goto("/invite/" + link.rpartition("/")[2])
        yield name
    await page.fill("#password", "short")
    await page.click(".button-main")
    await page.wait_for_selector(".fault")
    yield "wrong first password"
    await page.goto("/login")
    yield "sign-in"
    await page.fill("#email", user.email)
    await page.fill("#password", "wrong")
    await page.keyboard.press("Enter")
    await page.wait_for_selector("[role=alert]")
    yield "wrong sign-in"
    await page.fill("#password", PASSWORD)
    await page.keyboard.press("Enter")
    await page.wait_for_selector("#today")
    yield "first screen"
    await page.goto("/account")
    yield "account without keys"
    await page.fill("#name", "Website with a rather long name for a key")
    await page.click("form[action='/account/keys'] button")
    await page.wait_for_selector("#new-key")
    yield "new key"
    await page.click("a[href$='/revoke']")
    await page.wait_for_selector(".button-bad")
    yield "revoke"
    await page.click(".button-bad")
    await page.wait_for_selector("[role=status]")
    yield "revoked"
    async for name in visit_assistants(page, runtime, user):
        yield name
    await page.goto("/account")
    await page.fill("#current", "x")
    await page.fill("#password", "short")
    await page.click("form[action='/account/password'] button")
    await page.wait_for_selector(".fault")
    yield "wrong password"
    for walk in (visit_new_address, visit_managed):
        async for name in walk(page, runtime):
            yield name


async def visit_new_address(page: Page, runtime: Runtime) -> AsyncIterator[str]:
    """Go through the change of the email address."""
    await page.goto("/account/email")
    await page.fill("#email", "a-new-and-rather-long-address-of-mara@elsewhere.example")
    await page.fill("#current", "x")
    await page.click("form[action='/account/email'] button")
    await page.wait_for_selector(".fault")
    yield "wrong password for a new address"
    await page.fill("#current", PASSWORD)
    await page.click("form[action='/account/email'] button")
    await page.wait_for_selector("form[action='/account/email/withdraw']")
    yield "a new address that waits"
    await page.goto("/account/email/wrong")
    yield "wrong link to a new address"
    token = change_token(runtime, await runtime.pool.fetchval("select id from address_changes"))
    await page.goto(f"/account/email/{token}")
    yield "confirm a new address"


async def visit_managed(page: Page, runtime: Runtime) -> AsyncIterator[str]:
    """Go through what a member sees whom an identity provider describes, and leave the list of marketing emails."""
    await runtime.pool.execute(
        """insert into member_profiles (member_id, organization_id, profile, version, joined_at, changed_at)
        select id, organization_id, '{}', 1, now(), now() from memberships"""
    )
    for path in ("/account/email", "/settings/data/delete"):
        await page.goto(path)
        yield f"{path}, managed"
    reader = new_id()
    await runtime.pool.execute("insert into marketing_recipients values ($1, 'li@harbor.example', now())", reader)
    await page.goto(f"/unsubscribe/{unsubscribe_token(runtime, reader)}")
    yield "unsubscribe"


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, password_hash: str
) -> None:
    page = await open_page(browser, client, **CHECKED)
    await check_pages(page, visit(page, runtime, password_hash), "account")


async def test_nothing_moves_for_those_who_asked_for_it(
    browser: Browser, client: httpx2.AsyncClient, user: User
) -> None:
    context = await browser.new_context(base_url=str(client.base_url), reduced_motion="reduce")
    page = await context.new_page()
    await page.goto("/login")

    assert await page.evaluate("getComputedStyle(document.querySelector('button')).transitionDuration") == "0s"
