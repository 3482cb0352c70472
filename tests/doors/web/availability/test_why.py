"""Why a time is not offered: every rule in plain words, with the page where it is set."""

from datetime import timedelta

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.availability import operations as busy
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType, Limits, RollingWindow
from openslot.domains.schedules import operations as changes
from openslot.domains.schedules import operations as schedules
from openslot.domains.schedules.models import HolidayCalendar, OutOfOffice, Schedule
from openslot.domains.schedules.rules import version_of
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.bookings.conftest import offer
from tests.doors.web.availability.conftest import Ask, save_hours
from tests.support.host import TEN, Book


async def change(runtime: Runtime, user: User, **changes_: object) -> EventType:
    async with runtime.transaction(OPERATOR) as work:
        (first, *_), _ = await event_types.list_event_types(work, user)
        return await event_types.change_event_type(work, replace(first, **changes_))


async def test_a_booking_leads_to_the_bookings(ask: Ask, book: Book) -> None:
    await book()
    page = await ask()

    assert "Taken by a booking, 11:00–11:30 including buffers" in page
    assert '<a href="/bookings?from=2026-03-16&amp;to=2026-03-16">View bookings</a>' in page
    assert "15 of 16 starts can be booked." in page


async def test_time_away_is_told_with_its_reason(ask: Ask, runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await schedules.add_out_of_office(work, user, OutOfOffice(TEN, TEN + timedelta(hours=2), "Dentist"))
    page = await ask()

    assert "Out of office (Dentist), 11:00–13:00" in page
    assert '<a href="/availability/away">' in page


async def test_a_holiday_leads_to_the_holidays(ask: Ask, runtime: Runtime, user: User, schedule: Schedule) -> None:
    async with runtime.transaction(OPERATOR) as work:
        version = version_of(schedule.holidays)
        await changes.change_schedule_holidays(work, user, schedule.id, HolidayCalendar("DE"), version=version)
    page = await ask(day="2026-04-03")

    assert "Public holiday on 3 April 2026: Good Friday" in page
    assert f'<a href="/availability/{schedule.id}#holidays">' in page


@pytest.mark.parametrize(
    ("changed", "day", "time", "words"),
    [
        (
            {"min_notice_minutes": 300},
            "2026-03-16",
            "11:00",
            "Requires 5 hrs notice; the earliest start is 16 March 2026 13:00",
        ),
        ({"booking_window": RollingWindow(2)}, "2026-03-20", "11:00", "Outside the booking window"),
        ({}, "2026-03-16", "11:10", "Start times are 30 min apart"),
    ],
)
async def test_rules_of_the_event_type_lead_to_it(
    ask: Ask, runtime: Runtime, user: User, changed: dict[str, object], day: str, time: str, words: str
) -> None:
    event_type = await change(runtime, user, **changed)
    page = await ask(day=day, time=time)

    assert words in page
    assert f'<a href="/event-types/{event_type.id}">Change the event type</a>' in page


async def test_a_limit_and_a_full_session_are_told(ask: Ask, runtime: Runtime, user: User, book: Book) -> None:
    await change(runtime, user, limits=Limits(per_day=1, per_week=1))
    await book()
    page = await ask(time="15:00")

    assert "Limit of 1 a day reached on 16 March 2026" in page
    assert "Limit of 1 a week reached in the week of 16 March 2026" in page


async def test_a_busy_calendar_leads_to_the_calendars(ask: Ask, runtime: Runtime, user: User) -> None:
    source = new_id()
    async with runtime.transaction(OPERATOR) as work:
        await busy.keep_busy_source(work, source, host_id=user.id, name="Private")
    await runtime.pool.execute("update busy_sources set closes_at = $1", TEN - timedelta(days=1))
    page = await ask()

    assert "Private has not been synced for too long" in page
    assert '<a href="/settings/calendars">' in page


async def test_a_time_that_clocks_skip_or_show_twice_is_told(
    ask: Ask, member: httpx2.AsyncClient, schedule: Schedule
) -> None:
    await save_hours(member, schedule, {"d6.0.start": "01:00", "d6.0.end": "04:00"})
    skipped = await ask(day="2026-03-29", time="02:30")
    assert "Clocks skip 02:30 on this day. The next time is shown." in skipped
    assert "29 March 2026 03:00" in skipped
    assert "4 of 4 starts can be booked." in skipped
    twice = await ask(day="2026-10-25", time="02:30")
    assert "Clocks show 02:30 twice on this day." in twice


async def test_an_event_type_that_is_switched_off_is_said_to_be(ask: Ask, runtime: Runtime, user: User) -> None:
    await offer(runtime, user, "old", active=False)
    page = await ask(kind="old")

    assert "This event type is archived. It can't be booked." in page
    assert "starts can be booked" not in page


async def test_another_hosts_event_type_is_not_explained(ask: Ask, runtime: Runtime, stranger: User) -> None:
    await offer(runtime, stranger, "secret-offer")
    page = await ask(kind="secret-offer")

    assert "Secret-Offer" not in page
    assert "secret-offer" not in page.partition("<main")[2].replace('value="secret-offer"', "")


async def test_reasons_are_told_in_the_readers_language(ask: Ask, runtime: Runtime, user: User) -> None:
    await runtime.pool.execute("update users set locale = 'de' where id = $1", user.id)
    page = await ask(time="18:00")

    assert "Montag, 16. März 2026" in page
    assert "Outside hours" not in page
