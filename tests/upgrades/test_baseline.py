"""A database that began with 0.1.0 and one that is new have the same schema, to the last comment."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from openslot.platform.core.errors import StartupError
from openslot.platform.core.inventory import read_inventory
from openslot.platform.core.migrate import (
    BASELINE,
    FORMER_BEGINNING,
    LEDGER,
    ahead_migrations,
    checksum,
    former_migrations,
    known_migrations,
    migrate,
    missing_migrations,
)
from tests.support.databases import EMPTY, new_database
from tests.upgrades.catalog import read_catalog

# The files that 0.1.0 has brought, as its databases remember them.
RELEASED = {name: sql for name, sql in former_migrations().items() if "_baseline_" in name}
SEEDS = {
    "flags": "select key, description, enabled from flags order by key",
    "flag_version": "select only_one from flag_version",
    "agents": "select * from agents order by slug",
    "agent_chain": "select * from agent_chain",
    "switches": "select * from switches order by channel",
}
LATER = {"9000_note.sql": "create table notes (id int primary key)"}
CHANGES = [
    "comment on table users is 'Other words.'",
    "comment on function take_turn is null",
    "comment on trigger users_added on users is null",
    "alter table users add column note text",
    "alter table users alter column locale drop not null",
    "alter table users alter column locale set default 'de'",
    "alter table users alter column zone type varchar(100)",
    "alter table bookings drop constraint bookings_status_check",
    "alter table bookings drop column notes, add column notes text",
    "alter table events reset (toast_tuple_target)",
    "alter table data_export_pieces alter column sealed set storage extended",
    "alter index contacts_search alter column 1 set statistics 100",
    "alter table claims disable trigger claims_keep_booked_time",
    "alter sequence events_no_seq increment 2",
    "drop index bookings_made",
    "drop trigger schedules_host_inserted on schedules",
    "create or replace function utc_day(moment timestamptz) returns date language sql as 'select moment::date'",
    "create statistics pairs on plan, locale from users",
    "grant select on users to public",
]


@pytest.fixture(scope="module")
async def upgraded(postgres: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to a database that 0.1.0 has made and today's processes have found."""
    async with new_database(postgres, EMPTY) as url:
        assert await migrate(url, RELEASED) == list(RELEASED)
        later = former_migrations().keys() - RELEASED.keys() | {
            name for name in known_migrations() if not name.startswith(BASELINE)
        }
        assert set(await migrate(url)) == later
        assert await migrate(url) == []
        connection = await asyncpg.connect(url)
        yield connection
        await connection.close()


@pytest.fixture(scope="module")
async def new(postgres: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to a database that is new."""
    async with new_database(postgres, EMPTY) as url:
        assert await migrate(url) == list(known_migrations())
        connection = await asyncpg.connect(url)
        yield connection
        await connection.close()


@pytest.fixture(scope="module")
async def before(new: asyncpg.Connection) -> dict[str, list[str]]:
    """What a new database is made of."""
    return await read_catalog(new)


async def test_both_ways_end_in_the_same_schema(upgraded: asyncpg.Connection, new: asyncpg.Connection) -> None:
    theirs, ours = await read_catalog(upgraded), await read_catalog(new)

    assert min(len(ours[kind]) for kind in ("tables", "functions", "triggers", "comments", "sequences")) > 10
    for kind, things in ours.items():
        assert theirs[kind] == things


async def test_both_ways_end_with_the_same_rows(upgraded: asyncpg.Connection, new: asyncpg.Connection) -> None:
    for sql in SEEDS.values():
        assert await upgraded.fetch(sql) == await new.fetch(sql)
    for row in (await read_catalog(new))["tables"]:
        table = row.partition("'")[2].partition("'")[0]
        assert (await new.fetchval(f"select count(*) from {table}") > 0) == (table in SEEDS)


async def test_a_restore_knows_everything_in_both_as_ours(
    upgraded: asyncpg.Connection, new: asyncpg.Connection
) -> None:
    theirs, ours = await read_inventory(upgraded), await read_inventory(new)

    assert theirs == ours
    assert ours.others == ()


@pytest.mark.parametrize("change", CHANGES)
async def test_a_difference_is_noticed(new: asyncpg.Connection, before: dict[str, list[str]], change: str) -> None:
    transaction = new.transaction()
    await transaction.start()
    try:
        await new.execute(change)
        assert await read_catalog(new) != before
    finally:
        await transaction.rollback()


async def test_later_migrations_are_for_both(upgraded: asyncpg.Connection, new: asyncpg.Connection) -> None:
    known = known_migrations() | LATER

    for connection in (upgraded, new):
        assert await missing_migrations(connection, known) == list(LATER)
        assert await ahead_migrations(connection, known) == []


async def test_a_database_that_has_not_gone_all_the_way_goes_on(postgres: str) -> None:
    names = list(former_migrations())
    async with new_database(postgres, EMPTY) as url:
        some = {name: former_migrations()[name] for name in names[:30]}
        await migrate(url, some)

        assert await migrate(url, known_migrations() | LATER) == [*names[30:], *LATER]


async def test_one_that_a_newer_version_has_made_is_refused(postgres: str) -> None:
    async with new_database(postgres, EMPTY) as url:
        connection = await asyncpg.connect(url)
        await connection.execute(LEDGER)
        await connection.execute("insert into migrations (name, checksum) values ('0.3.0_01_core.sql', 'x')")
        await connection.close()

        with pytest.raises(StartupError, match=r"was created by a newer version of Openslot\. Upgrade first"):
            await migrate(url)


def test_what_was_released_is_not_edited() -> None:
    assert next(iter(RELEASED)) == FORMER_BEGINNING
    assert checksum("".join(RELEASED.values())) == "7e8743a70209af948b032144e5e1730518377c30ebf50e4be09ffb4b142bcf7a"
