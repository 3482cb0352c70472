"""What becomes of an entry whose offer was booked: it stays booked, or waits again if that was not confirmed."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, Status
from openslot.domains.bookings.requests import operations as requests
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.wait_list import operations as wait_list
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.work import Runtime
from tests.support.wait_list import (
    NINE,
    book_day,
    cancel_day,
    find_wait_list_faults,
    hand_out,
    list_starts,
    offer_day,
    take_offer,
    tell_offered,
    wait_for,
)

LI, MO = "li@x.example", "mo@x.example"


async def request_offered(runtime: Runtime, day: EventType, entry_id: UUID) -> Booking:
    """Take an offer of an event type whose host confirms each booking."""
    async with runtime.transaction(OPERATOR) as work:
        await event_types.change_event_type(work, replace(day, requires_confirmation=True))
    asked = await take_offer(runtime, entry_id)
    assert asked.status is Status.PENDING_CONFIRMATION
    return asked


async def decline_request(runtime: Runtime, booking: Booking) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await requests.decline_booking_request(work, BookingRef(booking.id, None))


async def withdraw_request(runtime: Runtime, booking: Booking) -> None:
    async with runtime.transaction(PUBLIC) as work:
        await requests.withdraw_booking_request(work, booking.id)


async def read_states(runtime: Runtime) -> list[str]:
    """Read how entries stand, in the order of joining."""
    return [row["state"] for row in await runtime.pool.fetch("select state from wait_list_entries order by id")]


@pytest.mark.parametrize("end", [decline_request, withdraw_request])
async def test_who_is_not_confirmed_waits_again_for_another_time(
    runtime: Runtime, day: EventType, end: Callable[[Runtime, Booking], Awaitable[None]]
) -> None:
    booking = await book_day(runtime, day)
    li, mo = await wait_for(runtime, day, LI, MO)
    await cancel_day(runtime, booking)
    asked = await request_offered(runtime, day, li)
    assert await read_states(runtime) == ["booked", "waiting"]
    await end(runtime, asked)
    assert await read_states(runtime) == ["waiting", "waiting"]
    async with runtime.transaction(PUBLIC) as work:
        await wait_list.decline_offer(work, mo)
    await hand_out(runtime)
    assert await tell_offered(runtime) == [("li", "accepted"), ("mo", "declined")]
    assert await list_starts(runtime, day) == [NINE]
    assert await find_wait_list_faults(runtime) == {}


async def test_who_has_joined_anew_waits_once(runtime: Runtime, day: EventType) -> None:
    booking = await book_day(runtime, day)
    (li,) = await wait_for(runtime, day, LI)
    await cancel_day(runtime, booking)
    asked = await request_offered(runtime, day, li)
    (anew,) = await wait_for(runtime, day, LI)
    await decline_request(runtime, asked)
    assert await read_states(runtime) == ["booked", "waiting"]
    # The second one ends in the same way, and the first one does not come back.
    await decline_request(runtime, await take_offer(runtime, anew))
    assert await read_states(runtime) == ["booked", "waiting"]


async def test_who_was_confirmed_and_cancels_does_not_wait_again(runtime: Runtime, day: EventType) -> None:
    booking = await book_day(runtime, day)
    (li,) = await wait_for(runtime, day, LI)
    await cancel_day(runtime, booking)
    asked = await request_offered(runtime, day, li)
    async with runtime.transaction(OPERATOR) as work:
        confirmed = await requests.confirm_booking_request(work, BookingRef(asked.id, None))
    await cancel_day(runtime, confirmed)
    await hand_out(runtime)
    assert await read_states(runtime) == ["booked"]


async def test_who_moves_an_offered_seat_to_another_day_is_booked_and_gives_it_to_the_next(
    runtime: Runtime, user: User
) -> None:
    group = await offer_day(runtime, user, "group", seats=2)
    one, _ = [await book_day(runtime, group, email=f"{name}@x.example") for name in ("a", "b")]
    li, _ = await wait_for(runtime, group, LI, MO, starts_at=NINE)
    await cancel_day(runtime, one)
    made = await take_offer(runtime, li)
    async with runtime.transaction(OPERATOR) as work:
        moved = await bookings.reschedule_booking(work, BookingRef(made.id, None), NINE + timedelta(days=1))
    assert moved.claim_id != made.claim_id
    assert (await wait_list.get_wait_list_entry(runtime.work(PUBLIC), li)).booking_id == made.id
    assert await read_states(runtime) == ["booked", "waiting"]
    assert await tell_offered(runtime) == [("li", "accepted"), ("mo", "offered")]
    assert await find_wait_list_faults(runtime) == {}
