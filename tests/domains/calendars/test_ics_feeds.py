"""ICS feeds are read alone, asked for under a condition, and never taken for empty when they are not whole."""

import asyncio
from datetime import timedelta

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.errors import CalendarUnreadable, ReadOnlyCalendar
from openslot.domains.calendars.models import CalendarConnection, ConnectionRef, IcsWanted
from openslot.domains.calendars.reactions import plan_forgotten
from openslot.domains.calendars.rules import read_url
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.config import Settings
from openslot.platform.core.work import Runtime
from openslot.platform.i18n import recall
from openslot.platform.jobs.worker import run_worker
from openslot.runtime import open_runtime
from tests.domains.calendars.conftest import change, get, open_starts, work_off
from tests.support.clocks import MovingClock
from tests.support.feeds import PublishedFeed, publishing
from tests.support.ical import calendar, event

TEN = event("ten", start="20260316T100000Z", end="20260316T110000Z")
TWO = event("two", start="20260316T140000Z", end="20260316T150000Z")


async def connect(runtime: Runtime, user: User, feed: PublishedFeed) -> CalendarConnection:
    connection = await calendars.connect_calendar(runtime.work(OPERATOR), user, IcsWanted(feed.url))
    await sync_connection(runtime, connection.id)
    return await get(runtime, connection)


def test_the_addresses_of_calendar_programs_are_understood() -> None:
    assert read_url("webcal://calendar.example/a.ics") == "https://calendar.example/a.ics"
    assert read_url(" https://calendar.example/a.ics ") == "https://calendar.example/a.ics"


async def test_a_feed_closes_times_and_follows_changes(runtime: Runtime, user: User) -> None:
    async with publishing(calendar("X-WR-CALNAME:Team \\, office", TEN, TWO)) as feed:
        connection = await connect(runtime, user, feed)
        assert [each.name for each in connection.calendars] == ["Team , office"]
        closed = await open_starts(runtime, user)
        assert ("10:00" in closed, "14:00" in closed) == (False, False)

        feed.publish(calendar(TEN.replace("T10", "T12").replace("T11", "T13")))
        await sync_connection(runtime, connection.id)

        offered = await open_starts(runtime, user)
        assert ("10:00" in offered, "12:00" in offered, "14:00" in offered) == (True, False, True)


async def test_a_feed_that_has_not_changed_is_not_sent_again(runtime: Runtime, user: User) -> None:
    async with publishing(calendar(TEN)) as feed:
        connection = await connect(runtime, user, feed)
        feed.answers.clear()

        await sync_connection(runtime, connection.id)

        assert feed.answers == [304]
        assert "10:00" not in await open_starts(runtime, user)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("<html>Please sign in</html>", 200),
        ("", 200),
        (calendar(TEN).replace("END:VCALENDAR", ""), 200),
        (calendar(TWO).replace("BEGIN:VCALENDAR", ""), 200),
        (calendar(TWO), 500),
        (calendar(TWO), 404),
        (calendar(TWO), 401),
    ],
)
async def test_what_is_no_whole_calendar_leaves_what_is_known(
    runtime: Runtime, user: User, text: str, status: int
) -> None:
    async with publishing(calendar(TEN)) as feed:
        connection = await connect(runtime, user, feed)
        feed.publish(text)
        feed.status = status

        assert await sync_connection(runtime, connection.id) is not None

        offered = await open_starts(runtime, user)
        assert ("10:00" in offered, "14:00" in offered) == (False, True)
        assert (await get(runtime, connection)).failures == 1


async def test_what_is_no_calendar_is_not_connected(runtime: Runtime, user: User) -> None:
    async with publishing("<html>Please sign in</html>") as feed:
        with pytest.raises(CalendarUnreadable):
            await connect(runtime, user, feed)


async def test_a_feed_of_a_hundred_megabytes_is_left_before_its_end_and_the_others_are_read(
    runtime: Runtime, user: User, clock: MovingClock
) -> None:
    async with publishing(calendar(TEN)) as large, publishing(calendar(TWO)) as small:
        heavy, light = await connect(runtime, user, large), await connect(runtime, user, small)
        filler = "".join(
            event(f"e{n}", start="20260316T120000Z", end="20260316T130000Z") + "\r\n" for n in range(10_000)
        )
        large.publish("BEGIN:VCALENDAR\r\n" + filler)
        large.repeat = 100 * 1024 * 1024 // len(filler)
        clock.pass_time(minutes=6)

        assert await sync_connection(runtime, heavy.id) is not None
        assert await sync_connection(runtime, light.id) is None

        assert "sent more than 20971520 bytes" in recall((await get(runtime, heavy)).last_error or "")
        assert (await get(runtime, light)).synced_at == clock.now
        offered = await open_starts(runtime, user)
        assert ("10:00" in offered, "12:00" in offered, "14:00" in offered) == (False, True, False)


