"""What the host adds to a booking's event is busy like any other entry, and never in the way of that booking."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
from msgspec import Struct

from openslot.domains.accounts.models import User
from openslot.domains.availability import operations as availability
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef, Status
from openslot.domains.calendars.models import CalendarConnection, ConnectionKind
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from openslot.platform.flags.models import FlagKey
from openslot.vendors.calendars import ADAPTERS, Adapter
from tests.domains.calendars.conftest import HOUR, NINE, Book, Connect, change, events, open_starts, read, work_off
from tests.domains.calendars.support import cancel
from tests.support.clocks import MovingClock
from tests.support.fake_calendars import FakeServer
from tests.support.flags import switch
from tests.support.ical import calendar, event
from tests.support.parts import how_many
from tests.support.radicale import Radicale

MINUTE, HALF = timedelta(minutes=1), timedelta(minutes=30)
TEN, MIDNIGHT = NINE + HOUR, NINE.replace(hour=0)
FREE = "TRANSP:TRANSPARENT"

Times = set[datetime]


class Host(Struct, frozen=True, kw_only=True):
    """A host who edits the events of bookings in a calendar of a server that we know or have made up."""

    runtime: Runtime
    clock: MovingClock
    user: User
    connection: CalendarConnection
    edit: Callable[[str, str], Awaitable[None]]
    """Write an event at the place of this name, as the host's own program does."""

    async def drag(self, booking: Booking, start: Any, end: Any, *more: str, uid: str | None = None) -> None:
        """Give a booking's event other times, and let the calendar be read; a text is a whole value."""
        begin, until = (each if isinstance(each, str) else f"{each:%Y%m%dT%H%M%SZ}" for each in (start, end))
        more = ("DTSTAMP:20260101T000000Z", f"SEQUENCE:{booking.sequence}", *more)
        text = calendar(event(uid or booking.uid, start=begin, end=until, more=list(more)))
        await self.edit(uid or str(booking.id), text)
        await self.read_calendar()

    async def read_calendar(self) -> None:
        assert await sync_connection(self.runtime, self.connection.id) is None

    async def work(self) -> None:
        await work_off(self.runtime, self.clock)

    async def busy(self) -> Times:
        """List the minutes that the calendar closes."""
        rows = await self.runtime.pool.fetch("select lower(during) as start, upper(during) as until from busy_spans")
        return {minute for row in rows for minute in minutes(row["start"], row["until"])}

    async def offered(self) -> list[str]:
        return await open_starts(self.runtime, self.user)


def minutes(start: datetime, until: datetime) -> Times:
    """List the minutes of a span: all that the oracle knows of time."""
    return {start + each * MINUTE for each in range(int((until - start) / MINUTE))}


def name(moment: datetime) -> str:
    return f"{moment:%H:%M}"


@pytest.fixture(params=["radicale", pytest.param("fake", marks=pytest.mark.rest("answers as Radicale does"))])
async def host(
    request: pytest.FixtureRequest,
    runtime: Runtime,
    clock: MovingClock,
    user: User,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
) -> Host:
    """Connect a calendar, and swap the fake in for its server where that is asked for."""
    connection = await connect(work_calendar)
    fake = FakeServer()

    async def edit(name: str, text: str) -> None:
        if request.param == "fake":
            fake.edit(work_calendar, name, text)
        else:
            await radicale.put(f"{work_calendar}{quote(name, safe='')}.ics", text)

    if request.param == "fake":
        fake.add_calendar("Work", work_calendar)
        await runtime.pool.execute("update calendars set state = null")
        monkeypatch.setitem(ADAPTERS, ConnectionKind.CALDAV, Adapter(FakeServer, lambda *_: fake))
    return Host(runtime=runtime, clock=clock, user=user, connection=connection, edit=edit)


@pytest.fixture
async def booking(host: Host, book: Book) -> Booking:
    """Book from ten to half past ten, and let it be written into the calendar and read back."""
    made = await book(TEN)
    await host.work()
    await host.read_calendar()
    assert await host.busy() == set()
    return made


