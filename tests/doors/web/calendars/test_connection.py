"""One connection: what it closes, where bookings go, test, password, reading, end, and the feed of one's own."""

import re
from datetime import timedelta
from itertools import product

import httpx2
import pytest

from openslot.domains.accounts.models import User
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.models import CalendarConnection
from openslot.domains.calendars.operations import READ
from openslot.domains.calendars.sync import sync_connection
from openslot.doors.web.dashboard.calendars.overview import SIGN_IN
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import Connect, get
from tests.doors.web.calendars.support import lose, spoil_password
from tests.support.clocks import MovingClock
from tests.support.forms import NOBODY
from tests.support.host import Book
from tests.support.page import read_page
from tests.support.radicale import PASSWORD, Radicale

LIST = "/settings/calendars"


@pytest.fixture
async def connection(connect: Connect, radicale: Radicale, work_calendar: str) -> CalendarConnection:
    """Connect one calendar."""
    return await connect(work_calendar)


async def test_the_page_says_when_it_was_read_and_will_be(
    member: httpx2.AsyncClient, connection: CalendarConnection
) -> None:
    page = (await member.get(f"{LIST}/{connection.id}")).text

    assert "Last sync: today, 08:00 ·" in page
    assert "Next: today, 08:05" in page
    assert "</svg>Connected</span>" in page


async def test_chosen_calendars_close_times_and_others_do_not(
    member: httpx2.AsyncClient, runtime: Runtime, connection: CalendarConnection
) -> None:
    answer = await member.post(f"{LIST}/{connection.id}", data={"unreadable": "trust:72"})

    assert answer.headers["location"] == f"{LIST}/{connection.id}?done=saved"
    changed = await get(runtime, connection)
    assert not any(each.is_busy for each in changed.calendars)
    assert changed.trust_hours == 72
    (calendar,) = changed.calendars
    await member.post(f"{LIST}/{connection.id}", data={"busy": str(calendar.id), "unreadable": "close"})
    changed = await get(runtime, connection)
    assert all(each.is_busy for each in changed.calendars)
    assert changed.trust_hours is None


WRONG_CHOICES: list[tuple[dict[str, str], str]] = [
    ({"unreadable": "never"}, "unreadable"),
    ({}, "unreadable"),
    ({"busy": NOBODY, "unreadable": "close"}, "busy"),
    ({"busy": "x" * 101, "unreadable": "close"}, "busy"),
]


async def test_a_wrong_choice_is_told_and_changes_nothing(
    member: httpx2.AsyncClient, runtime: Runtime, connection: CalendarConnection
) -> None:
    for sent, field in WRONG_CHOICES:
        answer = await member.post(f"{LIST}/{connection.id}", data=sent)

        assert answer.status_code == 400, (sent, field)
        assert field in read_page(answer).faults, (sent, field)
        assert await get(runtime, connection) == connection, (sent, field)


async def test_the_calendar_for_bookings_is_chosen_among_all_that_can_be_written(
    member: httpx2.AsyncClient, runtime: Runtime, connection: CalendarConnection, connect: Connect, radicale: Radicale
) -> None:
    other = await connect(await radicale.add_calendar("Family"))
    (family,) = other.calendars
    assert not family.receives

    answer = await member.post(f"{LIST}/target", data={"calendar": str(family.id)})

    assert answer.headers["location"] == f"{LIST}?done=target"
    assert [each.receives for each in (await get(runtime, other)).calendars] == [True]
    assert [each.receives for each in (await get(runtime, connection)).calendars] == [False]
    await member.post(f"{LIST}/target", data={"calendar": ""})
    assert [each.receives for each in (await get(runtime, other)).calendars] == [False]
    refused = await member.post(f"{LIST}/target", data={"calendar": NOBODY})
    assert refused.status_code == 400
    assert read_page(refused).faults == {"calendar": "Is no longer one of your calendars"}


async def test_another_hosts_calendar_can_not_be_chosen(
    member: httpx2.AsyncClient, runtime: Runtime, connect: Connect, stranger: User, work_calendar: str
) -> None:
    theirs = await connect(work_calendar, owner=stranger)
    await member.post(f"{LIST}/target", data={"calendar": ""})

    answer = await member.post(f"{LIST}/target", data={"calendar": str(theirs.calendars[0].id)})

    assert answer.status_code == 400
    assert await get(runtime, theirs) == theirs


async def test_a_test_says_that_it_works_and_what_is_wrong(
    member: httpx2.AsyncClient, runtime: Runtime, connection: CalendarConnection, work_calendar: str, radicale: Radicale
) -> None:
    answer = await member.post(f"{LIST}/{connection.id}/test")

    assert answer.status_code == 200
    assert read_page(answer).notices == ["The connection works. The server shows 1 calendar."]
    await radicale.send("DELETE", work_calendar)
    answer = await member.post(f"{LIST}/{connection.id}/test")
    assert "The test has failed." in read_page(answer).notices[0]
    assert await get(runtime, connection) == connection


async def test_what_is_wrong_with_a_server_is_in_the_hosts_language(
    member: httpx2.AsyncClient, runtime: Runtime, connection: CalendarConnection, user: User
) -> None:
    await runtime.pool.execute("update users set locale = 'de' where id = $1", user.id)
    await spoil_password(runtime, connection)
    await sync_connection(runtime, connection.id)
    tested = (await member.post(f"{LIST}/{connection.id}/test")).text
    shown = (await member.get(f"{LIST}/{connection.id}")).text
    at_home = (await member.get("/")).text

    for page in (tested, shown, at_home):
        assert "Der Kalenderserver lehnt den Benutzernamen oder das Passwort ab" in page
    assert await runtime.pool.fetchval("select last_error from calendar_connections") == SIGN_IN


