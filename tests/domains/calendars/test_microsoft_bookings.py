"""Bookings in a calendar of Microsoft 365: one event each whatever is retried, and what the host does to it there."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking, Status
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.host_changes import Decision, decide_missing_events
from openslot.domains.calendars.models import CalendarConnection, ConnectionRef
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.vendors.microsoft.events import PROPERTY
from tests.domains.calendars.conftest import HOUR, NINE, Book, events, read, work_off
from tests.domains.calendars.support import cancel, move
from tests.support.clocks import MovingClock
from tests.support.fake_microsoft import FakeMicrosoft, Fault, FaultKind, Mailbox
from tests.support.fake_microsoft.events import EventChanges, GraphTime, Item, Pattern, Range, Recurrence
from tests.support.microsoft_host import allow, mailbox, microsoft, settings

pytestmark = pytest.mark.rest("speaks with one vendor; the contracts of all run in make test")

__all__ = ["mailbox", "microsoft", "settings"]

TEN, DAY = NINE + HOUR, timedelta(days=1)


@pytest.fixture
async def connection(runtime: Runtime, user: User, microsoft: FakeMicrosoft) -> CalendarConnection:
    """Connect the host's mailbox, and read it."""
    return await connect(runtime, user, microsoft)


async def connect(runtime: Runtime, user: User, microsoft: FakeMicrosoft) -> CalendarConnection:
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, microsoft))
    assert await sync_connection(runtime, made.id) is None
    return made


async def sync(runtime: Runtime, connection: CalendarConnection) -> str | None:
    return await sync_connection(runtime, connection.id)


def find_items(mailbox: Mailbox, booking: Booking) -> list[Item]:
    """Find the events of a booking, in all calendars."""
    items = [each for holder in mailbox.calendars.values() for each in holder.items]
    return [each for each in items if each.properties.get(PROPERTY) == booking.uid]


async def written(runtime: Runtime, clock: MovingClock, mailbox: Mailbox, booking: Booking) -> Item:
    """Let a booking be written, and read its only event at Microsoft."""
    await work_off(runtime, clock)
    (item,) = find_items(mailbox, booking)
    return item


def times(start: datetime, end: datetime) -> EventChanges:
    begin, finish = (GraphTime(f"{at:%Y-%m-%dT%H:%M:%S}", "UTC") for at in (start, end))
    return EventChanges(start=begin, end=finish)


def remove(mailbox: Mailbox, bookings: Sequence[Booking]) -> None:
    for booking in bookings:
        for item in find_items(mailbox, booking):
            mailbox.delete(mailbox.default, item)


@pytest.mark.usefixtures("connection")
async def test_a_booking_is_written_without_guests_and_without_a_manage_link(
    runtime: Runtime, clock: MovingClock, mailbox: Mailbox, book: Book
) -> None:
    booking = await book(TEN)

    shown = await written(runtime, clock, mailbox, booking)

    assert (shown.starts_at, shown.fields["attendees"], shown.fields["showAs"]) == (TEN, [], "busy")
    assert f"/bookings/{booking.id}" in shown.fields["body"]["content"]
    assert "/manage/" not in str(shown.fields)
    assert mailbox.mails == []


@pytest.mark.usefixtures("connection")
@pytest.mark.parametrize("is_moved", [False, True])
async def test_a_lost_answer_makes_no_second_event(
    runtime: Runtime, clock: MovingClock, microsoft: FakeMicrosoft, mailbox: Mailbox, book: Book, *, is_moved: bool
) -> None:
    microsoft.faults.append(Fault(FaultKind.LOSE_ANSWER, "/v1.0/me/calendars", "POST"))
    booking = await book(TEN)
    await work_off(runtime, clock)
    assert await runtime.pool.fetchval("select count(*) from calendar_events") == 0
    if is_moved:
        await move(runtime, booking, 1)
    clock.pass_time(minutes=1)

    item = await written(runtime, clock, mailbox, booking)

    assert item.starts_at == TEN + is_moved * HOUR
    assert await runtime.pool.fetchval("select count(*) from calendar_events") == 1


