"""A booking that has lost its time, which the database refuses, is found."""

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import ByPage
from openslot.domains.availability.operations import list_open_slots
from openslot.domains.bookings.models import Booking, BookingWanted, Invitee
from openslot.domains.bookings.operations import create_booking, list_without_time
from openslot.platform.core.actor import PUBLIC
from openslot.platform.core.ids import new_id
from openslot.platform.core.times import at_second
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer


async def book(runtime: Runtime, slug: str) -> Booking:
    which = ByPage("mara", slug)
    async with runtime.transaction(PUBLIC) as work:
        _, slots, _ = await list_open_slots(work, which, timezone="UTC")
        invitee = Invitee(name="Li", email=f"{new_id()}@wei.example", zone="UTC")
        return await create_booking(
            work, BookingWanted(which=which, starts_at=at_second(slots.starts[-1]), invitee=invitee)
        )


async def lose(runtime: Runtime, booking: Booking) -> None:
    """Switch a booking's time off, past the trigger that keeps it."""
    async with runtime.pool.acquire() as connection, connection.transaction():
        await connection.execute("set local session_replication_role = replica")
        await connection.execute("update claims set active = false where id = $1", booking.claim_id)
        await connection.execute("update claim_seats set active = false where id = $1", booking.seat_id)


@pytest.mark.parametrize("seats", [1, 2], ids=["single", "group"])
async def test_lost_time_is_found(runtime: Runtime, user: User, seats: int) -> None:
    await offer(runtime, user, "race", seats=seats)
    booking = await book(runtime, "race")
    assert await list_without_time(runtime.pool, now=runtime.clock()) == []

    await lose(runtime, booking)

    assert await list_without_time(runtime.pool, now=runtime.clock()) == [booking.id]


async def test_whose_time_another_has_taken_is_found(runtime: Runtime, user: User) -> None:
    await offer(runtime, user, "race")
    lost = await book(runtime, "race")
    await lose(runtime, lost)
    taker = await book(runtime, "race")

    assert taker.starts_at == lost.starts_at
    assert await list_without_time(runtime.pool, now=runtime.clock()) == [lost.id]
