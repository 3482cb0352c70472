"""Google Calendar, over a Google of our own: what closes times, what is written, and what the host changes there."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.bookings.models import Booking, Status
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.errors import OtherAccount
from openslot.domains.calendars.host_changes import Decision, decide_missing_events
from openslot.domains.calendars.models import CalendarConnection, ConnectionRef
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import HOUR, NINE, Book, events, get, open_starts, read, work_off
from tests.domains.calendars.support import cancel, move
from tests.support.clocks import MovingClock
from tests.support.fake_google import FakeGoogle, Fault, FaultKind, GoogleAccount
from tests.support.google_host import EMAIL, allow, google, settings

pytestmark = pytest.mark.rest("speaks with one vendor; the contracts of all run in make test")

__all__ = ["google", "settings"]

TEN, DAY = NINE + HOUR, timedelta(days=1)


def at(start: datetime, end: datetime) -> dict[str, Any]:
    return {"start": {"dateTime": start.isoformat()}, "end": {"dateTime": end.isoformat()}}


def days(first: str, last: str) -> dict[str, Any]:
    return {"start": {"date": first}, "end": {"date": last}}


@pytest.fixture
def account(google: FakeGoogle) -> GoogleAccount:
    """The host's account."""
    return google.accounts[EMAIL]


@pytest.fixture
async def connection(runtime: Runtime, user: User, google: FakeGoogle) -> CalendarConnection:
    """Connect the host's account, and read it."""
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, google))
    assert await sync_connection(runtime, made.id) is None
    return made


async def sync(runtime: Runtime, connection: CalendarConnection) -> str | None:
    return await sync_connection(runtime, connection.id)


async def written(runtime: Runtime, clock: MovingClock, account: GoogleAccount, booking: Booking) -> dict[str, Any]:
    """Let a booking be written, and read it at Google."""
    await work_off(runtime, clock)
    return account.calendars[EMAIL].events[booking.id.hex]


async def test_an_account_is_named_by_its_address_and_its_own_calendar_receives_bookings(
    runtime: Runtime, user: User, google: FakeGoogle, account: GoogleAccount
) -> None:
    account.add_calendar("Family")
    account.add_calendar("Holidays", role="reader")

    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, google))

    assert (made.kind, made.label, made.addresses) == ("google", EMAIL, (EMAIL,))
    assert {each.name: (each.can_write, each.receives) for each in made.calendars} == {
        EMAIL: (True, True),
        "Family": (True, False),
        "Holidays": (False, False),
    }


@pytest.mark.parametrize(
    ("fields", "is_busy"),
    [
        (at(TEN, TEN + HOUR), True),
        ({**at(TEN, TEN + HOUR), "transparency": "transparent"}, False),
        ({**at(TEN, TEN + HOUR), "status": "tentative"}, True),
        ({**at(TEN, TEN + HOUR), "eventType": "outOfOffice"}, True),
        ({**at(TEN, TEN + HOUR), "eventType": "focusTime"}, True),
        ({**at(TEN, TEN + HOUR), "eventType": "workingLocation"}, False),
        ({**days("2026-03-16", "2026-03-17"), "eventType": "workingLocation"}, False),
        ({**days("2026-03-16", "2026-03-17"), "eventType": "birthday"}, False),
        (days("2026-03-16", "2026-03-17"), True),
        (days("2026-03-15", "2026-03-16"), False),
        ({**at(TEN, TEN + HOUR), "attendees": [{"self": True, "responseStatus": "declined"}]}, False),
        ({**at(TEN, TEN + HOUR), "attendees": [{"self": True, "responseStatus": "accepted"}]}, True),
        (at(TEN - 30 * DAY, TEN + DAY), True),
        (at(TEN, TEN), False),
    ],
)
async def test_what_closes_ten_o_clock(
    runtime: Runtime,
    user: User,
    account: GoogleAccount,
    connection: CalendarConnection,
    fields: dict[str, Any],
    *,
    is_busy: bool,
) -> None:
    account.edit(EMAIL, "event", **fields)

    assert await sync(runtime, connection) is None

    assert ("10:00" not in await open_starts(runtime, user)) is is_busy


