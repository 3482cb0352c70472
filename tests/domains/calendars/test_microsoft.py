"""Microsoft 365, over a Microsoft of our own: what closes times, how it is read, and what it refuses."""

import asyncio
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.errors import NO_MAILBOX, CalendarForbidden, CalendarUnreadable, OtherAccount
from openslot.domains.calendars.models import CalendarConnection, ConnectionRef
from openslot.domains.calendars.sync import sync_connection
from openslot.domains.oauth.models import AdminConsentNeeded, ConsentDeclined, OneToken
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.outbound import Outbound
from openslot.platform.core.work import Runtime
from openslot.vendors.microsoft.calendars import MicrosoftCalendars
from openslot.vendors.microsoft.client import PREFER, MicrosoftClient
from openslot.vendors.microsoft.events import GraphTime, read_time
from tests.contracts.calendar_servers import SCOPE
from tests.domains.calendars.conftest import HOUR, NINE, events, get, open_starts
from tests.support.clocks import MovingClock
from tests.support.fake_microsoft import GONE, INVALID, NOT_FOUND, FakeMicrosoft, Fault, FaultKind, Mailbox
from tests.support.fake_microsoft.delta import Resync
from tests.support.google_host import LOOPBACK
from tests.support.microsoft_host import EMAIL, allow, mailbox, microsoft, settings

pytestmark = pytest.mark.rest("speaks with one vendor; the contracts of all run in make test")

__all__ = ["mailbox", "microsoft", "settings"]

TEN, DAY = NINE + HOUR, timedelta(days=1)


def at(start: datetime, end: datetime) -> dict[str, Any]:
    times = (("start", start), ("end", end))
    return {name: {"dateTime": f"{moment:%Y-%m-%dT%H:%M:%S}", "timeZone": "UTC"} for name, moment in times}


def days(first: str, last: str) -> dict[str, Any]:
    return {**at(datetime.fromisoformat(first), datetime.fromisoformat(last)), "isAllDay": True}


def daily(times: int) -> dict[str, Any]:
    ends = {"type": "numbered", "startDate": f"{TEN:%Y-%m-%d}", "numberOfOccurrences": times}
    return {**at(TEN, TEN + HOUR), "recurrence": {"pattern": {"type": "daily"}, "range": ends}}


@pytest.fixture
async def connection(runtime: Runtime, user: User, microsoft: FakeMicrosoft) -> CalendarConnection:
    """Connect the host's mailbox, and read it."""
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, microsoft))
    assert await sync_connection(runtime, made.id) is None
    return made


async def sync(runtime: Runtime, connection: CalendarConnection) -> str | None:
    return await sync_connection(runtime, connection.id)


def remove(mailbox: Mailbox, name: str) -> None:
    items = mailbox.calendars[mailbox.default].items
    mailbox.delete(mailbox.default, next(each for each in items if each.fields["subject"] == name))


async def test_an_account_is_named_by_its_address_and_its_default_calendar_receives_bookings(
    runtime: Runtime, user: User, microsoft: FakeMicrosoft, mailbox: Mailbox
) -> None:
    mailbox.add_calendar("Family")
    mailbox.add_calendar("Holidays", can_edit=False)

    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, microsoft))

    assert (made.kind, made.label, made.addresses) == ("microsoft", EMAIL, (EMAIL,))
    assert {each.name: (each.can_write, each.receives) for each in made.calendars} == {
        "Calendar": (True, True),
        "Family": (True, False),
        "Holidays": (False, False),
    }