@pytest.mark.usefixtures("connection")
async def test_a_long_wait_is_left_to_the_worker(
    runtime: Runtime, clock: MovingClock, microsoft: FakeMicrosoft, mailbox: Mailbox, book: Book
) -> None:
    mailbox.throttle(timedelta(minutes=20))
    booking = await book(TEN)
    await work_off(runtime, clock)
    clock.pass_time(minutes=15)
    await work_off(runtime, clock)
    # The login server is posted to as well.
    assert len([each for each in microsoft.asked if each.method == "POST" and "/v1.0/" in each.path]) == 1
    tries = "select attempts from effects where reaction = 'calendars.write' and state = 'queued'"
    assert await runtime.pool.fetchval(tries) == 0

    clock.pass_time(minutes=6)
    await written(runtime, clock, mailbox, booking)


@pytest.mark.usefixtures("connection")
async def test_a_booking_that_moves_or_is_cancelled_here_does_so_there(
    runtime: Runtime, clock: MovingClock, microsoft: FakeMicrosoft, mailbox: Mailbox, book: Book
) -> None:
    booking = await book(TEN)
    await written(runtime, clock, mailbox, booking)
    await move(runtime, booking, 1)
    assert (await written(runtime, clock, mailbox, booking)).starts_at == TEN + HOUR
    changes = [each for each in microsoft.asked if each.method == "PATCH"]
    assert [("body" in each.body, "if-match" in each.headers) for each in changes] == [(False, True)]

    await cancel(runtime, booking)
    await work_off(runtime, clock)

    assert find_items(mailbox, booking) == []
    assert mailbox.mails == []


async def test_our_own_writes_come_back_and_change_nothing(
    runtime: Runtime, clock: MovingClock, mailbox: Mailbox, connection: CalendarConnection, book: Book
) -> None:
    booking = await book(TEN)
    before = (await written(runtime, clock, mailbox, booking)).etag
    for _ in range(3):
        await sync(runtime, connection)
        await work_off(runtime, clock)

    assert await events(runtime, "booking.rescheduled") == []
    assert (await written(runtime, clock, mailbox, booking)).etag == before


async def test_a_move_there_reschedules_here(
    runtime: Runtime, clock: MovingClock, mailbox: Mailbox, connection: CalendarConnection, book: Book
) -> None:
    booking = await book(TEN)
    item = await written(runtime, clock, mailbox, booking)
    await sync(runtime, connection)
    mailbox.change(mailbox.default, item, times(TEN + 3 * HOUR, TEN + 3.5 * HOUR))

    for _ in range(2):
        assert await sync(runtime, connection) is None
        assert (await read(runtime, booking)).starts_at == TEN + 3 * HOUR
        await work_off(runtime, clock)


@pytest.mark.parametrize("is_read_before", [False, True])
async def test_a_deletion_there_cancels_here(
    runtime: Runtime,
    clock: MovingClock,
    mailbox: Mailbox,
    connection: CalendarConnection,
    book: Book,
    *,
    is_read_before: bool,
) -> None:
    booking = await book(TEN)
    await written(runtime, clock, mailbox, booking)
    if is_read_before:
        await sync(runtime, connection)
    remove(mailbox, [booking])

    await sync(runtime, connection)

    assert (await read(runtime, booking)).status is Status.CANCELLED


async def test_an_event_that_can_still_be_found_in_the_bin_is_a_deletion(
    runtime: Runtime,
    clock: MovingClock,
    microsoft: FakeMicrosoft,
    mailbox: Mailbox,
    connection: CalendarConnection,
    book: Book,
) -> None:
    booking = await book(TEN)
    item = await written(runtime, clock, mailbox, booking)
    await sync(runtime, connection)
    remove(mailbox, [booking])
    start = '{"dateTime": "2026-03-16T10:00:00.0000000", "timeZone": "UTC"}'
    end = start.replace("10:00:00", "10:30:00")
    kept = f'{{"id": "{item.immutable_id}", "type": "singleInstance", "start": {start}, "end": {end}, '
    more = f'"transactionId": "{item.transaction[0] if item.transaction else ""}"}}'
    found = Fault(FaultKind.RAW, f"/v1.0/me/calendars/{mailbox.default.replace('=', '%3D')}/events", status=200)
    microsoft.faults.append(Fault(found.kind, found.path, status=200, body=(kept + more).encode()))

    await sync(runtime, connection)

    assert microsoft.faults == []
    assert (await read(runtime, booking)).status is Status.CANCELLED


