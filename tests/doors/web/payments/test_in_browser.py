"""Journeys through the checkout: paid, declined, expired, refunded, without scripts too, and from another site."""

import httpx2
import pytest
from playwright.async_api import Browser, FrameLocator, Page, expect

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from tests.domains.mail.conftest import messages
from tests.domains.payments.support import book_and_pay, money, tick
from tests.doors.web.payments.conftest import INVITEE, PAGE, book, manage_of
from tests.doors.web.widget.sites import open_site, page_with, site
from tests.support.browsers import BOTH_WAYS, open_as, open_page
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books
from tests.support.page import read_page

START = f"{PAGE}?start=2026-03-20T10:00:00Z"


async def arrive(page: Page, books: Books, client: httpx2.AsyncClient, settings: Settings) -> None:
    """Wait for the checkout, and let it lead back to the server of the test."""
    await page.get_by_role("button", name="Pay", exact=True).wait_for()
    for each in books.objects.values():
        for name in ("success_url", "cancel_url"):
            if name in each:
                each[name] = each[name].replace(settings.public_url, str(client.base_url).rstrip("/"))


async def fill(page: Page | FrameLocator) -> None:
    await page.get_by_label("Your name").fill("Jonas Okafor")
    await page.get_by_label("Email address", exact=True).fill("jonas@okafor.example")
    await page.get_by_role("button", name="Continue to payment · €49.00").click()


async def test_declined_tried_again_and_paid(
    browser: Browser, client: httpx2.AsyncClient, settings: Settings, paid: EventType, books: Books
) -> None:
    page = await open_page(browser, client)
    await page.goto(START)
    await fill(page)
    await arrive(page, books, client, settings)
    await page.get_by_role("button", name="Pay with a card that is declined").click()
    await page.get_by_role("button", name="Pay", exact=True).click()
    await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible(timeout=20_000)
    await expect(page.get_by_text("€49.00 paid")).to_be_visible()


async def test_without_scripts_the_form_leads_to_the_checkout_back_and_to_it_again(
    browser: Browser, client: httpx2.AsyncClient, settings: Settings, paid: EventType, books: Books
) -> None:
    page = await open_page(browser, client, java_script_enabled=False)
    await page.goto(START)
    await fill(page)
    await arrive(page, books, client, settings)
    await page.reload()
    await page.get_by_role("link", name="Back").click()
    await expect(page.get_by_role("heading", name="Pay to confirm your booking")).to_be_visible()
    await page.get_by_role("link", name="Continue to payment").click()
    await page.get_by_role("button", name="Pay", exact=True).click()
    await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible(timeout=20_000)


async def test_from_another_site_the_checkout_opens_in_the_whole_window_and_leads_where_the_host_wants(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, settings: Settings, paid: EventType, books: Books
) -> None:
    await runtime.pool.execute("update event_types set redirect_url = 'https://shop.example/thanks?from=paid'")
    service = str(client.base_url).rstrip("/")
    element = f'<openslot-booking><a href="{service}{PAGE}">Book</a></openslot-booking>'
    async with site(browser, {"/": page_with(element, service=service)}, service=service) as address:
        page, _ = await open_site(browser, address, timezone_id="UTC")
        inside = page.frame_locator("openslot-booking iframe")
        await inside.locator("button[name=start]:visible").first.click()
        await fill(inside)
        await arrive(page, books, client, settings)
        await page.context.route("https://shop.example/**", lambda route: route.fulfill(body="Thanks"))
        async with page.expect_request("https://shop.example/**") as asked:
            await page.get_by_role("button", name="Pay", exact=True).click()
        booking = await runtime.pool.fetchrow("select id, status from bookings")
        assert booking is not None
        target = f"https://shop.example/thanks?from=paid&bookingId={booking['id']}"
        assert (await asked.value).url == target
        assert "/manage/" not in (await (await asked.value).all_headers()).get("referer", "")
        assert booking["status"] == "CONFIRMED"
    (session,) = books.list("checkout.session")
    assert session["payment_status"] == "paid"
    # Those who come back when the notice of the payment has come before lead there too; the link of the mails does not.
    back = manage_of(books, session["id"])
    assert (await client.get(back)).headers["location"] == target
    managed = await client.get(back.partition("?")[0])
    assert "€49.00 paid" in read_page(managed).text