async def test_titles_and_guests_are_not_asked_for(
    runtime: Runtime, google: FakeGoogle, account: GoogleAccount, connection: CalendarConnection
) -> None:
    account.edit(EMAIL, "event", **at(TEN, TEN + HOUR), summary="Secret", description="Secret")
    await sync(runtime, connection)

    lists = [each for each in google.asked if "/events?" in each.path]
    assert len(lists) >= 2
    assert [each for each in lists if "fields=" not in each.path or "summary" in each.path] == []


async def test_a_deleted_event_without_times_frees_its_time(
    runtime: Runtime, user: User, account: GoogleAccount, connection: CalendarConnection
) -> None:
    account.edit(EMAIL, "event", **at(TEN, TEN + HOUR))
    await sync(runtime, connection)
    assert "10:00" not in await open_starts(runtime, user)
    account.remove(EMAIL, "event")

    await sync(runtime, connection)

    assert "10:00" in await open_starts(runtime, user)


async def test_an_expired_token_makes_the_calendar_be_read_anew(
    runtime: Runtime, user: User, google: FakeGoogle, account: GoogleAccount, connection: CalendarConnection
) -> None:
    account.edit(EMAIL, "gone", **at(TEN, TEN + HOUR))
    account.edit(EMAIL, "stays", **at(TEN + 2 * HOUR, TEN + 3 * HOUR))
    await sync(runtime, connection)
    account.remove(EMAIL, "gone")
    account.edit(EMAIL, "new", **at(TEN + 4 * HOUR, TEN + 5 * HOUR))
    account.forget_tokens()
    google.asked.clear()

    assert await sync(runtime, connection) is None

    assert ["syncToken" in each.path for each in google.asked] == [True, False]
    starts = await open_starts(runtime, user)
    assert ("10:00" in starts, "12:00" in starts, "14:00" in starts) == (True, False, False)


async def test_the_window_moves_with_the_days(
    runtime: Runtime, clock: MovingClock, google: FakeGoogle, account: GoogleAccount, connection: CalendarConnection
) -> None:
    account.edit(EMAIL, "series", **at(TEN, TEN + HOUR), recurrence=["RRULE:FREQ=DAILY"])
    await sync(runtime, connection)
    last = "select max(upper(during)) from busy_spans"
    first_end = await runtime.pool.fetchval(last)
    for _ in range(3):
        clock.pass_time(hours=23)
        google.asked.clear()
        assert await sync(runtime, connection) is None

    assert await runtime.pool.fetchval(last) == first_end + 2 * DAY
    assert await runtime.pool.fetchval("select min(upper(during)) from busy_spans") > clock.now - 2 * DAY


@pytest.mark.parametrize(
    ("status", "reason", "is_final"),
    [
        (403, "rateLimitExceeded", False),
        (403, "userRateLimitExceeded", False),
        (403, "quotaExceeded", False),
        (403, "calendarUsageLimitsExceeded", False),
        (429, "rateLimitExceeded", False),
        (500, "backendError", False),
        (503, "backendError", False),
        (403, "insufficientPermissions", True),
        (403, "forbidden", True),
    ],
)
async def test_a_server_that_is_busy_is_told_from_one_that_forbids(
    runtime: Runtime, google: FakeGoogle, connection: CalendarConnection, status: int, reason: str, *, is_final: bool
) -> None:
    google.refuse_next(status, reason, path="calendars")

    assert await sync(runtime, connection) is not None

    assert len(await events(runtime, "calendar.broken")) == int(is_final)
    assert (await get(runtime, connection)).synced_at is not None


async def test_an_ended_token_is_renewed_in_the_middle_of_a_reading(
    runtime: Runtime, google: FakeGoogle, connection: CalendarConnection
) -> None:
    google.consents.end_access_tokens()

    assert await sync(runtime, connection) is None
    assert google.consents.refreshes == 1


