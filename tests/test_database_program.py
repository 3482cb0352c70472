"""Every table, trigger and function of the database says what it is for, and the page that lists them is current."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from openslot.platform.core.migrate import migrate
from scripts.database_program import PAGE, READ_FUNCTIONS, READ_TABLES, READ_TRIGGERS, renew_page
from tests.support.databases import EMPTY, new_database

UNTOLD = {
    "create table untold (id int)": (READ_TABLES, "untold"),
    "create function untold() returns int language sql as 'select 1'": (READ_FUNCTIONS, "untold"),
    "create trigger untold after insert on users execute function forget_kept_days()": (READ_TRIGGERS, "untold"),
}


@pytest.fixture(scope="module")
async def connection(postgres: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to a database that has only what migrations make."""
    async with new_database(postgres, EMPTY) as url:
        await migrate(url)
        connection = await asyncpg.connect(url)
        yield connection
        await connection.close()


async def find_untold(connection: asyncpg.Connection, sql: str) -> list[str]:
    """List what has no sentence as its comment."""
    rows = await connection.fetch(sql)
    assert len(rows) > 40
    sentences = {row["name"]: row["sentence"] or "" for row in rows}
    return [name for name, told in sentences.items() if not (told[:1].isupper() and told.endswith("."))]


@pytest.mark.parametrize("sql", [READ_TABLES, READ_TRIGGERS, READ_FUNCTIONS])
async def test_everything_in_the_database_says_what_it_is_for(connection: asyncpg.Connection, sql: str) -> None:
    assert await find_untold(connection, sql) == []


@pytest.mark.parametrize("made", UNTOLD)
async def test_what_says_nothing_is_found(connection: asyncpg.Connection, made: str) -> None:
    sql, name = UNTOLD[made]
    transaction = connection.transaction()
    await transaction.start()
    try:
        await connection.execute(made)
        assert await find_untold(connection, sql) == [name]
    finally:
        await transaction.rollback()


async def test_the_page_is_written_from_the_database(connection: asyncpg.Connection) -> None:
    page = PAGE.read_text("utf-8")

    assert await renew_page(page, connection) == page, "run `make docs`"
