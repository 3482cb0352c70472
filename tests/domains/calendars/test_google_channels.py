"""Push channels: Google says that something has changed, and it is read at once; nobody else can cause a reading."""

from datetime import datetime, timedelta
from uuid import UUID, uuid4

import httpx2
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import User
from openslot.domains.calendars import channels, rules, store
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars.models import CalendarConnection, ConnectionRef, Lease
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR, SYSTEM
from openslot.platform.core.config import Settings
from openslot.platform.core.ids import new_id
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import HOUR, NINE, change, get, open_starts, work_off
from tests.support.clocks import MovingClock
from tests.support.fake_google import FakeGoogle, GoogleAccount
from tests.support.google_host import EMAIL, allow, google
from tests.support.google_host import settings as google_settings

pytestmark = pytest.mark.rest("speaks with one vendor; the contracts of all run in make test")

__all__ = ["google", "google_settings"]

PUBLIC = "https://book.lindqvist.example"
TEN = NINE + HOUR


@pytest.fixture
def settings(google_settings: Settings) -> Settings:
    """A service that Google can reach."""
    return replace(google_settings, base_url=PUBLIC)


@pytest.fixture
def account(google: FakeGoogle) -> GoogleAccount:
    return google.accounts[EMAIL]


@pytest.fixture
async def connection(runtime: Runtime, user: User, google: FakeGoogle) -> CalendarConnection:
    """Connect the host's account, and read it."""
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, google))
    assert await sync_connection(runtime, made.id) is None
    return made


async def send(client: httpx2.AsyncClient, account: GoogleAccount, **headers: str) -> list[int]:
    """Send a notice on each channel, with other headers if a test says so; return the answers' statuses."""
    found = account.list_notices()
    return [(await client.post(path, headers={**given, **headers})).status_code for path, given in found]


async def due_at(runtime: Runtime, connection: CalendarConnection) -> datetime:
    return (await get(runtime, connection)).next_sync_at


async def count_channels(runtime: Runtime) -> int:
    found: int = await runtime.pool.fetchval("select count(*) from calendar_channels")
    return found


async def test_each_calendar_that_is_read_has_one_channel_with_a_token_of_its_own(
    runtime: Runtime, user: User, google: FakeGoogle, account: GoogleAccount
) -> None:
    account.add_calendar("Family")
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, google))
    for _ in range(3):
        assert await sync_connection(runtime, made.id) is None

    found = list(account.channels.values())
    assert len(found) == await count_channels(runtime) == 2
    assert [each["address"] for each in found] == [f"{PUBLIC}/api/notices/google/{each['id']}" for each in found]
    assert len({each["token"] for each in found}) == 2
    stored = str(await runtime.pool.fetch("select c::text from calendar_channels c"))
    assert not any(each["token"] in stored for each in found)


@pytest.mark.parametrize("base_url", [None, "http://book.lindqvist.example"])
async def test_without_a_public_https_address_no_channel_is_made(
    runtime: Runtime, user: User, google: FakeGoogle, account: GoogleAccount, base_url: str | None
) -> None:
    runtime.settings = replace(runtime.settings, base_url=base_url)
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, google))

    assert await sync_connection(runtime, made.id) is None

    assert account.channels == {}
    assert await count_channels(runtime) == 0


async def test_a_change_is_read_as_soon_as_it_is_told_of(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    client: httpx2.AsyncClient,
    account: GoogleAccount,
    connection: CalendarConnection,
) -> None:
    await work_off(runtime, clock)
    times = {"start": {"dateTime": TEN.isoformat()}, "end": {"dateTime": (TEN + HOUR).isoformat()}}
    account.edit(EMAIL, "event", **times)
    clock.pass_time(seconds=30)
    await work_off(runtime, clock)
    assert "10:00" in await open_starts(runtime, user)

    assert await send(client, account) == [200]

    assert await due_at(runtime, connection) == clock.now
    await work_off(runtime, clock)
    assert "10:00" not in await open_starts(runtime, user)
    assert await due_at(runtime, connection) > clock.now + timedelta(minutes=4)


