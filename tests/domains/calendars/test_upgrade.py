"""Connections of the last release: what it has stored is read on, and nothing is fetched or written twice."""

import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.availability import operations as busy
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import Booking, BookingRef
from openslot.domains.calendars.booking_events import describe_booking
from openslot.domains.calendars.sync import sync_connection
from openslot.domains.mail.calendar_entry import write_calendar
from openslot.domains.mail.models import MailAddress
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.sealing import seal
from openslot.platform.core.work import Runtime
from openslot.vendors.caldav.calendars import FIND_TAG, CalDavServer
from tests.domains.calendars.conftest import HOUR, NINE, Book, open_starts, read, work_off
from tests.domains.calendars.support import move, move_in_calendar, shown
from tests.support.clocks import MovingClock
from tests.support.ical import calendar, event
from tests.support.radicale import PASSWORD, USER, Radicale
from tests.upgrades.statements import load_statements

LONG_AGO = datetime(2026, 3, 10, tzinfo=UTC)
DAILY = event(
    "daily",
    start="20260310T140000Z",
    end="20260310T150000Z",
    more=["DTSTAMP:20260101T000000Z", "RRULE:FREQ=DAILY"],
)


def last_release(beginning: str) -> str:
    """Return the statement of the last release that begins so."""
    (found,) = {each.text for each in load_statements() if each.text.strip().startswith(beginning)}
    return found


@pytest.fixture
async def booking(runtime: Runtime, user: User, radicale: Radicale, work_calendar: str, book: Book) -> Booking:
    """Book, and write it into the calendar as the last release did: at the place that has the booking's id."""
    made = await book()
    details = await bookings.get_booking(runtime.work(OPERATOR), BookingRef(made.id, None))
    entry = describe_booking(details, MailAddress(user.email, user.name), "")
    await radicale.put(f"{work_calendar}{made.id}.ics", write_calendar(entry).decode())
    await runtime.pool.execute("delete from effects")
    await runtime.pool.execute("delete from lanes")
    return made


@pytest.fixture
async def connection_id(runtime: Runtime, user: User, radicale: Radicale, work_calendar: str, booking: Booking) -> UUID:
    """Store a connection, a series and the booking's event by the statements of the last release."""
    await radicale.put(f"{work_calendar}daily.ics", calendar(DAILY))
    found = (await radicale.send("PROPFIND", work_calendar, content=FIND_TAG.encode(), headers={"Depth": "0"})).text
    token = re.search(r"<sync-token>([^<]+)</sync-token>", found)
    assert token is not None
    hrefs = [f"{work_calendar}{name}.ics" for name in ("daily", booking.id)]
    etags = [(await radicale.send("GET", href)).headers["etag"] for href in hrefs]
    own, calendar_id = uuid4(), uuid4()
    credentials = msgspec.json.encode({"url": work_calendar, "username": USER, "password": PASSWORD}).decode()
    about: tuple[Any, ...] = (own, user.id, "caldav", "127.0.0.1", f"{USER} at 127.0.0.1", [], 24)
    times = (NINE, NINE, NINE, 0, None, None, None, LONG_AGO, NINE)
    state = msgspec.json.encode({"token": token[1]}).decode()
    objects = (hrefs, etags, ["daily", booking.uid], [True, False], [False, False], [DAILY.replace("\r", ""), None])
    written = (booking.id, calendar_id, hrefs[1], etags[1], 0, booking.starts_at, booking.ends_at, None, None)
    async with runtime.transaction(OPERATOR) as work:
        sealed = await seal(work, credentials)
        await work.db.execute(last_release("insert into calendar_connections"), *about, *times, sealed, 20)
        upsert = last_release("insert into calendars as")
        await work.db.fetchrow(upsert, calendar_id, own, user.id, work_calendar, "Work", True)
        await work.db.execute(last_release("insert into calendar_objects"), calendar_id, *objects)
        await work.db.execute(last_release("insert into calendar_events"), *written)
        await work.db.fetchval(last_release("update calendars set state = $2"), calendar_id, state, LONG_AGO)
        await busy.keep_busy_source(work, calendar_id, host_id=user.id, name="Work")
    return own


async def test_nothing_is_fetched_again_and_a_kept_series_is_worked_out_on(
    runtime: Runtime, user: User, connection_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[Any] = []

    async def fetch(_: CalDavServer, *what: Any) -> list[Any]:
        fetched.append(what)
        return []

    monkeypatch.setattr(CalDavServer, "_read", fetch)

    assert await sync_connection(runtime, connection_id) is None

    assert fetched == []
    assert "14:00" not in await open_starts(runtime, user)
    assert "14:00" not in await open_starts(runtime, user, "2026-03-20")
    assert await runtime.pool.fetchval("select count(*) from calendar_objects") == 2


async def test_a_booking_is_written_where_the_last_release_has_written_it(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connection_id: UUID, booking: Booking
) -> None:
    assert await sync_connection(runtime, connection_id) is None
    await move(runtime, booking, 1)
    await work_off(runtime, clock)

    assert await radicale.names(work_calendar) == sorted([f"{booking.id}.ics", "daily.ics"])
    assert (await shown(radicale, work_calendar, booking))["DTSTART"].dt == booking.starts_at + HOUR


async def test_a_move_by_the_host_is_followed(
    runtime: Runtime, radicale: Radicale, work_calendar: str, connection_id: UUID, booking: Booking
) -> None:
    await move_in_calendar(radicale, work_calendar, booking, start="120000", end="123000")

    assert await sync_connection(runtime, connection_id) is None

    assert (await read(runtime, booking)).starts_at == NINE + 3 * HOUR
