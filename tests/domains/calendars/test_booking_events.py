"""Bookings stand in the host's calendar: written, moved and removed, each once, whenever the worker dies."""

from typing import Any

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.calendars import event_store
from openslot.domains.calendars.ports import StoredEvent
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.work import Runtime
from openslot.vendors.caldav.calendars import CalDavServer
from tests.domains.calendars.conftest import HOUR, NINE, Book, Connect, change, events, open_starts, work_off
from tests.domains.calendars.support import cancel, move, shown
from tests.support.clocks import MovingClock
from tests.support.ical import calendar, event
from tests.support.radicale import Radicale, radicale_in


async def test_a_booking_is_written_moved_and_removed(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)

    entry = await shown(radicale, work_calendar, booking)
    assert (entry["UID"], entry["SEQUENCE"]) == (booking.uid, 0)
    assert (entry["DTSTART"].dt, entry["DTEND"].dt) == (booking.starts_at, booking.ends_at)
    assert entry["ORGANIZER"].params["SCHEDULE-AGENT"] == "CLIENT"
    assert entry["ATTENDEE"].params["SCHEDULE-AGENT"] == "CLIENT"
    assert entry["ATTENDEE"] == "mailto:jonas@okafor.example"

    await move(runtime, booking, 1)
    await work_off(runtime, clock)
    entry = await shown(radicale, work_calendar, booking)
    assert (entry["UID"], entry["SEQUENCE"], entry["DTSTART"].dt) == (booking.uid, 1, booking.starts_at + HOUR)
    assert await radicale.names(work_calendar) == [f"{booking.id}.ics"]

    await cancel(runtime, booking)
    await work_off(runtime, clock)
    assert await radicale.names(work_calendar) == []
    assert await runtime.pool.fetchval("select count(*) from calendar_events") == 0


async def test_a_booking_leaves_effects_for_calendars_only_if_its_host_has_one(
    runtime: Runtime, work_calendar: str, connect: Connect, book: Book
) -> None:
    async def count() -> int:
        effects: int = await runtime.pool.fetchval("select count(*) from effects where reaction = 'calendars.plan'")
        return effects

    booking = await book()
    assert await count() == 0
    await connect(work_calendar)
    await move(runtime, booking, 1)
    assert await count() == 1
    await cancel(runtime, booking)
    assert await count() == 2


