"""Migrations: forward, once, by one process at a time."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from msgspec.structs import replace

from openslot.domains.doctor.database import look_at_database
from openslot.platform.core.config import Settings
from openslot.platform.core.db import open_pool
from openslot.platform.core.errors import StartupError
from openslot.platform.core.ids import new_id
from openslot.platform.core.migrate import BASELINE, former_migrations, known_migrations, migrate
from openslot.platform.core.profiles import JOBS
from openslot.wiring import WIRING
from tests.support.databases import database_at

pytestmark = pytest.mark.own_database


@pytest.fixture
async def empty_url(postgres: str) -> AsyncIterator[str]:
    """A database with nothing in it."""
    name = f"empty_{new_id().hex}"
    connection = await asyncpg.connect(postgres)
    await connection.execute(f"create database {name}")
    yield database_at(postgres, name)
    await connection.execute(f"drop database {name} with (force)")
    await connection.close()


async def run(url: str, sql: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(sql)
    await connection.close()


async def test_an_empty_database_gets_everything_and_a_second_time_nothing(empty_url: str) -> None:
    assert await migrate(empty_url) == list(known_migrations())
    assert await migrate(empty_url) == []


async def test_processes_that_start_at_once_do_not_disturb_each_other(empty_url: str) -> None:
    applied = await asyncio.gather(*(migrate(empty_url) for _ in range(4)))

    assert sorted(map(len, applied)) == [0, 0, 0, len(known_migrations())]


async def test_a_database_that_is_ahead_is_left_as_it_is(database_url: str) -> None:
    await run(database_url, "insert into migrations (name, checksum) values ('9999_future.sql', 'x')")

    assert await migrate(database_url) == []


async def test_what_is_ahead_is_counted_and_only_the_last_named(database_url: str, settings: Settings) -> None:
    await run(database_url, "insert into migrations select '9' || n || '_x.sql', 'x' from generate_series(100, 150) n")
    found = await look_at_database(replace(settings, database_url=database_url), WIRING, is_asleep=False)
    (told,) = (finding.meaning for finding in found if finding.name == "migrations")

    assert told == (
        "A newer version of Openslot has used the database, which is ahead by 51 migrations, the last is 9150_x. "
        "This version works with it."
    )


async def test_tables_of_an_extension_are_nobody_elses_program(empty_url: str) -> None:
    await run(empty_url, "create table spatial (id int); alter extension plpgsql add table spatial")

    assert len(await migrate(empty_url)) == len(known_migrations())


async def test_a_version_that_knows_a_migration_less_starts_on_the_database_of_the_newer_one(database_url: str) -> None:
    known = known_migrations()
    newest = list(known)[-1]

    assert await migrate(database_url, {name: sql for name, sql in known.items() if name != newest}) == []


async def test_a_database_that_is_ahead_and_behind_gets_what_is_missing(database_url: str) -> None:
    """Two versions that know different things can take turns: what is missing is applied, what is unknown stays."""
    await run(database_url, "insert into migrations (name, checksum) values ('9999_future.sql', 'x')")
    known = {**known_migrations(), "9000_ours.sql": "create table ours (id int)"}

    assert await migrate(database_url, known) == ["9000_ours.sql"]


async def test_an_edited_migration_is_refused(database_url: str) -> None:
    await run(database_url, "update migrations set checksum = 'x' where name = '0.2.0_01_core.sql'")

    with pytest.raises(StartupError, match=r"0\.2\.0_01_core\.sql was changed"):
        await migrate(database_url)


@pytest.mark.parametrize(
    "url",
    ["postgresql://nobody:hush@127.0.0.1:1/none", "not a url", "postgresql://[broken", "postgresql:///x?host=/nowhere"],
)
async def test_a_database_that_is_not_there_ends_with_one_sentence_without_the_password(url: str) -> None:
    for attempt in (migrate(url), open_pool(url, max_=2, profile=JOBS)):
        with pytest.raises(StartupError, match="can't be reached") as caught:
            await attempt
        assert "hush" not in str(caught.value)
        assert "\n" not in str(caught.value)


REFUSAL = b"SFATAL\0C08P01\0Munsupported startup parameter: jit\0\0"


async def test_a_pooler_that_nobody_has_named_is_named_with_the_setting_that_it_needs() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.write(b"E" + (len(REFUSAL) + 4).to_bytes(4) + REFUSAL)
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        url = f"postgresql://openslot@127.0.0.1:{server.sockets[0].getsockname()[1]}/openslot?sslmode=disable"
        for attempt in (migrate(url), open_pool(url, max_=2, profile=JOBS)):
            with pytest.raises(StartupError, match="set OPENSLOT_DATABASE_POOLER=true"):
                await attempt


def test_every_migration_has_a_number_of_its_own_and_they_sort_by_it() -> None:
    known = [name for name in known_migrations() if not name.startswith(BASELINE)]
    later, former = ([int(name[:4]) for name in names] for names in (known, former_migrations()))

    assert later == sorted(set(later))
    assert former == sorted(set(former))
    assert set(later).isdisjoint(former)
