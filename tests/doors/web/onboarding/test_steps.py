"""The first steps over HTTP: each works by itself, can be left and resumed, and is never in the way."""

import httpx2
import pytest

from openslot.demo.people import HOST
from openslot.demo.seed import seed
from openslot.domains.accounts import operations as accounts
from openslot.domains.accounts.models import User
from openslot.domains.calendars import operations as calendars
from openslot.domains.event_types import operations as event_types
from openslot.domains.schedules import operations as changes
from openslot.domains.schedules import operations as schedules
from openslot.domains.schedules.models import Schedule, TimeRange
from openslot.domains.schedules.rules import version_of
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.doors.web.availability.conftest import hidden
from tests.support.feeds import publishing
from tests.support.page import read_page
from tests.support.radicale import PASSWORD, USER, Radicale

PANEL = 'aria-labelledby="first-steps"'
ALL_DAYS = {f"works.{day}": "on" for day in range(7)}


async def next_step(runtime: Runtime, user: User) -> int | None:
    return (await accounts.get_user(runtime.work(OPERATOR), user.id)).welcome_step


async def get_hours(runtime: Runtime, user: User) -> Schedule:
    return (await schedules.list_schedules(runtime.work(OPERATOR), user))[0]


async def send_hours(member: httpx2.AsyncClient, hours: dict[str, str]) -> httpx2.Response:
    version = hidden((await member.get("/welcome/hours")).text, "/welcome/hours", "version")
    return await member.post("/welcome/hours", data={"version": version, "act": "save", **hours})


