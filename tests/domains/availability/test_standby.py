"""Free times that are read from a real standby: never older than promised, and never trusted by a booking."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import cast

import asyncpg
import msgspec
import pytest
from msgspec.structs import replace

from openslot.domains.accounts.models import UserWanted
from openslot.domains.availability import operations as availability
from openslot.domains.availability.errors import SlotUnavailable
from openslot.domains.availability.models import ById
from openslot.domains.bookings import operations as bookings
from openslot.domains.bookings.models import BookingWanted, Invitee
from openslot.domains.doctor.database import _look_at_standby
from openslot.domains.doctor.finding import FindingState
from openslot.domains.event_types import operations as event_types
from openslot.domains.event_types.models import EventType
from openslot.domains.people import operations as people
from openslot.platform.core import reading
from openslot.platform.core.actor import OPERATOR, PUBLIC
from openslot.platform.core.config import Settings
from openslot.platform.core.connecting import connect
from openslot.platform.core.db import ConnectionPool, Db
from openslot.platform.core.migrate import migrate
from openslot.platform.core.times import at_second
from openslot.platform.core.work import Runtime, Work
from openslot.runtime import open_runtime
from tests.support.black_holes import black_hole, relayed, socket_of, with_servers
from tests.support.standby import with_standby

pytestmark = pytest.mark.rest("starts a standby")

BEAT = """
insert into worker_beats (worker_id, host, pid, started_at, beat_at)
values ('00000000-0000-0000-0000-000000000001', 'here', 1, now(), now() - $1::interval)
on conflict (worker_id) do update set beat_at = excluded.beat_at"""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A migrated database, and the address of its standby."""
    with with_standby(tmp_path_factory.mktemp("servers")) as (primary, standby):
        asyncio.run(migrate(primary))
        yield primary, standby


@pytest.fixture
async def standby(servers: tuple[str, str]) -> AsyncIterator[asyncpg.Connection]:
    """A connection to the standby, which goes on replaying in the end."""
    connection = await asyncpg.connect(servers[1])
    yield connection
    await connection.execute("select pg_wal_replay_resume()")
    await connection.close()


@pytest.fixture
async def served(servers: tuple[str, str], settings: Settings, standby: asyncpg.Connection) -> AsyncIterator[Runtime]:
    """A process that reads free times from the standby, beside a worker that has just given a sign of life."""
    chosen = replace(settings, database_url=servers[0], read_database_url=servers[1])
    async with open_runtime(chosen) as runtime:
        await beat(runtime, standby)
        yield runtime


async def beat(runtime: Runtime, standby: asyncpg.Connection, *, ago: timedelta = timedelta()) -> None:
    """Store a heartbeat, and wait until the standby has it."""
    await runtime.pool.execute(BEAT, ago)
    await caught_up(runtime, standby)


async def caught_up(runtime: Runtime, standby: asyncpg.Connection) -> None:
    written = await runtime.pool.fetchval("select pg_current_wal_lsn()")
    async with asyncio.timeout(30):
        while not await standby.fetchval("select pg_last_wal_replay_lsn() >= $1", written):
            await asyncio.sleep(0.01)


@pytest.fixture
async def offered(served: Runtime, standby: asyncpg.Connection) -> EventType:
    """An event type of a new host, known to the standby."""
    count = await served.pool.fetchval("select count(*) from users")
    async with served.transaction(OPERATOR) as work:
        user = await people.welcome_user(work, UserWanted(email=f"ann{count}@example.com", name="Ann"))
        [found], _ = await event_types.list_event_types(work, user, only_active=True, page=1, limit=5)
    await caught_up(served, standby)
    return found


async def list_starts(work: Work, offered: EventType) -> list[datetime]:
    tomorrow = (work.now + timedelta(days=1)).date()
    _, slots, _ = await availability.list_open_slots(
        work, ById(offered.id), timezone="UTC", first=tomorrow, last=tomorrow + timedelta(days=6)
    )
    return [at_second(start) for start in slots.starts]


async def book(runtime: Runtime, offered: EventType, at: datetime) -> None:
    invitee = Invitee(name="Li", email="li@wei.example", zone="UTC")
    async with runtime.transaction(PUBLIC) as work:
        await bookings.create_booking(work, BookingWanted(which=ById(offered.id), starts_at=at, invitee=invitee))


async def test_free_times_come_from_the_standby_and_a_booking_does_not_trust_it(
    served: Runtime, standby: asyncpg.Connection, offered: EventType
) -> None:
    before = await list_starts(served.work(PUBLIC), offered)
    await standby.execute("select pg_wal_replay_pause()")
    await book(served, offered, before[0])

    behind = await list_starts(served.work(PUBLIC), offered)
    async with served.transaction(PUBLIC) as work:
        inside = await list_starts(work, offered)
    with pytest.raises(SlotUnavailable):
        await book(served, offered, before[0])

    assert behind == before
    assert inside == before[1:]


