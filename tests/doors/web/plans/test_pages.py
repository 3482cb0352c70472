"""Who may see and use the pages of plans, and what they say in every state."""

from datetime import timedelta

import httpx2
import pytest
from msgspec.structs import replace

from openslot.app import create_app
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.members.operations import add_organization_member
from openslot.domains.accounts.models import Organization, Role, User, UserWanted
from openslot.domains.accounts.plans import Plan
from openslot.domains.people import operations as people
from openslot.domains.plans.jobs import read_plans
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.plans.support import Story
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import billing
from tests.support.host import open_session
from tests.support.live import connect, serving

PAGES = ("/account/plan", "/organization/plan")


async def test_somebody_subscribes_pays_and_has_the_plan(member: httpx2.AsyncClient, story: Story) -> None:
    await read_plans(story.runtime.work(SYSTEM))
    first = (await member.get("/account/plan")).text
    assert "€12.00 per month" in first
    assert "€30.00 per month" in first
    assert "Test mode" in first
    assert "Manage billing" not in first
    sent = await member.post("/account/plan/checkout", data={"plan": "PRO"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/account/plan?done=checkout")
    (session,) = story.books.list("checkout.session")
    leading = (await member.get("/account/plan?done=checkout")).text
    assert f'<meta http-equiv="refresh" content="0; url={session["url"]}">' in leading
    assert 'http-equiv="refresh"' not in (await member.get("/account/plan")).text
    billing.subscribe(story.books, session["id"])
    back = await member.get("/account/plan/return")
    assert back.headers["location"] == "/account/plan?done=active"
    shown = (await member.get(back.headers["location"])).text
    assert "Your subscription is active." in shown
    assert "The subscription renews on" in shown
    assert "Subscribe to" not in shown
    assert await story.plan() is Plan.PRO


async def test_the_portal_is_the_providers(member: httpx2.AsyncClient, story: Story) -> None:
    await story.pay()
    answer = await member.get("/account/plan/billing")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(story.fake.url)


async def test_a_payment_that_is_missing_is_told_with_its_day(member: httpx2.AsyncClient, story: Story) -> None:
    begun = await story.pay()
    billing.fail_renewal(story.books, begun["id"])
    await story.pass_minute()
    day = (story.clock() + timedelta(days=7)).day
    assert f"The last payment failed. The plan lasts until {day} March 2026" in (await member.get(PAGES[0])).text
    billing.fail_renewal(story.books, begun["id"], status="unpaid")
    await story.pass_minute()
    assert "The subscription is not paid, so its plan is off." in (await member.get(PAGES[0])).text


async def test_an_administrators_plan_is_told_and_sells_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_plan(work, user, Plan.BUSINESS)
    shown = (await member.get(PAGES[0])).text
    assert "An administrator of this service has set this plan." in shown
    assert "Subscribe to" not in shown
    assert (await member.post("/account/plan/checkout", data={"plan": "PRO"})).status_code == 409


@pytest.mark.rest("waits for seconds")
async def test_stripe_down_is_told_and_changes_nothing(member: httpx2.AsyncClient, story: Story) -> None:
    await story.open()
    story.fake.is_down = True
    assert (await member.get("/account/plan/return")).headers["location"] == "/account/plan?done=later"
    sent = await member.post("/account/plan/checkout", data={"plan": "BUSINESS"})
    assert sent.status_code == 503
    assert (await member.get("/account/plan")).status_code == 200


@pytest.mark.parametrize("plan", ["", "FREE ", "GOLD", "pro", "FREE", "PRO\x00", "../PRO"])
async def test_only_plans_that_are_sold_can_be_chosen(member: httpx2.AsyncClient, story: Story, plan: str) -> None:
    sent = await member.post("/account/plan/checkout", data={"plan": plan})
    assert sent.status_code in {400, 404}
    assert story.fake.asked == []


async def test_nobody_can_name_a_checkout_or_customer(member: httpx2.AsyncClient, story: Story) -> None:
    foreign = billing.create_customer(story.books, {"email": "other@x.example"})["id"]
    sent = await member.post("/account/plan/checkout", data={"plan": "PRO", "customer": foreign, "price": "price_x"})
    assert sent.status_code in {303, 400}
    assert all(each["customer"] is None for each in story.books.list("checkout.session"))
    assert (await member.get(f"/account/plan/billing?customer={foreign}")).status_code == 404


async def test_a_form_of_another_site_is_refused(member: httpx2.AsyncClient, story: Story) -> None:
    del member.headers["x-csrf-token"]
    assert (await member.post("/account/plan/checkout", data={"plan": "PRO"})).status_code == 403
    assert story.fake.asked == []


async def test_only_administrators_see_an_organizations_plan(
    member: httpx2.AsyncClient, runtime: Runtime, organization: Organization, password_hash: str
) -> None:
    assert (await member.get("/organization/plan")).status_code == 200
    async with runtime.transaction(OPERATOR) as work:
        wanted = UserWanted(email="plain@x.example", name="Plain", username="plain")
        plain = await people.welcome_user(work, wanted, password_hash=password_hash)
        await add_organization_member(work, organization, plain, role=Role.MEMBER)
    member.headers.update(await open_session(runtime, plain))
    nothing = await member.get("/organization/nothing")
    for path in ("/organization/plan", "/organization/plan/billing", "/organization/plan/return"):
        assert (await member.get(path)).status_code == nothing.status_code == 404
    sent = {"plan": "PRO", "organization": str(organization.id)}
    assert (await member.post("/organization/plan/checkout", data=sent)).status_code == 404


async def test_an_organization_subscribes_for_its_members(
    member: httpx2.AsyncClient, story: Story, organization: Organization
) -> None:
    sent = {"plan": "BUSINESS", "organization": str(organization.id)}
    answer = await member.post("/organization/plan/checkout", data=sent)
    assert answer.headers["location"] == "/organization/plan?done=checkout"
    (session,) = story.books.list("checkout.session")
    begun = billing.subscribe(story.books, session["id"])
    assert (await member.get("/organization/plan/return")).headers["location"] == "/organization/plan?done=active"
    assert await story.plan() is Plan.BUSINESS
    assert "Business" in (await member.get("/organization/plan")).text
    assert "Business" in (await member.get("/organization/settings")).text
    billing.cancel(story.books, begun["id"])
    await story.pass_minute()
    assert await story.plan() is Plan.FREE


async def test_keys_follow_the_plan_at_once(member: httpx2.AsyncClient, story: Story) -> None:
    begun = await story.pay()
    made = await member.post("/account/keys", data={"name": "Website", "expires": "never"})
    key = made.text.partition("svc_live_")[2][:38]
    bearer = {"authorization": f"Bearer svc_live_{key}", "cookie": ""}
    assert (await member.get("/api/v1/me", headers=bearer)).json()["effectivePlan"] == "PRO"
    story.books.change(begun, "customer.subscription.updated", status="unpaid")
    await story.pass_minute()
    assert (await member.get("/api/v1/me", headers=bearer)).status_code == 401
    billing.renew(story.books, begun["id"])
    await story.pass_minute()
    assert (await member.get("/api/v1/me", headers=bearer)).status_code == 200


async def test_without_a_key_there_is_no_page_no_link_and_no_call(
    settings: Settings, clock: MovingClock, runtime: Runtime, user: User, story: Story, organization: Organization
) -> None:
    unsold = replace(settings, stripe_key=None, stripe_price_pro=None, stripe_price_business=None)
    async with serving(create_app(unsold, clock=clock)) as url, connect(url, timeout=60) as client:
        client.headers.update(await open_session(runtime, user))
        for path in (*PAGES, *(f"{each}/{part}" for each in PAGES for part in ("billing", "return"))):
            assert (await client.get(path)).status_code in {303, 404}, path
        for path in PAGES:
            assert (await client.get(path)).status_code == 404
        assert (await client.post("/account/plan/checkout", data={"plan": "PRO"})).status_code == 404
        assert "/account/plan" not in (await client.get("/account")).text
        assert "/organization/plan" not in (await client.get("/organization/settings")).text
    assert story.fake.asked == []


async def test_an_administrator_clears_a_plan_on_its_page(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, story: Story, organization: Organization, admin: User
) -> None:
    await story.pay()
    async with runtime.transaction(OPERATOR) as work:
        await accounts.set_user_plan(work, user, Plan.FREE)
    assert (await member.post(f"/admin/users/{user.id}/clear-plan")).status_code == 404
    member.headers.update(await open_session(runtime, admin))
    assert "Let the plan follow the subscription" in (await member.get(f"/admin/users/{user.id}")).text
    assert (await member.post(f"/admin/users/{user.id}/clear-plan")).status_code == 303
    assert await story.plan() is Plan.PRO
    await member.post("/admin/organizations/studio/plan", data={"plan": "BUSINESS"})
    assert await story.plan() is Plan.BUSINESS
    assert "Let the plan follow the subscription" in (await member.get("/admin/organizations/studio")).text
    assert (await member.post("/admin/organizations/studio/clear-plan")).status_code == 303
    assert await story.plan() is Plan.PRO
