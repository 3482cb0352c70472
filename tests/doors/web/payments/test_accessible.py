"""Every page of payments, light and dark: no fault for axe, nothing wider than a phone, nothing too small."""

from collections.abc import AsyncIterator

import httpx2
from playwright.async_api import Browser, Page, expect

from openslot.domains.accounts.models import User
from openslot.domains.event_types.models import EventType
from openslot.domains.payments import operations
from openslot.platform.core.work import Runtime
from tests.domains.payments.support import book_and_pay, intent_of
from tests.doors.web.payments.conftest import book, manage_of
from tests.support.browsers import open_as
from tests.support.fake_stripe import Books, FakeStripe
from tests.support.page_checks import CHECKED, check_pages, unfold


async def visit_all(
    page: Page, client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, second: Books
) -> AsyncIterator[str]:
    session = await book(client)
    await page.goto(manage_of(books, session, "back"))
    yield "waiting"
    books.pay_later(session)
    await page.goto(manage_of(books, session))
    yield "processing"
    other = await book(client, start="2026-03-20T11:00:00Z")
    await page.goto(manage_of(books, other, "back"))
    await page.get_by_role("button", name="Give up this time").click()
    await page.wait_for_selector(".mark.bad")
    yield "released"
    books.pay(await book(client, start="2026-03-20T12:00:00Z"))
    await page.goto("/payments")
    yield "none received"
    payment = await book_and_pay(client, runtime, paid, books, "2026-03-20T13:00:00Z")
    books.refund(intent_of(payment), 900)
    books.dispute(intent_of(payment))
    await operations.read_anew(runtime, payment.id)
    for path in ("/payments", f"/payments/{payment.id}", f"/payments/{payment.id}/refund"):
        await page.goto(path)
        yield path
    async for state in visit_account(page, runtime, second):
        yield state


async def visit_account(page: Page, runtime: Runtime, second: Books) -> AsyncIterator[str]:
    """Go through the pages of an account that Stripe refuses, until another one takes its place."""
    await runtime.pool.execute(
        "update payments set state = 'released' where state in ('opening', 'open', 'processing')"
    )
    await runtime.pool.execute("update payment_connections set last_error = 'payments.refused'")
    await page.goto("/settings/payments")
    await unfold(page, "main details")
    yield "the connected account"
    await page.goto("/settings/payments/disconnect")
    yield "disconnect"
    await page.goto("/settings/payments")
    await page.get_by_label("Restricted key").fill(second.key)
    await page.get_by_role("button", name="Check and save").click()
    await expect(page.get_by_role("heading", name="Replace the payment account?")).to_be_visible()
    yield "another account"
    await page.get_by_role("button", name="Replace the account").click()
    await expect(page.get_by_text("Payments are connected.")).to_be_visible()
    yield "replaced"


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser,
    client: httpx2.AsyncClient,
    runtime: Runtime,
    user: User,
    paid: EventType,
    fake_stripe: FakeStripe,
    books: Books,
) -> None:
    second = fake_stripe.add_account("A rather long name of another business", livemode=True)
    page, _ = await open_as(browser, client, runtime, user, **CHECKED)
    await check_pages(page, visit_all(page, client, runtime, paid, books, second), "payments")