@pytest.mark.parametrize(
    ("start", "end", "more", "shown"),
    [
        (TEN, TEN + HALF, (), minutes(TEN, TEN + HALF)),
        (TEN, TEN + 2 * HOUR, (), minutes(TEN, TEN + 2 * HOUR)),
        (TEN - HOUR, TEN + HALF, (), minutes(TEN - HOUR, TEN + HALF)),
        (TEN - HALF, TEN + HOUR, (), minutes(TEN - HALF, TEN + HOUR)),
        (TEN, TEN + HALF / 2, (), minutes(TEN, TEN + HALF / 2)),
        (TEN, TEN + 2 * HOUR, (FREE,), set()),
        ("VALUE=DATE:20260316", "VALUE=DATE:20260317", (), minutes(MIDNIGHT, MIDNIGHT + 24 * HOUR)),
        (
            TEN,
            TEN + HOUR,
            ("RRULE:FREQ=DAILY;COUNT=2",),
            minutes(TEN, TEN + HOUR) | minutes(TEN + 24 * HOUR, TEN + 25 * HOUR),
        ),
    ],
    ids=["same", "longer", "earlier", "both", "shorter", "free", "all day", "repeating"],
)
async def test_what_lies_outside_of_the_bookings_time_is_busy(
    host: Host, booking: Booking, start: Any, end: Any, more: tuple[str, ...], shown: Times
) -> None:
    own = minutes(booking.starts_at, booking.ends_at)
    before = await host.offered()

    await host.drag(booking, start, end, *more)
    await host.work()

    assert await host.busy() == shown - own
    assert await host.offered() == [
        each
        for each in before
        if not minutes(at := TEN.replace(hour=int(each[:2]), minute=int(each[3:])), at + HALF) & shown
    ]
    assert await read(host.runtime, booking) == booking
    assert await events(host.runtime, "calendar.change_refused") == []

    await host.drag(booking, TEN, TEN + HALF)
    assert await host.busy() == set()
    assert await read(host.runtime, booking) == booking


@pytest.mark.rest("another shape of an event that is made longer")
async def test_repetitions_that_are_listed_again_leave_the_bookings_time_out(host: Host, booking: Booking) -> None:
    own = minutes(booking.starts_at, booking.ends_at)
    await host.drag(booking, TEN, TEN + HOUR, "RRULE:FREQ=DAILY;COUNT=3")
    host.clock.pass_time(days=1)

    await host.read_calendar()

    days = [minutes(TEN + day * 24 * HOUR, TEN + day * 24 * HOUR + HOUR) for day in range(3)]
    assert await host.busy() == set().union(*days) - own


@pytest.mark.rest("another shape of an event that is made longer")
async def test_edges_that_are_dragged_again_and_again_close_what_the_calendar_shows(
    host: Host, booking: Booking
) -> None:
    own, random = minutes(booking.starts_at, booking.ends_at), Random(11)
    for _ in range(how_many(12)):
        start = TEN - random.randrange(0, 120, 5) * MINUTE
        end = TEN + HALF + random.randrange(0, 240, 5) * MINUTE
        await host.drag(booking, start, end)
        await host.work()

        assert await host.busy() == minutes(start, end) - own
    assert await read(host.runtime, booking) == booking


async def test_an_event_that_is_moved_and_made_longer_moves_the_booking_and_gets_its_length_again(
    host: Host, booking: Booking
) -> None:
    await host.drag(booking, TEN + 3 * HOUR, TEN + 5 * HOUR)

    moved = await read(host.runtime, booking)
    assert (moved.starts_at, moved.ends_at) == (TEN + 3 * HOUR, TEN + 3 * HOUR + HALF)
    assert await host.busy() == minutes(moved.ends_at, TEN + 5 * HOUR)
    await host.work()
    assert await host.busy() == set()
    await host.read_calendar()
    assert await host.busy() == set()
    assert len(await events(host.runtime, "booking.rescheduled")) == 1


async def test_a_booking_follows_its_event_into_the_time_that_was_added_to_it(host: Host, booking: Booking) -> None:
    await host.drag(booking, TEN, TEN + 2 * HOUR)

    await host.drag(booking, TEN + HOUR, TEN + HOUR + HALF)

    assert (await read(host.runtime, booking)).starts_at == TEN + HOUR
    await host.work()
    assert await host.busy() == set()
    assert await events(host.runtime, "calendar.change_refused") == []


@pytest.mark.rest("another shape of an event that is made longer")
async def test_an_event_that_is_moved_where_the_booking_can_not_follow_is_busy_there(
    host: Host, booking: Booking, book: Book
) -> None:
    await book(TEN + 3 * HOUR, "Someone else")

    await host.drag(booking, TEN + 3 * HOUR, TEN + 4 * HOUR)

    assert await read(host.runtime, booking) == booking
    assert await host.busy() == minutes(TEN + 3 * HOUR, TEN + 4 * HOUR)
    assert len(await events(host.runtime, "calendar.change_refused")) == 1


