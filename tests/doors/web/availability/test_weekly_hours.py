"""Weekly hours over HTTP: saved, refused at the field, edited without scripts, and never undone by another window."""

import asyncio
from datetime import timedelta

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.availability.models import BySlug
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.schedules import operations as changes
from openslot.domains.schedules.errors import ScheduleChanged
from openslot.domains.schedules.models import Schedule, TimeRange
from openslot.domains.schedules.rules import version_of
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime
from tests.doors.web.availability.conftest import hidden, read_schedule, save_hours
from tests.support.host import TEN, Book
from tests.support.page import read_page

CLOSED = ((), (), (), (), (), (), ())


async def test_hours_are_saved_with_several_ranges_over_midnight_and_to_24(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    hours = {
        "d0.0.start": "9",
        "d0.0.end": "12:30",
        "d0.1.start": "1:30 pm",
        "d0.1.end": "18:00",
        "d4.0.start": "22:00",
        "d4.0.end": "02:00",
        "d6.0.start": "00:00",
        "d6.0.end": "24:00",
    }
    answer = await save_hours(member, schedule, hours)

    assert answer.headers["location"] == f"/availability/{schedule.id}?done=hours"
    stored = (await read_schedule(runtime, user)).weekly_hours
    assert stored == (
        (TimeRange(540, 750), TimeRange(810, 1080)),
        (),
        (),
        (),
        (TimeRange(1320, 1560),),
        (),
        (TimeRange(0, 1440),),
    )
    page = (await member.get(answer.headers["location"])).text
    for shown in ('value="24:00"', "Ends on Saturday", "After a break of 1 hr", "The hours were saved"):
        assert shown in page, shown


async def test_no_hours_at_all_close_the_week(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    await save_hours(member, schedule, {"d0.0.start": "", "d0.0.end": " "})

    assert (await read_schedule(runtime, user)).weekly_hours == CLOSED


FAULTS: list[tuple[dict[str, str], str, str]] = [
    ({"d0.0.start": "nine", "d0.0.end": "17:00"}, "d0.0-start", "Must be a time, such as 09:00"),
    ({"d0.0.start": "09:00", "d0.0.end": ""}, "d0.0-end", "Must be a time, such as 09:00"),
    ({"d0.0.start": "09:00", "d0.0.end": "09:00"}, "d0.0-end", "Must differ from the start"),
    (
        {"d0.0.start": "09:00", "d0.0.end": "12:00", "d0.1.start": "11:00", "d0.1.end": "13:00"},
        "d0.1-start",
        "Overlaps 09:00–12:00",
    ),
    (
        {"d6.0.start": "20:00", "d6.0.end": "03:00", "d0.0.start": "02:00", "d0.0.end": "08:00"},
        "d0.0-start",
        "Overlaps 00:00–03:00",
    ),
]


async def test_a_fault_stands_at_its_field_and_nothing_is_saved(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    for hours, field, words in FAULTS:
        answer = await save_hours(member, schedule, hours)

        assert answer.status_code == 400, (hours, field)
        assert read_page(answer).faults[field].startswith(words), (hours, field)
        assert f'aria-describedby="fault-{field}"' in answer.text, (hours, field)
        for value in filter(None, hours.values()):
            assert f'value="{value}"' in answer.text, (hours, field)
        assert (await read_schedule(runtime, user)).weekly_hours == schedule.weekly_hours, (hours, field)


async def test_too_many_ranges_are_refused(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    hours: dict[str, str] = {}
    for place in range(25):
        hours |= {f"d0.{place}.start": f"{place * 50 // 60}:{place * 50 % 60:02d}"}
        hours |= {f"d0.{place}.end": f"{(place * 50 + 10) // 60}:{(place * 50 + 10) % 60:02d}"}
    answer = await save_hours(member, schedule, hours)

    assert answer.status_code == 400
    assert "Must have at most 24 ranges a day" in read_page(answer).notices[0]
    assert (await read_schedule(runtime, user)).weekly_hours == schedule.weekly_hours


async def test_ranges_are_added_removed_and_copied_without_saving(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    monday = {"d0.0.start": "08:00", "d0.0.end": "11:00", "d0.1.start": "15:00", "d0.1.end": "16:00"}
    added = await save_hours(member, schedule, monday, act="add 0")
    assert read_page(added).fields["d0.2.start"].value == ""
    removed = await save_hours(member, schedule, monday, act="remove 0.0")
    assert read_page(removed).fields["d0.0.start"].value == "15:00"
    assert "d0.1.start" not in read_page(removed).fields
    copied = await save_hours(
        member, schedule, monday, act="copy", copy_from="0", **{"copy_to.2": "on", "copy_to.6": "on"}
    )
    for day in (0, 2, 6):
        assert f'name="d{day}.1.start" value="15:00"' in copied.text
    assert "d1.0.start" not in read_page(copied).fields
    for page in (added, removed, copied):
        assert (page.status_code, "Not saved yet" in read_page(page).notices[0]) == (200, True)
    nowhere = await save_hours(member, schedule, monday, act="copy", copy_from="9")
    assert "Choose the days to copy to" in read_page(nowhere).notices[0]
    assert (await read_schedule(runtime, user)).weekly_hours == schedule.weekly_hours


async def test_an_unknown_act_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    for act in ("add 9", "remove 0", "remove 0.999", "x", "copy", "add 0.0.0", "<b>"):
        answer = await save_hours(member, schedule, {"d0.0.start": "08:00", "d0.0.end": "11:00"}, act=act)

        assert answer.status_code == 200, act
        assert (await read_schedule(runtime, user)).weekly_hours == schedule.weekly_hours, act


async def test_two_windows_do_not_undo_each_other(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    path = f"/availability/{schedule.id}"
    version = hidden((await member.get(path)).text, "/hours#hours", "version")
    mornings, evenings = {"d0.0.start": "08:00", "d0.0.end": "12:00"}, {"d0.0.start": "18:00", "d0.0.end": "20:00"}
    first = await member.post(f"{path}/hours", data={"act": "save", "version": version, **mornings})
    second = await member.post(f"{path}/hours", data={"act": "save", "version": version, **evenings})

    assert (first.status_code, second.status_code) == (303, 409)
    assert "changed in another window" in read_page(second).notices[0]
    assert read_page(second).fields["d0.0.start"].value == "18:00"
    assert "08:00–12:00" in read_page(second).text
    assert (await read_schedule(runtime, user)).weekly_hours[0] == (TimeRange(480, 720),)

    # Who has seen both may decide.
    version = hidden(second.text, "/hours#hours", "version")
    third = await member.post(f"{path}/hours", data={"act": "save", "version": version, **evenings})
    assert third.status_code == 303
    assert (await read_schedule(runtime, user)).weekly_hours[0] == (TimeRange(1080, 1200),)


async def test_windows_that_change_different_parts_both_win(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    path = f"/availability/{schedule.id}"
    page = (await member.get(path)).text
    closed = {"first": "2026-03-20", "kind": "closed"}
    await member.post(f"{path}/days", data=closed)
    details = {"name": "Office", "timezone": "UTC", "version": hidden(page, "/details", "version")}
    await member.post(f"{path}/details", data=details)
    hours = {"d0.0.start": "08:00", "d0.0.end": "12:00", "version": hidden(page, "/hours#hours", "version")}
    await member.post(f"{path}/hours", data={"act": "save", **hours})

    stored = await read_schedule(runtime, user)
    assert (stored.name, len(stored.overrides), stored.weekly_hours[0]) == ("Office", 1, (TimeRange(480, 720),))


async def test_of_many_who_save_at_the_same_moment_one_wins(runtime: Runtime, user: User, schedule: Schedule) -> None:
    version = version_of(schedule.weekly_hours)

    async def save(hour: int) -> str:
        try:
            async with runtime.transaction(OPERATOR) as work:
                hours = ((TimeRange(hour * 60, hour * 60 + 30),), *CLOSED[1:])
                await changes.change_schedule_hours(work, user, schedule.id, hours, version=version)
                await asyncio.sleep(0.05)
        except ScheduleChanged:
            return "changed"
        return "saved"

    told = await asyncio.gather(*(save(hour) for hour in range(8)))

    assert sorted(told) == ["changed"] * 7 + ["saved"]
    stored = (await read_schedule(runtime, user)).weekly_hours[0][0]
    assert told[stored.start_minute // 60] == "saved"


async def test_a_booking_that_is_made_while_hours_are_saved_stays(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule, book: Book
) -> None:
    wanted = BookingWanted(
        which=BySlug(user.id, "30min"), starts_at=TEN, invitee=Invitee(name="Li", email="li@x.example", zone="UTC")
    )
    async with runtime.transaction(PUBLIC) as work:
        booking = await bookings.create_booking(work, wanted)
        answer = await save_hours(member, schedule, {})
        assert answer.status_code == 303

    status = await runtime.pool.fetchval("select status from bookings where id = $1", booking.id)
    assert status == "CONFIRMED"
    with pytest.raises(Refusal):
        await book(TEN + timedelta(hours=1))


async def test_clock_changes_are_told_where_hours_meet_them(member: httpx2.AsyncClient, schedule: Schedule) -> None:
    await save_hours(member, schedule, {"d6.0.start": "01:00", "d6.0.end": "05:00"})
    page = (await member.get(f"/availability/{schedule.id}")).text

    assert "29 March 2026, clocks go forward from 02:00 to 03:00: 01:00–05:00 lasts 3 hrs." in page
    assert "25 October 2026, clocks go back from 03:00 to 02:00: 01:00–05:00 lasts 5 hrs." in page