@pytest.mark.parametrize(
    ("fields", "is_busy"),
    [
        (at(TEN, TEN + HOUR), True),
        ({**at(TEN, TEN + HOUR), "showAs": "free"}, False),
        ({**at(TEN, TEN + HOUR), "showAs": "workingElsewhere"}, False),
        ({**at(TEN, TEN + HOUR), "showAs": "tentative"}, True),
        ({**at(TEN, TEN + HOUR), "showAs": "oof"}, True),
        ({**at(TEN, TEN + HOUR), "showAs": "unknown"}, True),
        (days("2026-03-16", "2026-03-17"), True),
        (days("2026-03-15", "2026-03-16"), False),
        ({**days("2026-03-16", "2026-03-17"), "showAs": "free"}, False),
        (at(TEN - 30 * DAY, TEN + DAY), True),
        (at(TEN, TEN), False),
        (daily(2), True),
        ({**daily(2), "showAs": "free"}, False),
        ({**days("2026-03-16", "2026-03-17"), "recurrence": daily(2)["recurrence"]}, True),
    ],
)
async def test_what_closes_ten_o_clock(
    runtime: Runtime,
    user: User,
    mailbox: Mailbox,
    connection: CalendarConnection,
    fields: dict[str, Any],
    *,
    is_busy: bool,
) -> None:
    mailbox.edit(mailbox.default, "event", **fields)

    assert await sync(runtime, connection) is None

    assert ("10:00" not in await open_starts(runtime, user)) is is_busy


@pytest.mark.parametrize("fields", [{"responseStatus": {"response": "declined"}}, {"isCancelled": True}])
async def test_what_is_declined_or_cancelled_keeps_nobody_busy(
    runtime: Runtime, user: User, mailbox: Mailbox, connection: CalendarConnection, fields: dict[str, Any]
) -> None:
    mailbox.edit(mailbox.default, "event", **at(TEN, TEN + HOUR))
    mailbox.answer_as(mailbox.default, "event", **fields)

    await sync(runtime, connection)

    assert "10:00" in await open_starts(runtime, user)


async def test_a_repetition_that_is_changed_or_deleted_counts_by_itself(
    runtime: Runtime, user: User, mailbox: Mailbox, connection: CalendarConnection
) -> None:
    mailbox.edit(mailbox.default, "series", **daily(3))
    mailbox.edit_series(mailbox.default, "series", "20260317", showAs="free")
    mailbox.edit_series(mailbox.default, "series", "20260318")

    await sync(runtime, connection)

    found = ["10:00" in await open_starts(runtime, user, f"2026-03-{day}") for day in (16, 17, 18)]
    assert found == [False, True, True]


@pytest.mark.parametrize(
    ("written", "zone", "read"),
    [
        ("2026-03-16T09:00:00.0000000", "UTC", "2026-03-16T09:00:00+00:00"),
        ("2026-07-16T09:00:00.1234567", "W. Europe Standard Time", "2026-07-16T07:00:00.123456+00:00"),
        ("2026-03-16T09:00:00", "America/New_York", "2026-03-16T13:00:00+00:00"),
        ("2026-03-16T09:00:00+01:00", "UTC", "2026-03-16T08:00:00+00:00"),
        ("2026-03-16T09:00:00.0000000", None, "2026-03-16T00:00:00+00:00"),
        ("2026-03-16T09:00:00", "Customized Time Zone", None),
        ("soon", "UTC", None),
        ("0001-01-01T00:00:00", "Tokyo Standard Time", None),
    ],
)
def test_times_have_a_zone_beside_them_and_seven_digits(written: str, zone: str | None, read: str | None) -> None:
    found = read_time(GraphTime(written, zone), ZoneInfo("Asia/Tokyo"))

    assert found == (datetime.fromisoformat(read) if read else None)


async def test_every_request_asks_for_ids_that_stay_and_for_one_zone(
    runtime: Runtime, microsoft: FakeMicrosoft, mailbox: Mailbox, connection: CalendarConnection
) -> None:
    mailbox.edit(mailbox.default, "series", **daily(3))
    await sync(runtime, connection)

    asked = [each for each in microsoft.asked if each.path.startswith("/v1.0/")]
    assert len(asked) >= 4
    assert {each.headers["prefer"] for each in asked} == {PREFER}
    assert ('IdType="ImmutableId"' in PREFER, 'outlook.timezone="UTC"' in PREFER) == (True, True)


async def test_a_deleted_event_frees_its_time(
    runtime: Runtime, user: User, mailbox: Mailbox, connection: CalendarConnection
) -> None:
    mailbox.edit(mailbox.default, "event", **at(TEN, TEN + HOUR))
    await sync(runtime, connection)
    assert "10:00" not in await open_starts(runtime, user)
    remove(mailbox, "event")

    await sync(runtime, connection)

    assert "10:00" in await open_starts(runtime, user)