async def test_a_test_asks_the_server_and_not_what_is_kept(
    member: httpx2.AsyncClient, runtime: Runtime, connection: CalendarConnection
) -> None:
    await spoil_password(runtime, connection)

    answer = await member.post(f"{LIST}/{connection.id}/test")

    assert "The server refuses the user name or the password." in read_page(answer).notices[0]
    assert 'role="status"' in answer.text


async def test_a_new_password_mends_a_broken_connection(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, connection: CalendarConnection
) -> None:
    await spoil_password(runtime, connection)
    await sync_connection(runtime, connection.id)
    page = (await member.get(f"{LIST}/{connection.id}")).text
    assert "Sync failed" in page
    assert "Enter the new password below" in page
    path = f"{LIST}/{connection.id}/password"

    wrong = await member.post(path, data={"password": "still-wrong"})

    assert wrong.status_code == 400
    assert read_page(wrong).faults["password"].startswith("Was refused by the server")
    assert "still-wrong" not in wrong.text
    assert read_page(await member.post(path, data={"password": ""})).faults == {"password": "Enter the new password"}
    right = await member.post(path, data={"password": PASSWORD})
    assert right.headers["location"] == f"{LIST}/{connection.id}?done=password"
    assert await sync_connection(runtime, connection.id) is None
    assert "badge good" in (await member.get(f"{LIST}/{connection.id}")).text
    assert PASSWORD.encode() not in await runtime.pool.fetchval("select secret from calendar_connections")


async def test_a_reading_is_planned_at_once(
    member: httpx2.AsyncClient, runtime: Runtime, clock: MovingClock, connection: CalendarConnection
) -> None:
    clock.now += timedelta(minutes=2)

    answer = await member.post(f"{LIST}/{connection.id}/read")

    assert answer.headers["location"] == f"{LIST}/{connection.id}?done=reading"
    due = await runtime.pool.fetchval(
        "select next_try_at from effects where reaction = $1 and key = $2 and state = 'queued'",
        READ,
        str(connection.id),
    )
    assert due == clock.now
    assert "Next: now" in read_page(await member.get(f"{LIST}/{connection.id}")).text


async def test_disconnecting_asks_first_and_says_what_stays(
    member: httpx2.AsyncClient, runtime: Runtime, connection: CalendarConnection
) -> None:
    path = f"{LIST}/{connection.id}/disconnect"
    page = (await member.get(path)).text
    assert "stay in that calendar" in page
    assert "This calendar receives your bookings" in page

    answer = await member.post(path)

    assert answer.headers["location"] == f"{LIST}?done=disconnected"
    assert await calendars.list_calendar_connections(runtime.work(OPERATOR), None) == []


async def test_another_hosts_connection_is_the_same_404_as_none(
    member: httpx2.AsyncClient, runtime: Runtime, connect: Connect, stranger: User, work_calendar: str
) -> None:
    theirs = await connect(work_calendar, owner=stranger)
    sent = {"password": PASSWORD, "unreadable": "close"}
    for path in ("", "/test", "/read", "/password", "/disconnect"):
        for method, place in product(("GET", "POST"), (str(theirs.id), NOBODY)):
            if method == "GET" and path in {"/test", "/read", "/password"}:
                continue
            answer = await member.request(method, f"{LIST}/{place}{path}", data=sent if method == "POST" else None)

            assert answer.status_code == 404, (method, place, path)
        assert await get(runtime, theirs) == theirs, path


async def test_the_feed_is_shown_once_replaced_and_ended(member: httpx2.AsyncClient, book: Book) -> None:
    await book()
    made = (await member.post(f"{LIST}/feed")).text
    first = read_feed(made)
    assert "BEGIN:VEVENT" in (await member.get(first)).text
    assert first not in (await member.get(LIST)).text

    second = read_feed((await member.post(f"{LIST}/feed")).text)

    assert (await member.get(first)).status_code == 404
    assert (await member.get(second)).status_code == 200
    assert "Revoke the link to your bookings?" in read_page(await member.get(f"{LIST}/feed/end")).headings
    assert (await member.post(f"{LIST}/feed/end")).headers["location"] == f"{LIST}?done=feed-ended"
    assert (await member.get(second)).status_code == 404
    assert (await member.get(f"{LIST}/feed/end")).status_code == 303


async def test_missing_bookings_are_decided_about(
    member: httpx2.AsyncClient, runtime: Runtime, connection: CalendarConnection, book: Book
) -> None:
    booking = await book()
    await lose(runtime, connection, booking.id)
    assert "1 booking is missing from your calendar" in read_page(await member.get(LIST)).notices[0]
    page = (await member.get(f"{LIST}/missing")).text
    assert "Jonas Okafor" in page

    for sent in ({"decision": "cancel"}, {"decision": "x", "booking": str(booking.id)}, {"booking": str(booking.id)}):
        assert (await member.post(f"{LIST}/missing", data=sent)).status_code == 400
    foreign = await member.post(f"{LIST}/missing", data={"decision": "cancel", "booking": NOBODY})

    assert foreign.status_code == 400
    assert await runtime.pool.fetchval("select status from bookings") == "CONFIRMED"
    answer = await member.post(f"{LIST}/missing", data={"decision": "cancel", "booking": str(booking.id)})
    assert answer.headers["location"] == f"{LIST}?done=cancelled"
    assert await runtime.pool.fetchval("select status from bookings") == "CANCELLED"
    assert (await member.get(f"{LIST}/missing")).status_code == 303


def read_feed(page: str) -> str:
    """Find the path of the secret link that a page shows."""
    found = re.search(r"http://127\.0\.0\.1:8000(/feed/[^<]+\.ics)", page)
    assert found is not None
    return found[1]