async def test_hostile_events_leave_the_others_their_times_and_are_counted(runtime: Runtime, user: User) -> None:
    hostile = [
        event(f"h{n}", start="20260316T000000Z", more=["RRULE:FREQ=SECONDLY;BYDAY=SU;COUNT=999999", "DURATION:PT1S"])
        for n in range(3)
    ]
    async with publishing(calendar(*hostile, TEN)) as feed:
        connection = await connect(runtime, user, feed)

        assert "10:00" not in await open_starts(runtime, user)
        assert connection.calendars[0].unread_events == 3


async def test_a_feeds_url_is_kept_sealed(runtime: Runtime, user: User) -> None:
    async with publishing(calendar(TEN)) as feed:
        await connect(runtime, user, feed)
        rows = [
            dict(row)
            for table in ("calendar_connections", "calendars", "calendar_objects", "events", "busy_sources")
            for row in await runtime.pool.fetch(f"select * from {table}")
        ]
    assert "secret-9f3a" not in str(rows)


async def test_nothing_is_written_into_a_feed(runtime: Runtime, user: User) -> None:
    async with publishing(calendar(TEN)) as feed:
        connection = await connect(runtime, user, feed)
        assert [each.receives for each in connection.calendars] == [False]
        with pytest.raises(ReadOnlyCalendar):
            await change(runtime, connection, write_to="Calendar feed")


async def test_a_server_that_does_not_answer_keeps_no_other_from_being_read(settings: Settings, user: User) -> None:
    async with (
        open_runtime(settings) as runtime,
        publishing(calendar(TEN)) as silent,
        publishing(calendar(TWO)) as sound,
    ):
        for _ in range(5):
            await calendars.connect_calendar(runtime.work(OPERATOR), user, IcsWanted(silent.url))
        silent.is_open.clear()
        quick = await calendars.connect_calendar(runtime.work(OPERATOR), user, IcsWanted(sound.url))
        stop = asyncio.Event()
        working = asyncio.create_task(run_worker(runtime, stop))
        try:
            async with asyncio.timeout(60):
                while (await get(runtime, quick)).synced_at is None:
                    await asyncio.sleep(0.05)
            unread = await runtime.pool.fetchval("select count(*) from calendar_connections where synced_at is null")
            assert unread == 5
        finally:
            silent.is_open.set()
            stop.set()
            await working


async def test_each_reading_plans_the_next_and_leaves_nothing_else(
    runtime: Runtime, user: User, clock: MovingClock
) -> None:
    async with publishing(calendar(TEN)) as feed:
        connection = await connect(runtime, user, feed)
        for _ in range(3):
            await work_off(runtime, clock)
            clock.pass_time(minutes=5)
        rows = await runtime.pool.fetch("select state, next_try_at from effects where reaction = $1", calendars.READ)
        assert [(row["state"], row["next_try_at"]) for row in rows] == [("queued", clock.now)]
        assert (await get(runtime, connection)).synced_at == clock.now - timedelta(minutes=5)

        async with runtime.transaction(OPERATOR) as work:
            await calendars.disconnect(work, ConnectionRef(connection.id))
        states = await runtime.pool.fetch("select state from effects where reaction = $1", calendars.READ)
        assert [row["state"] for row in states] == ["skipped"]


async def test_a_reading_that_nobody_has_planned_is_planned(runtime: Runtime, user: User, clock: MovingClock) -> None:
    async with publishing(calendar(TEN)) as feed:
        connection = await connect(runtime, user, feed)
        await runtime.pool.execute("delete from effects")
        clock.pass_time(minutes=4)
        async with runtime.transaction(OPERATOR) as work:
            assert await plan_forgotten(work) == "0 calendar connections planned"
        clock.pass_time(minutes=1)
        for count in (1, 0):
            async with runtime.transaction(OPERATOR) as work:
                assert await plan_forgotten(work) == f"{count} calendar connections planned"

        await work_off(runtime, clock)

        assert (await get(runtime, connection)).synced_at == clock.now


async def test_a_failing_server_is_asked_more_seldom(runtime: Runtime, user: User, clock: MovingClock) -> None:
    async with publishing(calendar(TEN)) as feed:
        connection = await connect(runtime, user, feed)
        feed.status = 503
        pauses = []
        for _ in range(6):
            await sync_connection(runtime, connection.id)
            clock.now = (await get(runtime, connection)).next_sync_at
            tried_at = (await get(runtime, connection)).tried_at
            assert tried_at is not None
            pauses.append((clock.now - tried_at).total_seconds() / 60)

    assert pauses == [10, 20, 40, 60, 60, 60]