async def test_the_booking_itself_may_move_into_what_was_added_and_nobody_else(
    host: Host, booking: Booking, book: Book
) -> None:
    await host.drag(booking, TEN, TEN + HOUR)

    async def list_starts(without: Any = None) -> list[str]:
        _, slots, _ = await availability.list_open_slots(
            host.runtime.work(OPERATOR),
            BySlug(host.user.id, "30min"),
            timezone="UTC",
            first=TEN.date(),
            last=TEN.date(),
            without=without,
        )
        return [name(datetime.fromtimestamp(start, TEN.tzinfo)) for start in slots.starts]

    assert set(await list_starts(booking.claim_id)) - set(await list_starts()) == {"10:00", "10:30"}
    with pytest.raises(SlotUnavailable):
        await book(TEN + HALF, "Someone else")
    async with host.runtime.transaction(OPERATOR) as work:
        await bookings.reschedule_booking(work, BookingRef(booking.id, None), TEN + HALF)
    await host.work()
    # The event was written again with the booking's own length, so the rest is free without waiting for a reading.
    assert await host.busy() == set()
    await book(TEN, "Someone else")


async def test_a_cancelled_booking_frees_what_was_added_and_an_entry_that_comes_back_is_busy(
    host: Host, booking: Booking
) -> None:
    await host.drag(booking, TEN, TEN + HOUR)
    await cancel(host.runtime, booking)
    # Until its event is removed, only what was added is busy.
    await host.runtime.pool.execute("update calendars set state = null")
    await host.runtime.pool.execute("delete from calendar_objects")
    await host.read_calendar()
    assert await host.busy() == minutes(TEN + HALF, TEN + HOUR)
    await host.work()
    assert await host.busy() == set()

    await host.drag(booking, TEN, TEN + HOUR)
    assert await host.busy() == minutes(TEN, TEN + HOUR)
    assert (await read(host.runtime, booking)).status is Status.CANCELLED


@pytest.mark.rest("another shape of an event that is made longer")
async def test_an_entry_that_only_looks_like_a_bookings_is_busy(host: Host, booking: Booking) -> None:
    stranger = f"{str(booking.id)[:-4]}0000@{booking.uid.partition('@')[2]}"

    await host.drag(booking, TEN, TEN + HOUR, uid=stranger)

    assert await host.busy() == minutes(TEN, TEN + HOUR)


@pytest.mark.rest("another shape of an event that is made longer")
async def test_added_time_is_busy_also_where_changes_are_not_followed(host: Host, booking: Booking) -> None:
    await switch(host.runtime, FlagKey.CALENDAR_TWO_WAY, host.user, everyone=False, own=None)

    await host.drag(booking, TEN + HALF / 2, TEN + HOUR)

    assert await host.busy() == minutes(TEN + HALF, TEN + HOUR)
    assert await read(host.runtime, booking) == booking


@pytest.mark.rest("another shape of an event that is made longer")
async def test_a_calendar_that_is_not_busy_closes_nothing(host: Host, booking: Booking) -> None:
    await change(host.runtime, host.connection, busy=())

    await host.drag(booking, TEN, TEN + HOUR)

    assert await host.busy() == set()


@pytest.mark.rest("another shape of an event that is made longer")
async def test_a_session_keeps_its_seats_when_one_of_its_events_is_made_longer(host: Host, book: Book) -> None:
    await host.runtime.pool.execute("update event_types set seats = 3 where slug = '30min'")
    first, second = await book(TEN), await book(TEN, "Someone else")
    await host.work()

    await host.drag(first, TEN, TEN + HOUR)

    assert await host.busy() == minutes(TEN + HALF, TEN + HOUR)
    assert {"10:00", "10:30"} & set(await host.offered()) == {"10:00"}
    await host.drag(second, TEN, TEN + 2 * HOUR)
    async with host.runtime.transaction(OPERATOR) as work:
        with pytest.raises(SlotUnavailable):
            await bookings.reschedule_booking(work, BookingRef(first.id, None), TEN + HALF)
    await host.drag(second, TEN, TEN + HALF)
    async with host.runtime.transaction(OPERATOR) as work:
        await bookings.reschedule_booking(work, BookingRef(first.id, None), TEN + HALF)
