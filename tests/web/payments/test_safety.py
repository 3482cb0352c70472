"""Pages of payments: no stored or typed text becomes markup, no form of another site is taken, all ask to sign in."""

import httpx2
import pytest

from openslot.core.work import Runtime
from openslot.event_types.models import EventType
from openslot.payments import operations
from openslot.payments.models import Problem
from tests.payments.support import book_and_pay, intent_of, money, tick
from tests.support.clocks import MovingClock
from tests.support.fake_stripe import Books
from tests.support.forms import from_other_sites
from tests.support.hostile_text import CORPUS, check_pages
from tests.web.payments.conftest import PAGE, book, filled, manage_of


@pytest.mark.parametrize("text", CORPUS)
async def test_stored_and_typed_text_stays_text(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock, text: str
) -> None:
    waiting, released = [await book(member, start=f"2026-03-20T{hour}:00:00Z") for hour in (11, 12)]
    manage = [manage_of(books, each).partition("?")[0] for each in (waiting, released)]
    await member.post(f"{manage[1]}/give-up")
    payment = await book_and_pay(member, runtime, paid, books)
    books.refund(intent_of(payment), 900)
    await operations.read_anew(runtime, payment.id)
    await tick(runtime, clock)
    await spoil(runtime, text)
    path = f"/payments/{payment.id}"
    addresses = [
        *("/payments", "/settings/payments", "/settings/payments/disconnect", path, f"{path}/refund", *manage),
        *(f"/bookings/{payment.booking_id}", f"/bookings/{payment.booking_id}/cancel"),
        f"/bookings/week?date=2026-03-20&booking={payment.booking_id}",
    ]
    pages = [await member.get(each) for each in addresses]
    pages += [await member.get("/payments", params=dict.fromkeys(("q", "status", "from", "to"), text))]
    pages += [await member.post(f"{path}/refund", data={"amount": text, "left": text, "everything": text})]
    pages += [await member.post("/settings/payments", data={"key": text, "secret": text})]
    pages += [await member.post("/bookings/selected/cancel", data={"id": [str(payment.booking_id)]})]
    pages += [await member.post(PAGE, data=filled(**dict.fromkeys(("price", "key", "name", "notes"), text)))]
    assert check_pages(pages) > 10


async def spoil(runtime: Runtime, text: str) -> None:
    """Put a text into every field that a page of payments shows, past every check."""
    await runtime.pool.execute("update bookings set invitee_name = $1, invitee_email = $1", text)
    await runtime.pool.execute("update event_types set name = $1, description = $1", text)
    await runtime.pool.execute("update users set name = $1", text)
    await runtime.pool.execute("update payments set problems = array[$2], intent_id = $1", text, Problem.DISPUTED)
    await runtime.pool.execute("update refunds set error = $1, vendor_id = $1", text)
    await runtime.pool.execute("update payment_connections set account_name = $1, last_error = $1", text)


async def test_a_form_of_another_site_refunds_and_disconnects_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books, clock: MovingClock
) -> None:
    payment = await book_and_pay(member, runtime, paid, books)
    paths = (f"/payments/{payment.id}/refund", "/settings/payments", "/settings/payments/disconnect")
    for path, headers in from_other_sites(paths):
        answer = await member.post(path, data={"amount": "1", "everything": "true"}, headers=headers)
        assert answer.status_code == 403, (path, headers)
    await tick(runtime, clock)
    assert money(books) == 4900
    assert await runtime.pool.fetchval("select count(*) from payment_connections where key is not null") == 1


async def test_without_a_session_every_page_asks_to_sign_in(
    client: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    payment = await book_and_pay(client, runtime, paid, books)
    for path in ("/payments", "/payments/export.csv", f"/payments/{payment.id}", f"/payments/{payment.id}/refund"):
        answer = await client.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/login")