async def test_a_new_user_goes_through_the_steps_and_comes_home(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    assert PANEL in (await member.get("/")).text
    assert (await member.get("/welcome")).headers["location"] == "/welcome/zone"
    zone = await member.post("/welcome/zone", data={"timezone": "Asia/Tokyo"})
    assert zone.headers["location"] == "/welcome/hours"
    hours = await send_hours(member, {"works.0": "on", "d0.0.start": "8", "d0.0.end": "12", "d1.0.start": "x"})
    assert hours.headers["location"] == "/welcome/calendar"
    skipped = await member.post("/welcome/calendar/skip")
    assert skipped.headers["location"] == "/welcome/link"
    link = (await member.get("/welcome/link")).text
    assert "http://127.0.0.1:8000/mara</a>" in link
    assert "http://127.0.0.1:8000/mara/30min</a>" in link
    assert '<a class="button button-main" href="/welcome/try">' in link
    assert (await member.get("/welcome/try")).text.count('action="/welcome/finish"') == 1
    assert (await member.post("/welcome/finish")).headers["location"] == "/"

    assert PANEL not in (await member.get("/")).text
    assert await next_step(runtime, user) is None
    changed = await accounts.get_user(runtime.work(OPERATOR), user.id)
    schedule = await get_hours(runtime, user)
    assert (changed.zone, schedule.zone) == ("Asia/Tokyo", "Asia/Tokyo")
    assert schedule.weekly_hours == ((TimeRange(480, 720),), (), (), (), (), (), ())


async def test_the_first_screen_does_not_call_open_steps_a_success(member: httpx2.AsyncClient) -> None:
    home = await member.get("/")
    assert PANEL in home.text
    assert read_page(home).notices == []


async def test_the_zone_is_shown_with_a_way_to_change_it(member: httpx2.AsyncClient) -> None:
    hours = await member.get("/welcome/hours")
    assert "The times are in the time zone Europe/Berlin." in read_page(hours).text
    assert '<a href="/welcome/zone">Change the time zone</a>' in hours.text


async def test_a_step_that_is_repeated_leads_not_back(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    await member.post("/welcome/calendar/skip")
    await member.post("/welcome/zone", data={"timezone": "Asia/Tokyo"})
    assert await next_step(runtime, user) == 4


@pytest.mark.parametrize(("zone", "guesses"), [("UTC", True), ("Europe/Berlin", False)])
async def test_the_browser_proposes_its_zone_where_none_was_chosen(
    member: httpx2.AsyncClient, runtime: Runtime, zone: str, guesses: bool
) -> None:
    await runtime.pool.execute("update users set zone = $1", zone)
    page = (await member.get("/welcome/zone")).text
    assert ("data-guess-zone" in page) == guesses


async def test_the_steps_can_be_left_and_resumed(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    await member.post("/welcome/zone", data={"timezone": "Europe/Berlin"})
    assert (await member.get("/welcome")).headers["location"] == "/welcome/hours"
    page = (await member.get("/welcome/hours")).text
    assert 'aria-current="step"' in page
    assert '<a href="/welcome/zone">' in page
    assert '<a href="/welcome/calendar">' not in page
    assert (await member.get("/")).status_code == 200
    assert await next_step(runtime, user) == 2


async def test_the_steps_are_skipped_for_good(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    await member.post("/welcome/finish")
    assert PANEL not in (await member.get("/")).text
    # Steps that are repeated later do not bring the notice back.
    await member.post("/welcome/zone", data={"timezone": "Europe/Berlin"})
    assert await next_step(runtime, user) is None


async def test_other_users_are_not_asked(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, stranger: User
) -> None:
    await member.post("/welcome/finish")
    assert (await next_step(runtime, user), await next_step(runtime, stranger)) == (None, 1)


@pytest.mark.rest("seeds the demo")
async def test_people_of_the_demo_and_of_earlier_releases_are_not_asked(runtime: Runtime) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await seed(work)
    mara = await accounts.get_user_by_email(runtime.work(OPERATOR), HOST.email)
    assert mara.welcome_step is None
    default = "select column_default from information_schema.columns where column_name = 'welcome_step'"
    assert await runtime.pool.fetchval(default) is None


async def test_a_wrong_zone_stands_at_its_field(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    for zone in ("", "Mars/Phobos", "x" * 5000):
        answer = await member.post("/welcome/zone", data={"timezone": zone})

        assert (answer.status_code, read_page(answer).faults.keys() == {"timezone"}) == (400, True), zone
        assert await next_step(runtime, user) == 1, zone


async def test_a_schedule_in_another_zone_keeps_it(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    await runtime.pool.execute("update schedules set zone = 'America/New_York'")
    await member.post("/welcome/zone", data={"timezone": "Asia/Tokyo"})

    assert (await get_hours(runtime, user)).zone == "America/New_York"


WRONG_HOURS: list[tuple[dict[str, str], str]] = [
    ({}, "Choose at least one day"),
    ({"works.2": "on", "d2.0.start": "", "d2.0.end": ""}, "Must be a time"),
    ({"works.2": "on"}, "Choose at least one day"),
    ({"works.2": "on", "d2.0.start": "9", "d2.0.end": "soon"}, "Must be a time"),
]


async def test_wrong_hours_stand_at_their_field(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    before = await get_hours(runtime, user)
    for hours, words in WRONG_HOURS:
        answer = await send_hours(member, hours)

        assert (answer.status_code, words in read_page(answer).text) == (400, True), hours
        assert await get_hours(runtime, user) == before, hours
        assert await next_step(runtime, user) == 1, hours


async def test_hours_may_end_on_the_next_day(member: httpx2.AsyncClient) -> None:
    ends = {f"d{day}.0.end": "21:00" for day in range(7)}
    answer = await send_hours(member, {**ALL_DAYS, **{f"d{day}.0.start": "22:00" for day in range(7)}, **ends})

    assert answer.status_code == 303


async def test_hours_with_breaks_are_kept_and_not_flattened(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    schedule = await get_hours(runtime, user)
    split = (TimeRange(480, 720), TimeRange(780, 1020))
    async with runtime.transaction(OPERATOR) as work:
        hours = (split, *schedule.weekly_hours[1:])
        await changes.change_schedule_hours(work, user, schedule.id, hours, version=version_of(schedule.weekly_hours))
    page = (await member.get("/welcome/hours")).text
    assert "Keep these hours" in page
    assert 'name="d0.0.start"' not in page
    answer = await member.post("/welcome/hours", data={"act": "keep"})

    assert answer.headers["location"] == "/welcome/calendar"
    assert (await get_hours(runtime, user)).weekly_hours[0] == split


async def test_hours_of_another_window_are_not_undone(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    sent = {"version": "old", "act": "save", "works.0": "on", "d0.0.start": "8", "d0.0.end": "9"}
    answer = await member.post("/welcome/hours", data=sent)

    assert (answer.status_code, "changed in another window" in read_page(answer).notices[0]) == (409, True)
    assert (await get_hours(runtime, user)).weekly_hours[0] == (TimeRange(540, 1020),)


async def test_a_calendar_is_tried_before_it_is_kept(
    member: httpx2.AsyncClient, runtime: Runtime, user: User, radicale: Radicale
) -> None:
    await radicale.add_calendar("Work")
    sent = {"server": "other", "address": radicale.url, "username": USER}
    wrong = await member.post("/welcome/calendar", data={**sent, "password": "wrong"})
    assert (wrong.status_code, set(read_page(wrong).faults)) == (400, {"password"})
    assert await calendars.list_calendar_connections(runtime.work(OPERATOR), user) == []
    right = await member.post("/welcome/calendar", data={**sent, "password": PASSWORD})
    assert right.headers["location"] == "/welcome/link"
    assert len(await calendars.list_calendar_connections(runtime.work(OPERATOR), user)) == 1
    page = (await member.get("/welcome/calendar")).text
    assert "Connected" in page
    assert PASSWORD not in page


WRONG_CALENDARS: list[tuple[dict[str, str], str, str]] = [
    ({"username": "x", "password": "y"}, "address", "Enter the server address"),
    ({"address": "127.0.0.1"}, "username", "Enter your user name"),
    ({"address": "http://127.0.0.1:9", "username": "x", "password": "y"}, "address", "Can&#39;t be used"),
    ({"address": "http://10.0.0.1/", "username": "x", "password": "y"}, "address", "Can&#39;t be used"),
    ({"address": "::::", "username": "x", "password": "y"}, "address", ""),
    ({"address": "file:///etc/passwd", "username": "x", "password": "y"}, "address", ""),
]


async def test_a_calendar_that_cant_be_read_stands_at_its_field(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    for sent, field, words in WRONG_CALENDARS:
        answer = await member.post("/welcome/calendar", data={"server": "other", **sent})

        assert answer.status_code == 400, (sent, field)
        assert field in read_page(answer).faults, (sent, field)
        assert words in answer.text, (sent, field)
        assert await next_step(runtime, user) == 1, (sent, field)


async def test_a_calendar_is_connected_by_its_url(member: httpx2.AsyncClient, runtime: Runtime, user: User) -> None:
    async with publishing("no calendar at all") as feed:
        wrong = await member.post("/welcome/calendar/feed", data={"url": feed.url})
    assert (wrong.status_code, set(read_page(wrong).faults)) == (400, {"url"})
    assert await next_step(runtime, user) == 1
    async with publishing("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nEND:VCALENDAR\r\n") as feed:
        right = await member.post("/welcome/calendar/feed", data={"url": feed.url})
    assert right.headers["location"] == "/welcome/link"
    assert len(await calendars.list_calendar_connections(runtime.work(OPERATOR), user)) == 1
    assert await next_step(runtime, user) == 4


async def test_without_an_event_type_the_last_steps_say_where_to_make_one(
    member: httpx2.AsyncClient, runtime: Runtime, user: User
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        (first, *_), _ = await event_types.list_event_types(work, user)
        await event_types.set_event_type_active(work, first, active=False)
    pages = [(await member.get(path)).text for path in ("/welcome/link", "/welcome/try")]

    assert "You have no event type yet." in pages[0]
    assert "No event type of yours offers times on your page." in pages[1]
    assert all('href="/event-types"' in page for page in pages)