async def test_many_notices_cause_few_readings(
    runtime: Runtime,
    clock: MovingClock,
    client: httpx2.AsyncClient,
    google: FakeGoogle,
    account: GoogleAccount,
    connection: CalendarConnection,
) -> None:
    await work_off(runtime, clock)
    google.asked.clear()
    for _ in range(20):
        assert await send(client, account) == [200]
        await work_off(runtime, clock)
        clock.pass_time(seconds=1)

    lists = [each for each in google.asked if "/events?" in each.path]
    assert 1 <= len(lists) <= 3


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Goog-Channel-Token": "forged"}, 403),
        ({"X-Goog-Channel-Token": ""}, 403),
        ({"X-Goog-Channel-Token": "x" * 5000}, 403),
        ({"X-Goog-Channel-ID": str(uuid4())}, 403),
        ({"X-Goog-Resource-ID": "another"}, 403),
        ({"X-Goog-Message-Number": "many"}, 403),
        ({"X-Goog-Message-Number": "9" * 40}, 403),
        ({"X-Goog-Message-Number": "0"}, 200),
        ({"X-Goog-Resource-State": "sync"}, 200),
    ],
)
async def test_a_notice_that_is_forged_or_says_nothing_makes_nothing_due(
    runtime: Runtime,
    clock: MovingClock,
    client: httpx2.AsyncClient,
    account: GoogleAccount,
    connection: CalendarConnection,
    headers: dict[str, str],
    status: int,
) -> None:
    before = await due_at(runtime, connection)
    clock.pass_time(seconds=30)

    assert await send(client, account, **headers) == [status]

    assert await due_at(runtime, connection) == before


async def test_a_notice_that_is_replayed_or_of_another_channel_makes_nothing_due(
    runtime: Runtime,
    user: User,
    clock: MovingClock,
    client: httpx2.AsyncClient,
    google: FakeGoogle,
    account: GoogleAccount,
    connection: CalendarConnection,
) -> None:
    ((path, headers),) = account.list_notices()
    clock.pass_time(seconds=30)
    assert (await client.post(path, headers=headers)).status_code == 200
    await work_off(runtime, clock)
    before = await due_at(runtime, connection)
    clock.pass_time(seconds=30)

    assert (await client.post(path, headers=headers)).status_code == 200
    assert await due_at(runtime, connection) == before

    other = google.add_account("other@lindqvist.example")
    made = await calendars.connect_calendar(
        runtime.work(OPERATOR), user, await allow(runtime, user, google, email=other.email)
    )
    assert await sync_connection(runtime, made.id) is None
    ((_, theirs),) = other.list_notices()
    assert (await client.post(path, headers=theirs)).status_code == 403
    assert (await client.post(f"/api/notices/google/{uuid4()}", headers=theirs)).status_code == 403
    assert await due_at(runtime, connection) == before


async def take_lease(runtime: Runtime, connection: CalendarConnection, lease_id: UUID) -> Lease:
    async with runtime.transaction(SYSTEM) as work:
        until = work.now + rules.LEASE
        lease = await store.find_lease(work.db, connection.id, lease_id, now=work.now, until=until)
    assert lease is not None
    return lease


async def test_a_notice_during_a_reading_lets_it_end_and_has_another_one_follow(
    runtime: Runtime,
    clock: MovingClock,
    client: httpx2.AsyncClient,
    account: GoogleAccount,
    connection: CalendarConnection,
) -> None:
    await work_off(runtime, clock)
    lease = await take_lease(runtime, connection, new_id())
    clock.pass_time(seconds=20)

    assert await send(client, account) == [200]

    # A second reading would find the first one at work, again and again.
    planned = "select min(next_try_at) from effects where reaction = 'calendars.read' and state = 'queued'"
    assert await runtime.pool.fetchval(planned) > clock.now
    async with runtime.transaction(SYSTEM) as work:
        assert await store.hold_lease(work.db, lease)
        ends = work.now + rules.EVERY
        await store.keep_success(work.db, lease, [], now=work.now, next_at=ends, soon=rules.AT_MOST_EVERY)
    assert await due_at(runtime, connection) == clock.now + rules.AT_MOST_EVERY
    assert await sync_connection(runtime, connection.id) is None
    assert await due_at(runtime, connection) >= clock.now + rules.AT_MOST_EVERY


