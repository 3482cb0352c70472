"""Every statement of the last release works on this one's database: expand first, contract a release later."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from tests.support.databases import new_database
from tests.upgrades.statements import KEPT, WITHOUT_REFERENCES, Statement, find_faults, load_release, load_statements

STATEMENTS = load_statements()

# What a migration must not do while processes of the last release run, and who would notice.
CONTRACTIONS = {
    "a column is renamed": ("alter table bookings rename column invitee_zone to zone", "bookings/store.py"),
    "a column is dropped": ("alter table contacts drop column company", "contacts/store.py"),
    "a table is renamed": ("alter table lanes rename to rows", "core/effects.py"),
    "a type is changed": ("alter table sessions alter column user_agent type bytea using ''", "access/store.py"),
    "a column is wanted that older writers do not give": (
        "alter table contacts add column language text not null",
        "contacts/store.py",
    ),
    "a value is refused that was allowed": (
        "alter table effects add check (state <> 'queued')",
        "core/effects.py",
    ),
    "a function is dropped": ("drop function contact_grams cascade", "contacts/store.py"),
    "a trigger refuses at the commit what older writers write": (
        """create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
        create constraint trigger refuse after insert on bookings deferrable initially deferred
            for each row execute function refuse()""",
        "core/events.py",
    ),
    "a trigger refuses what older writers write": (
        """create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
        create trigger refuse before insert on bookings for each row execute function refuse()""",
        "core/events.py",
    ),
}


@asynccontextmanager
async def recent_database(postgres: str) -> AsyncIterator[asyncpg.Connection]:
    """Connect to a new database in this version's shape."""
    async with new_database(postgres) as url:
        connection = await asyncpg.connect(url)
        await connection.execute(WITHOUT_REFERENCES)
        yield connection
        await connection.close()


@pytest.fixture(scope="module")
async def connection(postgres: str) -> AsyncIterator[asyncpg.Connection]:
    """Lend such a connection to tests that leave the database as they found it."""
    async with recent_database(postgres) as opened:
        yield opened


@pytest.fixture
async def database(connection: asyncpg.Connection) -> AsyncIterator[asyncpg.Connection]:
    """Lend the database in a transaction that takes back what a test changes."""
    transaction = connection.transaction()
    await transaction.start()
    yield connection
    await transaction.rollback()


def test_the_last_release_is_recorded() -> None:
    release = load_release()
    assert [path.stem for path in KEPT.glob("*.json")] == [release.version]
    assert re.fullmatch("[0-9a-f]{40}", release.commit)
    assert len(STATEMENTS) > 500
    assert sum(one.arguments is not None for one in STATEMENTS) > 0.95 * len(STATEMENTS)
    assert {"openslot/core/effects.py", "openslot/bookings/store.py"} <= {one.origin for one in STATEMENTS}


async def test_every_statement_of_the_last_release_still_runs(connection: asyncpg.Connection) -> None:
    assert await find_faults(connection, STATEMENTS) == []


@pytest.mark.parametrize(("change", "noticed_by"), CONTRACTIONS.values(), ids=CONTRACTIONS)
async def test_a_change_that_breaks_the_last_release_is_noticed(
    database: asyncpg.Connection, change: str, noticed_by: str
) -> None:
    await database.execute(change)

    assert await find_faults(database, [one for one in STATEMENTS if noticed_by in one.origin])


async def test_rows_that_get_a_column_inside_of_a_transaction_are_noticed(database: asyncpg.Connection) -> None:
    every = Statement(origin="openslot/jobs/store.py", sql=["table lanes"], columns=["lane text", "unfinished int4"])
    assert await find_faults(database, [every]) == []

    await database.execute("alter table lanes add column note text")

    assert await find_faults(database, [every])


async def test_a_change_that_only_adds_is_no_fault(postgres: str) -> None:
    async with recent_database(postgres) as connection:
        await connection.execute(
            """alter table bookings add column language text, add column seen boolean not null default false;
            create table notes (id int); create index notes_id on notes (id)"""
        )

        assert await find_faults(connection, STATEMENTS) == []