async def test_a_standby_that_is_too_far_behind_is_not_asked(
    served: Runtime, standby: asyncpg.Connection, offered: EventType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(reading, "LOOK_AGAIN_AFTER", 0.0)
    before = await list_starts(served.work(PUBLIC), offered)
    await beat(served, standby, ago=timedelta(seconds=reading.OLDEST - 2))
    await standby.execute("select pg_wal_replay_pause()")
    await book(served, offered, before[0])
    within = await list_starts(served.work(PUBLIC), offered)
    await asyncio.sleep(2.1)
    beyond = await list_starts(served.work(PUBLIC), offered)
    await standby.execute("select pg_wal_replay_resume()")
    await served.pool.execute("delete from worker_beats")
    await caught_up(served, standby)
    without_beats = await served.work(PUBLIC).reader.fetchval("select pg_is_in_recovery()")
    await beat(served, standby)

    assert within == before
    assert beyond == before[1:]
    assert without_beats is False
    assert await served.work(PUBLIC).reader.fetchval("select pg_is_in_recovery()") is True


@pytest.mark.parametrize("url", ["postgresql://u@127.0.0.1:1/x", "postgresql://u@127.0.0.1:port/x", "nonsense"])
async def test_without_the_standby_the_database_itself_is_asked(
    servers: tuple[str, str], settings: Settings, url: str, served: Runtime, offered: EventType
) -> None:
    chosen = replace(settings, database_url=servers[0], read_database_url=url)
    async with open_runtime(chosen) as runtime:
        assert await list_starts(runtime.work(PUBLIC), offered) == await list_starts(served.work(PUBLIC), offered)
        assert await runtime.work(PUBLIC).reader.fetchval("select pg_is_in_recovery()") is False
        [finding] = await _look_at_standby(runtime.pool, chosen)
    assert finding.state is FindingState.WARNING


async def test_a_statement_that_the_standby_cancels_is_asked_of_the_database(
    served: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PATIENCE", 0.3)
    slow = "select pg_is_in_recovery() from (select case when pg_is_in_recovery() then pg_sleep(5) end) slept"

    assert await served.work(PUBLIC).reader.fetchval("select pg_is_in_recovery()") is True
    assert await served.work(PUBLIC).reader.fetchval(slow) is False
    # It is left alone for a while.
    assert await served.work(PUBLIC).reader.fetchval("select pg_is_in_recovery()") is False


async def test_all_who_ask_at_once_wait_for_one_look(served: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []

    async def measure(standby: object) -> float:
        looks.append(standby)
        await asyncio.sleep(0.05)
        return 1.0

    monkeypatch.setattr(reading, "measure_lag", measure)
    asked = [served.work(PUBLIC).reader.fetchval("select pg_is_in_recovery()") for _ in range(20)]

    assert await asyncio.gather(*asked) == [True] * 20
    assert len(looks) == 1


async def test_who_waits_for_a_connection_of_the_process_does_not_take_the_standby_for_lost(
    servers: tuple[str, str], settings: Settings, served: Runtime
) -> None:
    chosen = replace(settings, database_url=servers[0], read_database_url=servers[1], database_connections=2)
    async with open_runtime(chosen) as runtime:
        reader = runtime.work(PUBLIC).reader
        assert await reader.fetchval("select pg_is_in_recovery()") is True
        assert isinstance(runtime.standby, reading.StandbyReader)
        async with runtime.standby._standby.acquire(), runtime.standby._standby.acquire():
            assert await reader.fetchval("select pg_is_in_recovery()") is False
        assert await reader.fetchval("select pg_is_in_recovery()") is True
        async with runtime.standby._standby.acquire(), runtime.standby._standby.acquire():
            # Nor if it is time for a look.
            runtime.standby._look_at = 0.0
            assert await reader.fetchval("select pg_is_in_recovery()") is False
        assert await reader.fetchval("select pg_is_in_recovery()") is True


async def test_a_standby_whose_clock_is_behind_is_not_asked(
    served: Runtime, standby: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(reading, "LOOK_AGAIN_AFTER", 0.0)
    # Both run on one machine; a heartbeat from the future looks the same.
    await beat(served, standby, ago=timedelta(seconds=-3))
    ahead = await served.work(PUBLIC).reader.fetchval("select pg_is_in_recovery()")
    [finding] = await _look_at_standby(served.pool, served.settings)
    await beat(served, standby)

    assert ahead is False
    assert (finding.state, "its clock is at least" in finding.meaning) == (FindingState.WARNING, True)
    assert await served.work(PUBLIC).reader.fetchval("select pg_is_in_recovery()") is True


async def test_the_doctor_meets_a_pooler_that_web_processes_could_not_use(
    served: Runtime, servers: tuple[str, str]
) -> None:
    async with relayed(servers[1], as_pooler=True) as way:
        url = f"{with_servers(servers[1], str(way))}?sslmode=disable"
        await (await asyncpg.connect(url)).close()
        [finding] = await _look_at_standby(served.pool, replace(served.settings, read_database_url=url))

    assert finding.state is FindingState.WARNING
    assert "OPENSLOT_READ_DATABASE_URL has to lead to the standby itself" in finding.meaning


async def test_the_doctor_says_how_far_its_clock_is_off(served: Runtime) -> None:
    class Late:
        """The database, by a clock that is ahead of the standby's."""

        async def fetchval(self, query: str) -> datetime:
            now: datetime = await served.pool.fetchval(query)
            return now + timedelta(seconds=5)

    [finding] = await _look_at_standby(cast("Db", Late()), served.settings)
    assert finding.state is FindingState.WARNING
    assert finding.meaning.startswith("The standby's clock is 5.0 s behind the database's")


async def test_what_is_written_goes_to_the_database_itself(served: Runtime) -> None:
    await served.work(PUBLIC).reader.execute("update worker_beats set host = 'there'")
    await served.work(PUBLIC).reader.executemany("update worker_beats set pid = $1", [(2,)])

    assert await served.pool.fetchval("select host || pid from worker_beats") == "there2"


async def test_the_doctor_says_how_far_it_is_behind(served: Runtime, standby: asyncpg.Connection) -> None:
    [fresh] = await _look_at_standby(served.pool, served.settings)
    await beat(served, standby, ago=timedelta(minutes=1))
    [behind] = await _look_at_standby(served.pool, served.settings)

    assert fresh.state is FindingState.OK
    assert behind.state is FindingState.WARNING
    assert "may be 60 seconds behind" in behind.meaning


def test_the_documentation_states_the_bound() -> None:
    page = (Path(__file__).parents[3] / "docs" / "database.md").read_text("utf-8")
    setting = msgspec.inspect.type_info(Settings)
    assert isinstance(setting, msgspec.inspect.StructType)
    [described] = [field.type for field in setting.fields if field.name == "read_database_url"]

    assert f"**{reading.BOUND:.0f} seconds old at most**" in page
    assert f"newest one is older than {reading.OLDEST:.0f}\n" in page
    assert f"they may be {reading.BOUND:.0f} seconds old" in str(described)


async def test_a_standby_that_is_asked_for_an_unlogged_table_counts_as_one_that_cannot_write(
    servers: tuple[str, str], served: Runtime
) -> None:
    """A primary that has become a standby is asked so by the next request, which gets 503 instead of 500."""
    pool = ConnectionPool(partial(asyncpg.connect, servers[1]), max_=1, wait_seconds=30)
    backend = await pool.fetchval("select pg_backend_pid()")
    with pytest.raises(asyncpg.ReadOnlySQLTransactionError, match="unlogged"):
        await pool.fetchval("select count(*) from rate_log")
    assert await pool.fetchval("select pg_backend_pid()") != backend
    with pytest.raises(asyncpg.FeatureNotSupportedError):
        await pool.fetchval("select count(*) from users for update")
    await pool.close()


@pytest.mark.parametrize(
    ("kind", "is_standby"),
    [("primary", False), ("read-write", False), ("standby", True), ("prefer-standby", True), ("any", True)],
)
async def test_of_several_servers_that_are_not_lost_the_wanted_kind_is_used(
    servers: tuple[str, str], kind: str, is_standby: bool
) -> None:
    primary, standby = (socket_of(url) for url in servers)
    with black_hole() as port:
        first, second = (primary, standby) if kind in {"standby", "prefer-standby"} else (standby, primary)
        url = f"{with_servers(servers[0], str(port), first, second)}?target_session_attrs={kind}"
        connection = await connect(url, within=6)
        found = await connection.fetchval("select pg_is_in_recovery()")
        await connection.close()

    assert found is is_standby


async def test_without_any_standby_one_that_is_only_preferred_is_done_without(servers: tuple[str, str]) -> None:
    with black_hole() as port:
        url = f"{with_servers(servers[0], str(port), socket_of(servers[0]))}?target_session_attrs=prefer-standby"
        connection = await connect(url, within=4)
        assert await connection.fetchval("select pg_is_in_recovery()") is False
        await connection.close()