async def test_a_channel_is_renewed_by_overlap_before_it_ends(
    runtime: Runtime,
    clock: MovingClock,
    client: httpx2.AsyncClient,
    google: FakeGoogle,
    account: GoogleAccount,
    connection: CalendarConnection,
) -> None:
    (first,) = account.channels
    clock.pass_time(days=5)
    await sync_connection(runtime, connection.id)
    assert list(account.channels) == [first]
    google.asked.clear()
    clock.pass_time(days=1, hours=1)

    assert await sync_connection(runtime, connection.id) is None

    asked = [each.path for each in google.asked if each.path.endswith(("/watch", "/stop"))]
    assert [each.rpartition("/")[2] for each in asked] == ["watch", "stop"]
    assert account.stopped == [first]
    assert len(account.channels) == await count_channels(runtime) == 1
    clock.pass_time(minutes=1)
    assert await send(client, account) == [200]
    assert await due_at(runtime, connection) == clock.now


async def test_a_channel_that_can_not_be_renewed_counts_until_it_ends(
    runtime: Runtime,
    clock: MovingClock,
    client: httpx2.AsyncClient,
    google: FakeGoogle,
    account: GoogleAccount,
    connection: CalendarConnection,
) -> None:
    clock.pass_time(days=6, hours=1)
    google.refuse_next(400, "pushNotSupportedForRequestedResource", path="calendars", method="POST")
    assert await sync_connection(runtime, connection.id) is None
    assert await send(client, account) == [200]

    clock.pass_time(days=1)
    assert await send(client, account) == [403]


async def test_a_refusal_is_no_fault_of_the_reading_and_is_not_asked_again_for_hours(
    runtime: Runtime, user: User, clock: MovingClock, google: FakeGoogle, account: GoogleAccount
) -> None:
    account.add_calendar("Family")
    google.refuse_next(400, "pushNotSupportedForRequestedResource", path="calendars", method="POST")
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, google))
    for _ in range(4):
        assert await sync_connection(runtime, made.id) is None
        clock.pass_time(minutes=5)

    asked = [each for each in google.asked if each.path.endswith("/watch")]
    assert (len(asked), len(account.channels)) == (2, 1)
    clock.pass_time(hours=6)
    assert await sync_connection(runtime, made.id) is None
    assert len(account.channels) == await count_channels(runtime) == 2


async def test_calendars_that_are_not_read_any_more_are_not_watched(
    runtime: Runtime, user: User, client: httpx2.AsyncClient, google: FakeGoogle, account: GoogleAccount
) -> None:
    account.add_calendar("Family")
    made = await calendars.connect_calendar(runtime.work(OPERATOR), user, await allow(runtime, user, google))
    await sync_connection(runtime, made.id)
    await change(runtime, made, busy=(EMAIL,))
    await sync_connection(runtime, made.id)
    assert [each["resourceId"] for each in account.channels.values()] == [f"resource of {EMAIL}"]

    async with runtime.transaction(OPERATOR) as work:
        await calendars.disconnect(work, ConnectionRef(made.id))
    assert await count_channels(runtime) == 0
    assert await send(client, account) == [403]


async def test_disconnecting_stops_the_channels_at_google(
    runtime: Runtime, account: GoogleAccount, connection: CalendarConnection
) -> None:
    (first,) = account.channels

    await channels.disconnect(runtime.work(OPERATOR), ConnectionRef(connection.id))

    assert (account.channels, account.stopped) == ({}, [first])
    assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 0


@pytest.mark.parametrize("state", ["revoked", "down", "refuses"])
async def test_disconnecting_does_not_depend_on_google(
    runtime: Runtime, google: FakeGoogle, connection: CalendarConnection, state: str
) -> None:
    if state == "revoked":
        google.consents.revoke(EMAIL)
    elif state == "down":
        google.is_down = True
    else:
        google.refuse_next(404, "notFound", path="channels", method="POST")

    await channels.disconnect(runtime.work(OPERATOR), ConnectionRef(connection.id))

    assert await runtime.pool.fetchval("select count(*) from calendar_connections") == 0
    assert await runtime.pool.fetchval("select count(*) from oauth_grants") == 0
