"""Lending: never more than allowed, in order of coming, and never a connection that is not sound."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial

import asyncpg
import pytest
import pytest_asyncio

from openslot.core import lending
from openslot.core.lending import Lender, PoolTimeoutError

BACKEND = "select pg_backend_pid()"


@pytest_asyncio.fixture
async def lender(database_url: str) -> AsyncIterator[Lender]:
    """Lend two connections at most."""
    lender = Lender(partial(asyncpg.connect, database_url, command_timeout=60), most=2, wait_seconds=30)
    yield lender
    await asyncio.wait_for(lender.close(), 10)


async def count_backends(lender: Lender) -> int:
    """Count the connections to this database."""
    found: int = await lender.fetchval("select count(*) from pg_stat_activity where datname = current_database()")
    return found


async def test_one_after_the_other_share_one_connection(lender: Lender) -> None:
    assert len({await lender.fetchval(BACKEND) for _ in range(5)}) == 1
    assert await count_backends(lender) == 1


async def test_every_kind_of_statement_runs(lender: Lender) -> None:
    await lender.execute("create table numbers (n int)")
    await lender.executemany("insert into numbers values ($1)", [(1,), (2,)])
    assert [row["n"] for row in await lender.fetch("select n from numbers order by n")] == [1, 2]
    row = await lender.fetchrow("select n from numbers where n = $1", 2)
    assert row["n"] == 2
    assert await lender.fetchval("select max(n) from numbers") == 2
    assert await lender.execute("delete from numbers") == "DELETE 2"


async def test_never_more_than_allowed_are_out(lender: Lender) -> None:
    backends = await asyncio.gather(*(lender.fetchval(f"{BACKEND} from pg_sleep(0.02)") for _ in range(20)))
    assert len(set(backends)) == 2
    assert await count_backends(lender) == 2


async def test_who_waits_longest_comes_first(lender: Lender) -> None:
    served: list[int] = []

    async def ask(number: int) -> None:
        async with lender.acquire():
            served.append(number)

    async with lender.acquire(), lender.acquire():
        waiting = [asyncio.create_task(ask(number)) for number in range(5)]
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert served == [0, 1, 2, 3, 4]


async def test_who_gives_up_waiting_takes_nobodys_place(lender: Lender) -> None:
    async with lender.acquire(), lender.acquire():
        waiting = [asyncio.create_task(lender.fetchval("select 7")) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
    waiting[1].cancel()  # after the connection was handed to it, before it could run
    assert await asyncio.wait_for(waiting[2], 5) == 7
    assert await lender.fetchval("select 8") == 8
    backends = await asyncio.gather(*(lender.fetchval(f"{BACKEND} from pg_sleep(0.02)") for _ in range(6)))
    assert len(set(backends)) == 2


async def all_at_once(lender: Lender) -> int:
    """Take every connection at the same time, and count them."""
    async with lender.acquire() as one, lender.acquire() as other:
        return len({await one.fetchval(BACKEND), await other.fetchval(BACKEND)})


async def test_who_waits_too_long_is_refused_and_the_others_are_served(database_url: str) -> None:
    lender = Lender(partial(asyncpg.connect, database_url), most=2, wait_seconds=0.2)
    async with lender.acquire(), lender.acquire():
        with pytest.raises(PoolTimeoutError, match=r"none of 2 connections was free within 0\.2 seconds"):
            await lender.fetchval("select 1")
        assert not lender._waiting
        late = asyncio.create_task(lender.fetchval("select 7"))
        await asyncio.sleep(0)
    assert await late == 7
    assert await all_at_once(lender) == 2
    await lender.close()


async def test_connection_that_comes_with_the_last_moment_is_not_lost(database_url: str) -> None:
    lender = Lender(partial(asyncpg.connect, database_url), most=2, wait_seconds=0.05)
    faults: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, fault: faults.append(fault))
    first, second = await lender.take(), await lender.take()
    waiting = [asyncio.create_task(lender.fetchval("select 7")) for _ in range(2)]
    await asyncio.sleep(0)
    # In the very step of the loop that would refuse, and before it does.
    loop.call_later(0.04, lender.give_back, first, None)
    time.sleep(0.1)  # noqa: ASYNC251 - so that all three are due in the same step
    with pytest.raises(PoolTimeoutError):
        await waiting[1]
    assert await waiting[0] == 7
    lender.give_back(second, None)
    assert await all_at_once(lender) == 2
    assert faults == []
    await lender.close()


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_connection_that_comes_a_moment_too_late_is_not_lost(database_url: str, is_cancelled: bool) -> None:
    lender = Lender(partial(asyncpg.connect, database_url), most=2, wait_seconds=0.05)
    first, second = await lender.take(), await lender.take()
    waiting = asyncio.create_task(lender.fetchval("select 7"))
    await asyncio.sleep(0)
    # In the very step of the loop that refuses, before the one who waited can run.
    asyncio.get_running_loop().call_later(0.06, lender.give_back, first, None)
    if is_cancelled:
        asyncio.get_running_loop().call_later(0.055, waiting.cancel)
    time.sleep(0.1)  # noqa: ASYNC251 - so that all three are due in the same step
    with pytest.raises(asyncio.CancelledError if is_cancelled else PoolTimeoutError):
        await waiting
    lender.give_back(second, None)
    assert await all_at_once(lender) == 2
    await lender.close()


async def test_none_is_lost_among_many_who_come_wait_and_give_up(database_url: str) -> None:
    lender = Lender(partial(asyncpg.connect, database_url), most=2, wait_seconds=0.02)
    chance = random.Random(7)

    async def ask(number: int) -> str:
        await asyncio.sleep(chance.random() / 4)
        try:
            async with asyncio.timeout(chance.choice([0.01, 0.02, 0.03, 1])), lender.acquire() as connection:
                await connection.fetchval("select pg_sleep($1)", chance.choice([0, 0.002, 0.01]))
        except PoolTimeoutError:
            return "refused"
        except TimeoutError:
            return "gave up"
        return "served"

    ends = Counter(await asyncio.gather(*(ask(number) for number in range(400))))
    assert all(ends[end] for end in ("served", "refused", "gave up")), ends
    assert not lender._waiting
    assert await all_at_once(lender) == 2
    assert await count_backends(lender) == 2
    await asyncio.wait_for(lender.close(), 5)


async def test_who_is_refused_a_second_connection_keeps_the_first_one_sound(database_url: str) -> None:
    lender = Lender(partial(asyncpg.connect, database_url), most=1, wait_seconds=0.05)
    before = await lender.fetchval(BACKEND)
    with pytest.raises(PoolTimeoutError):
        async with lender.acquire():
            await lender.fetchval("select 1")
    assert await lender.fetchval(BACKEND) == before
    await lender.close()


async def test_connection_that_died_is_replaced(lender: Lender, database_url: str) -> None:
    died = await lender.fetchval(BACKEND)
    other = await asyncpg.connect(database_url)
    await other.execute("select pg_terminate_backend($1)", died)
    await other.close()
    await asyncio.sleep(0.1)
    assert await lender.fetchval(BACKEND) != died


async def test_connection_that_was_idle_for_long_is_not_trusted(
    lender: Lender, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await lender.fetchval(BACKEND)
    monkeypatch.setattr(lending, "LONGEST_IDLE", 0.0)
    assert await lender.fetchval(BACKEND) != before


async def test_connection_that_dies_at_work_is_replaced_for_who_waits(lender: Lender) -> None:
    async with lender.acquire(), lender.acquire() as dying:
        waiting = asyncio.create_task(lender.fetchval("select 7"))
        await asyncio.sleep(0)
        dying.terminate()
    assert await asyncio.wait_for(waiting, 5) == 7


async def test_refused_statement_leaves_a_sound_connection(lender: Lender) -> None:
    before = await lender.fetchval(BACKEND)
    with pytest.raises(asyncpg.DivisionByZeroError):
        await lender.fetchval("select 1 / 0")
    assert await lender.fetchval(BACKEND) == before


async def test_statement_cut_off_takes_its_connection_along(lender: Lender) -> None:
    before = await lender.fetchval(BACKEND)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(lender.fetchval("select pg_sleep(30)"), 0.05)
    assert await lender.fetchval(BACKEND) != before


async def test_statement_past_its_time_takes_its_connection_along(database_url: str) -> None:
    lender = Lender(partial(asyncpg.connect, database_url, command_timeout=0.1), most=1, wait_seconds=30)
    before = await lender.fetchval(BACKEND)
    with pytest.raises(TimeoutError):
        await lender.fetchval("select pg_sleep(30)")
    assert await lender.fetchval(BACKEND) != before
    await lender.close()


async def test_transaction_left_open_is_not_lent_to_the_next(lender: Lender) -> None:
    async with lender.acquire() as connection:
        await connection.execute("begin")
        await connection.execute("create table lost (n int)")
    assert await lender.fetchval("select to_regclass('lost')") is None


async def test_failed_transaction_is_undone_and_its_connection_used_again(lender: Lender) -> None:
    before = await lender.fetchval(BACKEND)
    with pytest.raises(LookupError):
        async with lender.acquire() as connection, connection.transaction():
            await connection.execute("create table lost (n int)")
            raise LookupError
    assert await lender.fetchval("select to_regclass('lost')") is None
    assert await lender.fetchval(BACKEND) == before


async def test_nobody_is_let_down_by_a_database_that_comes_back(database_url: str) -> None:
    is_up = False

    async def connect() -> asyncpg.Connection:
        if not is_up:
            raise OSError("down")
        return await asyncpg.connect(database_url)

    lender = Lender(connect, most=1, wait_seconds=30)
    failed = await asyncio.gather(*(lender.fetchval("select 1") for _ in range(5)), return_exceptions=True)
    assert [type(each) for each in failed] == [OSError] * 5
    is_up = True
    assert await lender.fetchval("select 1") == 1
    await lender.close()


async def test_closing_waits_for_what_is_under_way_and_lets_nobody_in(database_url: str) -> None:
    lender = Lender(partial(asyncpg.connect, database_url), most=2, wait_seconds=30)
    working = asyncio.create_task(lender.fetchval("select 7 from pg_sleep(0.2)"))
    await asyncio.sleep(0.1)
    closing = asyncio.create_task(lender.close())
    await asyncio.sleep(0)
    with pytest.raises(asyncpg.InterfaceError):
        await lender.fetchval("select 1")
    await closing
    assert working.done()
    assert await working == 7