async def test_several_that_disappear_are_asked_about_and_restored(
    runtime: Runtime, clock: MovingClock, user: User, mailbox: Mailbox, connection: CalendarConnection, book: Book
) -> None:
    made = [await book(TEN + hour * HOUR) for hour in range(2)]
    await work_off(runtime, clock)
    await sync(runtime, connection)
    remove(mailbox, made)

    await sync(runtime, connection)

    assert [(await read(runtime, booking)).status for booking in made] == [Status.CONFIRMED] * 2
    assert len(await events(runtime, "calendar.events_missing")) == 1
    async with runtime.transaction(OPERATOR) as work:
        await decide_missing_events(work, user, Decision.RESTORE)
    await work_off(runtime, clock)
    assert [len(find_items(mailbox, booking)) for booking in made] == [1, 1]
    assert await sync(runtime, connection) is None
    assert [(await read(runtime, booking)).status for booking in made] == [Status.CONFIRMED] * 2


async def test_an_event_that_leaves_the_window_or_begins_to_repeat_is_not_a_deletion(
    runtime: Runtime, clock: MovingClock, mailbox: Mailbox, connection: CalendarConnection, book: Book
) -> None:
    made = [await book(TEN), await book(TEN + 2 * HOUR)]
    await work_off(runtime, clock)
    await sync(runtime, connection)
    first, second = (find_items(mailbox, booking)[0] for booking in made)
    mailbox.change(mailbox.default, first, times(TEN - 30 * DAY, TEN - 30 * DAY + HOUR))
    weekly = Recurrence(
        pattern=Pattern(type="weekly", days_of_week=("monday",)),
        range=Range(type="numbered", start_date=f"{TEN:%Y-%m-%d}", number_of_occurrences=3),
    )
    mailbox.change(mailbox.default, second, EventChanges(recurrence=weekly))

    for _ in range(3):
        assert await sync(runtime, connection) is None
        clock.pass_time(hours=3)

    assert [(await read(runtime, booking)).status for booking in made] == [Status.CONFIRMED] * 2
    assert await events(runtime, "calendar.events_missing") == []
    assert len(await events(runtime, "calendar.change_refused")) == 1


async def test_an_event_that_is_moved_to_another_calendar_is_followed(
    runtime: Runtime, clock: MovingClock, user: User, microsoft: FakeMicrosoft, mailbox: Mailbox, book: Book
) -> None:
    other = mailbox.add_calendar("Family")
    connection = await connect(runtime, user, microsoft)
    booking = await book(TEN)
    item = await written(runtime, clock, mailbox, booking)
    await sync(runtime, connection)
    mailbox.move_to(item.immutable_id, other)

    assert await sync(runtime, connection) is None
    assert (await read(runtime, booking)).status is Status.CONFIRMED
    await move(runtime, booking, 1)

    assert (await written(runtime, clock, mailbox, booking)).starts_at == TEN + HOUR
    assert len(mailbox.calendars[other].items) == 1


async def test_bookings_that_are_over_leave_the_calendar_quietly(
    runtime: Runtime,
    clock: MovingClock,
    microsoft: FakeMicrosoft,
    mailbox: Mailbox,
    connection: CalendarConnection,
    book: Book,
) -> None:
    booking = await book(TEN)
    item = await written(runtime, clock, mailbox, booking)
    await sync(runtime, connection)
    for _ in range(4):
        clock.pass_time(days=1)
        microsoft.asked.clear()
        assert await sync(runtime, connection) is None

    assert (await read(runtime, booking)).status is Status.CONFIRMED
    assert [each.path for each in microsoft.asked if item.immutable_id.rstrip("=") in each.path] == []


async def test_a_booking_is_written_anew_after_the_account_was_connected_again(
    runtime: Runtime, clock: MovingClock, user: User, microsoft: FakeMicrosoft, mailbox: Mailbox, book: Book
) -> None:
    first = await connect(runtime, user, microsoft)
    booking = await book(TEN)
    await written(runtime, clock, mailbox, booking)
    async with runtime.transaction(OPERATOR) as work:
        await calendars.disconnect(work, ConnectionRef(first.id, user.id))
    remove(mailbox, [booking])
    await connect(runtime, user, microsoft)
    await move(runtime, booking, 1)

    assert (await written(runtime, clock, mailbox, booking)).starts_at == TEN + HOUR