@pytest.mark.parametrize("resync", [GONE, NOT_FOUND, INVALID])
async def test_a_lost_cursor_makes_the_calendar_be_read_anew(
    runtime: Runtime,
    user: User,
    microsoft: FakeMicrosoft,
    mailbox: Mailbox,
    connection: CalendarConnection,
    resync: Resync,
) -> None:
    mailbox.edit(mailbox.default, "gone", **at(TEN, TEN + HOUR))
    mailbox.edit(mailbox.default, "stays", **at(TEN + 2 * HOUR, TEN + 3 * HOUR))
    await sync(runtime, connection)
    remove(mailbox, "gone")
    mailbox.edit(mailbox.default, "new", **at(TEN + 4 * HOUR, TEN + 5 * HOUR))
    microsoft.deltas[EMAIL].forget_tokens(resync)
    microsoft.asked.clear()

    assert await sync(runtime, connection) is None

    assert ["$deltatoken" in each.path for each in microsoft.asked if "/delta" in each.path] == [True, False]
    starts = await open_starts(runtime, user)
    assert ("10:00" in starts, "12:00" in starts, "14:00" in starts) == (True, False, False)
    if resync is INVALID:
        microsoft.refused.clear()


async def test_the_window_moves_with_the_days(
    runtime: Runtime, clock: MovingClock, mailbox: Mailbox, connection: CalendarConnection
) -> None:
    endless = {"type": "noEnd", "startDate": f"{TEN:%Y-%m-%d}"}
    series = {**at(TEN, TEN + HOUR), "recurrence": {"pattern": {"type": "daily"}, "range": endless}}
    mailbox.edit(mailbox.default, "series", **series)
    await sync(runtime, connection)
    last = "select max(upper(during)) from busy_spans"
    first_end = await runtime.pool.fetchval(last)
    for _ in range(3):
        clock.pass_time(hours=23)
        assert await sync(runtime, connection) is None

    assert await runtime.pool.fetchval(last) == first_end + 2 * DAY
    assert await runtime.pool.fetchval("select min(upper(during)) from busy_spans") > clock.now - 2 * DAY


async def test_a_link_that_leads_elsewhere_is_not_followed(mailbox: Mailbox, microsoft: FakeMicrosoft) -> None:
    token = microsoft.login.allow(EMAIL, "User.Read", "Calendars.ReadWrite")
    server = MicrosoftCalendars(Outbound(allow=LOOPBACK), f"{microsoft.url}/v1.0", OneToken(token))
    body = b'{"value": [], "@odata.nextLink": "http://127.0.0.1:9/v1.0/me/calendars"}'
    microsoft.faults.append(Fault(FaultKind.RAW, "/v1.0/me/calendars", status=200, body=body))

    with pytest.raises(CalendarUnreadable):
        await server.list_changes(mailbox.default, cursor=None, known={}, scope=SCOPE)
    await server.close()


@pytest.mark.parametrize(
    ("status", "code", "retry_after", "is_final"),
    [
        (429, "ApplicationThrottled", 300, False),
        (503, "serviceNotAvailable", None, False),
        (504, "gatewayTimeout", 60, False),
        (500, "generalException", None, False),
        (403, "ErrorAccessDenied", None, True),
    ],
)
async def test_a_server_that_is_busy_is_told_from_one_that_forbids(
    runtime: Runtime,
    microsoft: FakeMicrosoft,
    connection: CalendarConnection,
    status: int,
    code: str,
    retry_after: int | None,
    *,
    is_final: bool,
) -> None:
    microsoft.refuse_next(status, code, path="me/calendars", retry_after=retry_after)

    assert await sync(runtime, connection) is not None

    assert len(await events(runtime, "calendar.broken")) == int(is_final)
    assert (await get(runtime, connection)).synced_at is not None


