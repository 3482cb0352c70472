"""A host's page stays light, with everything that it loads."""

from datetime import timedelta

import httpx2

from openslot.accounts.models import User
from openslot.core.work import Runtime
from tests.bookings.conftest import offer
from tests.support.host import TWELVE, Book
from tests.support.weights import weigh

PAGES = (
    "/",
    "/bookings",
    "/bookings/day?date=2026-03-17",
    "/bookings/week?date=2026-03-17",
    "/bookings/month?date=2026-03-17",
    "/bookings/{booking}",
    "/event-types",
    "/contacts",
    "/account",
    "/analytics",
)


async def test_a_page_is_at_most_40_kb_on_the_wire_and_69_unpacked(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    await offer(runtime, user, "intro-call")
    booking = await book()
    for number in range(8):
        await book(TWELVE + timedelta(days=number // 2, hours=number % 2), name="Luis Ferreira")
    for path in PAGES:
        weight = await weigh(member, path.format(booking=booking.id))

        assert weight.on_the_wire <= 40_000, (path, weight)
        assert weight.unpacked <= 69_000, (path, weight)
