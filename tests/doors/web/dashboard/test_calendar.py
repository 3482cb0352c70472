"""The calendar of bookings: what is on which day, at which place, and who sees it."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.schedules import operations as schedules
from openslot.domains.schedules.models import DateOverride, HolidayCalendar, OutOfOffice, TimeRange
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.support.clocks import MovingClock
from tests.support.effects import work_off
from tests.support.host import ELEVEN, TEN, TWELVE, Book, cancel, open_session, say_busy
from tests.support.page import read_html, read_page

WEEK = "/bookings/week?date=2026-03-16"
DAYS = re.compile(r'<div class="cal-clock" data-on="([^"]+)">(.*?)</section>', re.DOTALL)
THINGS = re.compile(
    r'<(\w+) class="([\w-]+)[^"]*? ?at((?: [hmnHMN]\d+)*)([^"]*)"(?: href="([^"]+)")?[^>]*>(.*?)</\1>',
    re.DOTALL,
)
MINUTES = {"h": 60, "m": 10, "n": 1}


class Thing(NamedTuple):
    start: str
    end: str
    words: str
    classes: str
    path: str


def read_things(answer: httpx2.Response, on: str, kind: str) -> list[Thing]:
    """Read what a day shows of one kind: from when to when by its clock, and in which words."""
    assert answer.status_code == 200
    [day] = [part for date, part in DAYS.findall(answer.text) if date == on]
    found = []
    for _, own, place, classes, path, words in THINGS.findall(day):
        parts = place.split()
        start = sum(MINUTES[part[0]] * int(part[1:]) for part in parts if part[0].islower())
        end = start + sum(MINUTES[part[0].lower()] * int(part[1:]) for part in parts if part[0].isupper())
        if own == kind:
            text = read_html(words).text
            found.append(Thing(_clock(start), _clock(end), text, classes, path))
    return found


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def spans(things: list[Thing]) -> list[tuple[str, str]]:
    return [(thing.start, thing.end) for thing in things]


async def test_a_booking_is_at_its_place_in_the_hosts_zone(member: httpx2.AsyncClient, book: Book) -> None:
    booking = await book()
    [shown] = read_things(await member.get(WEEK), "2026-03-16", "cal-booking")

    assert (shown.start, shown.end) == ("11:00", "11:30")
    assert "Jonas Okafor" in shown.words
    assert "11:00 – 11:30" in shown.words
    assert shown.path == f"/bookings/{booking.id}"


async def test_cancelled_bookings_and_holds_are_not_shown(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    await cancel(runtime, await book())
    await book(ELEVEN, name="Priya Raman")
    await runtime.pool.execute("update bookings set status = 'PENDING_PAYMENT' where invitee_name = 'Priya Raman'")
    answer = await member.get(WEEK)

    assert read_things(answer, "2026-03-16", "cal-booking") == []
    assert "Nothing is booked. Share your link, or book on someone's behalf." in read_page(answer).text
    assert "/bookings/new" in read_page(answer).addresses


async def test_days_with_hours_that_are_not_over_lead_to_a_new_booking(
    member: httpx2.AsyncClient, clock: MovingClock
) -> None:
    clock.now = TEN + timedelta(days=2)
    page = read_page(await member.get(WEEK))

    assert sorted(address for address in page.addresses if address.startswith("new?")) == [
        "new?day=2026-03-18",
        "new?day=2026-03-19",
        "new?day=2026-03-20",
    ]


async def test_what_is_over_is_paler_and_stays_where_it_was(
    member: httpx2.AsyncClient, clock: MovingClock, book: Book
) -> None:
    await book()
    await book(TWELVE, name="Hana Kim", email="hana@kim.example")
    clock.now = TEN + timedelta(minutes=30)
    answer = await member.get(WEEK)
    before, after = read_things(answer, "2026-03-16", "cal-booking")

    assert ["past" in before.classes.split(), "past" in after.classes.split()] == [True, False]
    assert answer.text.count("data-movable") == 1


async def test_who_did_not_come_is_struck_through(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    await book()
    clock.now = TWELVE
    assert 'class="missed"' not in (await member.get(WEEK)).text

    await runtime.pool.execute("update bookings set no_show = true")
    answer = await member.get(WEEK)
    assert 'class="missed"' in answer.text
    assert "No-show" in read_things(answer, "2026-03-16", "cal-booking")[0].words


async def test_a_group_session_is_shown_once_with_its_count(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, book: Book
) -> None:
    await runtime.pool.execute("update event_types set seats = 5 where owner_id = $1", user.id)
    for name in ("Priya", "Hana", "Ivo"):
        await book(name=name, email=f"{name.lower()}@kim.example")
    answer = await member.get(WEEK)
    [shown] = read_things(answer, "2026-03-16", "cal-booking")
    [first, *_] = await runtime.pool.fetch("select id from bookings order by created_at, id")
    panel = await member.get(f"{WEEK}&booking={first['id']}")

    assert "Priya + 2" in shown.words
    assert shown.path == "/bookings?type=30min&amp;from=2026-03-16&amp;to=2026-03-16"
    assert "data-movable" not in answer.text
    assert {"Priya", "Hana", "Ivo"} <= read_page(panel).links.keys()
    assert [name in read_page(await member.get("/bookings?type=30min")).text for name in ("Priya", "Ivo")] == [True] * 2


async def test_free_hours_are_those_of_the_schedules_that_are_offered(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        [schedule] = await schedules.list_schedules(work, user)
        override = DateOverride(TEN.date() + timedelta(days=1), (TimeRange(600, 660), TimeRange(840, 900)))
        shut = DateOverride(TEN.date() + timedelta(days=2))
        await schedules.change_schedule(work, replace(schedule, overrides=(override, shut)))
    answer = await member.get(WEEK)

    assert spans(read_things(answer, "2026-03-16", "free")) == [("09:00", "17:00")]
    assert spans(read_things(answer, "2026-03-17", "free")) == [("10:00", "11:00"), ("14:00", "15:00")]
    assert read_things(answer, "2026-03-18", "free") == []
    assert read_things(answer, "2026-03-21", "free") == []
    assert "No hours" in read_page(answer).text

    await runtime.pool.execute("update event_types set active = false where owner_id = $1", user.id)
    assert read_things(await member.get(WEEK), "2026-03-16", "free") == []


async def test_a_schedule_in_another_zone_and_its_holidays_count(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        [schedule] = await schedules.list_schedules(work, user)
        changed = replace(schedule, zone="Asia/Kolkata", holidays=HolidayCalendar("DE"))
        await schedules.change_schedule(work, changed)
    answer = await member.get("/bookings/week?date=2026-04-03")

    assert spans(read_things(answer, "2026-04-02", "free")) == [("05:30", "13:30")]
    # Good Friday.
    assert read_things(answer, "2026-04-03", "free") == []


async def test_busy_times_have_the_calendars_name_and_no_title(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await say_busy(runtime, user, TEN, TWELVE)
    await say_busy(runtime, user, ELEVEN, TWELVE + timedelta(minutes=10), "Family")
    await say_busy(runtime, user, TEN + timedelta(days=2), TEN + timedelta(days=4))
    answer = await member.get(WEEK)

    assert spans(read_things(answer, "2026-03-16", "busy")) == [("11:00", "13:10")]
    assert [thing.words for thing in read_things(answer, "2026-03-16", "busy")] == ["Busy, Work, Family"]
    assert spans(read_things(answer, "2026-03-18", "busy")) == [("11:00", "18:00")]
    # All day, but not beyond the hours that are shown.
    assert spans(read_things(answer, "2026-03-19", "busy")) == [("08:00", "18:00")]
    assert spans(read_things(answer, "2026-03-20", "busy")) == [("08:00", "11:00")]


async def test_time_away_is_shown_with_its_reason(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await schedules.add_out_of_office(work, user, OutOfOffice(TEN, TEN + timedelta(days=1), "School play"))
    week, month = await member.get(WEEK), await member.get("/bookings/month?date=2026-03-01")

    assert spans(read_things(week, "2026-03-16", "away")) == [("11:00", "18:00")]
    assert [thing.words for thing in read_things(week, "2026-03-17", "away")] == ["Away School play"]
    assert read_page(month).text.count("Away School play") == 2


async def test_a_calendar_that_can_not_be_read_is_named(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    await runtime.pool.execute(
        "insert into busy_sources (id, host_no, name, closes_at) select $1, no, 'Work', $3 from users where id = $2",
        uuid4(),
        user.id,
        TEN - timedelta(days=1),
    )
    assert "The calendar “Work” can't be read at the moment" in read_page(await member.get(WEEK)).notices[0]


@pytest.mark.parametrize(
    ("on", "starts_at", "place", "length"),
    [
        # Nine in the morning is nine, although the day has an hour less or more.
        ("2026-03-29", datetime(2026, 3, 29, 7, tzinfo=UTC), ("09:00", "09:30"), "23 h"),
        ("2026-10-25", datetime(2026, 10, 25, 8, tzinfo=UTC), ("09:00", "09:30"), "25 h"),
        # From 01:45, clocks go from 02:00 to 03:00.
        ("2026-03-29", datetime(2026, 3, 29, 0, 45, tzinfo=UTC), ("01:45", "03:15"), "23 h"),
        # The second time that clocks show 02:30.
        ("2026-10-25", datetime(2026, 10, 25, 1, 30, tzinfo=UTC), ("02:30", "03:00"), "25 h"),
    ],
)
async def test_days_on_which_clocks_change_are_right(
    member: httpx2.AsyncClient,
    runtime: Runtime,
    book: Book,
    on: str,
    starts_at: datetime,
    place: tuple[str, str],
    length: str,
) -> None:
    booking = await book()
    await runtime.pool.execute(
        "update bookings set starts_at = $2, ends_at = $2::timestamptz + interval '30 minutes' where id = $1",
        booking.id,
        starts_at,
    )
    answer = await member.get(f"/bookings/week?date={on}")

    assert spans(read_things(answer, on, "cal-booking")) == [place]
    assert any(length in heading for heading in read_page(answer).headings)


async def test_a_booking_over_midnight_is_on_both_days(
    member: httpx2.AsyncClient, runtime: Runtime, book: Book
) -> None:
    booking = await book()
    await runtime.pool.execute(
        "update bookings set starts_at = $2, ends_at = $3 where id = $1",
        booking.id,
        TEN.replace(hour=22),
        TEN.replace(day=17, hour=0),
    )
    answer = await member.get(WEEK)

    assert spans(read_things(answer, "2026-03-16", "cal-booking")) == [("23:00", "24:00")]
    assert spans(read_things(answer, "2026-03-17", "cal-booking")) == [("00:00", "01:00")]
    # It is found from the day on which it ends, too.
    [shown] = read_things(await member.get("/bookings/day?date=2026-03-17"), "2026-03-17", "cal-booking")
    assert shown.path == f"/bookings/{booking.id}"


async def test_now_is_marked_on_today_alone(member: httpx2.AsyncClient, clock: MovingClock) -> None:
    clock.now = TEN + timedelta(minutes=12)
    answer = await member.get("/bookings/week")

    assert spans(read_things(answer, "2026-03-16", "now")) == [("11:12", "11:12")]
    assert answer.text.count('class="now ') == 1
    assert 'class="now ' not in (await member.get("/bookings/week?date=2026-03-23")).text


async def test_day_week_and_month_lead_to_each_other_and_on(member: httpx2.AsyncClient, book: Book) -> None:
    await book()
    for view, earlier, later in (
        ("day", "2026-03-17", "2026-03-19"),
        ("week", "2026-03-11", "2026-03-25"),
        ("month", "2026-02-01", "2026-04-01"),
    ):
        shown = read_page(await member.get(f"/bookings/{view}?date=2026-03-18"))
        assert {f"/bookings/{view}?date={earlier}", f"/bookings/{view}?date={later}"} <= shown.addresses
        assert shown.links["Today"] == f"/bookings/{view}?date=2026-03-16"
        assert shown.links["List"] == "/bookings"
        for other in ("Day", "Week", "Month"):
            assert shown.links[other] == f"/bookings/{other.lower()}?date=2026-03-18"
    listed = read_page(await member.get("/bookings"))
    assert [listed.links[view] for view in ("Day", "Week", "Month")] == [
        "/bookings/day",
        "/bookings/week",
        "/bookings/month",
    ]


async def test_the_view_that_is_shown_is_marked(member: httpx2.AsyncClient) -> None:
    for path, view in (("/day", "Day"), ("/week", "Week"), ("/month", "Month"), ("", "List")):
        answer = await member.get(f"/bookings{path}")
        [switch] = re.findall(r'<nav class="segments" aria-label="View">(.*?)</nav>', answer.text, re.DOTALL)
        assert re.findall(r'aria-current="page">(\w+)<', switch) == [view]


async def test_a_month_shows_a_few_of_each_day(member: httpx2.AsyncClient, book: Book) -> None:
    for number in range(5):
        await book(TEN + timedelta(minutes=30 * number), name=f"Guest {number}")
    shown = read_page(await member.get("/bookings/month?date=2026-03-31"))

    assert [f"Guest {number}" in shown.text for number in range(5)] == [True] * 3 + [False] * 2
    assert shown.links["+2 Monday 16 March"] == "/bookings/day?date=2026-03-16"
    assert "March 2026" in shown.headings


async def test_an_address_that_can_not_be_read_shows_today(member: httpx2.AsyncClient) -> None:
    for path in ("week", "week?date=x", "week?date=9999-12-31", "week?date=2026-03-16&booking=x", "day?date=", "month"):
        answer = await member.get(f"/bookings/{path}")
        assert answer.status_code == 200, path
        assert "March 2026" in answer.text or "Monday 16 March" in answer.text, path
    for path in ("week?date=1971-01-01", "month?date=2199-12-31"):
        assert (await member.get(f"/bookings/{path}")).status_code == 200, path


async def test_the_week_begins_as_the_readers_place_begins_it(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    for language, first in (("de", "2026-03-16"), ("en-US", "2026-03-15"), ("ar-EG", "2026-03-14")):
        await runtime.pool.execute("update users set locale = $2 where id = $1", user.id, language)
        answer = await member.get(WEEK)
        assert DAYS.findall(answer.text)[0][0] == first, language

    statement = "update users set locale = 'en', first_weekday = 6, hour_format = 12 where id = $1"
    await runtime.pool.execute(statement, user.id)
    preferred = await member.get(WEEK)
    assert DAYS.findall(preferred.text)[0][0] == "2026-03-15"
    assert "9:00" in preferred.text
    assert "09:00" not in preferred.text


async def test_the_chosen_booking_is_shown_beside_the_week(member: httpx2.AsyncClient, book: Book) -> None:
    booking = await book(zone="Europe/Lisbon", notes="Pricing for a team of 12", guests=("li@okafor.example",))
    shown = read_page(await member.get(f"{WEEK}&booking={booking.id}"))

    elsewhere = "10:00 – 10:30 for the invitee (Lisbon, 1 h behind)"
    for said in ("Today, 16 March", elsewhere, "Pricing for a team", "li@okafor"):
        assert said in shown.text
    assert shown.links["Show"] == f"/bookings/{booking.id}"
    assert shown.links["Reschedule"] == f"/bookings/{booking.id}/reschedule"
    assert shown.links["Cancel…"] == f"/bookings/{booking.id}/cancel"
    assert "Private notes" not in shown.text


async def test_the_panel_has_the_private_notes_and_what_was_sent(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, book: Book
) -> None:
    booking = await book()
    await member.post(f"/bookings/{booking.id}/notes", data={"private_notes": "Has a dog"})
    await work_off(runtime, clock)
    page = (await member.get(f"{WEEK}&booking={booking.id}")).text

    assert "Has a dog" in page
    assert page.count("in the mailbox, not sent") == 2


async def test_another_host_sees_nothing_of_it(
    client: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User, book: Book
) -> None:
    booking = await book()
    await say_busy(runtime, user, TEN, TWELVE)
    async with runtime.transaction(OPERATOR) as work:
        await schedules.add_out_of_office(work, user, OutOfOffice(TEN, TWELVE, "School play"))
    client.headers.update(await open_session(runtime, stranger))
    for path in (WEEK, "/bookings/day?date=2026-03-16", "/bookings/month?date=2026-03-16"):
        unknown = uuid4()
        named, other = [(await client.get(f"{path}&booking={each}")).text for each in (booking.id, unknown)]
        for word in ("Jonas", "Busy, ", "School play"):
            assert word not in named
        assert named == other.replace(str(unknown), str(booking.id))
