"""Schedules over HTTP: list, add, rename, default, duplicate, delete, holidays, and what another window has saved."""

from datetime import date

import httpx2

from openslot.domains.accounts.models import User
from openslot.domains.schedules import operations as changes
from openslot.domains.schedules import operations as schedules
from openslot.domains.schedules.models import DateOverride, HolidayCalendar, Schedule, TimeRange
from openslot.domains.schedules.rules import version_of
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.availability.conftest import hidden, read_schedule
from tests.support.clocks import MovingClock
from tests.support.page import read_page


async def test_the_list_shows_hours_shortly_and_who_uses_them(member: httpx2.AsyncClient, schedule: Schedule) -> None:
    page = await member.get("/availability")

    assert page.status_code == 200
    assert f"/availability/{schedule.id}" in read_page(page).addresses
    for shown in ("Monday – Friday", "09:00–17:00", "Saturday – Sunday", "Used by", "30 minute meeting", "Default"):
        assert shown in read_page(page).text, shown


async def test_a_schedule_is_added_with_office_hours_of_its_zone(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    answer = await member.post("/availability", data={"name": " Evenings ", "timezone": "america/new_york"})

    made = await read_schedule(runtime, user, 1)
    assert answer.headers["location"] == f"/availability/{made.id}?done=added"
    assert (made.name, made.zone) == ("Evenings", "America/New_York")
    assert "The schedule was added" in read_page(await member.get(answer.headers["location"])).notices[0]


WRONG_DETAILS: list[tuple[dict[str, str], str]] = [
    ({"name": "", "timezone": "UTC"}, "Enter a name"),
    ({"name": "x" * 201, "timezone": "UTC"}, "200 characters"),
    ({"name": "Two\nlines", "timezone": "UTC"}, "fault-name"),
    ({"name": "Evenings", "timezone": "Mars/Phobos"}, "Is not a time zone"),
    ({"name": "Evenings"}, "Choose a time zone"),
]


async def test_a_wrong_name_or_zone_stands_at_its_field(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    for sent, words in WRONG_DETAILS:
        for path in ("/availability", f"/availability/{(await read_schedule(runtime, user)).id}/details"):
            answer = await member.post(path, data=sent)

            assert answer.status_code == 400, (sent, path)
            assert words in answer.text, (sent, path)
            assert 'aria-invalid="true"' in answer.text, (sent, path)
        kept = await schedules.list_schedules(runtime.work(OPERATOR), user)
        assert [each.name for each in kept] == ["Working hours"], sent


async def test_name_and_zone_are_changed_unless_another_window_did(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    path = f"/availability/{schedule.id}/details"
    version = hidden((await member.get(f"/availability/{schedule.id}")).text, "/details", "version")
    first = await member.post(path, data={"name": "Office", "timezone": "Asia/Tokyo", "version": version})
    second = await member.post(path, data={"name": "Studio", "timezone": "Asia/Tokyo", "version": version})

    assert (first.status_code, second.status_code) == (303, 409)
    assert "changed in another window" in read_page(second).faults["name"]
    assert read_page(second).fields["name"].value == "Studio"
    assert (await read_schedule(runtime, user)).name == "Office"

    again = hidden(second.text, "/details", "version")
    await member.post(path, data={"name": "Studio", "timezone": "Asia/Tokyo", "version": again})
    assert (await read_schedule(runtime, user)).name == "Studio"


async def test_the_default_is_the_schedule_to_start_from(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, clock: MovingClock, schedule: Schedule
) -> None:
    other = (await member.post("/availability", data={"name": "Evenings", "timezone": "UTC"})).headers["location"]
    other = other.partition("?")[0]
    assert "Make it the default" in read_page(await member.get(other)).buttons
    await member.post(f"{other}/default")

    assert (await read_schedule(runtime, user)).name == "Evenings"
    assert "Make it the default" not in (await member.get(other)).text
    clock.pass_time(minutes=1)
    await member.post(f"/availability/{schedule.id}/default")
    assert (await read_schedule(runtime, user)).name == "Working hours"


async def test_a_copy_has_the_hours_dates_and_holidays_of_the_original(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        day = DateOverride(date(2026, 3, 20), (TimeRange(600, 700),))
        await changes.add_schedule_overrides(work, user, schedule.id, first=day.on, last=day.on, hours=day.hours)
        version = version_of(schedule.holidays)
        await changes.change_schedule_holidays(work, user, schedule.id, HolidayCalendar("DE", "BE"), version=version)
    answer = await member.post(f"/availability/{schedule.id}/duplicate")

    original, made = await read_schedule(runtime, user), await read_schedule(runtime, user, 1)
    assert answer.headers["location"] == f"/availability/{made.id}?done=duplicated"
    assert made.name == "Copy of Working hours"
    assert (made.weekly_hours, made.overrides, made.holidays) == (
        original.weekly_hours,
        (day,),
        HolidayCalendar("DE", "BE"),
    )


async def test_a_schedule_in_use_is_not_deleted_and_says_why(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    await member.post("/availability", data={"name": "Evenings", "timezone": "UTC"})
    answer = await member.post(f"/availability/{schedule.id}/delete")

    assert answer.status_code == 409
    assert read_page(answer).notices == ["This schedule is used by event types. Assign them another schedule first."]
    assert (await read_schedule(runtime, user)).id == schedule.id


async def test_an_unused_schedule_is_deleted_after_a_question(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    made = (await member.post("/availability", data={"name": "Evenings", "timezone": "UTC"})).headers["location"]
    path = made.partition("?")[0]
    assert "Delete “Evenings”?" in read_page(await member.get(f"{path}/delete")).headings
    answer = await member.post(f"{path}/delete")

    assert answer.headers["location"] == "/availability?done=deleted"
    assert len(await schedules.list_schedules(runtime.work(OPERATOR), user)) == 1
    assert (await member.get(path)).status_code == 404


async def test_the_last_schedule_stays(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    await runtime.pool.execute("delete from event_types")
    answer = await member.post(f"/availability/{schedule.id}/delete")

    assert answer.status_code == 409
    assert "This is your only schedule" in read_page(answer).notices[0]
    assert (await read_schedule(runtime, user)).id == schedule.id


async def test_there_is_a_most_number_of_schedules(
    member: httpx2.AsyncClient, runtime: Runtime, schedule: Schedule
) -> None:
    await runtime.pool.execute(
        """insert into schedules (id, owner_id, name, zone, weekly_hours, overrides, created_at, updated_at)
        select gen_random_uuid(), owner_id, name, zone, weekly_hours, overrides, created_at, updated_at
        from schedules, generate_series(1, 99)"""
    )
    for path in ("/availability", f"/availability/{schedule.id}/duplicate"):
        answer = await member.post(path, data={"name": "One more", "timezone": "UTC"})

        assert answer.status_code >= 400, path
        assert "reached the limit of 100 schedules" in read_page(answer).text, path
    assert await runtime.pool.fetchval("select count(*) from schedules") == 100


async def test_holidays_are_chosen_by_country_and_then_by_region(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    path = f"/availability/{schedule.id}"
    page = (await member.get(f"{path}/holidays")).text
    assert '<option value="DE">Germany</option>' in page
    sent = {"country": "DE", "region": "", "version": hidden(page, "/holidays", "version"), "shown_country": ""}
    more = await member.post(f"{path}/holidays", data=sent)
    assert more.headers["location"] == f"{path}/holidays?done=holidays"
    page = (await member.get(f"{path}/holidays")).text
    assert '<option value="BE">Berlin</option>' in page
    assert "Good Friday" in (await member.get(path)).text
    sent = {
        "country": "DE",
        "region": "BE",
        "version": hidden(page, "/holidays", "version"),
        "shown_country": "DE",
    }
    answer = await member.post(f"{path}/holidays", data=sent)

    assert answer.headers["location"].startswith(f"{path}?done=holidays")
    assert (await read_schedule(runtime, user)).holidays == HolidayCalendar("DE", "BE")
    assert "Berlin, Germany" in read_page(await member.get(path)).text
    late = await member.post(f"{path}/holidays", data={**sent, "region": "BY"})
    assert (late.status_code, "changed in another window" in read_page(late).faults["country"]) == (409, True)
    assert (await read_schedule(runtime, user)).holidays == HolidayCalendar("DE", "BE")


UNKNOWN_PLACES: list[tuple[str, str, str]] = [
    ("XX", "", "Must be a country with known holidays"),
    ("<b>", "", "Must be a country with known holidays"),
    ("DE", "QQ", "Must be a region of DE"),
]


async def test_an_unknown_country_or_region_is_refused(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    for country, region, words in UNKNOWN_PLACES:
        sent = {
            "country": country,
            "region": region,
            "shown_country": country,
            "version": version_of(schedule.holidays),
        }
        answer = await member.post(f"/availability/{schedule.id}/holidays", data=sent)

        assert answer.status_code == 400, (country, region)
        assert words in read_page(answer).text, (country, region)
        assert (await read_schedule(runtime, user)).holidays is None, (country, region)


async def test_the_region_of_another_country_is_dropped(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    sent = {"country": "FR", "region": "BE", "shown_country": "DE", "version": version_of(schedule.holidays)}
    await member.post(f"/availability/{schedule.id}/holidays", data=sent)

    assert (await read_schedule(runtime, user)).holidays == HolidayCalendar("FR")


async def test_a_holiday_can_be_a_working_day(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        version = version_of(schedule.holidays)
        await changes.change_schedule_holidays(work, user, schedule.id, HolidayCalendar("DE"), version=version)
    link = f"/availability/{schedule.id}/days/new?day=2026-04-03"
    assert link in (await member.get(f"/availability/{schedule.id}")).text
    form = (await member.get(link)).text
    assert 'value="2026-04-03"' in form
    assert 'name="d.0.start" value="09:00"' in form
    sent = {"first": "2026-04-03", "kind": "open", "d.0.start": "09:00", "d.0.end": "12:00"}
    await member.post(f"/availability/{schedule.id}/days", data=sent)

    page = (await member.get(f"/availability/{schedule.id}")).text
    assert link not in page
    assert "Friday 3 April" in page