@pytest.mark.rest("waits for seconds")
@pytest.mark.parametrize("status", [429, 503, 504])
async def test_a_short_wait_is_waited_for(
    runtime: Runtime, microsoft: FakeMicrosoft, connection: CalendarConnection, status: int
) -> None:
    microsoft.refuse_next(status, "ApplicationThrottled", path="me/calendars", retry_after=1)
    begun = asyncio.get_running_loop().time()

    assert await sync(runtime, connection) is None
    assert asyncio.get_running_loop().time() - begun >= 1


async def test_four_requests_at_a_time_go_to_one_mailbox(
    microsoft: FakeMicrosoft, mailbox: Mailbox, connection: CalendarConnection
) -> None:
    token = OneToken(microsoft.login.allow(EMAIL, "User.Read", "Calendars.ReadWrite"))
    outbound, url = Outbound(allow=LOOPBACK), f"{microsoft.url}/v1.0"
    clients = [MicrosoftClient(outbound, url, token, mailbox=connection.id) for _ in range(3)]
    microsoft.answers_take = 0.05
    await asyncio.gather(*(each.get("me", dict) for each in clients for _ in range(8)))

    assert mailbox.most_at_once == 4
    for each in clients:
        await each.close()


async def test_an_account_without_a_mailbox_is_said_plainly(
    runtime: Runtime, user: User, microsoft: FakeMicrosoft
) -> None:
    consent = await allow(runtime, user, microsoft)
    microsoft.refuse_next(404, "MailboxNotEnabledForRESTAPI", path="me/calendars")

    with pytest.raises(CalendarForbidden, match=str(NO_MAILBOX)):
        await calendars.connect_calendar(runtime.work(OPERATOR), user, consent)


async def test_refresh_tokens_rotate_and_are_kept(
    runtime: Runtime, clock: MovingClock, microsoft: FakeMicrosoft, connection: CalendarConnection
) -> None:
    for times in range(1, 4):
        clock.pass_time(days=60)
        assert await sync(runtime, connection) is None
        assert microsoft.login.refreshes == times


async def test_a_revoked_consent_is_mailed_once_and_closes_by_the_policy(
    runtime: Runtime, clock: MovingClock, user: User, microsoft: FakeMicrosoft, connection: CalendarConnection
) -> None:
    microsoft.login.revoke(EMAIL)
    for _ in range(3):
        assert "revoked or has expired" in (await sync(runtime, connection) or "")
        clock.pass_time(minutes=10)
    assert (len(await events(runtime, "calendar.broken")), microsoft.login.refreshes) == (1, 1)
    assert "10:00" in await open_starts(runtime, user, "2026-03-18")
    clock.pass_time(hours=24)

    assert await open_starts(runtime, user, "2026-03-18") == []


async def test_a_consent_that_is_given_again_continues_the_connection(
    runtime: Runtime, user: User, microsoft: FakeMicrosoft, mailbox: Mailbox, connection: CalendarConnection
) -> None:
    microsoft.login.revoke(EMAIL)
    await sync(runtime, connection)
    mailbox.edit(mailbox.default, "event", **at(TEN, TEN + HOUR))
    work, ref = runtime.work(OPERATOR), ConnectionRef(connection.id, user.id)
    microsoft.add_mailbox("other@lindqvist.example")
    other = await allow(runtime, user, microsoft, email="other@lindqvist.example", renews=connection.id)
    with pytest.raises(OtherAccount):
        await calendars.renew_calendar_consent(work, ref, other)

    await calendars.renew_calendar_consent(work, ref, await allow(runtime, user, microsoft, renews=connection.id))

    assert await sync(runtime, connection) is None
    assert "10:00" not in await open_starts(runtime, user)
    assert len(await events(runtime, "calendar.recovered")) == 1


@pytest.mark.parametrize("code", [65001, 90094])
async def test_what_only_an_administrator_can_allow_is_told_from_a_refusal(
    runtime: Runtime, user: User, microsoft: FakeMicrosoft, code: int
) -> None:
    with pytest.raises(ConsentDeclined):
        await allow(runtime, user, microsoft, declines=True)
    microsoft.login.people[EMAIL] = replace(microsoft.login.people[EMAIL], admin_needed=code)

    with pytest.raises(AdminConsentNeeded):
        await allow(runtime, user, microsoft)