async def test_a_revoked_consent_is_mailed_once_and_closes_by_the_policy(
    runtime: Runtime, clock: MovingClock, user: User, google: FakeGoogle, connection: CalendarConnection
) -> None:
    google.consents.revoke(EMAIL)
    for _ in range(3):
        assert "revoked or has expired" in (await sync(runtime, connection) or "")
        clock.pass_time(minutes=10)
    assert (len(await events(runtime, "calendar.broken")), google.consents.refreshes) == (1, 1)
    assert "10:00" in await open_starts(runtime, user, "2026-03-18")
    clock.pass_time(hours=24)

    assert await open_starts(runtime, user, "2026-03-18") == []


async def test_a_consent_that_is_given_again_continues_the_connection(
    runtime: Runtime, user: User, google: FakeGoogle, account: GoogleAccount, connection: CalendarConnection
) -> None:
    google.consents.revoke(EMAIL)
    await sync(runtime, connection)
    account.edit(EMAIL, "event", **at(TEN, TEN + HOUR))
    consent = await allow(runtime, user, google, renews=connection.id)

    await calendars.renew_calendar_consent(runtime.work(OPERATOR), ConnectionRef(connection.id, user.id), consent)

    assert await sync(runtime, connection) is None
    assert "10:00" not in await open_starts(runtime, user)
    assert len(await events(runtime, "calendar.recovered")) == 1


async def test_a_consent_of_another_account_does_not_continue_it(
    runtime: Runtime, user: User, google: FakeGoogle, connection: CalendarConnection
) -> None:
    google.add_account("other@lindqvist.example")
    consent = await allow(runtime, user, google, email="other@lindqvist.example", renews=connection.id)

    with pytest.raises(OtherAccount):
        await calendars.renew_calendar_consent(runtime.work(OPERATOR), ConnectionRef(connection.id, user.id), consent)


async def test_a_connection_takes_its_tokens_with_it(
    runtime: Runtime, user: User, connection: CalendarConnection
) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await calendars.disconnect(work, ConnectionRef(connection.id, user.id))

    assert await runtime.pool.fetchval("select count(*) from oauth_grants") == 0


@pytest.mark.usefixtures("connection")
async def test_a_booking_is_written_without_guests_and_without_a_manage_link(
    runtime: Runtime, clock: MovingClock, google: FakeGoogle, account: GoogleAccount, book: Book
) -> None:
    booking = await book(TEN)

    shown = await written(runtime, clock, account, booking)

    assert datetime.fromisoformat(shown["start"]["dateTime"]) == TEN
    assert "attendees" not in shown
    assert f"/bookings/{booking.id}" in shown["source"]["url"]
    assert "/manage/" not in str(shown)
    posts = [each for each in google.asked if each.method == "POST" and "/events" in each.path]
    assert ["sendUpdates=none" in each.path for each in posts] == [True]


@pytest.mark.usefixtures("connection")
async def test_a_lost_answer_makes_no_second_event(
    runtime: Runtime, clock: MovingClock, google: FakeGoogle, account: GoogleAccount, book: Book
) -> None:
    google.faults.append(Fault(FaultKind.LOSE_ANSWER, "/calendar/v3/calendars", "POST"))
    booking = await book(TEN)
    await work_off(runtime, clock)
    clock.pass_time(minutes=1)

    await written(runtime, clock, account, booking)

    assert list(account.calendars[EMAIL].events) == [booking.id.hex]
    assert await runtime.pool.fetchval("select count(*) from calendar_events") == 1


@pytest.mark.usefixtures("connection")
async def test_a_booking_that_moves_or_is_cancelled_here_does_so_there(
    runtime: Runtime, clock: MovingClock, account: GoogleAccount, book: Book
) -> None:
    booking = await book(TEN)
    await written(runtime, clock, account, booking)
    await move(runtime, booking, 1)
    shown = await written(runtime, clock, account, booking)
    assert datetime.fromisoformat(shown["start"]["dateTime"]) == TEN + HOUR

    await cancel(runtime, booking)

    assert (await written(runtime, clock, account, booking))["status"] == "cancelled"


