"""Every page of payments, light and dark: no fault for axe, nothing wider than a phone, nothing too small."""

from collections.abc import AsyncIterator

import httpx2
from playwright.async_api import Browser, Page

from openslot.accounts.models import User
from openslot.core.work import Runtime
from openslot.event_types.models import EventType
from openslot.payments import operations
from tests.payments.support import book_and_pay, intent_of
from tests.support.browsers import open_as
from tests.support.fake_stripe import Books
from tests.support.page_checks import CHECKED, check_pages
from tests.web.payments.conftest import book, manage_of


async def visit_all(
    page: Page, client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
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


async def test_every_page_fits_a_phone_and_axe_finds_no_fault(
    browser: Browser, client: httpx2.AsyncClient, runtime: Runtime, user: User, paid: EventType, books: Books
) -> None:
    page, _ = await open_as(browser, client, runtime, user, **CHECKED)
    await check_pages(page, visit_all(page, client, runtime, paid, books), "payments")
