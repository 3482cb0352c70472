"""Links that earlier releases have written into events are taken out, whoever else is writing at that moment."""

from typing import Any

import pytest

from openslot.bookings.links import booking_url, hide_manage_url, manage_url
from openslot.bookings.models import Booking
from openslot.core.ids import new_id
from openslot.core.work import Runtime
from openslot.integrations.calendars.caldav import CalDavServer
from openslot.integrations.calendars.reactions import CALENDAR_JOBS
from openslot.integrations.calendars.sync import sync_connection
from openslot.jobs.worker import run_job
from tests.integrations.calendars.conftest import HOUR, NINE, Book, Connect, events, work_off
from tests.integrations.calendars.support import cancel, move, shown
from tests.support.clocks import MovingClock
from tests.support.radicale import Radicale


async def write_as_before(runtime: Runtime, radicale: Radicale, place: str, booking: Booking, **changes: str) -> str:
    """Leave an event in the calendar as earlier releases wrote it, with what the host has changed since."""
    url = f"{place}{booking.id}.ics"
    link = manage_url(runtime, booking.id).replace(runtime.settings.public_url, "https://before.example/book")
    text = (await radicale.send("GET", url)).text.replace("\r\n ", "")
    text = text.replace(booking_url(runtime, booking.id), link)
    for name, value in changes.items():
        text = "\r\n".join(
            f"{name.upper()}:{value}" if line.startswith(name.upper()) else line for line in text.splitlines()
        )
    await radicale.put(url, text)
    etag = (await radicale.send("GET", url)).headers["etag"]
    await runtime.pool.execute(
        "update calendar_events set etag = $2, has_token = default where booking_id = $1", booking.id, etag
    )
    return link


async def plan_unlinking(runtime: Runtime) -> str:
    return await run_job(runtime, next(each for each in CALENDAR_JOBS if each.name == "calendars.plan_unlinking"))


async def test_links_that_earlier_releases_have_written_are_taken_out_of_upcoming_events(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    upcoming, past = await book(NINE + 2 * HOUR), await book(NINE)
    await work_off(runtime, clock)
    link = await write_as_before(
        runtime, radicale, work_calendar, upcoming, summary="Bring cake", dtend="20260316T120000Z"
    )
    left = await write_as_before(runtime, radicale, work_calendar, past)
    await sync_connection(runtime, connection.id)
    clock.now = NINE + HOUR

    assert [await plan_unlinking(runtime) for _ in range(2)] == [
        "1 calendar events planned",
        "0 calendar events planned",
    ]
    await work_off(runtime, clock)

    entry = await shown(radicale, work_calendar, upcoming)
    assert str(entry["URL"]) == booking_url(runtime, upcoming.id)
    assert str(entry["DESCRIPTION"]).endswith(booking_url(runtime, upcoming.id))
    assert link.rpartition("/")[2] not in str(entry)
    # What the host has changed stays.
    assert (str(entry["SUMMARY"]), entry["DTEND"].dt) == ("Bring cake", NINE + 3 * HOUR)
    assert left in str((await shown(radicale, work_calendar, past))["DESCRIPTION"])
    await sync_connection(runtime, connection.id)
    await work_off(runtime, clock)
    assert await events(runtime, "booking.rescheduled") == []
    etag = (await radicale.send("GET", f"{work_calendar}{upcoming.id}.ics")).headers["etag"]
    kept = await runtime.pool.fetchval("select etag from calendar_events where booking_id = $1", upcoming.id)
    assert kept == etag


@pytest.mark.parametrize("first", ["the link", "the change"])
@pytest.mark.parametrize("moves", [False, True])
async def test_a_booking_that_changes_meanwhile_is_written_as_it_is(
    runtime: Runtime,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
    monkeypatch: pytest.MonkeyPatch,
    *,
    first: str,
    moves: bool,
) -> None:
    await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    link = await write_as_before(runtime, radicale, work_calendar, booking)
    put = CalDavServer.put

    async def change() -> None:
        await (move(runtime, booking, 1) if moves else cancel(runtime, booking))
        await work_off(runtime, clock)

    async def put_slowly(*arguments: Any, **more: Any) -> str:
        monkeypatch.setattr(CalDavServer, "put", put)
        if first == "the change":
            await change()
            return await put(*arguments, **more)
        etag = await put(*arguments, **more)
        await change()
        return etag

    monkeypatch.setattr(CalDavServer, "put", put_slowly)
    await plan_unlinking(runtime)
    await work_off(runtime, clock)
    clock.pass_time(minutes=10)
    await work_off(runtime, clock)

    effects = await runtime.pool.fetch(
        "select distinct state from effects where reaction in ('calendars.write', 'calendars.unlink')"
    )
    assert {row["state"] for row in effects} <= {"done", "skipped"}
    if moves:
        entry = await shown(radicale, work_calendar, booking)
        assert (entry["DTSTART"].dt, link in str(entry)) == (booking.starts_at + HOUR, False)
        etag = (await radicale.send("GET", f"{work_calendar}{booking.id}.ics")).headers["etag"]
        assert await runtime.pool.fetchval("select etag from calendar_events") == etag
    else:
        assert await radicale.names(work_calendar) == []


async def test_only_the_bookings_own_link_is_replaced(runtime: Runtime) -> None:
    booking_id, other = new_id(), manage_url(runtime, new_id())
    own, page = manage_url(runtime, booking_id), booking_url(runtime, booking_id)
    text = f"DESCRIPTION:See\\n{own}\\n{other}\\nhttps://x.example/manage/team?a=1 ({own})"

    assert hide_manage_url(runtime, booking_id, text) == text.replace(own, page)
