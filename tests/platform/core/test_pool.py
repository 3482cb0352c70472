"""Lending: never more than allowed, in order of coming, and never a connection that is not sound."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from urllib.parse import urlsplit

import asyncpg
import pytest
import pytest_asyncio

from openslot.platform.core import db as pool_module
from openslot.platform.core.db import ConnectionPool, PoolTimeoutError
from tests.support.databases import EMPTY, new_database

BACKEND = "select pg_backend_pid()"
END_ALL = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1"


@pytest_asyncio.fixture(scope="module")
async def observer(postgres: str) -> AsyncIterator[tuple[str, asyncpg.Connection]]:
    """Make an empty database for these tests, and connect to another one of the same server."""
    connection = await asyncpg.connect(postgres)
    async with new_database(postgres, EMPTY) as url:
        yield url, connection
    await connection.close()


@pytest_asyncio.fixture
async def database_url(observer: tuple[str, asyncpg.Connection]) -> AsyncIterator[str]:
    """Lend an empty database to which nobody else is connected."""
    url, connection = observer
    yield url
    await connection.fetch(END_ALL, urlsplit(url).path.removeprefix("/"))


@pytest_asyncio.fixture
async def pool(database_url: str) -> AsyncIterator[ConnectionPool]:
    """Lend two connections at most."""
    pool = ConnectionPool(partial(asyncpg.connect, database_url, command_timeout=60), max_=2, wait_seconds=30)
    yield pool
    await asyncio.wait_for(pool.close(), 60)


async def count_backends(pool: ConnectionPool) -> int:
    """Count the connections to this database."""
    found: int = await pool.fetchval("select count(*) from pg_stat_activity where datname = current_database()")
    return found


async def test_one_after_the_other_share_one_connection(pool: ConnectionPool) -> None:
    assert len({await pool.fetchval(BACKEND) for _ in range(5)}) == 1
    assert await count_backends(pool) == 1


async def test_every_kind_of_statement_runs(pool: ConnectionPool) -> None:
    await pool.execute("create table numbers (n int)")
    await pool.executemany("insert into numbers values ($1)", [(1,), (2,)])
    assert [row["n"] for row in await pool.fetch("select n from numbers order by n")] == [1, 2]
    row = await pool.fetchrow("select n from numbers where n = $1", 2)
    assert row["n"] == 2
    assert await pool.fetchval("select max(n) from numbers") == 2
    assert await pool.execute("delete from numbers") == "DELETE 2"


async def test_never_more_than_allowed_are_out(pool: ConnectionPool) -> None:
    backends = await asyncio.gather(*(pool.fetchval(f"{BACKEND} from pg_sleep(0.02)") for _ in range(20)))
    assert len(set(backends)) == 2
    assert await count_backends(pool) == 2


async def test_who_waits_longest_comes_first(pool: ConnectionPool) -> None:
    served: list[int] = []

    async def ask(number: int) -> None:
        async with pool.acquire():
            served.append(number)

    async with pool.acquire(), pool.acquire():
        waiting = [asyncio.create_task(ask(number)) for number in range(5)]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert served == [0, 1, 2, 3, 4]


async def test_who_gives_up_waiting_takes_nobodys_place(pool: ConnectionPool) -> None:
    async with pool.acquire(), pool.acquire():
        waiting = [asyncio.create_task(pool.fetchval("select 7")) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
    waiting[1].cancel()  # after the connection was handed to it, before it could run
    assert await asyncio.wait_for(waiting[2], 5) == 7
    assert await pool.fetchval("select 8") == 8
    backends = await asyncio.gather(*(pool.fetchval(f"{BACKEND} from pg_sleep(0.02)") for _ in range(6)))
    assert len(set(backends)) == 2


async def all_at_once(pool: ConnectionPool) -> int:
    """Take every connection at the same time, and count them."""
    async with pool.acquire() as one, pool.acquire() as other:
        return len({await one.fetchval(BACKEND), await other.fetchval(BACKEND)})


async def test_who_waits_too_long_is_refused_and_the_others_are_served(database_url: str) -> None:
    pool = ConnectionPool(partial(asyncpg.connect, database_url), max_=2, wait_seconds=0.2)
    async with pool.acquire(), pool.acquire():
        with pytest.raises(PoolTimeoutError, match=r"none of 2 connections was free within 0\.2 seconds"):
            await pool.fetchval("select 1")
        assert not pool._waiting
        late = asyncio.create_task(pool.fetchval("select 7"))
        await asyncio.sleep(0)
    assert await late == 7
    assert await all_at_once(pool) == 2
    await pool.close()


async def test_connection_that_comes_with_the_last_moment_is_not_lost(database_url: str) -> None:
    pool = ConnectionPool(partial(asyncpg.connect, database_url), max_=2, wait_seconds=0.05)
    faults: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, fault: faults.append(fault))
    first, second = await pool.take(), await pool.take()
    began = loop.time()
    waiting = [asyncio.create_task(pool.fetchval("select 7")) for _ in range(2)]
    await asyncio.sleep(0)
    # In the very step of the loop that would refuse, and before it does.
    loop.call_at(began + 0.04, pool.give_back, first, None)
    time.sleep(0.1)  # noqa: ASYNC251 - so that all three are due in the same step
    with pytest.raises(PoolTimeoutError):
        await waiting[1]
    assert await waiting[0] == 7
    pool.give_back(second, None)
    assert await all_at_once(pool) == 2
    assert faults == []
    await pool.close()


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_connection_that_comes_a_moment_too_late_is_not_lost(database_url: str, is_cancelled: bool) -> None:
    pool = ConnectionPool(partial(asyncpg.connect, database_url), max_=2, wait_seconds=0.05)
    first, second = await pool.take(), await pool.take()
    waiting = asyncio.create_task(pool.fetchval("select 7"))
    await asyncio.sleep(0)
    # In the very step of the loop that refuses, before the one who waited can run.
    asyncio.get_running_loop().call_later(0.06, pool.give_back, first, None)
    if is_cancelled:
        asyncio.get_running_loop().call_later(0.055, waiting.cancel)
    time.sleep(0.1)  # noqa: ASYNC251 - so that all three are due in the same step
    with pytest.raises(asyncio.CancelledError if is_cancelled else PoolTimeoutError):
        await waiting
    pool.give_back(second, None)
    assert await all_at_once(pool) == 2
    await pool.close()


async def test_none_is_lost_among_many_who_come_wait_and_give_up(database_url: str) -> None:
    pool = ConnectionPool(partial(asyncpg.connect, database_url), max_=2, wait_seconds=0.02)
    chance = random.Random(7)

    async def ask(number: int) -> str:
        await asyncio.sleep(chance.random() / 4)
        try:
            async with asyncio.timeout(chance.choice([0.01, 0.02, 0.03, 1])), pool.acquire() as connection:
                await connection.fetchval("select pg_sleep($1)", chance.choice([0, 0.002, 0.01]))
        except PoolTimeoutError:
            return "refused"
        except TimeoutError:
            return "gave up"
        return "served"

    ends = Counter(await asyncio.gather(*(ask(number) for number in range(400))))
    assert all(ends[end] for end in ("served", "refused", "gave up")), ends
    assert not pool._waiting
    assert await all_at_once(pool) == 2
    # The server notices a connection that was cut off when its statement ends.
    async with asyncio.timeout(10):
        while await count_backends(pool) > 2:
            await asyncio.sleep(0.02)
    await asyncio.wait_for(pool.close(), 5)


async def test_who_is_refused_a_second_connection_keeps_the_first_one_sound(database_url: str) -> None:
    pool = ConnectionPool(partial(asyncpg.connect, database_url), max_=1, wait_seconds=0.05)
    before = await pool.fetchval(BACKEND)
    with pytest.raises(PoolTimeoutError):
        async with pool.acquire():
            await pool.fetchval("select 1")
    assert await pool.fetchval(BACKEND) == before
    await pool.close()


async def test_connection_that_died_is_replaced(pool: ConnectionPool, database_url: str) -> None:
    died = await pool.fetchval(BACKEND)
    idle, _ = pool._idle[0]
    other = await asyncpg.connect(database_url)
    await other.execute("select pg_terminate_backend($1)", died)
    await other.close()
    async with asyncio.timeout(60):
        while not idle.is_closed():
            await asyncio.sleep(0.01)
    assert await pool.fetchval(BACKEND) != died


async def test_connection_that_was_idle_for_long_is_not_trusted(
    pool: ConnectionPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await pool.fetchval(BACKEND)
    monkeypatch.setattr(pool_module, "LONGEST_IDLE", 0.0)
    assert await pool.fetchval(BACKEND) != before


async def test_connections_are_added_only_when_the_first_few_do_not_come_back(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "FEW", 2)
    monkeypatch.setattr(pool_module, "GROW_AFTER", 30.0)
    pool = ConnectionPool(partial(asyncpg.connect, database_url), max_=4, wait_seconds=60)
    quick = await asyncio.gather(*(pool.fetchval(BACKEND) for _ in range(20)))
    monkeypatch.setattr(pool_module, "GROW_AFTER", 0.01)
    async with pool.acquire(), pool.acquire():
        slow = await asyncio.gather(*(pool.fetchval(f"{BACKEND} from pg_sleep(0.1)") for _ in range(6)))
    await pool.close()

    assert len(set(quick)) == 2
    assert len(set(slow)) == 2
    assert set(slow).isdisjoint(quick)


@pytest.mark.rest("waits for seconds")
async def test_all_who_have_waited_get_a_connection_at_once(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "FEW", 1)
    monkeypatch.setattr(pool_module, "GROW_AFTER", 1.0)
    began = time.monotonic()
    pool = ConnectionPool(partial(asyncpg.connect, database_url), max_=4, wait_seconds=60)
    held = await asyncio.gather(*(pool.take() for _ in range(4)))
    took = time.monotonic() - began
    for connection in held:
        pool.give_back(connection, None)
    await pool.close()

    # One after the other, the last would have waited for three seconds.
    assert took < 2.5
    assert len(set(held)) == 4


@pytest.mark.rest("waits for seconds")
@pytest.mark.parametrize(("patience", "connections"), [(2, 2), (1_000, 1)])
async def test_while_connections_come_back_more_are_opened_only_after_a_longer_wait(
    database_url: str, monkeypatch: pytest.MonkeyPatch, patience: int, connections: int
) -> None:
    monkeypatch.setattr(pool_module, "FEW", 1)
    monkeypatch.setattr(pool_module, "GROW_AFTER", 0.3)
    monkeypatch.setattr(pool_module, "PATIENCE", patience)
    pool = ConnectionPool(partial(asyncpg.connect, database_url), max_=2, wait_seconds=60)
    # One comes back every few milliseconds, but there are too many who wait for it.
    backends = await asyncio.gather(*(pool.fetchval(f"{BACKEND} from pg_sleep(0.01)") for _ in range(150)))
    await pool.close()

    assert len(set(backends)) == connections


async def test_connections_that_nobody_needs_any_more_are_closed(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "SPARE_AFTER", 0.05)
    pool = ConnectionPool(partial(asyncpg.connect, database_url), max_=4, wait_seconds=30)
    # Taken and given back in this order, so that the last one is the most recently used.
    taken = [await pool.take() for _ in range(4)]
    backends = [await connection.fetchval(BACKEND) for connection in taken]
    for connection in taken:
        pool.give_back(connection, None)
    async with asyncio.timeout(10):
        while await count_backends(pool) > pool_module.ALWAYS_KEPT:
            await asyncio.sleep(0.02)
    async with pool.acquire() as one, pool.acquire() as other:
        left = {await one.fetchval(BACKEND), await other.fetchval(BACKEND)}
    await pool.close()

    assert left == set(backends[-2:])


async def test_connection_that_dies_at_work_is_replaced_for_who_waits(pool: ConnectionPool) -> None:
    async with pool.acquire(), pool.acquire() as dying:
        waiting = asyncio.create_task(pool.fetchval("select 7"))
        await asyncio.sleep(0)
        dying.terminate()
    assert await asyncio.wait_for(waiting, 5) == 7


async def test_refused_statement_leaves_a_sound_connection(pool: ConnectionPool) -> None:
    before = await pool.fetchval(BACKEND)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await pool.fetchval("select 1 / 0")
    assert await pool.fetchval(BACKEND) == before


async def test_statement_cut_off_takes_its_connection_along(pool: ConnectionPool) -> None:
    before = await pool.fetchval(BACKEND)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pool.fetchval("select pg_sleep(30)"), 0.05)
    assert await pool.fetchval(BACKEND) != before


async def test_statement_past_its_time_takes_its_connection_along(database_url: str) -> None:
    pool = ConnectionPool(partial(asyncpg.connect, database_url, command_timeout=0.1), max_=1, wait_seconds=30)
    # Asked without a statement, which might take too long itself.
    async with pool.acquire() as connection:
        before = connection.get_server_pid()
    with pytest.raises(TimeoutError):
        await pool.fetchval("select pg_sleep(30)")
    async with pool.acquire() as connection:
        assert connection.get_server_pid() != before
    await pool.close()


async def test_transaction_left_open_is_not_lent_to_the_next(pool: ConnectionPool) -> None:
    async with pool.acquire() as connection:
        await connection.execute("begin")
        await connection.execute("create table lost (n int)")
    assert await pool.fetchval("select to_regclass('lost')") is None


async def test_failed_transaction_is_undone_and_its_connection_used_again(pool: ConnectionPool) -> None:
    before = await pool.fetchval(BACKEND)
    with pytest.raises(LookupError):
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("create table lost (n int)")
            raise LookupError
    assert await pool.fetchval("select to_regclass('lost')") is None
    assert await pool.fetchval(BACKEND) == before


async def test_nobody_is_let_down_by_a_database_that_comes_back(database_url: str) -> None:
    is_up = False

    async def connect() -> asyncpg.Connection:
        if not is_up:
            raise OSError("down")
        return await asyncpg.connect(database_url)

    pool = ConnectionPool(connect, max_=1, wait_seconds=30)
    failed = await asyncio.gather(*(pool.fetchval("select 1") for _ in range(5)), return_exceptions=True)
    assert [type(each) for each in failed] == [OSError] * 5
    is_up = True
    assert await pool.fetchval("select 1") == 1
    await pool.close()


async def test_closing_waits_for_what_is_under_way_and_lets_nobody_in(database_url: str) -> None:
    pool = ConnectionPool(partial(asyncpg.connect, database_url), max_=2, wait_seconds=30)
    working = asyncio.create_task(pool.fetchval("select 7 from pg_sleep(0.2)"))
    await asyncio.sleep(0.1)
    closing = asyncio.create_task(pool.close())
    await asyncio.sleep(0)
    with pytest.raises(asyncpg.InterfaceError):
        await pool.fetchval("select 1")
    await closing
    assert working.done()
    assert await working == 7


async def test_a_connection_to_a_server_that_has_become_read_only_is_not_lent_again(pool: ConnectionPool) -> None:
    async with pool.acquire() as connection:
        await connection.execute("set default_transaction_read_only = on")
        backend = await connection.fetchval(BACKEND)
    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        await pool.execute("create table written (no int)")

    assert await pool.fetchval(BACKEND) != backend
    await pool.execute("create table written (no int)")
    await pool.execute("drop table written")
