"""What is ours in a database: what our migrations have made, and nothing for its name alone."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from openslot.platform.core.inventory import known_objects, read_inventory
from openslot.platform.core.migrate import known_migrations
from tests.support.databases import new_database
from tests.support.ladder import take_down_ladder


@pytest.fixture(scope="module")
async def opened(postgres: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to a migrated database of these tests' own."""
    async with new_database(postgres) as url:
        await take_down_ladder(url)
        connection = await asyncpg.connect(url)
        yield connection
        await connection.close()


@pytest.fixture
async def connection(opened: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """The same in a transaction that takes back what a test changes."""
    transaction = opened.transaction()
    await transaction.start()
    yield opened
    await transaction.rollback()


async def test_everything_that_migrations_make_is_known(connection: asyncpg.Connection) -> None:
    found = await read_inventory(connection)

    assert found.others == ()
    assert {(thing.kind, thing.name) for thing in found.ours} == known_objects(known_migrations())
    assert {"table users", "table effects", "function contact_gram(owner_id uuid, gram text)"} < {
        str(thing) for thing in found.ours
    }


async def test_only_what_was_applied_is_known(connection: asyncpg.Connection) -> None:
    await connection.execute("delete from migrations where name >= '0.2.0_13'")
    found = await read_inventory(connection)

    assert "table claims" in {str(thing) for thing in found.ours}
    assert {"table contacts", "function contact_gram(owner_id uuid, gram text)"} < {str(t) for t in found.others}


@pytest.mark.parametrize(
    "statement",
    [
        "delete from migrations",
        "update migrations set checksum = 'another' where name = '0.2.0_01_core.sql'",
        "insert into migrations (name, checksum) values ('9999_future.sql', 'x')",
        "alter table migrations rename column checksum to batch",
        "alter table migrations rename to schema_migrations",
    ],
)
async def test_with_another_record_of_migrations_nothing_is_ours(
    connection: asyncpg.Connection, statement: str
) -> None:
    await connection.execute(statement)
    found = await read_inventory(connection)

    assert found.ours == ()
    assert "table users" in {str(thing) for thing in found.others}
