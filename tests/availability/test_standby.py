"""Free times that are read from a real standby: never older than promised, and never trusted by a booking."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import asyncpg
import pytest
from msgspec.structs import replace

from openslot.accounts.models import UserWanted
from openslot.availability import operations as availability
from openslot.availability.errors import SlotUnavailable
from openslot.availability.models import ById
from openslot.bookings import operations as bookings
from openslot.bookings.models import BookingWanted, Invitee
from openslot.core import reading
from openslot.core.actor import OPERATOR, PUBLIC
from openslot.core.config import Settings
from openslot.core.db import ConnectionPool
from openslot.core.migrate import migrate
from openslot.core.times import at_second
from openslot.core.work import Runtime, Work
from openslot.doctor.database import _look_at_standby
from openslot.doctor.finding import FindingState
from openslot.event_types import operations as event_types
from openslot.event_types.models import EventType
from openslot.people import operations as people
from openslot.runtime import open_runtime
from tests.support.standby import with_standby

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
        user = await people.welcome(work, UserWanted(email=f"ann{count}@example.com", name="Ann"))
        [found], _ = await event_types.list_event_types(work, user, only_active=True, page=1, limit=5)
    await caught_up(served, standby)
    return found


async def list_starts(work: Work, offered: EventType) -> list[datetime]:
    tomorrow = (work.now + timedelta(days=1)).date()
    _, slots, _ = await availability.list_open(
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
    [finding] = await _look_at_standby(chosen)
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


async def test_what_is_written_goes_to_the_database_itself(served: Runtime) -> None:
    await served.work(PUBLIC).reader.execute("update worker_beats set host = 'there'")
    await served.work(PUBLIC).reader.executemany("update worker_beats set pid = $1", [(2,)])

    assert await served.pool.fetchval("select host || pid from worker_beats") == "there2"


async def test_the_doctor_says_how_far_it_is_behind(served: Runtime, standby: asyncpg.Connection) -> None:
    [fresh] = await _look_at_standby(served.settings)
    await beat(served, standby, ago=timedelta(minutes=1))
    [behind] = await _look_at_standby(served.settings)

    assert fresh.state is FindingState.OK
    assert behind.state is FindingState.WARNING
    assert "may be 60 seconds behind" in behind.meaning


def test_the_documentation_states_the_bound() -> None:
    page = (Path(__file__).parents[2] / "docs" / "database.md").read_text("utf-8")

    assert f"**{reading.OLDEST + reading.LOOK_EVERY:.0f} seconds old at most**" in page


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
