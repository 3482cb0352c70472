"""What the host does to a booking's event in the calendar is done to the booking; accidents are asked about."""

from collections.abc import Sequence

import msgspec
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, Status
from openslot.domains.calendars import host_changes
from openslot.domains.calendars.host_changes import Decision
from openslot.domains.calendars.models import MissingEvent
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import HOUR, NINE, Book, Connect, events, open_starts, read, work_off
from tests.domains.calendars.support import move_in_calendar
from tests.support.clocks import MovingClock
from tests.support.ical import calendar, event
from tests.support.radicale import Radicale, radicale_in


async def missing_bookings(runtime: Runtime, user: User) -> Sequence[MissingEvent]:
    return await host_changes.list_missing_events(runtime.work(OPERATOR), user)


async def test_an_event_that_the_host_moves_moves_the_booking(
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
    await move_in_calendar(radicale, work_calendar, booking, start="130000", end="133000")

    await sync_connection(runtime, connection.id)

    moved = await read(runtime, booking)
    assert (moved.starts_at, moved.sequence) == (NINE + 4 * HOUR, 1)
    offered = await open_starts(runtime, user)
    assert ("10:00" in offered, "13:00" in offered) == (True, False)
    actor = await runtime.pool.fetchval("select actor from events where type = 'booking.rescheduled'")
    assert msgspec.json.decode(actor)["agent"] == "calendar"


async def test_a_move_that_was_followed_comes_to_rest(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    await move_in_calendar(radicale, work_calendar, booking, start="130000", end="133000")
    for _ in range(4):
        await sync_connection(runtime, connection.id)
        await work_off(runtime, clock)

    assert (await read(runtime, booking)).sequence == 1
    assert len(await events(runtime, "booking.rescheduled")) == 1
    assert await radicale.names(work_calendar) == [f"{booking.id}.ics"]


async def test_a_move_to_a_time_that_is_taken_or_no_start_is_told_and_not_made(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    booking = await book(NINE + HOUR)
    await book(NINE + 4 * HOUR, "Someone else")
    await work_off(runtime, clock)
    for start, end in (("130000", "133000"), ("101000", "104000")):
        await move_in_calendar(radicale, work_calendar, booking, start=start, end=end)
        await sync_connection(runtime, connection.id)
        url = f"{work_calendar}{booking.id}.ics"
        text = (await radicale.send("GET", url)).text
        await radicale.put(url, text.replace("SUMMARY:", "SUMMARY:Edited "))
        await sync_connection(runtime, connection.id)

    assert await read(runtime, booking) == booking
    refused = [msgspec.json.decode(fact) for fact in await events(runtime, "calendar.change_refused")]
    assert [each["wanted_start"] for each in refused] == ["2026-03-16T13:00:00Z", "2026-03-16T10:10:00Z"]
    assert refused[0]["reason"] == "availability.slot_unavailable"
    assert "Start times are 30 min apart" in refused[1]["reason"]


async def test_an_event_that_the_host_deletes_cancels_the_booking(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    await sync_connection(runtime, connection.id)
    await radicale.send("DELETE", f"{work_calendar}{booking.id}.ics")

    await sync_connection(runtime, connection.id)
    await work_off(runtime, clock)

    cancelled = await read(runtime, booking)
    assert (cancelled.status, cancelled.cancelled_by) == (Status.CANCELLED, "host")
    assert await radicale.names(work_calendar) == []


async def test_an_event_that_the_host_marks_as_cancelled_cancels_the_booking(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    url = f"{work_calendar}{booking.id}.ics"
    text = (await radicale.send("GET", url)).text
    await radicale.put(url, text.replace("STATUS:CONFIRMED", "STATUS:CANCELLED"))

    await sync_connection(runtime, connection.id)

    assert (await read(runtime, booking)).status is Status.CANCELLED


async def several(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, place: str, connect: Connect, book: Book
) -> tuple[Booking, Booking]:
    """Book twice, and let both events vanish between two syncs, while another one stays."""
    await radicale.put(f"{place}other.ics", calendar(event("other", start="20260316T150000Z", end="20260316T160000Z")))
    connection = await connect(place)
    first, second = await book(NINE + HOUR), await book(NINE + 3 * HOUR)
    await work_off(runtime, clock)
    await sync_connection(runtime, connection.id)
    for booking in (first, second):
        await radicale.send("DELETE", f"{place}{booking.id}.ics")
    for _ in range(2):
        await sync_connection(runtime, connection.id)
        await work_off(runtime, clock)
    return first, second


async def test_several_events_that_vanish_at_once_cancel_nothing_and_the_host_is_asked(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
) -> None:
    first, second = await several(runtime, clock, radicale, work_calendar, connect, book)

    assert {(await read(runtime, each)).status for each in (first, second)} == {Status.CONFIRMED}
    asked = [msgspec.json.decode(fact)["booking_ids"] for fact in await events(runtime, "calendar.events_missing")]
    assert [sorted(each) for each in asked] == [sorted([str(first.id), str(second.id)])]
    assert [each.booking_id for each in await missing_bookings(runtime, user)] == [first.id, second.id]


async def test_the_host_says_that_they_are_cancelled(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
) -> None:
    first, second = await several(runtime, clock, radicale, work_calendar, connect, book)

    async with runtime.transaction(OPERATOR) as work:
        assert await host_changes.decide_missing_events(work, user, Decision.CANCEL, [first.id]) == 1
    await work_off(runtime, clock)

    assert (await read(runtime, first)).status is Status.CANCELLED
    assert (await read(runtime, second)).status is Status.CONFIRMED
    assert [each.booking_id for each in await missing_bookings(runtime, user)] == [second.id]


async def test_the_host_says_that_they_come_back(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
) -> None:
    first, second = await several(runtime, clock, radicale, work_calendar, connect, book)

    async with runtime.transaction(OPERATOR) as work:
        assert await host_changes.decide_missing_events(work, user, Decision.RESTORE) == 2
    await work_off(runtime, clock)

    assert await radicale.names(work_calendar) == sorted([*(f"{each.id}.ics" for each in (first, second)), "other.ics"])
    assert await missing_bookings(runtime, user) == []


async def test_a_calendar_that_is_emptied_cancels_nothing_though_it_had_one_booking_alone(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
) -> None:
    connection = await connect(work_calendar)
    await radicale.put(
        f"{work_calendar}other.ics", calendar(event("other", start="20260316T140000Z", end="20260316T150000Z"))
    )
    booking = await book()
    await work_off(runtime, clock)
    await sync_connection(runtime, connection.id)
    for name in await radicale.names(work_calendar):
        await radicale.send("DELETE", f"{work_calendar}{name}")

    await sync_connection(runtime, connection.id)

    assert (await read(runtime, booking)).status is Status.CONFIRMED
    assert [each.booking_id for each in await missing_bookings(runtime, user)] == [booking.id]


async def test_a_calendar_that_is_deleted_cancels_nothing(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    await sync_connection(runtime, connection.id)
    await radicale.send("DELETE", work_calendar)

    assert await sync_connection(runtime, connection.id) is not None

    assert (await read(runtime, booking)).status is Status.CONFIRMED


async def test_an_event_that_is_moved_to_another_calendar_stays_booked(
    runtime: Runtime, clock: MovingClock, tmp_path_factory: pytest.TempPathFactory, connect: Connect, book: Book
) -> None:
    with radicale_in(tmp_path_factory.mktemp("two")) as server:
        places = [await server.add_calendar("A"), await server.add_calendar("B")]
        connection = await connect(f"{server.url}/")
        booking = await book()
        await work_off(runtime, clock)
        await sync_connection(runtime, connection.id)
        name = f"{booking.id}.ics"
        source, target = places if name in await server.names(places[0]) else reversed(places)
        moved = await server.send("MOVE", f"{source}{name}", headers={"Destination": f"{target}{name}"})
        assert moved.is_success

        for _ in range(2):
            await sync_connection(runtime, connection.id)
            await work_off(runtime, clock)

        assert (await read(runtime, booking)).status is Status.CONFIRMED
        async with runtime.transaction(OPERATOR) as work:
            await bookings.cancel_booking(work, BookingRef(booking.id, None))
        await work_off(runtime, clock)
        assert await server.names(target) == []


async def test_a_move_of_ours_that_is_on_its_way_is_not_taken_back(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    await move_in_calendar(radicale, work_calendar, booking, start="130000", end="133000")
    async with runtime.transaction(OPERATOR) as work:
        await bookings.reschedule_booking(work, BookingRef(booking.id, None), NINE + 5 * HOUR)

    await sync_connection(runtime, connection.id)
    assert (await read(runtime, booking)).starts_at == NINE + 5 * HOUR
    await work_off(runtime, clock)
    await sync_connection(runtime, connection.id)
    await work_off(runtime, clock)

    assert (await read(runtime, booking)).starts_at == NINE + 5 * HOUR
    assert "T140000Z" in (await radicale.send("GET", f"{work_calendar}{booking.id}.ics")).text


async def test_the_host_is_mailed_what_was_refused_and_what_is_missing(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
) -> None:
    first, second = await several(runtime, clock, radicale, work_calendar, connect, book)
    async with runtime.transaction(OPERATOR) as work:
        await host_changes.decide_missing_events(work, user, Decision.RESTORE)
    await work_off(runtime, clock)
    await move_in_calendar(radicale, work_calendar, first, start="120000", end="123000")
    connection = await runtime.pool.fetchval("select id from calendar_connections")
    await sync_connection(runtime, connection)
    await work_off(runtime, clock)

    mails = await runtime.pool.fetch("select subject from mail_messages where recipient = $1", user.email)
    subjects = {row["subject"] for row in mails}
    assert (await read(runtime, first)).starts_at != second.starts_at
    assert {"Bookings are missing from your calendar", "A booking was not changed"} <= subjects


async def test_a_move_of_ours_that_never_arrived_is_not_taken_back_by_an_edit(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    async with runtime.transaction(OPERATOR) as work:
        await bookings.reschedule_booking(work, BookingRef(booking.id, None), NINE + 5 * HOUR)
    await runtime.pool.execute("update effects set state = 'dead' where state in ('waiting', 'queued')")
    await runtime.pool.execute("update lanes set unfinished = 0")
    url = f"{work_calendar}{booking.id}.ics"
    await radicale.put(url, (await radicale.send("GET", url)).text.replace("SUMMARY:", "SUMMARY:Edited "))

    await sync_connection(runtime, connection.id)

    assert (await read(runtime, booking)).starts_at == NINE + 5 * HOUR
