"""The upgrade gives bookings their time back that had lost it, where nobody has taken it since."""

import pytest

from openslot.accounts.models import User
from openslot.availability.models import ByPage
from openslot.availability.operations import list_open
from openslot.bookings.models import Booking, BookingWanted, Invitee
from openslot.bookings.operations import create_booking, list_without_time
from openslot.core.actor import PUBLIC
from openslot.core.ids import new_id
from openslot.core.migrate import known_migrations, split_statements
from openslot.core.times import at_second
from openslot.core.work import Runtime
from tests.bookings.conftest import offer
from tests.support.races import find_disorder


async def book(runtime: Runtime, slug: str, place: int = -1) -> Booking:
    which = ByPage("mara", slug)
    async with runtime.transaction(PUBLIC) as work:
        _, slots, _ = await list_open(work, which, timezone="UTC")
        invitee = Invitee(name="Li", email=f"{new_id()}@wei.example", zone="UTC")
        return await create_booking(
            work, BookingWanted(which=which, starts_at=at_second(slots.starts[place]), invitee=invitee)
        )


async def lose(runtime: Runtime, booking: Booking) -> None:
    """Switch a booking's time off, as a hold that was dropped while it was booked once did."""
    async with runtime.pool.acquire() as connection, connection.transaction():
        await connection.execute("set local session_replication_role = replica")
        await connection.execute("update claims set active = false where id = $1", booking.claim_id)
        await connection.execute("update claim_seats set active = false where id = $1", booking.seat_id)


async def upgrade(runtime: Runtime) -> None:
    *_, repair = split_statements(known_migrations()["0014_time.sql"])
    await runtime.pool.execute(repair)


@pytest.mark.parametrize("seats", [1, 2], ids=["single", "group"])
async def test_lost_time_is_given_back(runtime: Runtime, user: User, seats: int) -> None:
    await offer(runtime, user, "race", seats=seats)
    booking = await book(runtime, "race")
    await lose(runtime, booking)
    assert await list_without_time(runtime.pool, now=runtime.clock()) == [booking.id]

    await upgrade(runtime)

    assert await find_disorder(runtime.pool) == {}


async def test_time_that_is_taken_stays_with_who_took_it(runtime: Runtime, user: User) -> None:
    await offer(runtime, user, "race")
    lost = await book(runtime, "race")
    await lose(runtime, lost)
    taker, other = await book(runtime, "race"), await book(runtime, "race", 0)
    await lose(runtime, other)

    await upgrade(runtime)

    assert taker.starts_at == lost.starts_at
    assert await list_without_time(runtime.pool, now=runtime.clock()) == [lost.id]
