"""Dates with other hours, and time out of office, over HTTP."""

from datetime import UTC, date, datetime, timedelta

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.schedules import operations as schedules
from openslot.domains.schedules.models import DateOverride, OutOfOffice, Schedule, TimeRange
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.errors import Refusal
from openslot.platform.core.work import Runtime
from tests.doors.web.availability.conftest import hidden, read_schedule
from tests.support.host import ELEVEN, TEN, Book
from tests.support.page import read_page

FRIDAY = "2026-03-20"


async def close(member: httpx2.AsyncClient, schedule: Schedule, first: str, last: str = "") -> httpx2.Response:
    sent = {"first": first, "last": last, "kind": "closed"}
    return await member.post(f"/availability/{schedule.id}/days", data=sent)


async def test_dates_get_other_hours_or_are_closed(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    path = f"/availability/{schedule.id}"
    hours = {"kind": "open", "d.0.start": "10", "d.0.end": "12", "d.1.start": "22:00", "d.1.end": "01:00"}
    answer = await member.post(f"{path}/days", data={"first": FRIDAY, **hours})
    await close(member, schedule, "2026-04-01", "2026-04-03")

    assert answer.headers["location"] == f"{path}?done=days&from={FRIDAY}&to={FRIDAY}#dates"
    closed = [DateOverride(date(2026, 4, day)) for day in (1, 2, 3)]
    friday = DateOverride(date(2026, 3, 20), (TimeRange(600, 720), TimeRange(1320, 1500)))
    assert (await read_schedule(runtime, user)).overrides == (friday, *closed)
    page = (await member.get(path)).text
    for shown in ("Friday 20 March", "10:00–12:00, 22:00–01:00", "Wednesday 1 April"):
        assert shown in page, shown


WRONG_DAYS: list[tuple[dict[str, str], str]] = [
    ({"first": "", "kind": "closed"}, "Must be a date"),
    ({"first": "2026-02-30", "kind": "closed"}, "Must be a date"),
    ({"first": FRIDAY, "last": "x", "kind": "closed"}, "Must be a date"),
    ({"first": FRIDAY, "last": "2026-03-19", "kind": "closed"}, "Must be at most a year after the first day"),
    ({"first": FRIDAY, "last": "2027-03-21", "kind": "closed"}, "Must be at most a year after the first day"),
    ({"first": FRIDAY, "kind": "open"}, "Enter hours, or choose “Closed”"),
    ({"first": FRIDAY, "kind": "open", "d.0.start": "9", "d.0.end": "x"}, "Must be a time"),
]


async def test_wrong_dates_and_hours_stand_at_their_field(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    for sent, words in WRONG_DAYS:
        answer = await member.post(f"/availability/{schedule.id}/days", data=sent)

        assert answer.status_code == 400, (sent, words)
        assert words in read_page(answer).text, (sent, words)
        assert (await read_schedule(runtime, user)).overrides == (), (sent, words)


async def test_a_pair_of_fields_is_added_without_saving(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    sent = {"first": FRIDAY, "kind": "open", "d.0.start": "9", "d.0.end": "11", "act": "add"}
    answer = await member.post(f"/availability/{schedule.id}/days", data=sent)

    assert (answer.status_code, read_page(answer).fields["d.1.start"].value == "") == (200, True)
    assert (await read_schedule(runtime, user)).overrides == ()


async def test_a_date_that_has_other_hours_is_not_overwritten_by_a_new_one(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    hours = {"first": FRIDAY, "kind": "open", "d.0.start": "10", "d.0.end": "12"}
    await member.post(f"/availability/{schedule.id}/days", data=hours)
    answer = await close(member, schedule, "2026-03-18", "2026-03-22")

    assert answer.status_code == 400
    assert "20 March 2026 already has different hours" in read_page(answer).faults["first"]
    assert len((await read_schedule(runtime, user)).overrides) == 1


async def test_one_date_is_changed_unless_another_window_did(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    await close(member, schedule, FRIDAY)
    path = f"/availability/{schedule.id}/days/{FRIDAY}"
    version = hidden((await member.get(path)).text, f"/days/{FRIDAY}", "version")
    hours = {"kind": "open", "d.0.start": "10", "d.0.end": "12", "version": version}
    first = await member.post(path, data=hours)
    second = await member.post(path, data={**hours, "d.0.end": "15"})

    assert first.status_code == 303
    assert "changed in another window" in read_page(second).notices[0]
    assert (await read_schedule(runtime, user)).overrides[0].hours == (TimeRange(600, 720),)


async def test_a_date_gets_its_weekdays_hours_back_after_a_question(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, schedule: Schedule
) -> None:
    await close(member, schedule, FRIDAY)
    path = f"/availability/{schedule.id}/days/{FRIDAY}/remove"
    assert "Remove the hours of Friday 20 March?" in read_page(await member.get(path)).headings
    await member.post(path)

    assert (await read_schedule(runtime, user)).overrides == ()
    assert (await member.post(path)).status_code == 404


async def test_a_date_without_other_hours_is_not_found(member: httpx2.AsyncClient, schedule: Schedule) -> None:
    for day in ("2026-03-21", "x", "9999-99-99", "0001-01-01"):
        path = f"/availability/{schedule.id}/days/{day}"
        answers = [await member.get(path), await member.post(path), await member.post(f"{path}/remove")]

        assert [each.status_code for each in answers] == [404, 404, 404], day


async def test_bookings_on_closed_dates_stay_and_are_counted(
    member: httpx2.AsyncClient, schedule: Schedule, book: Book
) -> None:
    await book()
    await book(ELEVEN)
    answer = await close(member, schedule, "2026-03-16")

    page = (await member.get(answer.headers["location"])).text
    assert "2 bookings fall in this period and are kept" in page
    assert 'href="/bookings?from=2026-03-16&amp;to=2026-03-16"' in page


async def test_time_out_of_office_is_whole_days_in_the_hosts_zone(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    answer = await member.post(
        "/availability/away", data={"first": "2026-03-27", "last": "2026-03-29", "reason": "Sailing"}
    )

    (away_id, away), *_ = await schedules.list_out_of_office(runtime.work(OPERATOR), user)
    assert answer.headers["location"] == f"/availability/away?done=added&id={away_id}"
    # Clocks go forward on the last day.
    first, until = datetime(2026, 3, 26, 23, tzinfo=UTC), datetime(2026, 3, 29, 22, tzinfo=UTC)
    assert away == OutOfOffice(first, until, "Sailing")
    page = (await member.get(answer.headers["location"])).text
    for shown in ("Friday 27 March to Sunday 29 March", "Sailing", "New bookings are blocked during it"):
        assert shown in page, shown


async def test_time_out_of_office_may_have_times(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    sent = {"first": "2026-03-16", "first_time": "12:00", "last_time": "3 pm"}
    await member.post("/availability/away", data=sent)

    (_, away), *_ = await schedules.list_out_of_office(runtime.work(OPERATOR), user)
    assert away == OutOfOffice(TEN.replace(hour=11), TEN.replace(hour=14))
    assert "Monday 16 March, 12:00 to Monday 16 March, 15:00" in read_page(await member.get("/availability/away")).text


WRONG_AWAY: list[tuple[dict[str, str], str, str]] = [
    ({}, "first", "Must be a date"),
    ({"first": "x"}, "first", "Must be a date"),
    ({"first": FRIDAY, "last": "2026-13-01"}, "last", "Must be a date"),
    ({"first": FRIDAY, "first_time": "x"}, "first_time", "Must be a time"),
    ({"first": FRIDAY, "last_time": "99"}, "last_time", "Must be a time"),
    ({"first": FRIDAY, "last": "2026-03-19"}, "last", "Must be later than the beginning"),
    ({"first": FRIDAY, "first_time": "9", "last_time": "9"}, "last", "Must be later than the beginning"),
    ({"first": FRIDAY, "last": "2046-03-19"}, "last", "Must be at most ten years"),
    ({"first": FRIDAY, "reason": "x" * 201}, "reason", "200 characters"),
    ({"first": FRIDAY, "reason": "a\nb"}, "reason", ""),
]


async def test_a_wrong_time_out_of_office_stands_at_its_field(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    for sent, field, words in WRONG_AWAY:
        answer = await member.post("/availability/away", data=sent)

        assert answer.status_code == 400, (sent, field)
        assert words in read_page(answer).faults[field], (sent, field)
        assert await schedules.list_out_of_office(runtime.work(OPERATOR), user) == [], (sent, field)


async def test_bookings_in_a_time_out_of_office_stay_and_are_told(
    member: httpx2.AsyncClient, runtime: Runtime, stranger: User, book: Book
) -> None:
    booking = await book()
    await book(ELEVEN + timedelta(days=1))
    await book(host=stranger)
    answer = await member.post("/availability/away", data={"first": "2026-03-16"})

    page = (await member.get(answer.headers["location"])).text
    assert page.count("1 booking falls in this period and is kept") == 2
    assert 'href="/bookings?from=2026-03-16&amp;to=2026-03-16"' in page
    status = await runtime.pool.fetchval("select status from bookings where id = $1", booking.id)
    assert status == "CONFIRMED"
    with pytest.raises(Refusal):
        await book(ELEVEN)


async def test_a_time_out_of_office_is_removed_after_a_question(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await member.post("/availability/away", data={"first": FRIDAY})
    (away_id, _), *_ = await schedules.list_out_of_office(runtime.work(OPERATOR), user)
    path = f"/availability/away/{away_id}/remove"
    assert "Friday 20 March" in read_page(await member.get(path)).text
    answer = await member.post(path)

    assert answer.headers["location"] == "/availability/away?done=removed"
    assert await schedules.list_out_of_office(runtime.work(OPERATOR), user) == []
    assert "Add your next holidays" in read_page(await member.get("/availability/away")).text
    assert (await member.post(path)).status_code == 404