async def test_a_booking_made_before_there_was_a_calendar_is_written_when_it_moves(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    booking = await book()
    await work_off(runtime, clock)
    await connect(work_calendar)
    await move(runtime, booking, 1)
    await work_off(runtime, clock)

    assert await radicale.names(work_calendar) == [f"{booking.id}.ics"]


async def test_a_host_who_wants_bookings_nowhere_gets_none(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    await change(runtime, await connect(work_calendar), write_to="")
    await book()
    await work_off(runtime, clock)

    assert await radicale.names(work_calendar) == []


async def test_a_worker_that_dies_between_writing_and_saying_so_doubles_nothing(
    runtime: Runtime,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await connect(work_calendar)
    booking = await book()
    keep = event_store.keep_written

    async def die(*_: object) -> None:
        raise ConnectionError("the worker is gone")

    monkeypatch.setattr(event_store, "keep_written", die)
    await work_off(runtime, clock)
    assert await radicale.names(work_calendar) == [f"{booking.id}.ics"]
    assert await runtime.pool.fetchval("select count(*) from calendar_events") == 0
    monkeypatch.setattr(event_store, "keep_written", keep)
    await move(runtime, booking, 2)
    clock.pass_time(minutes=10)
    await work_off(runtime, clock)

    assert await radicale.names(work_calendar) == [f"{booking.id}.ics"]
    entry = await shown(radicale, work_calendar, booking)
    assert (entry["SEQUENCE"], entry["DTSTART"].dt) == (1, booking.starts_at + 2 * HOUR)


@pytest.mark.parametrize("moves", [False, True])
async def test_a_change_while_the_event_is_being_written_is_written_after_it(
    runtime: Runtime,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
    monkeypatch: pytest.MonkeyPatch,
    *,
    moves: bool,
) -> None:
    await connect(work_calendar)
    booking = await book()
    put = CalDavServer.put

    async def put_slowly(*arguments: Any, **more: Any) -> StoredEvent:
        monkeypatch.setattr(CalDavServer, "put", put)
        stored = await put(*arguments, **more)
        await (move(runtime, booking, 1) if moves else cancel(runtime, booking))
        await work_off(runtime, clock)
        return stored

    monkeypatch.setattr(CalDavServer, "put", put_slowly)
    await work_off(runtime, clock)

    if moves:
        assert (await shown(radicale, work_calendar, booking))["DTSTART"].dt == booking.starts_at + HOUR
    else:
        assert await radicale.names(work_calendar) == []


async def test_a_cancellation_removes_what_a_dead_worker_has_written(
    runtime: Runtime,
    clock: MovingClock,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    book: Book,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await connect(work_calendar)
    booking = await book()

    async def die(*_: object) -> None:
        raise ConnectionError("the worker is gone")

    with monkeypatch.context() as patched:
        patched.setattr(event_store, "keep_written", die)
        await work_off(runtime, clock)
    await cancel(runtime, booking)
    for _ in range(3):
        clock.pass_time(minutes=10)
        await work_off(runtime, clock)

    assert await radicale.names(work_calendar) == []


async def test_changes_while_the_server_is_down_arrive_as_the_newest_one_alone(
    runtime: Runtime, clock: MovingClock, tmp_path_factory: pytest.TempPathFactory, connect: Connect, book: Book
) -> None:
    with radicale_in(tmp_path_factory.mktemp("down")) as server:
        place = await server.add_calendar()
        await connect(place)
        server.stop()
        booking = await book()
        await work_off(runtime, clock)
        for hours in (1, 2, 3):
            await move(runtime, booking, hours)
        await work_off(runtime, clock)
        server.start()
        clock.pass_time(minutes=10)
        await work_off(runtime, clock)

        assert (await shown(server, place, booking))["SEQUENCE"] == 3
        states = await runtime.pool.fetch(
            "select state from effects where reaction = $1 order by no", event_store.WRITE
        )
        assert [row["state"] for row in states][1:3] == ["skipped", "skipped"]


async def test_an_event_that_the_host_has_edited_is_still_moved_and_removed(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    await connect(work_calendar)
    booking = await book()
    await work_off(runtime, clock)
    url = f"{work_calendar}{booking.id}.ics"
    for hours in (1, 2):
        text = (await radicale.send("GET", url)).text
        await radicale.put(url, text.replace("SUMMARY:", "SUMMARY:Edited "))
        await move(runtime, booking, hours)
        await work_off(runtime, clock)
        assert (await shown(radicale, work_calendar, booking))["DTSTART"].dt == booking.starts_at + hours * HOUR
    text = (await radicale.send("GET", url)).text
    await radicale.put(url, text.replace("SUMMARY:", "SUMMARY:Edited "))

    await cancel(runtime, booking)
    await work_off(runtime, clock)

    assert await radicale.names(work_calendar) == []


async def test_our_own_event_that_comes_back_keeps_nobody_busy_and_changes_nothing(
    runtime: Runtime, user: User, clock: MovingClock, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    booking = await book(NINE + HOUR)
    await work_off(runtime, clock)
    before = await runtime.pool.fetchval("select count(*) from events")

    for _ in range(3):
        await sync_connection(runtime, connection.id)
        await work_off(runtime, clock)

    assert await runtime.pool.fetchval("select count(*) from busy_spans") == 0
    assert await runtime.pool.fetchval("select count(*) from events") == before
    await cancel(runtime, booking)
    assert "10:00" in await open_starts(runtime, user)


async def test_a_calendar_that_was_disconnected_meanwhile_is_left_alone(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    await book()
    await runtime.pool.execute("delete from calendar_connections where id = $1", connection.id)
    await work_off(runtime, clock)

    assert await radicale.names(work_calendar) == []
    assert await runtime.pool.fetchval("select count(*) from effects where state = 'dead'") == 0
    assert await events(runtime, "calendar.broken") == []


async def test_an_invitation_that_the_hosts_mail_program_has_kept_is_taken_over(
    runtime: Runtime, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    connection = await connect(work_calendar)
    booking = await book()
    start = f"{booking.starts_at:%Y%m%dT%H%M%SZ}"
    invitation = calendar(event(booking.uid, start=start, more=["DTSTAMP:20260101T000000Z", "DURATION:PT30M"]))
    await radicale.put(f"{work_calendar}from-mail.ics", invitation)
    await sync_connection(runtime, connection.id)
    await work_off(runtime, clock)

    assert await radicale.names(work_calendar) == ["from-mail.ics"]
    await cancel(runtime, booking)
    await work_off(runtime, clock)
    assert await radicale.names(work_calendar) == []
