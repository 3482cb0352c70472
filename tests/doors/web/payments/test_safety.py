"""Booking pages of a payment that is awaited, and of one that was given up: no text becomes markup."""

import httpx2

from openslot.domains.event_types.models import EventType
from openslot.platform.core.work import Runtime
from tests.doors.web.payments.conftest import PAGE, book, filled, manage_of
from tests.support.fake_stripe import Books
from tests.support.hostile_text import WHOLE, check_pages


async def test_stored_and_typed_text_stays_text(
    member: httpx2.AsyncClient, runtime: Runtime, paid: EventType, books: Books
) -> None:
    waiting, released = [await book(member, start=f"2026-03-20T{hour}:00:00Z") for hour in (11, 12)]
    manage = [manage_of(books, each).partition("?")[0] for each in (waiting, released)]
    await member.post(f"{manage[1]}/give-up")
    await runtime.pool.execute("update bookings set invitee_name = $1, invitee_email = $1", WHOLE)
    await runtime.pool.execute("update event_types set name = $1, description = $1", WHOLE)
    await runtime.pool.execute("update users set name = $1", WHOLE)
    pages = [await member.get(each) for each in manage]
    pages += [await member.post(PAGE, data=filled(**dict.fromkeys(("price", "key", "name", "notes"), WHOLE)))]
    assert {page.status_code for page in pages} <= {200, 400}
    assert check_pages(pages) == 3
