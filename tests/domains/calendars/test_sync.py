"""What a real calendar server says is busy closes times, and what can't be read is trusted or closes, as was chosen."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta

import pytest

from openslot.domains.accounts.models import User
from openslot.domains.availability import operations as availability
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import BySlug, Code
from openslot.domains.calendars import operations as calendars
from openslot.domains.calendars import store, sync
from openslot.domains.calendars.models import ConnectionRef
from openslot.domains.calendars.ports import Changes, Scope
from openslot.domains.calendars.sync import sync_connection
from openslot.platform.core.actor import OPERATOR
from openslot.platform.core.work import Runtime
from tests.domains.calendars.conftest import HOUR, NINE, Book, Connect, change, events, get, open_starts
from tests.support.clocks import MovingClock
from tests.support.fake_calendars import FakeServer
from tests.support.ical import calendar, event
from tests.support.radicale import Radicale, radicale_in

MEETING = calendar(event("foreign", start="20260316T100000Z", end="20260316T110000Z"))


async def test_what_a_calendar_says_is_busy_is_neither_offered_nor_booked(
    runtime: Runtime, user: User, radicale: Radicale, work_calendar: str, connect: Connect, book: Book
) -> None:
    assert "10:00" in await open_starts(runtime, user)
    await radicale.put(f"{work_calendar}foreign.ics", MEETING)

    connection = await connect(work_calendar)

    offered = await open_starts(runtime, user)
    assert ("09:30" in offered, "10:00" in offered, "10:30" in offered, "11:00" in offered) == (
        True,
        False,
        False,
        True,
    )
    with pytest.raises(SlotUnavailable):
        await book(NINE + HOUR)
    told = await availability.explain_start_time(runtime.work(OPERATOR), BySlug(user.id, "30min"), NINE + HOUR)
    assert (told.code, told.reasons[0].sentence) == (Code.BUSY, "Busy in Work, 10:00–11:00")
    assert connection.synced_at == NINE - 2 * HOUR


async def test_a_change_or_a_removal_by_another_client_is_seen_by_the_next_sync(
    runtime: Runtime, user: User, radicale: Radicale, work_calendar: str, connect: Connect
) -> None:
    await radicale.put(f"{work_calendar}foreign.ics", MEETING)
    connection = await connect(work_calendar)
    await radicale.put(f"{work_calendar}foreign.ics", MEETING.replace("T10", "T14").replace("T11", "T15"))
    await sync_connection(runtime, connection.id)
    moved = await open_starts(runtime, user)
    assert ("10:00" in moved, "14:00" in moved) == (True, False)

    await radicale.send("DELETE", f"{work_calendar}foreign.ics")
    await sync_connection(runtime, connection.id)

    assert "14:00" in await open_starts(runtime, user)


async def test_a_repeating_event_reaches_days_that_come_into_sight_later(
    runtime: Runtime, user: User, clock: MovingClock, radicale: Radicale, work_calendar: str, connect: Connect
) -> None:
    repeating = calendar(event("daily", start="20260302T100000Z", more=["DURATION:PT1H", "RRULE:FREQ=DAILY"]))
    await radicale.put(f"{work_calendar}daily.ics", repeating)
    await radicale.put(f"{work_calendar}foreign.ics", MEETING)
    connection = await connect(work_calendar)
    first = await runtime.pool.fetchval("select max(end_second) from busy_spans")
    assert "10:00" not in await open_starts(runtime, user)

    clock.pass_time(days=3)
    await sync_connection(runtime, connection.id)

    assert await runtime.pool.fetchval("select max(end_second) from busy_spans") == first + 3 * 86400
    past = await runtime.pool.fetchval("select min(end_second) from busy_spans")
    assert past > (clock.now - timedelta(days=2)).timestamp()


@pytest.mark.parametrize(("limit", "max_", "fault"), [("MAX_EVENTS", 2, "2 events"), ("MAX_BYTES", 200, "0 megabytes")])
async def test_readings_that_bring_little_each_do_not_keep_more_than_one_could(
    runtime: Runtime,
    radicale: Radicale,
    work_calendar: str,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    max_: int,
    fault: str,
) -> None:
    async def put(number: int) -> None:
        repeating = event(str(number), start="20260302T100000Z", more=["RRULE:FREQ=DAILY"])
        await radicale.put(f"{work_calendar}{number}.ics", calendar(repeating))

    monkeypatch.setattr(sync, limit, max_)
    await put(1)
    await put(2)
    connection = await connect(work_calendar)
    assert await sync_connection(runtime, connection.id) is None
    await put(3)

    assert await sync_connection(runtime, connection.id) == f"The calendar has more than {fault}"
    assert await runtime.pool.fetchval("select count(*) from calendar_objects") == 2
    await radicale.send("DELETE", f"{work_calendar}1.ics")
    assert await sync_connection(runtime, connection.id) is None


async def test_only_calendars_that_count_as_busy_close_times(
    runtime: Runtime, user: User, radicale: Radicale, work_calendar: str, connect: Connect
) -> None:
    await radicale.put(f"{work_calendar}foreign.ics", MEETING)
    connection = await connect(work_calendar)

    await change(runtime, connection, busy=())
    assert "10:00" in await open_starts(runtime, user)
    await sync_connection(runtime, connection.id)
    assert "10:00" in await open_starts(runtime, user)

    await change(runtime, connection, busy=("work",))
    await sync_connection(runtime, connection.id)
    assert "10:00" not in await open_starts(runtime, user)


async def test_another_hosts_calendar_closes_nothing(
    runtime: Runtime, user: User, admin: User, radicale: Radicale, work_calendar: str, connect: Connect
) -> None:
    await radicale.put(f"{work_calendar}foreign.ics", MEETING)

    await connect(work_calendar, owner=admin)

    assert "10:00" in await open_starts(runtime, user)


async def test_a_disconnected_calendar_closes_nothing_and_leaves_nothing(
    runtime: Runtime, user: User, radicale: Radicale, work_calendar: str, connect: Connect
) -> None:
    await radicale.put(f"{work_calendar}foreign.ics", MEETING)
    connection = await connect(work_calendar)

    async with runtime.transaction(OPERATOR) as work:
        await calendars.disconnect(work, ConnectionRef(connection.id))

    assert "10:00" in await open_starts(runtime, user)
    for table in ("busy_spans", "busy_sources", "calendars", "calendar_objects", "calendar_connections"):
        assert await runtime.pool.fetchval(f"select count(*) from {table}") == 0


async def test_a_server_that_is_down_for_a_while_is_trusted_and_then_closes(
    runtime: Runtime, user: User, clock: MovingClock, tmp_path_factory: pytest.TempPathFactory, connect: Connect
) -> None:
    with radicale_in(tmp_path_factory.mktemp("down")) as server:
        place = await server.add_calendar()
        await server.put(f"{place}foreign.ics", MEETING)
        connection = await change(runtime, await connect(place), when_unreadable="trust:2")
        server.stop()
        clock.pass_time(minutes=5)
        assert await sync_connection(runtime, connection.id) is not None
        failing = await get(runtime, connection)
        assert (failing.failures, failing.failing_since) == (1, clock.now)
        assert failing.last_error is not None
        assert ("10:00" in await open_starts(runtime, user), "11:00" in await open_starts(runtime, user)) == (
            False,
            True,
        )
        assert await events(runtime, "calendar.broken") == []

        clock.pass_time(minutes=31)
        await sync_connection(runtime, connection.id)
        clock.pass_time(minutes=10)
        await sync_connection(runtime, connection.id)
        assert len(await events(runtime, "calendar.broken")) == 1
        clock.now = NINE - 2 * HOUR + timedelta(hours=2)
        assert await open_starts(runtime, user) == []
        told = await availability.explain_start_time(runtime.work(OPERATOR), BySlug(user.id, "30min"), NINE + 4 * HOUR)
        assert told.reasons[0].sentence == "Work has not been synced for too long"

        server.start()
        await sync_connection(runtime, connection.id)
        assert ("10:00" in await open_starts(runtime, user), "11:00" in await open_starts(runtime, user)) == (
            False,
            True,
        )
        assert len(await events(runtime, "calendar.recovered")) == 1
        assert (await get(runtime, connection)).failing_since is None


async def test_a_connection_that_is_to_close_does_so_at_the_first_failure(
    runtime: Runtime, user: User, clock: MovingClock, tmp_path_factory: pytest.TempPathFactory, connect: Connect
) -> None:
    with radicale_in(tmp_path_factory.mktemp("down")) as server:
        connection = await change(runtime, await connect(await server.add_calendar()), when_unreadable="close")
        assert await open_starts(runtime, user) != []
        server.stop()
        await sync_connection(runtime, connection.id)
        assert await open_starts(runtime, user) == []

        await change(runtime, connection, when_unreadable="trust:24")
        assert await open_starts(runtime, user) != []


async def test_a_worker_that_is_gone_closes_what_is_no_longer_fresh(
    runtime: Runtime, user: User, clock: MovingClock, work_calendar: str, connect: Connect
) -> None:
    await change(runtime, await connect(work_calendar), when_unreadable="trust:1")
    clock.pass_time(minutes=59)
    assert await open_starts(runtime, user) != []
    clock.pass_time(minutes=1)
    assert await open_starts(runtime, user) == []


async def test_a_password_that_no_longer_opens_is_told_at_once(
    runtime: Runtime, clock: MovingClock, tmp_path_factory: pytest.TempPathFactory, connect: Connect
) -> None:
    folder = tmp_path_factory.mktemp("password")
    with radicale_in(folder) as server:
        connection = await connect(await server.add_calendar())
        server.stop()
        (folder / "users").write_text("mara:another\n")
        server.start()
        assert await sync_connection(runtime, connection.id) is not None
    broken = await events(runtime, "calendar.broken")
    assert len(broken) == 1
    assert "calendars.sign_in_refused" in broken[0]


async def test_a_calendar_that_was_deleted_on_the_server_is_a_fault_and_keeps_its_times(
    runtime: Runtime, user: User, radicale: Radicale, connect: Connect
) -> None:
    place = await radicale.add_calendar("Vanishing")
    await radicale.put(f"{place}foreign.ics", MEETING)
    connection = await connect(place)
    await radicale.send("DELETE", place)

    fault = await sync_connection(runtime, connection.id)

    assert fault is not None
    assert fault.startswith("The server no longer has")

    assert "10:00" not in await open_starts(runtime, user)


async def test_a_connection_is_read_by_one_at_a_time(
    runtime: Runtime, clock: MovingClock, work_calendar: str, connect: Connect
) -> None:
    connection = await connect(work_calendar)
    async with runtime.transaction(OPERATOR) as work:
        until = clock.now + timedelta(minutes=5)
        held = await store.find_lease(work.db, connection.id, connection.id, now=clock.now, until=until)
    assert held is not None
    synced = (await get(runtime, connection)).synced_at
    clock.pass_time(minutes=1)

    await sync_connection(runtime, connection.id)
    assert (await get(runtime, connection)).synced_at == synced

    clock.pass_time(minutes=4)
    await sync_connection(runtime, connection.id)
    assert (await get(runtime, connection)).synced_at == clock.now


async def test_a_calendar_that_an_account_no_longer_has_is_a_fault_and_keeps_its_times(
    runtime: Runtime, user: User, tmp_path_factory: pytest.TempPathFactory, connect: Connect
) -> None:
    with radicale_in(tmp_path_factory.mktemp("account")) as server:
        kept, gone = await server.add_calendar("Kept"), await server.add_calendar("Gone")
        await server.put(f"{gone}foreign.ics", MEETING)
        connection = await connect(f"{server.url}/")
        await server.send("DELETE", gone)
        for list_again in (False, True):
            if list_again:
                await make_due(runtime, user)
            assert await sync_connection(runtime, connection.id) == "The server no longer has the calendar Gone"
            assert "10:00" not in await open_starts(runtime, user)

        await change(runtime, connection, busy=("Kept",), write_to="Kept")
        assert await sync_connection(runtime, connection.id) is None
        assert [calendar.url for calendar in (await get(runtime, connection)).calendars] == [kept]


async def make_due(runtime: Runtime, user: User) -> None:
    async with runtime.transaction(OPERATOR) as work:
        await calendars.make_connections_due(work, user)


class Interrupting(FakeServer):
    """A server that lets something happen while it is read."""

    def __init__(self, happen: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self._happen = happen

    async def list_changes(
        self, calendar: str, *, cursor: str | None, known: Mapping[str, str], scope: Scope
    ) -> Changes:
        """Let it happen between the question and the answer."""
        changes = await super().list_changes(calendar, cursor=cursor, known=known, scope=scope)
        await self._happen()
        return changes


@pytest.mark.parametrize("what", ["set", "disconnect", "sync"])
async def test_whoever_reads_what_was_changed_meanwhile_writes_nothing(
    runtime: Runtime, user: User, work_calendar: str, connect: Connect, what: str
) -> None:
    connection = await connect(work_calendar)
    await runtime.pool.execute("update calendars set state = null")

    async def happen() -> None:
        async with runtime.transaction(OPERATOR) as work:
            if what == "disconnect":
                await calendars.disconnect(work, ConnectionRef(connection.id))
            elif what == "sync":
                await calendars.make_connections_due(work, user)
        if what == "set":
            await change(runtime, connection, busy=())

    server = Interrupting(happen)
    server.add_calendar("Work", work_calendar)
    server.edit(work_calendar, "foreign", MEETING)

    assert await sync_connection(runtime, connection.id, open_server=lambda *_: server) is None

    assert await runtime.pool.fetchval("select count(*) from busy_spans") == 0
    assert await runtime.pool.fetchval("select count(*) from calendar_objects") == 0
    assert "10:00" in await open_starts(runtime, user)