@pytest.mark.parametrize("has_scripts", BOTH_WAYS)
async def test_expired_and_booked_again(
    browser: Browser,
    client: httpx2.AsyncClient,
    settings: Settings,
    paid: EventType,
    books: Books,
    clock: MovingClock,
    has_scripts: bool,
) -> None:
    page = await open_page(browser, client, java_script_enabled=has_scripts)
    await page.goto(START)
    await fill(page)
    await arrive(page, books, client, settings)
    (session,) = books.list("checkout.session")
    clock.pass_time(minutes=37)
    await page.get_by_role("button", name="Pay", exact=True).click()
    await expect(page.get_by_text("The session has been completed or has expired")).to_be_visible()
    await page.goto(manage_of(books, session["id"], "back"))
    await expect(page.get_by_role("heading", name="The time was released")).to_be_visible()
    await page.get_by_role("link", name="Choose another time").click()
    await page.wait_for_url(f"**{PAGE}*")
    await page.goto(START)
    await fill(page)
    await arrive(page, books, client, settings)
    await page.get_by_role("button", name="Pay", exact=True).click()
    await expect(page.get_by_role("heading", name="Your meeting is confirmed")).to_be_visible(timeout=20_000)
    assert [each["payment_status"] for each in books.list("checkout.session")].count("paid") == 1


@pytest.mark.parametrize("has_scripts", BOTH_WAYS)
async def test_refunded_in_part_and_then_the_rest(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    paid: EventType,
    books: Books,
    clock: MovingClock,
    has_scripts: bool,
) -> None:
    session = await book(client)
    books.pay(session)
    await client.get(manage_of(books, session))
    await tick(runtime, clock)
    host, _ = await open_as(browser, client, runtime, user, java_script_enabled=has_scripts)
    invitee = await open_page(browser, client, java_script_enabled=has_scripts)
    await host.goto("/payments")
    await host.get_by_role("link", name="Jonas Okafor").click()
    await host.get_by_role("link", name="Refund…").click()
    await host.get_by_label("Amount in EUR").fill("20")
    await host.get_by_role("button", name="Refund this amount").click()
    await expect(host.get_by_text("The refund was requested")).to_be_visible()
    await tick(runtime, clock)
    await invitee.goto(manage_of(books, session).partition("?")[0])
    await expect(invitee.get_by_text("€49.00 paid, €20.00 refunded")).to_be_visible()

    await host.get_by_role("link", name="Refund…").click()
    await host.get_by_role("button", name="Refund everything: €29.00").click()
    await expect(host.get_by_text("The refund was requested")).to_be_visible()
    await tick(runtime, clock)
    await host.reload()
    await expect(host.get_by_role("link", name="Refund…")).to_have_count(0)
    await invitee.reload()
    await expect(invitee.get_by_text("€49.00 paid, €49.00 refunded")).to_be_visible()
    assert money(books) == 0
    subjects = [str(each["subject"]) for each in await messages(runtime, INVITEE)]
    assert [each for each in subjects if "Refund" in each] == ["Refund of €20.00", "Refund of €29.00"]


async def test_the_payment_is_shown_beside_the_list_of_bookings(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, paid: EventType, books: Books
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    page, _ = await open_as(browser, client, runtime, user, viewport={"width": 1920, "height": 1080})
    await page.goto("/bookings")
    await page.get_by_role("link", name="Jonas Okafor").click()
    beside = page.get_by_role("complementary", name="Jonas Okafor")
    await expect(beside).to_contain_text("€49.00 paid")
    await expect(beside).to_contain_text("Test mode")
    await beside.get_by_role("link", name="Refund…").click()
    await page.wait_for_url(f"**/payments/{payment.id}/refund")
