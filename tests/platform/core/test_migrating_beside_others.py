"""Migrations run beside processes that use the tables: nobody queues up for long, and nothing is left half done."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import pytest

from openslot.platform.core.errors import StartupError
from openslot.platform.core.migrate import LOCK, LOCK_RETRIES, NO_TRANSACTION, LockRetries, known_migrations, migrate

pytestmark = pytest.mark.own_database

WITHIN = 60.0
SHORT = timedelta(milliseconds=50)
HASTY = LockRetries(lock_timeout=SHORT, concurrent_lock_timeout=SHORT, pauses=(0.05, 0.05))
STUBBORN = LockRetries(lock_timeout=SHORT, pauses=(0.2,) * 200)
HAS_LOCKED = "select count(*) from pg_locks where relation = $1::regclass and mode = 'AccessExclusiveLock' and granted"
ADD_COLUMN = {"9000_note.sql": "alter table lanes add column note text"}
BUILD_INDEX = {
    "9001_index.sql": f"{NO_TRANSACTION}\n-- Two steps; each may be repeated.\n"
    "alter table lanes add column if not exists note text default 'it''s; new';\n"
    "create unique index concurrently if not exists lanes_note on lanes (note);\n"
}


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close(timeout=WITHIN)


async def columns(url: str) -> set[str]:
    async with connected(url) as connection:
        rows = await connection.fetch("select attname from pg_attribute where attrelid = 'lanes'::regclass")
        return {row["attname"] for row in rows}


async def is_valid(url: str, index: str) -> bool | None:
    async with connected(url) as connection:
        found: bool | None = await connection.fetchval(
            "select indisvalid from pg_index where indexrelid = to_regclass($1)", index
        )
        return found


async def ledger(url: str) -> set[str]:
    async with connected(url) as connection:
        return {row["name"] for row in await connection.fetch("select name from migrations")}


def knowing(more: dict[str, str]) -> dict[str, str]:
    return {**known_migrations(), **more}


@pytest.mark.rest("waits for seconds")
async def test_writers_go_on_while_a_migration_waits_for_a_long_reader(database_url: str) -> None:
    async with connected(database_url) as reader, connected(database_url) as writer:
        reading = reader.transaction()
        await reading.start()
        await reader.fetch("select * from lanes")
        migrating = asyncio.create_task(migrate(database_url, knowing(ADD_COLUMN), retries=STUBBORN))
        async with asyncio.timeout(WITHIN):
            for number in range(20):
                await writer.execute("insert into lanes (lane, unfinished) values ($1, 1)", f"lane {number}")
                await asyncio.sleep(0.05)
        assert not migrating.done()
        await reading.rollback()

        assert await asyncio.wait_for(migrating, WITHIN) == ["9000_note.sql"]
        assert "note" in await columns(database_url)


async def test_a_migration_that_never_gets_its_lock_says_who_holds_it_and_changes_nothing(database_url: str) -> None:
    async with connected(database_url) as reader, reader.transaction():
        await reader.execute("set application_name = 'a long report'")
        await reader.fetch("select * from lanes")

        with pytest.raises(StartupError) as caught:
            await migrate(database_url, knowing(ADD_COLUMN), retries=HASTY)

    said = str(caught.value)
    assert "The migration 9000_note.sql can't be applied: others hold a lock that it needs, after 3 tries." in said
    assert "(a long report), since 20" in said
    assert said.endswith("Try again: openslot migrate")
    assert "note" not in await columns(database_url)
    assert "9000_note.sql" not in await ledger(database_url)


async def test_a_migration_gives_way_to_a_request_that_waits_for_it_and_holds_what_it_needs(database_url: str) -> None:
    sql = "alter table effects add column note text; select pg_sleep(0.4); alter table lanes add column note text"
    async with connected(database_url) as request:
        asking = request.transaction()
        await asking.start()
        await request.fetch("select * from lanes")
        migrating = asyncio.create_task(migrate(database_url, knowing({"9000_note.sql": sql})))
        async with asyncio.timeout(WITHIN), connected(database_url) as other:
            while not await other.fetchval(HAS_LOCKED, "effects"):
                await asyncio.sleep(0.01)
        # Now each waits for the other; PostgreSQL would end one of them, and that was the request.
        assert await request.fetch("select * from effects") == []
        await asking.rollback()

        assert await asyncio.wait_for(migrating, WITHIN) == ["9000_note.sql"]


def test_the_pauses_grow_and_no_wait_for_a_lock_is_long() -> None:
    assert list(LOCK_RETRIES.pauses) == sorted(LOCK_RETRIES.pauses)
    assert sum(LOCK_RETRIES.pauses) > 60
    assert LOCK_RETRIES.lock_timeout <= timedelta(seconds=0.5)


async def test_a_migration_outside_of_a_transaction_runs_statement_by_statement(database_url: str) -> None:
    assert await migrate(database_url, knowing(BUILD_INDEX)) == ["9001_index.sql"]

    assert await is_valid(database_url, "lanes_note")
    assert await migrate(database_url, knowing(BUILD_INDEX)) == []


async def test_without_its_first_line_a_migration_is_one_transaction(database_url: str) -> None:
    later = {"9001_index.sql": "-- An index.\n" + BUILD_INDEX["9001_index.sql"]}

    with pytest.raises(asyncpg.ActiveSQLTransactionError):
        await migrate(database_url, knowing(later))

    assert "note" not in await columns(database_url)


async def test_an_index_whose_building_was_cut_off_is_built_again(database_url: str) -> None:
    async with connected(database_url) as connection:
        await connection.execute("insert into lanes (lane, unfinished) values ('a', 1), ('b', 1)")
        with pytest.raises(asyncpg.UniqueViolationError):
            await migrate(database_url, knowing(BUILD_INDEX))
        assert await is_valid(database_url, "lanes_note") is False
        assert "9001_index.sql" not in await ledger(database_url)
        await connection.execute("delete from lanes")

    assert await migrate(database_url, knowing(BUILD_INDEX)) == ["9001_index.sql"]
    assert await is_valid(database_url, "lanes_note")


async def test_a_build_that_others_have_kept_waiting_is_begun_again(database_url: str) -> None:
    async with connected(database_url) as writer:
        await migrate(database_url)
        writing = writer.transaction()
        await writing.start()
        await writer.execute("insert into lanes (lane, unfinished) values ('a', 1)")
        sql = f"{NO_TRANSACTION}\ncreate index concurrently if not exists lanes_un on lanes (unfinished)"
        retries = LockRetries(lock_timeout=SHORT, concurrent_lock_timeout=SHORT, pauses=(0.2,) * 200)
        migrating = asyncio.create_task(migrate(database_url, knowing({"9001_index.sql": sql}), retries=retries))
        async with asyncio.timeout(WITHIN):
            while await is_valid(database_url, "lanes_un") is None:
                await asyncio.sleep(0.01)
        await writing.commit()

        assert await asyncio.wait_for(migrating, WITHIN) == ["9001_index.sql"]
    assert await is_valid(database_url, "lanes_un")


async def test_processes_that_wait_for_their_turn_do_not_stop_an_index_from_being_built(database_url: str) -> None:
    build = f"{NO_TRANSACTION}\ncreate index concurrently if not exists"
    many = {f"90{number:02}_index.sql": f"{build} i{number} on lanes (lane);" for number in range(10)}

    async with asyncio.timeout(WITHIN):
        applied = await asyncio.gather(*(migrate(database_url, knowing(many)) for _ in range(4)))

    assert sorted(map(len, applied)) == [0, 0, 0, len(many)]


async def test_who_has_nothing_to_apply_does_not_wait_for_who_has(database_url: str) -> None:
    async with connected(database_url) as another:
        await another.execute("select pg_advisory_lock($1)", LOCK)

        assert await asyncio.wait_for(migrate(database_url), WITHIN) == []