async def test_our_own_writes_come_back_and_change_nothing(
    runtime: Runtime, clock: MovingClock, account: GoogleAccount, connection: CalendarConnection, book: Book
) -> None:
    booking = await book(TEN)
    before = (await written(runtime, clock, account, booking))["etag"]
    for _ in range(3):
        await sync(runtime, connection)
        await work_off(runtime, clock)

    assert await runtime.pool.fetchval("select count(*) from events where type = 'booking.rescheduled'") == 0
    assert account.calendars[EMAIL].events[booking.id.hex]["etag"] == before


async def test_a_move_there_reschedules_here(
    runtime: Runtime, clock: MovingClock, account: GoogleAccount, connection: CalendarConnection, book: Book
) -> None:
    booking = await book(TEN)
    await written(runtime, clock, account, booking)
    await sync(runtime, connection)
    account.edit(EMAIL, booking.id.hex, **at(TEN + 3 * HOUR, TEN + 3.5 * HOUR))

    await sync(runtime, connection)

    assert (await read(runtime, booking)).starts_at == TEN + 3 * HOUR
    await work_off(runtime, clock)
    assert await sync(runtime, connection) is None
    assert (await read(runtime, booking)).starts_at == TEN + 3 * HOUR


async def test_a_deletion_there_cancels_here(
    runtime: Runtime, clock: MovingClock, account: GoogleAccount, connection: CalendarConnection, book: Book
) -> None:
    booking = await book(TEN)
    await written(runtime, clock, account, booking)
    await sync(runtime, connection)
    account.remove(EMAIL, booking.id.hex)

    await sync(runtime, connection)

    assert (await read(runtime, booking)).status is Status.CANCELLED


async def test_several_that_disappear_are_asked_about_and_restored_under_their_ids(
    runtime: Runtime, clock: MovingClock, user: User, account: GoogleAccount, connection: CalendarConnection, book: Book
) -> None:
    made = [await book(TEN + hour * HOUR) for hour in range(2)]
    await work_off(runtime, clock)
    await sync(runtime, connection)
    for booking in made:
        account.remove(EMAIL, booking.id.hex)

    await sync(runtime, connection)

    assert [(await read(runtime, booking)).status for booking in made] == [Status.CONFIRMED] * 2
    assert len(await events(runtime, "calendar.events_missing")) == 1
    async with runtime.transaction(OPERATOR) as work:
        await decide_missing_events(work, user, Decision.RESTORE)
    await work_off(runtime, clock)
    shown = [account.calendars[EMAIL].events[booking.id.hex]["status"] for booking in made]
    assert shown == ["confirmed", "confirmed"]


async def test_an_event_that_leaves_the_window_or_begins_to_repeat_is_not_a_deletion(
    runtime: Runtime, clock: MovingClock, account: GoogleAccount, connection: CalendarConnection, book: Book
) -> None:
    made = [await book(TEN), await book(TEN + 2 * HOUR)]
    await work_off(runtime, clock)
    await sync(runtime, connection)
    account.edit(EMAIL, made[0].id.hex, **at(TEN - 30 * DAY, TEN - 30 * DAY + HOUR))
    account.edit(EMAIL, made[1].id.hex, recurrence=["RRULE:FREQ=WEEKLY;COUNT=3"])

    await sync(runtime, connection)

    assert [(await read(runtime, booking)).status for booking in made] == [Status.CONFIRMED] * 2
    assert await events(runtime, "calendar.events_missing") == []
    assert len(await events(runtime, "calendar.change_refused")) == 1


async def test_bookings_that_are_over_leave_the_calendar_quietly(
    runtime: Runtime, clock: MovingClock, google: FakeGoogle, connection: CalendarConnection, book: Book
) -> None:
    booking = await book(TEN)
    await work_off(runtime, clock)
    await sync(runtime, connection)
    for _ in range(4):
        clock.pass_time(days=1)
        google.asked.clear()
        assert await sync(runtime, connection) is None

    assert (await read(runtime, booking)).status is Status.CONFIRMED
    assert [each.path for each in google.asked if booking.id.hex in each.path] == []
