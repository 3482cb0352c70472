"""A calendar that is read while a booking is written into it: what was seen may be older than what is there now."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking, Status
from openslot.domains.calendars.models import ConnectionRef
from openslot.domains.calendars.ports import CalendarServer
from openslot.domains.calendars.servers import open_server
from openslot.domains.calendars.sync import OpenServer, sync_connection
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import HOUR, NINE, Book, Connect, events, open_starts, read, work_off
from tests.domains.calendars.support import cancel, move, move_in_calendar, shown
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


class Written(Struct, frozen=True, kw_only=True):
    """A booking that its host's calendar shows, and what may happen to it on either side."""

    runtime: Runtime
    clock: MovingClock
    radicale: Radicale
    calendar: str
    connection_id: UUID
    booking: Booking

    @property
    def place(self) -> str:
        return f"{self.calendar}{self.booking.id}.ics"

    async def reschedule(self) -> None:
        """Move the booking by three hours, and write that into the calendar."""
        self.clock.pass_time(seconds=1)
        await move(self.runtime, self.booking, 3)
        await work_off(self.runtime, self.clock)

    async def cancel(self) -> None:
        """Cancel the booking, and remove it from the calendar."""
        self.clock.pass_time(seconds=1)
        await cancel(self.runtime, self.booking)
        await work_off(self.runtime, self.clock)

    async def delete(self) -> None:
        """Delete the event as the host's own program would."""
        await self.radicale.send("DELETE", self.place)

    async def read_once(self, **meanwhile: Meanwhile) -> None:
        """Read the calendar while something happens."""
        await sync_connection(self.runtime, self.connection_id, open_server=with_something(**meanwhile))

    async def read_calendar(self, **meanwhile: Meanwhile) -> None:
        """Read the calendar while something happens, and then some times more, with what follows from that."""
        await self.read_once(**meanwhile)
        for _ in range(3):
            await work_off(self.runtime, self.clock)
            await sync_connection(self.runtime, self.connection_id)

    async def show(self) -> tuple[Status, Any, Any]:
        """Tell the booking's status, its start, and the start of its event."""
        found = await read(self.runtime, self.booking)
        event = await shown(self.radicale, self.calendar, self.booking) if found.status is Status.CONFIRMED else None
        return found.status, found.starts_at, event and event["DTSTART"].dt


@pytest.fixture
async def written(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> Written:
    connection = await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    return Written(
        runtime=runtime,
        clock=clock,
        radicale=radicale,
        calendar=work_calendar,
        connection_id=connection.id,
        booking=booking,
    )


async def test_a_move_that_is_written_after_the_calendar_was_read_is_not_taken_back(
    written: Written, user: User
) -> None:
    await written.read_calendar(after=written.reschedule)

    later = written.booking.starts_at + 3 * HOUR
    assert await written.show() == (Status.CONFIRMED, later, later)
    assert len(await events(written.runtime, "booking.rescheduled")) == 1
    assert f"{written.booking.starts_at:%H:%M}" in await open_starts(written.runtime, user)


async def test_a_move_of_the_host_after_ours_is_followed_at_the_next_reading(written: Written) -> None:
    await written.read_calendar()

    async def reschedule_and_move() -> None:
        await written.reschedule()
        await move_in_calendar(written.radicale, written.calendar, written.booking, start="140000", end="143000")

    await written.read_calendar(before=reschedule_and_move)

    assert await written.show() == (Status.CONFIRMED, NINE + 5 * HOUR, NINE + 5 * HOUR)
    assert len(await events(written.runtime, "booking.rescheduled")) == 2


@pytest.mark.rest("another moment at which a calendar is read too early")
async def test_an_event_that_is_written_again_after_it_was_missed_cancels_nothing(written: Written) -> None:
    await written.read_calendar()
    await written.delete()

    await written.read_calendar(after=written.reschedule)

    later = written.booking.starts_at + 3 * HOUR
    assert await written.show() == (Status.CONFIRMED, later, later)


@pytest.mark.rest("another moment at which a calendar is read too early")
async def test_an_event_that_the_host_deletes_after_our_move_cancels_the_booking_at_the_next_reading(
    written: Written,
) -> None:
    await written.read_calendar()

    async def reschedule_and_delete() -> None:
        await written.reschedule()
        await written.delete()

    await written.read_calendar(before=reschedule_and_delete)

    assert (await written.show())[0] is Status.CANCELLED


async def test_a_time_that_is_freed_while_the_calendar_is_read_is_open_at_once(written: Written, user: User) -> None:
    start = f"{written.booking.starts_at:%H:%M}"
    assert start not in await open_starts(written.runtime, user)

    await written.read_once(after=written.cancel)
    assert start in await open_starts(written.runtime, user)

    await written.read_calendar()
    assert start in await open_starts(written.runtime, user)


@pytest.mark.rest("another moment at which a calendar is read too early")
async def test_a_time_that_is_left_while_the_calendar_is_read_is_open_at_once(written: Written, user: User) -> None:
    await written.read_once(after=written.reschedule)

    assert f"{written.booking.starts_at:%H:%M}" in await open_starts(written.runtime, user)
    assert f"{written.booking.starts_at + 3 * HOUR:%H:%M}" not in await open_starts(written.runtime, user)


@pytest.mark.rest("another moment at which a calendar is read too early")
async def test_a_time_is_open_though_the_event_of_a_cancelled_booking_is_still_there(
    written: Written, user: User
) -> None:
    """Its worker was killed before it had written down what it has done, and the next try has not begun."""
    await written.runtime.pool.execute("delete from calendar_events")
    await written.runtime.pool.execute(
        """update effects set state = 'queued', lane = null, finished_at = null, next_try_at = $1
        where reaction = 'calendars.write'""",
        written.clock.now + HOUR,
    )
    await cancel(written.runtime, written.booking)

    await written.read_once()

    assert f"{written.booking.starts_at:%H:%M}" in await open_starts(written.runtime, user)
    await written.read_calendar()
    assert f"{written.booking.starts_at:%H:%M}" in await open_starts(written.runtime, user)


@pytest.mark.rest("another moment at which a calendar is read too early")
async def test_an_event_that_the_host_puts_back_after_the_booking_was_cancelled_keeps_its_time(
    written: Written, user: User
) -> None:
    kept = (await written.radicale.send("GET", written.place)).content
    await written.cancel()
    await written.radicale.send("PUT", written.place, content=kept)

    await written.read_calendar()

    assert f"{written.booking.starts_at:%H:%M}" not in await open_starts(written.runtime, user)
