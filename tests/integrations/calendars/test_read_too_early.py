"""A calendar that is read while a booking is written into it: what was seen may be older than what is there now."""

from collections.abc import Awaitable, Callable
from typing import Any

from openslot.accounts.models import User
from openslot.bookings.models import Booking, Status
from openslot.core.work import Runtime
from openslot.integrations.calendars.adapters import open_server
from openslot.integrations.calendars.models import ConnectionRef
from openslot.integrations.calendars.ports import CalendarServer
from openslot.integrations.calendars.sync import OpenServer, sync_connection
from tests.integrations.calendars.conftest import HOUR, NINE, Book, Connect, events, open_starts, read, work_off
from tests.integrations.calendars.support import move, move_in_calendar, shown
from tests.support.clocks import MovingClock
from tests.support.radicale import Radicale

Meanwhile = Callable[[], Awaitable[None]]


async def nothing() -> None:
    pass


def with_something(*, before: Meanwhile = nothing, after: Meanwhile = nothing) -> OpenServer:
    """Let something happen just before a calendar's server is asked what has changed, or just after its answer."""

    def open_it(runtime: Runtime, ref: ConnectionRef, kind: str, sealed: bytes) -> CalendarServer:
        server = open_server(runtime, ref, kind, sealed)
        ask = server.list_changes

        async def list_changes(*arguments: Any, **options: Any) -> Any:
            await before()
            changes = await ask(*arguments, **options)
            await after()
            return changes

        server.list_changes = list_changes  # type: ignore[method-assign]
        return server

    return open_it


async def test_a_move_that_is_written_after_the_calendar_was_read_is_not_taken_back(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
) -> None:
    connection = await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)

    async def reschedule() -> None:
        await move(runtime, booking, 3)
        await work_off(runtime, clock)

    await sync_connection(runtime, connection.id, open_server=with_something(after=reschedule))
    await work_off(runtime, clock)
    await comes_to_rest(runtime, clock, connection.id)

    assert (await read(runtime, booking)).starts_at == booking.starts_at + 3 * HOUR
    assert (await shown(radicale, work_calendar, booking))["DTSTART"].dt == booking.starts_at + 3 * HOUR
    assert len(await events(runtime, "booking.rescheduled")) == 1
    assert f"{booking.starts_at:%H:%M}" in await open_starts(runtime, user)


async def test_a_move_of_the_host_after_ours_is_followed_at_the_next_reading(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    await comes_to_rest(runtime, clock, connection.id)

    async def reschedule_and_move() -> None:
        await move(runtime, booking, 3)
        await work_off(runtime, clock)
        await move_in_calendar(radicale, work_calendar, booking, start="140000", end="143000")

    await sync_connection(runtime, connection.id, open_server=with_something(before=reschedule_and_move))
    await comes_to_rest(runtime, clock, connection.id)

    assert (await read(runtime, booking)).starts_at == NINE + 5 * HOUR
    assert len(await events(runtime, "booking.rescheduled")) == 2


async def test_an_event_that_is_written_again_after_it_was_missed_cancels_nothing(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    await comes_to_rest(runtime, clock, connection.id)
    await delete(radicale, work_calendar, booking)

    async def reschedule() -> None:
        await move(runtime, booking, 3)
        await work_off(runtime, clock)

    await sync_connection(runtime, connection.id, open_server=with_something(after=reschedule))
    await comes_to_rest(runtime, clock, connection.id)

    assert (await read(runtime, booking)).status is Status.CONFIRMED
    assert (await shown(radicale, work_calendar, booking))["DTSTART"].dt == booking.starts_at + 3 * HOUR


async def test_an_event_that_the_host_deletes_after_our_move_cancels_the_booking_at_the_next_reading(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    await comes_to_rest(runtime, clock, connection.id)

    async def reschedule_and_delete() -> None:
        await move(runtime, booking, 3)
        await work_off(runtime, clock)
        await delete(radicale, work_calendar, booking)

    await sync_connection(runtime, connection.id, open_server=with_something(before=reschedule_and_delete))
    await comes_to_rest(runtime, clock, connection.id)

    assert (await read(runtime, booking)).status is Status.CANCELLED


async def delete(radicale: Radicale, place: str, booking: Booking) -> None:
    """Delete a booking's event as the host's own program would."""
    await radicale.send("DELETE", f"{place}{booking.id}.ics")


async def comes_to_rest(runtime: Runtime, clock: MovingClock, connection_id: Any) -> None:
    """Read a calendar and do what follows, some times."""
    for _ in range(3):
        await sync_connection(runtime, connection_id)
        await work_off(runtime, clock)
